"""Measures as data: which aggregates over which terms, and the arithmetic on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.aggregates import signature
from wex.spec.types import PREDICATE, Type
from wex.theory.terms import Guard, Term, fields, offsets
from wex.theory.translate import guard_of, term_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREDICATE_AGGREGATES = ("count_if", "some", "every")


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a measure: which, over what, and which events count."""

    name: str
    arguments: tuple[Term | Guard, ...]
    types: tuple[Type, ...]
    filter: Guard | None


@dataclass(frozen=True)
class Measure:
    """A measure: arithmetic on aggregates, which stand in it as fields `#0`, `#1` and so on."""

    name: str
    aggregates: tuple[Aggregate, ...]
    value: Term
    type: Type

    def sources(self) -> tuple[str, ...]:
        """Return the fields that its arguments read, in their order."""
        read = (
            field.name
            for each in self.aggregates
            for part in each.arguments
            for field in fields(part)
        )
        return tuple(dict.fromkeys(read))

    def lookback(self) -> int:
        """Return how far back its arguments and filters look."""
        return max((-offset for each in self.aggregates for offset in _offsets(each)), default=0)


def _offsets(aggregate: Aggregate) -> Iterator[int]:
    for part in (*aggregate.arguments, aggregate.filter):
        if isinstance(part, Guard):
            yield from offsets(part)
        elif part is not None:
            yield from (field.offset for field in fields(part))


def measure_of(measure: tree.Measure, stream_fields: Mapping[str, Type]) -> Measure:
    """Return a measure of an expanded spec, ready to compute."""
    aggregates: list[Aggregate] = []
    types: dict[str, Type] = {}

    def pulled_out(node: tree.Expr) -> tree.Expr:
        match node:
            case tree.Call(tree.Name("abs"), (value,)):
                return tree.Call(node.name, (pulled_out(value),))
            case tree.Call():
                name = f"#{len(aggregates)}"
                aggregates.append(_aggregate(node, stream_fields))
                types[name] = _result_type(node, stream_fields)
                return tree.Ref(name)
            case tree.Neg(value):
                return tree.Neg(pulled_out(value))
            case tree.Binary(op, left, right):
                return tree.Binary(op, pulled_out(left), pulled_out(right))
        return node

    value = pulled_out(measure.value)
    return Measure(
        measure.name.text, tuple(aggregates), term_of(value, types), type_of(value, types)
    )


def _aggregate(call: tree.Call, fields: Mapping[str, Type]) -> Aggregate:
    arguments: list[Term | Guard] = []
    types: list[Type] = []
    for arg in call.args:
        if call.name.text in PREDICATE_AGGREGATES:
            arguments.append(guard_of(arg, fields))
            types.append(PREDICATE)
        else:
            arguments.append(term_of(arg, fields))
            types.append(type_of(arg, fields))
    condition = guard_of(call.filter, fields) if call.filter else None
    return Aggregate(call.name.text, tuple(arguments), tuple(types), condition)


def _result_type(call: tree.Call, fields: Mapping[str, Type]) -> Type:
    name = call.name.text
    types = [
        PREDICATE if name in PREDICATE_AGGREGATES else type_of(arg, fields) for arg in call.args
    ]
    aggregate = signature(name)
    assert aggregate is not None
    found = aggregate.result(*types)
    assert found is not None
    return found
