"""Single starts of one window: the places they can be in, and how they move between them.

A *place* is a context and a window state. A start is alive in a place if it can still end in a
window. A plan holds a start until its automaton, which only reads letters, rejects it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.graphs import cyclic
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.graph import SILENT
from wex.automata.explore import backwards, explore, shortest
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.window_tables import AnalysedWindow

Place = tuple[int, int]  # a context and a window state


@dataclass(frozen=True)
class Pump:
    """A cycle of a context that adds a start in a window state each time it is traversed."""

    context: int
    state: int
    cycle: tuple[Edge, ...]


class Starts:
    """The places of the starts of one window; `which` is its index among those of the contexts."""

    def __init__(self, contexts: Contexts, window: AnalysedWindow, which: int = 0) -> None:
        self.contexts = contexts
        self.window = window
        self.which = which
        self.budget = contexts.budget

    def born(self, edge: Edge) -> int:
        """Return the window state, after an event, of the start that begins with it."""
        window, cls = self.window, edge.classes[self.which]
        entry = DEAD if cls == SILENT else window.starts[edge.before[self.which]]
        return DEAD if entry == DEAD else window.moves[entry][cls]

    def moved(self, state: int, edge: Edge) -> int:
        """Return the window state after an event."""
        cls = edge.classes[self.which]
        return state if cls == SILENT else self.window.moves[state][cls]

    def ends(self, state: int, edge: Edge) -> bool:
        """Tell whether an event makes a window end just before it, by `until`."""
        window, cls = self.window, edge.classes[self.which]
        if window.until is None or cls == SILENT:
            return False
        return window.final[state] and window.until[cls]

    def clears(self, states: Iterable[int], edge: Edge) -> bool:
        """Tell whether a start in one of some states has a window that ends before an event.

        With `keep disjoint` such a window clears all starts.
        """
        if self.window.until is None:
            return any(self.window.final[state] for state in states)
        return any(self.ends(state, edge) for state in states)

    def ends_here(self, place: Place) -> bool:
        """Tell whether a start at a place can end in a window at its last event."""
        context, state = place
        window = self.window
        if not window.final[state]:
            return False
        if window.until is None or window.clauses.or_end:
            return True
        return any(self.ends(state, edge) for edge in self.contexts.edges[context])

    @cached_property
    def graph(self) -> dict[Place, list[Place]]:
        """Return every place that a start can be in, with the places that can follow."""
        first = [
            (edge.to, born)
            for row in self.contexts.edges
            for edge in row
            if (born := self.born(edge)) != DEAD
        ]
        places, table = explore(first, self._next_places, self.budget.check)
        return {
            place: [places[number] for number in row]
            for place, row in zip(places, table, strict=True)
        }

    def _next_places(self, place: Place) -> dict[Place, None]:
        return dict.fromkeys(after for _, after in self.steps(place))

    def steps(self, place: Place) -> Iterator[tuple[Edge, Place]]:
        """Yield the places that can follow a place, by the automaton of the window."""
        context, state = place
        for edge in self.contexts.edges[context]:
            after = self.moved(state, edge)
            if after != DEAD:
                yield edge, (edge.to, after)

    @cached_property
    def alive(self) -> Set[Place]:
        """Return the places from which a start can still end in a window."""
        return backwards(
            self.graph.items(), [place for place in self.graph if self.ends_here(place)]
        )

    @cached_property
    def held(self) -> Set[Place]:
        """Return the places where a plan holds a start: all places."""
        return self.graph.keys()

    def completion(self, place: Place) -> list[Edge]:
        """Return a shortest path on which a start that is alive ends in a window."""
        (context, state), path = self._shortest(place, self.ends_here)
        if self.window.until is not None and not self.window.clauses.or_end:
            edges = self.contexts.edges[context]
            path = [*path, next(edge for edge in edges if self.ends(state, edge))]
        return path

    def endless(self, *, same_moment: bool = False) -> set[Place]:
        """Return the places that lie on a cycle on which windows end."""
        component_of = cyclic(self._graph_within(same_moment=same_moment))
        ending: set[int] = set()
        for place, component in component_of.items():
            if self.window.until is None:
                if self.window.final[place[1]]:
                    ending.add(component)
            elif any(
                component_of.get(after) == component and self.ends(place[1], edge)
                for edge, after in self.steps(place)
                if edge.same_moment or not same_moment
            ):
                ending.add(component)
        return {place for place, component in component_of.items() if component in ending}

    def _graph_within(self, *, same_moment: bool) -> dict[Place, list[Place]]:
        """Return the graph of places; with `same_moment` only the edges that take no time."""
        if not same_moment:
            return self.graph
        return {
            place: [after for edge, after in self.steps(place) if edge.same_moment]
            for place in self.graph
        }

    def path_to(self, goals: Set[Place]) -> tuple[Place, list[Edge]]:
        """Return the nearest of `goals`, and a path on which a start begins and reaches it."""

        def successors(place: Place) -> Iterator[tuple[Edge, Place]]:
            context, state = place
            if state != DEAD:
                yield from self.steps(place)
                return
            for edge in self.contexts.edges[context]:  # no start yet
                yield edge, (edge.to, DEAD)
                if (born := self.born(edge)) != DEAD:
                    yield edge, (edge.to, born)

        route = shortest([(None, (0, DEAD))], successors, goals.__contains__, self.budget.check)
        assert route is not None
        return route

    def loop(self, place: Place, *, same_moment: bool = False) -> list[Edge]:
        """Return a path from a place back to it on which a window ends."""

        def successors(node: tuple[Place, bool]) -> Iterator[tuple[Edge, tuple[Place, bool]]]:
            source, ended = node
            for edge, after in self.steps(source):
                if same_moment and not edge.same_moment:
                    continue
                ends_after = self.window.until is None and self.window.final[after[1]]
                yield edge, (after, ended or ends_after or self.ends(source[1], edge))

        goal = (place, True)
        cycle = shortest([(None, (place, False))], successors, goal.__eq__, self.budget.check)
        assert cycle is not None
        return cycle[1]

    def between(self, place: Place, goals: Set[Place]) -> tuple[Place, list[Edge]]:
        """Return the nearest of `goals` that a start can reach from a place, and the path to it."""
        return self._shortest(place, goals.__contains__)

    def _shortest(self, place: Place, is_goal: Callable[[Place], bool]) -> tuple[Place, list[Edge]]:
        route = shortest([(None, place)], self.steps, is_goal, self.budget.check)
        assert route is not None
        return route

    def pumps(self, alive: Set[Place], *, same_moment: bool = False) -> Iterator[Pump]:
        """Yield cycles that accumulate starts in a place, one for each place that has one.

        Infinite ambiguity: a context x, a window state q and events v with x -v→ x, a start that
        begins with v and is in q after it, and q -v→ q. Then v, repeated n times, leaves n starts.
        """
        places = cyclic(self._graph_within(same_moment=same_moment))
        contexts = cyclic(
            {
                context: [edge.to for edge in row if edge.same_moment or not same_moment]
                for context, row in enumerate(self.contexts.edges)
            }
        )
        for place in places:
            if place in alive and place[0] in contexts:
                pump = self._pump_at(place, places, contexts, same_moment=same_moment)
                if pump is not None:
                    yield pump

    def _pump_at(
        self,
        place: Place,
        places: dict[Place, int],
        contexts: dict[int, int],
        *,
        same_moment: bool,
    ) -> Pump | None:
        """Return a cycle that adds a start in a place; `places`, `contexts` are those on cycles."""
        context, state = place

        def successors(node: tuple[int, int, int]) -> Iterator[tuple[Edge, tuple[int, int, int]]]:
            source, new, old = node
            for edge in self.contexts.edges[source]:
                if same_moment and not edge.same_moment:
                    continue
                if contexts.get(edge.to) != contexts[context]:
                    continue
                new_after, old_after = self.moved(new, edge), self.moved(old, edge)
                if new_after != DEAD and places.get((edge.to, old_after)) == places[place]:
                    yield edge, (edge.to, new_after, old_after)

        first = []
        for edge in self.contexts.edges[context]:
            new, old = self.born(edge), self.moved(state, edge)
            if new != DEAD and places.get((edge.to, old)) == places[place]:
                if same_moment and not edge.same_moment:
                    continue
                first.append((edge, (edge.to, new, old)))
        goal = (context, state, state)
        cycle = shortest(first, successors, goal.__eq__, self.budget.check)
        return None if cycle is None else Pump(context, state, tuple(cycle[1]))
