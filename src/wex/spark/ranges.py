"""One stream without a key on many tasks: ranges of time, and the windows that cross their borders.

Four small jobs come first: they count the events, find times that divide them evenly in a sample,
fetch the rows near these times, and count those before. From these follow the states of all automata
where a range begins (see `wex.engine.ranges.distribution`). The rest is lazy, as all of a DataFrame:
every task runs a range and returns its windows, and what it has of those that cross its borders. One
task joins the latter.
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

from wex.engine.ranges.composition import obstacle
from wex.engine.ranges.distribution import cut_in, rows_before, tasks_of
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.errors import DataError, WexError
from wex.spark.internals import spark_schema_of, spread_labels
from wex.spark.schemas import to_arrow
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import Cut, RangeTask

    Batches = Iterator[pa.RecordBatch]

MOST_EVENTS = 1 << 23  # of a range, which a task has in memory as a whole
MOST_RANGES = 1000
LOOK = 1 << 13  # events after a border in which the states may become known
MOST_BEFORE = 1 << 16  # events before a range that it can be given
SAMPLE = 100_000  # times of events that are looked at
RANGE, GROUP, BORDER = "wex_range", "wex_group", "wex_border"
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
    """Return the windows of one stream, found in ranges; None: it cannot be divided.

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
    if engine.stream.skip_nulls:
        rows = _without_missing(rows, plain, engine)
    try:
        events, cuts = _cuts(engine, rows, plain, order, ranges)
    except DataError:  # one task reports it as the first of the stream
        events, cuts = 0, []
    if not cuts:
        logger.info("the stream runs in one task: no time was found that divides it")
        return None
    tasks = tasks_of(engine, cuts, events)
    return _divided(engine, rows, plain, order, cuts, tasks, result, tally=tally)


# --- The order column


class _Order:
    """The first order column as numbers that compare as it does."""

    def __init__(self, name: str, type_: DataType) -> None:
        self.name, self._type = name, type_

    @classmethod
    def of(cls, rows: DataFrame, plain: dict[str, str], engine: Engine) -> _Order | None:
        """Return the first order column; None if it has another type than numbers and times."""
        name = plain[engine.stream.order_by[0]]
        type_ = rows.schema[name].dataType
        return cls(name, type_) if isinstance(type_, _NUMBERS) else None

    @property
    def column(self) -> Column:
        """Return the column; times do not depend on the time zone of the session."""
        if isinstance(self._type, TimestampType):
            return F.unix_micros(self.name)
        if isinstance(self._type, TimestampNTZType):
            return F.expr(f"{self.name} - {NTZ_EPOCH}")
        if isinstance(self._type, DateType):
            return F.unix_date(self.name)
        floats = isinstance(self._type, FloatType | DoubleType)
        return F.col(self.name).cast("double" if floats else "bigint")

    def literal(self, value: float) -> Column:
        """Return a number as the column has it."""
        if isinstance(self._type, TimestampNTZType):
            return F.lit(timedelta(microseconds=int(value)))
        return F.lit(value)

    def numbers(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the order column of collected rows, or of one row, as numbers."""
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        floats = pa.types.is_floating(column.type)
        return column.cast(pa.float64() if floats else pa.int64())


_NUMBERS = (
    ByteType, ShortType, IntegerType, LongType, FloatType, DoubleType,
    DateType, TimestampType, TimestampNTZType,
)  # fmt: skip


def _without_missing(rows: DataFrame, plain: dict[str, str], engine: Engine) -> DataFrame:
    """Return the rows that `nulls skip` leaves, and those without an order, which are an error."""
    there = F.lit(True)
    for name in sorted(engine.guarded):
        column, type_ = F.col(plain[name]), rows.schema[plain[name]].dataType
        if isinstance(type_, FloatType | DoubleType):
            there &= ~F.coalesce(F.isnan(column), F.lit(False))
        if name not in engine.nullable:
            there &= column.isNotNull()
    for name in engine.stream.order_by:
        there |= F.col(plain[name]).isNull()
    return rows.where(there)


# --- The first pass


def _cuts(
    engine: Engine, rows: DataFrame, plain: dict[str, str], order: _Order, ranges: int
) -> tuple[int, list[Cut]]:
    """Return the number of events, and where ranges begin: with an event soon after each border."""
    events = rows.count()
    count = min(max(ranges, -(-events // MOST_EVENTS)), MOST_RANGES)
    if events < count or count < 2:
        return events, []
    value = order.column
    # Any place will do that divides the events about evenly: a sample is enough to find it.
    share = min(SAMPLE / events, 1.0)
    sample = rows.select(order.name) if share == 1.0 else rows.select(order.name).sample(share, 1)
    numbers = np.sort(order.numbers(sample.toArrow().column(0).drop_null()).to_numpy())
    if len(numbers) < count:
        return events, []
    near = math.ceil((rows_before(engine) + LOOK) * share)
    places = [len(numbers) * border // count for border in range(1, count)]
    pairs = sorted(
        {(numbers[at].item(), numbers[min(at + near, len(numbers) - 1)].item()) for at in places}
    )
    inside = F.lit(False)
    for low, high in pairs:
        inside |= (value >= order.literal(low)) & (value <= order.literal(high))
    borders = rows.where(inside).toArrow().cast(to_arrow(rows.schema))
    before = [F.count(F.when(value < order.literal(low), 1)) for low, _ in pairs]
    found, *positions = rows.agg(F.count(value), *before).collect()[0]
    if found != events:
        return events, []  # an event has no order
    numbers_near = order.numbers(borders.column(order.name))
    events_near = borders.rename_columns(list(plain))
    cuts: list[Cut] = []
    for (low, high), position in zip(pairs, positions, strict=True):
        mask = pc.and_(pc.greater_equal(numbers_near, low), pc.less_equal(numbers_near, high))
        cut = cut_in(engine, events_near.filter(mask), position)
        if cut is not None and cut.entry.position > (cuts[-1].entry.position if cuts else 0):
            cuts.append(cut)
    return events, cuts


# --- The second pass


def _divided(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    order: _Order,
    cuts: Sequence[Cut],
    tasks: list[RangeTask],
    result: pa.Schema,
    *,
    tally: bool,
) -> DataFrame:
    """Return the windows of the ranges between cuts, and those that cross them."""
    groups = spread_labels(len(tasks), 1)
    number = F.lit(groups[-1])
    for at, cut in reversed(list(enumerate(cuts))):
        (place,) = order.numbers(pa.chunked_array([pa.array([cut.place])]))
        number = F.when(order.column < order.literal(place.as_py()), groups[at]).otherwise(number)
    stream = engine.stream
    ties = [name for name, type_ in stream.fields if type_ != OTHER and name not in stream.order_by]
    # In the order of time, the ranges of a partition come one after the other. To sort by their
    # numbers first would cost Spark its radix sort.
    by = [plain[name] for name in (*stream.order_by, *ties)]
    divided = rows.select("*", number.alias(RANGE)).repartition(len(tasks), RANGE)
    events = _named(rows, plain)
    inner = pa.schema(
        [
            *(pa.field(f"w{at}", field.type) for at, field in enumerate(result)),
            pa.field(GROUP, pa.int32()),
            pa.field(RANGE, pa.int32()),
            pa.field(BORDER, pa.binary()),  # Spark is slow to pass on arrays
        ]
    )
    content = engine.plan.to_bytes()
    by_group = dict(zip(groups, range(len(tasks)), strict=True))
    run = _range_function(content, list(plain), by_group, tasks, inner, tally=tally)
    parts = divided.sortWithinPartitions(*by).mapInArrow(run, spark_schema_of(inner))
    join = _join_function(content, events, len(tasks), result)
    return parts.repartition(len(tasks), GROUP).mapInArrow(join, spark_schema_of(result))


def _named(rows: DataFrame, plain: dict[str, str]) -> pa.Schema:
    """Return the schema of the events, by the names of their fields."""
    types = to_arrow(rows.schema)
    return pa.schema([(name, types.field(short).type) for name, short in plain.items()])


def _range_function(
    plan: bytes,
    names: list[str],
    by_group: dict[int, int],
    tasks: list[RangeTask],
    schema: pa.Schema,
    *,
    tally: bool,
) -> Callable[[Batches], Batches]:
    """Return the function that workers run over the ranges of a partition."""
    secret = SECRET

    def work(batches: Batches) -> Batches:
        from wex.spark.range_worker import range_parts  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from range_parts(plan, batches, names, by_group, tasks, schema, tally=tally)

    return work


def _join_function(
    plan: bytes, events: pa.Schema, count: int, result: pa.Schema
) -> Callable[[Batches], Batches]:
    """Return the function that passes windows on, and joins those that cross borders."""
    secret = SECRET

    def join(batches: Batches) -> Batches:
        from wex.spark.range_worker import joined_parts  # noqa: PLC0415  (on the worker)

        with sealed_errors(secret):
            yield from joined_parts(plan, batches, events, count, result)

    return join
