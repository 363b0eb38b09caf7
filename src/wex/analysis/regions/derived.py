"""Derived fields: what guards compute with the clock, by division or with floats, as fields of their own.

`hour(ts)`, `n % 7` and `x - x[-1]` are values that an event has. If each of them is a field of its own, and any
value may follow any other, guards only compare them, and a region graph needs no solver. It has a path for
every stream, and more: what is vain there is vain on all streams.

Floats round in the same way each time, and a result that is not a number is an error, so nothing has to
be known of rounding. One thing is: it keeps the order of numbers. `x + 0.5` is never below x, and not
greater for a smaller x. A graph may count on that (`DerivedFields.order`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.spec.types import BOOL, INT, REAL
from wex.theory import terms
from wex.theory.terms import (
    MIRRORED,
    And,
    Arithmetic,
    Calendar,
    Comparison,
    Field,
    Local,
    Not,
    Or,
    Symbol,
    Truth,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from wex.theory.terms import Guard, Op, Term


ORDERS: tuple[Op, ...] = ("<=", ">=")


class FreeTruth(Symbol):
    """The name of a flag in the place of a guard, true or false whatever the events are."""

    __slots__ = ()


class Derived(Symbol):
    """The name of a field in the place of a value that is computed."""

    __slots__ = ()


class Complete(Symbol):
    """The name of a flag: all events are there of which a value is computed."""

    __slots__ = ()


class DerivedFields:
    """The derived fields of some guards: `values` has what each of them is if the current event is the newest.

    >>> derived = DerivedFields()
    >>> rest = Arithmetic("%", Field("n", -1, INT), terms.Constant(7))
    >>> shown = derived.derive(Comparison("<", rest, terms.Constant(5)))
    >>> shown.left.offset, [value.left.offset for value in derived.values.values()]
    (-1, [0])
    >>> derived.restore(shown) == Comparison("<", rest, terms.Constant(5))
    True
    """

    def __init__(self) -> None:
        self.values: dict[str, Term] = {}

    def derive(self, guard: Guard) -> Guard:
        """Return a guard that compares derived fields; an atom that computes with them is free."""
        match guard:
            case Not(operand):
                return Not(self.derive(operand))
            case And(parts):
                return And(tuple(map(self.derive, parts)))
            case Or(parts):
                return Or(tuple(map(self.derive, parts)))
            case Comparison(_, left, right):
                sides = [with_terms(side, self._derived) for side in (left, right)]
                plain = all(isinstance(side, Field | terms.Constant) for side in sides)
                if not plain and any(map(_computes, (left, right))):
                    return _free(guard)
                shown: Guard = Comparison(guard.op, *sides)
                flags = [flag for side in sides if (flag := self._complete(side)) is not None]
                return And((*flags, shown)) if flags else shown
        return guard

    def _derived(self, term: Term) -> Term:
        newest = max((field.offset for field in terms.fields(term)), default=None)
        if newest is None or not _computes(term):
            return term
        now = terms.shifted(term, -newest)
        name = Derived(repr(now))
        self.values[name] = now
        return Field(name, newest, INT if term.kind == "whole" else REAL)

    def _complete(self, side: Term) -> Guard | None:
        """Return the flag that all events are there of which a value is computed; None: it reads one event."""
        if not isinstance(side, Field) or side.name not in self.values:
            return None
        if all(field.offset == 0 for field in terms.fields(self.values[side.name])):
            return None
        return Truth(Field(Complete(f"complete {side.name}"), side.offset, BOOL))

    def order(self, depth: int, read: Collection[str]) -> Iterator[Guard]:
        """Yield what is sure of derived reals, `depth` events back, where guards also read what they are computed of.

        >>> derived = DerivedFields()
        >>> x = Field("x", 0, REAL)
        >>> more = derived.derive(Comparison("<", Arithmetic("+", x, terms.Constant(1)), x)).left
        >>> list(derived.order(0, ["x"])) == [Comparison(">=", more, x)]
        True
        """
        shapes = {
            name: shape
            for name, now in self.values.items()
            if (shape := _shape(now)) is not None and shape.field.kind == "real"
        }
        for name, shape in shapes.items():
            field, rises = shape.field, shape.rises
            several = sum(field == other.field for other in shapes.values()) > 1
            if field.name not in read and not several:
                continue
            own = Field(name, 0, REAL)
            if shape.beside is not None:
                # The order is asked from the second event on, and then about the first one, too.
                pairs = [(own, field), (replace(own, offset=-1), replace(field, offset=-1))]
                yield from (Comparison(shape.beside, *pair) for pair in pairs[: depth + 1])
            for age in range(1, depth + 1 if rises is not None else 0):
                before, own_before = (replace(now, offset=-age) for now in (field, own))
                for op in ORDERS:
                    follows = Comparison(op if rises else MIRRORED[op], own, own_before)
                    yield Or((Not(Comparison(op, field, before)), follows))

    def restore(self, guard: Guard) -> Guard:
        """Return a comparison of derived fields as one of the fields of events."""
        if not isinstance(guard, Comparison):
            return guard
        sides = (with_terms(side, self._value) for side in (guard.left, guard.right))
        return Comparison(guard.op, *sides)

    def _value(self, term: Term) -> Term:
        if isinstance(term, Field) and term.name in self.values:
            return terms.shifted(self.values[term.name], term.offset)
        return term


def with_terms(term: Term, change: Callable[[Term], Term]) -> Term:
    """Return a term in which the largest terms that `change` changes are changed."""
    changed = change(term)
    if changed is not term:
        return changed
    match term:
        case Arithmetic():
            left, right = (with_terms(side, change) for side in (term.left, term.right))
            return replace(term, left=left, right=right)
        case terms.Negative() | terms.Absolute() | Local() | Calendar():
            return replace(term, value=with_terms(term.value, change))
    return term


def _computes(term: Term) -> bool:
    """Tell whether a value is computed in a way of which little is known."""
    return _divides(term) or terms.rounds(term)


def _divides(term: Term) -> bool:
    """Tell whether a value is computed with the clock of a zone, the calendar, or by whole division."""
    match term:
        case Local() | Calendar() | Arithmetic("//" | "%"):
            return True
        case Arithmetic(_, left, right):
            return _divides(left) or _divides(right)
        case terms.Negative(value) | terms.Absolute(value):
            return _divides(value)
    return False


@dataclass(frozen=True)
class _Shape:
    """How a real is computed of one number, and constants.

    It `rises` with the field, or falls, and is `beside` the field as this relation says; None: neither is sure.
    """

    field: Field
    rises: bool | None = True
    beside: Op | None = "="

    def plus(self, number: float) -> _Shape:
        """Return the shape of the value with a number added."""
        if not number:
            return self
        op: Op = ">=" if number > 0 else "<="
        return replace(self, beside=op if self.beside in ("=", op) else None)

    def times(self, number: float) -> _Shape:
        """Return the shape of the value, multiplied with or divided by a number that is not 0."""
        rises = self.rises if number > 0 or self.rises is None else not self.rises
        return replace(self, rises=rises, beside=None)


def stays_number(term: Term) -> bool:
    """Tell whether a real has a result for every number: it is computed of one, and constants.

    >>> x = Field("x", 0, REAL)
    >>> stays_number(Arithmetic("+", x, terms.Constant(1))), stays_number(Arithmetic("-", x, x))
    (True, False)
    """
    return _shape(term) is not None


def _shape(term: Term) -> _Shape | None:
    """Return how a real is computed of one number, or None if it is computed in another way.

    >>> x, one = Field("x", 0, REAL), terms.Constant(1)
    >>> _shape(Arithmetic("+", x, one)).beside, _shape(Arithmetic("-", one, x)).rises, _shape(Arithmetic("-", x, x))
    ('>=', False, None)
    """
    match term:
        case Field() if term.kind in ("whole", "real"):
            return _Shape(term)
        case terms.Negative(value) if (shape := _shape(value)) is not None:
            return shape.times(-1)
        case terms.Absolute(value) if (shape := _shape(value)) is not None:
            return replace(shape, rises=None, beside=">=" if shape.beside in ("=", ">=") else None)
        case Arithmetic(op, left, right) if term.kind == "real":
            shape, number = _shape(left), _number(right)
            if number is None:
                shape, number = _shape(right), _number(left)
                if op == "-" and shape is not None:
                    shape, op = shape.times(-1), "+"
            elif op == "-":
                op, number = "+", -number
            if shape is None or number is None or not math.isfinite(number):
                return None
            if op == "+":
                return shape.plus(number)
            divides = op == "/" and _number(right) is not None
            return shape.times(number) if number and (divides or op == "*") else None
    return None


def _number(term: Term) -> float | None:
    """Return a constant as it is at run time, or None if a value is not one."""
    match term:
        case terms.Constant(Fraction() | int() as value) if not isinstance(value, bool):
            return terms.rounded(Fraction(value))
        case terms.Negative(value) if (number := _number(value)) is not None:
            return -number
    return None


def _free(atom: Comparison) -> Guard:
    age = min((-field.offset for field in terms.fields(atom)), default=0)
    return Truth(Field(FreeTruth(terms.shifted(atom, age)), -age, BOOL))
