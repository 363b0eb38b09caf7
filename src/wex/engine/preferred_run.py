"""One window by preference over one batch: its candidates, the windows that are decided, the rest.

A window may be decided long after its last event. Until then its start is held with the candidate.
Panes are divided where a start begins and where a candidate ends, so that the measures of the
candidate can be computed when it is decided.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wex import limits
from wex.engine.arrays import empty
from wex.engine.data_errors import FaultError, arithmetic_error, does_not_fit
from wex.engine.input.columns import combine_chunks, concat_arrays, take
from wex.engine.kernels.buffers import owners_of
from wex.engine.kernels.preferred import (
    HELD,
    NO_ROW,
    Allowed,
    Carried,
    Own,
    Pairs,
    Tracks,
    candidates_kernel,
    preferred_kernel,
    run_candidates,
    run_preferred,
)
from wex.engine.kernels.programs import program_kernel
from wex.engine.kernels.types import Preferred, Segments, read_only
from wex.engine.labels import nowhere
from wex.engine.machines.own_letters import OwnRegisters, empty_registers
from wex.engine.machines.room import first_room
from wex.engine.measures.panes import Ranges
from wex.engine.measures.results import too_far
from wex.engine.program_data import ProgramData
from wex.engine.state import schema
from wex.engine.window_run import FoundWindows, WindowRun
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.data_errors import Key
    from wex.engine.kernels.labels import Onward
    from wex.engine.measures import Result
    from wex.errors import DataError

PLACES = 8  # states of an event that are remembered, so that later starts can share a way
MOST_MARKS = 1 << 27  # states that are remembered for all events of a stream


class PreferredRun(WindowRun):
    """One window by preference over one batch. Starts and ends are rows, also before the batch."""

    def found(self, codes: NDArray[np.generic]) -> FoundWindows:
        """Return the windows that the batch decides."""
        tables = self.window.machine.tables
        assert isinstance(tables, Preferred)
        segments = Segments(*map(read_only, self.segments()))
        self.owners = np.repeat(np.arange(len(self.counts)), self.counts)
        self.old = self.carried.column(schema.POSITION).to_numpy()
        candidates = self.carried.column(schema.CANDIDATE).to_numpy()
        self.carried_candidates = np.where(
            candidates < 0, NO_ROW, self._rows(candidates, self.owners)
        )
        carried = Carried(
            read_only(self._rows(self.old, self.owners)), read_only(self.carried_candidates)
        )
        clock = read_only(self.clock)
        none = np.empty(0, dtype=np.int64)
        allowed = Allowed(False, *map(read_only, (none, none, none)))
        self.own = self._own(segments)
        arguments = (codes, clock, tables, self.window.machine.clauses, segments, carried, self.own)
        if self.window.planned.having is not None:
            allowed = self._allowed(arguments)
        onward = self._onward()
        longest = int((segments.end - segments.begin).max(initial=0))
        places = min(PLACES, len(tables.move), max(1, MOST_MARKS // max(1, longest)))
        # A start that `having` asks about, or that has registers, does not share the way of another.
        alone = allowed.asked or self.data is not None
        width = 0 if alone else 2 * places
        marks = empty(longest * width, np.int32).reshape(longest, width)
        run: Callable[..., Any] = run_preferred
        if self.data is not None:
            run = program_kernel(self.data.program.source, preferred_kernel)
        done = None
        while done is None:
            self.tracks = self._tracks(segments)
            done = run(*arguments, allowed, onward, self.tracks, marks, self.last_batch)
        chosen = self._not_yet_reported(np.flatnonzero(self.tracks.chosen[: self._count] >= 0))
        streams, ends = self._streams[chosen], self.tracks.candidate[chosen]
        # Starts are in the order of their streams and rows, and mostly end in this order, too.
        if ((ends[1:] < ends[:-1]) & (streams[1:] == streams[:-1])).any():
            chosen = chosen[np.lexsort((self.tracks.row[chosen], ends, streams))]
        return self._decided(chosen)

    def _not_yet_reported(self, chosen: Ints) -> Ints:
        """Return starts without those whose window a watermark has reported before."""
        if schema.CLOSES not in self.carried.column_names:
            return chosen
        closes = np.append(self.carried.column(schema.CLOSES).to_numpy(), schema.NOT_ASKED)
        # The number of a new start is -1: its place is behind those of the others.
        left: Ints = chosen[closes[self.tracks.held[chosen]] != schema.REPORTED]
        return left

    def _tracks(self, segments: Segments) -> Tracks:
        rows = int((segments.end - segments.begin).sum() + segments.held[-1])
        count = len(segments.begin)
        last = np.arange(count)
        return Tracks(
            row=empty(rows, np.int64),
            held=empty(rows, np.int64),
            state=empty(rows, np.int64),
            candidate=empty(rows, np.int64),
            stopped=empty(rows, np.int64),
            chosen=empty(rows, np.int64),
            number=empty(rows, np.int64),
            up_to=np.zeros(count, dtype=np.int64),
            prefix=np.empty(count, dtype=np.int64),
            skipped=np.where(self.last_end < 0, NO_ROW, self._rows(self.last_end, last)),
        )

    def _own(self, segments: Segments) -> Own:
        """Return the registers of starts, and the columns that change them; none without aggregates."""
        own = self.window.machine.own
        self.data = None if own is None else ProgramData(own.program, self.rows, self.carried)
        if own is None or self.data is None:
            ints, reals = np.empty((0, 0), dtype=np.int64), np.empty((0, 0))
            return Own((), (), read_only(ints), read_only(reals), ints, reals)
        before = self.data.registers()
        starts = int((segments.end - segments.begin).sum() + segments.held[-1])
        kept = empty_registers(own.program, 0 if self.last_batch else starts)
        ints, reals = read_only(before.ints), read_only(before.reals)
        return Own(self.data.columns(), own.program.initial, ints, reals, kept.ints, kept.reals)

    def _onward(self) -> Onward:
        """Return what is needed to go on at a label of a chosen window, if `resuming` says so."""
        resuming = self.window.planned.clauses.resuming
        if resuming is None:
            return nowhere()
        assert self.labels is not None
        which, label = resuming
        longest = int((self.batch.end - self.batch.first).max(initial=0))
        return self.labels.onward(label, longest, first=which == "first")

    @property
    def _count(self) -> int:
        return int(self.tracks.up_to[-1]) if len(self.tracks.up_to) else 0

    @cached_property
    def _streams(self) -> Ints:
        return owners_of(self.tracks.up_to, self._count)

    def _rows(self, positions: Ints, streams: Ints) -> Ints:
        """Return the rows of positions in their streams; before the batch they go on downwards."""
        return positions + (self.batch.begin - self.batch.position)[streams]

    def _allowed(self, arguments: tuple[object, ...]) -> Allowed:
        """Return the windows that satisfy `having`."""
        room = first_room(self.batch.rows)
        run: Callable[..., Any] = run_candidates
        if self.data is not None:
            run = program_kernel(self.data.program.source, candidates_kernel)
        while True:
            pairs = Pairs(*(np.empty(room, dtype=np.int64) for _ in range(4)))
            count = run(*arguments, pairs, self.last_batch)
            if count is None:
                continue
            if count <= room:
                break
            limits.require("windows", count, "the windows of one batch")
            room = count
        starts, ends, streams, held = (column[:count] for column in pairs)
        order = np.lexsort((starts, ends, streams))
        waits = self.window.planned.until is not None
        fail = self._failing(starts[order], streams[order], ends[order] + waits)
        measures = self._measures(starts[order], ends[order], streams[order], held[order], fail)
        kept = self.window.measuring.kept(measures, count, fail)
        assert kept is not None
        fine = np.zeros(count, dtype=np.bool_)
        fine[order] = kept
        first = np.zeros(len(self.counts) + 1, dtype=np.int64)
        np.cumsum(np.bincount(streams[fine], minlength=len(self.counts)), out=first[1:])
        return Allowed(True, read_only(starts[fine]), read_only(ends[fine]), read_only(first))

    # --- Windows that are decided

    def _decided(self, chosen: Ints) -> FoundWindows:
        """Return the windows of some starts, with their measures."""
        batch, tracks = self.batch, self.tracks
        streams = self._streams[chosen]
        starts, ends, held = tracks.row[chosen], tracks.candidate[chosen], tracks.held[chosen]
        decided = tracks.chosen[chosen]
        measures = self._measures(
            starts, ends, streams, held, self._failing(starts, streams, decided)
        )
        for measure in self.window.planned.measures:
            bad = too_far(measures[measure.name], measure.type)
            if bad is not None:
                error = partial(does_not_fit, pa.date32(), measure.name)
                raise self._located(error, starts, streams, decided, int(np.argmax(bad)))
        waits = self.window.planned.until is not None
        # Windows that ended before the batch come first; see `WindowRun._reported`.
        reported = np.maximum(ends + waits, batch.begin[streams]) + streams
        shift = (batch.position - batch.begin)[streams]
        return FoundWindows(
            streams,
            starts + shift,
            ends + shift,
            reported,
            self._both_times(self._panes_at(starts, streams), ends, held, streams),
            measures,
        )

    def _failing(
        self, starts: Ints, streams: Ints, rows: Ints
    ) -> Callable[[int, str, str | None], Exception]:
        """Return the function that makes the error of a window whose measures fail, at some rows."""

        def fail(window: int, why: str, measure: str | None) -> Exception:
            error = partial(arithmetic_error, why, measure)
            return self._located(error, starts, streams, rows, window)

        return fail

    def _located(
        self,
        error: Callable[[Key, int], DataError],
        starts: Ints,
        streams: Ints,
        rows: Ints,
        window: int,
    ) -> Exception:
        stream = int(streams[window])
        position = starts[window] - self.batch.begin[stream] + self.batch.position[stream]
        return FaultError(error(self.batch.key(stream), int(position)), stream, int(rows[window]))

    def _measures(
        self,
        starts: Ints,
        ends: Ints,
        streams: Ints,
        held: Ints,
        fail: Callable[[int, str, str | None], Exception],
    ) -> dict[str, Result]:
        if self.measured is None:
            return {}
        low = starts + self.panes.shift[streams]
        if len(self.old):
            low[held >= 0] = self.panes.held[held[held >= 0]]
        windows = Ranges(low, self._panes_at(ends + 1, streams))
        return self.computed(windows, streams, starts, ends, fail)

    def _panes_at(self, rows: Ints, streams: Ints) -> Ints:
        """Return the panes that begin at rows of some streams."""
        panes = rows + self.panes.shift[streams]
        if not len(self.old):
            return panes
        before = rows < self.batch.begin[streams]
        if before.any():
            positions = rows + (self.batch.position - self.batch.begin)[streams]
            places = self._places(streams[before], positions[before])
            panes[before] = self.panes.held[places]
        return panes

    def _places(self, streams: Ints, positions: Ints) -> Ints:
        """Return which of the rows carried over have some positions in their streams."""
        known, ranks = np.unique(self.old, return_inverse=True)
        keys = self.owners * len(known) + ranks
        return np.searchsorted(keys, streams * len(known) + np.searchsorted(known, positions))

    def _both_times(
        self, panes: Ints, ends: Ints, held: Ints, streams: Ints
    ) -> tuple[pa.Array, ...]:
        """Return the first order column at the starts and ends of windows, if there is one."""
        if not self.engine.stream.order_by:
            return ()
        column = combine_chunks(self.batch.table.column(self.engine.stream.order_by[0]))
        begins = self.panes.spread_column(column, combine_chunks(self.carried.column(schema.TIME)))
        return take(begins, panes), self._end_times(column, ends, held, streams)

    def _end_times(self, column: pa.Array, ends: Ints, held: Ints, streams: Ints) -> pa.Array:
        """Return the order column at the ends of windows: of the batch, or noted when they ended."""
        if not len(self.old):
            return take(column, ends)
        before = ends < self.batch.begin[streams] - 1
        noted = combine_chunks(self.carried.column(schema.CANDIDATE_TIME))
        places = np.where(before, len(column) + held, ends)
        return take(concat_arrays([column, noted]), places)

    # --- Starts that are held

    def held(self) -> tuple[pa.Table, dict[str, Ints]]:
        """Return the starts that are held after the batch, and the columns of the streams."""
        batch, tracks = self.batch, self.tracks
        undecided = np.flatnonzero(tracks.chosen[: self._count] == HELD)
        streams, rows = self._streams[undecided], tracks.row[undecided]
        candidates, old = tracks.candidate[undecided], tracks.held[undecided]
        bordered = (candidates != NO_ROW) & (candidates + 1 < batch.end[streams])
        rows, streams, numbers = _with_borders(
            rows, streams, candidates[bordered] + 1, streams[bordered]
        )
        # A border has no start: its number is -1, which is that of an empty row behind the others.
        slot = np.append(tracks.state[undecided], schema.BORDER)[numbers]
        candidates = np.append(candidates, NO_ROW)[numbers]
        panes = self._panes_at(rows, streams)
        ends = np.where(
            candidates == NO_ROW, -1, candidates + (batch.position - batch.begin)[streams]
        )
        columns = {
            schema.POSITION: pa.array(self._positions(panes, streams)),
            schema.SLOT: pa.array(slot),
            schema.CLOCK: pa.array(self._clocks(panes, streams)),
            schema.CANDIDATE: pa.array(ends),
        }
        if self.engine.stream.order_by:
            column = combine_chunks(batch.table.column(self.engine.stream.order_by[0]))
            carried = combine_chunks(self.carried.column(schema.TIME))
            columns[schema.TIME] = take(self.panes.spread_column(column, carried), panes)
            columns[schema.CANDIDATE_TIME] = self._candidate_times(
                column, candidates, np.append(old, -1)[numbers], streams
            )
        if self.measured is not None:
            columns |= self.measured.keep(Ranges(panes, self._pane_ends(panes, streams)))
        if self.data is not None:
            places = np.append(tracks.number[undecided], -1)[numbers]
            kept = OwnRegisters(self.own.kept_ints, self.own.kept_reals)
            columns |= self.data.register_columns(kept, places)
        columns |= self._closing_column(len(panes))
        sizes = np.bincount(streams, minlength=len(self.counts)).astype(np.int64)
        last = tracks.skipped - batch.begin + batch.position
        return pa.table(columns), {
            schema.machine_state(self.at): tracks.prefix,
            schema.last_end(self.at): np.where(tracks.skipped == NO_ROW, -1, last),
            schema.count(schema.held(self.at)): sizes,
        }

    def _pane_ends(self, panes: Ints, streams: Ints) -> Ints:
        """Return where the panes of held rows end: at the next one, or with the stream."""
        following = np.append(panes[1:], 0)[: len(panes)]
        last_of_stream = np.append(streams[1:] != streams[:-1], True)[: len(panes)]
        ends: Ints = np.where(
            last_of_stream, (self.batch.end + self.panes.shift)[streams], following
        )
        return ends

    def _candidate_times(
        self, column: pa.Array, candidates: Ints, held: Ints, streams: Ints
    ) -> pa.Array:
        there: Bools = candidates != NO_ROW
        places = np.zeros(len(candidates), dtype=np.int64)
        times = self._end_times(column, candidates[there], held[there], streams[there])
        places[there] = np.arange(len(times))
        return times.take(pa.array(places, mask=~there))


def _with_borders(
    rows: Ints, streams: Ints, border_rows: Ints, border_streams: Ints
) -> tuple[Ints, Ints, Ints]:
    """Return starts and borders by stream and row, and the number of each start, -1 for a border."""
    all_rows = np.concatenate([rows, border_rows])
    all_streams = np.concatenate([streams, border_streams])
    numbers = np.concatenate([np.arange(len(rows)), np.full(len(border_rows), -1)])
    order = np.lexsort((numbers < 0, all_rows, all_streams))  # a start before a border at its row
    all_rows, all_streams, numbers = all_rows[order], all_streams[order], numbers[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(all_rows) != 0) | (np.diff(all_streams) != 0)
    return all_rows[new], all_streams[new], numbers[new]
