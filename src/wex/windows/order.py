"""What the order of a stream says of two events in a row, as a guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec.types import BOOL, OTHER, STRING
from wex.theory import terms
from wex.theory.terms import Always, Comparison, Constant, Field, Guard, Truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.spec import Meaning
    from wex.spec.types import Type


def order_guard(meaning: Meaning, relevant: set[str]) -> tuple[Guard, bool, tuple[str, ...]]:
    """Return what holds of an event and the one before it, if that is exact, and the free columns.

    Keys do not change. Events are sorted by the order columns, then by the others. A column of
    which nothing else is asked (it is not relevant) can always rise, and what comes behind it in
    the order is free. Of texts only equality is known: then the guard says less than it could.
    """
    fields, stream = meaning.fields, meaning.spec.stream
    keys = [name.text for name in stream.partition_by]
    columns = [name.text for name in stream.order_by]
    parts = [equal(name, fields[name]) for name in keys if name in relevant]
    exact, rising = True, []
    chain: list[str] = []
    sorted_by = [*columns, *(name for name in fields if name not in columns)] if columns else []
    for name in sorted_by:
        if fields[name] == OTHER or name in keys:
            continue
        finite = fields[name] == BOOL or bool(fields[name].values)
        if name not in relevant and not finite:
            rising.append(name)
            break
        if fields[name] == STRING:
            exact = False
            break
        chain.append(name)
    if chain:
        parts.append(_at_least(chain, fields))
    return (terms.And(tuple(parts)) if parts else Always(True)), exact, tuple(rising)


def equal(name: str, type_: Type) -> Guard:
    """Return that a field is as it was in the event before."""
    now, before = _pair(name, type_)
    if type_ == BOOL:
        both = terms.And((Truth(now), Truth(before)))
        return terms.Or((both, terms.And((terms.Not(Truth(now)), terms.Not(Truth(before))))))
    return Comparison("=", now, before)


def _at_least(chain: Sequence[str], fields: Mapping[str, Type]) -> Guard:
    name, *rest = chain
    above, same = _above(name, fields[name]), equal(name, fields[name])
    behind = _at_least(rest, fields) if rest else Always(True)
    return terms.Or((above, terms.And((same, behind))))


def _pair(name: str, type_: Type) -> tuple[Field, Field]:
    return Field(name, 0, type_), Field(name, -1, type_)


def _above(name: str, type_: Type) -> Guard:
    now, before = _pair(name, type_)
    if type_ == BOOL:
        return terms.And((Truth(now), terms.Not(Truth(before))))
    if type_.values:
        ranked = sorted(type_.values, key=str.encode)
        return terms.Or(
            tuple(
                terms.And((_is(now, high), _is(before, low)))
                for at, high in enumerate(ranked)
                for low in ranked[:at]
            )
        )
    return Comparison(">", now, before)


def _is(field: Field, value: str) -> Guard:
    return Comparison("=", field, Constant(value))
