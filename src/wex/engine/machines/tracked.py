"""The machine for windows with aggregates in their predicates: a program and tables for `tracked`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wex.engine.kernels.buffers import allocate, owners_of
from wex.engine.kernels.programs import program_kernel
from wex.engine.kernels.tracked import (
    ENDS_BEFORE,
    ENDS_HERE,
    FLAG_BITS,
    GOES_ON,
    tracked_kernel,
)
from wex.engine.kernels.types import KernelResult, Segments, read_only
from wex.engine.machines.own_letters import OwnRegisters, empty_registers
from wex.engine.machines.room import first_room, more_room
from wex.engine.machines.tables import MachineTables

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

    from wex.compile.plan import PlannedWindow
    from wex.engine.kernels.types import KernelClauses
    from wex.engine.machines.own_letters import OwnLetters


class Tracked(NamedTuple):
    """The automata of a window; `classes` has the class of a code and the bits of the own predicates.

    `entry[p]` is the window state of a start at prefix state p before its first event, or -1.
    `moves[state, class]` has the next state and what happens on the way: flags of the kernel.
    `quiet[state, code]` has a bit for each combination of truth values of the own predicates: set
    if it leads back to the state, and no window ends. `final[state]`: a window may end with the
    stream.
    """

    classes: NDArray[np.uint16]
    prefix: NDArray[np.int32]
    entry: NDArray[np.int32]
    moves: NDArray[np.int32]
    quiet: NDArray[np.uint64]
    final: NDArray[np.bool_]


@dataclass(frozen=True)
class TrackedMachine:
    """A window with aggregates in its predicates, ready to run; `ahead` is that of a `Machine`."""

    clauses: KernelClauses
    tables: Tracked
    own: OwnLetters
    ahead: NDArray[np.int64] | None
    kind: str = "tracked"
    rivals: None = None  # starts with aggregates of their own do not dominate others
    saved_as: str = ""

    def run(
        self,
        codes: NDArray[Any],
        clock: NDArray[np.int64],
        streams: Segments,
        columns: Sequence[NDArray[Any]],
        registers: OwnRegisters,
        *,
        last: bool,
        late: bool = False,
    ) -> tuple[KernelResult, OwnRegisters]:
        """Return the windows of a batch, the starts that stay open, and their registers.

        `late` says that `keep` chooses afterwards.
        """
        streams = Segments(*map(read_only, streams))
        kernel = program_kernel(self.own.program.source, tracked_kernel)
        rows = int((streams.end - streams.begin).sum())
        oldest = self.clauses.oldest_wins
        room = first_room(rows, late=late)
        while True:
            buffers = allocate(streams, room, last=last)
            taken = np.zeros(len(codes) if oldest else 0, dtype=np.bool_)
            kept = empty_registers(self.own.program, len(buffers.panes))
            done = kernel(
                codes, read_only(clock), self.tables, self.clauses, streams, tuple(columns),
                self.own.program.initial, *map(read_only, registers), buffers, taken, *kept, last,
            )  # fmt: skip
            if done:
                break
            if done is False:
                room = more_room(room, late=late)
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


def tracked_machine(
    window: PlannedWindow, own: OwnLetters, clauses: KernelClauses
) -> TrackedMachine:
    """Return the machine of a window with aggregates in its predicates."""
    tables = MachineTables(window)
    classes = own.classes(tables.by_letter)
    moves, entry = _moves(tables, window, until=window.until is not None)
    counts = window.clauses.within_events is not None  # no start is held before its first event
    return TrackedMachine(
        clauses,
        Tracked(
            classes,
            np.ascontiguousarray(tables.prefix, dtype=np.int32),
            entry,
            moves,
            _quiet(classes, moves),
            np.concatenate([tables.final, np.zeros(len(moves) - len(tables.final), np.bool_)]),
        ),
        own,
        tables.ahead[np.newaxis] if counts else None,
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
        np.ascontiguousarray(np.concatenate([moves + ends_before, moves[entries]]), dtype=np.int32),
        entry.astype(np.int32),
    )


def _quiet(classes: NDArray[np.uint16], moves: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return for each state and code which combinations of the own predicates change nothing.

    Combinations with the same lower six bits share a bit: it is set if none of them changes anything.
    """
    same = moves == (np.arange(len(moves)) << FLAG_BITS | GOES_ON)[:, None]
    quiet = np.zeros((len(moves), len(classes)), dtype=np.uint64)
    for low in range(min(64, classes.shape[1])):
        all_same = same[:, classes[:, low::64]].all(axis=2)
        quiet |= all_same.astype(np.uint64) << np.uint64(low)
    return quiet
