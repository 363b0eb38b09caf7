"""One range of a stream: the windows inside it, and its part in the windows that cross its borders.

A start that was open before the range is not known here. Each window state that is in use has a
*phantom* instead, which stands for all starts in it: they move together, so that the windows of the phantom
are windows of each of them. Phantoms have panes before the first, as none of their events is here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wex.engine.input.batch import BatchView
from wex.engine.input.columns import combine_chunks, take
from wex.engine.input.event_checks import check_events
from wex.engine.measures.panes import Ranges
from wex.engine.ranges.composition import Entry, conformity_of
from wex.engine.state import schema
from wex.engine.window_run import Matches, WindowRun

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.input.batch import Batch
    from wex.engine.kernels.types import Segments
    from wex.engine.window_run import FoundWindows


END = "end"  # in the panes of a border: the position after their last event


class Places(NamedTuple):
    """Events that a border keeps: open starts, or ends of phantoms, a row each."""

    position: Ints
    state: Ints  # the window state: of an open start after the range, of an end before it
    clock: Ints  # what `within` measures; 0 without `within`
    time: pa.Array | None  # the first order column, if there is one


@dataclass(frozen=True, eq=False)
class Border:
    """What a range has of the windows of one window expression that cross its borders.

    `passed` are the window states of phantoms that are still open, before and after the range. The panes
    are those from which the measures of all such windows can be computed: they are cut at open starts and
    behind the ends of phantoms.
    """

    starts: Places
    ends: Places
    passed: tuple[Ints, Ints]
    panes: pa.Table


@dataclass(frozen=True, eq=False)
class RangeResult:
    """The windows that begin and end in a range, and the stream after it; None: the stream ends with it.

    There are a run and its windows for each window expression.
    """

    batch: Batch
    windows: list[FoundWindows]
    runs: list[RangeRun]
    after: Entry | None


def run_range(
    engine: Engine, batch: Batch, entry: Entry, times: Ints, *, last: bool
) -> RangeResult:
    """Return the windows of a range; a bad event is a FaultError, as for an engine.

    The rows of the batch before the range are those that it may look back at; `times` are those of
    the last events before, as far as rates need them.
    """
    check_events(engine, batch)
    codes = engine.codes(batch)
    conformity = engine.conformity_check.check(batch, conformity_of(engine, entry, times))
    rows = BatchView(batch, engine.guarded - engine.nullable)
    runs = []
    for number, window in enumerate(engine.windows):
        run = RangeRun(engine, window, number, batch, rows, engine.fresh(1), last=last)
        run.entry = int(window.automaton.machine_state[entry.windows[number]])
        runs.append(run)
    engine.trace(runs, codes)
    windows = [run.windows(own) for run, own in zip(runs, codes, strict=True)]
    after = None
    if not last:
        position = int(batch.position[0] + batch.end[0] - batch.begin[0])
        states = tuple(run.state_after for run in runs)
        after = Entry(position, states, int(conformity.states[0]))
    return RangeResult(batch, windows, runs, after)


class RangeRun(WindowRun):
    """One window over one range of a stream."""

    entry: int  # the state of the machine before the range

    @property
    def _begin(self) -> int:
        return int(self.batch.begin[0])

    def segments(self) -> Segments:
        """Return the range, with a phantom in each slot that is in use before it."""
        plain = super().segments()
        slots, self.phantoms = self._phantoms()
        clock = np.zeros(len(slots), dtype=np.int64)
        if len(self.clock):
            # The youngest start that a phantom can stand for is the event before the range.
            clock[:] = self.clock[self._begin - 1]
        return plain._replace(
            state=np.array([self.entry]),
            held=np.array([0, len(slots)]),
            pane=np.arange(-len(slots), 0),
            clock=clock,
            slot=slots,
        )

    def _phantoms(self) -> tuple[Ints, Ints]:
        """Return the slots of phantoms, and their window states."""
        if self._begin == int(self.batch.first[0]):  # the first events of the stream
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        return self.window.automaton.slots(self.entry)

    @property
    def is_alone(self) -> bool:
        """Windows that cross borders are merged with those of the range."""
        return False

    @property
    def state_after(self) -> int:
        """Return the state of the automaton after the range."""
        return int(self.window.automaton.state_of[self.result.state[0]])

    def found(self, codes: NDArray[np.generic]) -> FoundWindows:
        """Return the windows that begin and end in the range."""
        result = self.result = self._kernel_result(codes, self.segments())
        matches = Matches(result.start, result.end, result.owners)
        crossing = np.flatnonzero(matches.start < 0)
        self.crossing = matches.where(crossing)
        first = len(crossing)  # windows of the range, if phantoms had no window after one of them
        if first and crossing[-1] >= first:
            return self._reported(matches.where(matches.start >= 0))
        return self._reported(matches.where(slice(first, None)))

    # --- The borders

    @property
    def last_entering(self) -> int:
        """Return the last row that may report a window from before the range; -1: none does."""
        return int(self.crossing.end.max(initial=-1 - self._waits)) + self._waits

    def border(self) -> Border:
        """Return what the range has of windows that cross its borders."""
        starts, ends, passed = self._crossing_places()
        return Border(starts, ends, passed, self._panes(starts, ends, passes=len(passed[0]) > 0))

    def halves(self) -> tuple[Border, Border]:
        """Return the border in two: for windows from earlier ranges, and for those to later ranges."""
        starts, ends, passed = self._crossing_places()
        none = np.empty(0, dtype=np.int64)
        no_starts, no_ends = self._places(none, none), self._places(none, none)
        entering = self._panes(no_starts, ends, passes=len(passed[0]) > 0)
        leaving = self._panes(starts, no_ends, passes=False)
        return Border(no_starts, ends, passed, entering), Border(
            starts, no_ends, (none, none), leaving
        )

    def _crossing_places(self) -> tuple[Places, Places, tuple[Ints, Ints]]:
        """Return open starts, the ends of phantoms, and the states of phantoms that are still open."""
        pane, slot = self.result.pane, self.result.slot
        states = slot
        if len(pane):
            states = self.window.automaton.window_states(int(self.result.state[0]), slot)
        if len(self.clock) and len(pane):
            old = pane < 0
            rows = np.where(old, self._begin - 1, pane + self._begin)
            in_time = self._in_time(self.clock[rows], slot, np.zeros_like(pane))
            pane, states = pane[in_time], states[in_time]
        own = pane >= 0
        starts = self._places(pane[own] + self._begin, states[own])
        passed = (self.phantoms[pane[~own]], states[~own])
        ends = self._places(self.crossing.end, self.phantoms[self.crossing.start])
        return starts, ends, passed

    def _places(self, rows: Ints, states: Ints) -> Places:
        times = None
        if self.engine.stream.order_by:
            column = combine_chunks(self.batch.table.column(self.engine.stream.order_by[0]))
            times = take(column, rows)
        clock = self.clock[rows] if len(self.clock) else np.zeros(len(rows), dtype=np.int64)
        position = int(self.batch.position[0])
        return Places(rows - self._begin + position, states, clock, times)

    def _panes(self, starts: Places, ends: Places, *, passes: bool) -> pa.Table:
        """Return the panes of windows that cross the borders, without events that are in none."""
        position = int(self.batch.position[0])
        size = int(self.batch.end[0]) - self._begin
        first = starts.position - position
        behind = ends.position - position + 1  # 0 if `until` ends a window with the event before
        cuts = np.unique(np.concatenate([[0], first, behind, [size]]))
        low, high = cuts[:-1], cuts[1:]
        needed = np.ones(len(low), dtype=np.bool_)
        if not passes:
            needed = high <= behind.max(initial=0)
            needed |= low >= first.min(initial=size)
        low, high = low[needed], high[needed]
        columns = {schema.POSITION: pa.array(low + position), END: pa.array(high + position)}
        if self.measured is not None:
            columns |= self.measured.keep(Ranges(low, high))
        return pa.table(columns)
