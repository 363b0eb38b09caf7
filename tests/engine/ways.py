"""Ways to run a spec on a table whose parts arrive bit by bit, in random pieces."""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import wex
from wex.engine import short_batches
from wex.engine.engine import Engine, engine_of
from wex.engine.external_sort import ExternalSort
from wex.engine.input.grouping import whole
from wex.engine.input.prepare import PreparedInput
from wex.engine.packing import EventOrder, TimeBuckets, blobs, rows_of
from wex.engine.ranges import division
from wex.engine.ranges.composition import obstacle
from wex.engine.ranges.distribution import Cut, cut_in, run_task, tasks_of
from wex.engine.ranges.division import Part, run_parts
from wex.engine.ranges.joining import FOR_ALL, Join, Packet, packets
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
    first = engine.stream.order_by[0]
    borders = np.array([whole(pa.array([cut.place]))[0] for cut in cuts])
    size = chance.choice([1, 5, 1000])
    moved = [
        blob
        for row in range(0, table.num_rows, size)
        for blob in blobs(table.slice(row, size), TimeBuckets(first, borders), first)
    ]
    chance.shuffle(moved)
    memory, sent = chance.choice([1, 1 << 30]), list[Packet]()
    for number, task in enumerate(tasks_of(engine, cuts)):
        with closing(ExternalSort(EventOrder(engine), memory)) as sort:
            for blob in moved:
                if blob.bucket == number:
                    sort.add(rows_of(blob.data, table.schema))
            sent += packets(number, run_task(engine, task, sort.sorted()))
    chance.shuffle(sent)
    prepared, joins = PreparedInput(engine, table).table.schema, chance.choice([1, 2, 5])
    found: list[pa.Table] = []
    for target in range(joins):
        own = [
            packet
            for packet in sent
            if packet.place.kind in FOR_ALL or packet.place.number % joins == target
        ]
        join = Join(engine, prepared, len(cuts) + 1)
        found += join.windows(sorted(own, key=lambda packet: packet.place))
    empty = SortedScan(engine).feed(table.slice(0, 0))
    return pa.concat_tables([empty, *(part.cast(empty.schema) for part in found)]).combine_chunks()


def some_cuts(engine: Engine, table: pa.Table, chance: Random) -> list[Cut]:
    """Return places where ranges of a stream without a key can begin, near random rows."""
    rows = PreparedInput(engine, table).table
    cuts: list[Cut] = []
    count = chance.choice([1, 2, 3, rows.num_rows])
    for begin in sorted(chance.randint(0, rows.num_rows) for _ in range(count)):
        cut = cut_in(engine, rows.slice(begin, chance.choice([3, 10, rows.num_rows])))
        if cut is not None and (not cuts or cut.place.as_py() > cuts[-1].place.as_py()):
            cuts.append(cut)
    return cuts
