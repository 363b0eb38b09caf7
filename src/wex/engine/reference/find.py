"""The windows of a spec by the definition: slow and obvious, what every fast path is tested against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.columns import Data, conform
from wex.engine.reference.promise import check_promise
from wex.engine.reference.results import Row, result_table
from wex.engine.reference.streams import streams
from wex.engine.reference.windows import Definition
from wex.engine.sorting import sort
from wex.engine.zones import check_zones
from wex.spec import meaning
from wex.windows.assumptions import compile_promise
from wex.windows.guards import guarded_fields, moments

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.spec import tree


def find_by_definition(spec: tree.Spec, data: Data) -> pa.Table:
    """Return the windows of a spec in some data, one row each."""
    found = meaning(spec)
    keys = [name.text for name in found.spec.stream.partition_by]
    order = [name.text for name in found.spec.stream.order_by]
    table = sort(conform(data, found.fields, keys), keys, order, found.fields)
    check_zones(moments(found), table)
    promise = compile_promise(found)
    rows: list[Row] = []
    for stream in streams(
        table, keys, found.fields, guarded_fields(found), skip_nulls=found.skip_nulls
    ):
        if promise is not None:
            check_promise(promise, stream)
        ordered = []
        for place in range(len(found.expanded.windows)):
            windows = Definition(found, place, stream).windows()
            ordered += [(each.reported, place, each) for each in windows]
        ordered.sort(key=lambda each: (each[0], each[1], each[2].start))
        rows += [Row(stream, place, each) for _, place, each in ordered]
    return result_table(rows, table, found)
