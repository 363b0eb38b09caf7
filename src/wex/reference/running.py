"""Predicates with aggregates by definition: each computed from all events of the window so far.

Read it beside "A window knows itself" (docs/semantics.md).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from wex.reference.measures import COMPUTE, Inputs
from wex.spec.types import DURATION, INT
from wex.theory.evaluate import COMPARE, WHOLE, ArithmeticFault, truth, value_of
from wex.theory.terms import (
    RESULT,
    Always,
    And,
    Comparison,
    Guard,
    IsFirst,
    IsNull,
    Like,
    Not,
    Or,
    Truth,
    atoms,
    fields,
)

if TYPE_CHECKING:
    from wex.reference.windows import Grams
    from wex.theory.evaluate import Event, Gram, Value
    from wex.theory.terms import Aggregate, RunningTest, Term


def holds_so_far(test: RunningTest, grams: Grams, position: int, begin: int) -> bool:
    """Tell whether a predicate with aggregates is true of the window from `begin` to a position."""
    gram = gram_so_far(test, grams, position, begin)
    return _truth(test.test, gram, position, missing=False) is True


def gram_so_far(test: RunningTest, grams: Grams, position: int, begin: int) -> list[Event | None]:
    """Return the events that a predicate with aggregates reads, each with the results there."""
    read = [field.offset for atom in atoms(test.test) for field in fields(atom)]
    gram: list[Event | None] = []
    for place in range(position + min(read), position + 1):
        event = grams.stream.events[place] if place >= 0 else None
        results = {
            f"{RESULT}{number}": _result(aggregate, grams, begin, place)
            for number, aggregate in enumerate(test.aggregates)
        }
        gram.append(None if event is None else {**event, **results})
    return gram


def _result(aggregate: Aggregate, grams: Grams, begin: int, last: int) -> Value:
    """Return an aggregate over the events from `begin` to `last`; NULL before the window."""
    if last < begin:
        return None
    inputs: Inputs = []
    for position in range(begin, last + 1):
        gram = grams.gram(position)
        if aggregate.filter is None or _truth(aggregate.filter, gram, position, missing=None):
            inputs.append(tuple(_input(part, gram, position) for part in aggregate.arguments))
    if aggregate.name == "avg" and aggregate.types[0] in (INT, DURATION):
        numbers = [int(row[0]) for row in inputs if row[0] is not None]
        return _average(numbers, exact=aggregate.types[0] == DURATION)
    try:
        value = COMPUTE[aggregate.name](inputs, aggregate.types)
    except ArithmeticFault:
        return None
    assert not isinstance(value, list)
    return value


def _average(numbers: list[int], *, exact: bool) -> Value:
    """Return the sum divided by the count: rounded to a whole number, or in floats."""
    total = sum(numbers)
    if not numbers or total not in WHOLE:
        return None
    return round(Fraction(total, len(numbers))) if exact else float(total) / len(numbers)


def _input(argument: Term | Guard, gram: Gram, position: int) -> Value:
    if isinstance(argument, Guard):
        return _truth(argument, gram, position, missing=None)
    return _value(argument, gram)


def _truth(guard: Guard, gram: Gram, position: int, *, missing: bool | None) -> bool | None:
    """Return whether a predicate holds; None (unknown) if a NULL decides, as in SQL.

    `missing` is the truth of an atom that reads a missing event: false in a predicate that decides
    about windows, unknown in an argument or a filter.
    """
    match guard:
        case Always(value):
            return value
        case IsFirst(offset):
            return position + offset == 0
        case Not(operand):
            inner = _truth(operand, gram, position, missing=missing)
            return None if inner is None else not inner
        case And(parts) | Or(parts):
            decisive = isinstance(guard, Or)
            truths = [_truth(part, gram, position, missing=missing) for part in parts]
            if decisive in truths:
                return decisive
            return None if None in truths else not decisive
        case IsNull(field) if missing is None or gram[field.offset - 1] is not None:
            return truth(guard, gram, first=-position)
    if any(
        gram[field.offset - 1] is None
        for field in fields(guard)
        if not field.name.startswith(RESULT)
    ):
        return missing
    match guard:
        case Like():
            return truth(guard, gram, first=-position)
        case Truth(field):
            flag = _value(field, gram)
            return None if flag is None else bool(flag)
        case Comparison(op, left, right):
            first, second = _value(left, gram), _value(right, gram)
            return None if first is None or second is None else bool(COMPARE[op](first, second))
    raise TypeError(guard)


def _value(term: Term, gram: Gram) -> Value:
    """Return a value; None (NULL) if it reads a NULL or a missing event, or arithmetic fails."""
    try:
        return value_of(term, gram)
    except ArithmeticFault:
        return None
