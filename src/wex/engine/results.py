"""The result of a run as an Arrow table: one row per window."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.columns import arrow_type
from wex.engine.streams import Passed
from wex.errors import DataError
from wex.spec import tree
from wex.spec.types import OTHER, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.engine.reference import Found
    from wex.engine.streams import Stream
    from wex.spec import Meaning


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
    types = {name: type_ for each in meaning.measures for name, type_ in each.items()}
    for name, type_ in types.items():
        values = [row.found.measures.get(name) for row in rows]
        sources = _sources(name, type_, table, meaning)
        if OTHER in (type_, type_.item):
            columns[name] = _passed_on(values, sources, table, in_lists=type_.item is not None)
        else:
            columns[name] = _array(values, _arrow_type(type_, sources, table), name)
    return pa.table(columns)


def _array(values: Sequence[object], type_: pa.DataType, name: str) -> pa.Array:
    """Return values as an Arrow array; times are whole numbers until then."""
    try:
        return pa.array(values, _storage(type_)).cast(type_)
    except (pa.ArrowInvalid, OverflowError) as error:
        message = f"a result does not fit into {type_}"
        hint = "keep the numbers smaller, or filter such rows out"
        raise DataError("arithmetic", message, hint, column=name) from error


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


def _storage(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_list(type_):
        return pa.list_(_storage(type_.value_type))
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pa.int64()
    return pa.int32() if type_ == pa.date32() else type_


def _arrow_type(type_: Type, sources: Sequence[str], table: pa.Table) -> pa.DataType:
    """Return the Arrow type of a measure; `sources` are the fields that it reads."""
    if type_.item:
        return pa.list_(_arrow_type(type_.item, sources, table))
    given = [table.schema.field(name).type for name in sources]
    if type_ == TIMESTAMP:
        zones = [each.tz for each in given if pa.types.is_timestamp(each)]
        return pa.timestamp("us", zones[0] if zones else None)
    return arrow_type(type_)


def _sources(name: str, type_: Type, table: pa.Table, meaning: Meaning) -> list[str]:
    """Return the fields that the measures of one name read; `other` ones have to agree in type."""
    found = [
        node.name
        for window in meaning.expanded.windows
        for measure in window.measures
        if measure.name.text == name
        for node in tree.walk(measure.value)
        if isinstance(node, tree.Ref)
    ]
    if OTHER not in (type_, type_.item):
        return found
    others = [each for each in found if meaning.fields[each] == OTHER]
    types = {each: table.schema.field(each).type for each in others}
    if len(set(types.values())) > 1:
        shown = ", ".join(f"{each} {type_}" for each, type_ in types.items())
        raise DataError(
            "wrong-column-type",
            f"several windows share this measure over columns of different types: {shown}",
            "give the measures different names",
            column=name,
        )
    return others
