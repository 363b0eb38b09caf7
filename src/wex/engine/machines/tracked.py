"""The machine for windows with aggregates in their predicates: a program and tables for `tracked`.

The letters of such a window have two parts. The guards about events are evaluated for all rows, as
those of other windows; the predicates with aggregates are evaluated by the program, for each start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wex import limits
from wex.compile.plan import PlannedLetters
from wex.engine.kernels.buffers import allocate, owners_of
from wex.engine.kernels.tracked import (
    ENDS_BEFORE,
    ENDS_HERE,
    FLAG_BITS,
    GOES_ON,
    tracked_kernel,
)
from wex.engine.kernels.types import KernelResult, Segments, read_only
from wex.engine.machines.programs import program_of
from wex.engine.machines.tables import CODED, MachineTables
from wex.theory.terms import RunningTest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from wex.compile.plan import Plan, PlannedWindow
    from wex.engine.kernels.types import KernelClauses
    from wex.engine.machines.programs import Program


class Tracked(NamedTuple):
    """The automata of a window; `classes` has the class of a code and the bits of the own predicates.

    `entry[p]` is the window state of a start at prefix state p before its first event, or -1.
    `moves[state, class]` has the next state and what happens on the way: flags of the kernel.
    `final[state]`: a window may end with the stream.
    """

    classes: NDArray[np.uint16]
    prefix: NDArray[np.int32]
    entry: NDArray[np.int32]
    moves: NDArray[np.int32]
    final: NDArray[np.bool_]


class OwnRegisters(NamedTuple):
    """The registers of starts, a row each: those of whole numbers and texts, and those of reals."""

    ints: NDArray[np.int64]
    reals: NDArray[np.float64]


@dataclass(frozen=True)
class TrackedMachine:
    """A window with aggregates in its predicates, ready to run."""

    clauses: KernelClauses
    tables: Tracked
    program: Program
    letters: PlannedLetters  # of the guards about events
    kind: str = "tracked"

    def run(
        self,
        codes: NDArray[Any],
        clock: NDArray[np.int64],
        streams: Segments,
        columns: Sequence[NDArray[Any]],
        registers: OwnRegisters,
        *,
        last: bool,
    ) -> tuple[KernelResult, OwnRegisters]:
        """Return the windows of a batch, the starts that stay open, and their registers."""
        streams = Segments(*map(read_only, streams))
        kernel = tracked_kernel(self.program.source)
        rows = int((streams.end - streams.begin).sum())
        oldest = self.clauses.oldest_wins
        room = rows + (1 << 16)
        while True:
            buffers = allocate(streams, room, last=last)
            taken = np.zeros(len(codes) if oldest else 0, dtype=np.bool_)
            kept = _registers(self.program, len(buffers.panes))
            done = kernel(
                codes, read_only(clock), self.tables, self.clauses, streams, tuple(columns),
                self.program.initial, *map(read_only, registers), buffers, taken, *kept, last,
            )  # fmt: skip
            if done:
                break
            if done is False:
                limits.require("windows", 2 * room, "the windows of one batch")
                room *= 4
        count = len(buffers.written)
        written = int(buffers.written[-1]) if count else 0
        open_starts = int(buffers.kept[-1]) if count and not last else 0
        starts, ends = buffers.starts[:written], buffers.ends[:written]
        if (ends[1:] < ends[:-1]).any():  # they are in the order of their starts
            order = np.argsort(ends, kind="stable")
            starts, ends = starts[order], ends[order]
        result = KernelResult(
            starts,
            ends,
            owners_of(buffers.written, written),
            buffers.panes[:open_starts],
            buffers.slots[:open_starts],
            buffers.kept,
            buffers.state,
        )
        return result, OwnRegisters(kept.ints[:open_starts], kept.reals[:open_starts])

    def is_final(self, _state: NDArray[np.int64], slot: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which open starts make a window that ends with the last event of their stream."""
        return self.tables.final[slot]


def _registers(program: Program, count: int) -> OwnRegisters:
    reals = program.registers.count("real")
    ints = len(program.registers) - reals
    return OwnRegisters(
        np.empty((count, ints), dtype=np.int64), np.empty((count, reals), dtype=np.float64)
    )


def tracked_machine(window: PlannedWindow, plan: Plan, clauses: KernelClauses) -> TrackedMachine:
    """Return the machine of a window with aggregates in its predicates."""
    tables = MachineTables(window)
    guards = [plan.guards[number] for number in window.letters.guards]
    own = [place for place, guard in enumerate(guards) if isinstance(guard, RunningTest)]
    shared = [place for place in range(len(guards)) if place not in own]
    rows = tuple(dict.fromkeys(tuple(row[at] for at in shared) for row in window.letters.rows))
    letters = PlannedLetters(tuple(window.letters.guards[at] for at in shared), rows)
    coded = len(shared) <= CODED
    classes = np.zeros((1 << CODED if coded else len(rows), 1 << len(own)), dtype=np.uint16)
    for letter, row in enumerate(window.letters.rows):
        truths = tuple(row[at] for at in shared)
        code = _bits(truths) if coded else rows.index(truths)
        classes[code, _bits([row[at] for at in own])] = tables.by_letter[letter]
    moves, entry = _moves(tables, window, until=window.until is not None)
    return TrackedMachine(
        clauses,
        Tracked(
            classes,
            np.ascontiguousarray(tables.prefix, dtype=np.int32),
            entry,
            moves,
            np.concatenate([tables.final, np.zeros(len(moves) - len(tables.final), np.bool_)]),
        ),
        program_of(
            (guard for guard in guards if isinstance(guard, RunningTest)), plan.stream.nullable
        ),
        letters,
    )


def _moves(
    tables: MachineTables, window: PlannedWindow, *, until: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the moves with their flags, and the states of starts before their first event.

    These states are copies: a window has at least one event, so none ends before the first.
    """
    after = np.maximum(tables.move, 0)
    lives = tables.move >= 0
    final = lives & tables.final[after]
    goes_on = lives & (tables.lasts[after] | (until & final))
    flags = GOES_ON * goes_on + (0 if until else ENDS_HERE * final)
    moves = (after << FLAG_BITS) + flags
    ends_before = ENDS_BEFORE * (tables.final[:, None] & tables.until[None, :]) if until else 0
    entries = np.unique(window.starts[window.starts >= 0])
    number = np.full(len(moves), -1, dtype=np.int32)
    number[entries] = len(moves) + np.arange(len(entries))
    begins = tables.born.max(axis=1, initial=-1) >= 0
    entry = np.where(begins, number[np.maximum(window.starts, 0)], -1)
    return (
        np.concatenate([moves + ends_before, moves[entries]]).astype(np.int32),
        entry.astype(np.int32),
    )


def _bits(truths: Sequence[bool]) -> int:
    return sum(true << bit for bit, true in enumerate(truths))
