"""The one exploration loop that every construction uses, and its way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wex import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

State = TypeVar("State", bound="Hashable")


def explore(
    initial: Iterable[State], successors: Callable[[State], Iterable[State]]
) -> tuple[list[State], list[list[int]]]:
    """Return all states reachable from the initial ones, and for each the numbers of its successors.

    States are numbered in the order in which they are found, the initial ones first.

    >>> explore([1], lambda n: [n * 2 % 6, n + 1 if n < 3 else n])
    ([1, 2, 4, 3, 0], [[1, 1], [2, 3], [1, 2], [4, 3], [4, 0]])
    """
    numbers: dict[State, int] = {}
    states: list[State] = []

    def number(state: State) -> int:
        found = numbers.setdefault(state, len(states))
        if found == len(states):
            states.append(state)
        return found

    for state in initial:
        number(state)
    table: list[list[int]] = []
    most = limits.current().states
    for state in states:  # grows while it is read
        table.append([number(after) for after in successors(state)])
        if len(states) > most:
            limits.require("states", len(states), "the states of an automaton")
    return states, table


def coreachable(table: Sequence[Sequence[int]], final: Sequence[bool]) -> list[bool]:
    """Tell of each state whether a final one can be reached from it.

    >>> coreachable([[1], [1], [0]], [False, True, False])
    [True, True, True]
    """
    before: list[list[int]] = [[] for _ in table]
    for state, row in enumerate(table):
        for after in set(row):
            before[after].append(state)
    found = list(final)
    stack = [state for state, accepted in enumerate(final) if accepted]
    while stack:
        for state in before[stack.pop()]:
            if not found[state]:
                found[state] = True
                stack.append(state)
    return found
