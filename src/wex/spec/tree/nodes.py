"""Nodes of the syntax tree: names, expressions and regular expressions."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from decimal import Decimal

    from wex.spec.problems import Span


@dataclass(frozen=True)
class Node:
    """A part of a spec. `span` is its place in the text; nodes built in Python have none."""

    span: Span | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __str__(self) -> str:
        from wex.spec.printer import show  # noqa: PLC0415  (the printer imports the nodes)

        return show(self)

    def children(self) -> Iterator[Node]:
        """Yield the nodes right below this one, in the order of the text."""
        for member in fields(self):
            value = getattr(self, member.name)
            for item in value if isinstance(value, tuple) else (value,):
                if isinstance(item, Node):
                    yield item


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all below it, without recursion."""
    stack = [node]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(top.children())


@dataclass(frozen=True)
class Name(Node):
    """The name of a field, let, window, measure, type, unit or option."""

    text: str


# --- Expressions


class Expr(Node):
    """A predicate, value, measure or formula; the resolver decides which."""


@dataclass(frozen=True)
class Int(Expr):
    """A whole number, its sign included."""

    value: int


@dataclass(frozen=True)
class Real(Expr):
    """A number with a point or an exponent, exact, its sign included."""

    value: Decimal


@dataclass(frozen=True)
class Text(Expr):
    """A string: `'buy'`."""

    value: str


@dataclass(frozen=True)
class Bool(Expr):
    """`true` or `false`."""

    value: bool


@dataclass(frozen=True)
class Duration(Expr):
    """A length of time: `30 seconds`."""

    amount: Int | Real
    unit: Name


@dataclass(frozen=True)
class Moment(Expr):
    """A point in time: `timestamp '2026-01-31 10:00'`, `date '2026-01-31'`."""

    type: Name
    text: str


@dataclass(frozen=True)
class Ref(Expr):
    """A field, let, measure or position by name; `price[-2]` has offset -2.

    In a measure, `down.price` is the field at the events that have a label. The name of the
    events themselves, as in `count(down)`, is empty in an expanded spec.
    """

    name: str
    offset: int = 0
    label: str = ""


@dataclass(frozen=True)
class IsFirst(Expr):
    """`is_first`: the event is the first of its stream; `is_first[-1]`: the one before it is."""

    offset: int = 0
    label: str = ""


@dataclass(frozen=True)
class Mark(Expr):
    """A free position of a formula: `begin` or `end`."""

    which: Literal["begin", "end"]


@dataclass(frozen=True)
class Neg(Expr):
    """`-x`, except for numbers, which include their sign."""

    value: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """`x + y`, `x - y`, `x * y`, `x / y`, `x // 2`, `x % 2`."""

    op: Literal["+", "-", "*", "/", "//", "%"]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Call(Expr):
    """`abs(x)`, `prev(x, 2)`, an aggregate `avg(x) filter [p]`, or in a formula `up(begin)`.

    An aggregate in a predicate may have an offset: `max(x)[-1]` is what it was one event earlier.
    """

    name: Name
    args: tuple[Expr, ...] = ()
    filter: Expr | None = None
    offset: int = 0


CompareOp = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Compare(Expr):
    """A comparison or a chain of them: `0 < x <= 9` has three operands and two operators."""

    operands: tuple[Expr, ...]
    ops: tuple[CompareOp, ...]


@dataclass(frozen=True)
class Between(Expr):
    """`x between 1 and 9`, `x not between 1 and 9`."""

    value: Expr
    low: Expr
    high: Expr
    negated: bool = False


@dataclass(frozen=True)
class In(Expr):
    """`x in (1, 2)`, `x not in (1, 2)`."""

    value: Expr
    options: tuple[Expr, ...]
    negated: bool = False


@dataclass(frozen=True)
class Like(Expr):
    """`name like 'A%'`, `name not like 'A%'`."""

    value: Expr
    pattern: Expr
    negated: bool = False


@dataclass(frozen=True)
class IsNull(Expr):
    """`x is null`, `x is not null`."""

    value: Expr
    negated: bool = False


@dataclass(frozen=True)
class Member(Expr):
    """In a formula: `x + 1 in X`, `x not in X`."""

    position: Expr
    set: Name
    negated: bool = False


@dataclass(frozen=True)
class Not(Expr):
    """`not p`."""

    operand: Expr


@dataclass(frozen=True)
class And(Expr):
    """`p and q and r`, flat."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class Or(Expr):
    """`p or q or r`, flat."""

    parts: tuple[Expr, ...]


@dataclass(frozen=True)
class Implies(Expr):
    """In a formula: `p implies q`."""

    left: Expr
    right: Expr


@dataclass(frozen=True)
class Iff(Expr):
    """In a formula: `p iff q`."""

    left: Expr
    right: Expr


@dataclass(frozen=True)
class Quantified(Expr):
    """In a formula: `exists x: p`, `forall set X: p`."""

    quantifier: Literal["exists", "forall"]
    variable: Name
    body: Expr
    of_set: bool = False


@dataclass(frozen=True)
class Holds(Expr):
    """In a formula: `[x > 1](begin)`, a predicate holds at a position."""

    predicate: Expr
    position: Expr


# --- Regular expressions


class Regex(Node):
    """A set of sequences of grams."""


@dataclass(frozen=True)
class Atom(Regex):
    """One gram that satisfies a predicate: `[x > 1]`, or a boolean name bare, `up`."""

    predicate: Expr


@dataclass(frozen=True)
class Anything(Regex):
    """Any single gram: `any`."""


@dataclass(frozen=True)
class Empty(Regex):
    """The empty sequence: `()`."""


@dataclass(frozen=True)
class Concat(Regex):
    """A concatenation: `r s t`, flat."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Union(Regex):
    """A union: `r | s | t`, flat."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Intersection(Regex):
    """An intersection: `r & s & t`, flat."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Complement(Regex):
    """The complement: `~r`, every sequence that is not in `r`."""

    body: Regex


@dataclass(frozen=True)
class Repeat(Regex):
    """`r{low,high}`; `r*` is {0,}, `r+` is {1,}, `r?` is {0,1}; `r*?` and the like are reluctant."""

    body: Regex
    low: int
    high: int | None
    reluctant: bool = False


@dataclass(frozen=True)
class Labelled(Regex):
    """`down:(fall+)`: measures can name the events that an expression matches."""

    name: Name
    body: Regex
