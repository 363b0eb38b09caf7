"""AFTER MATCH SKIP TO a variable: whether SQL can fail there.

A query fails if a match has no row of the variable, or if the next match would begin at the first row
of this one. A spec goes on in both cases. So the two mean the same only where the pattern excludes them.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

from wex.spec import tree
from wex.sql.pattern import Choice, Concatenation, Repeat, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from wex.sql.pattern import Pattern

NO_ROW = (
    "SQL fails if a match has no row to go on at, and this pattern allows that",
    "skip to a variable that every match has",
)
SAME_START = (
    "SQL fails if the next match would begin where this one did, and this pattern allows that",
    "skip to a variable that is never the first row of a match",
)


class Found(NamedTuple):
    """Which rows of a match are chosen: the first one, and others behind it."""

    first: bool
    later: bool


Kinds = frozenset[Found | None]  # of the matches of a part; None: it may match no row
EMPTY: Kinds = frozenset([None])


def failure(kinds: Kinds, to: str) -> tuple[str, str] | None:
    """Return the message and the hint, if SQL may fail when it skips to the first or last chosen row."""
    matches = [found for found in kinds if found is not None]
    if not all(found.first or found.later for found in matches):
        return NO_ROW
    if any(found.first and (to == "first" or not found.later) for found in matches):
        return SAME_START
    return None


def of_pattern(pattern: Pattern, chosen: Callable[[str], bool]) -> Kinds:
    """Return the kinds of matches of a pattern; `chosen` tells which variables are."""
    match pattern:
        case Variable(name):
            return frozenset([Found(chosen(name.key), False)])
        case Concatenation(parts):
            return _sequence(of_pattern(part, chosen) for part in parts)
        case Choice(parts):
            return frozenset[Found | None]().union(*(of_pattern(part, chosen) for part in parts))
        case Repeat(part, least, most):
            return _repeated(of_pattern(part, chosen), least, most)
    return EMPTY  # an anchor


def of_expression(regex: tree.Regex, label: str, *, inside: bool = False) -> Kinds:
    """Return the kinds of windows of an expression whose events with a label are chosen."""
    match regex:
        case tree.Labelled(name, body):
            return of_expression(body, label, inside=inside or name.text == label)
        case tree.Atom() | tree.Anything():
            return frozenset([Found(inside, False)])
        case tree.Concat(parts):
            return _sequence(of_expression(part, label, inside=inside) for part in parts)
        case tree.Union(parts):
            kinds = (of_expression(part, label, inside=inside) for part in parts)
            return frozenset[Found | None]().union(*kinds)
        case tree.Repeat(body, low, high):
            return _repeated(of_expression(body, label, inside=inside), low, high)
    return EMPTY


def _sequence(parts: Iterable[Kinds]) -> Kinds:
    return reduce(_then, parts, EMPTY)


def _then(before: Kinds, after: Kinds) -> Kinds:
    return frozenset(_joined(one, two) for one in before for two in after)


def _joined(one: Found | None, two: Found | None) -> Found | None:
    if one is None or two is None:
        return two if one is None else one
    return Found(one.first, one.later or two.first or two.later)


def _repeated(part: Kinds, least: int, most: int | None) -> Kinds:
    reached = _sequence([part] * least)
    kinds, more = reached, 0
    while most is None or least + more < most:
        reached = _then(reached, part)
        if reached <= kinds:
            break
        kinds |= reached
        more += 1
    return kinds
