"""Functions, aggregates, quantifiers and constants of the language."""

from __future__ import annotations

from contextvars import ContextVar
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal

from wex.build.operators import Expr, Let, Operand, Regex, SetVariable, fail, node_of
from wex.spec import tree
from wex.spec.types import unit_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.build.operators import Literal as Constant


def let(name: str, value: Operand) -> Let:
    """Return a named predicate or value."""
    return Let(name, value)


def literal(value: Constant) -> Expr:
    """Return a Python value as an expression, for example to start one: `literal(0) < x`."""
    return Expr(node_of(value))


def duration(amount: float | Decimal, unit: str) -> Expr:
    """Return a length of time: `duration(30, "seconds")`."""
    number = node_of(amount)
    if not isinstance(number, tree.Int | tree.Real):
        fail(
            "wrong-sort",
            repr(amount),
            f"expected a number of units, got {type(amount).__name__}",
            'write w.duration(5, "minutes")',
        )
    return Expr(tree.Duration(number, tree.Name(unit_name(number, unit))))


def floor(value: Operand, step: Operand, offset: Operand | None = None) -> Expr:
    """Return the beginning of a bucket: `floor(t.ts, "10 minutes")`, `floor(t.n, 10)`."""
    args = [step] if offset is None else [step, offset]
    return call("floor", value, *map(_length, args))


def _length(value: Operand) -> Operand:
    """Return a text such as "10 minutes" as a duration; anything else as it is."""
    if not isinstance(value, str):
        return value
    amount, _, unit = value.strip().partition(" ")
    try:
        return duration(Decimal(amount) if "." in amount else int(amount), unit.strip())
    except (ValueError, InvalidOperation):
        hint = 'write w.floor(t.ts, "10 minutes")'
        fail("wrong-sort", value, "expected a number and a unit of time", hint)


def label(name: str | None = None) -> Expr:
    """Return `label()`, the innermost label of an event; with a name the events that have it.

    >>> from wex import build as w
    >>> w.count(w.label("down")), w.collect(w.label())
    (count(down), collect(label()))
    """
    return call("label") if name is None else Expr(tree.Ref(name))


def events(count: int) -> tree.Within:
    """Return a number of events, for `within`."""
    return tree.Within(tree.Int(count), tree.Name("events"))


def prev(value: Operand, steps: int | None = None) -> Expr:
    """Return the value of one event earlier, or of `steps` events earlier."""
    return call("prev", value) if steps is None else call("prev", value, steps)


def measured(name: str) -> Expr:
    """Return a measure by name, for `having`."""
    return Expr(tree.Ref(name))


def call(name: str, *args: Operand) -> Expr:
    """Return a call of a function or aggregate by name."""
    return Expr(tree.Call(tree.Name(name), tuple(map(node_of, args))))


def exists(name: str, body: Callable[[Expr], Expr]) -> Expr:
    """Return `exists name: body`; `body` is called with the position."""
    return _quantified("exists", name, lambda: body(Expr(tree.Ref(name))))


def forall(name: str, body: Callable[[Expr], Expr]) -> Expr:
    """Return `forall name: body`; `body` is called with the position."""
    return _quantified("forall", name, lambda: body(Expr(tree.Ref(name))))


def exists_set(name: str, body: Callable[[SetVariable], Expr]) -> Expr:
    """Return `exists set name: body`; `body` is called with the set."""
    return _quantified("exists", name, lambda: body(SetVariable(name)), of_set=True)


def forall_set(name: str, body: Callable[[SetVariable], Expr]) -> Expr:
    """Return `forall set name: body`; `body` is called with the set."""
    return _quantified("forall", name, lambda: body(SetVariable(name)), of_set=True)


_bound: ContextVar[tuple[str, ...]] = ContextVar("bound", default=())


def _quantified(
    quantifier: Literal["exists", "forall"],
    name: str,
    body: Callable[[], Expr],
    *,
    of_set: bool = False,
) -> Expr:
    """Return a quantified formula; reject a name that an outer quantifier binds."""
    if name in _bound.get():
        hint = "give the inner variable another name"
        fail("rebinding", name, f"`{name}` is already bound by an outer quantifier", hint)
    token = _bound.set((*_bound.get(), name))
    try:
        inner = node_of(body())
    finally:
        _bound.reset(token)
    return Expr(tree.Quantified(quantifier, tree.Name(name), inner, of_set))


def _named(name: str) -> Callable[..., Expr]:
    def function(*args: Operand) -> Expr:
        return call(name, *args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return `{name}(…)`."
    return function


any = Regex(tree.Anything())
empty = Regex(tree.Empty())
is_first = Expr(tree.IsFirst())
begin = Expr(tree.Mark("begin"))
end = Expr(tree.Mark("end"))

abs = _named("abs")
lag = _named("lag")
year = _named("year")
month = _named("month")
day = _named("day")
weekday = _named("weekday")
hour = _named("hour")
minute = _named("minute")
second = _named("second")
starts_with = _named("starts_with")
count = _named("count")
sum = _named("sum")
avg = _named("avg")
min = _named("min")
max = _named("max")
first = _named("first")
last = _named("last")
var = _named("var")
stddev = _named("stddev")
collect = _named("collect")
count_distinct = _named("count_distinct")
count_if = _named("count_if")
some = _named("some")
every = _named("every")
min_by = _named("min_by")
max_by = _named("max_by")
nth = _named("nth")
median = _named("median")
percentile = _named("percentile")
mode = _named("mode")
