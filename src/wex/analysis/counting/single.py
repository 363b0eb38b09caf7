"""How the starts of one window move through contexts, each by itself.

A *place* is a context and a window state. A start is alive in a place if it can still end in a
window; what a plan holds is all that its automaton, which knows no regions, has not given up.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.graphs import cyclic
from wex.analysis.regions.graph import SILENT
from wex.analysis.window_tables import DEAD
from wex.automata.explore import backwards, explore, shortest
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.window_tables import AnalysedWindow

Place = tuple[int, int]  # a context and a window state


@dataclass(frozen=True)
class Pump:
    """A cycle of a context that leaves one more start in a window state each time it is gone."""

    context: int
    state: int
    cycle: tuple[Edge, ...]


class Starts:
    """The places of the starts of one of the windows."""

    def __init__(self, contexts: Contexts, subject: AnalysedWindow, which: int = 0) -> None:
        self.contexts = contexts
        self.subject = subject
        self.which = which
        self.budget = contexts.budget

    def born(self, edge: Edge) -> int:
        """Return the window state of a start that begins with an event, behind it."""
        subject, cls = self.subject, edge.classes[self.which]
        entry = DEAD if cls == SILENT else subject.starts[edge.before[self.which]]
        return DEAD if entry == DEAD else subject.window[entry][cls]

    def moved(self, state: int, edge: Edge) -> int:
        """Return the window state behind an event."""
        cls = edge.classes[self.which]
        return state if cls == SILENT else self.subject.window[state][cls]

    def ends(self, state: int, edge: Edge) -> bool:
        """Tell whether a window that could end before an event does, because of it."""
        subject, cls = self.subject, edge.classes[self.which]
        if subject.until is None or cls == SILENT:
            return False
        return subject.final[state] and subject.until[cls]

    def ends_here(self, place: Place) -> bool:
        """Tell whether a start at a place can end in a window at its last event."""
        context, state = place
        subject = self.subject
        if not subject.final[state]:
            return False
        if subject.until is None or subject.clauses.or_end:
            return True
        return any(self.ends(state, edge) for edge in self.contexts.edges[context])

    @cached_property
    def graph(self) -> dict[Place, list[Place]]:
        """Return every place that a start can come to, and where it can go from there."""
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
        """Yield where a start can go from a place, as its automaton has it."""
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
        """Return the places where a plan holds a start: all that there are."""
        return self.graph.keys()

    def completion(self, place: Place) -> list[Edge]:
        """Return a shortest way to a window for a start that is alive."""
        found = shortest([(None, place)], self.steps, self.ends_here, self.budget.check)
        assert found is not None
        (context, state), way = found
        if self.subject.until is not None and not self.subject.clauses.or_end:
            way = [*way, next(e for e in self.contexts.edges[context] if self.ends(state, e))]
        return way

    def endless(self, *, same_moment: bool = False) -> set[Place]:
        """Return the places that lie on a cycle on which windows end."""
        circles = cyclic(self._moments_of(same_moment=same_moment))
        through: set[int] = set()
        for place, number in circles.items():
            if self.subject.until is None:
                if self.subject.final[place[1]]:
                    through.add(number)
            elif any(
                circles.get(after) == number and self.ends(place[1], edge)
                for edge, after in self.steps(place)
                if edge.same_moment or not same_moment
            ):
                through.add(number)
        return {place for place, number in circles.items() if number in through}

    def _moments_of(self, *, same_moment: bool) -> dict[Place, list[Place]]:
        """Return the graph of places, or what of it takes no time."""
        if not same_moment:
            return self.graph
        return {
            place: [after for edge, after in self.steps(place) if edge.same_moment]
            for place in self.graph
        }

    def way_to(self, goals: Set[Place]) -> tuple[Place, list[Edge]] | None:
        """Return the nearest of some places, and a way of a start to it from the beginning."""

        def successors(place: Place) -> Iterator[tuple[Edge, Place]]:
            context, state = place
            if state != DEAD:
                yield from self.steps(place)
                return
            for edge in self.contexts.edges[context]:  # no start yet
                yield edge, (edge.to, DEAD)
                if (born := self.born(edge)) != DEAD:
                    yield edge, (edge.to, born)

        return shortest([(None, (0, DEAD))], successors, goals.__contains__, self.budget.check)

    def loop(self, place: Place, *, same_moment: bool = False) -> list[Edge]:
        """Return a cycle of a place on which a window ends."""

        def successors(node: tuple[Place, bool]) -> Iterator[tuple[Edge, tuple[Place, bool]]]:
            at, ended = node
            for edge, after in self.steps(at):
                if same_moment and not edge.same_moment:
                    continue
                here = self.subject.until is None and self.subject.final[after[1]]
                yield edge, (after, ended or here or self.ends(at[1], edge))

        goal = (place, True)
        found = shortest([(None, (place, False))], successors, goal.__eq__, self.budget.check)
        assert found is not None
        return found[1]

    def between(self, place: Place, goals: Set[Place]) -> tuple[Place, list[Edge]]:
        """Return the nearest of some places that a start can come to from one, and the way."""
        found = shortest([(None, place)], self.steps, goals.__contains__, self.budget.check)
        assert found is not None
        return found

    def pumps(self, alive: Set[Place], *, same_moment: bool = False) -> Iterator[Pump]:
        """Yield cycles that pile up starts in a place, one for each place that has one.

        Infinite ambiguity: a context x, a window state q and events v with x -v→ x, a start that
        begins with v in q after it, and q -v→ q. Then v, gone n times, leaves n starts.
        """
        circles = cyclic(self._moments_of(same_moment=same_moment))
        around = cyclic(
            {
                at: [edge.to for edge in row if edge.same_moment or not same_moment]
                for at, row in enumerate(self.contexts.edges)
            }
        )
        for place in circles:
            if place in alive and place[0] in around:
                found = self._pump_at(place, circles, around, same_moment=same_moment)
                if found is not None:
                    yield found

    def _pump_at(
        self,
        place: Place,
        circles: dict[Place, int],
        around: dict[int, int],
        *,
        same_moment: bool,
    ) -> Pump | None:
        context, state = place

        def successors(node: tuple[int, int, int]) -> Iterator[tuple[Edge, tuple[int, int, int]]]:
            at, new, old = node
            for edge in self.contexts.edges[at]:
                if same_moment and not edge.same_moment:
                    continue
                if around.get(edge.to) != around[context]:
                    continue
                one, two = self.moved(new, edge), self.moved(old, edge)
                if one != DEAD and circles.get((edge.to, two)) == circles[place]:
                    yield edge, (edge.to, one, two)

        begins = []
        for edge in self.contexts.edges[context]:
            spawn, old = self.born(edge), self.moved(state, edge)
            if spawn != DEAD and circles.get((edge.to, old)) == circles[place]:
                if same_moment and not edge.same_moment:
                    continue
                begins.append((edge, (edge.to, spawn, old)))
        goal = (context, state, state)
        found = shortest(begins, successors, goal.__eq__, self.budget.check)
        return None if found is None else Pump(context, state, tuple(found[1]))
