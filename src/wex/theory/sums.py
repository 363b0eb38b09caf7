"""Linear values: sums of multiples of fields, and comparisons that are about a difference of two fields."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from wex.theory.terms import (
    Absolute,
    Arithmetic,
    Calendar,
    Comparison,
    Constant,
    Field,
    Local,
    Negative,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.theory.terms import Term

Relation: TypeAlias = Literal["=", "!=", "<", "<=", ">", ">="]
NEGATED: dict[Relation, Relation] = {
    "=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip
TURNED: dict[Relation, Relation] = {
    "=": "=", "!=": "!=", "<": ">", ">": "<", "<=": ">=", ">=": "<=",
}  # fmt: skip


@dataclass(frozen=True)
class Sum:
    """A sum of multiples of fields, and a constant."""

    factors: dict[Field, Fraction]
    constant: Fraction

    def times(self, factor: Fraction) -> Sum:
        """Return a multiple of the sum."""
        own = {field: factor * each for field, each in self.factors.items()}
        return Sum(own, factor * self.constant)

    def plus(self, other: Sum) -> Sum:
        """Return the sum of two sums."""
        zero = Fraction(0)
        own = {
            field: self.factors.get(field, zero) + other.factors.get(field, zero)
            for field in {**self.factors, **other.factors}
        }
        return Sum(own, self.constant + other.constant)


def sum_of(term: Term) -> Sum | None:
    """Return a number as a sum of multiples of fields, or None if it is none."""
    match term:
        case Field() if term.kind in ("whole", "real"):
            return Sum({term: Fraction(1)}, Fraction(0))
        case Constant(bool()):
            return None
        case Constant(int() | Fraction() as value):
            return Sum({}, Fraction(value))
        case Negative(value):
            inner = sum_of(value)
            return None if inner is None else inner.times(Fraction(-1))
        case Arithmetic("+" | "-" | "*" | "/" as op, left, right):
            one, two = sum_of(left), sum_of(right)
            return None if one is None or two is None else _combined(op, one, two)
    return None


def _combined(op: str, one: Sum, two: Sum) -> Sum | None:
    match op:
        case "+":
            return one.plus(two)
        case "-":
            return one.plus(two.times(Fraction(-1)))
        case "*" if not one.factors:
            return two.times(one.constant)
        case "*" if not two.factors:
            return one.times(two.constant)
        case "/" if not two.factors and two.constant:
            return one.times(1 / two.constant)
    return None


def inner_sums(term: Term) -> Iterator[Sum]:
    """Yield the sums that a number is computed from."""
    known = sum_of(term)
    if known is not None:
        yield known
        return
    match term:
        case Arithmetic(_, left, right):
            yield from inner_sums(left)
            yield from inner_sums(right)
        case Negative(value) | Absolute(value) | Local(value) | Calendar(_, value):
            yield from inner_sums(value)
        case _:
            raise TypeError(term)


@dataclass(frozen=True)
class Difference:
    """`left - right op limit`; a side that is None is zero."""

    left: Field | None
    right: Field | None
    op: Relation
    limit: Fraction


def difference_of(atom: Comparison) -> Difference | None:
    """Return a comparison as one about a field or a difference of two, or None if it is none."""
    if atom.left.kind not in ("whole", "real"):
        return None
    value = sum_of(Arithmetic("-", atom.left, atom.right))
    if value is None:
        return None
    factors = {field: factor for field, factor in value.factors.items() if factor}
    positive = [field for field, factor in factors.items() if factor > 0]
    negative = [field for field, factor in factors.items() if factor < 0]
    sizes = {abs(factor) for factor in factors.values()}
    if len(positive) > 1 or len(negative) > 1 or len(sizes) > 1:
        return None
    limit = -value.constant / (sizes.pop() if sizes else 1)
    left, right = (side[0] if side else None for side in (positive, negative))
    if left is None:  # keep the field on the left
        return Difference(right, None, TURNED[atom.op], -limit)
    return Difference(left, right, atom.op, limit)
