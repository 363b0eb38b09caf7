"""Measures as data: which aggregates over which terms, and the arithmetic on them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.aggregates import is_aggregate, signature, uses_aggregates
from wex.spec.resolve.label_checks import is_label_call
from wex.spec.types import PREDICATE, STRING, Type
from wex.theory.terms import (
    RESULT,
    Aggregate,
    Field,
    Guard,
    RunningTest,
    Term,
    fields,
    offsets,
    parts_of,
)
from wex.theory.translate import guard_of, term_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LABEL = ""  # the field that `label()` reads: no field of a stream has this name
PREDICATE_AGGREGATES = ("count_if", "some", "every")


@dataclass(frozen=True)
class Measure:
    """A measure: arithmetic on aggregates, to which it refers as fields `#0`, `#1` and so on."""

    name: str
    aggregates: tuple[Aggregate, ...]
    value: Term
    type: Type

    def sources(self) -> tuple[str, ...]:
        """Return the fields that the arguments read, in their order."""
        read = (
            field.name
            for aggregate in self.aggregates
            for argument in aggregate.arguments
            for field in fields(argument)
            if field.name != LABEL
        )
        return tuple(dict.fromkeys(read))

    def lookback(self) -> int:
        """Return the deepest lookback of arguments and filters."""
        read = (offset for aggregate in self.aggregates for offset in _offsets(aggregate))
        return max((-offset for offset in read), default=0)


def _offsets(aggregate: Aggregate) -> Iterator[int]:
    for part in parts_of(aggregate):
        if isinstance(part, Guard):
            yield from offsets(part)
        else:
            yield from (field.offset for field in fields(part))


def measure_of(measure: tree.Measure, stream_fields: Mapping[str, Type]) -> Measure:
    """Return a measure of an expanded spec as data."""
    results = _Results(stream_fields)
    value = results.named_in(measure.value)
    return Measure(
        measure.name.text,
        tuple(results.aggregates),
        term_of(value, results.types),
        type_of(value, results.types),
    )


def deciding_guard(predicate: tree.Expr, stream_fields: Mapping[str, Type]) -> Guard:
    """Return the guard of a predicate that decides about windows, with aggregates or without.

    >>> from wex.spec.types import REAL
    >>> top = tree.Call(tree.Name("max"), (tree.Ref("x"),), offset=-1)
    >>> guard = deciding_guard(tree.Compare((tree.Ref("x"), top), (">",)), {"x": REAL})
    >>> guard.test.right.name, guard.test.right.offset, guard.aggregates[0].name
    ('#0', -1, 'max')
    """
    if not uses_aggregates(predicate):
        return guard_of(predicate, stream_fields)
    results = _Results(stream_fields)
    named = results.named_in(predicate)
    return RunningTest(
        guard_of(named, {**stream_fields, **results.types}), tuple(results.aggregates)
    )


class _Results:
    """The aggregates in an expression, and names for their results: fields `#0`, `#1` and so on."""

    def __init__(self, stream_fields: Mapping[str, Type]) -> None:
        self._fields = stream_fields
        self.aggregates: list[Aggregate] = []
        self.types: dict[str, Type] = {}

    def named_in(self, node: tree.Expr) -> tree.Expr:
        """Return an expression with each aggregate replaced by the name of its result."""
        named = self._named_below(node)
        assert isinstance(named, tree.Expr)
        return named

    def _named_below(self, node: tree.Node) -> tree.Node:
        if isinstance(node, tree.Call) and is_aggregate(node):
            return self._named(node)
        changed: dict[str, object] = {}
        for part in dataclasses.fields(node):
            value = getattr(node, part.name)
            if isinstance(value, tree.Node):
                changed[part.name] = self._named_below(value)
            elif isinstance(value, tuple) and any(isinstance(item, tree.Node) for item in value):
                changed[part.name] = tuple(map(self._named_below, value))
        return replace(node, **changed) if changed else node  # type: ignore[arg-type]

    def _named(self, call: tree.Call) -> tree.Expr:
        aggregate = _aggregate(call, self._fields)
        if aggregate not in self.aggregates:
            self.aggregates.append(aggregate)
        name = f"{RESULT}{self.aggregates.index(aggregate)}"
        self.types[name] = _result_type(call, self._fields)
        return tree.Ref(name, call.offset)


def depends_on_labels(aggregate: Aggregate) -> bool:
    """Tell whether an aggregate is about events with a label, or about the labels themselves."""
    return bool(aggregate.label) or any(
        isinstance(argument, Field) and argument.name == LABEL for argument in aggregate.arguments
    )


def _values(call: tree.Call) -> tuple[str, tuple[tree.Expr, ...]]:
    """Return the label whose events an aggregate is about, or none, and its arguments."""
    match call.args:
        case (tree.Ref("", _, label),):  # count(down)
            return label, ()
    reads = (part for arg in call.args for part in tree.walk(arg))
    labels = {part.label for part in reads if isinstance(part, tree.Ref | tree.IsFirst)} - {""}
    return next(iter(labels), ""), call.args


def _aggregate(call: tree.Call, fields: Mapping[str, Type]) -> Aggregate:
    arguments: list[Term | Guard] = []
    types: list[Type] = []
    label, args = _values(call)
    for arg in args:
        if call.name.text in PREDICATE_AGGREGATES:
            arguments.append(guard_of(arg, fields))
            types.append(PREDICATE)
        elif is_label_call(arg):
            arguments.append(Field(LABEL, 0, STRING))
            types.append(STRING)
        else:
            arguments.append(term_of(arg, fields))
            types.append(type_of(arg, fields))
    condition = guard_of(call.filter, fields) if call.filter else None
    return Aggregate(call.name.text, tuple(arguments), tuple(types), condition, label)


def _result_type(call: tree.Call, fields: Mapping[str, Type]) -> Type:
    aggregate = signature(call.name.text)
    assert aggregate is not None
    result = aggregate.result(*_aggregate(call, fields).types)
    assert result is not None
    return result
