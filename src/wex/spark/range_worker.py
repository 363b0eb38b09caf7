"""The code that runs on the workers for ranges of one stream: see `wex.spark.ranges`."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.input.prepare import PreparedInput
from wex.engine.ranges.distribution import run_task
from wex.engine.ranges.joining import FOR_ALL, Join, Packet, Place, packets
from wex.engine.streaming.worker_errors import bad_rows_hint
from wex.spark.packed_shuffle import buckets
from wex.spark.worker import engine_of_plan, tally_row
from wex.spark.worker_heap import settle

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.ranges.distribution import RangeTask

    Batches = Iterator[pa.RecordBatch]

PACKETS = pa.schema(
    [
        *((name, pa.int32()) for name in ("target", "kind", "number", "piece", "way")),
        # Packets of one place in their order, and each in parts: the JVM does not like large arrays.
        *((name, pa.int32()) for name in ("slice", "part")),
        ("content", pa.binary()),
    ]
)
NUMBERS = len(PACKETS) - 1
PART_BYTES = 1 << 20


def range_packets(
    plan: bytes,
    batches: Batches,
    events: pa.Schema,
    by_label: dict[int, tuple[int, RangeTask]],
    targets: list[int],
    memory: int,
) -> Batches:
    """Yield the packets of the ranges of a partition of blobs; a range is found by its label."""
    engine = engine_of_plan(plan)
    for label, tables in buckets(batches, engine, events, memory):
        number, task = by_label[label]
        with bad_rows_hint(engine.guarded, "fail"):
            sent = packets(number, run_task(engine, task, tables))
            for at, packet in enumerate(sent):
                for_all = packet.place.kind in FOR_ALL
                for target in targets if for_all else [targets[number % len(targets)]]:
                    yield from _rows(target, at, packet)
    settle()


def _rows(target: int, at: int, packet: Packet) -> Batches:
    """Yield a packet as rows of a part each."""
    content = pa.py_buffer(packet.content)
    for part, first in enumerate(range(0, max(content.size, 1), PART_BYTES)):
        data = content.slice(first, min(PART_BYTES, content.size - first))
        offsets = pa.py_buffer(np.array([0, data.size], dtype=np.int32))
        numbers = [pa.array([n], pa.int32()) for n in (target, *packet.place, at, part)]
        column = pa.Array.from_buffers(pa.binary(), 1, [None, offsets, data])
        yield pa.record_batch([*numbers, column], schema=PACKETS)


def joined_windows(
    plan: bytes,
    batches: Batches,
    events: pa.Schema,
    count: int,
    result: pa.Schema,
    tallying: int | None,
) -> Batches:
    """Yield the windows of the packets of a partition, and the counts of the stream if it is to."""
    engine = engine_of_plan(plan)
    prepared = PreparedInput(engine, events.empty_table()).table.schema
    for target, own in groupby(_packets(batches), key=lambda packet: packet[0]):
        join = Join(engine, prepared, count)
        with bad_rows_hint(engine.guarded, "fail"):
            for windows in join.windows(packet for _, packet in own):
                yield from windows.cast(result).to_batches()
        if target == tallying:
            yield tally_row(result, join.events, 1)
            yield tally_row(result, 0, None)
    settle()


def _packets(batches: Batches) -> Iterator[tuple[int, Packet]]:
    """Yield the packets of a partition with their targets; their parts come one after the other."""
    rows = (
        (numbers, content)
        for batch in batches
        for *numbers, content in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    for (target, *place, _), parts in groupby(rows, key=lambda row: row[0][: NUMBERS - 1]):
        yield target, Packet(Place(*place), b"".join(content for _, content in parts))
