"""Open starts, and held ones, where their order decides: `keep longest` and `keep disjoint`.

Of two starts in one window state the earlier one always wins, so what can still become a window
is a list of distinct states, the earliest start first. A member of the list is open if some
continuation reports it: when it ends, and nobody who comes before it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex.analysis.window_tables import DEAD
from wex.automata.explore import Exploration, backwards, shortest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.counting.single import Starts
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.regions.graph import Budget

Order = tuple[int, ...]  # window states, that of the earliest start first
Node = tuple[int, Order]
Member = tuple[int, Order, int]  # a context, a list, and a place in it


@dataclass
class Lists:
    """The lists that streams reach, of open starts alone, or of all that a plan holds."""

    starts: Starts
    budget: Budget
    held: bool = False
    _open: dict[Member, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clears = self.starts.subject.clauses.keep == "disjoint"
        self._numbers: Exploration[Node, Edge] = Exploration([(0, ())], self.budget.check_vectors)
        for context, order in self._numbers:
            for edge in self.starts.contexts.edges[context]:
                after = self._kept(edge.to, self._moved(order, edge, spawn=True))
                self._numbers.reach((edge.to, after), edge)

    @property
    def most(self) -> int:
        """Return the greatest number of starts."""
        return max(len(order) for _, order in self._numbers.states)

    def way_to(self, wanted: int) -> list[Edge]:
        """Return a way to the first list with so many starts."""
        orders = (order for _, order in self._numbers.states)
        return self._numbers.path_to(
            next(n for n, order in enumerate(orders) if len(order) >= wanted)
        )

    def ways_on(self, path: Sequence[Edge]) -> list[list[Edge]]:
        """Return for each open start at the end of a path how it can be reported."""
        node: Node = (0, ())
        for edge in path:
            node = (edge.to, self._kept(edge.to, self._moved(node[1], edge, spawn=True)))
        context, order = node
        return [self._way_on(self._narrowed(context, order, at)) for at in range(len(order))]

    def _way_on(self, member: Member) -> list[Edge]:
        found = shortest([(None, member)], self._steps, self._reported)
        assert found is not None
        (context, order, at), way = found
        for edge in self.starts.contexts.edges[context]:
            if not self._ends_here(order, at) and self._first_ending(order, edge) == at:
                return [*way, edge]
        return way

    def _moved(self, order: Order, edge: Edge, *, spawn: bool) -> Order:
        """Return the list behind an event: starts that die and starts that come second are gone."""
        starts = self.starts
        if self.clears and self._ended(order, edge):
            order = ()
        after = [starts.moved(state, edge) for state in order]
        if spawn:
            after.append(starts.born(edge))
        places = starts.held if self.held else starts.alive
        left = [state for state in after if state != DEAD and (edge.to, state) in places]
        return tuple(dict.fromkeys(left))

    def _ended(self, order: Order, edge: Edge) -> bool:
        """Tell whether a window ended before an event, or because of it, and cleared the list."""
        final, until = self.starts.subject.final, self.starts.subject.until
        if until is None:
            return any(final[state] for state in order)
        return any(self.starts.ends(state, edge) for state in order)

    def _kept(self, context: int, order: Order) -> Order:
        """Return the open members. The others never win, nor do they stand in anybody's way."""
        if self.held:
            return order
        return tuple(state for at, state in enumerate(order) if self._is_open((context, order, at)))

    def _is_open(self, member: Member) -> bool:
        member = self._narrowed(*member)
        if member not in self._open:
            self._decide(member)
        return self._open[member]

    def _narrowed(self, context: int, order: Order, at: int) -> Member:
        """Return a member with those that matter to it: who comes later does if windows clear."""
        return (context, order if self.clears else order[: at + 1], at)

    def _decide(self, first: Member) -> None:
        """Find out which members can be reported, of all that the first one can become."""
        reported: list[int] = []

        def successors(member: Member) -> list[Member]:
            known = self._open.get(member)
            if self._reported(member) if known is None else known:
                reported.append(numbers[member])
                return []
            return [] if known is False else [after for _, after in self._steps(member)]

        numbers: Exploration[Member, None] = Exploration([first], self.budget.check_vectors)
        table = [[numbers[after] for after in successors(member)] for member in numbers]
        winners = backwards(enumerate(table), reported)
        self._open.update({member: number in winners for member, number in numbers.items()})

    def _steps(self, member: Member) -> Iterator[tuple[Edge, Member]]:
        context, order, at = member
        for edge in self.starts.contexts.edges[context]:
            behind = [self.starts.moved(state, edge) for state in order]
            own = behind[at]
            after = self._moved(order, edge, spawn=self.clears)
            cleared = self.clears and self._ended(order, edge)
            # It is gone if it dies, is cleared, or comes to the state of one before it.
            if not cleared and own in after and own not in behind[:at]:
                yield edge, self._narrowed(edge.to, after, after.index(own))

    def _reported(self, member: Member) -> bool:
        """Tell whether a member ends in a window here, or with the next event, as the earliest."""
        context, order, at = member
        edges = self.starts.contexts.edges[context]
        return self._ends_here(order, at) or any(
            self._first_ending(order, edge) == at for edge in edges
        )

    def _ends_here(self, order: Order, at: int) -> bool:
        subject = self.starts.subject
        if subject.until is not None and not subject.clauses.or_end:
            return False
        return next((i for i, state in enumerate(order) if subject.final[state]), None) == at

    def _first_ending(self, order: Order, edge: Edge) -> int | None:
        return next((i for i, state in enumerate(order) if self.starts.ends(state, edge)), None)
