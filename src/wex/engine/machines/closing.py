"""What a watermark proves about the windows of a plan: which of them no event to come can change.

Every event to come is later than the watermark. For each guard of a window, `theory/monotone` has a
proof that it is true of all these events, or false. The letters that remain possible then tell
whether a window that waits is certain: whether each of them is a letter of `until`, or whether each
of them ends all better ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.preference import DEAD
from wex.spec.types import INT, TIMESTAMP
from wex.theory.monotone import NEVER, proof
from wex.theory.terms import RunningTest

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.compile.plan import Plan, PlannedWindow
    from wex.engine.arrays import Bools, Ints
    from wex.theory.terms import Guard

MOST_GUARDS = 8  # that proofs are asked of: their combinations are tried


@dataclass(frozen=True)
class Proof:
    """A guard that proves another one of all later events: that it is true, or that it is false."""

    guard: Guard
    letters: int  # those that agree with what is proved, as bits
    test: RunningTest | None  # the predicate with aggregates that is proved, whose results are read


class Closing:
    """The proofs for a window, and what follows from them."""

    def __init__(self, window: PlannedWindow, plan: Plan) -> None:
        self.clauses, self._window = window.clauses, window
        self.proofs = _proofs(window, plan)
        self._everything = (1 << len(window.letters.rows)) - 1
        self._until = self._everything if window.until is None else window.until
        self._dying: dict[int, Bools] = {}

    @property
    def in_order(self) -> bool:
        """Whether a start is certain only if all earlier ones are: `keep` may choose one of them."""
        return self.clauses.keep in ("longest", "disjoint", "leftmost")

    @property
    def useful(self) -> bool:
        """Whether a watermark can ever prove anything about the window."""
        if self.clauses.prefers and self.clauses.within_time is not None:
            return True
        final, states = np.ones(1, dtype=np.bool_), np.zeros(1, dtype=np.int64)
        if self._window.preference is not None:
            final = self._window.preference.ways.accepts[DEAD + 1 :]
            states = np.arange(DEAD + 1, DEAD + 1 + len(final))
        never = np.zeros_like(final)
        return any(
            self.certain(letters, final, states, never).any() for letters in self._combinations()
        )

    def _combinations(self) -> Iterable[int]:
        """Yield the sets of letters that any proofs leave possible."""
        sets = [one.letters for one in self.proofs]
        for chosen in product((False, True), repeat=len(sets)):
            yield self.possible(chosen)

    def possible(self, proved: Iterable[bool]) -> int:
        """Return the letters that an event to come may have, if some of the proofs hold."""
        letters = self._everything
        for one, holds in zip(self.proofs, proved, strict=True):
            if holds:
                letters &= one.letters
        return letters

    def certain(self, letters: int, final: Bools, states: Ints, expired: Bools) -> Bools:
        """Tell which starts are settled, if only some letters are possible.

        `final`: a window of the start has ended with the last event; `states` are those of the
        ordered automaton. `expired`: every event to come is too late for `within`.
        """
        ends = self._ends_certainly(letters)
        if not self.clauses.prefers:
            return final & ends
        confirmed = ~final if not ends or not self.clauses.or_end else np.ones_like(final)
        return confirmed & (expired | self.dying(letters)[states])

    def _ends_certainly(self, letters: int) -> bool:
        """Tell whether whatever comes is the event that `until` waits for."""
        return bool(letters) and not letters & ~self._until

    def dying(self, letters: int) -> Bools:
        """Tell for each state of the ordered automaton whether all of some letters end its ways."""
        if letters not in self._dying:
            assert self._window.preference is not None
            ways = self._window.preference.ways
            some = [ways.classes[letter] for letter in _bits(letters)]
            dies = (ways.table[:, some] == DEAD).all(axis=1) & bool(some)
            before = [ways.confirmed] + [ways.denied] * self.clauses.having
            accepted = np.logical_and.reduce([dies[after] for after in before])
            if self.clauses.until:
                dies = np.where(ways.accepts, accepted, dies)
            dies[DEAD] = True
            self._dying[letters] = dies
        return self._dying[letters]


def closing_of(window: PlannedWindow, plan: Plan) -> Closing | None:
    """Return what a watermark proves about a window; None: nothing."""
    order = plan.stream.order_by
    if not order or dict(plan.stream.fields)[order[0]] not in (TIMESTAMP, INT):
        return None
    if not (window.clauses.or_end or window.clauses.prefers):
        return None
    closing = Closing(window, plan)
    return closing if closing.useful else None


def _proofs(window: PlannedWindow, plan: Plan) -> tuple[Proof, ...]:
    clock, rows = plan.stream.order_by[0], window.letters.rows
    proofs = []
    for place, number in enumerate(window.letters.guards):
        guard = plan.guards[number]
        test = guard if isinstance(guard, RunningTest) else None
        for truth in (True, False):
            later = proof(guard, clock, of=truth)
            if later != NEVER:
                letters = sum(1 << at for at, row in enumerate(rows) if row[place] == truth)
                proofs.append(Proof(later, letters, test))
    return tuple(proofs[:MOST_GUARDS])


def _bits(letters: int) -> list[int]:
    return [at for at in range(letters.bit_length()) if letters >> at & 1]
