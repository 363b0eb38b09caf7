"""MATCH_RECOGNIZE by its definition: a backtracking matcher on Python values, with NULL as None.

It shares nothing with `src/wex`. Patterns are tried in the order of preference of the standard:
parts from left to right, alternatives in the order written, one more iteration before stopping
(reluctant: after). Conditions see the rows of the match so far (RUNNING), measures the whole match (FINAL).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

Row = dict[str, Any]


# --- Queries


@dataclass(frozen=True)
class Var:
    name: str


@dataclass(frozen=True)
class Seq:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Alt:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Permute:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Exclude:
    part: Any


@dataclass(frozen=True)
class Anchor:
    sign: str


@dataclass(frozen=True)
class Rep:
    part: Any
    least: int
    most: int | None
    reluctant: bool


@dataclass(frozen=True)
class Col:
    """A column of the last or first row of a variable, `offset` rows on, then `shift` rows earlier."""

    name: str
    var: str | None = None
    kind: str = ""  # "", "LAST" or "FIRST"
    offset: int = 0
    shift: int = 0


@dataclass(frozen=True)
class Lit:
    value: Any


@dataclass(frozen=True)
class Arith:
    sign: str
    left: Any
    right: Any


@dataclass(frozen=True)
class Agg:
    name: str
    var: str | None
    column: str | None


@dataclass(frozen=True)
class Case:
    condition: Any
    then: Any
    otherwise: Any


@dataclass(frozen=True)
class Coalesce:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Classifier:
    pass


@dataclass(frozen=True)
class Cmp:
    sign: str
    left: Any
    right: Any


@dataclass(frozen=True)
class And:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Not:
    part: Any


@dataclass(frozen=True)
class IsNull:
    value: Any
    negated: bool


@dataclass(frozen=True)
class IsTruth:
    part: Any
    truth: bool
    negated: bool


@dataclass(frozen=True)
class Between:
    value: Any
    low: Any
    high: Any
    negated: bool


@dataclass(frozen=True)
class In:
    value: Any
    items: tuple[Any, ...]
    negated: bool


@dataclass(frozen=True)
class Like:
    value: Any
    pattern: str
    negated: bool


@dataclass(frozen=True)
class Distinct:
    left: Any
    right: Any
    negated: bool


@dataclass(frozen=True)
class Query:
    pattern: Any
    define: dict[str, Any]
    measures: dict[str, Any] = field(default_factory=dict)
    skip: tuple[str, str | None] = ("past", None)  # past, next, first or last, with a variable
    subsets: dict[str, tuple[str, ...]] = field(default_factory=dict)


class SkipError(Exception):
    """SQL fails: the next match would begin where this one did, or nowhere."""


# --- Matching


def matches(query: Query, rows: list[Row]) -> list[tuple[int, int, dict[str, Any]]]:
    """Return the matches: first and last row, and the measures."""
    return [(start, end, values) for start, end, values, _ in _matches(query, rows)]


def _matches(query: Query, rows: list[Row]) -> Iterator[tuple[int, int, dict[str, Any], list[str]]]:
    start = 0
    while start < len(rows):
        matcher = _Matcher(query, rows, start)
        way = next(matcher.ways(query.pattern, start, ()), None)
        if way is None:
            start += 1
            continue
        end, labels = way
        assert end > start, "an empty match"
        view = View(query, rows, start, list(labels))
        values = {name: value_of(one, view) for name, one in query.measures.items()}
        yield start, end - 1, values, list(labels)
        start = _next_start(query, start, end, list(labels))


def _next_start(query: Query, start: int, end: int, labels: list[str]) -> int:
    to, variable = query.skip
    if to in {"past", "next"}:
        return end if to == "past" else start + 1
    names = query.subsets.get(variable or "", (variable,))
    places = [start + n for n, label in enumerate(labels) if label in names]
    if not places or (target := places[0 if to == "first" else -1]) == start:
        raise SkipError
    return target


class _Matcher:
    def __init__(self, query: Query, rows: list[Row], start: int) -> None:
        self.query = query
        self.rows = rows
        self.start = start

    def ways(
        self, part: Any, at: int, labels: tuple[str, ...]
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Return the ways to match a part from a row, the preferred first: the next row, all labels."""
        match part:
            case Var(name):
                if at < len(self.rows) and self.holds(name, (*labels, name)):
                    yield at + 1, (*labels, name)
            case Seq(parts):
                yield from self.sequence(parts, at, labels)
            case Alt(parts):
                for one in parts:
                    yield from self.ways(one, at, labels)
            case Permute(parts):
                for order in permutations(parts):
                    yield from self.sequence(order, at, labels)
            case Exclude(inner):
                yield from self.ways(inner, at, labels)
            case Anchor(sign):
                if at == (0 if sign == "^" else len(self.rows)):
                    yield at, labels
            case Rep():
                yield from self.repeated(part, 0, at, labels)

    def sequence(
        self, parts: tuple[Any, ...], at: int, labels: tuple[str, ...]
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        if not parts:
            yield at, labels
            return
        for after, longer in self.ways(parts[0], at, labels):
            yield from self.sequence(parts[1:], after, longer)

    def repeated(
        self, part: Rep, done: int, at: int, labels: tuple[str, ...]
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        if part.reluctant and done >= part.least:
            yield at, labels
        if part.most is None or done < part.most:
            for after, longer in self.ways(part.part, at, labels):
                if after > at or done < part.least:
                    yield from self.repeated(part, done + 1, after, longer)
        if not part.reluctant and done >= part.least:
            yield at, labels

    def holds(self, name: str, labels: tuple[str, ...]) -> bool:
        condition = self.query.define.get(name)
        if condition is None:
            return True
        return truth_of(condition, View(self.query, self.rows, self.start, list(labels))) is True


# --- Values


@dataclass
class View:
    """A match, complete or so far: its first row and the labels of its rows."""

    query: Query
    rows: list[Row]
    start: int
    labels: list[str]

    def places(self, variable: str | None) -> list[int]:
        if variable is None:
            return list(range(self.start, self.start + len(self.labels)))
        names = self.query.subsets.get(variable, (variable,))
        return [self.start + n for n, label in enumerate(self.labels) if label in names]


ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul}
COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def value_of(node: Any, view: View) -> Any:
    """Return a value; None is NULL."""
    match node:
        case Lit(value):
            return value
        case Col(name, var, kind, offset, shift):
            places = view.places(var)
            if len(places) <= offset:
                return None
            place = (places[offset] if kind == "FIRST" else places[-1 - offset]) - shift
            return view.rows[place][name] if 0 <= place < len(view.rows) else None
        case Arith(sign, left, right):
            a, b = value_of(left, view), value_of(right, view)
            return None if a is None or b is None else ARITHMETIC[sign](a, b)
        case Agg(name, var, column):
            return _aggregate(
                name, [view.rows[place][column] if column else 1 for place in view.places(var)]
            )
        case Case(condition, then, otherwise):
            return value_of(then if truth_of(condition, view) is True else otherwise, view)
        case Coalesce(parts):
            return next((v for one in parts if (v := value_of(one, view)) is not None), None)
        case Classifier():
            return view.labels[-1]
    raise TypeError(node)


def _aggregate(name: str, values: list[Any]) -> Any:
    values = [value for value in values if value is not None]
    if name == "COUNT":
        return len(values)
    if not values:
        return None
    if name == "AVG":
        return sum(values) / len(values)
    folds: dict[str, Callable[[list[Any]], Any]] = {"SUM": sum, "MIN": min, "MAX": max}
    return folds[name](values)


def truth_of(node: Any, view: View) -> Any:
    """Return true, false, or None for unknown."""
    match node:
        case Cmp(sign, left, right):
            a, b = value_of(left, view), value_of(right, view)
            return None if a is None or b is None else COMPARISONS[sign](a, b)
        case And(parts):
            return _both([truth_of(part, view) for part in parts])
        case Or(parts):
            return _not(_both([_not(truth_of(part, view)) for part in parts]))
        case Not(part):
            return _not(truth_of(part, view))
        case IsNull(value, negated):
            return (value_of(value, view) is None) != negated
        case IsTruth(part, wanted, negated):
            return (truth_of(part, view) is wanted) != negated
        case Between(value, low, high, negated):
            result = _both(
                [truth_of(Cmp(">=", value, low), view), truth_of(Cmp("<=", value, high), view)]
            )
            return _not(result) if negated else result
        case In(value, items, negated):
            result = truth_of(Or(tuple(Cmp("=", value, item) for item in items)), view)
            return _not(result) if negated else result
        case Like(value, pattern, negated):
            text = value_of(value, view)
            if text is None:
                return None
            regex = "".join({"%": ".*", "_": "."}.get(one, re.escape(one)) for one in pattern)
            return (re.fullmatch(regex, text, re.DOTALL) is not None) != negated
        case Distinct(left, right, negated):
            return (value_of(left, view) != value_of(right, view)) != negated
        case Col():
            return value_of(node, view)
        case Lit(value):
            return value
    raise TypeError(node)


def _not(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _both(truths: list[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True
