"""From the automata of a planned window to the tables that a kernel runs.

Three kernels, from fast to general: `registers` where no window state ever holds two starts,
`configs` where the combinations of occupied window states are few, `moving` for all others. They
give the same windows; which one runs is decided here, once for each plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from wex import limits
from wex.automata.crawl import crawl
from wex.automata.dfa import common_classes
from wex.engine.kernels.arrays import plain
from wex.engine.kernels.configs import run_configs
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
)
from wex.errors import LimitError
from wex.windows.normal import NONE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.windows.plan import PlannedWindow

MOST_CONFIGS = 256
MOST_ENTRIES = 1 << 16  # of a table by config and class
MOST_PAIRS = 1 << 14  # of a table by config and two classes: it has to stay in the nearest cache
CHAIN = 8  # states: shorter ones are no chains
CODED = 8  # guards whose truths fit into a code of one byte

Config = tuple[int, tuple[int, ...]]  # a prefix state, and the window state in each slot or NONE
Op = tuple[int, int, int]


@dataclass(frozen=True)
class Machine:
    """A window, ready to run: a kernel and its tables. `kind` says which."""

    kind: str
    clauses: Clauses
    tables: Registers | Configs | Automata
    initial: int
    wide: bool  # codes are numbers of classes, in two bytes

    def run(
        self, codes: NDArray[Any], clock: NDArray[np.int64], streams: Segments, *, last: bool
    ) -> Ran:
        """Return the windows of a batch and the starts that stay open; `last`: streams end here."""
        rows = int((streams.end - streams.begin).sum())
        extra = len(streams.begin) * SLOTS if last and self.clauses.or_end else 0
        exact = self.kind == "registers"
        size = rows + extra + 1 if exact else min(rows, 1 << 16) + 1
        room = (np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64))
        kernel: Callable[..., Ran] = _KERNELS[self.kind]
        streams = Segments(*map(plain, streams))
        return kernel(codes, plain(clock), self.tables, self.clauses, streams, room, last)


_KERNELS = {"registers": run_registers, "configs": run_configs, "moving": run_moving}


def machine_of(window: PlannedWindow, most_configs: int = MOST_CONFIGS) -> Machine:
    """Return the machine of a window."""
    joint = _Joint(window)
    clauses = _clauses(window)
    # An emission that may find all its starts too old is not decided by config and letter.
    decided = not (clauses.cuts and clauses.limit >= 0)
    if decided and not joint.chains:
        crawled = _Crawl(joint, clauses, most_configs)
        if crawled.complete:
            return crawled.registers() or crawled.configs()
    return Machine("moving", clauses, joint.automata(), 0, joint.wide)


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
        self.lasts = (self.move >= 0).any(axis=1)
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
        for after in {int(each) for each in self.born.ravel() if each >= 0}:
            entered[after] += 1
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
        if count > 256 or configs << 2 * bits > MOST_PAIRS or self.joint.wide:
            return None
        op = np.full((count, configs), IDLE, dtype=np.uint16)
        for number, config in enumerate(self.states):
            for letter in range(count):
                coded = _register_op(config, self.ops[config, letter])
                if coded is None:
                    return None
                op[letter, number] = coded
        step = self.table.T.astype(np.uint16)
        pair_step = np.zeros((1 << 2 * bits, configs), dtype=np.uint16)
        pair_op = np.zeros((1 << 2 * bits, configs), dtype=np.uint32)
        for first in range(count):
            for second in range(count):
                word = first | second << bits
                pair_step[word] = step[second, step[first]]
                pair_op[word] = op[first] | op[second, step[first]].astype(np.uint32) << 16
        tables = Registers(
            self.joint.classes.astype(np.uint8),
            step,
            op,
            pair_step,
            pair_op,
            bits,
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
