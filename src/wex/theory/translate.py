"""Translation of expanded expressions of the syntax tree to typed terms."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.patterns import matches, prefix_pattern
from wex.spec.types import (
    BOOL,
    CALENDAR_PARTS,
    CLOCK_PARTS,
    DATE,
    DURATION,
    INT,
    REAL,
    STRING,
    TIMESTAMP,
    UNITS,
    Type,
    arithmetic,
    microseconds,
    read_moment,
)
from wex.theory import terms
from wex.theory.evaluate import WHOLE, value_of
from wex.theory.terms import Constant, Guard, Term

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DAY = UNITS["day"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def guard_of(expr: tree.Expr, fields: Mapping[str, Type]) -> Guard:
    """Return the guard of a predicate.

    >>> from wex.spec.types import REAL
    >>> guard_of(tree.Compare((tree.Ref("x"), tree.Int(3)), (">",)), {"x": REAL}).op
    '>'
    """
    match expr:
        case tree.Bool(value):
            return terms.Always(value)
        case tree.Ref(name, offset):
            return terms.Truth(terms.Field(name, offset, fields[name]))
        case tree.IsFirst(offset):
            return terms.IsFirst(offset)
        case tree.Not(operand):
            return terms.Not(guard_of(operand, fields))
        case tree.And(parts):
            return terms.And(tuple(guard_of(part, fields) for part in parts))
        case tree.Or(parts):
            return terms.Or(tuple(guard_of(part, fields) for part in parts))
        case tree.Like(value, tree.Text(pattern)):
            return _like(value, pattern, fields)
        case tree.Call(tree.Name("starts_with"), (value, tree.Text(start))):
            return _like(value, prefix_pattern(start), fields)
        case tree.IsNull(tree.Ref(name, offset)):
            return terms.IsNull(terms.Field(name, offset, fields[name]))
        case tree.Compare((left, right), (op,)):
            return _comparison(op, term_of(left, fields), term_of(right, fields))
    raise TypeError(expr)


def _like(value: tree.Expr, pattern: str, fields: Mapping[str, Type]) -> Guard:
    """Return the guard of a pattern: of an enum, one comparison for each text that matches."""
    if isinstance(value, tree.Text):
        return terms.Always(matches(value.value, pattern))
    assert isinstance(value, tree.Ref)
    field = terms.Field(value.name, value.offset, fields[value.name])
    if not field.type.values:
        return terms.Like(field, pattern)
    texts = [text for text in field.type.values if matches(text, pattern)]
    equal = [terms.Comparison("=", field, Constant(text)) for text in texts]
    if not equal:  # false, but an atom that reads the event
        return terms.Comparison("!=", field, field)
    return equal[0] if len(equal) == 1 else terms.Or(tuple(equal))


def _comparison(op: terms.Op, left: Term, right: Term) -> Guard:
    """Return a comparison; a whole constant compared with a real becomes a real constant."""
    if "real" in (left.kind, right.kind):
        left, right = _as_real(left), _as_real(right)
    return terms.Comparison(op, left, right)


def _as_real(term: Term) -> Term:
    if isinstance(term, Constant) and isinstance(term.value, int):
        return Constant(Fraction(term.value))
    return term


def term_of(expr: tree.Expr, fields: Mapping[str, Type]) -> Term:
    """Return the term of a value."""
    match expr:
        case tree.Int() | tree.Text() | tree.Bool():
            return Constant(expr.value)
        case tree.Real(value):
            return Constant(Fraction(value))
        case tree.Duration(amount, unit):
            length = microseconds(amount, unit.text)
            assert length is not None
            return Constant(length)
        case tree.Moment(type_, text):
            moment = read_moment(type_.text, text)
            assert moment is not None
            return Constant(count_of(moment))
        case tree.Ref(name, offset):
            return terms.Field(name, offset, fields[name])
        case tree.Neg(value):
            return _negative(term_of(value, fields))
        case tree.Call(tree.Name("abs"), (value,)):
            return _absolute(term_of(value, fields))
        case tree.Call(tree.Name("floor"), (value, *steps)):
            return _floor(value, steps, fields)
        case tree.Call(tree.Name(part), (value, *zone)):
            return _part(part, value, zone, fields)
        case tree.Binary():
            return _binary(expr, fields)
    raise TypeError(expr)


def _floor(value: tree.Expr, steps: Sequence[tree.Expr], fields: Mapping[str, Type]) -> Term:
    """Return `x - (x - offset) % step`; steps of a date are counted in days."""
    whole = [term_of(step, fields) for step in steps]
    if type_of(value, fields) == DATE:
        whole = list(map(_days, whole))
    step, offset = (*whole, Constant(0))[:2]
    assert isinstance(step, Constant)
    assert isinstance(offset, Constant)
    assert isinstance(step.value, int)
    assert isinstance(offset.value, int)
    shift = Constant(offset.value % step.value)  # less can overflow
    term = term_of(value, fields)
    moved = _fold("-", term, shift) if shift.value else term
    return _fold("-", term, _fold("%", moved, step))


def _part(
    part: str, value: tree.Expr, zone: Sequence[tree.Expr], fields: Mapping[str, Type]
) -> Term:
    """Return a part of the clock or the calendar."""
    term = term_of(value, fields)
    if zone:
        (name,) = zone
        assert isinstance(name, tree.Text)
        term = _constant_or(terms.Local(term, name.value))
    if part in CLOCK_PARTS:
        return _fold("%", _fold("//", term, Constant(UNITS[part])), Constant(_MOST[part]))
    days = term if type_of(value, fields) == DATE else _fold("//", term, Constant(DAY))
    if part == "weekday":  # 1970-01-01 was a Thursday, day 4 of its week
        return _fold("+", _fold("%", _fold("+", days, Constant(3)), Constant(7)), Constant(1))
    return _constant_or(terms.Calendar(part, days))  # type: ignore[arg-type]


_MOST = {"hour": 24, "minute": 60, "second": 60}


def part_of(term: Term) -> tuple[str, Term] | None:
    """Return which part of the clock or the calendar a term is, and of which moment; None: of none.

    >>> ts = terms.Field("ts", -1, TIMESTAMP)
    >>> [part_of(_part(part, tree.Ref("ts", -1), (), {"ts": TIMESTAMP})) == (part, ts) for part in ("hour", "weekday")]
    [True, True]
    """
    match term:
        case terms.Calendar(part, days):
            moment = _day_of(days)
            return None if moment is None else (part, moment)
        case terms.Arithmetic(
            "+",
            terms.Arithmetic("%", terms.Arithmetic("+", days, Constant(3)), Constant(7)),
            Constant(1),
        ):
            moment = _day_of(days)
            return None if moment is None else ("weekday", moment)
        case terms.Arithmetic("%", terms.Arithmetic("//", moment, Constant(size)), Constant(most)):
            parts = [name for name in CLOCK_PARTS if (UNITS[name], _MOST[name]) == (size, most)]
            return (parts[0], moment) if parts and _is(moment, TIMESTAMP) else None
    return None


def _day_of(days: Term) -> Term | None:
    """Return the moment of which a term is the day, a date or a timestamp; None: it is no day."""
    match days:
        case terms.Arithmetic("//", moment, Constant(size)) if size == DAY:
            return moment if _is(moment, TIMESTAMP) else None
    return days if _is(days, DATE) else None


def _is(moment: Term, type_: Type) -> bool:
    match moment:
        case terms.Field():
            return moment.type == type_
        case terms.Local():
            return type_ == TIMESTAMP
    return False


def _constant_or(term: terms.Local | terms.Calendar) -> Term:
    """Return the value of a term whose argument is constant; otherwise the term."""
    if not isinstance(term.value, Constant):
        return term
    value = value_of(term, [])
    assert isinstance(value, int)
    return Constant(value)


def count_of(moment: datetime | date) -> int:
    """Return the microseconds of a timestamp or the days of a date since 1970.

    A timestamp without a zone is taken as UTC.

    >>> count_of(date(1970, 1, 2)), count_of(datetime(1970, 1, 1, 0, 0, 1))
    (1, 1000000)
    """
    if not isinstance(moment, datetime):
        return moment.toordinal() - EPOCH.toordinal()
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH
    return since.days * DAY + since.seconds * 1_000_000 + since.microseconds


def _binary(expr: tree.Binary, fields: Mapping[str, Type]) -> Term:
    types = type_of(expr.left, fields), type_of(expr.right, fields)
    first, second = term_of(expr.left, fields), term_of(expr.right, fields)
    if DATE in types:
        if types == (DATE, DATE):  # the difference is in days, and a duration in microseconds
            return _fold("*", _fold("-", first, second), Constant(DAY))
        first, second = (
            term if type_ == DATE else _days(term)
            for term, type_ in zip((first, second), types, strict=True)
        )
    return _fold(expr.op, first, second)


def _days(term: Term) -> Term:
    assert isinstance(term, Constant)
    assert isinstance(term.value, int)
    return Constant(term.value // DAY)


def _fold(op: str, left: Term, right: Term) -> Term:
    """Return `left op right`, folded if both are constants."""
    if isinstance(left, Constant) and isinstance(right, Constant):
        value = _computed(op, left.value, right.value)
        constant = None if value is None else _in_range(value)
        if constant is not None:
            return constant
    return terms.Arithmetic(op, left, right)  # type: ignore[arg-type]


def _computed(op: str, left: object, right: object) -> int | Fraction | None:
    assert isinstance(left, int | Fraction)
    assert isinstance(right, int | Fraction)
    if op == "/":
        return Fraction(left) / Fraction(right) if right else None
    results: dict[str, Callable[[], int | Fraction]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "//": lambda: left // right,
        "%": lambda: left % right,
    }
    return results[op]()


def _negative(term: Term) -> Term:
    if isinstance(term, Constant) and isinstance(term.value, int | Fraction):
        return _in_range(-term.value) or terms.Negative(term)
    return terms.Negative(term)


def _absolute(term: Term) -> Term:
    if isinstance(term, Constant) and isinstance(term.value, int | Fraction):
        return _in_range(-term.value if term.value < 0 else term.value) or terms.Absolute(term)
    return terms.Absolute(term)


def _in_range(value: int | Fraction) -> Constant | None:
    """Return a constant, or None for a whole number that does not fit into 64 bits."""
    fits = isinstance(value, Fraction) or value in WHOLE
    return Constant(value) if fits else None


def type_of(expr: tree.Expr, fields: Mapping[str, Type]) -> Type:
    """Return the type of a value that the resolver has accepted."""
    match expr:
        case tree.Ref(name):
            return fields[name]
        case tree.Int():
            return INT
        case tree.Real():
            return REAL
        case tree.Text():
            return STRING
        case tree.Bool():
            return BOOL
        case tree.Duration():
            return DURATION
        case tree.Moment(tree.Name("date")):
            return DATE
        case tree.Moment():
            return TIMESTAMP
        case tree.Call(tree.Name(part)) if part in (*CALENDAR_PARTS, *CLOCK_PARTS):
            return INT
        case tree.Neg(value) | tree.Call(_, (value, *_)):
            return type_of(value, fields)
        case tree.Binary(op, left, right):
            result = arithmetic(op, type_of(left, fields), type_of(right, fields))
            assert result is not None
            return result
    raise TypeError(expr)
