"""The exploration loop: numbers, shortest paths, checks, and backward reachability."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wex import limits
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import Budget
from wex.automata.explore import Exploration, backwards, coreachable, explore, shortest
from wex.errors import LimitError

Table = list[list[int]]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Return the successors of each state of a small graph."""
    size = draw(st.integers(1, 8))
    row = st.lists(st.integers(0, size - 1), max_size=3)
    return draw(st.lists(row, min_size=size, max_size=size))


def distances(table: Table) -> dict[int, int]:
    """Return the distance of each reachable state from state 0, by relaxing all edges."""
    known = {0: 0}
    for _ in table:
        for state, row in enumerate(table):
            for after in row:
                if state in known:
                    known[after] = min(known.get(after, len(table)), known[state] + 1)
    return known


@given(tables())
def test_states_are_numbered_by_distance(table: Table) -> None:
    states, numbered = explore([0], table.__getitem__)
    known = distances(table)
    assert set(states) == set(known)
    assert all(known[one] <= known[two] for one, two in pairwise(states))
    assert [[states[number] for number in row] for row in numbered] == [
        table[state] for state in states
    ]


@given(tables(), st.data())
def test_shortest_paths_lead_to_the_goal(table: Table, data: st.DataObject) -> None:
    goal = data.draw(st.integers(0, len(table) - 1))
    known = distances(table)
    found = shortest(
        [(None, 0)],
        lambda state: (((state, after), after) for after in table[state]),
        goal.__eq__,
    )
    assert (found is None) == (goal not in known)
    if found is not None:
        end, path = found
        assert end == goal
        assert len(path) == known[goal]
        assert [0, *(after for _, after in path)] == [*(state for state, _ in path), goal]


@given(tables(), st.data())
def test_backwards_is_forwards_from_each_state(table: Table, data: st.DataObject) -> None:
    goals = data.draw(st.sets(st.integers(0, len(table) - 1)))
    reaching = {
        state
        for state in range(len(table))
        if not goals.isdisjoint(explore([state], table.__getitem__)[0])
    }
    assert backwards(enumerate(table), goals) == reaching
    final = [state in goals for state in range(len(table))]
    assert coreachable(table, final) == [state in reaching for state in range(len(table))]


def test_a_check_stops_an_exploration() -> None:
    with limits.raised(states=10), pytest.raises(LimitError):
        explore([0], lambda state: [state + 1])
    budget = Budget(vectors=10)
    numbers: Exploration[int, None] = Exploration([0], budget.check_vectors)
    with pytest.raises(TooManyError):
        numbers.add(state + 1 for state in numbers)
    assert len(numbers) == 11


def test_a_budget_counts_the_steps_of_its_parts() -> None:
    budget = Budget(work=10)
    part = budget.part(4)
    part.check(steps=4)
    with pytest.raises(TooManyError):
        part.check()
    budget.check(steps=5)
    assert budget.left == 0
    with pytest.raises(TooManyError):
        budget.check()
    assert budget.part(4).work == 0
    budget.renew()
    with pytest.raises(TooManyError):
        budget.check(steps=6, share=0.5)
