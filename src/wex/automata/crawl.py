"""The one exploration loop that every construction uses."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from wex import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

State = TypeVar("State", bound="Hashable")


def crawl(
    initial: Iterable[State], successors: Callable[[State], Iterable[State]]
) -> tuple[list[State], list[list[int]]]:
    """Return all states reachable from the initial ones, and for each the numbers of its successors.

    States are numbered in the order in which they are found, the initial ones first.

    >>> crawl([1], lambda n: [n * 2 % 6, n + 1 if n < 3 else n])
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
