"""Letters: what can be true of a gram, as far as the guards of one window can tell.

A letter is a combination of truth values that the guards can have together. Automata then read
letters, which are small whole numbers; `and`, `or`, `not` of guards are operations on sets of
letters, kept as bit masks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex import limits
from wex.cached import cached_property
from wex.theory.combinations import TooManyRowsError, combinations
from wex.theory.terms import Always, And, Guard, Not, Or

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
        return self.true_of[self.guards.index(guard)]

    @cached_property
    def true_of(self) -> list[int]:
        """Return for each guard the set of letters of which it is true."""
        columns = zip(*reversed(self.rows), strict=True)
        return [int("".join("1" if true else "0" for true in each), 2) for each in columns]


Literal = tuple[int, bool]  # a guard, by number, and whether it holds


def cover(letters: Letters, chosen: int) -> list[list[Literal]]:
    """Return conjunctions of guards that together hold of exactly the chosen letters.

    Combinations of guards that no gram has are left to chance, which makes them shorter.
    """
    everything = letters.everything
    masks = [(everything & ~each, each) for each in letters.true_of]
    cubes: list[tuple[list[Literal], int]] = []  # with the letters of which all literals hold
    left = chosen
    while left:
        letter = left & -left  # the first that is not covered
        cube: list[Literal] = [(at, bool(true & letter)) for at, (_, true) in enumerate(masks)]
        # Negated guards go first: what is left reads better.
        cube.sort(key=lambda each: (each[1], -each[0]))
        # A literal goes if those that stay and those that are still to be asked suffice.
        rest = [everything]
        for at, holds in reversed(cube):
            rest.append(rest[-1] & masks[at][holds])
        stays, found = everything, []
        for literal in cube:
            rest.pop()
            if stays & rest[-1] & ~chosen:
                stays &= masks[literal[0]][literal[1]]
                found.append(literal)
        cubes.append((sorted(found), stays))
        left &= ~stays
    for cube_and_mask in list(cubes):
        others = [each for each in cubes if each is not cube_and_mask]
        covered = 0
        for _, mask in others:
            covered |= mask
        if others and not chosen & ~covered:
            cubes = others
    return [literals for literals, _ in cubes]


def guard_of(letters: Letters, chosen: int) -> Guard:
    """Return a short guard that holds of exactly the chosen letters."""
    if chosen == letters.everything:
        return Always(True)
    plain, negated = cover(letters, chosen), cover(letters, letters.everything & ~chosen)
    shorter = sum(map(len, negated)) < sum(map(len, plain))
    found = Or(
        tuple(
            And(
                tuple(
                    letters.guards[at] if holds else Not(letters.guards[at]) for at, holds in cube
                )
            )
            for cube in (negated if shorter else plain)
        )
    )
    return Not(found) if shorter else found


def letters_of(guards: Iterable[Guard], lookback: int, *, pad: bool = False) -> Letters:
    """Return the letters that grams can have at run time.

    Never too few: atoms whose arithmetic rounds count as independent, because floats leave the
    reals, and under `pad` letters are collected for every number of missing events.
    """
    distinct = tuple(dict.fromkeys(each for each in guards if not isinstance(each, Always)))
    rows: set[tuple[bool, ...]] = set()
    most = limits.current().letters
    for missing in range(lookback + 1 if pad else 1):
        try:
            rows.update(combinations(distinct, lookback, missing=missing, floating=True, most=most))
        except TooManyRowsError:
            limits.require("letters", most + 1, _WHAT)
        limits.require("letters", len(rows), _WHAT)
    return Letters(distinct, tuple(sorted(rows)))


_WHAT = "the combinations of predicates in one window"
