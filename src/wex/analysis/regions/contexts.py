"""Contexts: everything that decides how a stream may go on, except the open starts.

A context is a region, a state of each assumption and a prefix state of each window. Its edges are
the events that can come, with the class that each window reads; starts move along them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

from wex.analysis.graphs import TooManyError
from wex.analysis.rates import Rates
from wex.analysis.regions.finite import MORE_VALUES_LISTED, finite_regions
from wex.analysis.regions.gaps import gap_regions
from wex.analysis.regions.graph import SILENT, RegionGraph
from wex.analysis.regions.query import RegionQuery, assumption_classes, assumptions_of, query_of
from wex.analysis.regions.symbolic import symbolic_regions
from wex.analysis.regions.typed import loose_regions, order_regions
from wex.automata.explore import Exploration
from wex.theory.terms import Always

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wex.analysis.regions.graph import Action, Budget, Step
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.spec import Meaning
    from wex.theory.evaluate import Event

RegionMethod: TypeAlias = "Callable[[RegionQuery, Budget], RegionGraph]"
FEW_VALUES = (2, 3, 4)  # at a time, in streams that show what can occur
MORE = 4  # times the steps for all types, where they alone can decide
MOST_CLASSES = 256  # of events of a window: with more, any event may follow any other

Context = tuple[int, tuple[int, ...], tuple[int, ...]]  # region, assumption states, prefix states


@dataclass(frozen=True)
class Edge:
    """One event: the prefix state of each window before it, the classes read, the context after it."""

    before: tuple[int, ...]
    classes: tuple[int, ...]
    to: int
    step: Step
    same_moment: bool


class Contexts:
    """The reachable contexts: `edges[context]` are the events that can come, 0 is the initial one."""

    def __init__(
        self,
        regions: RegionGraph,
        query: RegionQuery,
        windows: Sequence[AnalysedWindow],
        assumptions: Sequence[AssumptionAutomaton],
        budget: Budget,
        *,
        moments: bool,
    ) -> None:
        self.regions = regions
        self.budget = budget
        self.query = query
        self.windows = windows
        self.assumptions = assumptions
        self._classes = [
            [
                assumption_classes(assumption, level)
                for level in range(max(regions.level, default=0) + 1)
            ]
            for assumption in assumptions
        ]
        initial: Context = (0, (0,) * len(assumptions), (0,) * len(windows))
        self._numbers: Exploration[Context, Edge] = Exploration([initial], budget.check)
        self.edges: list[list[Edge]] = [
            list(self._edges(context, moments=moments)) for context in self._numbers
        ]

    def _edges(self, context: Context, *, moments: bool) -> Iterator[Edge]:
        """Yield the edges of a context, and number the contexts that they lead to."""
        for step in self.regions.edges[context[0]]:
            after = self._after(context, step)
            if after is not None:
                classes, same = step[0][: len(self.windows)], moments and step[0][-1] == 0
                to = self._numbers.get(after, len(self._numbers))
                edge = Edge(context[2], classes, to, step, same)
                self._numbers.reach(after, edge)
                yield edge

    def _after(self, context: Context, step: Step) -> Context | None:
        """Return the context after a step, or None if it violates an assumption."""
        region, assumed, before = context
        action, to = step
        level = self.regions.level[region]
        count = len(self.windows)
        states = []
        for assumption, classes, state, cls in zip(
            self.assumptions, self._classes, assumed, action[count:], strict=False
        ):
            after = assumption.table[state][classes[level][cls][0]]
            if not assumption.live[after]:
                return None
            states.append(after)
        prefixes = tuple(
            state if cls == SILENT else window.prefix[state][cls]
            for window, state, cls in zip(self.windows, before, action[:count], strict=True)
        )
        return to, tuple(states), prefixes

    def path_to(self, context: int) -> list[Edge]:
        """Return a shortest path from the initial context."""
        return self._numbers.path_to(context)


def all_regions(query: RegionQuery, budget: Budget) -> RegionGraph:
    """Return a region graph in which every stream has its path, by the first method that applies."""
    return (
        finite_regions(query, budget)
        or order_regions(query, budget)
        or loose_regions(query, budget)
        or arithmetic_regions(query, budget)
    )


def quick_regions(query: RegionQuery, budget: Budget) -> RegionGraph:
    """Return a region graph, or raise TooManyError where there is too much to compare: no other graph is tried then."""
    regions = finite_regions(query, budget) or order_regions(query, budget)
    if regions is None and budget.ran_out:
        raise TooManyError
    return regions or arithmetic_regions(query, budget)


def thorough_regions(query: RegionQuery, budget: Budget) -> RegionGraph:
    """Return a region graph that takes more time: of all types, or refined by a solver."""
    more = replace(budget, work=MORE * budget.work, done=0)
    return order_regions(query, more) or arithmetic_regions(query, budget)


def with_few_values(most: int) -> RegionMethod:
    """Return the method for graphs of some streams: those with few different values at a time."""

    def regions_of(query: RegionQuery, budget: Budget) -> RegionGraph:
        regions = order_regions(query, budget, most)
        if regions is None:
            raise TooManyError
        return regions

    return regions_of


def contexts_of(
    meanings: Sequence[Meaning],
    windows: Sequence[AnalysedWindow],
    budget: Budget,
    *,
    moments: bool = False,
    regions_of: RegionMethod | None = None,
) -> Contexts:
    """Return the contexts of some windows under the assumptions of all specs.

    `regions_of` makes the region graph, or raises TooManyError.
    """
    # Assumptions that two specs share count once.
    distinct = {meaning.expanded.assumes: meaning for meaning in meanings}
    all_assumptions = [
        assumption for meaning in distinct.values() if (assumption := assumptions_of(meaning))
    ]
    assumptions = [assumption for assumption in all_assumptions if assumption.live[0]]
    budget.renew()
    if max((len(window.masks) for window in windows), default=0) > MOST_CLASSES:
        if regions_of is not None:
            raise TooManyError
        return free_contexts(windows, budget)
    widest = max(meanings, key=lambda meaning: len(meaning.nullable))
    query = query_of(widest, windows, assumptions, rates=Rates.of(meanings), moments=moments)
    try:
        regions = (regions_of or all_regions)(query, budget)
    except TooManyError:  # too many predicates at once: then any event may follow any other
        if regions_of is not None:
            raise
        budget.renew()
        return free_contexts(windows, budget)
    if len(assumptions) < len(all_assumptions):
        regions.edges[0] = []  # no stream conforms
    if moments:
        regions.tick = 1
    if query.timed:
        regions.exact = False  # regions do not count the events in a time
    budget.renew()
    return Contexts(regions, query, windows, assumptions, budget, moments=moments)


def arithmetic_regions(query: RegionQuery, budget: Budget) -> RegionGraph:
    """Return the region graph of a query that computes: by gaps, or by refinement if that is exact.

    Where one event is looked back at, more values can be listed than elsewhere: that is exact, too.
    """
    done = budget.done
    gaps = gap_regions(query, budget)
    if gaps is not None and gaps.exact:
        return gaps
    budget.restore(done)
    if query.depth == 1:
        listed = finite_regions(query, budget, MORE_VALUES_LISTED)
        if listed is not None and listed.exact:
            return listed
        budget.restore(done)
    refined = symbolic_regions(query, budget)
    return refined if gaps is None or refined.exact else gaps


class _FreeRegions(RegionGraph):
    """One region in which any event can follow any other."""

    method = "none"
    exact = False

    def __init__(self, actions: Iterable[Action]) -> None:
        self.edges = [[(action, 0) for action in actions]]
        self.level = [0]

    def streams(
        self,
        path: Sequence[Step],  # noqa: ARG002
        branches: Sequence[Sequence[Step]],  # noqa: ARG002
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return None: nothing is known about the events."""
        return None


def free_contexts(
    windows: Sequence[AnalysedWindow], budget: Budget, actions: Iterable[Action] | None = None
) -> Contexts:
    """Return the contexts of windows if any event can follow any other: a superset of the real ones.

    An event is one of the `actions`, if they are known.
    """
    query = RegionQuery({}, {}, (), Always(True), depth=0, exact=False, rising=(), ranks={})
    regions = _FreeRegions(actions or product(*(range(len(window.masks)) for window in windows)))
    return Contexts(regions, query, windows, [], budget, moments=False)
