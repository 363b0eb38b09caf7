"""Region graphs over finitely many kinds of events, which need no solver.

If no atom relates two events, an event is characterised by the truth of its atoms; if some atoms do
and their fields have few values, by these values too. A memory is then a sequence of such kinds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import RegionGraph, Step, quotient
from wex.automata.explore import Exploration
from wex.spec.types import BOOL, Type
from wex.theory import terms
from wex.theory.evaluate import EXACT, holds
from wex.theory.event_search import readable_event
from wex.theory.letters import TooManyRowsError, combinations
from wex.theory.samples import constants_of
from wex.theory.solver import UndecidedError, satisfiable
from wex.theory.terms import (
    Atom,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    Like,
    Truth,
    atoms,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wex.analysis.regions.graph import Budget
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.evaluate import Event, Value

MOST_KINDS = 64
MOST_MODELLED = 16  # kinds for which an event is searched, where the solver does not know all
MOST_STEPS = 40_000  # of a node with a kind of event
PER_KIND = 4  # steps of a budget
MOST_VALUES_LISTED = 12  # of a field with whole numbers
MORE_VALUES_LISTED = 60  # where otherwise a solver would have to refine regions
FAR = 2**40  # a field with such values has more than can be listed


@dataclass(frozen=True)
class Kind:
    """A kind of events: the values of the listed fields, and which atoms about one event hold."""

    values: tuple[Value, ...]
    truths: tuple[bool, ...]


Memory = tuple[tuple[object, ...], ...]  # the relevant part of each earlier event, newest first
MemoryNode = tuple[int, Memory]  # a level and a memory


class FiniteRegions(RegionGraph):
    """The region graph of a query about finitely many kinds of events."""

    method = "kinds of events"

    def __init__(self, query: RegionQuery, kinds: _EventKinds, budget: Budget) -> None:
        self.query = query
        self.budget = budget
        self.kinds = kinds
        self.exact = query.exact and kinds.exact
        self.constants = constants_of(query.guards())
        self._models: dict[Kind, Event] = {}
        self._note_ages()
        self._explore()

    def _note_ages(self) -> None:
        """Note for each atom and field how old an event can be when a guard still reads it."""
        self.deepest_atom = [0] * len(self.kinds.unary)
        self.deepest_field = [0] * len(self.kinds.listed)
        for guard in self.query.guards():
            for atom in atoms(guard):
                if isinstance(atom, IsFirst):
                    continue
                if atom in self.kinds.moved:
                    index, age = self.kinds.moved[atom]
                    self.deepest_atom[index] = max(self.deepest_atom[index], age)
                else:
                    for field in terms.fields(atom):
                        index = self.kinds.listed.index(field.name)
                        self.deepest_field[index] = max(self.deepest_field[index], -field.offset)

    def _remembered(self, kind: tuple[object, ...], age: int) -> tuple[object, ...]:
        """Return the part of an event that guards can read at an age; the rest is None."""
        deepest = [*self.deepest_field, *self.deepest_atom]
        return tuple(
            part if deep >= age else None for part, deep in zip(kind, deepest, strict=True)
        )

    def remembered(self) -> Iterator[Guard]:
        """Yield the atoms of the events that guards can still read, and the values of listed fields."""
        for atom, deepest in zip(self.kinds.unary, self.deepest_atom, strict=True):
            yield from (terms.shifted(atom, -age) for age in range(deepest))
        for index, (name, deepest) in enumerate(
            zip(self.kinds.listed, self.deepest_field, strict=True)
        ):
            values = dict.fromkeys(kind.values[index] for kind in self.kinds.members)
            for value in list(values)[1:]:  # none of these: it is the first one
                type_ = self.query.fields[name]
                yield from (_is(name, value, type_, age) for age in range(deepest))

    def _explore(self) -> None:
        """Explore the memories of streams, and merge those with the same continuations."""
        kinds = [(*kind.values, *kind.truths) for kind in self.kinds.members]
        numbers: Exploration[MemoryNode, None] = Exploration([(0, ())])
        self.steps: list[list[tuple[Step, int]]] = []  # with the kind of the event
        top = self.query.levels - 1
        taken = 0
        for level, memory in numbers:
            steps: dict[Step, int] = {}
            for number, kind in enumerate(kinds):
                taken += 1
                if taken > MOST_STEPS:
                    raise TooManyError
                self.budget.check(steps=PER_KIND, share=0.5)  # the rest is for refinement
                action = self.query.action(level, partial(self._atom, (kind, *memory)))
                if action is None:
                    continue
                after = tuple(
                    self._remembered(event, age + 1)
                    for age, event in enumerate((kind, *memory)[: self.query.depth])
                )
                node = (min(level + 1, top), after)
                steps.setdefault((action, numbers[node]), number)
            self.steps.append(list(steps.items()))
        plain = [[step for step, _ in row] for row in self.steps]
        nodes = numbers.states
        self.block = quotient(plain, [level for level, _ in nodes])
        order: dict[int, int] = {}  # numbers the block of the initial node 0
        self.block = [order.setdefault(block, len(order)) for block in self.block]
        self.edges = [[] for _ in order]
        self.level = [0] * len(order)
        for node_number, row in enumerate(plain):
            merged = {(action, self.block[to]) for action, to in row}
            self.edges[self.block[node_number]] = sorted(merged)
            self.level[self.block[node_number]] = nodes[node_number][0]

    def _atom(self, gram: Sequence[tuple[object, ...]], atom: Guard) -> bool:
        """Return whether an atom holds at the newest event of a gram."""
        assert isinstance(atom, Comparison | Truth | Like)
        listed = len(self.kinds.listed)
        if atom in self.kinds.moved:
            index, age = self.kinds.moved[atom]
            return age < len(gram) and bool(gram[age][listed + index])
        events: list[Any] = [
            dict(zip(self.kinds.listed, kind[:listed], strict=True)) for kind in reversed(gram)
        ]
        missing = [None] * (self.query.depth + 1 - len(events))
        return holds(atom, [*missing, *events], numbers=EXACT)

    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path: any event of a kind represents it."""
        main, node = self._walk(path, 0)
        return main, [self._walk(branch, node)[0] for branch in branches]

    def recurring(
        self, stem: Sequence[Step], cycle: Sequence[Step], tail: Sequence[Step]
    ) -> tuple[list[Event], list[Event], list[Event]] | None:
        """Return events such that memory is the same before and after the cycle."""
        before, node = self._walk(stem, 0)
        repeated, after = self._walk(cycle, node)
        last, _ = self._walk(tail, after)
        return (before, repeated, last) if after == node else None

    def _walk(self, path: Sequence[Step], node: int) -> tuple[list[Event], int]:
        events: list[Event] = []
        for action, region in path:
            choices = [
                (kind, to)
                for (own, to), kind in self.steps[node]
                if own == action and self.block[to] == region
            ]
            kind, node = choices[0]
            events.append(self._event(self.kinds.members[kind]))
        return events, node

    def _event(self, kind: Kind) -> Event:
        if kind not in self._models:
            guard = self.kinds.guard(kind, self.query)
            event = None
            with suppress(UndecidedError):
                within = terms.And((guard, self.query.in_bounds()))
                event = readable_event(within, self.query.fields, self.constants)
            self._models[kind] = event or {}
        return self._models[kind]


@dataclass(frozen=True)
class _EventKinds:
    """The fields that are listed by value, the atoms about one event, and the kinds of events."""

    listed: tuple[str, ...]
    unary: tuple[Atom, ...]
    moved: Mapping[Atom, tuple[int, int]]  # an atom of a guard → its index in `unary`, its age
    members: tuple[Kind, ...]
    exact: bool = True  # false if some kinds may not exist

    def guard(self, kind: Kind, query: RegionQuery) -> Guard:
        """Return the guard that describes the events of a kind."""
        return terms.And(
            (
                *(
                    atom if true else terms.Not(atom)
                    for atom, true in zip(self.unary, kind.truths, strict=True)
                ),
                *(
                    _is(name, value, query.fields[name])
                    for name, value in zip(self.listed, kind.values, strict=True)
                ),
            )
        )


def finite_regions(
    query: RegionQuery, budget: Budget, most: int = MOST_VALUES_LISTED
) -> FiniteRegions | None:
    """Return the region graph of a query if it has few kinds of events, else None.

    Of a field with whole numbers, at most so many values are listed.
    """
    kinds = _event_kinds(query, most)
    if kinds is None:
        return None
    try:
        return FiniteRegions(query, kinds, budget)
    except TooManyError:
        return None


def _event_kinds(query: RegionQuery, most: int) -> _EventKinds | None:
    unary: dict[Atom, int] = {}
    moved: dict[Atom, tuple[int, int]] = {}
    listed: dict[str, list[Value]] = {}
    for atom in dict.fromkeys(atom for guard in query.guards() for atom in atoms(guard)):
        if isinstance(atom, IsFirst):
            continue
        ages = {-field.offset for field in terms.fields(atom)}
        if len(ages) <= 1:
            age = max(ages, default=0)
            current = terms.shifted(atom, age)
            moved[atom] = (unary.setdefault(current, len(unary)), age)
            continue
        for field in terms.fields(atom):
            values = listed.get(field.name) or _values(field, query, most)
            if values is None:
                return None
            listed[field.name] = values
    kinds = _kinds(tuple(unary), listed, query)
    if kinds is None:
        return None
    event_kinds = _EventKinds(tuple(listed), tuple(unary), moved, tuple(kinds))
    if any(map(terms.is_opaque, unary)):  # the solver cannot say which of these kinds do not exist
        few = len(kinds) <= MOST_MODELLED
        exist = few and all(_exists(event_kinds.guard(kind, query), query) for kind in kinds)
        return replace(event_kinds, exact=exist)
    if any(
        isinstance(atom, Comparison) and not (terms.linear(atom.left) and terms.linear(atom.right))
        for atom in unary
    ):  # with products of fields, the solver decides for each kind whether it exists
        if any(terms.divides(atom) for atom in unary):
            return None  # division by zero has no exact value, but one at run time
        constants = constants_of(query.guards())
        try:
            real = [
                kind
                for kind in kinds
                if readable_event(event_kinds.guard(kind, query), query.fields, constants)
            ]
        except UndecidedError:
            return None
        return replace(event_kinds, members=tuple(real))
    return event_kinds


def _exists(guard: Guard, query: RegionQuery) -> bool:
    """Tell whether an event is found of which a guard holds."""
    try:
        event = readable_event(terms.And((guard, query.in_bounds())), query.fields, {})
    except UndecidedError:
        return False
    return event is not None and holds(guard, [event], numbers=EXACT)


def _values(field: Field, query: RegionQuery, most: int) -> list[Value] | None:
    """Return the values that a field can have in a stream that conforms, if they are few."""
    if field.type == BOOL:
        return [False, True]
    if field.type.values:
        return list(field.type.values)
    if field.name in query.bounds:
        ranks = query.bounds[field.name]
        return list(range(ranks)) if ranks <= MOST_VALUES_LISTED else None
    if field.kind != "whole":
        return None
    now = Field(field.name, 0, field.type)
    # Every event satisfies a class of each reader that reads from the first event on.
    always = terms.And(
        tuple(
            terms.Or(classes)
            for reader in query.readers
            if (classes := reader[0]) is not None
            and all(field.offset == 0 for guard in classes for field in terms.fields(guard))
            and all(later == classes for later in reader)
        )
    )
    if now not in terms.fields(always) or any(map(terms.is_opaque, terms.atoms(always))):
        return None  # no class restricts the field, or the solver cannot say how
    values = _whole_values(always, now, tuple(query.fields.items()), most)
    return None if values is None else list(values)


def _possible(guard: Guard) -> bool:
    """Tell whether a guard about one event can hold; if undecided, it can."""
    try:
        return satisfiable(guard, lookback=0)
    except UndecidedError:
        return True


@lru_cache(maxsize=64)  # the windows of a spec, and those that findings try, ask the same
def _whole_values(
    always: Guard, field: Field, types: tuple[tuple[str, Type], ...], most: int
) -> tuple[int, ...] | None:
    """Return the values that a whole number can have under a guard, if they are few."""
    far = (Comparison(">=", field, Constant(FAR)), Comparison("<=", field, Constant(-FAR)))
    if any(_possible(terms.And((always, beyond))) for beyond in far):
        return None  # to list values of an endless range one by one is slow, and in vain
    values: list[int] = []
    while len(values) <= most:
        others = tuple(Comparison("!=", field, Constant(value)) for value in values)
        try:
            model = readable_event(
                terms.And((always, *others)), dict(types), {field.name: [0, *values]}
            )
        except UndecidedError:
            return None
        if model is None:
            return tuple(sorted(values))
        value = model[field.name]
        assert isinstance(value, int)
        values.append(value)
    return None


def _kinds(
    unary: tuple[Atom, ...], listed: Mapping[str, Sequence[Value]], query: RegionQuery
) -> list[Kind] | None:
    """Return every kind of events that exists, treating products of fields as free."""
    names = [(name, value) for name, values in listed.items() for value in values]
    marks: list[Guard] = [*unary, *(_is(name, value, query.fields[name]) for name, value in names)]
    if query.bounds:
        marks.append(query.in_bounds())
    kinds: list[Kind] = []
    try:
        for row in combinations(marks, 0, floating=False, most=8 * MOST_KINDS, exactly=True):
            chosen = {
                name: value
                for (name, value), true in zip(names, row[len(unary) :], strict=False)
                if true
            }
            if len(chosen) == len(listed) and (not query.bounds or row[-1]):
                kinds.append(Kind(tuple(chosen[name] for name in listed), row[: len(unary)]))
            if len(kinds) > MOST_KINDS:
                return None
    except (TooManyRowsError, UndecidedError):
        return None
    return sorted(kinds, key=repr)


def _is(name: str, value: Value, type_: Type, age: int = 0) -> Guard:
    field = Field(name, -age, type_)
    if type_ == BOOL:
        return Truth(field) if value else terms.Not(Truth(field))
    assert isinstance(value, int | str)
    return Comparison("=", field, Constant(value))
