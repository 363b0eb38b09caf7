"""The automata of a window as tables for kernels: prefix and window over common letter classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import common_classes
from wex.automata.dominance import dominance
from wex.automata.explore import events_ahead
from wex.compile.normal_form import NONE
from wex.engine.kernels.types import Automata
from wex.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.automata.dominance import Dominance
    from wex.compile.plan import PlannedWindow

CHAIN = 8  # the least number of states of a chain
CODED = 8  # guards whose truth values fit into a code of one byte


def codes_of(window: PlannedWindow, by_letter: list[int]) -> NDArray[np.int64]:
    """Return the class of each code: truth values of the guards as bits, or the letter itself."""
    guards = len(window.letters.guards)
    if guards > CODED:
        return np.array(by_letter, dtype=np.int64)
    classes = np.zeros(1 << CODED, dtype=np.int64)
    for letter, row in enumerate(window.letters.rows):
        classes[sum(true << bit for bit, true in enumerate(row))] = by_letter[letter]
    return classes


class MachineTables:
    """Prefix and window automaton over common classes of letters; -1 is a dead state."""

    def __init__(self, window: PlannedWindow) -> None:
        count = len(window.letters.rows)
        until = [window.until is not None and bool(window.until >> at & 1) for at in range(count)]
        before, inside = window.prefix, window.window
        by_letter, own = common_classes(before.classes.tolist(), inside.classes.tolist(), until)
        columns = np.array(own, dtype=np.int64).reshape(-1, 3)
        self.prefix = before.table[:, columns[:, 0]]
        move = inside.table[:, columns[:, 1]]
        self.move = np.where(inside.live[move], move, -1).astype(np.int32)
        self.until = columns[:, 2].astype(np.bool_)
        self.final = inside.final
        self.lasts: NDArray[np.bool_] = np.logical_or.reduce(self.move >= 0, axis=1)
        entry = np.maximum(window.starts, 0)
        self.born = np.where((window.starts == NONE)[:, None], -1, self.move[entry])
        self.by_letter = by_letter
        self.classes = codes_of(window, by_letter)
        self.uses_letters = len(window.letters.guards) > CODED
        self._clauses = window.clauses
        self.chains = self._chains(self._fit & ~self.final)

    @cached_property
    def ahead(self) -> NDArray[np.int64]:
        """Return after how many events a window of a start in each state can end at the least.

        With `until` a window may end with the last event: the next one decides about it.
        """
        steps = events_ahead(self.move.tolist(), self.final.tolist(), later=not self._clauses.until)
        return np.array(steps, dtype=np.int64)

    @cached_property
    def dominates(self) -> Dominance | None:
        """Return which starts others always win against; None: of none it is known."""
        clauses = self._clauses
        if not clauses.single:
            return None
        until = self.until if clauses.until else None
        found = dominance(self.move, self.final, until, or_end=clauses.or_end, cuts=clauses.cuts)
        if found is None:
            return None
        states = np.flatnonzero(self._occupied)
        bits = np.uint64(1) << states.astype(np.uint64)
        others = np.bitwise_or.reduce(bits) & ~bits
        none = np.zeros_like(others)
        lost = found.dominated(others, states, none) | found.dominated(none, states, others)
        return found if lost.any() else None

    @property
    def count(self) -> int:
        """Return how many classes there are."""
        return len(self.until)

    @cached_property
    def _occupied(self) -> NDArray[np.bool_]:
        """Tell which states can hold starts."""
        occupied = np.zeros(len(self.move), dtype=np.bool_)
        pending = np.unique(self.born[self.born >= 0])
        while len(pending):
            occupied[pending] = True
            after = np.unique(self.move[pending])
            pending = after[(after >= 0) & ~occupied[after]]
        return occupied

    @cached_property
    def _fit(self) -> NDArray[np.bool_]:
        """Tell in which states each letter moves all starts to the same state, or ends them."""
        following = self.move.max(axis=1)
        single = np.where(self.move >= 0, self.move, following[:, None]).min(axis=1) == following
        fit: NDArray[np.bool_] = self._occupied & single & (following >= 0)
        return fit

    @cached_property
    def _entered(self) -> NDArray[np.int64]:
        """Return for each state from how many states starts come, birth as one of them."""
        entered = np.zeros(len(self.move), dtype=np.int64)
        for state in np.flatnonzero(self._occupied):
            after = np.unique(self.move[state])
            entered[after[after >= 0]] += 1
        entered[np.unique(self.born[self.born >= 0])] += 1
        return entered

    def _chains(self, fit: NDArray[np.bool_]) -> list[list[int]]:
        """Return the chains: rows of states in which each letter moves all starts on, or ends them all."""
        if np.count_nonzero(fit) < CHAIN:
            return []
        alive, following = self.move >= 0, self.move.max(axis=1)
        chains: list[list[int]] = []
        linked = {
            int(state): int(following[state])
            for state in np.flatnonzero(fit)
            if fit[following[state]]
            and following[state] != state
            and self._entered[following[state]] == 1
            and (alive[state] == alive[following[state]]).all()
        }
        heads = set(linked) - set(linked.values())
        for head in sorted(heads):
            chain = [head]
            while chain[-1] in linked:
                chain.append(linked[chain[-1]])
            if len(chain) >= CHAIN:
                chains.append(chain)
        return chains

    def _accepting_chains(self) -> list[list[int]]:
        """Return the chains of states in which windows end, as in `any{1,50000}`.

        All starts enter them at the same age, so that the first one in a chain is its oldest.
        `within` would end some of them before others.
        """
        if self._clauses.limit is not None:
            return []
        chains = self._chains(self._fit & self.final)
        return [chain for chain in chains if self._has_one_age(chain[0])]

    def _has_one_age(self, state: int) -> bool:
        """Tell whether all starts come into a state on one way from their birth."""
        births = set(np.unique(self.born[self.born >= 0]).tolist())
        while self._entered[state] == 1 and state not in births:
            state = int(np.flatnonzero(self._occupied & (self.move == state).any(axis=1))[0])
        return bool(self._entered[state] == 1)

    @cached_property
    def _all_chains(self) -> list[list[int]]:
        return [*self.chains, *self._accepting_chains()]

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Return the states by their numbers in `automata`."""
        chained = [state for chain in self._all_chains for state in chain]
        free = sorted(set(range(len(self.move))) - set(chained))
        return np.array([*chained, *free], dtype=np.int64)

    def automata(self) -> Automata:
        """Return the tables for moving lists; the states of a chain are numbered in a row."""
        states, chains, order = len(self.move), self._all_chains, self.order
        chained = sum(map(len, chains))
        number = np.full(states + 1, -1, dtype=np.int32)  # its last entry is that of -1
        number[order] = np.arange(states)
        sizes = [len(chain) for chain in chains]
        first = np.cumsum([0, *sizes])[:-1]
        chain_of = np.full(states, -1, dtype=np.int32)
        chain_of[:chained] = np.repeat(np.arange(len(sizes)), sizes)
        move = number[self.move[order]]
        ends = first + np.array(sizes, dtype=np.int64) - 1
        return Automata(
            self.classes.astype(np.uint16),
            np.ascontiguousarray(self.prefix, dtype=np.int32),
            np.ascontiguousarray(number[self.born]),
            np.ascontiguousarray(move),
            np.ascontiguousarray(self.final[order]),
            np.ascontiguousarray(self.lasts[order]),
            self.until,
            chain_of,
            first.astype(np.int32),
            np.array(sizes, dtype=np.int32),
            np.ascontiguousarray(move[ends]).reshape(len(sizes), self.count),
        )
