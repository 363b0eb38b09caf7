"""From the automata of a planned window to the tables that a kernel runs.

Four kernels: `registers` where no window state ever holds two starts, `configs` where the
combinations of occupied window states are few, `sliding` for windows of one fixed length, `moving`
for all others. They give the same windows; which one runs is decided here, once for each plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from wex import limits
from wex.automata.crawl import crawl
from wex.automata.dfa import common_classes
from wex.engine.kernels.arrays import plain
from wex.engine.kernels.configs import run_configs
from wex.engine.kernels.lent import lend, result
from wex.engine.kernels.moving import run_moving
from wex.engine.kernels.registers import ENDING, IDLE, NO_SLOT, SLOTS, run_registers
from wex.engine.kernels.shapes import (
    BIRTH,
    DROP,
    EMIT,
    EMITTED,
    JOIN,
    Automata,
    Clauses,
    Configs,
    Ran,
    Registers,
    Segments,
    Sliding,
)
from wex.engine.kernels.sliding import run_sliding
from wex.errors import LimitError
from wex.windows.normal import NONE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.windows.plan import PlannedWindow

MOST_CONFIGS = 256
MOST_ENTRIES = 1 << 16  # of a table by config and class
MOST_QUADS = 1 << 12  # of a table by config and four classes: it has to stay in the nearest cache
BLOCK = 4096  # events that are traced before they act
ROOM = 1 << 16  # windows there is room for, beside one for each row
CHAIN = 8  # states: shorter ones are no chains
CODED = 8  # guards whose truths fit into a code of one byte

Config = tuple[int, tuple[int, ...]]  # a prefix state, and the window state in each slot or NONE
Op = tuple[int, int, int]


@dataclass(frozen=True)
class Machine:
    """A window, ready to run: a kernel and its tables. `kind` says which."""

    kind: str
    clauses: Clauses
    tables: Registers | Configs | Sliding | Automata
    initial: int
    wide: bool  # codes are numbers of classes, in two bytes

    def run(
        self, codes: NDArray[Any], clock: NDArray[np.int64], streams: Segments, *, last: bool
    ) -> Ran:
        """Return the windows of a batch and the starts that stay open; `last`: streams end here."""
        streams = Segments(*map(plain, streams))
        clock = plain(clock)
        rows = int((streams.end - streams.begin).sum())
        if isinstance(self.tables, Registers):
            extra = len(streams.begin) * SLOTS if last and self.clauses.or_end else 0
            lent = lend(streams, rows + extra + 1, last=last)
            alone = last and not self.clauses.or_end and not streams.held[-1]
            at_ends = not alone or bool(streams.shift.any())
            run_registers(codes, clock, self.tables, self.clauses, streams, lent, last, at_ends)
            return result(lent, last=last, begin=None if at_ends else streams.begin)
        if isinstance(self.tables, Sliding):
            lent = lend(streams, rows + int(streams.held[-1]), last=last)
            run_sliding(codes, clock, self.tables, streams, lent, last)
            return result(lent, last=last)
        kernel: Callable[..., bool] = run_configs
        if isinstance(self.tables, Configs):
            states, lists = 0, self.tables.final.shape[1]
        else:
            kernel, states = run_moving, len(self.tables.move)
            lists = 2 * states + len(self.tables.chain_size) + 1
        room = rows + ROOM
        while True:
            lent = lend(streams, room, last=last, lists=lists, states=states, block=BLOCK)
            if kernel(codes, clock, self.tables, self.clauses, streams, lent, last):
                return result(lent, last=last, mixed=True)
            limits.require("windows", 2 * room, "the windows of one batch")
            room *= 4

    def is_final(self, state: NDArray[np.int64], slot: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell of starts that are held whether a window may end with the last event they have had.

        `state` is that of their streams, as the kernel has left it.
        """
        if isinstance(self.tables, Registers):
            bits: NDArray[np.bool_] = (self.tables.final[state] >> slot & 1).astype(np.bool_)
            return bits
        if isinstance(self.tables, Configs):
            found: NDArray[np.bool_] = self.tables.final[state, slot]
            return found
        if isinstance(self.tables, Automata):
            return self.tables.final[slot]
        return np.zeros(len(slot), dtype=np.bool_)  # windows of a fixed length end as they are held


def machine_of(window: PlannedWindow, most_configs: int = MOST_CONFIGS) -> Machine:
    """Return the machine of a window."""
    joint = _Joint(window)
    clauses = _clauses(window)
    # An emission that may find all its starts too old is not decided by config and letter.
    decided = not (clauses.cuts and clauses.limit >= 0)
    if decided and not joint.chains:
        crawled = _Crawl(joint, clauses, most_configs)
        if crawled.complete:
            # A start that `keep` takes away after `having` leaves its slot empty, unlike a register.
            late = window.having is not None and window.keep in ("shortest", "disjoint")
            return (None if late else crawled.registers()) or crawled.configs()
    automata = joint.automata()
    sliding = _sliding(automata, clauses)
    if sliding is not None:
        return Machine("sliding", clauses, sliding, 0, joint.wide)
    return Machine("moving", clauses, automata, 0, joint.wide)


def _sliding(automata: Automata, clauses: Clauses) -> Sliding | None:
    """Return the tables for windows of a fixed length, if these are all there are."""
    if len(automata.chain_size) != 1 or clauses.until or clauses.cuts or clauses.limit >= 0:
        return None
    after = np.unique(automata.leave[automata.leave >= 0])
    born = np.unique(automata.born[automata.born >= 0])
    alone = len(after) == 1 and automata.final[after[0]] and not automata.lasts[after[0]]
    if not alone or (born != automata.chain_first[0]).any():
        return None
    return Sliding(
        automata.classes,
        automata.prefix,
        automata.born >= 0,
        automata.leave[0] >= 0,
        int(automata.chain_size[0]),
    )


def _clauses(window: PlannedWindow) -> Clauses:
    # `having` comes before `keep`: then the kernel gives all windows, and `keep` acts on the rest.
    keep = "all" if window.having is not None else window.keep
    limit = -1
    if window.within_events is not None:
        limit = window.within_events - 1
    elif window.within_time is not None:
        limit = window.within_time
    return Clauses(
        until=window.until is not None,
        or_end=window.or_end,
        oldest=keep in ("longest", "disjoint"),
        cuts=keep == "disjoint",
        spent=keep == "shortest",
        limit=min(limit, 2**63 - 1),
    )


class _Joint:
    """Both automata of a window over common classes of letters, dead states as -1."""

    def __init__(self, window: PlannedWindow) -> None:
        count = len(window.letters.rows)
        until = [window.until is not None and bool(window.until >> at & 1) for at in range(count)]
        before, inside = window.prefix, window.window
        by_letter, own = common_classes(before.classes.tolist(), inside.classes.tolist(), until)
        columns = np.array(own, dtype=np.int64).reshape(-1, 3)
        self.prefix = before.table[:, columns[:, 0]]
        move = inside.table[:, columns[:, 1]]
        self.move = np.where(inside.live[move], move, -1).astype(np.int32)
        self.until = columns[:, 2].astype(np.bool_)
        self.final = inside.final
        self.lasts: NDArray[np.bool_] = np.logical_or.reduce(self.move >= 0, axis=1)
        entry = np.maximum(window.starts, 0)
        self.born = np.where((window.starts == NONE)[:, None], -1, self.move[entry])
        self.classes = self._codes(window, by_letter)
        self.wide = len(window.letters.guards) > CODED
        self.chains = self._chains()

    @property
    def count(self) -> int:
        """Return how many classes there are."""
        return len(self.until)

    @staticmethod
    def _codes(window: PlannedWindow, by_letter: list[int]) -> NDArray[np.int64]:
        """Return the class of each code: the truths of the guards as bits, or the letter itself."""
        guards = len(window.letters.guards)
        if guards > CODED:
            return np.array(by_letter, dtype=np.int64)
        classes = np.zeros(1 << CODED, dtype=np.int64)
        for letter, row in enumerate(window.letters.rows):
            classes[sum(true << bit for bit, true in enumerate(row))] = by_letter[letter]
        return classes

    def _chains(self) -> list[list[int]]:
        """Return rows of states in which each letter moves on all starts, or ends them all."""
        states = len(self.move)
        if states < CHAIN:
            return []
        occupied = np.zeros(states, dtype=np.bool_)
        pending = np.unique(self.born[self.born >= 0])
        while len(pending):
            occupied[pending] = True
            after = np.unique(self.move[pending])
            pending = after[(after >= 0) & ~occupied[after]]
        alive = self.move >= 0
        following = self.move.max(axis=1)
        single = np.where(alive, self.move, following[:, None]).min(axis=1) == following
        fit = occupied & single & (following >= 0) & ~self.final
        entered = np.zeros(states, dtype=np.int64)
        for state in np.flatnonzero(occupied):
            after = np.unique(self.move[state])
            entered[after[after >= 0]] += 1
        entered[np.unique(self.born[self.born >= 0])] += 1
        chains: list[list[int]] = []
        linked = {
            int(state): int(following[state])
            for state in np.flatnonzero(fit)
            if fit[following[state]]
            and following[state] != state
            and entered[following[state]] == 1
            and (alive[state] == alive[following[state]]).all()
        }
        heads = set(linked) - set(linked.values())
        for head in sorted(heads):
            chain = [head]
            while chain[-1] in linked:
                chain.append(linked[chain[-1]])
            if len(chain) >= CHAIN:
                chains.append(chain)
        return chains

    def automata(self) -> Automata:
        """Return the tables for moving lists; the states of a chain are numbered in a row."""
        states = len(self.move)
        chained = [state for chain in self.chains for state in chain]
        free = sorted(set(range(states)) - set(chained))
        order = np.array([*chained, *free], dtype=np.int64)
        number = np.full(states + 1, -1, dtype=np.int32)  # its last entry is that of -1
        number[order] = np.arange(states)
        sizes = [len(chain) for chain in self.chains]
        first = np.cumsum([0, *sizes])[:-1]
        chain_of = np.full(states, -1, dtype=np.int32)
        chain_of[: len(chained)] = np.repeat(np.arange(len(sizes)), sizes)
        move = number[self.move[order]]
        ends = first + np.array(sizes, dtype=np.int64) - 1
        return Automata(
            self.classes.astype(np.uint16),
            np.ascontiguousarray(self.prefix, dtype=np.int32),
            np.ascontiguousarray(number[self.born]),
            np.ascontiguousarray(move),
            np.ascontiguousarray(self.final[order]),
            np.ascontiguousarray(self.lasts[order]),
            self.until,
            chain_of,
            first.astype(np.int32),
            np.array(sizes, dtype=np.int32),
            np.ascontiguousarray(move[ends]).reshape(len(sizes), self.count),
        )


@dataclass
class _Crawl:
    """The config automaton of a window, as far as it is small."""

    joint: _Joint
    clauses: Clauses
    most: int
    complete: bool = False
    ops: dict[tuple[Config, int], tuple[Op, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        initial: Config = (0, ())
        most = min(self.most, MOST_ENTRIES // self.joint.count)
        if most < 1 or self.joint.count > MOST_ENTRIES:
            return
        try:
            with limits.raised(states=most):
                found, table = crawl([initial], self._successors)
        except LimitError:
            return
        self.states = found
        self.table = np.array(table, dtype=np.int64)
        self.complete = self.width <= SLOTS

    def _successors(self, config: Config) -> list[Config]:
        return [self._after(config, letter) for letter in range(self.joint.count)]

    def _after(self, config: Config, letter: int) -> Config:
        """Return the config after a letter, and note what the letter does."""
        prefix, slots = config
        joint, clauses = self.joint, self.clauses
        holds = dict(enumerate(slots))  # slot → state
        ops: list[Op] = []

        def emit(states: dict[int, int]) -> None:
            ending = [
                slot for slot, state in states.items() if state != NONE and joint.final[state]
            ]
            if not ending:
                return
            ops.extend((EMIT, slot, 0) for slot in ending)
            ops.append((EMITTED, 0, 0))
            gone = [s for s, q in states.items() if q != NONE] if clauses.cuts else ending
            if clauses.cuts or clauses.spent:
                for slot in gone:
                    ops.append((DROP, slot, 0))
                    states[slot] = NONE

        if clauses.until and joint.until[letter]:
            emit(holds)
        after: dict[int, int] = {}
        place: dict[int, int] = {}  # state → slot
        for slot, state in holds.items():
            moved = int(joint.move[state, letter]) if state != NONE else NONE
            if moved != NONE and moved in place:
                ops.append((JOIN, slot, place[moved]))
                moved = NONE
            elif moved != NONE:
                place[moved] = slot
            elif state != NONE:
                ops.append((DROP, slot, 0))
            after[slot] = moved
        born = int(joint.born[prefix, letter])
        if born != NONE:
            if born not in place:
                free = next((s for s, q in after.items() if q == NONE), len(after))
                place[born] = free
                after[free] = born
            ops.append((BIRTH, place[born], 0))
        if not clauses.until:
            emit(after)
            for slot, state in after.items():
                if state != NONE and not joint.lasts[state]:
                    ops.append((DROP, slot, 0))
                    after[slot] = NONE
        kept = [after[slot] for slot in range(len(after))]
        while kept and kept[-1] == NONE:
            kept.pop()
        self.ops[config, letter] = tuple(ops)
        return int(joint.prefix[prefix, letter]), tuple(kept)

    @cached_property
    def width(self) -> int:
        """Return how many slots there are."""
        used = [op[1] + 1 for ops in self.ops.values() for op in ops]
        return max([1, *used])

    def _bits(self, chosen: Callable[[int], bool]) -> NDArray[np.uint32]:
        found = [
            sum(1 << slot for slot, state in enumerate(slots) if state != NONE and chosen(state))
            for _, slots in self.states
        ]
        return np.array(found, dtype=np.uint32)

    def registers(self) -> Machine | None:
        """Return the machine with a register for each slot, if that is enough."""
        count, configs = self.joint.count, len(self.states)
        bits = max(1, (count - 1).bit_length())
        if count > 256 or self.joint.wide:
            return None
        config_bits = max(1, (configs - 1).bit_length())
        width = 1 << config_bits
        op = np.full((count, width), IDLE, dtype=np.uint16)
        for number, config in enumerate(self.states):
            for letter in range(count):
                coded = _register_op(config, self.ops[config, letter])
                if coded is None:
                    return None
                op[letter, number] = coded
        step = np.zeros((count, width), dtype=np.uint16)
        step[:, :configs] = self.table.T
        quad_step, quad_op = _quads(step, op, bits)
        tables = Registers(
            self.joint.classes.astype(np.uint8),
            step.ravel(),
            op.ravel(),
            quad_step.ravel(),
            quad_op.ravel(),
            bits,
            config_bits,
            self._bits(lambda _: True),
            self._bits(lambda state: bool(self.joint.final[state])),
        )
        return Machine("registers", self.clauses, tables, 0, self.joint.wide)

    def configs(self) -> Machine:
        """Return the machine that traces configs."""
        programs: dict[tuple[Op, ...], int] = {(): 0}
        act = np.zeros((self.joint.count, len(self.states)), dtype=np.uint16)
        for number, config in enumerate(self.states):
            for letter in range(self.joint.count):
                ops = self.ops[config, letter]
                act[letter, number] = programs.setdefault(ops, len(programs))
        flat = [op for program in programs for op in program]
        lengths = [len(program) for program in programs]
        final = np.zeros((len(self.states), self.width), dtype=np.bool_)
        for number, (_, slots) in enumerate(self.states):
            for slot, state in enumerate(slots):
                final[number, slot] = state != NONE and self.joint.final[state]
        tables = Configs(
            self.joint.classes.astype(np.uint16),
            np.ascontiguousarray(self.table.T, dtype=np.uint16),
            act,
            np.cumsum([0, *lengths]).astype(np.int64),
            np.array(flat, dtype=np.int64).reshape(-1, 3),
            final,
        )
        return Machine("configs", self.clauses, tables, 0, self.joint.wide)


def _quads(
    step: NDArray[np.uint16], op: NDArray[np.uint16], bits: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """Return the tables for four letters at a time, or empty ones if they would be too large."""
    count, width = step.shape
    if width << 4 * bits > MOST_QUADS:
        return np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.uint64)
    quad_step = np.zeros((1 << 4 * bits, width), dtype=np.uint8)
    quad_op = np.zeros((1 << 4 * bits, width), dtype=np.uint64)
    for letters in product(range(count), repeat=4):
        word = sum(letter << bits * at for at, letter in enumerate(letters))
        config = np.arange(width)
        for at, letter in enumerate(letters):
            quad_op[word] |= op[letter, config].astype(np.uint64) << np.uint64(16 * at)
            config = step[letter, config]
        quad_step[word] = config
    return quad_step, quad_op


def _register_op(config: Config, ops: tuple[Op, ...]) -> int | None:
    """Return what a letter does as an operation on registers, or None if it does more than one."""
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
