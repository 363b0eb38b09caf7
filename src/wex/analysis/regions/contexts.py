"""Contexts: all that decides how a stream may go on, beside the starts that are open.

A context is a region, a state of the assumptions and a prefix state of each window. Starts are
then followed along the edges: an edge says which class each window reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.finite import finite_regions
from wex.analysis.regions.graph import SILENT, RegionGraph
from wex.analysis.regions.query import RegionQuery, assumption_classes, assumptions_of, query_of
from wex.analysis.regions.symbolic import symbolic_regions
from wex.automata.explore import Exploration
from wex.theory.terms import Always

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.graph import Budget, Step
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.spec import Meaning
    from wex.theory.evaluate import Event

MOST_CLASSES = 256  # of a window's events: with more, no relation between events is looked at

State = tuple[int, tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Edge:
    """One event: each window's prefix state before it, what it reads, and what follows."""

    before: tuple[int, ...]
    classes: tuple[int, ...]
    to: int
    step: Step
    same_moment: bool


class Contexts:
    """The reachable contexts: `edges[context]` are the events that can come, 0 is the initial one."""

    def __init__(
        self,
        space: RegionGraph,
        question: RegionQuery,
        subjects: Sequence[AnalysedWindow],
        promises: Sequence[AssumptionAutomaton],
        budget: Budget,
        *,
        moments: bool,
    ) -> None:
        self.space = space
        self.budget = budget
        self.question = question
        self.subjects = subjects
        self.promises = promises
        self._classes = [
            [assumption_classes(each, level) for level in range(max(space.level, default=0) + 1)]
            for each in promises
        ]
        initial: State = (0, (0,) * len(promises), (0,) * len(subjects))
        self._numbers: Exploration[State, Edge] = Exploration([initial], budget.check)
        self.edges: list[list[Edge]] = [
            list(self._edges(state, moments=moments)) for state in self._numbers
        ]

    @property
    def empty(self) -> bool:
        """Tell whether no stream conforms."""
        return any(not promise.live[0] for promise in self.promises)

    def _edges(self, state: State, *, moments: bool) -> Iterator[Edge]:
        """Yield the edges of a context, and number the contexts that they lead to."""
        for step in self.space.edges[state[0]]:
            after = self._after(state, step)
            if after is not None:
                classes, same = step[0][: len(self.subjects)], moments and step[0][-1] == 0
                to = self._numbers.get(after, len(self._numbers))
                edge = Edge(state[2], classes, to, step, same)
                self._numbers.reach(after, edge)
                yield edge

    def _after(self, state: State, step: Step) -> State | None:
        region, assumed, before = state
        action, to = step
        level = self.space.level[region]
        windows = len(self.subjects)
        found = []
        for promise, own, at, cls in zip(
            self.promises, self._classes, assumed, action[windows:], strict=False
        ):
            after = promise.table[at][own[level][cls][0]]
            if not promise.live[after]:
                return None
            found.append(after)
        prefixes = tuple(
            at if cls == SILENT else each.prefix[at][cls]
            for each, at, cls in zip(self.subjects, before, action[:windows], strict=True)
        )
        return to, tuple(found), prefixes

    def path_to(self, context: int) -> list[Edge]:
        """Return a shortest path from the initial context."""
        return self._numbers.path_to(context)


def contexts_of(
    meanings: Sequence[Meaning],
    subjects: Sequence[AnalysedWindow],
    budget: Budget,
    *,
    moments: bool = False,
) -> Contexts:
    """Return the contexts of some windows, under the assumptions of all the specs."""
    # Specs that assume the same, as one that is compared with nothing, are asked once.
    distinct = {each.expanded.assumes: each for each in meanings}
    found = [assumptions_of(each) for each in distinct.values()]
    promises = [each for each in found if each is not None]
    if any(not each.live[0] for each in promises):
        promises = [each for each in promises if each.live[0]]
        impossible = True
    else:
        impossible = False
    budget.renew()
    if max((len(each.masks) for each in subjects), default=0) > MOST_CLASSES:
        return free_contexts(subjects, budget)
    question = query_of(meanings[0], subjects, promises, moments=moments)
    try:
        space: RegionGraph = finite_regions(question, budget) or symbolic_regions(question, budget)
    except TooManyError:  # too many predicates at once: then anything may follow anything
        budget.renew()
        return free_contexts(subjects, budget)
    if impossible:
        space.edges[0] = []
    if moments:
        space.tick = 1
    budget.renew()
    return Contexts(space, question, subjects, promises, budget, moments=moments)


class _FreeSpace(RegionGraph):
    """One region in which everything can follow everything."""

    way = "none"
    exact = False

    def __init__(self, classes: Sequence[int]) -> None:
        self.edges = [[(action, 0) for action in product(*map(range, classes))]]
        self.level = [0]

    def streams(
        self,
        path: Sequence[Step],  # noqa: ARG002
        branches: Sequence[Sequence[Step]],  # noqa: ARG002
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return None: nothing is known of the events."""
        return None


def free_contexts(subjects: Sequence[AnalysedWindow], budget: Budget) -> Contexts:
    """Return the contexts of windows if any event could follow any other: more than there are."""
    question = RegionQuery({}, {}, (), Always(True), depth=0, exact=False, rising=(), ranks={})
    space = _FreeSpace([len(each.masks) for each in subjects])
    return Contexts(space, question, subjects, [], budget, moments=False)
