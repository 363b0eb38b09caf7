"""The result of a run as an Arrow table: one row per window."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.columns import arrow_type
from wex.engine.streams import Passed
from wex.errors import DataError
from wex.spec.types import OTHER, TIMESTAMP
from wex.windows.measures import measure_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.engine.aggregates import Result
    from wex.engine.reference import Found
    from wex.engine.streams import Stream
    from wex.spec import Meaning
    from wex.windows.measures import Measure


@dataclass(frozen=True)
class Row:
    """A window that was found: in which stream, by which window of the spec."""

    stream: Stream
    place: int
    found: Found


def result_table(rows: list[Row], table: pa.Table, meaning: Meaning) -> pa.Table:
    """Return the rows as a table: keys, window, indices, times at both ends, measures."""
    starts = pa.array([row.stream.rows[row.found.start] for row in rows], pa.int64())
    ends = pa.array([row.stream.rows[row.found.end] for row in rows], pa.int64())
    names = [window.name.text for window in meaning.spec.windows]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for key in meaning.spec.stream.partition_by:
        columns[key.text] = table.column(key.text).take(starts)
    columns["window_name"] = pa.array([names[row.place] for row in rows], pa.string())
    columns["start_index"] = pa.array([row.found.start for row in rows], pa.int64())
    columns["end_index"] = pa.array([row.found.end for row in rows], pa.int64())
    if meaning.spec.stream.order_by:
        order = table.column(meaning.spec.stream.order_by[0].text)
        columns["window_start"] = order.take(starts)
        columns["window_end"] = order.take(ends)
    measures = [
        measure_of(measure, meaning.fields)
        for window in meaning.expanded.windows
        for measure in window.measures
    ]
    types = {each.name: each.type for each in measures}
    for name, arrow in measure_types(measures, table.schema).items():
        values = [row.found.measures.get(name) for row in rows]
        if OTHER in (types[name], types[name].item):
            sources = [
                source for each in measures if each.name == name for source in each.sources()
            ]
            columns[name] = _passed_on(values, sources, table, in_lists=pa.types.is_list(arrow))
        else:
            columns[name] = _array(values, arrow, name)
    return pa.table(columns)


def _array(values: Sequence[object], type_: pa.DataType, name: str) -> pa.Array:
    """Return values as an Arrow array; times are whole numbers until then."""
    try:
        return pa.array(values, storage_of(type_)).cast(type_)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise _does_not_fit(type_, name) from error


def _does_not_fit(type_: pa.DataType, name: str) -> DataError:
    message = f"a result does not fit into {type_}"
    hint = "keep the numbers smaller, or filter such rows out"
    return DataError("arithmetic", message, hint, column=name)


def stored_as(result: Result, type_: pa.DataType, name: str) -> pa.Array:
    """Return the values of a measure with their Arrow type; times are whole numbers until then."""
    values = result.values
    if isinstance(values, np.ndarray):
        values = pa.array(values, mask=None if result.known is None else ~result.known)
    if values.type == type_:
        return values
    try:
        return values.cast(storage_of(type_)).cast(type_)
    except pa.ArrowInvalid as error:
        raise _does_not_fit(type_, name) from error


def _passed_on(
    values: Sequence[object], sources: Sequence[str], table: pa.Table, *, in_lists: bool
) -> pa.Array | pa.ChunkedArray:
    """Return values of type other, taken from the columns they stand in."""
    names = list(dict.fromkeys(sources))
    before = {name: at * table.num_rows for at, name in enumerate(names)}
    chunks = [chunk for name in names for chunk in table.column(name).chunks]
    whole = pa.chunked_array(chunks, table.schema.field(names[0]).type)

    def place(value: object) -> int | None:
        return before[value.column] + value.row if isinstance(value, Passed) else None

    if not in_lists:
        return whole.take(pa.array(map(place, values), pa.int64()))
    lists = [value if isinstance(value, list) else [] for value in values]
    flat = whole.take(pa.array([place(each) for value in lists for each in value], pa.int64()))
    offsets = pa.array(accumulate(map(len, lists), initial=0), pa.int32())
    nulls = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(offsets, flat.combine_chunks(), mask=nulls)


def storage_of(type_: pa.DataType) -> pa.DataType:
    """Return the type in which values are computed: times are whole numbers."""
    if pa.types.is_list(type_):
        return pa.list_(storage_of(type_.value_type))
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pa.int64()
    return pa.int32() if type_ == pa.date32() else type_


def measure_types(measures: Sequence[Measure], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the Arrow type of each measure; several of one name are one column."""
    by_name: dict[str, list[Measure]] = {}
    for measure in measures:
        by_name.setdefault(measure.name, []).append(measure)
    return {name: _measure_type(name, same, schema) for name, same in by_name.items()}


def _measure_type(name: str, measures: list[Measure], schema: pa.Schema) -> pa.DataType:
    type_ = measures[0].type
    read = [schema.field(source).type for each in measures for source in each.sources()]
    item = type_.item or type_
    if item == OTHER:
        if len(set(read)) > 1:
            shown = ", ".join(map(str, dict.fromkeys(read)))
            raise DataError(
                "wrong-column-type",
                f"several windows share this measure over columns of different types: {shown}",
                "give the measures different names",
                column=name,
            )
        found = read[0]
    elif item == TIMESTAMP:
        zones = [each.tz for each in read if pa.types.is_timestamp(each)]
        found = pa.timestamp("us", zones[0] if zones else None)
    else:
        found = arrow_type(item)
    return pa.list_(found) if type_.item else found
