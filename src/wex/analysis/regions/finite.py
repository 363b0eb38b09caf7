"""Spaces of finitely many kinds of events: no solver is needed to say what follows what.

Where no atom relates two events, an event matters by the truths of its atoms alone; where some do
and their fields have few values, by these values, too. A memory is then a row of such kinds.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import SILENT, RegionGraph, Step, quotient
from wex.automata.explore import Exploration
from wex.spec.types import BOOL, Type
from wex.theory import terms
from wex.theory.evaluate import EXACT, holds
from wex.theory.letters import TooManyRowsError, combinations
from wex.theory.projection import constants_of, readable_event
from wex.theory.solver import UndecidedError
from wex.theory.terms import Always, Atom, Comparison, Constant, Field, Guard, IsFirst, Truth, atoms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.analysis.regions.graph import Budget
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.evaluate import Event, Value

MOST_KINDS = 64
MOST_STEPS = 40_000
WIDTH = 12  # values of a whole number that are listed


@dataclass(frozen=True)
class Kind:
    """A kind of events: values of the listed fields, and which atoms hold of it, moved to it."""

    values: tuple[Value, ...]
    truths: tuple[bool, ...]


StateStore = tuple[
    tuple[object, ...], ...
]  # what is remembered of each earlier event, newest first
Node = tuple[int, StateStore]


class FiniteSpace(RegionGraph):
    """The space of a question about finitely many kinds of events."""

    way = "kinds of events"

    def __init__(self, question: RegionQuery, fields: _Fields, budget: Budget) -> None:
        self.question = question
        self.budget = budget
        self.fields = fields
        self.exact = question.exact
        self.constants = constants_of(question.guards())
        self._models: dict[Kind, Event] = {}
        self._compile()
        self._crawl()

    def _compile(self) -> None:
        """Note what is remembered of an event at each age."""
        self.deepest_atom = [0] * len(self.fields.unary)
        self.deepest_field = [0] * len(self.fields.listed)
        for guard in self.question.guards():
            for atom in atoms(guard):
                if isinstance(atom, IsFirst):
                    continue
                if atom in self.fields.moved:
                    at, age = self.fields.moved[atom]
                    self.deepest_atom[at] = max(self.deepest_atom[at], age)
                else:
                    for each in terms.fields(atom):
                        at = self.fields.listed.index(each.name)
                        self.deepest_field[at] = max(self.deepest_field[at], -each.offset)

    def _remembered(self, kind: tuple[object, ...], age: int) -> tuple[object, ...]:
        """Return what of an event still matters when it is so old; the rest is None."""
        deepest = [*self.deepest_field, *self.deepest_atom]
        return tuple(
            part if deep >= age else None for part, deep in zip(kind, deepest, strict=True)
        )

    def _crawl(self) -> None:
        kinds = [(*kind.values, *kind.truths) for kind in self.fields.kinds]
        numbers: Exploration[Node, None] = Exploration([(0, ())])
        self.steps: list[list[tuple[Step, int]]] = []  # with the kind of the event
        top = self.question.levels - 1
        taken = 0
        for level, memory in numbers:
            found: dict[Step, int] = {}
            for number, kind in enumerate(kinds):
                taken += 1
                if taken > MOST_STEPS:
                    raise TooManyError
                self.budget.check(share=0.5)  # the rest is for refinement
                action = self._action(level, (kind, *memory))
                if action is None:
                    continue
                after = tuple(
                    self._remembered(each, age + 1)
                    for age, each in enumerate((kind, *memory)[: self.question.depth])
                )
                node = (min(level + 1, top), after)
                found.setdefault((action, numbers[node]), number)
            self.steps.append(list(found.items()))
        plain = [[step for step, _ in each] for each in self.steps]
        nodes = numbers.states
        self.block = quotient(plain, [level for level, _ in nodes])
        # The initial node need not be in block 0.
        order = {self.block[0]: 0}
        for each in self.block:
            order.setdefault(each, len(order))
        self.block = [order[each] for each in self.block]
        self.edges = [[] for _ in order]
        self.level = [0] * len(order)
        for node_number, steps in enumerate(plain):
            merged = {(action, self.block[to]) for action, to in steps}
            self.edges[self.block[node_number]] = sorted(merged)
            self.level[self.block[node_number]] = nodes[node_number][0]

    def _action(self, level: int, gram: Sequence[tuple[object, ...]]) -> tuple[int, ...] | None:
        """Return the classes that the readers read, or None if no stream goes on so."""

        def true(guard: Guard) -> bool:
            match guard:
                case Always(value):
                    return value
                case terms.Not(operand):
                    return not true(operand)
                case terms.And(parts):
                    return all(true(part) for part in parts)
                case terms.Or(parts):
                    return any(true(part) for part in parts)
                case IsFirst(offset):
                    return offset == -level
            assert isinstance(guard, Comparison | Truth)
            return self._atom(guard, gram)

        if level and not true(self.question.order):
            return None
        action = []
        for reader in self.question.readers:
            classes = reader[level]
            if classes is None:
                action.append(SILENT)
                continue
            found = next((at for at, guard in enumerate(classes) if true(guard)), None)
            if found is None:
                return None
            action.append(found)
        return tuple(action)

    def _atom(self, atom: Comparison | Truth, gram: Sequence[tuple[object, ...]]) -> bool:
        listed = len(self.fields.listed)
        if atom in self.fields.moved:
            at, age = self.fields.moved[atom]
            return age < len(gram) and bool(gram[age][listed + at])
        events: list[Any] = [
            dict(zip(self.fields.listed, kind[:listed], strict=True)) for kind in reversed(gram)
        ]
        missing = [None] * (self.question.depth + 1 - len(events))
        return holds(atom, [*missing, *events], numbers=EXACT)

    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path: any event of the right kind will do."""
        main, node = self._walk(path, 0)
        return main, [self._walk(branch, node)[0] for branch in branches]

    def _walk(self, path: Sequence[Step], node: int) -> tuple[list[Event], int]:
        events: list[Event] = []
        for action, region in path:
            choices = [
                (kind, to)
                for (own, to), kind in self.steps[node]
                if own == action and self.block[to] == region
            ]
            kind, node = choices[0]
            events.append(self._event(self.fields.kinds[kind]))
        return events, node

    def _event(self, kind: Kind) -> Event:
        if kind not in self._models:
            found = readable_event(
                self.fields.guard(kind, self.question), self.question.fields, self.constants
            )
            self._models[kind] = {} if found is None else found
        return self._models[kind]


@dataclass(frozen=True)
class _Fields:
    """Which fields are listed by value, the atoms about one event, and the kinds that there are."""

    listed: tuple[str, ...]
    unary: tuple[Atom, ...]
    moved: Mapping[Atom, tuple[int, int]]  # an atom as written → its place in `unary`, its age
    kinds: tuple[Kind, ...]

    def guard(self, kind: Kind, question: RegionQuery) -> Guard:
        """Return what holds of an event of a kind."""
        return terms.And(
            (
                *(
                    atom if true else terms.Not(atom)
                    for atom, true in zip(self.unary, kind.truths, strict=True)
                ),
                *(
                    _is(name, value, question.fields[name])
                    for name, value in zip(self.listed, kind.values, strict=True)
                ),
            )
        )


def finite_regions(question: RegionQuery, budget: Budget) -> FiniteSpace | None:
    """Return the space of a question if it has finitely many kinds of events, else None."""
    fields = _fields(question)
    if fields is None:
        return None
    try:
        return FiniteSpace(question, fields, budget)
    except TooManyError:
        return None


def _fields(question: RegionQuery) -> _Fields | None:
    unary: dict[Atom, int] = {}
    moved: dict[Atom, tuple[int, int]] = {}
    listed: dict[str, list[Value]] = {}
    for atom in dict.fromkeys(each for guard in question.guards() for each in atoms(guard)):
        if isinstance(atom, IsFirst):
            continue
        ages = {-each.offset for each in terms.fields(atom)}
        if len(ages) <= 1:
            age = max(ages, default=0)
            shifted = _shifted(atom, age)
            moved[atom] = (unary.setdefault(shifted, len(unary)), age)
            continue
        for each in terms.fields(atom):
            values = listed.get(each.name) or _values(each, question)
            if values is None:
                return None
            listed[each.name] = values
    kinds = _kinds(tuple(unary), listed, question.fields)
    if kinds is None:
        return None
    found = _Fields(tuple(listed), tuple(unary), moved, tuple(kinds))
    if any(
        isinstance(atom, Comparison) and not (terms.linear(atom.left) and terms.linear(atom.right))
        for atom in unary
    ):  # a product of fields: whether such an event can be is asked of each kind
        if any(terms.divides(atom) for atom in unary):
            return None  # by zero, perhaps: no exact number, but one at run time
        constants = constants_of(question.guards())
        try:
            real = [
                kind
                for kind in kinds
                if readable_event(found.guard(kind, question), question.fields, constants)
            ]
        except UndecidedError:
            return None
        return replace(found, kinds=tuple(real))
    return found


def _values(field: Field, question: RegionQuery) -> list[Value] | None:
    """Return the values that a field has in streams that conform, if they are few."""
    if field.type == BOOL:
        return [False, True]
    if field.type.values:
        return list(field.type.values)
    if field.kind != "whole":
        return None
    now = Field(field.name, 0, field.type)
    # What every event of a stream satisfies: some class of each reader that reads from the first.
    always = terms.And(
        tuple(
            terms.Or(classes)
            for reader in question.readers
            if (classes := reader[0]) is not None
            and all(each.offset == 0 for guard in classes for each in terms.fields(guard))
            and reader[0] == reader[-1]
        )
    )
    if all(each != now for each in terms.fields(always)):
        return None  # nothing is said of it
    return _listed(always, now, question.fields)


def _listed(always: Guard, field: Field, types: Mapping[str, Type]) -> list[Value] | None:
    """Return the values that a whole number can have under a guard, if they are few."""
    found: deque[int] = deque()
    while len(found) <= WIDTH:
        others = tuple(Comparison("!=", field, Constant(value)) for value in found)
        try:
            model = readable_event(terms.And((always, *others)), types, {field.name: [0, *found]})
        except UndecidedError:
            return None
        if model is None:
            return sorted(found)  # type: ignore[return-value]
        value = model[field.name]
        assert isinstance(value, int)
        found.append(value)
    return None


def _kinds(
    unary: tuple[Atom, ...], listed: Mapping[str, Sequence[Value]], fields: Mapping[str, Type]
) -> list[Kind] | None:
    """Return every kind of events that can be, as far as atoms without products can tell."""
    names = [(name, value) for name, values in listed.items() for value in values]
    marks: list[Guard] = [*unary, *(_is(name, value, fields[name]) for name, value in names)]
    found = []
    try:
        for row in combinations(marks, 0, floating=False, most=8 * MOST_KINDS, exactly=True):
            chosen = {
                name: value
                for (name, value), true in zip(names, row[len(unary) :], strict=True)
                if true
            }
            if len(chosen) == len(listed):
                found.append(Kind(tuple(chosen[name] for name in listed), row[: len(unary)]))
            if len(found) > MOST_KINDS:
                return None
    except (TooManyRowsError, UndecidedError):
        return None
    return sorted(found, key=repr)


def _is(name: str, value: Value, type_: Type) -> Guard:
    field = Field(name, 0, type_)
    if type_ == BOOL:
        return Truth(field) if value else terms.Not(Truth(field))
    assert isinstance(value, int | str)
    return Comparison("=", field, Constant(value))


def _shifted(atom: Atom, age: int) -> Atom:
    """Return an atom about the event so many places back as one about the current event."""

    def moved(term: terms.Term) -> terms.Term:
        match term:
            case Field(name, offset, type_):
                return Field(name, offset + age, type_)
            case terms.Negative(value):
                return terms.Negative(moved(value))
            case terms.Absolute(value):
                return terms.Absolute(moved(value))
            case terms.Arithmetic(op, left, right):
                return terms.Arithmetic(op, moved(left), moved(right))
        return term

    match atom:
        case Comparison(op, left, right):
            return Comparison(op, moved(left), moved(right))
        case Truth(Field(name, offset, type_)):
            return Truth(Field(name, offset + age, type_))
    raise TypeError(atom)
