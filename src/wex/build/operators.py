"""Expressions and regular expressions as Python objects whose operators build syntax nodes.

`Expr` and `Regex` wrap a node; `node_of` and `regex_of` unwrap operands and turn Python constants
into nodes. Mistakes raise the same SpecError as in text.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Integral, Real
from typing import NoReturn, TypeAlias

from wex.spec import tree
from wex.spec.numbers import check_index
from wex.spec.problems import Problems, Source, Span
from wex.spec.vocabulary import COMPARISONS

Operand: TypeAlias = "Expr | Literal"
Pattern: TypeAlias = "Regex | Expr"


class Expr:
    """A value, predicate, measure, position or formula; `spec` checks where each is allowed.

    Comparisons and arithmetic use the operators of Python; `~`, `&` and `|` are not, and, or;
    `x[-1]` looks back. In a regular expression a predicate matches one event that satisfies it.
    """

    __hash__ = None  # type: ignore[assignment]  # `==` builds a predicate
    __iter__ = None  # without this, `for` would call __getitem__ forever

    def __init__(self, node: tree.Expr) -> None:
        self.node = node

    def __repr__(self) -> str:
        return str(self.node)

    def __bool__(self) -> NoReturn:  # noqa: PLE0304
        fail(
            "truth-value",
            str(self.node),
            "a predicate has no truth value in Python",
            "combine predicates with `&`, `|`, `~`; for a chain write w.compare(0, '<', x, '<=', 9)",
        )

    def __getitem__(self, index: int) -> Expr:
        node = self.node
        text = f"{node}[{index}]"
        if not isinstance(index, int):
            hint = f"write how many events to look back, as in {node}[-1]"
            message = f"expected a whole number as index, got {type(index).__name__}"
            fail("lookback-not-constant", text, message, hint)
        if not isinstance(node, tree.Ref | tree.IsFirst | tree.Call) or node.offset:
            hint = f"write w.prev({node}, {-index})"
            fail("lookback-here", text, "only a name or an aggregate can have an index", hint)
        span = Span(len(str(node)) + 1, len(text) - 1)
        problems = Problems(Source(text))
        offset = check_index(problems, str(node), tree.Int(index, span=span))
        problems.raise_if_any()
        if isinstance(node, tree.IsFirst):
            return Expr(tree.IsFirst(offset))
        return Expr(replace(node, offset=offset))

    def __call__(self, position: Expr) -> Expr:
        """Return the formula that this predicate holds at a position."""
        return Expr(tree.holds_at(self.node, position.node))

    # --- Arithmetic and comparisons

    def __neg__(self) -> Expr:
        return Expr(tree.Neg(self.node))

    def __add__(self, other: Operand) -> Expr:
        return Expr(tree.Binary("+", self.node, node_of(other)))

    def __radd__(self, other: Literal) -> Expr:
        return Expr(tree.Binary("+", node_of(other), self.node))

    def __sub__(self, other: Operand) -> Expr:
        return Expr(tree.Binary("-", self.node, node_of(other)))

    def __rsub__(self, other: Literal) -> Expr:
        return Expr(tree.Binary("-", node_of(other), self.node))

    def __mul__(self, other: Operand) -> Expr:
        return Expr(tree.Binary("*", self.node, node_of(other)))

    def __rmul__(self, other: Literal) -> Expr:
        return Expr(tree.Binary("*", node_of(other), self.node))

    def __truediv__(self, other: Operand) -> Expr:
        return Expr(tree.Binary("/", self.node, node_of(other)))

    def __rtruediv__(self, other: Literal) -> Expr:
        return Expr(tree.Binary("/", node_of(other), self.node))

    def __floordiv__(self, other: Operand) -> Expr:
        return Expr(tree.Binary("//", self.node, node_of(other)))

    def __rfloordiv__(self, other: Literal) -> Expr:
        return Expr(tree.Binary("//", node_of(other), self.node))

    def __mod__(self, other: Operand) -> Expr:
        return Expr(tree.Binary("%", self.node, node_of(other)))

    def __rmod__(self, other: Literal) -> Expr:
        return Expr(tree.Binary("%", node_of(other), self.node))

    def __eq__(self, other: Operand) -> Expr:  # type: ignore[override]
        return compare(self, "=", other)

    def __ne__(self, other: Operand) -> Expr:  # type: ignore[override]
        return compare(self, "!=", other)

    def __lt__(self, other: Operand) -> Expr:
        return compare(self, "<", other)

    def __le__(self, other: Operand) -> Expr:
        return compare(self, "<=", other)

    def __gt__(self, other: Operand) -> Expr:
        return compare(self, ">", other)

    def __ge__(self, other: Operand) -> Expr:
        return compare(self, ">=", other)

    def between(self, low: Operand, high: Operand) -> Expr:
        """Return `self between low and high`."""
        return Expr(tree.Between(self.node, node_of(low), node_of(high)))

    def not_between(self, low: Operand, high: Operand) -> Expr:
        """Return `self not between low and high`."""
        return Expr(tree.Between(self.node, node_of(low), node_of(high), negated=True))

    def is_in(self, *options: Operand | SetVariable) -> Expr:
        """Return `self in (…)`, or for a position and a set `self in X`."""
        return self._in(options, negated=False)

    def not_in(self, *options: Operand | SetVariable) -> Expr:
        """Return `self not in (…)`, or for a position and a set `self not in X`."""
        return self._in(options, negated=True)

    def _in(self, options: tuple[Operand | SetVariable, ...], *, negated: bool) -> Expr:
        if len(options) == 1 and isinstance(options[0], SetVariable):
            return Expr(tree.Member(self.node, tree.Name(options[0].name), negated))
        if not options or any(isinstance(option, SetVariable) for option in options):
            hint = "write x.is_in(1, 2) for values, x.is_in(X) for one set"
            fail("wrong-sort", str(self.node), "expected values, or one set", hint)
        values = tuple(node_of(option) for option in options if not isinstance(option, SetVariable))
        return Expr(tree.In(self.node, values, negated))

    def like(self, pattern: Operand) -> Expr:
        """Return `self like 'A%'`."""
        return Expr(tree.Like(self.node, node_of(pattern)))

    def not_like(self, pattern: Operand) -> Expr:
        """Return `self not like 'A%'`."""
        return Expr(tree.Like(self.node, node_of(pattern), negated=True))

    def starts_with(self, start: Operand) -> Expr:
        """Return `starts_with(self, start)`."""
        return Expr(tree.Call(tree.Name("starts_with"), (self.node, node_of(start))))

    def is_null(self) -> Expr:
        """Return `self is null`."""
        return Expr(tree.IsNull(self.node))

    def is_not_null(self) -> Expr:
        """Return `self is not null`."""
        return Expr(tree.IsNull(self.node, negated=True))

    # --- Logic

    def __invert__(self) -> Expr:
        return Expr(tree.Not(self.node))

    def __and__(self, other: Expr) -> Expr:
        if not isinstance(other, Expr):
            return NotImplemented
        return Expr(tree.flat(tree.And, (self.node, other.node)))

    def __or__(self, other: Expr) -> Expr:
        if not isinstance(other, Expr):
            return NotImplemented
        return Expr(tree.flat(tree.Or, (self.node, other.node)))

    def implies(self, other: Expr) -> Expr:
        """Return the formula `self implies other`."""
        return Expr(tree.Implies(self.node, other.node))

    def iff(self, other: Expr) -> Expr:
        """Return the formula `self iff other`."""
        return Expr(tree.Iff(self.node, other.node))

    # --- Regular expressions: one event that satisfies the predicate

    def __rshift__(self, other: Pattern) -> Regex:
        return Regex(regex_of(self)) >> other

    def star(self) -> Regex:
        """Return `self*`, zero or more."""
        return Regex(regex_of(self)).star()

    def plus(self) -> Regex:
        """Return `self+`, one or more."""
        return Regex(regex_of(self)).plus()

    def optional(self) -> Regex:
        """Return `self?`, zero or one."""
        return Regex(regex_of(self)).optional()

    def times(self, low: int, high: int | None = None) -> Regex:
        """Return `self{low}`, or `self{low,high}`."""
        return Regex(regex_of(self)).times(low, high)

    def at_least(self, low: int) -> Regex:
        """Return `self{low,}`."""
        return Regex(regex_of(self)).at_least(low)

    def complement(self) -> Regex:
        """Return `~[self]`: every sequence except a single event that satisfies it."""
        return Regex(regex_of(self)).complement()

    def label(self, name: str) -> Regex:
        """Return `name:[self]`: measures can name the event."""
        return Regex(regex_of(self)).label(name)

    # --- Measures

    def at(self, label: str) -> Expr:
        """Return this value at the events with a label: `t.price.at("down")` is `down.price`."""
        return Expr(tree.at_label(self.node, label))

    def filter(self, predicate: Expr) -> Expr:
        """Return this aggregate over only those events that satisfy a predicate."""
        if not isinstance(self.node, tree.Call):
            hint = "write w.avg(t.price).filter(t.price > 0)"
            fail("filter-here", str(self.node), "only an aggregate can have a filter", hint)
        filters = [] if self.node.filter is None else [self.node.filter]
        condition = tree.flat(tree.And, [*filters, node_of(predicate)])
        return Expr(replace(self.node, filter=condition))


class Let(Expr):
    """A named predicate or value; pass it to `spec` together with the windows that use it."""

    def __init__(self, name: str, value: Operand) -> None:
        super().__init__(tree.Ref(name))
        self.item = tree.Let(tree.Name(name), node_of(value))


class Regex:
    """A regular expression: `>>` is concatenation, `|` union, `&` intersection."""

    def __init__(self, node: tree.Regex) -> None:
        self.node = node

    def __repr__(self) -> str:
        return str(self.node)

    def __rshift__(self, other: Pattern) -> Regex:
        return Regex(tree.flat(tree.Concat, (self.node, regex_of(other))))

    def __or__(self, other: Pattern) -> Regex:
        return Regex(tree.flat(tree.Union, (self.node, regex_of(other))))

    def __ror__(self, other: Expr) -> Regex:
        return Regex(tree.flat(tree.Union, (regex_of(other), self.node)))

    def __and__(self, other: Pattern) -> Regex:
        return Regex(tree.flat(tree.Intersection, (self.node, regex_of(other))))

    def __rand__(self, other: Expr) -> Regex:
        return Regex(tree.flat(tree.Intersection, (regex_of(other), self.node)))

    def __invert__(self) -> NoReturn:
        fail(
            "wrong-sort",
            str(self.node),
            "`~` expects a predicate, got a regular expression",
            "write r.complement() for all other sequences, (~p).star() for events that are not p",
        )

    def star(self) -> Regex:
        """Return `self*`, zero or more."""
        return Regex(tree.Repeat(self.node, 0, None))

    def plus(self) -> Regex:
        """Return `self+`, one or more."""
        return Regex(tree.Repeat(self.node, 1, None))

    def optional(self) -> Regex:
        """Return `self?`, zero or one."""
        return Regex(tree.Repeat(self.node, 0, 1))

    def times(self, low: int, high: int | None = None) -> Regex:
        """Return `self{low}`, or `self{low,high}`."""
        return Regex(tree.Repeat(self.node, low, low if high is None else high))

    def at_least(self, low: int) -> Regex:
        """Return `self{low,}`."""
        return Regex(tree.Repeat(self.node, low, None))

    def reluctant(self) -> Regex:
        """Return `self?` of a quantifier, as `p.star().reluctant()` is `p*?`: fewer before more."""
        if not isinstance(self.node, tree.Repeat) or self.node.reluctant:
            hint = "write p.star().reluctant(), p.times(2, 5).reluctant()"
            fail("reluctant-here", str(self.node), "expected a greedy quantifier", hint)
        return Regex(replace(self.node, reluctant=True))

    def complement(self) -> Regex:
        """Return `~self`: every sequence that does not match."""
        return Regex(tree.Complement(self.node))

    def label(self, name: str) -> Regex:
        """Return `name:(self)`: measures can name the events that match."""
        return Regex(tree.Labelled(tree.Name(name), self.node))


class SetVariable:
    """A set of positions, bound by `exists_set` or `forall_set`: `x.is_in(X)`."""

    def __init__(self, name: str) -> None:
        self.name = name


def node_of(value: Operand) -> tree.Expr:
    """Return the node of an expression or a constant."""
    if isinstance(value, Regex):
        hint = "use regular expressions in match, after, pairs and assume"
        fail("wrong-sort", repr(value), "expected an expression, got a regular expression", hint)
    return value.node if isinstance(value, Expr) else constant(value)


def regex_of(value: Pattern) -> tree.Regex:
    """Return the node of a regular expression; a predicate matches one event that satisfies it."""
    if isinstance(value, Regex):
        return value.node
    if not isinstance(value, Expr):
        hint = "write a predicate such as t.price > 3, or w.any"
        message = f"expected a regular expression, got {type(value).__name__}"
        fail("wrong-sort", repr(value), message, hint)
    return tree.Atom(value.node)


def compare(*chain: Operand) -> Expr:
    """Return a comparison or a chain of them: `compare(0, "<", x, "<=", 9)`."""
    ops = chain[1::2]
    if (
        len(chain) < 3
        or len(chain) % 2 == 0
        or not all(isinstance(op, str) and op in COMPARISONS for op in ops)
    ):
        hint = "alternate values and comparisons: w.compare(0, '<', x, '<=', 9)"
        fail("wrong-sort", repr(chain), "expected a chain of comparisons", hint)
    return Expr(tree.Compare(tuple(map(node_of, chain[::2])), ops))  # type: ignore[arg-type]


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
    """Return the node of a Python constant."""
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
            hint = "use a number, string, bool, datetime, date or timedelta"
            message = f"expected an expression or a constant, got {type(value).__name__}"
            fail("wrong-sort", repr(value), message, hint)


def _real(value: Decimal) -> tree.Expr:
    if not value.is_finite():
        hint = "remove the comparison, or compare with a large number"
        fail("number-out-of-range", str(value), "expected a finite number", hint)
    return tree.Real(value)


def _duration(value: timedelta) -> tree.Duration:
    unit = next(name for name, size in _UNITS.items() if not value % size)
    return tree.Duration(tree.Int(value // _UNITS[unit]), tree.Name(unit))


def fail(code: str, text: str, message: str, hint: str) -> NoReturn:
    """Raise a SpecError that points at a text."""
    problems = Problems(Source(text))
    problems.add(code, Span(0, max(1, len(text))), message, hint)
    problems.raise_if_any()
    raise AssertionError
