"""Where ranges of time begin: which streams are divided, and the states of their automata at the borders.

Three small jobs find it out: they count the events, sample their keys and times, and fetch the rows near
times that divide a stream evenly. Without a key, all events are one stream, which is divided. Of keyed
streams, those are that are too large for one task: a sample shows them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from wex.engine.packing import coded_columns, has_key, key_hashes
from wex.engine.ranges.distribution import cut_in, rows_before
from wex.spark.schemas import to_arrow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import Cut

RANGE_EVENTS = 6_000_000  # of a range: a task sorts it in a few runs
MOST_RANGES = 1000
LOOK = 1 << 12  # events after a border in which the states may become known
SAMPLE = 100_000  # events that are looked at, at least
SAMPLE_OF_RANGE = 1_000
LEAST_EVENTS = 500_000  # of a key that is divided: a task runs fewer in less than a second
MOST_KEYS = 100  # that are divided
NTZ_EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"
WHOLE = (ByteType, ShortType, IntegerType, LongType)
TIMES = (DateType, TimestampType, TimestampNTZType)
NUMBERS = (*WHOLE, FloatType, DoubleType, *TIMES)


@dataclass(frozen=True)
class Order:
    """The first order column as numbers that compare as it does."""

    field: str
    name: str  # in the DataFrame
    type: DataType

    @classmethod
    def of(cls, rows: DataFrame, plain: dict[str, str], engine: Engine) -> Order | None:
        """Return the first order column; None if there is none of numbers or times."""
        if not engine.stream.order_by:
            return None
        field = engine.stream.order_by[0]
        type_ = rows.schema[plain[field]].dataType
        return cls(field, plain[field], type_) if isinstance(type_, NUMBERS) else None

    def numbers(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Return the order column of collected rows as numbers."""
        if pa.types.is_date(column.type):
            column = column.cast(pa.int32())
        floats = pa.types.is_floating(column.type)
        return column.cast(pa.float64() if floats else pa.int64())

    def between(self, low: float, high: float) -> Column:
        """Return the condition that the column is in a range."""
        column = F.col(self.name)
        return (column >= _literal(self.type, low)) & (column <= _literal(self.type, high))


def _literal(type_: DataType, value: object) -> Column:
    """Return a value, times as numbers, as a column of a type has it: then sources can skip other rows.

    Times do not depend on the time zone of the session.
    """
    if isinstance(type_, TimestampType):
        return F.timestamp_micros(F.lit(value))
    if isinstance(type_, TimestampNTZType):
        assert isinstance(value, int)
        return F.expr(NTZ_EPOCH) + F.lit(timedelta(microseconds=value))
    if isinstance(type_, DateType):
        return F.date_from_unix_date(F.lit(value))
    return F.lit(value)


@dataclass(frozen=True, eq=False)
class CutStream:
    """A stream that is divided: its key, a table of one row, None without a key; where its ranges begin.

    It has a share of all events, about.
    """

    key: pa.Table | None
    share: float
    cuts: list[Cut]


class _Candidate(NamedTuple):
    """A stream with a share of all events, to be divided into so many ranges.

    The times are those of its events in the sample, ascending.
    """

    key: pa.Table | None
    share: float
    times: NDArray[np.generic]
    ranges: int


def cut_streams(
    engine: Engine, rows: DataFrame, plain: dict[str, str], order: Order, tasks: int
) -> list[CutStream]:
    """Return the streams that are to be divided among so many tasks; no time may be found that does."""
    events = rows.count()
    if events < tasks or tasks < 2:
        return []
    keys = engine.stream.partition_by
    ranges = _ranges(events, 1.0, tasks)
    share = min(max(SAMPLE, SAMPLE_OF_RANGE * ranges) / events, 1.0)
    columns = list(dict.fromkeys([order.field, *keys]))
    sample = _sample(rows.select(*(plain[name] for name in columns)), share, columns)
    if keys:
        candidates = _large_keys(sample, keys, order, share, tasks)
    else:
        candidates = [_Candidate(None, 1.0, _times(order, sample), ranges)]
    if not candidates:
        return []
    near = math.ceil((rows_before(engine) + LOOK) * share)
    pairs = [_pairs(candidate, near) for candidate in candidates]
    conditions = [
        any_of([order.between(low, high) for low, high in own]) & _has_key(rows, plain, stream.key)
        for stream, own in zip(candidates, pairs, strict=True)
        if own
    ]
    near_borders = near_rows(rows, plain, any_of(conditions) if conditions else F.lit(False))
    return [
        CutStream(stream.key, stream.share, _cuts(engine, order, near_borders, stream.key, own))
        for stream, own in zip(candidates, pairs, strict=True)
    ]


def _ranges(events: float, share: float, tasks: int) -> int:
    """Return into how many ranges a stream with a share of all events is divided.

    Each task should get about as much as the others: a large stream has a range for each of them, or
    several, and a smaller one ranges of at most half of what a task gets.
    """
    ranges = max(min(tasks, math.ceil(2 * tasks * share)), math.ceil(events / RANGE_EVENTS))
    if ranges > tasks:
        ranges = -(-ranges // tasks) * tasks
    return min(ranges, MOST_RANGES)


# --- The sample


def _sample(rows: DataFrame, share: float, names: list[str]) -> pa.Table:
    """Return a share of some rows.

    Any times will do that divide the events about evenly: a sample is enough to find them.
    """
    table = (rows if share == 1.0 else rows.sample(share, 1)).toArrow()
    return table.cast(to_arrow(rows.schema)).rename_columns(names)


def _times(order: Order, sample: pa.Table) -> NDArray[np.generic]:
    numbers = np.sort(order.numbers(sample.column(order.field).drop_null()).to_numpy())
    return numbers[~np.isnan(numbers)] if numbers.dtype == np.float64 else numbers


def largest_share(keys: pa.Table) -> float:
    """Return the share of the most frequent key, of rows with the columns of keys."""
    if not keys.num_rows:
        return 0.0
    hashes = key_hashes(list(coded_columns(keys).values()), keys.num_rows)
    return float(np.unique(hashes, return_counts=True)[1].max() / keys.num_rows)


def _large_keys(
    sample: pa.Table, keys: Sequence[str], order: Order, share: float, tasks: int
) -> list[_Candidate]:
    """Return the keys with more than half of the events that a task gets on average, the largest first."""
    columns = coded_columns(sample)
    hashes = key_hashes([columns[name] for name in keys], sample.num_rows)
    _, rows, counts = np.unique(hashes, return_index=True, return_counts=True)
    least = max(sample.num_rows / (2 * tasks), LEAST_EVENTS * share)
    largest = np.argsort(-counts, kind="stable")[: min(tasks, MOST_KEYS)]
    candidates = []
    for row, count in zip(rows[largest].tolist(), counts[largest].tolist(), strict=True):
        if count > least:
            key = sample.select(list(keys)).slice(row, 1).combine_chunks()
            own = sample.filter(pa.array(has_key(columns, key)))
            part = count / sample.num_rows
            ranges = _ranges(count / share, part, tasks)
            candidates.append(_Candidate(key, part, _times(order, own), ranges))
    return candidates


# --- The borders


def _pairs(stream: _Candidate, near: int) -> list[tuple[float, float]]:
    """Return times that divide a stream, each with a time before which the states may become known."""
    times, ranges = stream.times, stream.ranges
    if len(times) < ranges:
        return []
    places = [len(times) * border // ranges for border in range(1, ranges)]
    last = len(times) - 1
    return sorted({(times[at].item(), times[min(at + near, last)].item()) for at in places})


def _has_key(rows: DataFrame, plain: dict[str, str], key: pa.Table | None) -> Column:
    """Return a condition that all rows of a key satisfy, and few others."""
    condition = F.lit(True)
    if key is None:
        return condition
    for name, value in zip(key.column_names, key.columns, strict=True):
        column, type_ = F.col(plain[name]), rows.schema[plain[name]].dataType
        if value.null_count:
            condition &= column.isNull()
        elif isinstance(type_, TIMES):
            numbers = value.cast(pa.int32() if pa.types.is_date(value.type) else pa.int64())
            condition &= column == _literal(type_, numbers[0].as_py())
        elif isinstance(type_, (*WHOLE, BooleanType, StringType)):
            condition &= column == F.lit(value[0].as_py())
    return condition


def near_rows(rows: DataFrame, plain: dict[str, str], condition: Column) -> pa.Table:
    """Return the rows that satisfy a condition, as fields of their stream."""
    return rows.where(condition).toArrow().cast(to_arrow(rows.schema)).rename_columns(list(plain))


def any_of(conditions: Sequence[Column]) -> Column:
    """Return the disjunction of conditions, as a tree that is not deep."""
    while len(conditions) > 1:
        pairs = [conditions[at : at + 2] for at in range(0, len(conditions), 2)]
        conditions = [pair[0] | pair[1] if len(pair) == 2 else pair[0] for pair in pairs]
    return conditions[0]


def _cuts(
    engine: Engine,
    order: Order,
    rows: pa.Table,
    key: pa.Table | None,
    pairs: Sequence[tuple[float, float]],
) -> list[Cut]:
    """Return where the ranges of a stream begin: with an event soon after each border."""
    if key is not None:
        rows = rows.filter(pa.array(has_key(coded_columns(rows.select(key.column_names)), key)))
    numbers = order.numbers(rows.column(order.field))
    cuts: list[Cut] = []
    for low, high in pairs:
        mask = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        cut = cut_in(engine, rows.filter(mask))
        if cut is not None and (not cuts or cut.place.as_py() > cuts[-1].place.as_py()):
            cuts.append(cut)
    return cuts
