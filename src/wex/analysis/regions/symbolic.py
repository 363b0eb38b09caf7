"""Region graphs by refinement: regions are formulas over memory, split until they are uniform.

The refinement starts with one region per level. If an action from region R into region T is possible
for some memories of R and not for others, R is split by the projection. When no region splits any
more, the graph is exact: all memories of a region have the same continuations.
"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import SILENT, Action, RegionGraph, Step
from wex.automata.explore import Exploration
from wex.theory import terms
from wex.theory.event_search import EventSearch
from wex.theory.projection import (
    Prover,
    Symbols,
    both,
    dense_fields,
    negated,
    renamed,
)
from wex.theory.samples import constants_of, samples_of
from wex.theory.solver import UndecidedError
from wex.theory.terms import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.graph import Budget
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.evaluate import Event
    from wex.theory.projection import Formula

Transition = tuple[int, Action, int]  # a region, an action, the region after it


class SymbolicRegions(RegionGraph):
    """The region graph of a query; transitions that stay undecided make it inexact."""

    method = "refinement"

    def __init__(self, query: RegionQuery, budget: Budget) -> None:
        self.query = query
        self.budget = budget
        self.prover = Prover(budget.count)
        self.codes: dict[str, int] = {}
        guards = query.guards()
        dense = dense_fields(guards)
        self.dense = {name: dense[name] for name in dense if name not in query.bounds}
        self.constants = constants_of(guards)
        self.samples = samples_of(guards)
        self.exact = query.exact
        self.ages: dict[str, int] = {}
        for guard in guards:
            for field in terms.fields(guard):
                self.ages[field.name] = max(self.ages.get(field.name, 0), -field.offset)
        self.levels = [_Level(self, level) for level in range(query.levels)]
        if any(level.symbols.open_atoms for level in self.levels):
            self.exact = False  # a product of fields is free to be true or false
        self.formulas: dict[int, Formula] = {}
        self.level_of: dict[int, int] = {}
        self._numbers = count()
        self.may: dict[Transition, bool] = {}
        following: list[int] = []
        for level in reversed(self.levels):
            following = self._refine(level, following)
        self._collect(following[0])

    # --- Refinement

    def _new(self, level: _Level, formula: Formula) -> int:
        number = next(self._numbers)
        self.formulas[number], self.level_of[number] = formula, level.number
        return number

    def _refine(self, level: _Level, following: list[int]) -> list[int]:
        """Return the regions of a level, given those of the next level; the last leads to itself."""
        regions = [self._new(level, level.everything)]
        loops = level.number == len(self.levels) - 1
        pending = deque(regions)
        while pending:
            region = pending.popleft()
            if region not in self.formulas:
                continue  # it was split
            over = len(self.formulas) > self.budget.regions or self.budget.left < 0
            parts = self._split(level, region, regions if loops else following, over=over)
            if parts is None:
                continue
            regions.remove(region)
            regions += parts
            again = self._inherit(region, parts)
            pending.extend([*parts, *(source for source in again if source not in pending)])
        return regions

    def _split(
        self, level: _Level, region: int, targets: Sequence[int], *, over: bool
    ) -> list[int] | None:
        """Decide the transitions of a region; return its two parts if its memories differ in one."""
        formula = self.formulas[region]
        for action in level.actions:
            for target in targets:
                transition = (region, action, target)
                if transition in self.may:
                    continue
                if over or self.budget.left < 0:  # undecided: taken to be possible
                    self.budget.give_up()
                    self.may[transition], self.exact = True, False
                    continue
                try:
                    if not self.prover.satisfiable(formula, level.step(action, target)):
                        self.may[transition] = False
                        continue
                    before = level.before(action, target)
                    always = not self.prover.satisfiable(formula, negated(before))
                except UndecidedError:
                    self.may[transition], self.exact = True, False
                    continue
                if always:
                    self.may[transition] = True
                    continue
                inside = self._new(level, both(formula, before))
                outside = self._new(level, both(formula, negated(before)))
                self.may[inside, action, target] = True
                self.may[outside, action, target] = False
                return [inside, outside]
        return None

    def _possible(self, *formulas: Formula) -> bool:
        try:
            return self.prover.satisfiable(*formulas)
        except UndecidedError:
            self.exact = False
            return True

    def _inherit(self, region: int, parts: Sequence[int]) -> list[int]:
        """Give the transitions of a region to its parts; return the regions that have to be decided again."""
        del self.formulas[region]
        again: list[int] = []
        touching = [key for key in self.may if region in (key[0], key[2])]
        for source, action, target in touching:
            possible = self.may.pop((source, action, target))
            for first in parts if source == region else [source]:
                for second in parts if target == region else [target]:
                    if target == region and possible:
                        again.append(first)
                    else:
                        self.may.setdefault((first, action, second), possible)
        return [source for source in dict.fromkeys(again) if source in self.formulas]

    # --- The graph

    def _collect(self, initial: int) -> None:
        """Build the graph of the regions that streams reach, the initial one first."""
        steps: dict[int, list[Step]] = {}
        for (source, action, target), possible in sorted(self.may.items()):
            if possible:
                steps.setdefault(source, []).append((action, target))
        numbers: Exploration[int, None] = Exploration([initial])
        self.edges = [
            [(action, numbers[target]) for action, target in steps.get(region, [])]
            for region in numbers
        ]
        self.level = [self.level_of[region] for region in numbers.states]

    # --- Concrete streams

    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path and its branches, from one model of the solver."""
        searching = EventSearch(self.codes, self.tick, self.samples)
        numbers = count()
        main = self._constrain(searching, path, [], numbers)
        tails = [self._constrain(searching, branch, main, numbers) for branch in branches]
        events = self._solved(searching, next(numbers))
        if events is None:
            return None
        return (
            [events[number] for number in main],
            [[events[number] for number in tail[len(main) :]] for tail in tails],
        )

    def recurring(
        self, stem: Sequence[Step], cycle: Sequence[Step], tail: Sequence[Step]
    ) -> tuple[list[Event], list[Event], list[Event]] | None:
        """Return events such that memory is the same before and after the cycle."""
        if len(stem) < self.query.depth:
            return None
        searching = EventSearch(self.codes, self.tick, self.samples)
        numbers = count()
        whole = self._constrain(searching, [*stem, *cycle, *tail], [], numbers)
        before, after = len(stem), len(stem) + len(cycle)
        for name, deepest in self.ages.items():
            for age in range(1, deepest + 1):
                searching.same((whole[before - age], name), (whole[after - age], name))
        events = self._solved(searching, next(numbers))
        if events is None:
            return None
        return events[:before], events[before:after], events[after:]

    def _solved(self, searching: EventSearch, count: int) -> list[Event] | None:
        try:
            return searching.events(count, self.constants)
        except UndecidedError:
            return None

    def least_gap(self, name: str) -> int | None:
        """Return the least rise of a field from one event to the next, if the solver finds it."""
        gaps: list[int] = []
        for level in self.levels[1:]:
            now, before = (Field(name, offset, self.query.fields[name]) for offset in (0, -1))
            if name not in self.ages or self.ages[name] < 1:
                return None
            rise = level.symbols.variable(now), level.symbols.variable(before)
            for formula in level.formulas.values():
                gap = self.prover.least(*rise, formula, level.everything)
                if gap is None:
                    return None
                gaps.append(gap)
        return min(gaps, default=None)

    def _constrain(
        self,
        searching: EventSearch,
        path: Sequence[Step],
        before: list[int],
        numbers: Iterator[int],
    ) -> list[int]:
        """Add the constraints of a path; return the numbers of its events, with those before it."""
        events = list(before)
        for action, _ in path:
            position = len(events)
            events.append(next(numbers))
            level = self.levels[min(position, len(self.levels) - 1)]
            symbols = searching.symbols(
                self.query.depth, level.number, lambda offset: events[offset - 1]
            )
            searching.require(level.guards(action), symbols)
            for name in self.ages:
                field = Field(name, 0, self.query.fields[name])
                searching.note(events[-1], field, symbols.variable(field))
                searching.add(symbols.domain(field, self.query.bounds.get(name)))
        return events


class _Level:
    """One level: its memory, its actions and their formulas."""

    def __init__(self, regions: SymbolicRegions, number: int) -> None:
        self.regions = regions
        self.number = number
        query = regions.query
        self.symbols = Symbols(query.depth, number, regions.dense, regions.codes)
        self.seen = min(number, query.depth)  # earlier events that exist
        self.now = [Field(name, 0, query.fields[name]) for name in regions.ages]
        self.memory = [
            Field(name, -age, query.fields[name])
            for name, deepest in regions.ages.items()
            for age in range(1, min(deepest, self.seen) + 1)
        ]
        self.everything = both(*map(self._domain, self.memory), *self._past_order())
        present = [self._domain(field) for field in self.now]
        if number:
            present.append(self.symbols.guard(query.order))
        self.present = both(*present)
        self.readers = [reader[number] for reader in query.readers]
        self._steps: dict[tuple[Action, int], Formula] = {}
        self._before: dict[tuple[Action, int], Formula] = {}
        self.formulas: dict[Action, Formula] = {
            action: formula for action, formula in self._find_actions() if self._is_real(action)
        }
        self.actions = list(self.formulas)

    def _domain(self, field: Field) -> Formula:
        """Return the formula that holds for every value of a field."""
        most = self.regions.query.bounds.get(field.name)
        return self.symbols.domain(field, most)

    def _past_order(self) -> list[Formula]:
        """Return formulas that say that the earlier events are in order."""
        symbols, query = self.symbols, self.regions.query
        formulas = []
        for age in range(1, self.seen):
            pairs = [
                (
                    symbols.variable(Field(name, -offset, type_)),
                    symbols.variable(Field(name, -offset - age, type_)),
                )
                for name, type_ in query.fields.items()
                if name in self.regions.ages
                for offset in (0, 1)
            ]
            formula = symbols.guard(query.order)
            if all(self._remembered(name, age + 1) for name in _names(query.order)):
                formulas.append(renamed(formula, pairs))
        return formulas

    def _remembered(self, name: str, age: int) -> bool:
        return self.regions.ages.get(name, 0) >= age

    def _find_actions(self) -> Iterator[tuple[Action, Formula]]:
        """Yield the actions that are possible, each with its formula."""
        guards = [
            [(SILENT, None)] if classes is None else list(enumerate(classes))
            for classes in self.readers
        ]

        def extend(action: Action, formula: Formula) -> Iterator[tuple[Action, Formula]]:
            if len(action) == len(guards):
                yield action, formula
                return
            for cls, guard in guards[len(action)]:
                if self.regions.budget.left < 0:
                    self.regions.budget.give_up()
                    raise TooManyError
                more = formula if guard is None else both(formula, self.symbols.guard(guard))
                if guard is None or self.regions._possible(more, self.everything):  # noqa: SLF001
                    yield from extend((*action, cls), more)

        yield from extend((), self.present)

    def _is_real(self, action: Action) -> bool:
        """Tell whether an action is possible, considering products of fields; if undecided, it is."""
        if not self.symbols.open_atoms:
            return True
        query, regions = self.regions.query, self.regions
        symbols = Symbols(query.depth, self.number, {}, regions.codes, products=True)
        return regions._possible(*(symbols.guard(guard) for guard in self.guards(action)))  # noqa: SLF001

    def guards(self, action: Action) -> list[terms.Guard]:
        """Return the guards that hold when an action is read."""
        guards = [
            classes[cls]
            for classes, cls in zip(self.readers, action, strict=True)
            if classes is not None
        ]
        return [*guards, self.regions.query.order] if self.number else guards

    def step(self, action: Action, target: int) -> Formula:
        """Return the formula over memory and event under which an action leads into a region."""
        key = (action, target)
        if key not in self._steps:
            pairs = [
                (
                    self.symbols.variable(Field(name, -age, type_)),
                    self.symbols.variable(Field(name, 1 - age, type_)),
                )
                for name, deepest in self.regions.ages.items()
                for type_ in [self.regions.query.fields[name]]
                for age in range(1, deepest + 1)
            ]
            after = renamed(self.regions.formulas[target], pairs)
            self._steps[key] = both(self.formulas[action], after)
        return self._steps[key]

    def before(self, action: Action, target: int) -> Formula:
        """Return the formula over memory under which an action can lead into a region."""
        key = (action, target)
        if key not in self._before:
            variables = [self.symbols.variable(field) for field in self.now]
            variables += self.symbols.open_atoms
            self._before[key] = self.regions.prover.project(self.step(action, target), variables)
        return self._before[key]


def _names(guard: terms.Guard) -> set[str]:
    return {field.name for field in terms.fields(guard)}


def symbolic_regions(query: RegionQuery, budget: Budget) -> SymbolicRegions:
    """Return the region graph of a query by refinement."""
    return SymbolicRegions(query, budget)
