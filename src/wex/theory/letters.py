"""Letters: what can be true of a gram, as far as the guards of one window can tell.

A letter is a combination of truth values that the guards can have together. Automata then read
letters, which are small whole numbers; `and`, `or`, `not` of guards are operations on sets of
letters, kept as bit masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING

from wex import limits
from wex.theory.terms import Always, Guard

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Letters:
    """The letters of some guards: row i says which guards are true of letter i."""

    guards: tuple[Guard, ...]
    rows: tuple[tuple[bool, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def everything(self) -> int:
        """Return the set of all letters."""
        return (1 << len(self.rows)) - 1

    @cached_property
    def _index(self) -> dict[tuple[bool, ...], int]:
        return {row: letter for letter, row in enumerate(self.rows)}

    def letter(self, truths: Sequence[bool]) -> int:
        """Return the letter of a gram, given which guards hold of it."""
        return self._index[tuple(truths)]

    def where(self, guard: Guard) -> int:
        """Return the set of letters of which one of the guards is true."""
        if isinstance(guard, Always):
            return self.everything if guard.value else 0
        at = self.guards.index(guard)
        return sum(1 << letter for letter, row in enumerate(self.rows) if row[at])


def letters_of(guards: Iterable[Guard], lookback: int, *, pad: bool = False) -> Letters:
    """Return the letters that grams can have at run time.

    Never too few: atoms whose arithmetic rounds count as independent, because floats leave the
    reals, and under `pad` letters are collected for every number of missing events.
    """
    distinct = tuple(dict.fromkeys(each for each in guards if not isinstance(each, Always)))
    rows: set[tuple[bool, ...]] = set()
    for missing in range(lookback + 1 if pad else 1):
        rows.update(_possible(distinct, lookback, missing))
        limits.require("letters", len(rows), "the combinations of predicates in one window")
    return Letters(distinct, tuple(sorted(rows)))


def _possible(guards: tuple[Guard, ...], lookback: int, missing: int) -> set[tuple[bool, ...]]:
    from wex.theory.solver import UndecidedError, assignments  # noqa: PLC0415  (loads z3)

    if not guards:
        return {()}
    most = limits.current().letters
    found: set[tuple[bool, ...]] = set()
    try:
        for row in assignments(guards, lookback, missing=missing, floating=True):
            found.add(row)
            if len(found) > most:
                break
    except UndecidedError:
        limits.require("letters", 2 ** len(guards), "the combinations of predicates in one window")
        return set(product((False, True), repeat=len(guards)))
    return found
