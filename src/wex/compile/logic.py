"""Formulas prepared for compiling: from the syntax tree to a small logic, which `formulas` compiles.

In this logic there is no `implies`, `not` occurs only in atoms, every variable has a distinct name,
and quantifiers are moved inwards, past the parts that do not use their variable (miniscoping). No
automata are built here; `wex.compile.formulas` does that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata.tracks import Variable
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BEGIN = Variable("begin")
OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


@dataclass(frozen=True)
class Place:
    """The position `offset` events after a variable, or after `end` if `variable` is None."""

    variable: Variable | None
    offset: int


class Logic:
    """A formula."""


@dataclass(frozen=True)
class Constant(Logic):
    """True or false."""

    value: bool


@dataclass(frozen=True)
class Letter(Logic):
    """A predicate holds at a place, or does not."""

    predicate: tree.Expr
    place: Place
    holds: bool = True


@dataclass(frozen=True)
class Order(Logic):
    """`left op right`: a comparison of two places as whole numbers."""

    op: str
    left: Place
    right: Place


@dataclass(frozen=True)
class Member(Logic):
    """A place is in a set, or is not."""

    place: Place
    set: Variable
    holds: bool = True


@dataclass(frozen=True)
class Both(Logic):
    """All parts hold."""

    parts: tuple[Logic, ...]


@dataclass(frozen=True)
class Either(Logic):
    """At least one part holds."""

    parts: tuple[Logic, ...]


@dataclass(frozen=True)
class Same(Logic):
    """Both parts hold, or neither does."""

    left: Logic
    right: Logic


@dataclass(frozen=True)
class Some(Logic):
    """The body holds for some position or set."""

    variable: Variable
    body: Logic


@dataclass(frozen=True)
class Every(Logic):
    """The body holds for every position or set."""

    variable: Variable
    body: Logic


def logic_of(formula: tree.Expr) -> Logic:
    """Return a formula of an expanded spec, prepared for compiling."""
    return _Converter().convert(formula, {}, positive=True)


class _Converter:
    def __init__(self) -> None:
        self.count = 0

    def convert(self, node: tree.Expr, bound: Mapping[str, Variable], *, positive: bool) -> Logic:
        """Return a formula, or its negation if it is not `positive`."""

        def inner(part: tree.Expr) -> Logic:
            return self.convert(part, bound, positive=positive)

        match node:
            case tree.Bool(value):
                return Constant(value == positive)
            case tree.Not(operand):
                return self.convert(operand, bound, positive=not positive)
            case tree.And(parts):
                return (conjunction if positive else disjunction)(list(map(inner, parts)))
            case tree.Or(parts):
                return (disjunction if positive else conjunction)(list(map(inner, parts)))
            case tree.Implies(left, right):
                return inner(tree.Or((tree.Not(left), right)))
            case tree.Iff(left, right):
                one = self.convert(left, bound, positive=True)
                return Same(one, self.convert(right, bound, positive=positive))
            case tree.Quantified(quantifier, name, body, of_set):
                self.count += 1
                variable = Variable(f"{name.text}{self.count}", of_set)
                renamed = {**bound, name.text: variable}
                body_logic = self.convert(body, renamed, positive=positive)
                some = (quantifier == "exists") == positive
                return narrowed(Some if some else Every, variable, body_logic)
            case tree.Compare((left, right), (op,)):
                chosen = op if positive else OPPOSITE[op]
                return Order(chosen, _place(left, bound), _place(right, bound))
            case tree.Member(position, name):
                return Member(_place(position, bound), bound[name.text], positive)
            case tree.Holds() | tree.Call():
                predicate, position = tree.held(node)
                return Letter(predicate, _place(position, bound), positive)
        raise TypeError(node)


def _place(node: tree.Expr, bound: Mapping[str, Variable]) -> Place:
    match node:
        case tree.Mark("begin"):
            return Place(BEGIN, 0)
        case tree.Mark():
            return Place(None, 0)
        case tree.Ref(name):
            return Place(bound[name], 0)
        case tree.Binary(op, inner, tree.Int(steps)):
            place = _place(inner, bound)
            return Place(place.variable, place.offset + (steps if op == "+" else -steps))
    raise TypeError(node)


def conjunction(parts: list[Logic]) -> Logic:
    """Return the conjunction of some parts, flat and without constants."""
    return _flat(Both, parts, neutral=True)


def disjunction(parts: list[Logic]) -> Logic:
    """Return the disjunction of some parts, flat and without constants."""
    return _flat(Either, parts, neutral=False)


def _flat(kind: type[Both] | type[Either], parts: list[Logic], *, neutral: bool) -> Logic:
    distinct: dict[Logic, None] = {}
    for part in parts:
        distinct.update(dict.fromkeys(part.parts if isinstance(part, kind) else [part]))
    distinct.pop(Constant(neutral), None)
    if Constant(not neutral) in distinct:
        return Constant(not neutral)
    if not distinct:
        return Constant(neutral)
    return next(iter(distinct)) if len(distinct) == 1 else kind(tuple(distinct))


def narrowed(kind: type[Some] | type[Every], variable: Variable, body: Logic) -> Logic:
    """Return a quantified formula with the quantifier moved inwards as far as possible."""
    if variable not in free(body):
        return body  # every window has a position and a set
    through, past = (Either, Both) if kind is Some else (Both, Either)
    again: Callable[[list[Logic]], Logic] = disjunction if kind is Some else conjunction
    others: Callable[[list[Logic]], Logic] = conjunction if kind is Some else disjunction
    if isinstance(body, through):
        return again([narrowed(kind, variable, part) for part in body.parts])
    if isinstance(body, past):
        inside = [part for part in body.parts if variable in free(part)]
        outside = [part for part in body.parts if variable not in free(part)]
        if outside:
            return others([*outside, narrowed(kind, variable, others(inside))])
    return kind(variable, body)


def free(node: Logic) -> frozenset[Variable]:
    """Return the free variables of a formula."""
    match node:
        case Letter(_, place):
            return _of(place)
        case Order(_, left, right):
            return _of(left) | _of(right)
        case Member(place, chosen):
            return _of(place) | {chosen}
        case Both(parts) | Either(parts):
            return frozenset().union(*map(free, parts))
        case Same(left, right):
            return free(left) | free(right)
        case Some(variable, body) | Every(variable, body):
            return free(body) - {variable}
    return frozenset()


def _of(place: Place) -> frozenset[Variable]:
    return frozenset() if place.variable is None else frozenset({place.variable})


def shown(node: Logic) -> str:
    """Return a formula as text, for errors."""
    match node:
        case Constant(value):
            return str(value).lower()
        case Letter(predicate, place, holds):
            return f"{'' if holds else 'not '}[{predicate}]({_shown(place)})"
        case Order(op, left, right):
            return f"{_shown(left)} {op} {_shown(right)}"
        case Member(place, chosen, holds):
            return f"{_shown(place)} {'in' if holds else 'not in'} {_name(chosen)}"
        case Both(parts):
            return "(" + " and ".join(map(shown, parts)) + ")"
        case Either(parts):
            return "(" + " or ".join(map(shown, parts)) + ")"
        case Same(left, right):
            return f"({shown(left)} iff {shown(right)})"
        case Some(variable, body):
            return f"exists {_quantified(variable)}: {shown(body)}"
        case Every(variable, body):
            return f"forall {_quantified(variable)}: {shown(body)}"
    raise TypeError(node)


def _name(variable: Variable) -> str:
    return variable.name.rstrip("0123456789") or variable.name


def _quantified(variable: Variable) -> str:
    return f"set {_name(variable)}" if variable.is_set else _name(variable)


def _shown(place: Place) -> str:
    name = "end" if place.variable is None else _name(place.variable)
    if not place.offset:
        return name
    return f"{name} {'+' if place.offset > 0 else '-'} {abs(place.offset)}"
