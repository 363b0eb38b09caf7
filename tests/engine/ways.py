"""Ways to run a spec on a table whose parts arrive bit by bit, in random pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from random import Random
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc

import wex
from wex.engine import short_batches
from wex.engine.engine import Engine, engine_of
from wex.engine.external_sort import ExternalSort
from wex.engine.input.grouping import whole
from wex.engine.input.prepare import PreparedInput
from wex.engine.packing import (
    Blob,
    Buckets,
    EventOrder,
    KeyBuckets,
    SkewedBuckets,
    TimeBuckets,
    blobs,
    coded_columns,
    has_key,
    rows_of,
)
from wex.engine.ranges import division
from wex.engine.ranges.composition import obstacle
from wex.engine.ranges.distribution import Cut, cut_in, run_task, tasks_of
from wex.engine.ranges.division import Part, run_parts
from wex.engine.ranges.joining import FOR_ALL, Join, Packet, event_with_key, packets
from wex.engine.sorted_scan import SortedScan
from wex.engine.state import shelf, store
from wex.engine.streaming.bucket import Bucket, Rules
from wex.engine.workers import Workers

FAR = 2**62  # a watermark after which all streams have been silent for too long
FOREVER = Rules(expire_after=2**60)


def in_pieces(spec: wex.Spec, table: pa.Table, chance: Random) -> pa.Table:
    """Feed a processor, a random number of events of each stream at a time; save it in between."""
    whole = PreparedInput(engine_of(spec), table)
    pieces = chance.randint(1, 4)
    numbers: list[int] = []
    for begin, end in pairwise([*whole.starts, whole.table.num_rows]):
        numbers += sorted(chance.randrange(pieces) for _ in range(begin, end))
    processor, parts = wex.Processor(spec), []
    for piece in range(pieces):
        rows = [row for row, number in enumerate(numbers) if number == piece]
        parts.append(processor.feed(whole.table.take(pa.array(rows, pa.int64()))))
        processor = wex.Processor.restore(spec, processor.state())
    return pa.concat_tables([*parts, processor.close()]).combine_chunks()


def event_by_event(spec: wex.Spec, table: pa.Table, chance: Random) -> pa.Table:
    """Feed a processor one or two events at a time, with open starts set aside as soon as there are two."""
    whole = PreparedInput(engine_of(spec), table).table
    processor, parts, row = wex.Processor(spec), [], 0
    with (
        patch.object(short_batches, "MANY", 2),
        patch.object(short_batches, "SHORT", 0),
        patch.object(store, "MANY", 2),
        patch.object(shelf, "MOST_RECENT", chance.choice([1, 4, 1024])),
    ):
        while row < whole.num_rows:
            count = chance.choice([1, 1, 1, 2])
            parts.append(processor.feed(whole.slice(row, count)))
            row += count
            if chance.random() < 0.1:
                processor = wex.Processor.restore(spec, processor.state())
        return pa.concat_tables([*parts, processor.close()]).combine_chunks()


def in_batches(
    spec: wex.Spec, table: pa.Table, chance: Random, engine: Engine | None = None
) -> pa.Table:
    """Feed a bucket with rows in any order, while the watermark advances; none of them is late."""
    engine = engine or engine_of(spec)
    time = engine.stream.order_by[0]
    times = pc.cast(table[time], pa.int64()).to_pylist()
    steps = sorted(chance.sample(times, chance.randint(0, min(3, len(times)))))
    watermarks = [0, *(step for step in steps if step > 0)]
    arrives = [
        chance.choice([at for at, watermark in enumerate(watermarks) if not at or watermark < time])
        for time in times
    ]
    bucket, found = Bucket.of(engine, FOREVER), []
    for step, watermark in enumerate(watermarks):
        rows = [row for row, at in enumerate(arrives) if at == step]
        chance.shuffle(rows)
        part = table.take(pa.array(rows, pa.int64())) if rows else None
        found.append(bucket.arrive(part, watermark))
        bucket = Bucket.of(engine, FOREVER, bucket.saved())
    found.append(bucket.advance(FAR))
    assert bucket.counts.late == 0
    empty = SortedScan(engine).feed(table.slice(0, 0))
    parts = [windows.cast(empty.schema) for windows in found if windows.num_rows]
    return pa.concat_tables([empty, *parts]).combine_chunks()


def in_ranges(
    spec: wex.Spec,
    table: pa.Table,
    chance: Random,
    engine: Engine | None = None,
    *,
    synchronised: bool = True,
) -> pa.Table:
    """Run each stream in ranges between random borders, of which several may be at one place.

    Ranges begin where the states of automata no longer depend on the events before, if there are such
    places; or else, and unless `synchronised`, exactly at the borders.
    """
    engine = engine or engine_of(spec)
    prepared = PreparedInput(engine, table)
    batch = prepared.batch(engine.fresh(len(prepared.starts)))
    parts = []
    for stream, size in enumerate((batch.end - batch.begin).tolist()):
        count = chance.choice([0, 1, 2, 3, size]) if obstacle(engine) is None else 0
        borders = sorted(chance.randint(0, size) for _ in range(count))
        parts.append(Part(stream, stream + 1, tuple(borders)))
    with patch.object(division, "LOOK", division.LOOK if synchronised else ()):
        return run_parts(engine, batch, parts, Workers(2)).combine_chunks()


def in_tasks(
    engine: Engine, table: pa.Table, chance: Random, cuts: list[Cut] | None = None
) -> pa.Table | None:
    """Run a stream without a key as tasks do that share no memory; None: it cannot be divided.

    The rows come in pieces in any order, and with little memory a range runs piece by piece.
    """
    cuts = some_cuts(engine, table, chance) if cuts is None else cuts
    if not cuts:
        return None
    moved = _packed(engine, table, _by_time(engine, cuts), chance)
    return _windows(engine, table, _joined_ranges(engine, table, moved, 0, None, cuts, chance))


def with_divided_keys(engine: Engine, table: pa.Table, chance: Random) -> pa.Table:
    """Run some streams with a key as `in_tasks` does, and the others bucket by bucket."""
    by_key = KeyBuckets(engine.stream.partition_by, chance.choice([1, 3]))
    divided = []
    for key, rows in streams_of(engine, table):
        cuts = some_cuts(engine, rows, chance) if chance.random() < 0.7 else []
        if cuts:
            divided.append((key, cuts))
    by_time = [(key, _by_time(engine, cuts)) for key, cuts in divided]
    moved = _packed(engine, table, SkewedBuckets(by_key, by_time), chance)
    found: list[pa.Table] = []
    for bucket in range(by_key.count):
        scan = SortedScan(engine)
        with _sorted(engine, table, moved, bucket, 1 << 30) as pieces:
            found += [scan.feed(rows) for rows in pieces]
        last = scan.close()
        found += [] if last is None else [last]
    first = by_key.count
    for key, cuts in divided:
        found += _joined_ranges(engine, table, moved, first, key, cuts, chance)
        first += len(cuts) + 1
    return _windows(engine, table, found)


def streams_of(engine: Engine, table: pa.Table) -> list[tuple[pa.Table, pa.Table]]:
    """Return the keys of a table, of one row each, and their rows."""
    names, streams = list(engine.stream.partition_by), []
    while table.num_rows:
        key = table.select(names).slice(0, 1).combine_chunks()
        own = has_key(coded_columns(table.select(names)), key)
        streams.append((key, table.filter(pa.array(own))))
        table = table.filter(pa.array(~own))
    return streams


def _by_time(engine: Engine, cuts: list[Cut]) -> TimeBuckets:
    places = pa.concat_arrays([pa.array([cut.place]) for cut in cuts])
    borders = places.to_numpy() if pa.types.is_floating(places.type) else whole(places)
    return TimeBuckets(engine.stream.order_by[0], borders)


def _packed(engine: Engine, table: pa.Table, division: Buckets, chance: Random) -> list[Blob]:
    """Return the blobs of a table, in any order."""
    size = chance.choice([1, 5, 1000])
    moved = [
        blob
        for row in range(0, table.num_rows, size)
        for blob in blobs(table.slice(row, size), division, engine.stream.order_by[0])
    ]
    chance.shuffle(moved)
    return moved


@contextmanager
def _sorted(
    engine: Engine, table: pa.Table, moved: list[Blob], bucket: int, memory: int
) -> Iterator[Iterator[pa.Table]]:
    """Yield the rows of a bucket in their order, piece by piece."""
    with closing(ExternalSort(EventOrder(engine), memory)) as sort:
        for blob in moved:
            if blob.bucket == bucket:
                sort.add(rows_of(blob.data, table.schema))
        yield sort.sorted()


def _joined_ranges(
    engine: Engine,
    table: pa.Table,
    moved: list[Blob],
    first: int,
    key: pa.Table | None,
    cuts: list[Cut],
    chance: Random,
) -> list[pa.Table]:
    """Return the windows of a stream whose ranges are buckets from `first` on, joined by several tasks."""
    memory, sent = chance.choice([1, 1 << 30]), list[Packet]()
    for number, task in enumerate(tasks_of(engine, cuts)):
        with _sorted(engine, table, moved, first + number, memory) as pieces:
            sent += packets(number, run_task(engine, task, pieces))
    chance.shuffle(sent)
    joins = chance.choice([1, 2, 5])
    found: list[pa.Table] = []
    for target in range(joins):
        own = [
            packet
            for packet in sent
            if packet.place.kind in FOR_ALL or packet.place.number % joins == target
        ]
        join = Join(engine, event_with_key(engine, table.schema, key), len(cuts) + 1)
        found += join.windows(sorted(own, key=lambda packet: packet.place))
    return found


def _windows(engine: Engine, table: pa.Table, found: list[pa.Table]) -> pa.Table:
    empty = SortedScan(engine).feed(table.slice(0, 0))
    return pa.concat_tables([empty, *(part.cast(empty.schema) for part in found)]).combine_chunks()


def some_cuts(engine: Engine, table: pa.Table, chance: Random) -> list[Cut]:
    """Return places where ranges of one stream can begin, near random rows."""
    rows = PreparedInput(engine, table).table
    cuts: list[Cut] = []
    count = chance.choice([1, 2, 3, rows.num_rows])
    for begin in sorted(chance.randint(0, rows.num_rows) for _ in range(count)):
        near = rows.slice(begin, chance.choice([3, 10, rows.num_rows]))
        cut = cut_in(engine, near, at_last=chance.random() < 0.5)
        if cut is not None and (not cuts or cut.place.as_py() > cuts[-1].place.as_py()):
            cuts.append(cut)
    return cuts
