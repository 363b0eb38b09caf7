"""How long a start can live, and how many windows it can have, by the window automaton alone.

Where the automaton has no cycle, that bounds everything: one start begins with each event. It is
arithmetic on the states and looks at no stream, so it is there when nothing else is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.tables import DEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence, Set

    from wex.analysis.contexts import Edge
    from wex.analysis.starts import Starts

MOST_LEVELS = 2_000_000  # states, level by level


def heaviest(
    moves: Sequence[Sequence[int]], starts: Iterable[int], weight: Callable[[int], int]
) -> int | None:
    """Return the greatest weight of a start's way through the automaton; None if it has a cycle.

    >>> heaviest([[1], [2], [DEAD]], [0], lambda state: 1)
    2
    """
    following = [set(row) - {DEAD} for row in moves]
    born = {after for entry in set(starts) - {DEAD} for after in following[entry]}
    reached = list(born)
    seen = set(born)
    for state in reached:
        for after in following[state] - seen:
            seen.add(after)
            reached.append(after)
    waiting = dict.fromkeys(reached, 0)  # how many states before it are not done
    for state in reached:
        for after in following[state]:
            waiting[after] += 1
    ready = [state for state in reached if not waiting[state]]
    value = {state: weight(state) for state in reached}
    done = 0
    for state in ready:
        done += 1
        for after in following[state]:
            value[after] = max(value[after], value[state] + weight(after))
            waiting[after] -= 1
            if not waiting[after]:
                ready.append(after)
    return max(value.values(), default=0) if done == len(reached) else None


def shared_at_most(
    moves: Sequence[Sequence[int]], starts: Iterable[int], final: Sequence[bool]
) -> int | None:
    """Return a bound on the windows that share a position; None if a cycle or too much work.

    A start that began i events ago has no more windows left than the best state that a start can
    be in after i events.

    >>> shared_at_most([[1], [2], [DEAD]], [0], [False, True, True])
    3
    """
    following = [set(row) - {DEAD} for row in moves]
    level = {after for entry in set(starts) - {DEAD} for after in following[entry]}
    left = _windows_left(following, level, final)
    if left is None:
        return None
    total = work = 0
    while level:
        work += len(level)
        if work > MOST_LEVELS:
            return None
        total += max(left[state] for state in level)
        level = {after for state in level for after in following[state]}
    return total


def _windows_left(
    following: Sequence[Set[int]], roots: Set[int], final: Sequence[bool]
) -> dict[int, int] | None:
    """Return how many windows a start can still have in each state, this one's included."""
    left: dict[int, int] = {}
    entered: set[int] = set()
    stack = list(roots)
    while stack:
        state = stack[-1]
        if state in left:
            stack.pop()
            continue
        waiting = [after for after in following[state] if after not in left]
        if not waiting:
            after = max((left[each] for each in following[state]), default=0)
            left[state] = final[state] + after
            stack.pop()
        elif state in entered:
            return None  # a cycle leads back here
        else:
            entered.add(state)
            stack.extend(waiting)
    return left


@dataclass(frozen=True)
class Steady:
    """One event, again and again: each begins a start, and all of them live as long.

    `states` are the window states of such a start, event by event, until it dies.
    """

    stem: tuple[Edge, ...]
    edge: Edge
    states: tuple[int, ...]

    def path(self, events: int) -> list[Edge]:
        """Return the way with so many of the events."""
        return [*self.stem, *[self.edge] * events]

    def shared(self, final: Sequence[bool], events: int) -> int:
        """Return how many windows share the position in the middle of so many events."""
        middle = events // 2
        return sum(
            max(0, min(middle, events - 1 - age) - max(0, middle - age) + 1)
            for age, state in enumerate(self.states)
            if final[state]
        )


def steady(starts: Starts) -> Iterator[Steady]:
    """Yield the events that can come again and again, each with the life of a start.

    Only for automata without a cycle: there every start dies.
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
                yield Steady(tuple(contexts.path_to(context)), edge, tuple(states))
