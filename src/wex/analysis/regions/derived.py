"""Derived fields: what guards compute of one event with the clock or by division, as fields of their own.

`hour(ts)` and `n % 7` are values of one event. If each of them is a field of its own, and any value may
follow any other, guards only compare them, and a region graph needs no solver. It has a path for every
stream, and more: what is vain there is vain on all streams.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.spec.types import BOOL, INT
from wex.theory import terms
from wex.theory.terms import (
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
    from collections.abc import Callable

    from wex.theory.terms import Guard, Term


class FreeTruth(Symbol):
    """The name of a flag in the place of a guard, true or false whatever the events are."""

    __slots__ = ()


class Derived(Symbol):
    """The name of a field in the place of a value that is computed of one event."""

    __slots__ = ()


class DerivedFields:
    """The derived fields of some guards: `values` has what each of them is at the current event.

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
                asks = _divides(left) or _divides(right)
                return _free(guard) if asks and not plain else Comparison(guard.op, *sides)
        return guard

    def _derived(self, term: Term) -> Term:
        offsets = {field.offset for field in terms.fields(term)}
        if not _divides(term) or len(offsets) != 1 or term.kind != "whole":
            return term
        (offset,) = offsets
        now = terms.shifted(term, -offset)
        name = Derived(repr(now))
        self.values[name] = now
        return Field(name, offset, INT)

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


def _free(atom: Comparison) -> Guard:
    age = min((-field.offset for field in terms.fields(atom)), default=0)
    return Truth(Field(FreeTruth(terms.shifted(atom, age)), -age, BOOL))
