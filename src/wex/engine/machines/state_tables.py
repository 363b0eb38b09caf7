"""The automaton of a machine by itself: its states, how letters move them, and the slots that they use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.types import (
    BIRTH,
    DROP,
    JOIN,
    Automata,
    Configs,
    Registers,
    Sliding,
    read_only,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.machines.choose import Machine


@dataclass(frozen=True, eq=False)
class StateTable:
    """The automaton of a machine: its states, and the slots that are in use in each of them."""

    classes: Ints
    step: NDArray[np.int32]  # by class and state
    phantoms: tuple[Ints, ...] | Ints  # the slots by state; or those of all states

    @property
    def states(self) -> int:
        """Return how many states there are."""
        return int(self.step.shape[1])

    def slots(self, state: int) -> Ints:
        """Return the slots that may be in use in a state."""
        return self.phantoms[state] if isinstance(self.phantoms, tuple) else self.phantoms


def state_table(machine: Machine) -> StateTable:
    """Return the automaton of a machine, unless it chooses by preference."""
    classes = machine.tables.classes.astype(np.int64)  # type: ignore[union-attr]
    match machine.tables:
        case Registers(step=step, config_bits=bits, occupied=occupied):
            own = [np.flatnonzero(used >> np.arange(32) & 1) for used in occupied.astype(np.int64)]
            by_class = step.reshape(-1, 1 << bits)[:, : len(occupied)]
            return _table(classes, by_class, tuple(own))
        case Configs(step=step):
            return _table(classes, step, tuple(_occupied(machine.tables)))
        case Automata(prefix=prefix) | Sliding(prefix=prefix):
            return _table(classes, prefix.T, states_in_use(machine))
    raise TypeError(machine.tables)


def _table(classes: Ints, step: NDArray[np.generic], slots: tuple[Ints, ...] | Ints) -> StateTable:
    table = np.ascontiguousarray(step.astype(np.int32))
    return StateTable(read_only(classes), read_only(table), slots)


def _occupied(tables: Configs) -> list[Ints]:
    """Return the slots in use of each config, by the operations that lead to it."""
    used: dict[int, frozenset[int]] = {0: frozenset()}
    pending = [0]
    while pending:
        config = pending.pop()
        for cls in range(len(tables.step)):
            after = int(tables.step[cls, config])
            if after in used:
                continue
            slots = set(used[config])
            action = int(tables.act[cls, config])
            for op, slot, into in tables.ops[tables.ops_at[action] : tables.ops_at[action + 1]]:
                if op in (DROP, JOIN):
                    slots.discard(int(slot))
                if op in (BIRTH, JOIN):
                    slots.add(int(into if op == JOIN else slot))
            used[after] = frozenset(slots)
            pending.append(after)
    return [np.array(sorted(used[config]), dtype=np.int64) for config in range(len(used))]


def states_in_use(machine: Machine) -> Ints:
    """Return the window states in which starts can be held, in the order that kernels want them."""
    match machine.tables:
        case Sliding(size=size):
            return np.arange(size - 1, -1, -1)  # the oldest first
        case Automata(born=born, move=move):
            used = np.zeros(len(move), dtype=np.bool_)
            pending = np.unique(born[born >= 0])
            while len(pending):
                used[pending] = True
                after = np.unique(move[pending])
                pending = after[(after >= 0) & ~used[after]]
            return np.flatnonzero(used)[::-1]  # those at the end of a chain first
    raise TypeError(machine.tables)
