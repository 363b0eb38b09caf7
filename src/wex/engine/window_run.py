"""One window of a plan over one batch: run its machine, compute its measures, hold its starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wex.engine.arrays import empty, filled_with
from wex.engine.data_errors import FaultError, arithmetic_error, does_not_fit
from wex.engine.input.columns import combine_chunks, empty_array, take
from wex.engine.kernels.buffers import owners_of
from wex.engine.kernels.scans import keep_disjoint
from wex.engine.kernels.types import Segments, read_only
from wex.engine.labels import LabelRun, blocks
from wex.engine.machines.choose import UNTRACED, Machine, machine_of
from wex.engine.machines.closing import closing_of
from wex.engine.machines.labels import label_machine
from wex.engine.machines.preferred import without_choice
from wex.engine.machines.state_tables import StateTable, state_table
from wex.engine.measures.measure import WindowMeasures
from wex.engine.measures.panes import Panes, Ranges
from wex.engine.measures.results import chosen_result, joined_results, too_far
from wex.engine.state import schema
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.compile.plan import Plan, PlannedWindow
    from wex.engine.arrays import Bools, Ints
    from wex.engine.data_errors import Key
    from wex.engine.engine import Engine
    from wex.engine.input.batch import Batch, BatchView
    from wex.engine.kernels.types import KernelResult
    from wex.engine.measures import Result
    from wex.engine.measures.measure import Fail
    from wex.engine.state.state import State
    from wex.errors import DataError


REGISTER_TYPES = {"whole": pa.int64(), "real": pa.float64(), "text": pa.string()}


@dataclass(frozen=True, eq=False)
class FoundWindows:
    """The windows that a batch reports, a row each."""

    streams: Ints
    starts: Ints  # positions in their streams
    ends: Ints
    reported: Ints  # rows that report them, to merge the windows of several runs: see `_reported`
    times: tuple[pa.Array, ...]  # the first order column at start and end, if there is one
    measures: dict[str, Result]


class Matches(NamedTuple):
    """The windows that a machine finds, in the order of their streams, ends and starts."""

    start: Ints  # panes
    end: Ints  # rows
    streams: Ints

    def where(self, chosen: Ints | Bools | slice) -> Matches:
        """Return some of the windows."""
        return Matches(self.start[chosen], self.end[chosen], self.streams[chosen])


class Window:
    """A window of a plan with its machine and its measures."""

    def __init__(
        self, planned: PlannedWindow, plan: Plan, most_configs: int, *, rows: bool = False
    ) -> None:
        self.planned = planned = without_choice(planned)
        self.first = 0 if planned.pad else planned.lookback
        self.machine = machine_of(planned, plan, most_configs)
        # The letters that are read for all rows; others depend on the start.
        own = self.machine.own
        self.letters = planned.letters if own is None else own.shared
        self.measuring = WindowMeasures(planned)
        self.labels = label_machine(planned, own)
        # The events of open windows are kept if rows show them, or if they are parsed for labels.
        resumes = planned.clauses.resuming is not None
        self.keeps_events = rows or resumes or bool(self.measuring.labelled)
        self.closing = closing_of(planned, plan)
        # `keep` decides in the machine, or when all windows of a batch are found.
        self.keeps_late = planned.clauses.keeps_late

    @property
    def keeps_prefix(self) -> bool:
        """Tell whether labels depend on the events before a window, which streams then remember."""
        return self.keeps_events and self.labels is not None and self.labels.depends_on_prefix

    @cached_property
    def automaton(self) -> StateTable:
        """Return the automaton of the machine, unless the window is chosen by preference."""
        assert isinstance(self.machine, Machine)
        return state_table(self.machine)

    def held_columns(self, time: pa.DataType | None, rows: BatchView) -> dict[str, pa.DataType]:
        """Return the columns of open starts; `time` is the type of the first order column."""
        return schema.held_columns(
            time,
            self.measuring.types(rows) | self.register_types(),
            prefers=self.planned.clauses.prefers,
            closes=self.closing is not None,
        )

    def register_types(self) -> dict[str, pa.DataType]:
        """Return the columns for the registers of an open start."""
        own = self.machine.own
        kinds = () if own is None else own.program.registers
        return {schema.register(at): REGISTER_TYPES[kind] for at, kind in enumerate(kinds)}


class WindowRun:
    """One window over one batch."""

    def __init__(
        self,
        engine: Engine,
        window: Window,
        at: int,
        batch: Batch,
        rows: BatchView,
        prior: State,
        *,
        last: bool,
    ) -> None:
        self.engine, self.window, self.batch, self.prior = engine, window, batch, prior
        self.rows = rows
        self.at, self.last_batch = at, last
        self.carried = prior.lists[schema.held(at)]
        self.counts = prior.counts(schema.held(at))
        self.last_end = prior.numbers(schema.last_end(at))
        self.ended_starts: Ints = np.empty(0, dtype=np.int64)  # by a late `keep shortest`
        if not self.carried.num_columns:
            self.carried = self._no_starts(rows)
        self.panes = Panes(batch, self.counts)
        self.measured = (
            window.measuring.lift(rows, self.panes, self.carried)
            if window.measuring.measures
            else None
        )
        self.clock = self._clock()
        self.labels: LabelRun | None = None
        self.trace = UNTRACED  # of the machine, if it is known before it runs

    def _no_starts(self, rows: BatchView) -> pa.Table:
        order = self.engine.stream.order_by
        time = self.batch.table.schema.field(order[0]).type if order else None
        columns = self.window.held_columns(time, rows)
        return pa.table({name: empty_array(type_) for name, type_ in columns.items()})

    def _clock(self) -> Ints:
        """Return the clock of `within` for each row: a position or a time; empty without `within`."""
        if self.window.planned.clauses.within_events is not None:
            return self.batch.positions
        if self.window.planned.clauses.within_time is not None:
            times: Ints = self.batch.array(self.engine.stream.order_by[0])  # type: ignore[assignment]
            return times
        return np.empty(0, dtype=np.int64)

    # --- Windows

    def windows(self, codes: NDArray[np.generic]) -> FoundWindows:
        """Return the windows that the batch reports."""
        if self.window.labels is not None:
            state = np.zeros(len(self.counts), dtype=np.int64)
            if self.window.keeps_prefix:
                state = self.prior.numbers(schema.prefix_state(self.at))
            self.labels = LabelRun(self, codes, state)
        return self.found(codes)

    def found(self, codes: NDArray[np.generic]) -> FoundWindows:
        """Return the windows that the machine finds, as far as they are reported."""
        self.result = self._kernel_result(codes, self.segments())
        matches = Matches(self.result.start, self.result.end, self.result.owners)
        clauses = self.window.planned.clauses
        if clauses.keeps_late and not clauses.having:
            matches = matches.where(self._keep_late(matches))
        last_end = self.last_end
        try:
            return self._reported(matches)
        except FaultError:
            if not (clauses.having and clauses.drops_starts_late):
                raise
        self.last_end = last_end
        return self._reported(matches.where(self._judged(matches)))

    def segments(self) -> Segments:
        """Return the streams of the batch from their first grams on, and the starts carried over."""
        batch, panes, begin = self.batch, self.panes, self.batch.begin
        if self.window.first and batch.position.min(initial=self.window.first) < self.window.first:
            begin = empty(len(batch.position), np.int64)
            np.subtract(self.window.first, batch.position, out=begin)
            np.maximum(begin, 0, out=begin)
            begin += batch.begin
            np.minimum(begin, batch.end, out=begin)
        held = filled_with(0, len(self.counts) + 1)
        if self.carried.num_rows:
            np.cumsum(self.counts, out=held[1:])
        return Segments(
            begin,
            batch.end,
            panes.shift,
            self.prior.numbers(schema.machine_state(self.at)),
            held,
            panes.held,
            self.carried.column(schema.CLOCK).to_numpy(),
            self.carried.column(schema.SLOT).to_numpy(),
        )

    def _kernel_result(self, codes: NDArray[np.generic], segments: Segments) -> KernelResult:
        """Run the machine over the batch."""
        machine = self.window.machine
        assert isinstance(machine, Machine)
        late = self.window.keeps_late
        return machine.run(
            codes, self.clock, segments, last=self.last_batch, late=late, trace=self.trace
        )

    def _reported(self, matches: Matches) -> FoundWindows:
        """Return the windows with their measures, as far as `having` and `keep` let them through."""
        measures, keep = self._measures_and_having(matches)
        if keep is not None and self.window.keeps_late:
            chosen = np.flatnonzero(keep)
            keep = np.zeros_like(keep)
            keep[chosen[self._keep_late(matches.where(chosen))]] = True
        keep = self._not_reported(keep, matches)
        if keep is not None and not keep.all():
            matches = matches.where(keep)
            measures = {name: chosen_result(result, keep) for name, result in measures.items()}
        for measure in self.window.planned.measures:
            bad = too_far(measures[measure.name], measure.type)
            if bad is not None:
                error = partial(does_not_fit, pa.date32(), measure.name)
                raise self._fault(error, matches, int(np.argmax(bad)))
        start, end, streams = matches
        reported = end if self.is_alone else _moved(end, streams, self._reports)
        positions, ends = self._positions(start, streams), self._end_positions(matches)
        return FoundWindows(streams, positions, ends, reported, self._times(start, end), measures)

    @property
    def is_alone(self) -> bool:
        """Tell whether no other windows have to be merged with these by the rows that report them."""
        return len(self.engine.windows) == 1

    @property
    def _reports(self) -> Ints:
        """Return by stream how far behind the end of a window it is reported, in ascending rows.

        A report at the end of a stream has no row: the streams are set apart by one, so that it
        does not fall on the first row of the next.
        """
        return np.arange(len(self.counts)) + self._waits

    def _measures_and_having(self, matches: Matches) -> tuple[dict[str, Result], Bools | None]:
        """Return the measures of windows, and which of them satisfy `having`; None: there is none."""

        def fail(window: int, why: str, measure: str | None) -> Exception:
            return self._fault(partial(arithmetic_error, why, measure), matches, window)

        measures: dict[str, Result] = {}
        if self.measured is not None:
            high = empty(len(matches.end), np.int64)
            np.add(_moved(matches.end, matches.streams, self.panes.shift), 1, out=high)
            windows, rows = Ranges(matches.start, high), matches.start
            if self.window.keeps_events:
                shift = (self.batch.begin - self.batch.position)[matches.streams]
                rows = self._positions(matches.start, matches.streams) + shift
            measures = self.computed(windows, matches.streams, rows, matches.end, fail)
        return measures, self.window.measuring.kept(measures, len(matches.start), fail)

    def computed(
        self, windows: Ranges, streams: Ints, starts: Ints, ends: Ints, fail: Fail
    ) -> dict[str, Result]:
        """Return the measures of windows, given as ranges of panes and from and to some rows.

        The rows are used only if measures depend on labels.
        """
        assert self.measured is not None
        if not self.window.measuring.labelled:
            return self.measured.in_blocks(windows, fail)
        assert self.labels is not None
        results = []
        for part in blocks(ends - starts + 1):
            parsed = self.labels.parsed(streams[part], starts[part], ends[part])
            ranges = Ranges(windows.low[part], windows.high[part])
            failing = partial(_fail_from, fail, part.start)
            results.append(self.measured.measures(ranges, failing, parsed))
        return joined_results(results)

    def _fault(
        self, error: Callable[[Key, int], DataError], matches: Matches, window: int
    ) -> FaultError:
        stream = int(matches.streams[window])
        position = self._positions(matches.start, matches.streams)[window]
        fault = error(self.batch.key(stream), int(position))
        return FaultError(fault, stream, int(matches.end[window]) + self._waits)

    @property
    def _waits(self) -> bool:
        return self.window.planned.until is not None

    def _judged(self, matches: Matches) -> Bools:
        """Return the windows that `having` has to judge; the first of them that fails is an error.

        A window that `keep` can no longer choose, because of one that an earlier event reports,
        is not judged. A processor has dropped its start, and faults do not depend on batches.
        """
        last_end = self.last_end
        positions = self._positions(matches.start, matches.streams)
        changes = (np.diff(matches.end) != 0) | (np.diff(matches.streams) != 0)
        # Windows of one event are judged together: these are the first ones of each event.
        first = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(matches.start)]])
        judged = np.zeros(len(matches.start), dtype=np.bool_)
        ended = np.zeros(int(matches.start.max(initial=-1)) + 1, dtype=np.bool_)
        at, count = 0, len(first) - 1
        # All events at once, or half of them as long as one of them fails.
        while at < len(first) - 1:
            up_to = min(at + count, len(first) - 1)
            piece = np.arange(first[at], first[up_to])
            left = positions[piece] > self.last_end[matches.streams[piece]]
            piece = piece[left & ~ended[matches.start[piece]]]
            try:
                _, keep = self._measures_and_having(matches.where(piece))
            except FaultError:
                if up_to == at + 1:
                    raise
                count = (up_to - at) // 2
                continue
            assert keep is not None
            judged[piece] = True
            self._keep_late(matches.where(piece[keep]))
            ended[self.ended_starts] = True
            at, count = up_to, 2 * count
        self.last_end = last_end
        return judged

    def _not_reported(self, keep: Bools | None, matches: Matches) -> Bools | None:
        """Return which windows are left without those that a watermark has reported before."""
        if schema.CLOSES not in self.carried.column_names:
            return keep
        reported = self.carried.column(schema.CLOSES).to_numpy() == schema.REPORTED
        if not reported.any():
            return keep
        # Such a window has ended with the last event before this batch.
        start, end, streams = matches
        left = np.ones(len(start), dtype=np.bool_) if keep is None else keep.copy()
        early = np.flatnonzero(left & (end < self.batch.begin[streams]))
        left[early] = ~reported[self._held_number(start[early])]
        return left

    def _positions(self, panes: Ints, streams: Ints) -> Ints:
        """Return the positions of starts in their streams."""
        batch = self.batch
        positions = _moved(panes, streams, batch.position, batch.begin, self.panes.shift)
        if self.carried.num_rows:
            zeros = np.zeros_like(batch.begin)
            old = np.flatnonzero(_moved(panes, streams, zeros, batch.begin, self.panes.shift) < 0)
            positions = positions.copy()
            positions[old] = self.carried.column(schema.POSITION).to_numpy()[
                self._held_number(panes[old])
            ]
        return positions

    def _end_positions(self, matches: Matches) -> Ints:
        return _moved(matches.end, matches.streams, self.batch.position, self.batch.begin)

    def _held_number(self, panes: Ints) -> Ints:
        """Return which of the starts carried over some panes belong to."""
        return np.searchsorted(self.panes.held, panes)

    def _times(self, start: Ints, end: Ints) -> tuple[pa.Array, ...]:
        if not self.engine.stream.order_by:
            return ()
        column = combine_chunks(self.batch.table.column(self.engine.stream.order_by[0]))
        begins = self.panes.spread_column(column, combine_chunks(self.carried.column(schema.TIME)))
        return take(begins, start), take(column, end)

    def _keep_late(self, matches: Matches) -> Bools:
        """Return which windows the clause `keep` lets through, of those that satisfy `having`."""
        start, _, streams = matches
        ends = self._end_positions(matches)
        result = np.zeros(len(start), dtype=np.bool_)
        if self.window.planned.clauses.keep == "shortest":
            _, first = np.unique(start, return_index=True)
            result[first] = True
            self.ended_starts = start[result]
        elif self.window.planned.clauses.keep == "longest":
            same = (np.diff(ends) == 0) & (np.diff(streams) == 0)
            result = np.concatenate([[True], ~same])[: len(start)]
        else:
            positions = self._positions(start, streams)
            last = read_only(self.last_end)
            result, self.last_end = keep_disjoint(streams, positions, ends, last)
        return result

    # --- Open starts

    def held(self) -> tuple[pa.Table, dict[str, Ints]]:
        """Return the starts that are open after the batch, and the columns of the streams."""
        pane, slot = self.result.pane, self.result.slot
        streams = owners_of(self.result.kept, len(pane))
        positions, chosen = self._positions(pane, streams), np.arange(len(pane))
        left, rivals = None, self.window.machine.rivals
        if self.window.keeps_late:
            left = (positions > self.last_end[streams]) & ~np.isin(pane, self.ended_starts)
        elif rivals is not None:
            left = rivals.left(self.result.state, slot, streams)
        if left is not None:
            pane, slot, streams, positions, chosen = (
                column[left] for column in (pane, slot, streams, positions, chosen)
            )
        clocks = self._clocks(pane, streams)
        if len(self.clock):
            # Kernels drop starts that are too old only where they act; here all of them go.
            left = self._in_time(clocks, slot, streams)
            pane, slot, streams, positions, clocks, chosen = (
                column[left] for column in (pane, slot, streams, positions, clocks, chosen)
            )
        sizes = np.bincount(streams, minlength=len(self.counts)).astype(np.int64)
        columns = {
            schema.POSITION: pa.array(positions),
            schema.SLOT: pa.array(slot),
            schema.CLOCK: pa.array(clocks),
        }
        if self.engine.stream.order_by:
            column = combine_chunks(self.batch.table.column(self.engine.stream.order_by[0]))
            begins = self.panes.spread_column(
                column, combine_chunks(self.carried.column(schema.TIME))
            )
            columns[schema.TIME] = take(begins, pane)
        if self.measured is not None:
            following = np.append(pane[1:], 0)
            ends = (self.batch.end + self.panes.shift)[streams]
            last_of_stream = np.append(streams[1:] != streams[:-1], True)[: len(pane)]
            high = np.where(last_of_stream, ends, following[: len(pane)])
            columns |= self.measured.keep(Ranges(pane, high))
        columns |= self._register_columns(chosen) | self._closing_column(len(pane))
        numbers = {
            schema.machine_state(self.at): self.result.state,
            schema.last_end(self.at): self.last_end,
            schema.count(schema.held(self.at)): sizes,
        }
        return pa.table(columns), numbers

    def _register_columns(self, chosen: Ints) -> dict[str, pa.Array]:  # noqa: ARG002
        """Return the registers of some of the open starts; most windows have none."""
        return {}

    def _closing_column(self, count: int) -> dict[str, pa.Array]:
        """Return the column for the watermarks that report windows: nobody has asked for them yet."""
        if self.window.closing is None:
            return {}
        return {schema.CLOSES: pa.array(np.full(count, schema.NOT_ASKED, dtype=np.int64))}

    def _in_time(self, clocks: Ints, slots: Ints, streams: Ints) -> Bools:
        """Tell which starts `within` still allows to have a window: with enough events left, if it counts."""
        machine, now = self.window.machine, self.clock[self.batch.end - 1][streams]
        limit, ahead = machine.clauses.limit, machine.ahead
        if ahead is not None:
            now = now + ahead[self.result.state[streams] if len(ahead) > 1 else 0, slots]
        # Times may lie up to 2^64 apart; as unsigned numbers their difference is right.
        in_time: Bools = now.view(np.uint64) - clocks.view(np.uint64) <= np.uint64(limit)
        return in_time

    def _clocks(self, panes: Ints, streams: Ints) -> Ints:
        if not len(self.clock):
            return np.zeros(len(panes), dtype=np.int64)
        rows = panes - self.panes.shift[streams]
        old = rows < self.batch.begin[streams]
        clocks = self.clock[np.where(old, 0, rows)].copy()
        if old.any():
            clocks[old] = self.carried.column(schema.CLOCK).to_numpy()[
                self._held_number(panes[old])
            ]
        return clocks


def _fail_from(fail: Fail, first: int, window: int, why: str, measure: str | None) -> Exception:
    """Return the error of a window, by its number after the first one of a part."""
    return fail(first + window, why, measure)


def _moved(numbers: Ints, streams: Ints, up: Ints, *down: Ints) -> Ints:
    """Return numbers plus one number of their stream, and minus others."""
    if len(up) == 1:
        by = int(up[0] - sum(less[0] for less in down))
        return np.add(numbers, by, out=empty(len(numbers), np.int64)) if by else numbers
    moved = numbers + up[streams]
    for less in down:
        moved -= less[streams]
    return moved
