"""Starts counted in order, for `keep longest` and `keep disjoint`.

Of two starts in one window state the earlier one always wins, so the starts that can still have a
window are a list of distinct states, the earliest start first. A member of the list is open if in
some continuation it is reported: it ends, and no earlier member ends at the same event.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex.analysis.lifetimes import DEAD
from wex.automata.dominance import dominance
from wex.automata.explore import Exploration, backwards, shortest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.counting.single import Starts
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.regions.graph import Budget
    from wex.analysis.window_tables import AnalysedWindow
    from wex.automata.dominance import Dominance

PER_STEP = 4  # starts of a list that move in a step of work
Order = tuple[int, ...]  # window states, that of the earliest start first
ListNode = tuple[int, Order]  # a context and a list
Member = tuple[int, Order, int]  # a context, a list, and an index in it


@dataclass
class StartLists:
    """The lists that streams reach: of the open starts, or with `held` of all that a plan holds."""

    starts: Starts
    budget: Budget
    held: bool = False
    _open: dict[Member, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clears = self.starts.window.clauses.cuts
        self._held_order = HeldOrder.of(self.starts.window) if self.held else None
        self._numbers: Exploration[ListNode, Edge] = Exploration(
            [(0, ())], self.budget.check_vectors
        )
        for context, order in self._numbers:
            for edge in self.starts.contexts.edges[context]:
                after = self._kept(edge.to, self._moved(order, edge, spawn=True))
                self._numbers.reach((edge.to, after), edge)

    @property
    def most(self) -> int:
        """Return the greatest number of starts."""
        return max(self._count(order) for _, order in self._numbers.states)

    def _count(self, order: Order) -> int:
        """Return how many starts of a list are open or held: a window that clears the others is alone."""
        final = self.starts.window.final
        cleared = self.held and self.clears and self.starts.window.until is None
        return 1 if cleared and any(final[state] for state in order) else len(order)

    def path_to_count(self, count: int) -> list[Edge]:
        """Return a shortest path to a list with at least so many starts."""
        nodes = enumerate(self._numbers.states)
        return self._numbers.path_to(
            next(n for n, (_, order) in nodes if self._count(order) >= count)
        )

    def completions(self, path: Sequence[Edge]) -> list[list[Edge]]:
        """Return for each open start at the end of a path a continuation that reports it."""
        context = 0
        order: Order = ()
        for edge in path:
            context, order = edge.to, self._kept(edge.to, self._moved(order, edge, spawn=True))
        members = [self._narrowed(context, order, index) for index in range(len(order))]
        return [self._completion(member) for member in members]

    def _completion(self, member: Member) -> list[Edge]:
        route = shortest([(None, member)], self._steps, self._reported)
        assert route is not None
        (context, order, index), path = route
        for edge in self.starts.contexts.edges[context]:
            if not self._ends_here(order, index) and self._first_ending(order, edge) == index:
                return [*path, edge]
        return path

    def _moved(self, order: Order, edge: Edge, *, spawn: bool) -> Order:
        """Return the list after an event: without dead starts, and only the first start of each state."""
        starts = self.starts
        self.budget.count(len(order) // PER_STEP)
        if self.clears and starts.clears(order, edge):
            order = ()
        after = [starts.moved(state, edge) for state in order]
        if spawn:
            after.append(starts.born(edge))
        places = starts.held if self.held else starts.alive
        left = [state for state in after if state != DEAD and (edge.to, state) in places]
        return tuple(dict.fromkeys(left))

    def _kept(self, context: int, order: Order) -> Order:
        """Return the open members of a list: the others never win, and never make another lose.

        Of those that are held, the ones that a plan does not know to be without a window.
        """
        if self._held_order is not None:
            return self._held_order.left(order)
        return tuple(
            state for index, state in enumerate(order) if self._is_open((context, order, index))
        )

    def _is_open(self, member: Member) -> bool:
        member = self._narrowed(*member)
        if member not in self._open:
            self._decide(member)
        return self._open[member]

    def _narrowed(self, context: int, order: Order, index: int) -> Member:
        """Return a member with those that can affect it; later ones can only if windows clear the list."""
        return (context, order if self.clears else order[: index + 1], index)

    def _decide(self, first: Member) -> None:
        """Decide whether a member, and every member that it can become, is open."""
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
        """Yield the members that a member can become: none where it dies, is cleared, or loses."""
        context, order, index = member
        for edge in self.starts.contexts.edges[context]:
            moved = [self.starts.moved(state, edge) for state in order]
            own = moved[index]
            after = self._moved(order, edge, spawn=self.clears)
            cleared = self.clears and self.starts.clears(order, edge)
            if not cleared and own in after and own not in moved[:index]:
                yield edge, self._narrowed(edge.to, after, after.index(own))

    def _reported(self, member: Member) -> bool:
        """Tell whether a member is the earliest that ends in a window, now or at the next event."""
        context, order, index = member
        edges = self.starts.contexts.edges[context]
        return self._ends_here(order, index) or any(
            self._first_ending(order, edge) == index for edge in edges
        )

    def _ends_here(self, order: Order, index: int) -> bool:
        window = self.starts.window
        if window.until is not None and not window.clauses.or_end:
            return False
        return next((i for i, state in enumerate(order) if window.final[state]), None) == index

    def _first_ending(self, order: Order, edge: Edge) -> int | None:
        return next((i for i, state in enumerate(order) if self.starts.ends(state, edge)), None)


@dataclass(frozen=True)
class HeldOrder:
    """Which starts of a list a plan holds: those that no others dominate, or that end now and win."""

    dominance: Dominance | None
    final: Sequence[bool] | None  # None: the next event tells which windows end, by `until`

    @classmethod
    def of(cls, window: AnalysedWindow) -> HeldOrder:
        """Return what decides about the starts of a window."""
        clauses, until = window.clauses, window.until
        found = dominance(
            window.moves, window.final, until, or_end=clauses.or_end, cuts=clauses.cuts
        )
        return cls(found, window.final if until is None else None)

    def left(self, order: Order) -> Order:
        """Return the states of the starts that are held, including the one whose window ends now."""
        if self.dominance is None:
            return order
        winner = next((state for state in order if self.final and self.final[state]), None)
        left = self.dominance.left(order)
        return tuple(state for state in order if state == winner or state in left)
