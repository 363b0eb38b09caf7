"""The code that runs on the workers for ranges of streams: see `wex.spark.ranges`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark import TaskContext

from wex.engine.external_sort import sorted_blocks
from wex.engine.ranges.distribution import changed, run_task
from wex.engine.ranges.joining import (
    FOR_ALL,
    TABLE_ROWS,
    Join,
    Kind,
    Packet,
    Place,
    event_with_key,
    packets,
)
from wex.engine.state.state import from_ipc, to_ipc
from wex.engine.streaming.worker_errors import bad_rows_hint
from wex.spark.long_rows import long_row
from wex.spark.packed_shuffle import buckets
from wex.spark.worker import engine_of_plan, joined, partition_windows, tally_row
from wex.spark.worker_heap import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import RangeTask

    Batches = Iterator[pa.RecordBatch]

PACKETS = pa.schema(
    [
        *((name, pa.int32()) for name in ("target", "stream", "kind", "number", "piece", "way")),
        # Packets of one place in their order, and each in parts: the JVM does not like large arrays.
        *((name, pa.int32()) for name in ("slice", "part")),
        ("content", pa.binary()),
    ]
)
NUMBERS = len(PACKETS) - 1
PART_BYTES = 1 << 20
UNDIVIDED = -1  # in place of the number of a stream: windows of streams that are not divided


class PlacedRange(NamedTuple):
    """A range of a stream, both by their numbers, and the joining tasks: its own, and all of its stream."""

    stream: int
    number: int
    task: RangeTask
    target: int
    targets: Sequence[int]


@dataclass(frozen=True, eq=False)
class DividedStream:
    """A stream that is divided: its key, a table of one row, None without a key; its number of ranges.

    The joining task `counts` adds its counts; None: nobody does.
    """

    key: pa.Table | None
    ranges: int
    counts: int | None


@dataclass(frozen=True, eq=False)
class RangeWork:
    """What all tasks of a job with ranges have in common."""

    plan: bytes
    events: pa.Schema  # of rows that travel
    tally: bool
    batch_rows: int  # that Spark hands to Python together

    @property
    def engine(self) -> Engine:
        """Return the engine, which a worker makes once."""
        return engine_of_plan(self.plan)


def range_packets(
    work: RangeWork,
    batches: Batches,
    ranges: Mapping[int, PlacedRange],
    targets: Sequence[int],
    memory: int,
) -> Batches:
    """Yield the packets of a partition of blobs; a bucket is a range, or of streams that are not divided."""
    engine = work.engine
    for number, (label, tables) in enumerate(buckets(batches, engine, work.events, memory)):
        placed = ranges.get(label)
        if placed is None:
            target = targets[label % len(targets)]
            found = partition_windows(engine, tables, tally=work.tally)
            yield from _windows_rows(work, target, Place(Kind.WINDOWS, label, number, 0), found)
            continue
        yield from _range_rows(work, placed, tables)
    settle()


def _range_rows(work: RangeWork, placed: PlacedRange, tables: Iterator[pa.Table]) -> Batches:
    """Yield the packets of a range, given as its sorted rows, as rows."""
    engine = work.engine
    with bad_rows_hint(engine.guarded, "fail"):
        sent = packets(placed.number, run_task(engine, placed.task, tables))
        for at, packet in enumerate(sent):
            for_all = packet.place.kind in FOR_ALL
            for target in placed.targets if for_all else [placed.target]:
                yield from _rows(work, target, placed.stream, at, packet)


class Extent(NamedTuple):
    """The least and the greatest value of the first order column in a partition, as numbers, and its events."""

    least: float
    greatest: float
    events: int


def partition_packets(
    work: RangeWork,
    batches: Batches,
    numbers: Callable[[pa.ChunkedArray], pa.ChunkedArray],
    ranges: Mapping[int, tuple[PlacedRange, Extent]],
    block: int,
    piece: int,
) -> Batches:
    """Yield the packets of a partition that is a range; `numbers` are those of the first order column.

    Its blocks of so many rows are in order, and so many rows of a piece run together.
    """
    context = TaskContext.get()
    assert context is not None
    here = ranges.get(context.partitionId())
    if here is None:  # it has no rows
        if any(batch.num_rows for batch in batches):
            raise changed()
        return
    placed, extent = here
    engine = work.engine
    column = engine.stream.order_by[0]

    def named() -> Iterator[pa.Table]:
        for table in joined(batches, piece):
            rows = pa.Table.from_arrays(table.columns, names=work.events.names).cast(work.events)
            if rows.column(column).null_count:  # there was none
                raise changed()
            yield rows

    def checked() -> Iterator[pa.Table]:
        least, greatest, events = None, None, 0
        for rows in sorted_blocks(engine, named(), block):
            times = rows.column(column)
            first, last = numbers(times.take([0, len(times) - 1])).to_pylist()
            if greatest is not None and first <= greatest:
                raise changed()
            least, greatest = first if least is None else least, last
            events += rows.num_rows
            yield rows
        if (least, greatest, events) != extent:
            raise changed()

    yield from _range_rows(work, placed, checked())
    settle()


def _windows_rows(work: RangeWork, target: int, place: Place, found: Batches) -> Batches:
    """Yield windows of streams that are not divided as rows."""
    slices = (
        batch.slice(row, TABLE_ROWS)
        for batch in found
        for row in range(0, batch.num_rows, TABLE_ROWS)
    )
    for at, some in enumerate(slices):
        content = to_ipc(pa.Table.from_batches([some]), compressed=True)
        yield from _rows(work, target, UNDIVIDED, at, Packet(place, content))


def _rows(work: RangeWork, target: int, stream: int, at: int, packet: Packet) -> Batches:
    """Yield a packet as rows of a part each."""
    content = pa.py_buffer(packet.content)
    for part, first in enumerate(range(0, max(content.size, 1), PART_BYTES)):
        data = content.slice(first, min(PART_BYTES, content.size - first))
        yield long_row((target, stream, *packet.place, at, part), data, work.batch_rows, PACKETS)


def joined_windows(
    work: RangeWork, batches: Batches, streams: Sequence[DividedStream], result: pa.Schema
) -> Batches:
    """Yield the windows of the packets of a partition, and the counts of streams that it has to count."""
    engine = work.engine
    for (target, stream), own in groupby(_packets(batches), key=lambda packet: packet[:2]):
        incoming = (packet for *_, packet in own)
        if stream == UNDIVIDED:
            for packet in incoming:
                yield from from_ipc(packet.content).cast(result).to_batches()
            continue
        divided = streams[stream]
        join = Join(engine, event_with_key(engine, work.events, divided.key), divided.ranges)
        with bad_rows_hint(engine.guarded, "fail"):
            for windows in join.windows(incoming):
                yield from windows.cast(result).to_batches()
        if target == divided.counts:
            yield tally_row(result, join.events, 1)
            yield tally_row(result, 0, None)
    settle()


def _packets(batches: Batches) -> Iterator[tuple[int, int, Packet]]:
    """Yield the packets of a partition with their targets and streams; their parts come one after the other."""
    rows = (
        (numbers, content)
        for batch in batches
        for *numbers, content in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        if content is not None
    )
    for head, parts in groupby(rows, key=lambda row: row[0][: NUMBERS - 1]):
        target, stream, *place, _ = head
        yield target, stream, Packet(Place(*place), b"".join(content for _, content in parts))
