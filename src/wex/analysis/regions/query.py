"""Queries to a region graph: the automata that read the stream, and their classes of grams.

Positions count up to a last *level*, after which all grams have the same shape. At each level a
reader has a guard for each of its classes, or none if it does not read yet. The order of the stream
is part of every query: events come sorted, and keys do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from wex.analysis.rates import NO_RATES, Rates
from wex.analysis.regions.derived import Complete, Derived, DerivedFields, FreeTruth
from wex.analysis.regions.graph import SILENT
from wex.automata.explore import Exploration, explore
from wex.compile.assumptions import AssumptionAutomaton, assumption_automaton
from wex.compile.stream_order import equal, stream_order
from wex.spec.types import INT
from wex.theory import terms
from wex.theory.digits import Digits, digits_of, with_digits
from wex.theory.letters import guard_of_letters
from wex.theory.terms import Guard, IsFirst, NullFlag, atoms, with_null_flags
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from wex.analysis.regions.graph import Action
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning
    from wex.spec.types import Type

Classes = tuple[Guard, ...]
Test: TypeAlias = "Callable[[Callable[[int], bool]], bool]"
Tests: TypeAlias = "tuple[Test, ...]"


@dataclass(frozen=True)
class RegionQuery:
    """The readers, each with its classes by level (None if it does not read yet), and the order.

    `fields` are the `declared` fields, where those in `ranks` have a type with a value for NULL, and
    beside each field that may be NULL a flag that says whether it is. Guards that are free are flags, too.
    `depth` is how many earlier events a gram shows; `exact` is false if a guard cannot express the
    order exactly. No guard reads the columns in `rising`: a witness may give each event another value.
    Of the fields in `digits`, guards read the digits instead. `rates` limit the events in a time. Guards may
    read `derived` fields. A query that is `loose` has more streams than there are.
    """

    fields: Mapping[str, Type]
    declared: Mapping[str, Type]
    readers: tuple[tuple[Classes | None, ...], ...]
    order: Guard
    depth: int
    exact: bool
    rising: tuple[str, ...]
    ranks: Mapping[str, Type]
    digits: tuple[Digits, ...] = ()
    rates: Rates = NO_RATES
    derived: DerivedFields | None = None
    loose: bool = False

    @cached_property
    def bounds(self) -> dict[str, int]:
        """Return how many values each digit has: from 0 up to that number."""
        return {name: most for own in self.digits for name, most in own.bounds().items()}

    def in_bounds(self) -> Guard:
        """Return the guard that the digits of an event have possible values."""
        parts: list[Guard] = []
        for name, most in self.bounds.items():
            digit = terms.Field(name, 0, INT)
            parts.append(terms.Comparison(">=", digit, terms.Constant(0)))
            parts.append(terms.Comparison("<", digit, terms.Constant(most)))
        return terms.And(tuple(parts)) if parts else terms.Always(True)

    @property
    def levels(self) -> int:
        """Return how many levels there are."""
        return len(self.readers[0])

    def action(self, level: int, true: Callable[[Guard], bool]) -> Action | None:
        """Return the classes that the readers read, or None if no stream has this event here.

        `true` tells which atoms hold at the event.
        """
        # Guards are evaluated far more often than with different outcomes. They ask for atoms in an order of their own,
        # so the same answers so far lead to the same next question, or to the result.
        atoms, _, _ = self._numbered
        questions, answers, known = self._questions[level], 1, dict[int, bool]()

        def holds(atom: int) -> bool:
            nonlocal answers
            if atom not in known:
                guard = atoms[atom]
                is_first = isinstance(guard, IsFirst) and guard.offset == -level
                known[atom] = is_first if isinstance(guard, IsFirst) else true(guard)
                questions[answers] = atom
                answers = answers << 1 | known[atom]
            return known[atom]

        while (asked := questions.get(answers)) is not None:
            if isinstance(asked, tuple):
                return asked[0]
            holds(asked)
        found = self._evaluated(level, holds)
        questions[answers] = (found,)
        return found

    def _evaluated(self, level: int, holds: Callable[[int], bool]) -> Action | None:
        """Return what the readers read, if `holds` tells which of the numbered atoms hold."""
        _, readers, order = self._numbered
        if level and not order(holds):
            return None
        read = []
        for reader in readers:
            classes = reader[level]
            if classes is None:
                read.append(SILENT)
                continue
            chosen = next((cls for cls, test in enumerate(classes) if test(holds)), None)
            if chosen is None:
                return None
            read.append(chosen)
        return tuple(read)

    @cached_property
    def _questions(self) -> list[dict[int, int | tuple[Action | None]]]:
        """Return by level the atom that is asked for after some answers, or the result: `(result,)`.

        Answers are a number: a bit for each of them, behind a leading one.
        """
        return [{} for _ in range(self.levels)]

    @cached_property
    def _numbered(self) -> tuple[Sequence[Guard], Sequence[Sequence[Tests | None]], Test]:
        """Return all atoms, and tests of the guards of the readers and of the order, which ask for their numbers.

        Guards of classes share their atoms, and are evaluated far more often than there are atoms.
        """
        atoms: Exploration[Guard, None] = Exploration()
        seen: dict[int, Tests] = {}  # by the identity of classes: most levels have the same

        def tests(classes: Classes) -> Tests:
            if id(classes) not in seen:
                seen[id(classes)] = tuple(_test(guard, atoms) for guard in classes)
            return seen[id(classes)]

        readers = [
            [None if own is None else tests(own) for own in reader] for reader in self.readers
        ]
        return atoms.states, readers, _test(self.order, atoms)

    def guards_of(self, level: int, action: Action) -> list[Guard]:
        """Return the guards that hold when an action is read at a level."""
        guards = [
            classes[cls]
            for reader, cls in zip(self.readers, action, strict=True)
            if (classes := reader[level]) is not None
        ]
        return [*guards, self.order] if level else guards

    @property
    def timed(self) -> bool:
        """Tell whether guards read the time of events whose number in a time is limited."""
        return bool(self.rates.limits) and self.rates.clock not in self.rising

    def guards(self) -> list[Guard]:
        """Return the guards of all classes, and the order."""
        read = [guard for reader in self.readers for classes in reader for guard in (classes or ())]
        return [*read, self.order]


def query_of(
    meaning: Meaning,
    windows: Sequence[AnalysedWindow],
    assumptions: Sequence[AssumptionAutomaton],
    *,
    rates: Rates,
    moments: bool = False,
    units: Mapping[str, int] | None = None,
    derived: DerivedFields | None = None,
    rounded: bool = False,
) -> RegionQuery:
    """Return the query for some windows of a spec under assumptions.

    With `moments` one more reader tells whether an event has the same time as the one before. Of columns
    with `units` the order only counts these, and guards read `derived` fields if these are given: such a
    query is loose. If these are `rounded`, what is sure of them is part of the order.
    """

    def shown(guard: Guard) -> Guard:
        return with_null_flags(guard if derived is None else derived.derive(guard))

    first = [name.text for name in meaning.spec.stream.order_by][:1]
    same = equal(first[0], meaning.fields[first[0]]) if moments else None
    classes = [tuple(map(shown, window.classes)) for window in windows]
    guards = [guard for own in classes for guard in own]
    guards += [
        shown(guard)
        for assumption in assumptions
        for phase in assumption.phases
        for guard in phase.guards
    ]
    guards += [same] if same else []
    relevant = {field.name for guard in guards for field in terms.fields(guard)}
    order = stream_order(meaning, relevant, units)
    in_order = with_null_flags(order.guard)
    depths = [window.lookback for window in windows]
    depths += [len(assumption.phases) - 1 for assumption in assumptions]
    depths += [-field.offset for guard in [*guards, in_order] for field in terms.fields(guard)]
    depth = max(depths, default=0)
    if derived is not None and rounded:
        in_order = terms.And((in_order, *derived.order(depth, relevant)))
    firsts = any(isinstance(atom, IsFirst) for guard in guards for atom in atoms(guard))
    levels = depth + 1 + firsts
    readers: list[tuple[Classes | None, ...]] = [
        tuple(own if level >= window.first else None for level in range(levels))
        for window, own in zip(windows, classes, strict=True)
    ]
    readers += [_assumption_reader(assumption, levels, shown) for assumption in assumptions]
    if same is not None:
        moment = (same, terms.Not(same))
        readers.append(tuple(moment if level else None for level in range(levels)))
    every = [*guards, in_order, *(g for reader in readers for own in reader for g in own or ())]
    digits = {own.name: own for own in digits_of(every)}
    added = {field.name: field.type for g in every for field in terms.fields(g) if _is_added(field)}
    places = {
        own.field(index, 0).name: INT for own in digits.values() for index in range(len(own.places))
    }
    return RegionQuery(
        {**meaning.fields, **order.ranks, **added, **places},
        meaning.fields,
        tuple(
            tuple(own and tuple(with_digits(g, digits) for g in own) for own in reader)
            for reader in readers
        ),
        with_digits(in_order, digits),
        depth,
        order.exact,
        order.rising,
        order.ranks,
        tuple(digits.values()),
        rates,
        derived,
        loose=units is not None or derived is not None,
    )


def _test(guard: Guard, atoms: Mapping[Guard, int]) -> Test:
    """Return a function that tells whether a guard holds, given one that tells it of atoms by their numbers."""
    match guard:
        case terms.Always(value):
            return lambda _: value
        case terms.Not(operand):
            inner = _test(operand, atoms)
            return lambda holds: not inner(holds)
        case terms.And(parts):
            every = [_test(part, atoms) for part in parts]
            return lambda holds: all(test(holds) for test in every)
        case terms.Or(parts):
            some = [_test(part, atoms) for part in parts]
            return lambda holds: any(test(holds) for test in some)
    number = atoms[guard]
    return lambda holds: holds(number)


def _is_added(field: terms.Field) -> bool:
    return isinstance(field.name, NullFlag | FreeTruth | Derived | Complete)


def assumptions_of(meaning: Meaning) -> AssumptionAutomaton | None:
    """Return the automaton of all assumptions of a spec, the unchecked ones included."""
    return assumption_automaton(meaning, unchecked=True)


def assumption_classes(assumption: AssumptionAutomaton, level: int) -> list[list[int]]:
    """Return the letters of a level by their effect: those that kill every state are left out."""
    phase = min(level, len(assumption.phases) - 1)
    states = _states_by_phase(assumption)[phase]
    classes: dict[tuple[int, ...], list[int]] = {}
    for letter in range(len(assumption.phases[phase])):
        column = tuple(
            after if assumption.live[after := assumption.table[state][letter]] else -1
            for state in states
        )
        if any(after >= 0 for after in column):
            classes.setdefault(column, []).append(letter)
    return list(classes.values())


def _states_by_phase(assumption: AssumptionAutomaton) -> list[list[int]]:
    """Return the live states that a stream can reach at each phase."""
    last = len(assumption.phases) - 1
    by_phase: list[list[int]] = []
    current = {0} if assumption.live[0] else set()
    for phase in range(last + 1):
        letters = len(assumption.phases[phase])

        def successors(state: int, letters: int = letters) -> list[int]:
            return [after for after in assumption.table[state][:letters] if assumption.live[after]]

        if phase == last:  # the last phase lasts for ever
            current = set(explore(current, successors)[0])
        by_phase.append(sorted(current))
        current = {after for state in current for after in successors(state)}
    return by_phase


def _assumption_reader(
    assumption: AssumptionAutomaton, levels: int, shown: Callable[[Guard], Guard]
) -> tuple[Classes | None, ...]:
    """Return the classes of an assumption by level, as guards that are `shown` to the query."""
    reader: list[Classes] = []
    for level in range(levels):
        letters = assumption.phases[min(level, len(assumption.phases) - 1)]
        masks = [
            sum(1 << letter for letter in members)
            for members in assumption_classes(assumption, level)
        ]
        reader.append(tuple(shown(guard_of_letters(letters, mask)) for mask in masks))
    return tuple(reader)
