"""Spaces by refinement: regions are formulas over memory, split until nothing splits any more.

Start with one region for each level. If an action from region R into region T is possible for
some memories of R and not for others, R is split by the projection. When nothing splits, the
graph is exact: from every memory of a region the same can come.
"""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import SILENT, Action, RegionGraph, Step
from wex.theory import terms
from wex.theory.projection import (
    EventSearch,
    Prover,
    Symbols,
    both,
    constants_of,
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
    from wex.theory.evaluate import Event
    from wex.theory.projection import Formula

Place = tuple[int, Action, int]  # a region, an action, a region behind it


class SymbolicSpace(RegionGraph):
    """The space of a question, as far as the budget goes; what is undecided makes it inexact."""

    way = "refinement"

    def __init__(self, question: RegionQuery, budget: Budget) -> None:
        self.question = question
        self.budget = budget
        self.prover = Prover()
        self.codes: dict[str, int] = {}
        guards = question.guards()
        self.dense = dense_fields(guards)
        self.constants = constants_of(guards)
        self.exact = question.exact
        self.ages: dict[str, int] = {}
        for guard in guards:
            for field in terms.fields(guard):
                self.ages[field.name] = max(self.ages.get(field.name, 0), -field.offset)
        self.levels = [_Level(self, level) for level in range(question.levels)]
        if any(level.symbols.opened for level in self.levels):
            self.exact = False  # a product of fields is free to be true or false
        self.formulas: dict[int, Formula] = {}
        self.level_of: dict[int, int] = {}
        self._numbers = count()
        self.may: dict[Place, bool] = {}
        behind: list[int] = []
        for level in reversed(self.levels):
            behind = self._refine(level, behind)
        self._collect(behind[0])

    # --- Refinement

    def _new(self, level: _Level, formula: Formula) -> int:
        number = next(self._numbers)
        self.formulas[number], self.level_of[number] = formula, level.number
        return number

    def _refine(self, level: _Level, behind: list[int]) -> list[int]:
        """Return the regions of a level; those of the next one are known, unless it is the last."""
        regions = [self._new(level, level.everything)]
        loops = level.number == len(self.levels) - 1
        pending = deque(regions)
        while pending:
            region = pending.popleft()
            if region not in self.formulas:
                continue  # it was split
            over = len(self.formulas) > self.budget.regions or self.budget.left() < 0
            parts = self._split(level, region, regions if loops else behind, over=over)
            if parts is None:
                continue
            regions.remove(region)
            regions += parts
            again = self._inherit(region, parts)
            pending.extend([*parts, *(each for each in again if each not in pending)])
        return regions

    def _split(
        self, level: _Level, region: int, targets: Sequence[int], *, over: bool
    ) -> list[int] | None:
        """Find out where a region leads; return its two parts if that is not the same for all."""
        formula = self.formulas[region]
        for action in level.actions:
            for target in targets:
                if (region, action, target) in self.may:
                    continue
                place = (region, action, target)
                if over or self.budget.left() < 0:  # nothing is asked any more: it may be
                    self.may[place], self.exact = True, False
                    continue
                step = level.step(action, target)
                if not self._possible(formula, step):
                    self.may[place] = False
                    continue
                try:
                    before = level.before(action, target)
                    always = not self.prover.satisfiable(formula, negated(before))
                except UndecidedError:
                    self.may[place], self.exact = True, False
                    continue
                if always:
                    self.may[place] = True
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
        """Pass on what is known of a region to its parts; return whose steps into it are open."""
        del self.formulas[region]
        again: list[int] = []
        own = [place for place in self.may if region in (place[0], place[2])]
        for source, action, target in own:
            known = self.may.pop((source, action, target))
            for first in parts if source == region else [source]:
                for second in parts if target == region else [target]:
                    place = (first, action, second)
                    if target == region and known:
                        again.append(first)
                    else:
                        self.may.setdefault(place, known)
        return [each for each in dict.fromkeys(again) if each in self.formulas]

    # --- The graph

    def _collect(self, initial: int) -> None:
        """Make the graph of the regions that streams reach, the initial one first."""
        steps: dict[int, list[Step]] = {}
        for (source, action, target), possible in sorted(self.may.items()):
            if possible:
                steps.setdefault(source, []).append((action, target))
        numbers = {initial: 0}
        reached = [initial]
        self.edges = []
        for region in reached:
            row = []
            for action, target in steps.get(region, []):
                if target not in numbers:
                    numbers[target] = len(reached)
                    reached.append(target)
                row.append((action, numbers[target]))
            self.edges.append(row)
        self.level = [self.level_of[each] for each in reached]
        self.region = [self.formulas[each] for each in reached]

    # --- Concrete streams

    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path and its branches, all found together."""
        searching = EventSearch(self.codes, self.tick)
        numbers = count()
        main = self._constrain(searching, path, [], numbers)
        tails = [self._constrain(searching, branch, main, numbers) for branch in branches]
        events = self._found(searching, next(numbers))
        if events is None:
            return None
        return (
            [events[at] for at in main],
            [[events[at] for at in tail[len(main) :]] for tail in tails],
        )

    def recurring(
        self, stem: Sequence[Step], cycle: Sequence[Step], tail: Sequence[Step]
    ) -> tuple[list[Event], list[Event], list[Event]] | None:
        """Return events such that memory is the same before and behind the cycle."""
        if len(stem) < self.question.depth:
            return None
        searching = EventSearch(self.codes, self.tick)
        numbers = count()
        whole = self._constrain(searching, [*stem, *cycle, *tail], [], numbers)
        before, behind = len(stem), len(stem) + len(cycle)
        for name, deepest in self.ages.items():
            for age in range(1, deepest + 1):
                searching.same((whole[before - age], name), (whole[behind - age], name))
        events = self._found(searching, next(numbers))
        if events is None:
            return None
        return events[:before], events[before:behind], events[behind:]

    def _found(self, searching: EventSearch, count: int) -> list[Event] | None:
        try:
            return searching.events(count, self.constants)
        except UndecidedError:
            return None

    def least_gap(self, name: str) -> int | None:
        """Return the least rise of a field that any event has."""
        found: list[int] = []
        for level in self.levels[1:]:
            now, before = (Field(name, offset, self.question.fields[name]) for offset in (0, -1))
            if name not in self.ages or self.ages[name] < 1:
                return None
            rise = level.symbols.variable(now), level.symbols.variable(before)
            for formula in level.formulas.values():
                gap = self.prover.least(*rise, formula, level.everything)
                if gap is None:
                    return None
                found.append(gap)
        return min(found, default=None)

    def _constrain(
        self,
        searching: EventSearch,
        path: Sequence[Step],
        before: list[int],
        numbers: Iterator[int],
    ) -> list[int]:
        """Say what holds along a path; return the numbers of its events, those before it too."""
        events = list(before)
        for action, _ in path:
            position = len(events)
            events.append(next(numbers))
            level = self.levels[min(position, len(self.levels) - 1)]
            symbols = searching.symbols(
                self.question.depth, level.number, lambda offset: events[offset - 1]
            )
            searching.add(*(symbols.guard(guard) for guard in level.guards(action)))
            for name in self.ages:
                field = Field(name, 0, self.question.fields[name])
                searching.note(events[-1], field, symbols.variable(field))
                searching.add(symbols.domain(field))
        return events


class _Level:
    """What is read at one level: its actions, its memory, its formulas."""

    def __init__(self, space: SymbolicSpace, number: int) -> None:
        self.space = space
        self.number = number
        question = space.question
        self.symbols = Symbols(question.depth, number, space.dense, space.codes)
        self.seen = min(number, question.depth)  # earlier events that there are
        self.now = [Field(name, 0, question.fields[name]) for name in space.ages]
        self.memory = [
            Field(name, -age, question.fields[name])
            for name, deepest in space.ages.items()
            for age in range(1, min(deepest, self.seen) + 1)
        ]
        self.everything = both(
            *(self.symbols.domain(field) for field in self.memory), *self._past_order()
        )
        present = [self.symbols.domain(field) for field in self.now]
        if number:
            present.append(self.symbols.guard(question.order))
        self.present = both(*present)
        self.readers = [reader[number] for reader in question.readers]
        self._steps: dict[tuple[Action, int], Formula] = {}
        self._before: dict[tuple[Action, int], Formula] = {}
        self.formulas: dict[Action, Formula] = {
            action: formula for action, formula in self._find_actions() if self._is_real(action)
        }
        self.actions = list(self.formulas)

    def _past_order(self) -> list[Formula]:
        """Return that earlier events were in order, too."""
        symbols, question = self.symbols, self.space.question
        found = []
        for age in range(1, self.seen):
            pairs = [
                (
                    symbols.variable(Field(name, -at, type_)),
                    symbols.variable(Field(name, -at - age, type_)),
                )
                for name, type_ in question.fields.items()
                if name in self.space.ages
                for at in (0, 1)
            ]
            formula = symbols.guard(question.order)
            if all(self._remembered(name, age + 1) for name in _names(question.order)):
                found.append(renamed(formula, pairs))
        return found

    def _remembered(self, name: str, age: int) -> bool:
        return self.space.ages.get(name, 0) >= age

    def _find_actions(self) -> Iterator[tuple[Action, Formula]]:
        """Yield the classes that the readers can read at once, with their formula."""
        guards = [
            [(SILENT, None)] if classes is None else list(enumerate(classes))
            for classes in self.readers
        ]

        def extend(at: int, action: Action, formula: Formula) -> Iterator[tuple[Action, Formula]]:
            if at == len(guards):
                yield action, formula
                return
            for cls, guard in guards[at]:
                if self.space.budget.left() < 0:
                    raise TooManyError
                more = formula if guard is None else both(formula, self.symbols.guard(guard))
                if guard is None or self.space._possible(more, self.everything):  # noqa: SLF001
                    yield from extend(at + 1, (*action, cls), more)

        yield from extend(0, (), self.present)

    def _is_real(self, action: Action) -> bool:
        """Tell whether an action can be, products of fields included; if in doubt, it can."""
        if not self.symbols.opened:
            return True
        question, space = self.space.question, self.space
        symbols = Symbols(question.depth, self.number, {}, space.codes, products=True)
        return space._possible(*(symbols.guard(guard) for guard in self.guards(action)))  # noqa: SLF001

    def guards(self, action: Action) -> list[terms.Guard]:
        """Return the guards that an action says hold."""
        found = [
            classes[cls]
            for classes, cls in zip(self.readers, action, strict=True)
            if classes is not None
        ]
        return [*found, self.space.question.order] if self.number else found

    def step(self, action: Action, target: int) -> Formula:
        """Return of which memory and event an action leads into a region."""
        key = (action, target)
        if key not in self._steps:
            pairs = [
                (
                    self.symbols.variable(Field(name, -age, type_)),
                    self.symbols.variable(Field(name, 1 - age, type_)),
                )
                for name, deepest in self.space.ages.items()
                for type_ in [self.space.question.fields[name]]
                for age in range(1, deepest + 1)
            ]
            behind = renamed(self.space.formulas[target], pairs)
            self._steps[key] = both(self.formulas[action], behind)
        return self._steps[key]

    def before(self, action: Action, target: int) -> Formula:
        """Return from which memory an action can lead into a region."""
        key = (action, target)
        if key not in self._before:
            variables = [self.symbols.variable(field) for field in self.now]
            variables += self.symbols.opened
            self._before[key] = self.space.prover.project(self.step(action, target), variables)
        return self._before[key]


def _names(guard: terms.Guard) -> set[str]:
    return {field.name for field in terms.fields(guard)}


def symbolic_regions(question: RegionQuery, budget: Budget) -> SymbolicSpace:
    """Return the space of a question by refinement."""
    return SymbolicSpace(question, budget)
