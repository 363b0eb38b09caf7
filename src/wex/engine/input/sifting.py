"""Events that a spec cannot be run on, found one after the other: see "Bad rows" in the semantics.

A guard of such an event has no value, or with it the stream breaks its promise. Whether it is so
depends on the events before it that remain, so each stream is read from its first event on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.input.batch import Batch
from wex.engine.state import schema
from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wex.engine.engine import Engine
    from wex.engine.input.prepare import Arriving
    from wex.engine.state.state import State

    Ints = NDArray[np.int64]

EVENT_CODES = ("arithmetic", "assumption")
AFTER_A_FAULT = 64  # rows that are tried next; twice as many with each try that finds none


@dataclass(frozen=True, eq=False)
class Silences:
    """The time of each row and of each stream's last event before, and what ends a stream."""

    times: Ints
    last: Ints  # of streams that have had none, anything
    longest: int


@dataclass(frozen=True, eq=False)
class _Behind:
    """What is known of a stream before a row: its last events, its position, its promise."""

    tail: pa.Table
    position: int
    promise: Ints
    time: int | None = None


def faults(
    engine: Engine, arriving: Arriving, prior: State, silences: Silences | None = None
) -> dict[int, DataError]:
    """Return the rows of a batch that cannot be events, and why: none, if a measure is at fault."""
    batch = arriving.batch(prior)
    pieces, owners = _pieces(batch, arriving, prior, silences)
    found: dict[int, DataError] = {}
    ends = np.append(arriving.starts[1:], arriving.table.num_rows)
    for stream in sorted({int(owners[at]) for at in _faulty(engine, pieces)}):
        begin, end = int(arriving.starts[stream]), int(ends[stream])
        stretch = batch.part(stream, stream + 1)
        seen = int(stretch.begin[0])
        behind = _Behind(
            stretch.table.slice(0, seen),
            int(stretch.position[0]),
            prior.numbers(schema.ASSUMPTION)[stream : stream + 1],
        )
        times = None
        if silences is not None:
            times = silences.times[begin:end]
            last = int(silences.last[stream])
            behind = replace(behind, time=last if seen else None)
        reading = _Reading(engine, stretch.table.slice(seen), silences, times)
        found |= {begin + row: error for row, error in reading.faults(behind)}
    return found


# --- Which streams have faults


@dataclass(frozen=True, eq=False)
class _Pieces:
    """Streams, or parts of them that a silence makes streams of their own."""

    batch: Batch
    promise: Ints

    def part(self, low: int, high: int) -> _Pieces:
        return _Pieces(self.batch.part(low, high), self.promise[low:high])


def _pieces(
    batch: Batch, arriving: Arriving, prior: State, silences: Silences | None
) -> tuple[_Pieces, Ints]:
    """Return the pieces of a batch, if no event is at fault, and the stream of each."""
    streams = np.arange(len(batch.begin))
    promise = prior.numbers(schema.ASSUMPTION)
    if silences is None:
        return _Pieces(batch, promise), streams
    before = np.append(silences.times[:1], silences.times[:-1])
    known = prior.tail_counts > 0
    before[arriving.starts] = np.where(known, silences.last, silences.times[arriving.starts])
    new = silences.times - before > silences.longest
    sizes = batch.end - batch.begin
    owner = np.repeat(streams, sizes)
    # A stream that begins with a silence has a first piece without rows: it is left out.
    opens = new.copy()
    opens[arriving.starts] = True
    rows = np.flatnonzero(opens)
    owners = owner[rows]
    shift = batch.begin - arriving.starts  # from rows of the table to rows of the batch
    begin = rows + shift[owners]
    fresh = new[rows]
    first = np.where(fresh, begin, batch.first[owners])
    end = np.append(rows[1:], len(owner)) + shift[owners]
    position = np.where(fresh, 0, batch.position[owners])
    pieces = replace(batch, first=first, begin=begin, end=end, position=position)
    return _Pieces(pieces, np.where(fresh, 0, promise[owners])), owners


def _faulty(engine: Engine, pieces: _Pieces) -> Iterator[int]:
    """Yield the pieces that have a fault: halves of halves, so that few cost little."""
    waiting = [(0, len(pieces.promise))] if len(pieces.promise) else []
    while waiting:
        low, high = waiting.pop()
        part = pieces.part(low, high)
        try:
            engine.check(part.batch, part.promise)
        except DataError as error:
            _event_of(error)
            if high - low == 1:
                yield low
            else:
                middle = (low + high) // 2
                waiting += [(low, middle), (middle, high)]


def _event_of(error: DataError) -> int:
    """Return the position of the event that is at fault; any other error is raised again."""
    if error.code not in EVENT_CODES or error.position is None:
        raise error
    return error.position


# --- Which of their events


class _Reading:
    """The rows of one stream, read in their order."""

    def __init__(
        self, engine: Engine, rows: pa.Table, silences: Silences | None, times: Ints | None
    ) -> None:
        self._engine, self._rows = engine, rows
        self._longest = None if silences is None else silences.longest
        self._times = times

    def faults(self, behind: _Behind) -> Iterator[tuple[int, DataError]]:
        """Yield the rows at fault."""
        row, size, count = 0, self._rows.num_rows, self._rows.num_rows
        while row < count:
            behind = self._after_silence(behind, row)
            end = self._until_silence(row, min(row + size, count))
            behind, read, error = self._read(behind, row, end)
            if error is None:
                row, size = end, 2 * size
            else:
                yield read, error
                row, size = read + 1, AFTER_A_FAULT

    def _after_silence(self, behind: _Behind, row: int) -> _Behind:
        if self._times is None or self._longest is None or behind.time is None:
            return behind
        if int(self._times[row]) - behind.time <= self._longest:
            return behind
        return _Behind(behind.tail.slice(0, 0), 0, np.zeros(1, dtype=np.int64))

    def _until_silence(self, row: int, end: int) -> int:
        """Return the next row that follows a silence, or the end."""
        if self._times is None or self._longest is None:
            return end
        breaks = np.flatnonzero(np.diff(self._times[row:end]) > self._longest)
        return row + 1 + int(breaks[0]) if len(breaks) else end

    def _read(self, behind: _Behind, row: int, end: int) -> tuple[_Behind, int, DataError | None]:
        """Return what is behind the events before the first fault, its row, and what it is.

        The engine tells the first fault of one guard; another guard may have one before it.
        """
        told: DataError | None = None
        while True:
            rows = self._rows.slice(row, end - row)
            batch = self._batch(behind, rows)
            try:
                promise = self._engine.check(batch, behind.promise)
            except DataError as error:
                end, told = row + _event_of(error) - behind.position, error
                continue
            kept = min(batch.rows, self._engine.tail)
            time = behind.time
            if self._times is not None and end > row:
                time = int(self._times[end - 1])
            after = _Behind(
                batch.table.slice(batch.rows - kept), behind.position + end - row, promise, time
            )
            return after, end, told

    def _batch(self, behind: _Behind, rows: pa.Table) -> Batch:
        table = pa.concat_tables([behind.tail, rows]) if behind.tail.num_rows else rows
        seen, total = np.array([behind.tail.num_rows]), np.array([table.num_rows])
        engine = self._engine
        return Batch(
            table.combine_chunks(),
            engine.fields,
            engine.stream.partition_by,
            np.zeros(1, dtype=np.int64),
            seen,
            total,
            np.array([behind.position]),
        )
