"""What is asked of the regions: which automata read the stream, by which classes of grams.

Positions count up to a last *level*; from there on every gram looks the same. A reader has guards
for its classes at each level, or none where it does not read yet. The order of the stream is part
of every question: events come sorted, and keys do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata.explore import explore
from wex.compile.assumptions import AssumptionAutomaton, assumption_automaton
from wex.compile.stream_order import equal, sorting
from wex.theory import terms
from wex.theory.letters import guard_of_letters
from wex.theory.terms import Guard, IsFirst, atoms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning
    from wex.spec.types import Type

Classes = tuple[Guard, ...]


@dataclass(frozen=True)
class RegionQuery:
    """Readers, each with its classes by level (None: it does not read yet), and the order.

    `fields` are those that are `declared`, with the types that stand for NULL too in `ranks`.

    `depth` is how many earlier events a gram shows; `exact` is false if the order cannot be told
    exactly. `rising` are the columns that can tell all events apart, as nothing else is asked of
    them.
    """

    fields: Mapping[str, Type]
    declared: Mapping[str, Type]
    readers: tuple[tuple[Classes | None, ...], ...]
    order: Guard
    depth: int
    exact: bool
    rising: tuple[str, ...]
    ranks: Mapping[str, Type]

    @property
    def levels(self) -> int:
        """Return how many levels there are."""
        return len(self.readers[0])

    def guards(self) -> list[Guard]:
        """Return all guards, the order too."""
        found = [
            guard for reader in self.readers for classes in reader for guard in (classes or ())
        ]
        return [*found, self.order]


def query_of(
    meaning: Meaning,
    subjects: Sequence[AnalysedWindow],
    promises: Sequence[AssumptionAutomaton],
    *,
    moments: bool = False,
) -> RegionQuery:
    """Return the question about some windows of a spec under assumptions.

    With `moments` there is one more reader: whether an event is at the same time as the one before.
    """
    first = [name.text for name in meaning.spec.stream.order_by][:1]
    same = equal(first[0], meaning.fields[first[0]]) if moments else None
    asked = [guard for each in subjects for guard in each.classes]
    asked += [guard for each in promises for phase in each.phases for guard in phase.guards]
    asked += [same] if same else []
    relevant = {field.name for guard in asked for field in terms.fields(guard)}
    order = sorting(meaning, relevant)
    depth = max(
        [0, *(each.lookback for each in subjects), *(len(each.phases) - 1 for each in promises)]
    )
    depth = max(
        [
            depth,
            *(-field.offset for guard in [*asked, order.guard] for field in terms.fields(guard)),
        ]
    )
    firsts = any(isinstance(atom, IsFirst) for guard in asked for atom in atoms(guard))
    levels = depth + 1 + firsts
    readers: list[tuple[Classes | None, ...]] = [
        tuple(each.classes if level >= each.first else None for level in range(levels))
        for each in subjects
    ]
    readers += [_promise_reader(each, levels) for each in promises]
    if same is not None:
        moment = (same, terms.Not(same))
        readers.append(tuple(moment if level else None for level in range(levels)))
    return RegionQuery(
        {**meaning.fields, **order.ranks},
        meaning.fields,
        tuple(readers),
        order.guard,
        depth,
        order.exact,
        order.rising,
        order.ranks,
    )


def assumptions_of(meaning: Meaning) -> AssumptionAutomaton | None:
    """Return all assumptions of a spec, those that are not checked too."""
    return assumption_automaton(meaning, unchecked=True)


def assumption_classes(promise: AssumptionAutomaton, level: int) -> list[list[int]]:
    """Return the letters of a level that no state tells apart, together; none that leave it."""
    phase = min(level, len(promise.phases) - 1)
    states = _states_by_phase(promise)[phase]
    found: dict[tuple[int, ...], list[int]] = {}
    for letter in range(len(promise.phases[phase])):
        column = tuple(
            after if promise.live[after := promise.table[state][letter]] else -1 for state in states
        )
        if any(after >= 0 for after in column):
            found.setdefault(column, []).append(letter)
    return list(found.values())


def _states_by_phase(promise: AssumptionAutomaton) -> list[list[int]]:
    """Return the live states that a stream can be in at each phase."""
    last = len(promise.phases) - 1
    found: list[list[int]] = []
    current = {0} if promise.live[0] else set()
    for phase in range(last + 1):
        letters = len(promise.phases[phase])

        def successors(state: int, letters: int = letters) -> list[int]:
            return [after for after in promise.table[state][:letters] if promise.live[after]]

        if phase == last:  # from here on the phase stays
            current = set(explore(current, successors)[0])
        found.append(sorted(current))
        current = {after for state in current for after in successors(state)}
    return found


def _promise_reader(promise: AssumptionAutomaton, levels: int) -> tuple[Classes | None, ...]:
    found: list[Classes] = []
    for level in range(levels):
        letters = promise.phases[min(level, len(promise.phases) - 1)]
        classes = assumption_classes(promise, level)
        found.append(
            tuple(
                guard_of_letters(letters, sum(1 << letter for letter in each)) for each in classes
            )
        )
    return tuple(found)
