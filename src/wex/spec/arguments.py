"""The arguments `partition_by` and `order_by` of a call, put into its spec."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from wex.errors import SpecError, WexError
from wex.spec import as_spec, parse, tree
from wex.spec.problems import Source, Span

if TYPE_CHECKING:
    from wex.spec import SpecLike


def with_arguments(
    spec: SpecLike,
    partition_by: str | Iterable[str] | None,
    order_by: str | Iterable[str] | None,
) -> tree.Spec:
    """Return the spec with these clauses filled in, if it has none of its own.

    Arguments that contradict the clauses of the spec raise a SpecError.
    """
    spec = as_spec(spec)
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
    columns: list[object] = [given]
    if isinstance(given, Iterable) and not isinstance(given, str):
        columns = list(given)
    if not all(isinstance(column, str) for column in columns):
        hint = "give the name of a column, or a list of names"
        raise WexError("not-names", f"expected columns for `{clause}`, got {given!r}", hint)
    names = tuple(tree.Name(str(column)) for column in columns)
    if written and names != written:
        source = spec.source or Source(str(spec))
        span = written[0].span or Span(0, 1)
        in_call, in_spec = ", ".join(tree.texts(names)), ", ".join(tree.texts(written))
        message = f"the spec has `{clause} {in_spec}`, the call has `{clause} {in_call}`"
        hint = "remove the argument, or remove the clause from the spec"
        raise SpecError([source.diagnostic(span, "contradiction", message, hint)])
    return names
