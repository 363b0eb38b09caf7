"""Starts that are too late: `within N events` leaves fewer events than a stream needs to end them.

The engine drops a start when fewer events are left than its automaton needs to an end. An automaton knows
letters, but not which of them can follow each other: in `b any* [not b[-1] and not b]` it needs one
event, while a stream whose last event has b needs two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.automata.explore import FAR, explore, steps_ahead

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wex.analysis.counting.single import Place
    from wex.analysis.pruning import Knowledge


def late_places(knowledge: Knowledge, most: int) -> set[Place]:
    """Return the places in which a start may be held that no stream lets end within `most` events.

    A start that has n events is held while the automaton can end it with `most - n` more of them.
    """
    places, held = knowledge.places, knowledge.held
    starts, check = places.starts, places.contexts.budget.check
    # With `until` a window may end with the last event: the next one decides about it.
    later = places.window.until is None
    graph = starts.graph
    by_streams = steps_ahead(
        graph, [place for place in graph if starts.ends_here(place)], later=later
    )
    states, table = explore(
        dict.fromkeys(inner for _, inner in held.nodes), knowledge.successors, check
    )
    ends = [number for number, inner in enumerate(states) if knowledge.final(*inner)]
    steps = steps_ahead(dict(enumerate(table)), ends, later=later)
    by_automaton = {inner: steps.get(number, FAR) for number, inner in enumerate(states)}
    late: set[Place] = set()
    ages = Ages(held.table, held.first, most, check)
    for number, (context, inner) in enumerate(held.nodes):
        place = (context, inner[0])
        needed = by_streams.get(place, FAR)
        if ages.reached(number, most - needed + 1, most - by_automaton[inner]):
            late.add(place)
    return late


class Ages:
    """How many events the starts at each node of a graph have, from 1 to `most`.

    `levels[n]` are the nodes of starts with n + 1 events. Sooner or later they repeat: those behind
    the last level are the ones from level `back` on.

    >>> ages = Ages([[1], [2], [1]], 1, 1000, lambda *, steps: None)
    >>> ages.levels, ages.back
    ([frozenset({0}), frozenset({1}), frozenset({2})], 1)
    >>> ages.reached(2, 999, 999), ages.reached(2, 1000, 1000), ages.reached(0, 2, 1000)
    (True, False, False)
    """

    def __init__(
        self, table: Sequence[Sequence[int]], first: int, most: int, check: Callable[..., None]
    ) -> None:
        self.levels: list[frozenset[int]] = []
        seen: dict[frozenset[int], int] = {}
        level = frozenset(range(first))
        while len(seen) < most and level not in seen:
            seen[level] = len(seen)
            check(steps=1 + len(level))
            level = frozenset(after for node in level for after in table[node])
        self.levels = list(seen)
        self.back = seen.get(level, 0)

    def reached(self, node: int, least: int, most: int) -> bool:
        """Tell whether a start at a node can have so many events, at least and at most."""
        first = max(0, least - 1)
        # As many ages as there are levels show all that can be.
        last = min(most, first + len(self.levels))
        return any(node in self._level(age) for age in range(first, last))

    def _level(self, age: int) -> frozenset[int]:
        if age < len(self.levels):
            return self.levels[age]
        return self.levels[self.back + (age - self.back) % (len(self.levels) - self.back)]
