"""The windows of a spec by the definition: slow and obvious, what every fast path is tested against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.columns import Data, conform
from wex.engine.reference.promise import check_promise
from wex.engine.reference.results import Row, result_table
from wex.engine.reference.streams import check_events, streams
from wex.engine.reference.windows import Definition
from wex.engine.sorting import sort
from wex.engine.zones import check_zones
from wex.errors import DataError
from wex.spec import meaning
from wex.windows.assumptions import compile_promise
from wex.windows.guards import guarded_fields, moments

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.engine.reference.streams import Stream
    from wex.spec import Meaning, tree
    from wex.windows.assumptions import Promise


def find_by_definition(spec: tree.Spec, data: Data) -> pa.Table:
    """Return the windows of a spec in some data, one row each."""
    found = meaning(spec)
    keys = [name.text for name in found.spec.stream.partition_by]
    order = [name.text for name in found.spec.stream.order_by]
    table = sort(conform(data, found.fields, keys), keys, order, found.fields)
    check_zones(moments(found), table)
    promise, guarded = compile_promise(found), guarded_fields(found)
    rows: list[Row] = []
    for stream in streams(table, keys, found.fields, guarded, skip_nulls=found.skip_nulls):
        try:
            rows += _rows(found, promise, stream)
        except DataError:
            # Which fault is told: that of the shortest prefix of the stream that has one.
            for count in range(1, len(stream.events) + 1):
                _rows(found, promise, stream.prefix(count), ended=False)
            raise
    return result_table(rows, table, found)


def _rows(
    meaning: Meaning, promise: Promise | None, stream: Stream, *, ended: bool = True
) -> list[Row]:
    """Return the windows of a stream; one that is not `ended` may go on."""
    check_events(stream, meaning.fields, guarded_fields(meaning))
    places = range(len(meaning.expanded.windows))
    definitions = [Definition(meaning, place, stream, ended=ended) for place in places]
    if promise is not None:
        check_promise(promise, stream)
    ordered = [
        (each.reported, place, each)
        for place, definition in enumerate(definitions)
        for each in definition.windows()
    ]
    ordered.sort(key=lambda each: (each[0], each[1], each[2].start))
    return [Row(stream, place, each) for _, place, each in ordered]
