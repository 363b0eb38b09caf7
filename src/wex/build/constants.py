"""What a program hands over, as nodes: constants, patterns, and the error when it cannot be one."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import NoReturn

from wex.spec import tree
from wex.spec.problems import Problems
from wex.spec.source import Source, Span

Literal = bool | int | float | Decimal | str | datetime | date | timedelta

_UNITS = {
    "weeks": timedelta(weeks=1),
    "days": timedelta(days=1),
    "hours": timedelta(hours=1),
    "minutes": timedelta(minutes=1),
    "seconds": timedelta(seconds=1),
    "milliseconds": timedelta(milliseconds=1),
    "microseconds": timedelta(microseconds=1),
}


def constant(value: Literal) -> tree.Expr:  # noqa: RET503
    """Return the node of a constant."""
    match value:
        case bool():
            return tree.Bool(value)
        case Integral():
            return tree.Int(int(value))
        case Decimal():
            return _real(value)
        case Real():
            return _real(Decimal(repr(float(value))))
        case str():
            return tree.Text(value)
        case datetime():
            return tree.Moment(tree.Name("timestamp"), value.isoformat(sep=" "))
        case date():
            return tree.Moment(tree.Name("date"), value.isoformat())
        case timedelta():
            return _duration(value)
        case _:
            hint = "constants are numbers, strings, bool, datetime, date and timedelta"
            what = f"a {type(value).__name__} cannot stand in a spec"
            fail("wrong-sort", repr(value), what, hint)


def _real(value: Decimal) -> tree.Expr:
    if not value.is_finite():
        hint = "leave the comparison out, or compare with a large number"
        fail("number-out-of-range", str(value), "a spec has no infinite numbers", hint)
    return tree.Real(value)


def _duration(value: timedelta) -> tree.Duration:
    unit = next(name for name, size in _UNITS.items() if not value % size)
    return tree.Duration(tree.Int(value // _UNITS[unit]), tree.Name(unit))


def fail(code: str, text: str, message: str, hint: str) -> NoReturn:
    """Raise a SpecError about a piece of a spec, shown as text."""
    where = Span(0, max(1, len(text)))
    problems = Problems(Source(text))
    problems.add(code, where, message, hint)
    problems.raise_if_any()
    raise AssertionError
