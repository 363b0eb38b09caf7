"""One stream on many tasks: ranges of time, and the windows that cross their borders.

A stream without a key is divided, and so are keys with a large share of all rows. `range_borders` finds out
where ranges begin. The rest is lazy, as all of a DataFrame: rows travel packed to the task of their
range, and its windows, packed, to a task that joins them with those that cross borders (see
`wex.engine.ranges.joining`). Rows of other keys travel by their hash in the same shuffle.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.packing import KeyBuckets, SkewedBuckets, TimeBuckets
from wex.engine.ranges.distribution import obstacle_to_tasks, tasks_of
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.errors import WexError, counted
from wex.spark import packed_shuffle, partition_ranges
from wex.spark.internals import estimated_size, is_only_read, spark_schema_of, spread_labels
from wex.spark.long_rows import rows_of_batches
from wex.spark.packed_shuffle import buckets_of_partition
from wex.spark.range_borders import CutStream, Order, cut_streams, largest_share
from wex.spark.range_worker import DividedStream, PlacedRange, RangeWork
from wex.spark.row_packing import rows_as_blobs
from wex.spark.schemas import to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame

    from wex.engine.engine import Engine
    from wex.engine.packing import Buckets
    from wex.spark.partition_ranges import PartitionRanges
    from wex.spark.range_worker import Extent

    Batches = Iterator[pa.RecordBatch]

WORTH_DIVIDING = 1 << 26  # bytes of the input as Spark estimates it
WORTH_LOOKING = 1 << 28  # the same if streams have keys: a look at some takes a third of a second
FIRST_ROWS = 20_000  # whose keys are looked at
PACKETS_IN_SPARK = (
    "target int, stream int, kind int, number int, piece int, way int, slice int, part int,"
    " content binary"
)

logger = logging.getLogger("wex")


# --- Whether streams are divided


def check_ranges(ranges: object) -> None:
    """Raise an error unless a number of ranges is a positive whole number, or None."""
    if ranges is not None and (type(ranges) is not int or ranges < 1):
        message = f"ranges must be a positive whole number, got {ranges!r}"
        raise WexError("wrong-argument", message, "give 1 or more, or leave it out")


def tasks_for(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    ranges: int | None,
    *,
    bad_rows: bool,
) -> int:
    """Return by how many tasks ranges of streams are run; 1: streams are not divided, as the log says.

    None for `ranges`: a stream without a key is divided if it is large, and keys if the first rows of a large
    input show one with more than a task's share. With `bad_rows`, rows may be skipped or have marks.
    """
    if ranges == 1:
        return 1
    reason = "bad rows are looked for" if bad_rows else obstacle_to_tasks(engine)
    if reason is None and Order.of(rows, plain, engine) is None:
        reason = "the type of its first order column cannot be divided"
    if reason is None and ranges is None:
        reason = _small(rows, WORTH_LOOKING if engine.stream.partition_by else WORTH_DIVIDING)
    keyed = bool(engine.stream.partition_by)
    if reason is None and ranges is None and keyed and not _has_hot_key(engine, rows, plain):
        reason = "no key is seen to be large"
    if reason is None:
        return ranges or rows.sparkSession.sparkContext.defaultParallelism
    if ranges is not None or not keyed:
        logger.info("%s in one task: %s", _whole(engine), reason)
    return 1


def _has_hot_key(engine: Engine, rows: DataFrame, plain: dict[str, str]) -> bool:
    """Tell whether a key has more of the first rows than a task gets on average.

    Only these are read, as most data has no such key. A filter might leave few rows, and all be read.
    """
    if not is_only_read(rows, filtered=False):
        return False
    keys = engine.stream.partition_by
    first = rows.select(*(plain[name] for name in keys)).limit(FIRST_ROWS)
    tasks = rows.sparkSession.sparkContext.defaultParallelism
    return largest_share(first.toArrow().rename_columns(list(keys))) > 1 / tasks


def _small(rows: DataFrame, least: int) -> str | None:
    """Return why it does not pay to divide rows, of fewer than the `least` bytes; None: it does."""
    if not hasattr(rows.sparkSession, "sparkContext"):
        return "the size of the input is not known on Spark Connect; `ranges` divides it anyway"
    if not is_only_read(rows):
        return "its rows are computed, which is not done more than once unless `ranges` is given"
    size = estimated_size(rows)
    if size is None:
        return "the size of the input is not known; `ranges` divides it anyway"
    if size < least:
        return f"Spark expects {size:,} bytes of input, and it pays from {least:,} on"
    if rows.sparkSession.sparkContext.defaultParallelism < 2:
        return "the session runs one task at a time"
    return None


def _whole(engine: Engine) -> str:
    return "each stream runs" if engine.stream.partition_by else "the stream runs"


# --- Divided streams


def ranged_windows(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    result: pa.Schema,
    tasks: int,
    *,
    tally: bool,
) -> DataFrame | None:
    """Return the windows of rows, found in ranges by so many tasks; None: no stream is divided.

    The columns of `rows` are the fields of the stream under `plain` names. With `tally`, there are rows
    without a window that hold counts, as in `wex.spark.worker`.
    """
    order = Order.of(rows, plain, engine)
    assert order is not None
    if not engine.stream.partition_by:
        in_place = partition_ranges.found_ranges(engine, rows, plain, order, tasks)
        if in_place is not None:
            logger.info("the stream runs in the %d partitions of its input", len(in_place.extents))
            return _in_place(engine, in_place, plain, order, result, tasks, tally=tally)
    found = cut_streams(engine, rows, plain, order, tasks)
    streams = [stream for stream in found if stream.cuts]
    _report(engine, streams, len(found) - len(streams), tasks)
    if not streams:
        return None
    return _divided(engine, rows, plain, order, streams, result, tasks, tally=tally)


def _report(engine: Engine, streams: Sequence[CutStream], whole: int, tasks: int) -> None:
    """Log which streams are divided, and how many are not although they are large."""
    keyed = bool(engine.stream.partition_by)
    if whole or (not keyed and not streams):
        what = (
            f"{counted(whole, 'large key')} in one task" if keyed else "the stream runs in one task"
        )
        logger.info("%s: no time was found that divides it", what)
    elif not streams:
        logger.info("each stream runs in one task: no key is large")
    if streams:
        what = counted(len(streams), "key") if keyed else "the stream runs"
        ranges = sum(len(stream.cuts) + 1 for stream in streams)
        logger.info("%s in %d ranges, on %d tasks", what, ranges, tasks)


def _divided(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    order: Order,
    streams: Sequence[CutStream],
    result: pa.Schema,
    tasks: int,
    *,
    tally: bool,
) -> DataFrame:
    """Return the windows of streams between their cuts, of other streams, and those that cross cuts."""
    keyed = bool(engine.stream.partition_by)
    rest = max(1 - sum(stream.share for stream in streams), 0.0)
    undivided = tasks * buckets_of_partition(rows, tasks, rest) if keyed else 0
    ranges = sum(len(stream.cuts) + 1 for stream in streams)
    labels = spread_labels(tasks, -(-(undivided + ranges) // tasks))
    targets = spread_labels(tasks, 1)
    division = _division(engine, order, streams, undivided)
    packed = rows_as_blobs(rows, list(plain), division, order.field, labels[: division.count])
    blobs = packed.repartition(tasks, "bucket")
    work = _work(engine, rows, plain, tally=tally)
    placed, divided = _placed(engine, streams, targets, tally=tally)
    run = _range_function(work, dict(zip(labels[undivided:], placed, strict=False)), targets)
    packets = blobs.sortWithinPartitions("bucket", "first").mapInArrow(run, PACKETS_IN_SPARK)
    return _joined(work, packets, divided, result, tasks)


def _in_place(
    engine: Engine,
    ranges: PartitionRanges,
    plain: dict[str, str],
    order: Order,
    result: pa.Schema,
    tasks: int,
    *,
    tally: bool,
) -> DataFrame:
    """Return the windows of a stream whose partitions are ranges: they run where they are read."""
    work = _work(engine, ranges.rows, plain, tally=tally)
    streams = [CutStream(None, 1.0, ranges.cuts)]
    placed, divided = _placed(engine, streams, spread_labels(tasks, 1), tally=tally)
    by_partition = {
        number: (own, extent)
        for own, (number, extent) in zip(placed, ranges.extents.items(), strict=True)
    }
    run = _partition_function(work, order, by_partition)
    packets = ranges.rows.mapInArrow(run, PACKETS_IN_SPARK)
    return _joined(work, packets, divided, result, tasks)


def _work(engine: Engine, rows: DataFrame, plain: dict[str, str], *, tally: bool) -> RangeWork:
    types = to_arrow(rows.schema)
    events = pa.schema([(name, types.field(short).type) for name, short in plain.items()])
    return RangeWork(engine.plan.to_bytes(), events, tally, rows_of_batches(rows.sparkSession))


def _joined(
    work: RangeWork,
    packets: DataFrame,
    divided: Sequence[DividedStream],
    result: pa.Schema,
    tasks: int,
) -> DataFrame:
    """Return the windows of packets, joined by so many tasks."""
    by = ("target", "stream", "kind", "number", "piece", "way", "slice", "part")
    ordered = packets.repartition(tasks, "target").sortWithinPartitions(*by)
    return ordered.mapInArrow(_join_function(work, divided, result), spark_schema_of(result))


def _division(
    engine: Engine, order: Order, streams: Sequence[CutStream], undivided: int
) -> Buckets:
    """Return the buckets of rows: those by the hash of a key first, if there are keys, then all ranges."""
    by_time = []
    for stream in streams:
        places = pa.chunked_array([pa.array([cut.place]) for cut in stream.cuts])
        borders = order.numbers(places).to_numpy()
        by_time.append((stream.key, TimeBuckets(order.field, borders)))
    if not engine.stream.partition_by:
        return by_time[0][1]
    return SkewedBuckets(KeyBuckets(engine.stream.partition_by, undivided), by_time)


def _placed(
    engine: Engine, streams: Sequence[CutStream], targets: Sequence[int], *, tally: bool
) -> tuple[list[PlacedRange], list[DividedStream]]:
    """Return all ranges with the tasks that join them, and the streams: neighbours go to different tasks."""
    placed: list[PlacedRange] = []
    divided: list[DividedStream] = []
    for number, stream in enumerate(streams):
        tasks = tasks_of(engine, stream.cuts)
        own = [targets[(len(placed) + at) % len(targets)] for at in range(len(tasks))]
        all_own = tuple(dict.fromkeys(own))
        for at, (task, target) in enumerate(zip(tasks, own, strict=True)):
            placed.append(PlacedRange(number, at, task, target, all_own))
        divided.append(DividedStream(stream.key, len(tasks), own[0] if tally else None))
    return placed, divided


def _range_function(
    work: RangeWork, ranges: Mapping[int, PlacedRange], targets: Sequence[int]
) -> Callable[[Batches], Batches]:
    """Return the function that workers run over the buckets of a partition."""
    secret, memory = SECRET, packed_shuffle.MEMORY

    def run(batches: Batches) -> Batches:
        from wex.spark.range_worker import range_packets  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from range_packets(work, batches, ranges, targets, memory)

    return run


def _partition_function(
    work: RangeWork, order: Order, ranges: Mapping[int, tuple[PlacedRange, Extent]]
) -> Callable[[Batches], Batches]:
    """Return the function that workers run over a partition that is a range."""
    secret, block, piece = SECRET, 1 << partition_ranges.BLOCK_BITS, partition_ranges.PIECE_ROWS

    def run(batches: Batches) -> Batches:
        from wex.spark.range_worker import partition_packets  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from partition_packets(work, batches, order.numbers, ranges, block, piece)

    return run


def _join_function(
    work: RangeWork, streams: Sequence[DividedStream], result: pa.Schema
) -> Callable[[Batches], Batches]:
    """Return the function that joins windows."""
    secret = SECRET

    def join(batches: Batches) -> Batches:
        from wex.spark.range_worker import joined_windows  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from joined_windows(work, batches, streams, result)

    return join
