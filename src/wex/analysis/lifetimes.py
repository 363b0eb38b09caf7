"""Lives of starts in a window automaton without cycles: how long they last, how many windows they have.

Arithmetic on the automaton alone, for windows whose starts live too long to be counted one by one.
`DEAD` is the state of a start that can have no window any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Set

    from wex.analysis.counting.single import Starts
    from wex.analysis.regions.contexts import Edge

DEAD = -1
MOST_LEVELS = 2_000_000  # states, summed over the levels


def heaviest(
    successors: Sequence[Set[int]], first: Set[int], weight: Callable[[int], int]
) -> int | None:
    """Return the greatest weight of a start's path through the automaton; None if it has a cycle.

    >>> heaviest([{1}, {2}, set()], {1}, lambda state: 1)
    2
    """
    ahead = _weights_ahead(successors, first, weight)
    return None if ahead is None else max(map(ahead.__getitem__, first), default=0)


def shared_at_most(
    successors: Sequence[Set[int]], first: Set[int], final: Sequence[bool]
) -> int | None:
    """Return a bound on the windows that share a position; None if a cycle or too much work.

    A start that began i events ago has no more windows left than the best state that a start can
    be in after i events.

    >>> shared_at_most([{1}, {2}, set()], {1}, [False, True, True])
    3
    """
    left = _weights_ahead(successors, first, lambda state: int(final[state]))
    if left is None:
        return None
    total = work = 0
    level = first
    while level:
        work += len(level)
        if work > MOST_LEVELS:
            return None
        total += max(left[state] for state in level)
        level = {after for state in level for after in successors[state]}
    return total


def _weights_ahead(
    successors: Sequence[Set[int]], first: Set[int], weight: Callable[[int], int]
) -> dict[int, int] | None:
    """Return the greatest weight of a path from each state, its own included; None if there is a cycle."""
    ahead: dict[int, int] = {}
    entered: set[int] = set()
    stack = list(first)
    while stack:
        state = stack[-1]
        if state not in ahead:
            waiting = [after for after in successors[state] if after not in ahead]
            if waiting:
                if state in entered:
                    return None  # a cycle leads back here
                entered.add(state)
                stack.extend(waiting)
                continue
            best = max(map(ahead.__getitem__, successors[state]), default=0)
            ahead[state] = weight(state) + best
        stack.pop()
    return ahead


@dataclass(frozen=True)
class SteadyRun:
    """One event repeated: each occurrence begins a start, and all these starts live equally long.

    `states` are the window states of such a start, event by event, until it dies.
    """

    stem: tuple[Edge, ...]
    edge: Edge
    states: tuple[int, ...]

    def path(self, events: int) -> list[Edge]:
        """Return the path with so many of the events."""
        return [*self.stem, *[self.edge] * events]

    def shared(self, final: Sequence[bool], events: int) -> int:
        """Return how many windows share the position in the middle of so many events."""
        middle = events // 2
        return sum(
            max(0, min(middle, events - 1 - age) - max(0, middle - age) + 1)
            for age, state in enumerate(self.states)
            if final[state]
        )


def steady_runs(starts: Starts) -> Iterator[SteadyRun]:
    """Yield the events that can be repeated for ever, each with the life of a start.

    Only for automata without a cycle, where every start dies.
    """
    contexts = starts.contexts
    for context, row in enumerate(contexts.edges):
        for edge in row:
            if edge.to != context:
                continue
            states = []
            state = starts.born(edge)
            while state != DEAD:
                states.append(state)
                state = starts.moved(state, edge)
            if states:
                yield SteadyRun(tuple(contexts.path_to(context)), edge, tuple(states))
