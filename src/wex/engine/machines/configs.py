"""The config automaton of a window: which window states are occupied, and how a letter moves them.

Every occupied window state has a slot. A letter moves the starts of a slot on together, joins two
slots, drops one, gives birth to a start in one, or emits windows.

Where only the oldest start of a state counts, a slot has one start, and if the slots are `ordered`
by age it is known beforehand which start that is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from wex import limits
from wex.automata.explore import explore
from wex.compile.normal_form import NONE
from wex.engine.kernels.registers import ENDING, IDLE, IDLE_QUAD, NO_SLOT, PLACE, SLOTS
from wex.engine.kernels.types import (
    BIRTH,
    DROP,
    EMIT,
    EMITTED,
    JOIN,
    Configs,
    KernelClauses,
    Registers,
)
from wex.errors import LimitError
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.engine.machines.tables import MachineTables

MOST_ENTRIES = 1 << 16  # of a table by config and class
MOST_QUADS = 1 << 12  # of a table by config and four classes: it has to stay in the nearest cache

# A prefix state, the window state in each slot or NONE, and the slots by age if they are ordered.
Config = tuple[int, tuple[int, ...], tuple[int, ...]]
Op = tuple[int, int, int]


@dataclass
class ConfigAutomaton:
    """The config automaton of a window; it is not `complete` if it would be too large."""

    tables: MachineTables
    clauses: KernelClauses
    most: int
    ordered: bool = False
    complete: bool = False
    ops: dict[tuple[Config, int], tuple[Op, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        initial: Config = (0, (), ())
        most = min(self.most, MOST_ENTRIES // self.tables.count)
        if most < 1 or self.tables.count > MOST_ENTRIES:
            return
        try:
            with limits.raised(states=most):
                states, table = explore([initial], self._successors)
        except LimitError:
            return
        self.states = states
        self.table = np.array(table, dtype=np.int64)
        self.complete = self.width <= SLOTS

    def _successors(self, config: Config) -> list[Config]:
        return [self._after(config, cls) for cls in range(self.tables.count)]

    def _after(self, config: Config, cls: int) -> Config:
        """Return the config after a class of letters, and note the operations of the class."""
        prefix, slots, ages = config
        tables, clauses = self.tables, self.clauses
        # Slot → state, the oldest first if they are ordered.
        holds = {slot: slots[slot] for slot in dict.fromkeys((*ages, *range(len(slots))))}
        ops: list[Op] = []

        def emit(states: dict[int, int]) -> None:
            ending = [
                slot for slot, state in states.items() if state != NONE and tables.final[state]
            ]
            if not ending:
                return
            ops.extend((EMIT, slot, 0) for slot in (ending[:1] if self.ordered else ending))
            ops.append((EMITTED, 0, 0))
            dropped = [s for s, q in states.items() if q != NONE] if clauses.cuts else ending
            if clauses.cuts or clauses.ends_after_first:
                for slot in dropped:
                    ops.append((DROP, slot, 0))
                    states[slot] = NONE

        if clauses.until and tables.until[cls]:
            emit(holds)
        after: dict[int, int] = {}
        place: dict[int, int] = {}  # state → slot
        for slot, state in holds.items():
            moved = int(tables.move[state, cls]) if state != NONE else NONE
            if moved != NONE and moved in place:
                ops.append((DROP, slot, 0) if self.ordered else (JOIN, slot, place[moved]))
                moved = NONE
            elif moved != NONE:
                place[moved] = slot
            elif state != NONE:
                ops.append((DROP, slot, 0))
            after[slot] = moved
        born = int(tables.born[prefix, cls])
        if born != NONE and born not in place:
            free = min((s for s, q in after.items() if q == NONE), default=len(after))
            place[born] = free
            after.pop(free, None)
            after[free] = born  # the youngest
            ops.append((BIRTH, free, 0))
        elif born != NONE and not clauses.single:
            ops.append((BIRTH, place[born], 0))
        if not clauses.until:
            emit(after)
            for slot, state in after.items():
                if state != NONE and not tables.lasts[state]:
                    ops.append((DROP, slot, 0))
                    after[slot] = NONE
        kept = [after[slot] for slot in range(len(after))]
        while kept and kept[-1] == NONE:
            kept.pop()
        self.ops[config, cls] = tuple(ops)
        by_age = [slot for slot, state in after.items() if state != NONE] if self.ordered else ()
        return int(tables.prefix[prefix, cls]), tuple(kept), tuple(by_age)

    @cached_property
    def width(self) -> int:
        """Return how many slots there are."""
        used = [op[1] + 1 for ops in self.ops.values() for op in ops]
        return max([1, *used])

    def _bits(self, chosen: Callable[[int], bool]) -> NDArray[np.uint32]:
        """Return by config the slots that are held, if their states are chosen."""
        bits = [
            sum(1 << slot for slot in self._held_slots(config) if chosen(config[1][slot]))
            for config in self.states
        ]
        return np.array(bits, dtype=np.uint32)

    def _held_slots(self, config: Config) -> list[int]:
        """Return the slots in use whose starts are held: where ages are known, those not dominated.

        A config has the others, too. Its windows are those of the oldest starts that end, so never of
        one that is dominated: whatever is in its register is not read (`automata/dominance.py`).
        """
        _, slots, ages = config
        dominates = self.tables.dominates if self.ordered else None
        if dominates is None:
            return [slot for slot, state in enumerate(slots) if state != NONE]
        held = dominates.left([slots[slot] for slot in ages])
        return [slot for slot in ages if slots[slot] in held]

    def window_states(self) -> NDArray[np.int64]:
        """Return the window state by config and slot, 0 for an empty slot."""
        states = np.zeros((len(self.states), self.width), dtype=np.int64)
        for number, (_, slots, _) in enumerate(self.states):
            for slot, state in enumerate(slots):
                states[number, slot] = max(state, 0)
        return states

    def registers(self) -> Registers | None:
        """Return the tables with a register for each slot, if that is enough."""
        count, configs = self.tables.count, len(self.states)
        bits = max(1, (count - 1).bit_length())
        if count > 256 or self.tables.uses_letters:
            return None
        config_bits = max(1, (configs - 1).bit_length())
        width = 1 << config_bits
        op = np.full((count, width), IDLE, dtype=np.uint16)
        for number, config in enumerate(self.states):
            for cls in range(count):
                coded = _register_op(config, self.ops[config, cls])
                if coded is None:
                    return None
                op[cls, number] = coded
        step = np.zeros((count, width), dtype=np.uint16)
        step[:, :configs] = self.table.T
        quad_step, quad_op = _quads(step, op, bits)
        return Registers(
            self.tables.classes.astype(np.uint8),
            step.ravel(),
            op.ravel(),
            quad_step.ravel(),
            quad_op.ravel(),
            bits,
            config_bits,
            self._bits(lambda _: True),
            self._bits(lambda state: bool(self.tables.final[state])),
        )

    def configs(self) -> Configs:
        """Return the tables that trace configs."""
        programs: dict[tuple[Op, ...], int] = {(): 0}
        act = np.zeros((self.tables.count, len(self.states)), dtype=np.uint16)
        for number, config in enumerate(self.states):
            for cls in range(self.tables.count):
                ops = self.ops[config, cls]
                act[cls, number] = programs.setdefault(ops, len(programs))
        flat = [op for program in programs for op in program]
        lengths = [len(program) for program in programs]
        final = np.zeros((len(self.states), self.width), dtype=np.bool_)
        for number, (_, slots, _) in enumerate(self.states):
            for slot, state in enumerate(slots):
                final[number, slot] = state != NONE and self.tables.final[state]
        return Configs(
            self.tables.classes.astype(np.uint16),
            np.ascontiguousarray(self.table.T, dtype=np.uint16),
            act,
            np.cumsum([0, *lengths]).astype(np.int64),
            np.array(flat, dtype=np.int64).reshape(-1, 3),
            final,
        )


def _quads(
    step: NDArray[np.uint16], op: NDArray[np.uint16], bits: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Return the tables for four letters at a time, or empty ones if they would be too large."""
    count, width = step.shape
    if width << 4 * bits > MOST_QUADS:
        return np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint64)
    quad_step = np.zeros((1 << 4 * bits, width), dtype=np.uint8)
    quad_op = np.zeros((1 << 4 * bits, width), dtype=np.uint64)
    for classes in product(range(count), repeat=4):
        word = sum(cls << bits * at for at, cls in enumerate(classes))
        config = np.arange(width)
        performed = np.zeros(width, dtype=np.uint64)  # the events that act come first
        ops = np.full(width, IDLE_QUAD, dtype=np.uint64)
        for at, cls in enumerate(classes):
            own = op[cls, config].astype(np.uint64)
            change = own ^ np.uint64(IDLE) | np.uint64(at << PLACE)
            acts = own != np.uint64(IDLE)
            ops ^= np.where(acts, change << (np.uint64(16) * performed), np.uint64(0))
            performed += acts
            config = step[cls, config]
        quad_step[word], quad_op[word] = config, ops
    return quad_step, quad_op


def _register_op(config: Config, ops: tuple[Op, ...]) -> int | None:
    """Return the operations of a class as one operation on registers; None: it takes several."""
    occupied = {slot for slot, state in enumerate(config[1]) if state != NONE}
    birth = ending = NO_SLOT
    for op, slot, _ in ops:
        if op == DROP:
            occupied.discard(slot)
        elif op == BIRTH and slot not in occupied:
            birth = slot
        elif op == EMIT and ending == NO_SLOT:
            ending = slot
        elif op != EMITTED:
            return None
    return birth | ending << 5 | (ENDING if ending != NO_SLOT else 0)
