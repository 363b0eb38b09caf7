"""Prepares a batch: validates its columns, sorts its rows, adds the last events of each stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.arrays import empty, filled_with
from wex.engine.input.batch import Batch
from wex.engine.input.columns import conform, spans, table_of
from wex.engine.input.grouping import GroupedRows, grouped_by_key
from wex.engine.input.schemas import cast_to_schema, open_columns, schema_with_open
from wex.engine.input.sorting import (
    changes,
    check_order_columns,
    in_order,
    in_stream_order,
    sort,
    sort_keys,
)
from wex.engine.workers import ALONE
from wex.errors import DataError
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.engine.arrays import Bools, Ints
    from wex.engine.engine import Engine
    from wex.engine.input.columns import Data
    from wex.engine.state.state import State
    from wex.engine.workers import Workers


class PreparedInput:
    """The rows of a batch, validated and sorted by stream; `schema` is that of earlier batches."""

    def __init__(
        self,
        engine: Engine,
        data: Data,
        schema: pa.Schema | None = None,
        *,
        sorted_rows: bool = False,
        workers: Workers = ALONE,
    ) -> None:
        self._set(engine)
        fields = self._fields
        given = table_of(data)
        table = conform(given, fields, self.stream.partition_by, workers)
        if schema is not None:
            table = cast_to_schema(table, schema)
        check_zones(self.stream.moments, table)
        check_order_columns(table, self.stream.order_by, self.stream.partition_by)
        if self.stream.skip_nulls:
            table = _without_missing(table, engine)
        by = self.stream.partition_by, self.stream.order_by
        if sorted_rows and not in_stream_order(table, *by):
            raise DataError(
                "unsorted",
                "the rows are not sorted by key, then by the order columns",
                "use PARTITION BY the keys and ORDER BY the order columns, or DISTRIBUTE BY and SORT BY",
            )
        self._given = table
        self._grouped = None if sorted_rows else grouped_by_key(table, *by, workers)
        still_open = open_columns(given, fields)
        if schema is not None:
            still_open &= {field.name for field in schema if pa.types.is_null(field.type)}
        self.schema = schema_with_open(table.schema, still_open)  # of the batches so far

    @property
    def grouped(self) -> bool:
        """Tell whether the rows came in the order of time, so that there is nothing to sort."""
        return self._grouped is not None

    @cached_property
    def table(self) -> pa.Table:
        """Return the rows, sorted by stream."""
        if self._grouped is not None:
            return self._grouped.table
        return sort(self._given, self.stream.partition_by, self.stream.order_by, self._fields)

    def _set(self, engine: Engine, *, checked: bool = False) -> None:
        self.stream, self._fields, self._checked = engine.stream, engine.fields, checked

    @classmethod
    def of_checked(cls, engine: Engine, events: pa.Table, schema: pa.Schema) -> PreparedInput:
        """Return events of one stream that are known to be in order and to have no fault."""
        prepared = cls.__new__(cls)
        prepared._set(engine, checked=True)  # noqa: SLF001
        prepared.schema = schema
        prepared._grouped = GroupedRows(events, np.zeros(1, dtype=np.int64))  # noqa: SLF001
        return prepared

    @cached_property
    def starts(self) -> Ints:
        """Return the first rows of the streams."""
        if self._grouped is not None:
            return self._grouped.starts
        rows = self.table.num_rows
        if not rows or not self.stream.partition_by:
            return np.zeros(min(rows, 1), dtype=np.int64)
        change = np.zeros(rows, dtype=np.bool_)
        change[0] = True
        for name in self.stream.partition_by:
            change[1:] |= changes(self.table.column(name))
        return np.flatnonzero(change)

    @cached_property
    def ends(self) -> Ints:
        """Return the rows behind the last ones of the streams."""
        ends = empty(len(self.starts), np.int64)
        if len(ends):
            ends[:-1], ends[-1] = self.starts[1:], self.table.num_rows
        return ends

    @cached_property
    def keys(self) -> pa.Table:
        """Return the keys, a row for each stream; because of the column `#` there are rows without keys, too."""
        first = pa.array(self.starts)
        named = {name: self.table.column(name).take(first) for name in self.stream.partition_by}
        return pa.table({"#": first, **named})

    def new_streams(self) -> Batch:
        """Return the batch, all of whose streams begin with it."""
        positions = filled_with(0, len(self.starts))
        return self._batch(self.table, self.starts, self.starts, self.ends, positions)

    def batch(self, prior: State) -> Batch:
        """Return the batch, in which the new events of a stream follow the last ones of its prior state."""
        ends = self.ends
        positions = prior.positions
        tails = prior.tails
        if not tails.num_rows:
            return self._batch(self.table, self.starts, self.starts, ends, positions)
        kept = prior.tail_counts
        before = np.cumsum(kept)
        table = pa.concat_tables([tails, self.table])
        if len(kept) > 1:
            sizes = ends - self.starts
            rows = np.empty(table.num_rows, dtype=np.int64)
            first = np.cumsum(kept + sizes) - kept - sizes
            rows[spans(first, first + kept)] = np.arange(tails.num_rows)
            rows[spans(first + kept, first + kept + sizes)] = (
                np.arange(self.table.num_rows) + tails.num_rows
            )
            table = table.take(pa.array(rows))
        return self._batch(
            table, self.starts + before - kept, self.starts + before, ends + before, positions
        )

    def _batch(self, table: pa.Table, first: Ints, begin: Ints, end: Ints, position: Ints) -> Batch:
        keys, checked = self.stream.partition_by, self._checked
        return Batch(table, self._fields, keys, first, begin, end, position, checked)

    def late(self, prior: State) -> Bools:
        """Return a mask of the rows that sort before the last event of their stream."""
        late = np.zeros(self.table.num_rows, dtype=np.bool_)
        kept = prior.tail_counts
        known = np.flatnonzero(kept > 0)
        if not self.stream.order_by or not len(known):
            return late
        ends = self.ends
        rows = spans(self.starts[known], ends[known])
        owners = np.repeat(np.cumsum(kept)[known] - 1, (ends - self.starts)[known])
        last, own = prior.tails.take(pa.array(owners)), self.table.take(pa.array(rows))
        both = pa.concat_tables([last, own])
        columns = sort_keys(both, self.stream.partition_by, self.stream.order_by, self._fields)
        late[rows] = ~in_order(
            [column.slice(0, len(rows)) for column in columns],
            [column.slice(len(rows)) for column in columns],
        )
        return late


def missing_mask(column: pa.ChunkedArray, *, nullable: bool = False) -> Bools:
    """Return a mask of the rows with NULL or NaN; of a nullable column, of those with NaN."""
    if nullable:
        floats = pa.types.is_floating(column.type)
        nan = pc.is_nan(column).fill_null(False) if floats else pa.nulls(len(column), pa.bool_())
        return np.asarray(nan.fill_null(False).to_numpy(zero_copy_only=False), dtype=np.bool_)
    floating = pa.types.is_floating(column.type)
    if not column.null_count and not floating:
        return np.zeros(len(column), dtype=np.bool_)
    if not column.null_count:
        values: Bools = np.isnan(column.to_numpy())
        return values
    nulls: Bools = pc.is_null(column, nan_is_null=floating).to_numpy()
    return nulls


def _without_missing(table: pa.Table, engine: Engine) -> pa.Table:
    """Return the rows that have a value in all columns that guards read, or may be NULL there."""
    gaps = np.zeros(table.num_rows, dtype=np.bool_)
    for name in engine.guarded:
        gaps |= missing_mask(table.column(name), nullable=name in engine.nullable)
    return table.filter(pa.array(~gaps)) if gaps.any() else table


def has_zones_of(moments: Iterable[tuple[str, bool]], schema: pa.Schema) -> bool:
    """Tell whether all timestamps have a zone or none, as the constants of the spec do."""
    zoned = {field.type.tz is not None for field in schema if pa.types.is_timestamp(field.type)}
    return not zoned or all(zoned == {own} for _, own in moments)


def check_zones(moments: Iterable[tuple[str, bool]], table: pa.Table) -> None:
    """Raise a DataError if a constant of the spec has a time zone and the data has none, or vice versa."""
    zones = {
        name: table.schema.field(name).type.tz
        for name in table.column_names
        if pa.types.is_timestamp(table.schema.field(name).type)
        and table.column(name).null_count
        < table.num_rows  # the zone of a column of NULLs is arbitrary
    }
    if not zones:
        return
    column, zone = next(iter(zones.items()))
    for constant, zoned in moments:
        if zoned != (zone is not None):
            raise DataError(
                "zones-mixed",
                f"{constant} has {'a' if zoned else 'no'} time zone,"
                f" the data has {'one' if zone else 'none'}",
                "write the constant with a time zone, as in '2026-01-31 10:00+00:00'"
                if zone
                else f"write `{constant.partition(',')[0]})`, or give the data a time zone"
                if constant.endswith(")")
                else "write the constant without a time zone",
                column=column,
            )
