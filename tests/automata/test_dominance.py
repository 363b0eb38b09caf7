"""Which starts others dominate: by a search of all continuations, and as a closure."""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wex.automata import dominance as module
from wex.automata.dominance import Dominance, dominance
from wex.automata.explore import backwards, shortest

CLASSES = 2
States = frozenset[int]
Node = tuple[
    States, int, States
]  # the states of earlier starts, that of a start, and those of later ones


class Automaton(NamedTuple):
    moves: list[list[int]]
    final: list[bool]
    until: list[bool] | None
    or_end: bool
    cuts: bool

    @property
    def entered(self) -> list[int]:
        """Return the states that starts can be in after an event."""
        return sorted({state for row in self.moves for state in row if state >= 0})

    def dominance(self) -> Dominance:
        found = dominance(*self[:3], or_end=self.or_end, cuts=self.cuts)
        assert found is not None
        return found

    def can_win(self, earlier: States, own: int, later: States) -> bool:
        """Tell by a search whether a start has a window in spite of others; alone it has."""
        if not (earlier or later):
            return True

        def ends(states: States) -> bool:
            return any(self.final[state] for state in states)

        def wins(node: Node) -> bool:
            return self.final[node[1]] and not ends(node[0])

        def moved(node: Node) -> list[Node]:
            """Return what an event can lead to, unless a window of another start removes all before it."""
            earlier, own, later = node
            return [
                (self._after(earlier, cls), after, self._after(later, cls))
                for cls, after in enumerate(self.moves[own])
                if after >= 0
                and not (self.cuts and self.until and self.until[cls] and ends(earlier | later))
            ]

        def successors(node: Node) -> list[tuple[None, Node]]:
            removed = self.cuts and self.until is None
            return [
                (None, after)
                for after in moved(node)
                if not (removed and ends(after[0] | after[2]))
            ]

        def won(node: Node) -> bool:
            """Tell whether the start wins with its last event, by `until`, or with the next one."""
            if self.until is not None:
                return wins(node) and (self.or_end or any(self.until))
            return any(map(wins, moved(node)))

        return shortest([(None, (earlier, own, later))], successors, won) is not None

    def _after(self, states: States, cls: int) -> States:
        return frozenset(self.moves[state][cls] for state in states) - {-1}


@st.composite
def automata(draw: st.DrawFn, most: int = 5) -> Automaton:
    states = draw(st.integers(1, most))
    row = st.lists(st.integers(-1, states - 1), min_size=CLASSES, max_size=CLASSES)
    moves = draw(st.lists(row, min_size=states, max_size=states))
    final = draw(st.lists(st.booleans(), min_size=states, max_size=states))
    live = backwards(enumerate(moves), [state for state in range(states) if final[state]])
    moves = [[after if after in live else -1 for after in row] for row in moves]
    until = draw(st.sampled_from([None, [True, False], [True, True], [False, False]]))
    or_end = until is not None and (not any(until) or draw(st.booleans()))
    return Automaton(moves, final, until, or_end, draw(st.booleans()))


def orders(automaton: Automaton) -> st.SearchStrategy[list[int]]:
    return st.permutations(automaton.entered).flatmap(
        lambda order: st.integers(0, len(order)).map(lambda size: order[:size])
    )


@given(automata(), st.data())
def test_a_start_is_dominated_if_it_wins_in_no_continuation(
    automaton: Automaton, data: st.DataObject
) -> None:
    found, order = automaton.dominance(), data.draw(orders(automaton))
    expected = [
        state
        for at, state in enumerate(order)
        if automaton.can_win(frozenset(order[:at]), state, frozenset(order[at + 1 :]))
    ]
    assert found.left(order) == expected


@given(automata(), st.data())
def test_lists_and_arrays_have_the_same_answers(automaton: Automaton, data: st.DataObject) -> None:
    with patch.object(module, "MOST_SETS", data.draw(st.sampled_from([512, 2, 0]))):
        found = automaton.dominance()
    order = data.draw(orders(automaton))
    earlier, later = (
        np.array([sum(1 << state for state in states) for states in some], np.uint64)
        for some in (
            [order[:at] for at in range(len(order))],
            [order[at + 1 :] for at in range(len(order))],
        )
    )
    dominated = found.dominated(earlier, np.array(order, np.int64), later)
    assert found.left(order) == [s for s, lost in zip(order, dominated, strict=True) if not lost]


@given(automata(), st.sampled_from([512, 3, 0]), st.data())
def test_it_does_not_matter_when_a_start_is_dropped(
    automaton: Automaton, most: int, data: st.DataObject
) -> None:
    """Neither whether those that others dominate are there, nor how many events ago they were dropped."""
    with patch.object(module, "MOST_SETS", most):
        found = automaton.dominance()
    order = data.draw(orders(automaton))
    left = found.left(order)
    assert found.left(left) == left
    some = [state for state in order if state in left or data.draw(st.booleans())]
    assert found.left(some) == left
    for cls in range(CLASSES):
        if _cut(automaton, order, cls):
            continue
        moved = [
            list(
                dict.fromkeys(
                    after for state in states if (after := automaton.moves[state][cls]) >= 0
                )
            )
            for states in (order, left)
        ]
        if automaton.until is None and automaton.cuts and _ends(automaton, moved[0]):
            continue
        assert found.left(moved[0]) == found.left(moved[1])


def _ends(automaton: Automaton, order: list[int]) -> bool:
    return any(automaton.final[state] for state in order)


def _cut(automaton: Automaton, order: list[int], cls: int) -> bool:
    confirmed = automaton.until is not None and automaton.until[cls]
    return automaton.cuts and confirmed and _ends(automaton, order)


@given(automata(), st.data())
def test_a_start_that_a_single_one_dominates_is_dominated_by_all(
    automaton: Automaton, data: st.DataObject
) -> None:
    with patch.object(module, "MOST_SETS", 0):
        by_pairs = automaton.dominance()
    order = data.draw(orders(automaton))
    assert set(automaton.dominance().left(order)) <= set(by_pairs.left(order))
    for one, two in permutations(automaton.entered, 2):
        left = automaton.dominance().left([one, two])
        assert by_pairs.left([one, two]) in ([left] if one in left else [left, [one, two]])


@pytest.mark.parametrize(("periods", "left"), [((2, 3, 5), 1), ((2, 3, 5, 7, 11), 5)])
def test_too_many_sets_are_given_up(periods: tuple[int, ...], left: int) -> None:
    """Starts that end with every second, third, … event, and of each kind one for every event."""
    moves: list[list[int]] = []
    final: list[bool] = []
    for period in periods:
        first = len(moves)
        moves += [[first + (at + 1) % period] for at in range(period)]
        final += [at == 0 for at in range(period)]
    moves.append([len(moves)])  # ends with each event
    final.append(True)
    found = dominance(moves, final, None, or_end=False, cuts=False)
    assert found is not None
    two = [0, 1, len(moves) - 1]  # one of the two that end with every second event always ends
    assert len(found.left(two)) == (2 if left == 1 else 3)


def test_there_are_at_most_64_states() -> None:
    for states in (64, 65):
        moves = [[state + 1] for state in range(states - 1)] + [[-1]]
        found = dominance(moves, [True] * states, None, or_end=False, cuts=True)
        assert (found is None) == (states > 64)
        if found is not None:
            assert found.left(range(1, 64)) == [1]
