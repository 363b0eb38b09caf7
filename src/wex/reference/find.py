"""The windows of a spec by the definition, as a table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.compile.guards import guarded_fields, moments
from wex.compile.measures import measure_of
from wex.engine.input.columns import Data, conform
from wex.engine.input.prepare import check_zones
from wex.engine.measures.results import measure_types, storage_of
from wex.errors import DataError
from wex.reference.assumptions import Assumptions
from wex.reference.streams import Passed, check_events, in_order, streams
from wex.reference.windows import Definition
from wex.spec import meaning as meaning_of
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.reference.streams import Stream
    from wex.reference.windows import Window
    from wex.spec import Meaning, tree


def find_by_definition(spec: tree.Spec, data: Data) -> pa.Table:
    """Return the windows of a spec in some data, one row each."""
    meaning = meaning_of(spec)
    keys = [name.text for name in meaning.spec.stream.partition_by]
    table = in_stream_order(conform(data, meaning.fields, keys), meaning)
    return result_table(all_windows(meaning, table), table, meaning)


def in_stream_order(table: pa.Table, meaning: Meaning) -> pa.Table:
    """Return the rows of a table stream by stream, each in its order."""
    keys = [name.text for name in meaning.spec.stream.partition_by]
    order = [name.text for name in meaning.spec.stream.order_by]
    return in_order(table, keys, order, meaning.fields)


def all_windows(meaning: Meaning, table: pa.Table) -> list[Row]:
    """Return the windows of all streams of a sorted table, in their order."""
    keys = [name.text for name in meaning.spec.stream.partition_by]
    check_zones(moments(meaning), table)
    assumptions, guarded = Assumptions(meaning), guarded_fields(meaning)
    rows: list[Row] = []
    for stream in streams(
        table,
        keys,
        meaning.fields,
        guarded,
        skip_nulls=meaning.skip_nulls,
        nullable=meaning.nullable,
    ):
        try:
            rows += _rows(meaning, guarded, assumptions, stream)
        except DataError:
            # The error of the shortest prefix that has one is reported.
            for count in range(1, len(stream.events) + 1):
                _rows(meaning, guarded, assumptions, stream.prefix(count), ended=False)
            raise
    return rows


def _rows(
    meaning: Meaning,
    guarded: frozenset[str],
    assumptions: Assumptions,
    stream: Stream,
    *,
    ended: bool = True,
) -> list[Row]:
    """Return the windows of a stream; one that is not `ended` may go on."""
    check_events(stream, meaning.fields, guarded, meaning.nullable)
    places = range(len(meaning.expanded.windows))
    definitions = [Definition(meaning, place, stream, ended=ended) for place in places]
    assumptions.check(stream)
    ordered = [
        (window.reported, place, window)
        for place, definition in enumerate(definitions)
        for window in definition.windows()
    ]
    ordered.sort(key=lambda row: (row[0], row[1], row[2].start))
    return [Row(stream, place, window) for _, place, window in ordered]


@dataclass(frozen=True)
class Row:
    """A window, its stream, and the place in the spec of the window that it belongs to."""

    stream: Stream
    place: int
    window: Window


def result_table(rows: list[Row], table: pa.Table, meaning: Meaning) -> pa.Table:
    """Return the rows as a table: keys, window, indices, times at both ends, measures."""
    starts = pa.array([row.stream.rows[row.window.start] for row in rows], pa.int64())
    ends = pa.array([row.stream.rows[row.window.end] for row in rows], pa.int64())
    names = [window.name.text for window in meaning.spec.windows]
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    for key in meaning.spec.stream.partition_by:
        columns[key.text] = table.column(key.text).take(starts)
    columns["window_name"] = pa.array([names[row.place] for row in rows], pa.string())
    columns["start_index"] = pa.array([row.window.start for row in rows], pa.int64())
    columns["end_index"] = pa.array([row.window.end for row in rows], pa.int64())
    if meaning.spec.stream.order_by:
        order = table.column(meaning.spec.stream.order_by[0].text)
        columns["window_start"] = order.take(starts)
        columns["window_end"] = order.take(ends)
    measures = [
        measure_of(measure, meaning.fields)
        for window in meaning.expanded.windows
        for measure in window.measures
    ]
    types = {measure.name: measure.type for measure in measures}
    for name, arrow in measure_types(measures, table.schema).items():
        values = [row.window.measures.get(name) for row in rows]
        if OTHER in (types[name], types[name].item):
            sources = [source for m in measures if m.name == name for source in m.sources()]
            columns[name] = _passed_on(
                values, sources, table, in_lists=types[name].item is not None
            )
        else:
            columns[name] = pa.array(values, storage_of(arrow)).cast(arrow)
    return pa.table(columns)


def _passed_on(
    values: Sequence[object], sources: Sequence[str], table: pa.Table, *, in_lists: bool
) -> pa.Array | pa.ChunkedArray:
    """Return values of type other, taken from their columns."""
    names = list(dict.fromkeys(sources))
    before = {name: index * table.num_rows for index, name in enumerate(names)}
    chunks = [chunk for name in names for chunk in table.column(name).chunks]
    whole = pa.chunked_array(chunks, table.schema.field(names[0]).type)

    def place(value: object) -> int | None:
        return before[value.column] + value.row if isinstance(value, Passed) else None

    if not in_lists:
        return whole.take(pa.array(map(place, values), pa.int64()))
    lists = [value if isinstance(value, list) else [] for value in values]
    flat = whole.take(pa.array([place(item) for value in lists for item in value], pa.int64()))
    offsets = pa.array(accumulate(map(len, lists), initial=0), pa.int32())
    nulls = pa.array([value is None for value in values], pa.bool_())
    return pa.ListArray.from_arrays(offsets, flat.combine_chunks(), mask=nulls)
