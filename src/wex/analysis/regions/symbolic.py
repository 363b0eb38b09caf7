"""Region graphs by refinement: regions are formulas over memory, split until they are uniform.

The refinement starts with one region per level. If an action from region R into region T is possible
for some memories of R and not for others, R is split by the projection. When no region splits any
more, the graph is exact: all memories of a region have the same continuations.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import SILENT, Action, Step
from wex.analysis.regions.solved import SolvedGraph
from wex.automata.explore import Exploration
from wex.theory import terms
from wex.theory.projection import (
    Prover,
    Symbols,
    both,
    dense_fields,
    negated,
    renamed,
)
from wex.theory.solver import UndecidedError
from wex.theory.terms import Field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.graph import Budget
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.projection import Formula

Transition = tuple[int, Action, int]  # a region, an action, the region after it


class SymbolicRegions(SolvedGraph):
    """The region graph of a query; transitions that stay undecided make it inexact."""

    method = "refinement"

    def __init__(self, query: RegionQuery, budget: Budget) -> None:
        super().__init__(query, budget)
        self.prover = Prover(budget.count)
        guards = query.guards()
        dense = dense_fields(guards)
        self.dense = {name: dense[name] for name in dense if name not in query.bounds}
        self.exact = query.exact
        self.levels = [_Level(self, level) for level in range(query.levels)]
        if any(level.symbols.open_atoms for level in self.levels):
            self.exact = False  # a product of fields is free to be true or false
        self.formulas: dict[int, Formula] = {}
        self.level_of: dict[int, int] = {}
        self._numbers = count()
        self.may: dict[Transition, bool] = {}
        self.after: dict[int, dict[int, None]] = {}  # the regions that may follow a region
        self.settled: set[int] = set()  # regions of which all transitions are decided
        self._collect(self._refine())

    # --- Refinement

    def _new(self, level: _Level, formula: Formula) -> int:
        number = next(self._numbers)
        self.formulas[number], self.level_of[number] = formula, level.number
        return number

    def _refine(self) -> int:
        """Split the regions that streams may reach until all are uniform; return the initial one.

        A region that no stream reaches is not split: often there are infinitely many of them.
        """
        regions = [[self._new(level, level.everything)] for level in self.levels]
        initial, last = regions[0][0], len(self.levels) - 1
        while (region := self._next(initial)) is not None:
            level = self.levels[self.level_of[region]]
            over = len(self.formulas) > self.budget.regions or self.budget.left < 0
            targets = regions[min(level.number + 1, last)]  # the last level leads to itself
            parts = self._split(level, region, targets, over=over)
            if parts is None:
                self.settled.add(region)
                continue
            regions[level.number].remove(region)
            regions[level.number] += parts
            self.settled -= set(self._inherit(region, parts))
        return initial

    def _next(self, initial: int) -> int | None:
        """Return the nearest region that streams may reach and that is not settled."""
        numbers: Exploration[int, None] = Exploration([initial])
        for region in numbers:
            if region not in self.settled:
                return region
            numbers.add(self.after.get(region, ()))
        return None

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
                    self._decide(transition, possible=True)
                    self.exact = False
                    continue
                try:
                    if not self.prover.satisfiable(formula, level.step(action, target)):
                        self._decide(transition, possible=False)
                        continue
                    before = level.before(action, target)
                    always = not self.prover.satisfiable(formula, negated(before))
                except UndecidedError:
                    self._decide(transition, possible=True)
                    self.exact = False
                    continue
                if always:
                    self._decide(transition, possible=True)
                    continue
                inside = self._new(level, both(formula, before))
                outside = self._new(level, both(formula, negated(before)))
                self._decide((inside, action, target), possible=True)
                self._decide((outside, action, target), possible=False)
                return [inside, outside]
        return None

    def _decide(self, transition: Transition, *, possible: bool) -> None:
        self.may[transition] = possible
        if possible:
            self.after.setdefault(transition[0], {})[transition[2]] = None

    def _possible(self, *formulas: Formula) -> bool:
        try:
            return self.prover.satisfiable(*formulas)
        except UndecidedError:
            self.exact = False
            return True

    def _inherit(self, region: int, parts: Sequence[int]) -> list[int]:
        """Give the transitions of a region to its parts; return the regions that have to be decided again."""
        del self.formulas[region]
        self.after.pop(region, None)
        for targets in self.after.values():
            targets.pop(region, None)
        again: list[int] = []
        touching = [key for key in self.may if region in (key[0], key[2])]
        for source, action, target in touching:
            possible = self.may.pop((source, action, target))
            for first in parts if source == region else [source]:
                for second in parts if target == region else [target]:
                    if target == region and possible:
                        again.append(first)
                    elif (first, action, second) not in self.may:
                        self._decide((first, action, second), possible=possible)
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

    # --- Time

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
        guards = map(symbols.guard, query.guards_of(self.number, action))
        return regions._possible(*guards)  # noqa: SLF001

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
