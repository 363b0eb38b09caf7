"""Region graphs of guards that only compare: order types, as far as streams reach them, without a solver.

A memory is the type of each group of fields (`order_types.py`) and the earlier outcomes of tests that
guards still read (`comparisons.py`). The types of one group are explored and merged first: types with
the same continuations are one. The product of the groups is merged again.

If there are too many types, two graphs enclose the truth. In one, some tests are *free*: they may have
any outcome, so every stream has its path, and bounds hold. In the other, types have *few values*: every
path is that of a stream, and what grows there grows.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, islice, product
from math import prod
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.comparisons import Compared, Kinds, groups_of, tests_of
from wex.analysis.regions.graph import Action, Step, quotient
from wex.analysis.regions.order_types import OrderTypes, in_hindsight
from wex.analysis.regions.solved import SolvedGraph
from wex.automata.explore import Exploration
from wex.spec.types import TIMESTAMP
from wex.theory import terms
from wex.theory.event_search import readable_event
from wex.theory.samples import constants_of
from wex.theory.solver import UndecidedError
from wex.theory.terms import Comparison, Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from wex.analysis.regions.comparisons import Tests
    from wex.analysis.regions.graph import Budget
    from wex.analysis.regions.order_types import Slot
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.evaluate import Event, Value
    from wex.theory.terms import Field, Guard, Op

Found = TypeVar("Found")
GroupStep: TypeAlias = tuple[int, int]  # the tests that hold, and the block after an event
GroupSteps: TypeAlias = tuple[GroupStep, ...]
Node: TypeAlias = tuple[int, tuple[int, ...], int]  # a level, a block of each group, past outcomes
SHARE = 0.7  # of the steps of a budget: the rest is for refinement
VALUES_IN_STEP = 3  # that a type compares in a step of the usual time
PER_STEP = 4  # events that are tried in one step of a budget
MOST_PER_STEP = 64  # combinations of the steps of groups, also of those that no event has
PER_TYPE = 8  # steps that it takes to find the places of a value among those that it meets
LOOSE = "some order types"  # the method where some tests are free
MOST_TRIED = 8  # sets of free tests of one size


class OrderRegions(SolvedGraph):
    """The region graph of a query whose groups of fields have types.

    Some tests may be `free`. With `most`, types have at most so many values beside the constants.
    """

    method = "order types"

    def __init__(
        self,
        query: RegionQuery,
        tests: Tests,
        groups: Sequence[Kinds | Compared],
        budget: Budget,
        *,
        free: bool = False,
        most: int | None = None,
    ) -> None:
        super().__init__(query, budget)
        self.exact = not free
        if free:
            self.method = LOOSE
        self.tests = tests
        # The types of a single group are merged below, with all others.
        merge = len(groups) > 1 or any(tests.deepest)
        self.groups = [
            _KindGroup(group, tests, query)
            if isinstance(group, Kinds)
            else _type_group(group, budget, merge=merge, most=most)
            for group in groups
        ]
        self._actions: dict[tuple[int, int, int], Action | None] = {}
        self._place_outcomes()
        self._explore()

    def _place_outcomes(self) -> None:
        """Give the past outcomes of each test a range of bits: the lowest is that of age 1."""
        self._lowest: list[int] = []
        self._shifted = 0  # the bits that are the successor of another one
        width = 0
        for deepest in self.tests.deepest:
            self._lowest.append(width)
            self._shifted |= ((1 << deepest) - 1 & ~1) << width
            width += deepest
        self._noted = [
            (1 << number, 1 << lowest)
            for number, (lowest, deepest) in enumerate(
                zip(self._lowest, self.tests.deepest, strict=True)
            )
            if deepest
        ]

    def remembered(self) -> Iterator[Guard]:
        """Yield the tests whose outcomes guards can still read, and those that tell types apart."""
        for test, deepest in zip(self.tests.tests, self.tests.deepest, strict=True):
            yield from (terms.shifted(test, -age) for age in range(deepest))
        for group in self.groups:
            if isinstance(group, _TypeGroup):
                yield from group.remembered()

    def _explore(self) -> None:
        """Explore the memories that streams reach, and merge those with the same continuations."""
        initial: Node = (0, (0,) * len(self.groups), 0)
        numbers: Exploration[Node, None] = Exploration([initial])
        rows: list[list[Step]] = []
        for node in numbers:
            self.budget.check(share=SHARE)
            if prod(map(len, self._edges(node))) > MOST_PER_STEP * self.budget.work:
                self.budget.give_up()
                raise TooManyError
            steps: dict[Step, None] = {}
            # Groups are many where each value of the clock is one: a single node may take all steps.
            for tried, (action, after, _) in enumerate(self._steps(node), 1):
                steps[action, numbers[after]] = None
                if not tried % PER_STEP:
                    self.budget.check(share=SHARE)
            rows.append(list(steps))
        self.numbers = numbers
        levels = [level for level, _, _ in numbers.states]
        order: dict[int, int] = {}  # numbers the block of the initial node 0
        self.block = [order.setdefault(block, len(order)) for block in quotient(rows, levels)]
        self.edges = [[] for _ in order]
        self.level = [0] * len(order)
        for number, row in enumerate(rows):
            block = self.block[number]
            self.edges[block] = sorted({(action, self.block[to]) for action, to in row})
            self.level[block] = levels[number]

    def _edges(self, node: Node) -> list[Sequence[GroupStep]]:
        """Return the steps of each group from a node."""
        return [group.edges[block] for group, block in zip(self.groups, node[1], strict=True)]

    def _steps(self, node: Node) -> Iterator[tuple[Action, Node, GroupSteps]]:
        """Yield what is read, the node after it, and the steps of the groups, for each event."""
        level, _, past = node
        top = min(level + 1, self.query.levels - 1)
        kept = past << 1 & self._shifted
        for steps in product(*self._edges(node)):
            bits = 0
            for own, _ in steps:
                bits |= own
            key = (level, bits, past)
            if key not in self._actions:
                self._actions[key] = self._action(*key)
            action = self._actions[key]
            if action is None:
                continue
            after = kept
            for test, lowest in self._noted:
                if bits & test:
                    after |= lowest
            yield action, (top, tuple(to for _, to in steps), after), steps

    def _action(self, level: int, bits: int, past: int) -> Action | None:
        """Return the classes that the readers read, or None if no stream has this event here."""

        def true(atom: Guard) -> bool:
            test, age = self.tests.moved[atom]  # type: ignore[index]
            if age == 0:
                return bool(bits >> test & 1)
            return bool(past >> self._lowest[test] + age - 1 & 1)

        return self.query.action(level, true)

    # --- Concrete streams

    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path: each group has its own values."""
        if not self.exact:
            return super().streams(path, branches)
        main, node = self._walk(path, self.numbers.states[0])
        walks = [main, *(self._walk(branch, node)[0] for branch in branches)]
        found: list[list[dict[str, Value]]] = [[{} for _ in walk] for walk in walks]
        for index, group in enumerate(self.groups):
            try:
                parts = group.events(
                    [[steps[index] for steps in walk] for walk in walks], self.tick
                )
            except UndecidedError:
                return None
            for events, own in zip(found, parts, strict=True):
                for event, values in zip(events, own, strict=True):
                    event.update(values)
        return list(found[0]), [list(tail) for tail in found[1:]]

    def _walk(self, path: Sequence[Step], node: Node) -> tuple[list[GroupSteps], Node]:
        """Return the steps of the groups along a path from a node, and the node after it."""
        walk = []
        for action, region in path:
            _, node, steps = next(
                step
                for step in self._steps(node)
                if step[0] == action and self.block[self.numbers[step[1]]] == region
            )
            walk.append(steps)
        return walk, node


class _KindGroup:
    """A group with kinds of events: nothing but outcomes is remembered."""

    def __init__(self, group: Kinds, tests: Tests, query: RegionQuery) -> None:
        self.group = group
        self.edges: list[list[GroupStep]] = [[(group.bits(row), 0) for row in group.rows]]
        self._tests = [tests.tests[test] for test in group.tests]
        self._query = query
        self._models: dict[int, Event] = {}

    def events(self, walks: Sequence[Sequence[GroupStep]], _tick: int) -> list[list[Event]]:
        """Return the values of the fields along the walks: any event of a kind represents it."""
        return [[self._event(bits) for bits, _ in walk] for walk in walks]

    def _event(self, bits: int) -> Event:
        if bits not in self._models:
            literals = (
                test if bits >> number & 1 else terms.Not(test)
                for number, test in zip(self.group.tests, self._tests, strict=True)
            )
            guard = terms.And((*literals, self._query.in_bounds()))
            constants = constants_of(self._tests)
            event = readable_event(guard, self._query.fields, constants)
            read = {field.name for test in self._tests for field in terms.fields(test)}
            self._models[bits] = {name: (event or {})[name] for name in read}
        return self._models[bits]


class _TypeGroup:
    """A group with types, which are explored and merged."""

    def __init__(self, group: Compared, budget: Budget, *, merge: bool, most: int | None) -> None:
        self.group = group
        self.types = OrderTypes(group, most)
        rows: list[list[GroupStep]] = []
        # The more values a type compares, the longer a step takes.
        values = {place for test in group.tests.values() for place in terms.fields(test)}
        oldest = max((-field.offset for field in values), default=0)
        times = max(1, len(group.fields) * (oldest + 1) // VALUES_IN_STEP)
        for number, _ in enumerate(self.types.numbers):
            rows.append(self.types.steps(number))
            budget.check(steps=PER_TYPE + len(rows[-1]) // PER_STEP, share=SHARE, times=times)
        blocks = quotient(rows, [0] * len(rows)) if merge else range(len(rows))
        order: dict[int, int] = {}  # numbers the block of the initial type 0
        self.block = [order.setdefault(block, len(order)) for block in blocks]
        self.edges: list[list[GroupStep]] = [[] for _ in order]
        for number, row in enumerate(rows):
            self.edges[self.block[number]] = sorted({(bits, self.block[to]) for bits, to in row})

    def events(self, walks: Sequence[Sequence[GroupStep]], tick: int) -> list[list[Event]]:
        """Return the values of the fields along a walk, and along walks that continue it.

        Numbers are chosen one after the other, and spread in hindsight.
        """
        main, number = self._walk(walks[0], 0, [])
        parts = [main, *(self._walk(walk, number, main)[0][len(main) :] for walk in walks[1:])]
        chosen: dict[Fraction, Fraction] = {}
        if self.types.ordered:
            constants = {Fraction(c) for own in self.types.constants.values() for c in own}
            values = {Fraction(v) for part in parts for event in part for v in event.values()}  # type: ignore[arg-type]
            unit = tick if any(f.type == TIMESTAMP for f in self.group.fields.values()) else 1
            chosen = in_hindsight(values, sorted(constants), unit)

        def shown(name: str, value: Value) -> Value:
            kind = self.group.fields[name].kind
            if kind not in ("whole", "real"):
                return value
            number = Fraction(value)  # type: ignore[arg-type]
            number = chosen.get(number, number)
            return int(number) if kind == "whole" else number

        return [
            [{name: shown(name, value) for name, value in event.items()} for event in part]
            for part in parts
        ]

    def remembered(self) -> Iterator[Comparison]:
        """Yield comparisons that tell types apart after an event."""
        types = self.types
        layout = types.layout(len(types.names))
        relations: list[Op] = ["<", "="] if types.ordered else ["="]
        for newer, older in layout.pairs:
            for op in relations if types.ties else relations[:1]:
                yield Comparison(op, self._field(newer), self._field(older))
        for slot in layout.places:
            field = self._field(slot)
            for value in types.constants[slot[0]]:
                exact = Fraction(value) if field.kind == "real" else value
                yield from (Comparison(op, field, Constant(exact)) for op in relations)

    def _field(self, slot: Slot) -> Field:
        return replace(self.group.fields[slot[0]], offset=-slot[1])

    def _walk(
        self, walk: Sequence[GroupStep], number: int, before: Sequence[Event]
    ) -> tuple[list[Event], int]:
        """Return the events before a walk and those along it, and the type after it."""
        events = list(before)
        for bits, block in walk:
            seen = self.types.numbers.states[number][0]
            assert seen is not None
            number, codes = next(
                way for way in self.types.ways(number, bits) if self.block[way[0]] == block
            )
            event: dict[str, Value] = {}
            events.append(event)
            for insertion, new in zip(self.types.insertions, codes, strict=True):
                event[insertion.name] = self.types.value(
                    insertion, seen, new, lambda slot: events[-1 - slot[1]][slot[0]]
                )
        return events, number


def _type_group(group: Compared, budget: Budget, *, merge: bool, most: int | None) -> _TypeGroup:
    return _TYPES.get(
        (group.key, merge, most), budget, lambda: _TypeGroup(group, budget, merge=merge, most=most)
    )


def order_regions(
    query: RegionQuery, budget: Budget, most: int | None = None
) -> OrderRegions | None:
    """Return the region graph of a query if its guards only compare, and there are few types.

    With `most` it has only types of so many values: every path is that of a stream, not conversely.
    """
    if not query.exact:
        return None  # a graph that is not exact needs certificates, which only a solver finds
    return _regions(query, budget, (), most)


def loose_regions(query: RegionQuery, budget: Budget) -> OrderRegions | None:
    """Return a region graph in which some tests have any outcome: as few as the budget allows."""
    tests = tests_of(query)
    groups = groups_of(tests, query) if query.exact else None
    if groups is None:
        return None
    related = [number for group in groups if isinstance(group, Compared) for number in group.tests]
    for count in range(1, len(related) + 1):
        for free in islice(combinations(related, count), MOST_TRIED):
            found = _regions(query, budget.part(budget.work // MOST_TRIED), free)
            if found is not None:
                return found
    return None


def _regions(
    query: RegionQuery, budget: Budget, free: tuple[int, ...], most: int | None = None
) -> OrderRegions | None:
    tests = tests_of(query)
    groups = groups_of(tests, query, free)
    if groups is None:
        return None
    done = budget.done
    key = (query.readers, query.order, tuple(query.bounds.items()), free, most)
    try:
        found = _GRAPHS.get(
            key,
            budget,
            lambda: OrderRegions(query, tests, groups, budget, free=bool(free), most=most),
        )
    except TooManyError:
        budget.restore(done)  # another method may need them all
        return None
    regions = copy(found)  # whoever asked changes its own graph
    regions.edges = list(found.edges)
    return regions


class _Recent(Generic[Found]):
    """The last few results, each with the steps that it took: a hit counts them again.

    So the verdict on a spec does not depend on what was asked before. A result of None was given up.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.results: tuple[tuple[Hashable, Found | None, int], ...] = ()

    def get(self, key: Hashable, budget: Budget, build: Callable[[], Found]) -> Found:
        """Return a recent result, or build it; raise TooManyError if that exceeds the budget."""
        before = budget.done
        for known, result, steps in self.results:
            if known == key and (result is not None or before + steps > SHARE * budget.work):
                budget.check(steps=steps, share=SHARE)
                assert result is not None
                return result
        found: Found | None = None
        try:
            found = build()
        finally:
            # One assignment: other threads see the old results or the new ones.
            self.results = ((key, found, budget.done - before), *self.results[: self.most - 1])
        return found


_TYPES: _Recent[_TypeGroup] = _Recent(8)
_GRAPHS: _Recent[OrderRegions] = _Recent(8)
