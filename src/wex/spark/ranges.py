"""One stream without a key on many tasks: ranges of time, and the windows that cross their borders.

Three small jobs come first: they count the events, find times that divide them evenly in a sample,
and fetch the rows near these times. From these follow the states of all automata where a range begins
(see `wex.engine.ranges.distribution`). The rest is lazy, as all of a DataFrame: rows travel packed to
the task of their range, and its windows, packed, to a task that joins them with those that cross borders
(see `wex.engine.ranges.joining`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    TimestampNTZType,
    TimestampType,
)

from wex.engine.packing import TimeBuckets
from wex.engine.ranges.composition import obstacle
from wex.engine.ranges.distribution import cut_in, rows_before, tasks_of
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.errors import WexError
from wex.spark import packed_shuffle
from wex.spark.internals import spark_schema_of, spread_labels
from wex.spark.packed_shuffle import BLOBS_IN_SPARK, packing_function
from wex.spark.schemas import to_arrow

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import Cut, RangeTask

    Batches = Iterator[pa.RecordBatch]

RANGE_EVENTS = 6_000_000  # of a range: few enough to be sorted in memory, if they have few columns
MOST_RANGES = 1000
LOOK = 1 << 12  # events after a border in which the states may become known
MOST_BEFORE = 1 << 16  # events before a range that it can be given
SAMPLE = 100_000  # times of events that are looked at, at least
SAMPLE_OF_RANGE = 1_000
PACKETS_IN_SPARK = (
    "target int, kind int, number int, piece int, way int, slice int, part int, content binary"
)
NTZ_EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"

logger = logging.getLogger("wex")


def check_ranges(ranges: object) -> None:
    """Raise an error unless a number of ranges is a positive whole number."""
    if type(ranges) is not int or ranges < 1:
        message = f"ranges must be a positive whole number, got {ranges!r}"
        raise WexError("wrong-argument", message, "give 1 or more")


def ranged_windows(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    result: pa.Schema,
    ranges: int,
    *,
    tally: bool,
) -> DataFrame | None:
    """Return the windows of one stream, found in ranges by so many tasks; None: it cannot be divided.

    The columns of `rows` are the fields of the stream under `plain` names. With `tally`, there are rows
    without a window that hold counts, as in `wex.spark.worker`.
    """
    reason = obstacle(engine)
    order = _Order.of(rows, plain, engine)
    if reason is None and order is None:
        reason = "the type of the order column cannot be divided"
    if reason is None and rows_before(engine) > MOST_BEFORE:
        reason = "it looks back too far"
    if reason is not None or order is None:
        logger.info("the stream runs in one task: %s", reason)
        return None
    cuts = _cuts(engine, rows, plain, order, ranges)
    if not cuts:
        logger.info("the stream runs in one task: no time was found that divides it")
        return None
    logger.info("the stream runs in %d ranges, on %d tasks", len(cuts) + 1, ranges)
    return _divided(engine, rows, plain, order, cuts, result, ranges, tally=tally)


# --- The order column


class _Order:
    """The first order column as numbers that compare as it does."""

    def __init__(self, name: str, type_: DataType) -> None:
        self.name, self._type = name, type_

    @classmethod
    def of(cls, rows: DataFrame, plain: dict[str, str], engine: Engine) -> _Order | None:
        """Return the first order column; None if there is none of numbers or times."""
        if not engine.stream.order_by:
            return None
        name = plain[engine.stream.order_by[0]]
        type_ = rows.schema[name].dataType
        return cls(name, type_) if isinstance(type_, _NUMBERS) else None

    def literal(self, value: float) -> Column:
        """Return a number as the column has it: then sources can skip what is not near it.

        Times do not depend on the time zone of the session.
        """
        if isinstance(self._type, TimestampType):
            return F.timestamp_micros(F.lit(int(value)))
        if isinstance(self._type, TimestampNTZType):
            return F.expr(NTZ_EPOCH) + F.lit(timedelta(microseconds=int(value)))
        if isinstance(self._type, DateType):
            return F.date_from_unix_date(F.lit(int(value)))
        return F.lit(value)

    def numbers(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the order column of collected rows as numbers."""
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        floats = pa.types.is_floating(column.type)
        return column.cast(pa.float64() if floats else pa.int64())

    def between(self, low: float, high: float) -> Column:
        """Return the condition that the column is in a range."""
        column = F.col(self.name)
        return (column >= self.literal(low)) & (column <= self.literal(high))


_NUMBERS = (
    ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType,
    DateType, TimestampType, TimestampNTZType,
)  # fmt: skip


# --- The first pass


def _cuts(
    engine: Engine, rows: DataFrame, plain: dict[str, str], order: _Order, ranges: int
) -> list[Cut]:
    """Return where ranges begin: with an event soon after each border."""
    events = rows.count()
    if events < ranges or ranges < 2:
        return []
    count = min(ranges * -(-events // (ranges * RANGE_EVENTS)), MOST_RANGES)
    share = min(max(SAMPLE, SAMPLE_OF_RANGE * count) / events, 1.0)
    numbers = _sample(rows, order, share)
    if len(numbers) < count:
        return []
    near = math.ceil((rows_before(engine) + LOOK) * share)
    places = [len(numbers) * border // count for border in range(1, count)]
    pairs = sorted(
        {(numbers[at].item(), numbers[min(at + near, len(numbers) - 1)].item()) for at in places}
    )
    inside = _any_of([order.between(low, high) for low, high in pairs])
    borders = rows.where(inside).toArrow().cast(to_arrow(rows.schema))
    numbers_near = order.numbers(borders.column(order.name))
    events_near = borders.rename_columns(list(plain))
    cuts: list[Cut] = []
    for low, high in pairs:
        mask = pc.and_(pc.greater_equal(numbers_near, low), pc.less_equal(numbers_near, high))
        cut = cut_in(engine, events_near.filter(mask))
        if cut is not None and (not cuts or cut.place.as_py() > cuts[-1].place.as_py()):
            cuts.append(cut)
    return cuts


def _sample(rows: DataFrame, order: _Order, share: float) -> NDArray[np.generic]:
    """Return the times of a share of the events, ascending.

    Any place will do that divides the events about evenly: a sample is enough to find it.
    """
    times = rows.select(order.name)
    column = (times if share == 1.0 else times.sample(share, 1)).toArrow().column(0).drop_null()
    numbers = np.sort(order.numbers(column).to_numpy())
    return numbers[~np.isnan(numbers)] if numbers.dtype == np.float64 else numbers


def _any_of(conditions: Sequence[Column]) -> Column:
    """Return the disjunction of conditions, as a tree that is not deep."""
    while len(conditions) > 1:
        pairs = [conditions[at : at + 2] for at in range(0, len(conditions), 2)]
        conditions = [pair[0] | pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return conditions[0]


# --- The second pass


def _divided(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    order: _Order,
    cuts: Sequence[Cut],
    result: pa.Schema,
    partitions: int,
    *,
    tally: bool,
) -> DataFrame:
    """Return the windows of the ranges between cuts, and those that cross them."""
    tasks = tasks_of(engine, cuts)
    labels = spread_labels(partitions, -(-len(tasks) // partitions))
    targets = spread_labels(partitions, 1)
    places = [order.numbers(pa.chunked_array([pa.array([cut.place])]))[0].as_py() for cut in cuts]
    first, names = engine.stream.order_by[0], list(plain)
    pack = packing_function(names, TimeBuckets(first, np.array(places)), first, labels)
    blobs = rows.mapInArrow(pack, BLOBS_IN_SPARK).repartition(partitions, "bucket")
    types = to_arrow(rows.schema)
    events = pa.schema([(name, types.field(short).type) for name, short in plain.items()])
    content = engine.plan.to_bytes()
    by_label = dict(zip(labels, enumerate(tasks), strict=False))
    run = _range_function(content, events, by_label, targets)
    packets = blobs.sortWithinPartitions("bucket", "first").mapInArrow(run, PACKETS_IN_SPARK)
    join = _join_function(content, events, len(tasks), result, targets[0] if tally else None)
    by = ("target", "kind", "number", "piece", "way", "slice", "part")
    ordered = packets.repartition(partitions, "target").sortWithinPartitions(*by)
    return ordered.mapInArrow(join, spark_schema_of(result))


def _range_function(
    plan: bytes,
    events: pa.Schema,
    by_label: dict[int, tuple[int, RangeTask]],
    targets: list[int],
) -> Callable[[Batches], Batches]:
    """Return the function that workers run over the ranges of a partition."""
    secret, memory = SECRET, packed_shuffle.MEMORY

    def work(batches: Batches) -> Batches:
        from wex.spark.range_worker import range_packets  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from range_packets(plan, batches, events, by_label, targets, memory)

    return work


def _join_function(
    plan: bytes, events: pa.Schema, count: int, result: pa.Schema, tallying: int | None
) -> Callable[[Batches], Batches]:
    """Return the function that joins windows; a `tallying` task adds the counts."""
    secret = SECRET

    def join(batches: Batches) -> Batches:
        from wex.spark.range_worker import joined_windows  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from joined_windows(plan, batches, events, count, result, tallying)

    return join
