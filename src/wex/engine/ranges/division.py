"""A sorted batch on several threads: its streams side by side, long streams in ranges.

Whatever goes wrong in a part, the whole batch then runs in one piece: the first fault of the data is
reported, and it does not depend on the division.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wex.engine.arrays import empty
from wex.engine.data_errors import assumption_error
from wex.engine.engine import report_order, windows_in_threads
from wex.engine.input.prepare import PreparedInput
from wex.engine.ranges.composition import (
    composed,
    first_entry,
    obstacle,
    passage,
    reach,
    slow_in_threads,
    synchronised,
)
from wex.engine.ranges.crossing import crossing_windows, merged, some_windows
from wex.engine.ranges.key_ranges import key_ranges
from wex.engine.ranges.range_run import run_range
from wex.engine.workers import ALONE, Workers, cores
from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.input.batch import Batch
    from wex.engine.ranges.composition import Entry, Passage
    from wex.engine.ranges.range_run import Border, RangeResult
    from wex.engine.window_run import FoundWindows

LONG = 10_000_000  # events from which on all cores are used, if nobody says otherwise
LEAST = 1 << 16  # events of a range
LOOK = (1 << 9, 1 << 15)  # events after a border in which the states may become known

logger = logging.getLogger("wex")


def threads_for(events: int, threads: int | None) -> int:
    """Return how many threads to use for so many events."""
    if threads is None:
        return cores() if events >= LONG else 1
    return threads


def find_divided(engine: Engine, data: pa.Table, threads: int | None = None) -> pa.Table:
    """Return what an engine finds in data that is all there is, on some threads.

    Rows that come in the order of time are brought together by key on all threads. Others are divided
    by keys if there are many, and each part is sorted by itself. Then streams run side by side.
    """
    count = threads_for(data.num_rows, threads)
    reason = slow_in_threads(engine) if count > 1 else None
    if reason is not None:
        logger.info("one thread: %s", reason)
    large = data.num_rows >= count * LEAST
    workers = Workers(count) if large and reason is None else ALONE
    prepared = PreparedInput(engine, data, workers=workers)
    if count == 1 or reason is not None:
        return run_whole(engine, prepared.new_streams())
    keys = engine.stream.partition_by
    ranges = key_ranges(data, keys, count) if large and not prepared.grouped else None
    if ranges is not None:
        try:
            with windows_in_threads(1):
                parts = Workers(count).map(
                    lambda part: run_whole(
                        engine, PreparedInput(engine, part.rows(data, keys[0])).new_streams()
                    ),
                    ranges,
                )
        except DataError:
            return run_whole(engine, prepared.new_streams())
        return pa.concat_tables(parts)
    batch = prepared.new_streams()
    return run_parts(engine, batch, list(parts_of(engine, batch, count)), Workers(count))


def run_whole(engine: Engine, batch: Batch) -> pa.Table:
    """Return what an engine finds in new streams that end with the batch, in one piece."""
    return engine.run(batch, engine.fresh(len(batch.first)), last=True)[0]


class Part(NamedTuple):
    """Adjacent streams of a batch that run together; or one stream, in ranges between borders."""

    low: int
    high: int
    borders: tuple[int, ...] = ()  # positions in the stream, ascending


def run_parts(engine: Engine, batch: Batch, parts: Sequence[Part], workers: Workers) -> pa.Table:
    """Return what `engine.run` finds in new streams, part by part."""
    if len(parts) <= 1 and not any(part.borders for part in parts):
        return run_whole(engine, batch)
    tables: list[list[pa.Table]] = [[] for _ in parts]
    together = [number for number, part in enumerate(parts) if not part.borders]

    def run_streams(number: int) -> pa.Table:
        return run_whole(engine, batch.part(parts[number].low, parts[number].high))

    try:
        with windows_in_threads(1):
            found = workers.map(run_streams, together)
        for number, table in zip(together, found, strict=True):
            tables[number].append(table)
        for number, part in enumerate(parts):
            if part.borders:
                stream = batch.part(part.low, part.high)
                tables[number] += _stream_tables(engine, stream, part.borders, workers)
    except DataError:
        return run_whole(engine, batch)
    return pa.concat_tables([table for of_part in tables for table in of_part])


def parts_of(engine: Engine, batch: Batch, threads: int) -> Iterable[Part]:
    """Yield parts of about the same number of events, of a batch of new streams."""
    sizes = np.subtract(batch.end, batch.begin, out=empty(len(batch.end), np.int64))
    share = max(batch.rows // threads, LEAST)
    reason = obstacle(engine)
    long = np.flatnonzero(sizes > share).tolist() if sizes.max(initial=0) > share else []
    if reason is not None and long:
        logger.info("a long stream runs in one thread: %s", reason)
    in_ranges = long if reason is None else []
    low = 0
    for stream in [*in_ranges, len(sizes)]:
        if stream > low:
            yield from _together(batch.end[low:stream], int(batch.begin[low]), low, share)
        if stream < len(sizes):
            size = int(sizes[stream])
            count = round(size / share)
            yield Part(stream, stream + 1, tuple(size * n // count for n in range(1, count)))
        low = stream + 1
    if not len(sizes):
        yield Part(0, 0)


def _together(ends: Ints, row: int, first: int, share: int) -> Iterable[Part]:
    """Yield adjacent streams, from the first on, in parts of `share` events or just above.

    They begin at a row, and each ends where the next one begins.
    """
    low = 0
    while low < len(ends):
        before = int(ends[low - 1]) if low else row
        high = min(int(np.searchsorted(ends, before + share)) + 1, len(ends))
        yield Part(first + low, first + high)
        low = high


# --- One stream in ranges


def _stream_tables(
    engine: Engine, stream: Batch, borders: Sequence[int], workers: Workers
) -> list[pa.Table]:
    """Return the windows of a batch with one new stream, in ranges between some borders."""
    rows = stream.rows
    entries = _entries(engine, stream, borders, workers)
    if any(entry.broken for entry in entries):
        # The run in one piece will say which event it is.
        raise assumption_error(("its assumptions",), (), 0)
    ends = [*(entry.position for entry in entries[1:]), rows]
    most_times = engine.conformity_check.most_times

    def run(number: int) -> RangeWindows:
        entry, last = entries[number], number == len(entries) - 1
        events = range_of(engine, stream, entry.position, ends[number])
        times = _last_times(engine, stream, entry.position, most_times)
        return _range_windows(engine, run_range(engine, events, entry, times, last=last))

    ranges = workers.map(run, range(len(entries)))
    return range_tables(engine, ranges, workers)


def _last_times(engine: Engine, stream: Batch, row: int, count: int) -> Ints:
    if not engine.rated:
        return np.empty(0, dtype=np.int64)
    times: Ints = stream.array(engine.stream.order_by[0])  # type: ignore[assignment]
    return times[max(row - count, 0) : row]


def range_of(engine: Engine, stream: Batch, begin: int, end: int) -> Batch:
    """Return some rows of a batch with one new stream, after those that they may look back at."""
    before = min(begin, reach(engine))
    return replace(
        stream,
        table=stream.table.slice(begin - before, end - begin + before),
        begin=np.array([before]),
        end=np.array([end - begin + before]),
        position=np.array([begin]),
    )


def _entries(
    engine: Engine, stream: Batch, borders: Sequence[int], workers: Workers
) -> list[Entry]:
    """Return the states of a stream at the beginning of each range, at or after the borders."""
    known = workers.map(lambda border: _entry_after(engine, stream, border), borders)
    found = [entry for entry in known if entry is not None]
    if len(found) == len(known):
        positions = [entry.position for entry in found]
        if positions == sorted(positions):
            return [first_entry(engine), *found]
    bounds = [0, *borders, stream.rows]

    def passed(number: int) -> Passage:
        return passage(engine, range_of(engine, stream, bounds[number], bounds[number + 1]))

    return composed(engine, workers.map(passed, range(len(borders))))


def _entry_after(engine: Engine, stream: Batch, border: int) -> Entry | None:
    """Return the states at a row soon after a border, if they do not depend on the events before."""
    for look in LOOK:
        end = min(border + look, stream.rows)
        known = synchronised(engine, range_of(engine, stream, border, end))
        if known is not None:
            return known[1]
        if end == stream.rows:
            return None
    return None


class RangeWindows(NamedTuple):
    """The windows of a range: its borders, its own first windows, and a table of all others.

    The first ones go up to the last end of a phantom: windows that enter the range come among them.
    """

    batch: Batch
    borders: list[Border]
    heads: list[FoundWindows]
    rest: pa.Table


def _range_windows(engine: Engine, result: RangeResult) -> RangeWindows:
    """Return what does not depend on other ranges, so that the thread that ran a range does it at once."""
    last = max(run.last_entering for run in result.runs)
    heads, rest = [], []
    for own in result.windows:
        cut = int(np.searchsorted(own.reported, last, side="right"))
        heads.append(some_windows(own, slice(cut)))
        rest.append(some_windows(own, slice(cut, None)) if cut else own)
    table, _ = engine.table(result.batch, rest, report_order(rest))
    return RangeWindows(result.batch, [run.border() for run in result.runs], heads, table)


def range_tables(
    engine: Engine, ranges: Sequence[RangeWindows], workers: Workers
) -> list[pa.Table]:
    """Return the windows of a stream in their order, from its ranges."""
    crossing = [
        crossing_windows(
            engine, window, ranges[0].batch, [of_range.borders[number] for of_range in ranges]
        )
        for number, window in enumerate(engine.windows)
    ]

    def first_windows(at: int) -> list[pa.Table]:
        batch, heads = ranges[at].batch, []
        # Reports are rows of the range here, as those of its own windows are.
        shift = int(batch.begin[0] - batch.position[0])
        for (windows, ends_in), own in zip(crossing, ranges[at].heads, strict=True):
            entering = some_windows(windows, np.flatnonzero(ends_in == at))
            entering = replace(entering, reported=entering.reported + shift)
            heads.append(merged([entering, own]) if len(entering.starts) else own)
        if not any(len(windows.starts) for windows in heads):
            return []
        return [engine.table(batch, heads, report_order(heads))[0]]

    made = workers.map(first_windows, range(len(ranges)))
    pairs = zip(made, ranges, strict=True)
    return [table for first, of_range in pairs for table in (*first, of_range.rest)]
