"""What a clock proves of the events to come: values that only grow, and predicates that stay as they are.

The first order column of a stream, its *clock*, never falls. Everything else about the next event is
unknown, except what it reads of earlier events. So `ts - ts[-1] > 30 minutes`, once it would be true of
an event at some time, is true of every later one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from wex.theory.terms import (
    MIRRORED,
    RESULT,
    Absolute,
    Always,
    And,
    Arithmetic,
    Calendar,
    Comparison,
    Constant,
    Field,
    IsFirst,
    Local,
    Negative,
    Not,
    Or,
    RunningTest,
    fields,
    offsets,
    with_fields,
)

if TYPE_CHECKING:
    from fractions import Fraction

    from wex.theory.terms import Guard, Op, Term

Direction = Literal[
    -1, 0, 1, None
]  # falling, constant, rising with the clock; None: it may be anything

NEVER = Always(value=False)


def proof(guard: Guard, clock: str, *, of: bool = True) -> Guard:
    """Return a guard that, if it is true of an event at some time, proves another of all later events.

    It proves that `guard` is true of them, or, with `of=False`, that it is false. Of the next
    event it reads nothing but the clock. In a predicate with aggregates it refers to their results.
    """
    match guard:
        case Always(value):
            return Always(value == of)
        case Not(operand):
            return proof(operand, clock, of=not of)
        case And(parts) | Or(parts):
            proofs = [proof(part, clock, of=of) for part in parts]
            return _all(proofs) if isinstance(guard, And) == of else _any(proofs)
        case RunningTest():
            return proof(_with_earlier_firsts(guard), clock, of=of)
        case IsFirst(0):
            return Always(not of)  # an event to come has one before it
    if all(offset < 0 for offset in offsets(guard)):
        return guard if of else Not(guard)
    return _later(guard, clock, of=of) if isinstance(guard, Comparison) else NEVER


def _with_earlier_firsts(guard: RunningTest) -> Guard:
    """Return the test of a predicate with aggregates; `first`, once it is known, stays as it is."""

    def earlier(field: Field) -> Field:
        if field.offset or not field.name.startswith(RESULT):
            return field
        aggregate = guard.aggregates[int(field.name[len(RESULT) :])]
        return replace(field, offset=-1) if aggregate.name == "first" else field

    return with_fields(guard.test, earlier)


def _later(atom: Comparison, clock: str, *, of: bool) -> Guard:
    """Return the proof of a comparison that reads the next event."""
    op, left, right = atom.op, atom.left, atom.right
    rising = _difference(direction(left, clock), direction(right, clock))
    if rising is None:
        return NEVER
    if rising < 0:
        op, left, right = MIRRORED[op], right, left
    # Now the left side rises, compared with the right one.
    stays: dict[tuple[Op, bool], Op] = {
        (">", True): ">", (">=", True): ">=", ("!=", True): ">",
        ("<", False): ">=", ("<=", False): ">", ("=", False): ">",
    }  # fmt: skip
    following = stays.get((op, of))
    return NEVER if following is None else Comparison(following, left, right)


def direction(term: Term, clock: str) -> Direction:
    """Tell how a value of the next event changes with its clock.

    >>> from wex.spec.types import TIMESTAMP
    >>> now, before = Field("ts", 0, TIMESTAMP), Field("ts", -1, TIMESTAMP)
    >>> direction(Arithmetic("-", before, now), "ts")
    -1
    >>> direction(Arithmetic("-", now, Arithmetic("%", now, Constant(60))), "ts")  # floor(ts, 60)
    1
    """
    if all(field.offset < 0 for field in fields(term)):
        return 0
    match term:
        case Field(name, 0):
            return 1 if name == clock and not name.startswith(RESULT) else None
        case Negative(value):
            return _turned(direction(value, clock))
        case Arithmetic("-", left, Arithmetic("%", moved, Constant(int(step)))) if (
            step > 0 and _is_shifted(moved, left)
        ):
            return direction(left, clock)  # the beginning of a bucket
        case Arithmetic("+", left, right):
            return _difference(direction(left, clock), _turned(direction(right, clock)))
        case Arithmetic("-", left, right):
            return _difference(direction(left, clock), direction(right, clock))
        case Arithmetic("*", left, Constant(value)) | Arithmetic("*", Constant(value), left):
            return _scaled(direction(left, clock), value)  # type: ignore[arg-type]
        case Arithmetic("/" | "//", left, Constant(value)):
            return _scaled(direction(left, clock), value)  # type: ignore[arg-type]
        case Calendar("year", value):
            return direction(value, clock)
        case Absolute() | Local() | Calendar() | Arithmetic():
            pass  # clocks of a zone go back once a year
    return None


def _is_shifted(moved: Term, term: Term) -> bool:
    """Tell whether a term is another one, or that one less a constant."""
    match moved:
        case Arithmetic("-", inner, Constant()):
            return inner == term
    return moved == term


def _difference(left: Direction, right: Direction) -> Direction:
    """Return the direction of a difference of two values."""
    if left is None or right is None or left == right != 0:
        return None
    return left or _turned(right)


def _turned(way: Direction) -> Direction:
    return None if way is None else -way


def _scaled(way: Direction, by: int | Fraction) -> Direction:
    return way if by > 0 else _turned(way) if by < 0 else None


def _all(parts: list[Guard]) -> Guard:
    if NEVER in parts:
        return NEVER
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _any(parts: list[Guard]) -> Guard:
    parts = [part for part in parts if part != NEVER]
    if len(parts) < 2:
        return parts[0] if parts else NEVER
    return Or(tuple(parts))
