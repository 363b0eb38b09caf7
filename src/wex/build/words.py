"""The words of the language that Python has no operator for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.build.expressions import Expr, Let, Operand, Regex, SetVariable, node_of
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from decimal import Decimal

    from wex.build.constants import Literal


def let(name: str, value: Expr) -> Let:
    """Return a named predicate or value."""
    return Let(name, value)


def literal(value: Literal) -> Expr:
    """Return a constant, where Python would not see that one is meant."""
    return Expr(node_of(value))


def duration(amount: float | Decimal, unit: str) -> Expr:
    """Return a length of time: `duration(30, "seconds")`."""
    number = node_of(amount)
    assert isinstance(number, tree.Int | tree.Real)
    return Expr(tree.Duration(number, tree.Name(unit)))


def events(count: int) -> tree.Within:
    """Return a number of events, for `within`."""
    return tree.Within(tree.Int(count), tree.Name("events"))


def prev(value: Expr, steps: int | None = None) -> Expr:
    """Return a value as it was one event, or so many, earlier."""
    args = (value.node,) if steps is None else (value.node, tree.Int(steps))
    return Expr(tree.Call(tree.Name("prev"), args))


def measured(name: str) -> Expr:
    """Return a measure by name, for `having`."""
    return Expr(tree.Ref(name))


def call(name: str, *args: Operand) -> Expr:
    """Return a call of a function or aggregate by name."""
    return Expr(tree.Call(tree.Name(name), tuple(map(node_of, args))))


def exists(name: str, body: Callable[[Expr], Expr]) -> Expr:
    """Return `exists name: body`; the body is given the position."""
    return Expr(tree.Quantified("exists", tree.Name(name), body(Expr(tree.Ref(name))).node))


def forall(name: str, body: Callable[[Expr], Expr]) -> Expr:
    """Return `forall name: body`; the body is given the position."""
    return Expr(tree.Quantified("forall", tree.Name(name), body(Expr(tree.Ref(name))).node))


def exists_set(name: str, body: Callable[[SetVariable], Expr]) -> Expr:
    """Return `exists set name: body`; the body is given the set."""
    inner = body(SetVariable(name)).node
    return Expr(tree.Quantified("exists", tree.Name(name), inner, of_set=True))


def forall_set(name: str, body: Callable[[SetVariable], Expr]) -> Expr:
    """Return `forall set name: body`; the body is given the set."""
    inner = body(SetVariable(name)).node
    return Expr(tree.Quantified("forall", tree.Name(name), inner, of_set=True))


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
