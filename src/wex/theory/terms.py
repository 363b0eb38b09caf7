"""Guards and values as typed terms over the last k+1 events.

Times are whole numbers here (microseconds or days), so that four kinds of values remain: whole
numbers, reals, texts and booleans. Constants are exact, and constant subterms are folded exactly.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, Self, TypeVar

from wex.spec.types import BOOL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wex.spec.types import Type

Kind = Literal["whole", "real", "text", "bool"]
Op = Literal["=", "!=", "<", "<=", ">", ">="]

# `a op b` is the same as `b MIRRORED[op] a`.
MIRRORED: dict[Op, Op] = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
KINDS: dict[str, Kind] = {"real": "real", "string": "text", "enum": "text", "bool": "bool"}


def kind_of(type_: Type) -> Kind:
    """Return the kind that represents a type; terms never have the type `other`."""
    return KINDS.get(type_.name, "whole")


# --- Values


class Term(ABC):
    """A value that depends on the last k+1 events."""

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Return the kind of its values."""


@dataclass(frozen=True)
class Field(Term):
    """A field of the event `offset` places away: 0 is the current one, -1 the one before."""

    name: str
    offset: int
    type: Type

    @property
    def kind(self) -> Kind:
        return kind_of(self.type)


@dataclass(frozen=True, eq=False)
class Constant(Term):
    """A constant: an int, an exact Fraction for a real, a str or a bool.

    Equal constants are also of one kind: `n + 1` is exact, and `n + 1.0` rounds.
    """

    value: int | Fraction | str | bool

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return self.kind == other.kind and self.value == other.value

    def __hash__(self) -> int:
        return hash((self.kind, self.value))

    @property
    def kind(self) -> Kind:
        match self.value:
            case bool():
                return "bool"
            case int():
                return "whole"
            case str():
                return "text"
        return "real"


@dataclass(frozen=True)
class Arithmetic(Term):
    """`left op right`; real if either side is, or for `/`.

    The right side of `//` and `%` is a whole constant that is not zero. The quotient is rounded
    down, so the remainder has the sign of the divisor.
    """

    op: Literal["+", "-", "*", "/", "//", "%"]
    left: Term
    right: Term

    @property
    def kind(self) -> Kind:
        real = self.op == "/" or "real" in (self.left.kind, self.right.kind)
        return "real" if real else "whole"


@dataclass(frozen=True)
class Negative(Term):
    """`-value`."""

    value: Term

    @property
    def kind(self) -> Kind:
        return self.value.kind


@dataclass(frozen=True)
class Absolute(Term):
    """`abs(value)`."""

    value: Term

    @property
    def kind(self) -> Kind:
        return self.value.kind


@dataclass(frozen=True)
class Local(Term):
    """What the clocks of a zone show at a point in time; both count microseconds."""

    value: Term
    zone: str

    @property
    def kind(self) -> Kind:
        return "whole"


@dataclass(frozen=True)
class Calendar(Term):
    """The year, the month or the day of the month of a day, which is counted from 1970-01-01."""

    part: Literal["year", "month", "day"]
    value: Term

    @property
    def kind(self) -> Kind:
        return "whole"


# --- Guards


class Guard:
    """A condition on the last k+1 events."""


class Symbol(str):
    """The name of a field that only the solver has. It equals no text, so no column has it.

    >>> Symbol("null x") == "null x", Symbol("null x") == Symbol("null x")
    (False, True)
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((Symbol, str.__hash__(self)))

    def __repr__(self) -> str:
        return f"Symbol({str.__repr__(self)})"


class NullFlag(Symbol):
    """The name of the flag that says whether a field is NULL."""

    __slots__ = ()
    _PREFIX = "null "

    def __new__(cls, name: str) -> Self:
        """Return the name of the flag of a field."""
        return super().__new__(cls, f"{cls._PREFIX}{name}")

    @property
    def field(self) -> str:
        """The name of the field."""
        return str(self)[len(self._PREFIX) :]


def null_flag(field: Field) -> Field:
    """Return the bool field that the solver has beside a field that may be NULL."""
    return Field(NullFlag(field.name), field.offset, BOOL)


@dataclass(frozen=True)
class Always(Guard):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Comparison(Guard):
    """An atom: one comparison of two values."""

    op: Op
    left: Term
    right: Term


@dataclass(frozen=True)
class Truth(Guard):
    """An atom: a bool field by itself."""

    field: Field


@dataclass(frozen=True)
class Like(Guard):
    """An atom: a text matches a pattern."""

    field: Field
    pattern: str


@dataclass(frozen=True)
class IsNull(Guard):
    """An atom: a field is NULL."""

    field: Field


@dataclass(frozen=True)
class IsFirst(Guard):
    """An atom: the event `offset` places away is the first of the stream."""

    offset: int


@dataclass(frozen=True)
class Not(Guard):
    """A negation."""

    operand: Guard


@dataclass(frozen=True)
class And(Guard):
    """A conjunction."""

    parts: tuple[Guard, ...]


@dataclass(frozen=True)
class Or(Guard):
    """A disjunction."""

    parts: tuple[Guard, ...]


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: its name, its arguments and their types, its `filter`.

    With a `label` it is about the events that have it.
    """

    name: str
    arguments: tuple[Term | Guard, ...]
    types: tuple[Type, ...]
    filter: Guard | None
    label: str = field(default="", metadata={"left_out": True})  # plans without labels keep bytes


@dataclass(frozen=True)
class RunningTest(Guard):
    """An atom: a predicate with aggregates over the window so far, which depends on its start, too.

    `test` refers to the results of the aggregates as fields `#0`, `#1` and so on, whose offset says
    how many events earlier: it is at most 0. The other fields are those of the events.
    """

    test: Guard
    aggregates: tuple[Aggregate, ...]


RESULT = "#"  # before the number of an aggregate, in the name of the field for its result

Atom = Comparison | Truth | Like | IsNull | IsFirst | RunningTest


def atoms(guard: Guard) -> Iterator[Atom]:
    """Yield the atoms of a guard from left to right, with repetitions."""
    match guard:
        case Comparison() | Truth() | Like() | IsNull() | IsFirst() | RunningTest():
            yield guard
        case Not(operand):
            yield from atoms(operand)
        case And(parts) | Or(parts):
            for part in parts:
                yield from atoms(part)


def fields(node: Guard | Term) -> Iterator[Field]:
    """Yield the fields that a guard or value reads."""
    match node:
        case Field():
            yield node
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            yield from fields(left)
            yield from fields(right)
        case Negative(value) | Absolute(value) | Local(value) | Calendar(_, value):
            yield from fields(value)
        case Truth(field) | Like(field) | IsNull(field):
            yield field
        case Not() | And() | Or():
            for atom in atoms(node):
                yield from fields(atom)
        case RunningTest(test, aggregates):
            yield from (field for field in fields(test) if not field.name.startswith(RESULT))
            for aggregate in aggregates:
                for part in parts_of(aggregate):
                    yield from fields(part)


def parts_of(aggregate: Aggregate) -> Iterator[Term | Guard]:
    """Yield the arguments and the filter of an aggregate."""
    yield from aggregate.arguments
    if aggregate.filter is not None:
        yield aggregate.filter


def offsets(guard: Guard) -> Iterator[int]:
    """Yield the offsets of the events that a guard reads."""
    for atom in atoms(guard):
        if isinstance(atom, IsFirst):
            yield atom.offset
        elif isinstance(atom, RunningTest):
            yield from (inner.offset for inner in atoms(atom.test) if isinstance(inner, IsFirst))
            for aggregate in atom.aggregates:
                for part in parts_of(aggregate):
                    yield from offsets(part) if isinstance(part, Guard) else ()
        yield from (field.offset for field in fields(atom))


def with_null_flags(guard: Guard) -> Guard:
    """Return a guard with a bool field in the place of each test for NULL."""
    match guard:
        case IsNull(field):
            return Truth(null_flag(field))
        case Not(operand):
            return Not(with_null_flags(operand))
        case And(parts):
            return And(tuple(map(with_null_flags, parts)))
        case Or(parts):
            return Or(tuple(map(with_null_flags, parts)))
    return guard


Node = TypeVar("Node", bound=Term | Guard)


def with_fields(node: Node, change: Callable[[Field], Field]) -> Node:
    """Return a term or a guard that reads other fields; those of aggregates stay."""
    match node:
        case Field():
            return change(node)  # type: ignore[return-value]
        case Arithmetic() | Comparison():
            left, right = (with_fields(side, change) for side in (node.left, node.right))
            return replace(node, left=left, right=right)
        case Negative() | Absolute() | Local() | Calendar():
            return replace(node, value=with_fields(node.value, change))
        case Truth() | Like() | IsNull():
            return replace(node, field=change(node.field))
        case Not():
            return replace(node, operand=with_fields(node.operand, change))
        case And() | Or():
            return replace(node, parts=tuple(with_fields(part, change) for part in node.parts))
    return node


TermOrAtom = TypeVar("TermOrAtom", bound=Term | Atom)


def shifted(node: TermOrAtom, by: int) -> TermOrAtom:
    """Return a term or an atom about the events `by` places later.

    >>> from wex.spec.types import REAL
    >>> shifted(Comparison(">", Field("x", -1, REAL), Constant(3)), 1).left.offset
    0
    """
    if isinstance(node, IsFirst):
        return replace(node, offset=node.offset + by)
    return with_fields(node, lambda field: replace(field, offset=field.offset + by))


def rounds(term: Term) -> bool:
    """Tell whether a value is computed by arithmetic on floats, which rounds."""
    match term:
        case Arithmetic(_, left, right):
            return term.kind == "real" or rounds(left) or rounds(right)
        case Negative(value) | Absolute(value) | Local(value) | Calendar(_, value):
            return rounds(value)
    return False


def linear(term: Term) -> bool:
    """Tell whether a value is linear in the fields: it multiplies and divides only by constants."""
    match term:
        case Arithmetic("*", left, right):
            return linear(left) and linear(right) and not (_varies(left) and _varies(right))
        case Arithmetic("/", left, right):
            return linear(left) and isinstance(right, Constant) and right.value != 0
        case Arithmetic(_, left, right):
            return linear(left) and linear(right)
        case Negative(value) | Absolute(value) | Local(value) | Calendar(_, value):
            return linear(value)
    return True


def is_opaque(atom: Atom) -> bool:
    """Tell whether an atom asks about something that the solver does not model.

    That is a pattern, the calendar, or the clock of a zone.
    """
    match atom:
        case Like():
            return True
        case Comparison(_, left, right):
            return _is_opaque(left) or _is_opaque(right)
    return False


def _is_opaque(term: Term) -> bool:
    match term:
        case Local() | Calendar():
            return True
        case Arithmetic(_, left, right):
            return _is_opaque(left) or _is_opaque(right)
        case Negative(value) | Absolute(value):
            return _is_opaque(value)
    return False


def is_open(atom: Atom, *, floating: bool) -> bool:
    """Tell whether an atom is left open: the solver treats it as independent of the others.

    Nonlinear atoms and patterns are left open; with `floating`, also atoms whose arithmetic rounds.
    """
    if isinstance(atom, Like | RunningTest):
        return True
    if not isinstance(atom, Comparison):
        return False
    sides = (atom.left, atom.right)
    if floating and any(rounds(side) or _infinite(side) for side in sides):
        return True
    return not all(map(linear, sides))


def _infinite(term: Term) -> bool:
    """Tell whether a value is a constant that rounds to an infinite float."""
    match term:
        case Constant(Fraction() as value):
            return math.isinf(rounded(value))
        case Negative(value) | Absolute(value):
            return _infinite(value)
    return False


def rounded(value: Fraction) -> float:
    """Return the nearest float, which is infinite beyond the largest finite one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def divides(node: Guard | Term) -> bool:
    """Tell whether something is divided by a value that is not constant, and so may be zero."""
    match node:
        case Arithmetic(op, left, right):
            return (op == "/" and _varies(right)) or divides(left) or divides(right)
        case Negative(value) | Absolute(value) | Local(value) | Calendar(_, value):
            return divides(value)
        case Comparison(_, left, right):
            return divides(left) or divides(right)
    return False


def _varies(term: Term) -> bool:
    return any(True for _ in fields(term))
