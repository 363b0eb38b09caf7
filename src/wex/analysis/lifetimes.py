"""How long a start can live, and how many windows it can have, by the window automaton alone.

Where the automaton has no cycle, that bounds everything: one start begins with each event. It is
arithmetic on the states and looks at no stream, so it is there when nothing else is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.tables import DEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence, Set

    from wex.analysis.contexts import Edge
    from wex.analysis.starts import Place, Starts


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


def steady(starts: Starts, places: Set[Place], wanted: int) -> list[Edge] | None:
    """Return a way on which one event, again and again, leaves so many starts; None: none was seen.

    Each of them begins with that event and lives long enough.
    """
    contexts = starts.contexts
    for context, row in enumerate(contexts.edges):
        for edge in row:
            if edge.to == context and _lives(starts, places, edge, wanted):
                return [*contexts.path_to(context), *[edge] * wanted]
    return None


def _lives(starts: Starts, places: Set[Place], edge: Edge, wanted: int) -> bool:
    """Tell whether a start that begins with an event is there after so many of the same."""
    state = starts.born(edge)
    for _ in range(wanted - 1):
        if state == DEAD or (edge.to, state) not in places:
            return False
        state = starts.moved(state, edge)
    return state != DEAD and (edge.to, state) in places
