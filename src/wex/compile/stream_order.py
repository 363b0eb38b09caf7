"""The order of a stream as a guard over two consecutive events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.types import BOOL, OTHER, STRING, Type
from wex.theory import terms
from wex.theory.terms import Always, Arithmetic, Comparison, Constant, Field, Guard, Truth

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.spec import Meaning


NULL = "\0"  # represents NULL among the values of a column by which ties are sorted


@dataclass(frozen=True)
class StreamOrder:
    """The relation between an event and the one before it in a sorted stream.

    `exact` is false if `guard` is weaker than the relation. `rising` is the first order column that
    no predicate reads and that has unbounded values: it can always rise, so the columns after it
    are free. `ranks` are columns of few values that no predicate reads. Where they only decide ties,
    NULL is their first value.
    """

    guard: Guard
    exact: bool
    rising: tuple[str, ...]
    ranks: Mapping[str, Type]


def stream_order(
    meaning: Meaning, relevant: set[str], units: Mapping[str, int] | None = None
) -> StreamOrder:
    """Return the order of a stream, given the fields that predicates read.

    Keys do not change. Events are sorted by the order columns, then by the others. Texts can only
    be compared for equality. NULL comes first. Of columns with `units`, only how many units they have counts.
    """
    ranks: dict[str, Type] = {}
    fields, stream = dict(meaning.fields), meaning.spec.stream
    keys = [name.text for name in stream.partition_by]
    columns = [name.text for name in stream.order_by]
    parts = [equal(name, fields[name]) for name in keys if name in relevant]
    parts += [_both_null(name, fields[name]) for name in keys if name in meaning.nullable]
    exact, rising = True, []
    chain: list[str] = []
    sorted_by = [*columns, *(name for name in fields if name not in columns)] if columns else []
    for name in sorted_by:
        if fields[name] == OTHER or name in keys:
            continue
        values = fields[name].values or (("false", "true") if fields[name] == BOOL else ())
        if name not in relevant and not values:
            rising.append(name)
            break
        if name not in relevant:
            ranked = sorted(values, key=str.encode)
            # A NULL in a column of `order by` is an error, in the others it comes first.
            fields[name] = ranks[name] = Type(
                "enum", tuple(ranked) if name in columns else (NULL, *ranked)
            )
        if fields[name] == STRING:
            exact = False
            break
        if name in (units or {}):
            break
        chain.append(name)
    if chain:
        parts.append(_at_least(chain, fields, meaning.nullable))
    elif units and columns[:1] and columns[0] in units:
        now, before = _pair(columns[0], fields[columns[0]])
        unit = Constant(units[columns[0]])
        parts.append(Comparison(">=", Arithmetic("//", now, unit), Arithmetic("//", before, unit)))
    guard = terms.And(tuple(parts)) if parts else Always(True)
    return StreamOrder(guard, exact, tuple(rising), ranks)


def unranked(value: object, declared: Type) -> bool | str | None:
    """Return the value of a column that a rank represents."""
    if value == NULL:
        return None
    return value == "true" if declared == BOOL else str(value)


def equal(name: str, type_: Type) -> Guard:
    """Return the guard that a field has the value that it had in the event before."""
    now, before = _pair(name, type_)
    if type_ == BOOL:
        both = terms.And((Truth(now), Truth(before)))
        return terms.Or((both, terms.And((terms.Not(Truth(now)), terms.Not(Truth(before))))))
    return Comparison("=", now, before)


def _both_null(name: str, type_: Type) -> Guard:
    """Return the guard that a field is NULL if and only if it was NULL in the event before."""
    now, before = map(terms.IsNull, _pair(name, type_))
    return terms.Or((terms.And((now, before)), terms.And((terms.Not(now), terms.Not(before)))))


def _at_least(chain: Sequence[str], fields: Mapping[str, Type], nullable: frozenset[str]) -> Guard:
    name, *rest = chain
    above, same = _above(name, fields[name]), equal(name, fields[name])
    if name in nullable:
        now, before = map(terms.IsNull, _pair(name, fields[name]))
        known = terms.And((terms.Not(now), terms.Not(before)))
        above = terms.Or((terms.And((terms.Not(now), before)), terms.And((known, above))))
        same = terms.Or((terms.And((now, before)), terms.And((known, same))))
    behind = _at_least(rest, fields, nullable) if rest else Always(True)
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
                for rank, high in enumerate(ranked)
                for low in ranked[:rank]
            )
        )
    return Comparison(">", now, before)


def _is(field: Field, value: str) -> Guard:
    return Comparison("=", field, Constant(value))
