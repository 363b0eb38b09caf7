"""Which starts can never win, because others always do: for `keep longest` and `keep disjoint`.

Of windows that end together the one with the earliest start is kept. So a start is *dominated* by
earlier ones of its stream if at each of its ends, however the stream goes on, one of them ends, too: not
always the same one. Under `keep disjoint` it is enough if one ends with it or before, and for a later
start, if it ends before: the window that is kept then removes all.

A state *misses* a continuation if no window of a start in it ends with the last event, or under
`keep disjoint` with any event. A start can win against others if there is a continuation that it does
not miss, but that all earlier ones miss, and that all others miss without its last event: under
`keep longest` later ones do not matter. If it cannot, it never has a window, whatever becomes of the others:

- Another one may itself be dropped. Where it would have beaten the start, the one that beats all does, too,
  and that one is not dropped.
- A start stays dominated as all go on, because a letter before a continuation makes another continuation.
  Under `keep longest` no start is removed for a window, under `keep disjoint` all are.
- It does not matter whether a start that comes to its state later takes its place: against that one are
  the same others, and more of them earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex import limits
from wex.automata.explore import explore
from wex.errors import LimitError
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

MOST_STATES = 64  # of an automaton: a set of them is a word of 64 bits
MOST_SETS = 512  # that are missed; if there are more, starts are compared two at a time
MOST_STEPS = 1 << 16  # from such a set by a class to the next one
ALL = (1 << MOST_STATES) - 1  # a set of all states


@dataclass(frozen=True, eq=False)
class Dominance:
    """Against which other starts a start can win.

    A start in a state can win if the states of earlier ones are in `earlier[state, n]` and those of later
    ones in `later[state, n]`, for one n: the largest such pairs of sets, again and again where there are
    fewer. A set has a bit for each state.
    """

    earlier: NDArray[np.uint64]
    later: NDArray[np.uint64]

    @cached_property
    def _alone(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
        """Return by state of a start the states that dominate it by themselves, as earlier and as later ones."""
        earlier, later = (
            ~np.bitwise_or.reduce(sets, axis=1) for sets in (self.earlier, self.later)
        )
        return earlier, later

    @cached_property
    def _pairs(self) -> list[list[tuple[int, int]]]:
        rows = zip(self.earlier.tolist(), self.later.tolist(), strict=True)
        return [list(dict.fromkeys(zip(*row, strict=True))) for row in rows]

    def dominated(
        self, earlier: NDArray[np.uint64], own: NDArray[np.int64], later: NDArray[np.uint64]
    ) -> NDArray[np.bool_]:
        """Tell which starts are dominated, by the sets of states of those before and after, and by their own."""
        before, after = self._alone
        dominated: NDArray[np.bool_] = (earlier & before[own] | later & after[own]) != 0
        if self.earlier.shape[1] > 1:  # else one start dominates, or none does
            rest = np.flatnonzero(~dominated & (earlier | later != 0))
            wins = np.zeros(len(rest), dtype=np.bool_)
            for first, last in zip(self.earlier.T, self.later.T, strict=True):
                beaten = earlier[rest] & ~first[own[rest]] | later[rest] & ~last[own[rest]]
                wins |= beaten == 0
            dominated[rest] = ~wins
        return dominated

    def left(self, order: Sequence[int]) -> list[int]:
        """Return the states of starts that are not dominated, given all of them, the earliest first."""
        left, earlier, later = [], 0, sum(1 << state for state in order)
        for state in order:
            later &= ~(1 << state)
            if any(not (earlier & ~first | later & ~last) for first, last in self._pairs[state]):
                left.append(state)
            earlier |= 1 << state
        return left


def dominance(
    moves: ArrayLike,
    final: ArrayLike,
    until: Sequence[bool] | NDArray[np.bool_] | None,
    *,
    or_end: bool,
    cuts: bool,
) -> Dominance | None:
    """Return which starts of a window automaton dominate which others; None if it has too many states.

    `moves` is by state and class, with -1 for no state; `until` tells by class whether an event confirms
    the windows that end before it. With `cuts` a window removes all starts.

    In `[a] any* [b]`, a start that has read its first event ends with every b; in `[c] [b]` with the next event:

    >>> moves = [[1, -1, 2], [1, 3, 1], [-1, 4, -1], [1, 3, 1], [-1, -1, -1]]
    >>> found = dominance(moves, [False, False, False, True, True], None, or_end=False, cuts=False)
    >>> found.left([1, 2]), found.left([2, 1])
    ([1], [2, 1])

    If there are too many missed sets, later starts dominate none, and if there are still too many, a start counts
    as dominated only if a single earlier one dominates it. That is transitive, too, and stays as starts go
    on. Which of these applies depends on the automaton only, and not on the numbers of its states and classes.
    """
    table = np.asarray(moves, dtype=np.int64)
    states = len(table)
    if states > MOST_STATES:
        return None
    automaton = _Automaton.of(table, final, until, or_end=or_end, cuts=cuts)
    missed = (automaton.missed(later=True) if cuts else None) or automaton.missed(later=False)
    if missed is None:
        sets = [_masks(~alone) for alone in automaton.pairs().T[:-1]]
        winning = [(earlier, np.full_like(earlier, ALL)) for earlier in sets]
    else:
        winning = [_largest(*_won(*missed, state)) for state in range(states)]
    most = max([1, *(len(earlier) for earlier, _ in winning)])
    found = Dominance(*np.empty((2, states, most), dtype=np.uint64))
    for state, (earlier, later) in enumerate(winning):
        # Where no continuation is left, the first start stays.
        found.earlier[state] = np.resize(earlier if len(earlier) else np.uint64(0), most)
        found.later[state] = np.resize(later if len(later) else np.uint64(ALL), most)
    return found


@dataclass(frozen=True, eq=False)
class _Automaton:
    """A window automaton over the classes that differ; its last state is that of starts that are gone."""

    table: NDArray[np.int64]  # by state and class
    ends: NDArray[np.bool_]
    until: NDArray[np.bool_] | None
    or_end: bool
    cuts: bool

    @classmethod
    def of(
        cls,
        moves: NDArray[np.int64],
        final: ArrayLike,
        until: ArrayLike | None,
        *,
        or_end: bool,
        cuts: bool,
    ) -> _Automaton:
        """Return an automaton with one more state, which has no end."""
        states, classes = moves.shape
        confirms = np.zeros(classes, dtype=np.int64) if until is None else np.asarray(until)
        *rows, confirms = np.unique(np.vstack([moves, confirms]), axis=1)
        table = np.vstack([*rows, np.full_like(confirms, states)])
        ends = np.append(np.asarray(final, dtype=np.bool_), False)
        table[table < 0] = states
        return cls(table, ends, None if until is None else confirms > 0, or_end, cuts)

    # --- Any number of earlier starts

    def missed(self, *, later: bool) -> tuple[NDArray[np.uint64], NDArray[np.uint64]] | None:
        """Return which states miss each continuation, and which miss it without its last event.

        Or None if there are too many such sets: the states of the reversed automaton, made deterministic,
        as a continuation grows at its beginning. If `later` is false, no event before the last is missed.
        """
        most = min(MOST_SETS, MOST_STEPS // self.table.shape[1])
        initial = [(mask, ALL) for mask in self._shortest()]

        def follow(pair: tuple[int, int]) -> list[tuple[int, int]]:
            whole, before = pair
            longer = self._longer(whole)
            return list(
                zip(longer, self._longer(before) if later else [ALL] * len(longer), strict=True)
            )

        try:
            with limits.raised(states=most):
                pairs, _ = explore(initial, follow)
        except LimitError:
            return None
        wholes, befores = np.array(pairs, dtype=np.uint64).reshape(-1, 2).T
        return wholes, befores

    def _shortest(self) -> list[int]:
        """Return what misses the shortest continuations: an event, or with `until` one that confirms."""
        if self.until is None:
            return self._before(~self.ends)
        return self._masks(~self.ends) if self.or_end or self.until.any() else []

    def _longer(self, mask: int) -> list[int]:
        """Return what misses a continuation with one more event than one that is missed by some states."""
        missing = np.append(_members(mask, len(self.ends) - 1), True)
        if self.until is None and self.cuts:
            missing &= ~self.ends
        return self._before(missing)

    def _before(self, missing: NDArray[np.bool_]) -> list[int]:
        """Return for each class what misses a continuation that begins with it, by what misses the rest."""
        before = missing[self.table.T]
        if self.until is not None and self.cuts:
            before[self.until] &= ~self.ends
        return self._masks(before)

    def _masks(self, sets: NDArray[np.bool_]) -> list[int]:
        """Return sets of states as numbers, without states that no start is in after an event."""
        masks: list[int] = _masks(sets & self._entered).tolist()
        return masks

    @cached_property
    def _entered(self) -> NDArray[np.bool_]:
        return np.isin(np.arange(len(self.ends)), self.table[:-1])

    # --- One earlier start

    def pairs(self) -> NDArray[np.bool_]:
        """Tell which states of an earlier start (rows) dominate which ones of a later start (columns)."""
        states = len(self.ends)
        earlier, later = self.ends[:, np.newaxis], self.ends[np.newaxis, :]

        def decided(wins: NDArray[np.bool_]) -> NDArray[np.bool_]:
            """Return which pairs are dominated if windows end in their states now."""
            together: NDArray[np.bool_] = wins & (earlier | ~later)
            return together | earlier if self.cuts else together

        wins = np.ones((states, states), dtype=np.bool_)
        wins[-1, :-1] = False  # a start that is gone dominates nothing, and is always dominated
        if self.until is not None and self.or_end:
            wins &= earlier | ~later
        while True:
            before = wins
            for cls, column in enumerate(self.table.T):
                to = np.ix_(column, column)
                if self.until is None:
                    wins = wins & decided(wins)[to]
                else:
                    wins = wins & (decided(wins[to]) if self.until[cls] else wins[to])
            if (wins == before).all():
                return wins


def _masks(sets: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return sets of states, given as rows of truth values, as numbers with a bit for each state."""
    rows = np.atleast_2d(sets)[:, :-1]
    bits = np.zeros((len(rows), MOST_STATES), dtype=np.bool_)
    bits[:, : rows.shape[1]] = rows
    return np.packbits(bits, axis=1, bitorder="little").view("<u8").ravel().astype(np.uint64)


def _members(mask: int, states: int) -> NDArray[np.bool_]:
    """Return the truth values of a set of states, given as a number."""
    content = np.frombuffer(mask.to_bytes(MOST_STATES // 8, "little"), dtype=np.uint8)
    return np.unpackbits(content, count=states, bitorder="little").astype(np.bool_)


def _won(
    wholes: NDArray[np.uint64], befores: NDArray[np.uint64], state: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the pairs of sets for continuations with whose last event a start in a state ends first."""
    bit = np.uint64(1 << state)
    won = (wholes & bit == 0) & (befores & bit != 0)
    return wholes[won], befores[won]


def _largest(
    first: NDArray[np.uint64], second: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the pairs of sets that no other pair contains."""
    outside = first[:, np.newaxis] & ~first | second[:, np.newaxis] & ~second
    largest = (outside == 0).sum(axis=1) == 1  # each is inside itself
    return first[largest], second[largest]
