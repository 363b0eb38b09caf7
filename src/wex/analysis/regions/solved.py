"""Concrete streams along the paths of a region graph, from the models of a solver."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from wex.analysis.regions.families import family_along
from wex.analysis.regions.graph import RegionGraph
from wex.theory import terms
from wex.theory.event_search import EventSearch
from wex.theory.samples import constants_of, samples_of
from wex.theory.solver import UndecidedError
from wex.theory.terms import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.families import Family
    from wex.analysis.regions.graph import Action, Budget, Step
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.evaluate import Event
    from wex.theory.projection import Formula


class SolvedGraph(RegionGraph):
    """A region graph whose paths become streams by a solver."""

    def __init__(self, query: RegionQuery, budget: Budget) -> None:
        self.query = query
        self.budget = budget
        self.codes: dict[str, int] = {}
        guards = query.guards()
        self.constants = constants_of(guards)
        self.samples = samples_of(guards)
        self.ages: dict[str, int] = {}  # how many events ago each field is still read
        for guard in guards:
            for field in terms.fields(guard):
                self.ages[field.name] = max(self.ages.get(field.name, 0), -field.offset)
        self._trial: EventSearch | None = None
        self._tried: dict[tuple[int, Action], list[Formula]] = {}

    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path and its branches, from one model of the solver."""
        searching = EventSearch(self.codes, self.tick, self.samples)
        numbers = count()
        main = self.constrain(searching, path, [], numbers)
        tails = [self.constrain(searching, branch, main, numbers) for branch in branches]
        events = self._solved(searching, next(numbers))
        if events is None:
            return None
        return (
            [events[number] for number in main],
            [[events[number] for number in tail[len(main) :]] for tail in tails],
        )

    def possible(self, path: Sequence[Step]) -> bool:
        """Tell whether the solver finds events along a path."""
        if self.exact:
            return True
        if self._trial is None:
            self._trial = EventSearch(self.codes, self.tick, self.samples)
        formulas: list[Formula] = []
        for position, (action, _) in enumerate(path):
            key = (position, action)
            if key not in self._tried:
                self._tried[key] = self._formulas(self._trial, action, range(position + 1))
            formulas += self._tried[key]
        return self._trial.possible(formulas, self.budget.count)

    def recurring(
        self, stem: Sequence[Step], cycle: Sequence[Step], tail: Sequence[Step]
    ) -> tuple[list[Event], list[Event], list[Event]] | None:
        """Return events such that memory is the same before and after the cycle."""
        if len(stem) < self.query.depth:
            return None
        searching = EventSearch(self.codes, self.tick, self.samples)
        numbers = count()
        whole = self.constrain(searching, [*stem, *cycle, *tail], [], numbers)
        before, after = len(stem), len(stem) + len(cycle)
        for name, deepest in self.ages.items():
            for age in range(1, deepest + 1):
                searching.same((whole[before - age], name), (whole[after - age], name))
        events = self._solved(searching, next(numbers))
        if events is None:
            return None
        return events[:before], events[before:after], events[after:]

    def family(
        self, stem: Sequence[Step], cycle: Sequence[Step], tail: Sequence[Step]
    ) -> Family | None:
        """Return streams that repeat a cycle any number of times with numbers that rise or fall."""
        return family_along(self, stem, cycle, tail)

    def _solved(self, searching: EventSearch, count: int) -> list[Event] | None:
        try:
            return searching.events(count, self.constants)
        except UndecidedError:
            return None

    def constrain(
        self,
        searching: EventSearch,
        path: Sequence[Step],
        before: list[int],
        numbers: Iterator[int],
    ) -> list[int]:
        """Add the constraints of a path; return the numbers of its events, with those before it."""
        events = list(before)
        for action, _ in path:
            events.append(next(numbers))
            searching.add(*self._formulas(searching, action, events))
        return events

    def _formulas(
        self, searching: EventSearch, action: Action, events: Sequence[int]
    ) -> list[Formula]:
        """Return the formulas under which the last of some events is read as an action."""
        level = min(len(events), self.query.levels) - 1
        symbols = searching.symbols(self.query.depth, level, lambda offset: events[offset - 1])
        formulas = searching.formulas(self.query.guards_of(level, action), symbols)
        for name in self.ages:
            field = Field(name, 0, self.query.fields[name])
            searching.note(events[-1], field, symbols.variable(field))
            formulas.append(symbols.domain(field, self.query.bounds.get(name)))
        return formulas
