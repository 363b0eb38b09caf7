"""Finds events on which a spec cannot run; implements "Bad rows" in docs/semantics.md.

At such an event the arithmetic of a guard fails, or the stream violates its assumptions. Both depend
on the good events before it, so the events of a stream are checked in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.conformity import Conformity
from wex.engine.input.batch import Batch
from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.input.prepare import PreparedInput
    from wex.engine.state.state import State

EVENT_CODES = ("arithmetic", "assumption")
AFTER_A_FAULT = 64  # rows to check after a fault; doubled after each check without a fault


@dataclass(frozen=True, eq=False)
class StreamGaps:
    """For streams that expire: after a gap longer than `longest`, an event begins a new stream."""

    times: Ints  # of the rows
    last: Ints  # time of the last event of each stream before the batch; undefined if there is none
    longest: int


@dataclass(frozen=True, eq=False)
class _StreamState:
    """A stream before a row: its last events, the row's position, how far it conforms."""

    tail: pa.Table
    position: int
    conformity: Conformity
    time: int | None = None


def faults(
    engine: Engine, prepared: PreparedInput, prior: State, gaps: StreamGaps | None = None
) -> dict[int, DataError]:
    """Return the bad rows of a batch and their errors; none if a measure has caused the fault."""
    batch = prepared.batch(prior)
    pieces, owners = _pieces(batch, prepared, prior, gaps)
    errors: dict[int, DataError] = {}
    conformity = Conformity.of_state(prior)
    ends = np.append(prepared.starts[1:], prepared.table.num_rows)
    for stream in sorted({int(owners[at]) for at in _faulty_pieces(engine, pieces)}):
        begin, end = int(prepared.starts[stream]), int(ends[stream])
        stream_batch = batch.part(stream, stream + 1)
        seen = int(stream_batch.begin[0])
        state = _StreamState(
            stream_batch.table.slice(0, seen),
            int(stream_batch.position[0]),
            conformity.part(stream, stream + 1),
        )
        times = None
        if gaps is not None:
            times = gaps.times[begin:end]
            last = int(gaps.last[stream])
            state = replace(state, time=last if seen else None)
        reader = _StreamReader(engine, stream_batch.table.slice(seen), gaps, times)
        errors |= {begin + row: error for row, error in reader.faults(state)}
    return errors


# --- Streams with faults


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Streams of a batch, split where a gap begins a new stream."""

    batch: Batch
    conformity: Conformity

    def part(self, low: int, high: int) -> _Pieces:
        return _Pieces(self.batch.part(low, high), self.conformity.part(low, high))


def _pieces(
    batch: Batch, prepared: PreparedInput, prior: State, gaps: StreamGaps | None
) -> tuple[_Pieces, Ints]:
    """Return the pieces of a batch and the stream that each belongs to."""
    streams = np.arange(len(batch.begin))
    conformity = Conformity.of_state(prior)
    if gaps is None:
        return _Pieces(batch, conformity), streams
    before = np.append(gaps.times[:1], gaps.times[:-1])
    known = prior.tail_counts > 0
    before[prepared.starts] = np.where(known, gaps.last, gaps.times[prepared.starts])
    new = gaps.times - before > gaps.longest
    sizes = batch.end - batch.begin
    owner = np.repeat(streams, sizes)
    # If the first new event of a stream follows a gap, there is no piece before the gap.
    opens = new.copy()
    opens[prepared.starts] = True
    rows = np.flatnonzero(opens)
    owners = owner[rows]
    shift = batch.begin - prepared.starts  # from rows of the table to rows of the batch
    begin = rows + shift[owners]
    fresh = new[rows]
    first = np.where(fresh, begin, batch.first[owners])
    end = np.append(rows[1:], len(owner)) + shift[owners]
    position = np.where(fresh, 0, batch.position[owners])
    pieces = replace(batch, first=first, begin=begin, end=end, position=position)
    return _Pieces(pieces, conformity.take(owners, fresh)), owners


def _faulty_pieces(engine: Engine, pieces: _Pieces) -> Iterator[int]:
    """Yield the pieces that have a fault, found by bisection, which is fast if faults are rare."""
    count = len(pieces.batch.begin)
    waiting = [(0, count)] if count else []
    while waiting:
        low, high = waiting.pop()
        part = pieces.part(low, high)
        try:
            engine.check(part.batch, part.conformity)
        except DataError as error:
            _event_of(error)
            if high - low == 1:
                yield low
            else:
                middle = (low + high) // 2
                waiting += [(low, middle), (middle, high)]


def _event_of(error: DataError) -> int:
    """Return the position of the bad event; raise the error if it is not about an event."""
    if error.code not in EVENT_CODES or error.position is None:
        raise error
    return error.position


# --- Events with faults


class _StreamReader:
    """The rows of one stream, checked in their order."""

    def __init__(
        self, engine: Engine, rows: pa.Table, gaps: StreamGaps | None, times: Ints | None
    ) -> None:
        self._engine, self._rows = engine, rows
        self._longest = None if gaps is None else gaps.longest
        self._times = times

    def faults(self, state: _StreamState) -> Iterator[tuple[int, DataError]]:
        """Yield the bad rows and their errors."""
        row, size, count = 0, self._rows.num_rows, self._rows.num_rows
        while row < count:
            state = self._after_gap(state, row)
            end = self._until_gap(row, min(row + size, count))
            state, read, error = self._read(state, row, end)
            if error is None:
                row, size = end, 2 * size
            else:
                yield read, error
                row, size = read + 1, AFTER_A_FAULT

    def _after_gap(self, state: _StreamState, row: int) -> _StreamState:
        if self._times is None or self._longest is None or state.time is None:
            return state
        if int(self._times[row]) - state.time <= self._longest:
            return state
        return _StreamState(state.tail.slice(0, 0), 0, Conformity.fresh(1))

    def _until_gap(self, row: int, end: int) -> int:
        """Return the next row that follows a gap, or the end."""
        if self._times is None or self._longest is None:
            return end
        breaks = np.flatnonzero(np.diff(self._times[row:end]) > self._longest)
        return row + 1 + int(breaks[0]) if len(breaks) else end

    def _read(
        self, state: _StreamState, row: int, end: int
    ) -> tuple[_StreamState, int, DataError | None]:
        """Return the state before the first bad row, this row or the end, and its error.

        The engine reports the first fault of one guard. Another guard may fail at an earlier row, so
        the rows before the fault are checked again.
        """
        first: DataError | None = None
        while True:
            rows = self._rows.slice(row, end - row)
            batch = self._batch(state, rows)
            try:
                conformity = self._engine.check(batch, state.conformity)
            except DataError as error:
                end, first = row + _event_of(error) - state.position, error
                continue
            kept = min(batch.rows, self._engine.tail)
            time = state.time
            if self._times is not None and end > row:
                time = int(self._times[end - 1])
            after = _StreamState(
                batch.table.slice(batch.rows - kept),
                state.position + end - row,
                conformity,
                time,
            )
            return after, end, first

    def _batch(self, state: _StreamState, rows: pa.Table) -> Batch:
        table = pa.concat_tables([state.tail, rows]) if state.tail.num_rows else rows
        seen, total = np.array([state.tail.num_rows]), np.array([table.num_rows])
        engine = self._engine
        return Batch(
            table.combine_chunks(),
            engine.fields,
            engine.stream.partition_by,
            np.zeros(1, dtype=np.int64),
            seen,
            total,
            np.array([state.position]),
        )
