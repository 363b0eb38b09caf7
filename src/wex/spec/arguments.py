"""A spec with the arguments of a call filled in."""

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
    """Return the spec with what it leaves open filled in; arguments that contradict it are an error."""
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
