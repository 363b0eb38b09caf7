"""Regular expressions over grams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.tree.node import Node

if TYPE_CHECKING:
    from wex.spec.tree.expressions import Expr


class Regex(Node):
    """A set of sequences of grams."""


@dataclass(frozen=True)
class Atom(Regex):
    """One gram that satisfies a predicate: `[x > 1]`, or a boolean name bare, `up`."""

    predicate: Expr


@dataclass(frozen=True)
class Anything(Regex):
    """One gram, whatever it is: `any`."""


@dataclass(frozen=True)
class Empty(Regex):
    """The empty sequence: `()`."""


@dataclass(frozen=True)
class Concat(Regex):
    """One after the other: `r s t`, flat."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Union(Regex):
    """One or the other: `r | s | t`, flat."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Intersection(Regex):
    """Both at once: `r & s & t`, flat."""

    parts: tuple[Regex, ...]


@dataclass(frozen=True)
class Complement(Regex):
    """Every sequence that is not in it: `~r`."""

    body: Regex


@dataclass(frozen=True)
class Repeat(Regex):
    """`r{low,high}`; `r*` is {0,}, `r+` is {1,}, `r?` is {0,1}."""

    body: Regex
    low: int
    high: int | None
