"""The automaton of a machine by itself: its states, how letters move them, and the starts they hold.

Two configs with the same prefix state and the same window states differ only in the slots that they
use. They are one state here: many automata come to one state after a few events, whatever was
before, but few come to one config.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex.compile.normal_form import NONE
from wex.engine.kernels.types import Automata, Configs, Registers, Sliding, read_only

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.machines.choose import Machine


@dataclass(frozen=True, eq=False)
class StateTable:
    """An automaton over classes of letters, and where its states hold starts."""

    classes: Ints
    step: NDArray[np.int32]  # by class and state
    state_of: Ints  # by the state of the machine
    machine_state: Ints  # one of a state
    held: tuple[tuple[Ints, Ints], ...]  # by state of the machine: slots, and their window states

    @property
    def states(self) -> int:
        """Return how many states there are."""
        return int(self.step.shape[1])

    def slots(self, machine_state: int) -> tuple[Ints, Ints]:
        """Return the slots that may be in use in a state of the machine, and their window states."""
        return self.held[machine_state if len(self.held) > 1 else 0]

    def window_states(self, machine_state: int, slots: Ints) -> Ints:
        """Return the window states of some slots in use."""
        own, states = self.slots(machine_state)
        order = np.argsort(own)
        found: Ints = states[order][np.searchsorted(own[order], slots)]
        return found


def state_table(machine: Machine) -> StateTable:
    """Return the automaton of a machine, unless it chooses by preference."""
    match machine.tables:
        case Registers(classes=classes, step=step, config_bits=bits):
            by_class = step.reshape(-1, 1 << bits)[:, : len(machine.configs)]
            return _config_table(machine, classes, by_class)
        case Configs(classes=classes, step=step):
            return _config_table(machine, classes, step)
        case Automata(classes=classes, prefix=prefix) | Sliding(classes=classes, prefix=prefix):
            states, held = np.arange(len(prefix)), states_in_use(machine)
            return StateTable(
                read_only(classes.astype(np.int64)),
                read_only(np.ascontiguousarray(prefix.T, dtype=np.int32)),
                states,
                states,
                ((held, held),),
            )
    raise TypeError(machine.tables)


def _config_table(
    machine: Machine, classes: NDArray[np.generic], step: NDArray[np.generic]
) -> StateTable:
    """Return the automaton of configs, without their slots."""
    numbers: dict[tuple[object, ...], int] = {}
    state_of = np.empty(len(machine.configs), dtype=np.int64)
    first: list[int] = []
    held = []
    for number, (prefix, slots, ages) in enumerate(machine.configs):
        used = {slot: state for slot, state in enumerate(slots) if state != NONE}
        # Which of several starts is the oldest depends on ages, where configs have them.
        kind = (prefix, tuple(slots[slot] for slot in ages) or frozenset(used.values()))
        state_of[number] = numbers.setdefault(kind, len(numbers))
        if len(first) < len(numbers):
            first.append(number)
        held.append((_ints(used.keys()), _ints(used.values())))
    moved = state_of[step[:, first].astype(np.int64)]
    return StateTable(
        read_only(classes.astype(np.int64)),
        read_only(np.ascontiguousarray(moved, dtype=np.int32)),
        state_of,
        _ints(first),
        tuple(held),
    )


def _ints(numbers: Iterable[int]) -> Ints:
    return np.array(list(numbers), dtype=np.int64)


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
