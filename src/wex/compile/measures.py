"""Measures as data: which aggregates over which terms, and the arithmetic on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.aggregates import signature
from wex.spec.types import FUNCTION_NAMES, PREDICATE, Type
from wex.theory.terms import Guard, Term, fields, offsets
from wex.theory.translate import guard_of, term_of, type_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PREDICATE_AGGREGATES = ("count_if", "some", "every")


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a measure: its name, its arguments and their types, its `filter`."""

    name: str
    arguments: tuple[Term | Guard, ...]
    types: tuple[Type, ...]
    filter: Guard | None


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
        )
        return tuple(dict.fromkeys(read))

    def lookback(self) -> int:
        """Return the deepest lookback of arguments and filters."""
        read = (offset for aggregate in self.aggregates for offset in _offsets(aggregate))
        return max((-offset for offset in read), default=0)


def _offsets(aggregate: Aggregate) -> Iterator[int]:
    for part in (*aggregate.arguments, aggregate.filter):
        if isinstance(part, Guard):
            yield from offsets(part)
        elif part is not None:
            yield from (field.offset for field in fields(part))


def measure_of(measure: tree.Measure, stream_fields: Mapping[str, Type]) -> Measure:
    """Return a measure of an expanded spec as data."""
    aggregates: list[Aggregate] = []
    types: dict[str, Type] = {}

    def without_calls(node: tree.Expr) -> tree.Expr:
        match node:
            case tree.Call(tree.Name(name), (value, *constants)) if name in FUNCTION_NAMES:
                return tree.Call(node.name, (without_calls(value), *constants))
            case tree.Call():
                result = f"#{len(aggregates)}"
                aggregates.append(_aggregate(node, stream_fields))
                types[result] = _result_type(node, stream_fields)
                return tree.Ref(result)
            case tree.Neg(value):
                return tree.Neg(without_calls(value))
            case tree.Binary(op, left, right):
                return tree.Binary(op, without_calls(left), without_calls(right))
        return node

    value = without_calls(measure.value)
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
    result = aggregate.result(*types)
    assert result is not None
    return result
