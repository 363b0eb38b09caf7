"""The result of a run as an Arrow table: one row per window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.errors import DataError
from wex.spec import tree
from wex.spec.types import BOOL, DATE, DURATION, INT, OTHER, REAL, TIMESTAMP, Type

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
        arrow = _arrow_type(type_, _sources(name, type_, table, meaning), table)
        passed_on = OTHER in (type_, type_.item)
        columns[name] = pa.array(values, arrow) if passed_on else _array(values, arrow)
    return pa.table(columns)


def _array(values: Sequence[object], type_: pa.DataType) -> pa.Array:
    """Return values as an Arrow array; times are whole numbers until then."""
    return pa.array(values, _storage(type_)).cast(type_)


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
    if type_ == OTHER:
        return given[0]
    if type_ == TIMESTAMP:
        zones = [each.tz for each in given if pa.types.is_timestamp(each)]
        return pa.timestamp("us", zones[0] if zones else None)
    types = {
        BOOL: pa.bool_(),
        INT: pa.int64(),
        REAL: pa.float64(),
        DATE: pa.date32(),
        DURATION: pa.duration("us"),
    }
    return types.get(type_, pa.string())


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
