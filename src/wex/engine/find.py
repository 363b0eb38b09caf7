"""`wex.find`: the windows of a spec in a table, in this process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from wex.engine.columns import Data, conform, sort
from wex.engine.conformance import check_promise
from wex.engine.reference import Definition
from wex.engine.results import Row, result_table
from wex.engine.streams import streams
from wex.engine.zones import check_zones
from wex.errors import SpecError, WexError
from wex.spec import meaning, parse, tree
from wex.spec.source import Source, Span
from wex.theory.terms import fields
from wex.theory.translate import guard_of
from wex.windows.assumptions import compile_promise
from wex.windows.guards import deciding_parts, predicates

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.spec import Meaning


def find(
    spec: tree.Spec,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the windows of a spec in some data, one row each.

    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ keep longest")
    >>> wex.find(spec, {"x": [1, 2, 3, 1, 5]}).select(["start_index", "end_index"]).to_pylist()
    [{'start_index': 1, 'end_index': 1}, {'start_index': 1, 'end_index': 2}, {'start_index': 4, 'end_index': 4}]
    """
    if not isinstance(spec, tree.Spec):
        hint = "make one with wex.parse(text), wex.load(path) or wex.build"
        raise WexError("not-a-spec", f"a {type(spec).__name__} is no spec", hint)
    found = meaning(with_arguments(spec, partition_by, order_by))
    keys = [name.text for name in found.spec.stream.partition_by]
    order = [name.text for name in found.spec.stream.order_by]
    table = sort(conform(data, found.fields, keys), keys, order, found.fields)
    check_zones(found, table)
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


def guarded_fields(found: Meaning) -> frozenset[str]:
    """Return the fields that some predicate reads: there a NULL is not let through."""
    parts = [
        *found.expanded.assumes,
        *(part for each in found.expanded.windows for part in deciding_parts(each)),
    ]
    guards = [guard_of(each, found.fields) for part in parts for each in predicates(part)]
    return frozenset(field.name for guard in guards for field in fields(guard))


def with_arguments(
    spec: tree.Spec,
    partition_by: str | Iterable[str] | None,
    order_by: str | Iterable[str] | None,
) -> tree.Spec:
    """Return the spec with what it leaves open filled in; arguments that contradict it are an error."""
    stream = spec.stream
    keys = _filled(stream.partition_by, partition_by, "partition by", spec)
    order = _filled(stream.order_by, order_by, "order by", spec)
    if (keys, order) == (stream.partition_by, stream.order_by):
        return spec
    filled = replace(spec, stream=replace(stream, partition_by=keys, order_by=order), source=None)
    return parse(str(filled), "<spec with arguments>")


def _filled(
    written: tuple[tree.Name, ...], given: object, clause: str, spec: tree.Spec
) -> tuple[tree.Name, ...]:
    if given is None:
        return written
    listed: list[object] = [given]
    if isinstance(given, Iterable) and not isinstance(given, str):
        listed = list(given)
    if not all(isinstance(each, str) for each in listed):
        hint = "give the name of a column, or a list of names"
        raise WexError("not-names", f"{clause} {given!r} names no columns", hint)
    names = tuple(tree.Name(str(each)) for each in listed)
    if written and names != written:
        shown = ", ".join(name.text for name in names)
        source = spec.source or Source(str(spec))
        span = written[0].span or Span(0, 1)
        message = f"the call says {clause} {shown}, and the spec says otherwise"
        hint = "leave the argument out, or leave it open in the spec"
        raise SpecError([source.diagnostic(span, "contradiction", message, hint)])
    return names
