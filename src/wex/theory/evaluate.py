"""Evaluation of guards and values on concrete events: the definition for solver and engine.

A gram is the last k+1 events, oldest first; events before the first one are missing: None. There
are two kinds of arithmetic: `EXACT` on Fractions for the analysis, `FLOATING` on float64 for the run time.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from wex.spec.patterns import matches
from wex.theory.terms import (
    MIRRORED,
    Absolute,
    Always,
    And,
    Arithmetic,
    Calendar,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    IsNull,
    Like,
    Local,
    Negative,
    Not,
    Or,
    Term,
    Truth,
    fields,
    rounded,
)

Value = bool | int | float | Fraction | str | None
Event = Mapping[str, Value]
Gram = Sequence["Event | None"]
Decide = Callable[[Gram, int], bool]

# Comparisons of two values or, as letters and the engine do it, of NumPy arrays.
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WHOLE = range(-(2**63), 2**63)


# Reasons why arithmetic has no result; data_errors.py has a message for each.
OVERFLOW, ZERO_BY_ZERO, INFINITE, NAN = "overflow", "zero-by-zero", "infinite", "nan"


class ArithmeticFault(Exception):  # noqa: N818  (a fault of the data, which the engine reports)
    """Arithmetic without a result: an integer overflow, or not a number."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Numbers(Protocol):
    """A kind of arithmetic."""

    def constant(self, value: int | Fraction) -> int | float | Fraction:
        """Return the number that represents a constant."""

    def whole(self, value: int) -> int:
        """Return a whole number, or raise an ArithmeticFault if it is out of range."""

    def calculate(
        self, op: str, left: Value, right: Value, *, real: bool
    ) -> int | float | Fraction:
        """Return `left op right`."""


class Exact:
    """Exact arithmetic on integers and fractions of any size."""

    def constant(self, value: int | Fraction) -> int | Fraction:
        """Return the constant itself."""
        return value

    def whole(self, value: int) -> int:
        """Return the number itself: none is out of range."""
        return value

    def calculate(self, op: str, left: Value, right: Value, *, real: bool) -> int | Fraction:
        """Return the exact result."""
        assert isinstance(left, int | Fraction)
        assert isinstance(right, int | Fraction)
        if op == "/":
            if not right:
                raise ArithmeticFault(ZERO_BY_ZERO)
            return Fraction(left) / Fraction(right)
        first, second = (Fraction(left), Fraction(right)) if real else (left, right)
        result: int | Fraction = _BASIC[op](first, second)
        return result


class Floating:
    """Arithmetic on int64 and float64; overflow of integers and NaN are faults."""

    def constant(self, value: int | Fraction) -> int | float:
        """Return a whole number unchanged, and a real number as the nearest float."""
        return value if isinstance(value, int) else rounded(value)

    def whole(self, value: int) -> int:
        """Return a whole number that fits into 64 bits, or raise an ArithmeticFault."""
        if value not in WHOLE:
            raise ArithmeticFault(OVERFLOW)
        return value

    def calculate(self, op: str, left: Value, right: Value, *, real: bool) -> int | float:
        """Return the result in int64 or, for reals, in float64 arithmetic."""
        assert isinstance(left, int | float)
        assert isinstance(right, int | float)
        if not real:
            whole: int = _BASIC[op](left, right)
            return self.whole(whole)
        first, second = float(left), float(right)
        result: float = _divide(first, second) if op == "/" else _BASIC[op](first, second)
        if math.isnan(result):
            if math.isnan(first) or math.isnan(second):
                raise ArithmeticFault(NAN)
            raise ArithmeticFault(INFINITE if first or op != "/" else ZERO_BY_ZERO)
        return result


EXACT = Exact()
FLOATING = Floating()
_BASIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}


def _divide(left: float, right: float) -> float:
    """Return the quotient by IEEE 754, also where Python raises an error."""
    if right:
        return left / right
    if not left or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def holds(
    guard: Guard, gram: Gram, *, first: int | None = None, numbers: Numbers = FLOATING
) -> bool:
    """Tell whether a guard holds of a gram.

    Every atom is evaluated, without short-circuiting, so that no arithmetic fault is missed.
    `first` is the offset of the first event of the stream from the current one: 0 at the first
    event, -1 at the second.

    >>> from wex.spec.types import REAL
    >>> rise = Comparison(">", Field("x", 0, REAL), Field("x", -1, REAL))
    >>> holds(rise, [{"x": 1.0}, {"x": 2.0}]), holds(rise, [None, {"x": 2.0}])
    (True, False)
    """
    match guard:
        case Always(value):
            return value
        case Not(operand):
            return not holds(operand, gram, first=first, numbers=numbers)
        case And(parts):
            return all([holds(part, gram, first=first, numbers=numbers) for part in parts])  # noqa: C419
        case Or(parts):
            return any([holds(part, gram, first=first, numbers=numbers) for part in parts])  # noqa: C419
        case IsFirst(offset):
            return first == offset
    read = [(gram[field.offset - 1], field.name) for field in fields(guard)]
    if any(event is None for event, _ in read):
        return False  # an atom that reads a missing event is false
    if isinstance(guard, IsNull):
        return value_of(guard.field, gram, numbers) is None
    if any(event is not None and event[name] is None for event, name in read):
        return False  # and so is one that reads a NULL
    match guard:
        case Truth(field):
            return bool(value_of(field, gram, numbers))
        case Like(field, pattern):
            return matches(str(value_of(field, gram, numbers)), pattern)
        case Comparison(op, left, right):
            return bool(COMPARE[op](value_of(left, gram, numbers), value_of(right, gram, numbers)))
    raise TypeError(guard)


def decider(guard: Guard) -> Decide:
    """Return a function that tells of a gram whether a guard holds, as `holds` does, and faster.

    Its arguments are those of `holds`: a gram, and the offset of the first event of the stream.
    """
    match guard:
        case Not(operand):
            inner = decider(operand)
            return lambda gram, first: not inner(gram, first)
        case And(parts):
            inners = [decider(part) for part in parts]
            return lambda gram, first: all([inner(gram, first) for inner in inners])  # noqa: C419
        case Or(parts):
            inners = [decider(part) for part in parts]
            return lambda gram, first: any([inner(gram, first) for inner in inners])  # noqa: C419
        case Comparison(op, Field() as left, Field() as right):
            return _field_comparison(COMPARE[op], left, right)
        case Comparison(op, Field() as left, Constant() as right):
            return _constant_comparison(COMPARE[op], left, value_of(right, ()))
        case Comparison(op, Constant() as left, Field() as right):
            return _constant_comparison(COMPARE[MIRRORED[op]], right, value_of(left, ()))
    return lambda gram, first: holds(guard, gram, first=first)


def _field_comparison(compare: Callable[[Any, Any], Any], left: Field, right: Field) -> Decide:
    first_name, second_name = left.name, right.name
    first_at, second_at = left.offset - 1, right.offset - 1

    def decide(gram: Gram, _: int) -> bool:
        first_event, second_event = gram[first_at], gram[second_at]
        if first_event is None or second_event is None:
            return False
        first_value, second_value = first_event[first_name], second_event[second_name]
        if first_value is None or second_value is None:
            return False
        return bool(compare(first_value, second_value))

    return decide


def _constant_comparison(
    compare: Callable[[Any, Any], Any], field: Field, constant: Value
) -> Decide:
    name, at = field.name, field.offset - 1

    def decide(gram: Gram, _: int) -> bool:
        event = gram[at]
        value = None if event is None else event[name]
        return value is not None and bool(compare(value, constant))

    return decide


def truth(guard: Guard, gram: Gram, *, first: int | None = None) -> bool | None:
    """Return whether a guard holds in a measure: as in SQL, None (unknown) if a NULL decides."""
    match guard:
        case Always(value):
            return value
        case IsFirst(offset):
            return first == offset
        case Not(operand):
            inner = truth(operand, gram, first=first)
            return None if inner is None else not inner
        case And(parts) | Or(parts):
            decisive = isinstance(guard, Or)
            truths = [truth(part, gram, first=first) for part in parts]
            if decisive in truths:
                return decisive
            return None if None in truths else not decisive
        case Truth(field):
            flag = value_of(field, gram)
            return None if flag is None else bool(flag)
        case Like(field, pattern):
            text = value_of(field, gram)
            return None if text is None else matches(str(text), pattern)
        case IsNull(field):
            return value_of(field, gram) is None
        case Comparison(op, left, right):
            first_value, second_value = value_of(left, gram), value_of(right, gram)
            if _unknown(first_value) or _unknown(second_value):
                return None
            return bool(COMPARE[op](first_value, second_value))
    raise TypeError(guard)


def _unknown(value: Value) -> bool:
    """Tell whether a value is NULL or NaN."""
    return value is None or value != value  # noqa: PLR0124


def value_of(term: Term, gram: Gram, numbers: Numbers = FLOATING) -> Value:
    """Return the value of a term, or None (NULL) if it reads a NULL or a missing event."""
    match term:
        case Constant(value):
            exact = isinstance(value, str | bool)
            return value if exact else numbers.constant(value)  # type: ignore[arg-type]
        case Field(name, offset):
            event = gram[offset - 1] if -offset < len(gram) else None
            return None if event is None else event[name]
        case Arithmetic(op, left, right):
            first, second = value_of(left, gram, numbers), value_of(right, gram, numbers)
            if first is None or second is None:
                return None
            return numbers.calculate(op, first, second, real=term.kind == "real")
        case Negative(value):
            return _signed(value_of(value, gram, numbers), operator.neg, numbers)
        case Absolute(value):
            return _signed(value_of(value, gram, numbers), abs, numbers)
        case Local(value, zone):
            moment = value_of(value, gram, numbers)
            return None if moment is None else numbers.whole(_local(moment, zone))
        case Calendar(part, value):
            days = value_of(value, gram, numbers)
            return None if days is None else _calendar(part, days)
    raise TypeError(term)


# --- The calendar, which repeats every 400 years, a whole number of weeks

CYCLE_DAYS = 146_097
CYCLE_YEARS = 400
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CYCLE = timedelta(days=CYCLE_DAYS) // timedelta(microseconds=1)
# The years of which Python knows the offset of a zone.
_FIRST, _LAST = (
    (datetime(year, 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) for year in (2, 9990)
)


def _calendar(part: str, days: Value) -> int:
    """Return the year, month or day of the month of a day after 1970-01-01."""
    assert isinstance(days, int)
    cycles, rest = divmod(days, CYCLE_DAYS)
    day = date.fromordinal(_EPOCH_DAY + rest)
    return {"year": day.year + cycles * CYCLE_YEARS, "month": day.month, "day": day.day}[part]


def _local(moment: Value, zone: str) -> int:
    """Return what clocks of a zone show at a moment; both in microseconds.

    Long before the first entry of a zone its offset is constant, long after the last one its rules
    repeat with the calendar.
    """
    assert isinstance(moment, int)
    known = max(moment, _FIRST)
    if known > _LAST:
        known -= (known - _LAST + _CYCLE - 1) // _CYCLE * _CYCLE
    offset = (_EPOCH + timedelta(microseconds=known)).astimezone(ZoneInfo(zone)).utcoffset()
    assert offset is not None
    return moment + offset // timedelta(microseconds=1)


def _signed(value: Value, change: Callable[..., int | float | Fraction], numbers: Numbers) -> Value:
    if value is None:
        return None
    result = change(value)
    return numbers.whole(result) if isinstance(result, int) else result
