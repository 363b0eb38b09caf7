"""What is asked of the regions: which automata read the stream, by which classes of grams.

Positions count up to a last *level*; from there on every gram looks the same. A reader has guards
for its classes at each level, or none where it does not read yet. The order of the stream is part
of every question: events come sorted, and keys do not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.types import BOOL, OTHER, STRING, Type
from wex.theory import terms
from wex.theory.letters import guard_of
from wex.theory.terms import Always, Comparison, Constant, Field, Guard, IsFirst, Truth, atoms
from wex.windows.assumptions import Promise, compile_promise

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.analysis.subject import Subject
    from wex.spec import Meaning

Classes = tuple[Guard, ...]


@dataclass(frozen=True)
class Question:
    """Readers, each with its classes by level (None: it does not read yet), and the order.

    `depth` is how many earlier events a gram shows; `exact` is false if the order cannot be told
    exactly. `rising` are the columns that can tell all events apart, as nothing else is asked of
    them.
    """

    fields: Mapping[str, Type]
    readers: tuple[tuple[Classes | None, ...], ...]
    order: Guard
    depth: int
    exact: bool
    rising: tuple[str, ...]

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


def question_of(
    meaning: Meaning,
    subjects: Sequence[Subject],
    promises: Sequence[Promise],
    *,
    moments: bool = False,
) -> Question:
    """Return the question about some windows of a spec under assumptions.

    With `moments` there is one more reader: whether an event is at the same time as the one before.
    """
    stream = meaning.spec.stream
    keys = [name.text for name in stream.partition_by]
    columns = [name.text for name in stream.order_by]
    same = _same_moment(columns[0], meaning.fields) if moments else None
    asked = [guard for each in subjects for guard in each.classes]
    asked += [guard for each in promises for phase in each.phases for guard in phase.guards]
    asked += [same] if same else []
    relevant = {field.name for guard in asked for field in terms.fields(guard)}
    order, exact, rising = _order(meaning.fields, keys, columns, relevant)
    depth = max(
        [0, *(each.lookback for each in subjects), *(len(each.phases) - 1 for each in promises)]
    )
    depth = max(
        [depth, *(-field.offset for guard in [*asked, order] for field in terms.fields(guard))]
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
    return Question(meaning.fields, tuple(readers), order, depth, exact, rising)


def promise_of(meaning: Meaning) -> Promise | None:
    """Return all assumptions of a spec, those that are not checked too."""
    return compile_promise(meaning, unchecked=True)


def promise_classes(promise: Promise, level: int) -> list[list[int]]:
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


def _states_by_phase(promise: Promise) -> list[list[int]]:
    """Return the live states that a stream can be in at each phase."""
    last = len(promise.phases) - 1
    found: list[list[int]] = []
    current = {0} if promise.live[0] else set()
    for phase in range(last + 1):
        if phase == last:  # from here on the phase stays
            pending = list(current)
            while pending:
                row = promise.table[pending.pop()][: len(promise.phases[last])]
                for after in row:
                    if promise.live[after] and after not in current:
                        current.add(after)
                        pending.append(after)
        found.append(sorted(current))
        current = {
            after
            for state in current
            for after in promise.table[state][: len(promise.phases[phase])]
            if promise.live[after]
        }
    return found


def _promise_reader(promise: Promise, levels: int) -> tuple[Classes | None, ...]:
    found: list[Classes] = []
    for level in range(levels):
        letters = promise.phases[min(level, len(promise.phases) - 1)]
        classes = promise_classes(promise, level)
        found.append(
            tuple(guard_of(letters, sum(1 << letter for letter in each)) for each in classes)
        )
    return tuple(found)


# --- The order of the stream


def _order(
    fields: Mapping[str, Type], keys: Sequence[str], columns: Sequence[str], relevant: set[str]
) -> tuple[Guard, bool, tuple[str, ...]]:
    """Return what the order says of two events in a row, if that is exact, and the free columns.

    Events are sorted by the order columns, then by the others. A column of which nothing else is
    asked can always rise, and what comes behind it is free.
    """
    parts = [_equal(name, fields[name]) for name in keys if name in relevant]
    exact, rising = True, []
    chain: list[str] = []
    behind = [*columns, *(name for name in fields if name not in columns)] if columns else []
    for name in behind:
        if fields[name] == OTHER or name in keys:
            continue
        finite = fields[name] == BOOL or bool(fields[name].values)
        if name not in relevant and not finite:
            rising.append(name)
            break
        if fields[name] == STRING:  # equality is all that is known of texts
            exact = False
            break
        chain.append(name)
    if chain:
        parts.append(_at_least(chain, fields))
    return (terms.And(tuple(parts)) if parts else Always(True)), exact, tuple(rising)


def _at_least(chain: Sequence[str], fields: Mapping[str, Type]) -> Guard:
    name, *rest = chain
    above, equal = _above(name, fields[name]), _equal(name, fields[name])
    behind = _at_least(rest, fields) if rest else Always(True)
    return terms.Or((above, terms.And((equal, behind))))


def _pair(name: str, type_: Type) -> tuple[Field, Field]:
    return Field(name, 0, type_), Field(name, -1, type_)


def _equal(name: str, type_: Type) -> Guard:
    now, before = _pair(name, type_)
    if type_ == BOOL:
        both = terms.And((Truth(now), Truth(before)))
        return terms.Or((both, terms.And((terms.Not(Truth(now)), terms.Not(Truth(before))))))
    return Comparison("=", now, before)


def _above(name: str, type_: Type) -> Guard:
    now, before = _pair(name, type_)
    if type_ == BOOL:
        return terms.And((Truth(now), terms.Not(Truth(before))))
    if type_.values:
        ranked = sorted(type_.values, key=str.encode)
        return terms.Or(
            tuple(
                terms.And(
                    (
                        Comparison("=", now, Constant(high)),
                        Comparison("=", before, Constant(low)),
                    )
                )
                for at, high in enumerate(ranked)
                for low in ranked[:at]
            )
        )
    return Comparison(">", now, before)


def _same_moment(name: str, fields: Mapping[str, Type]) -> Guard:
    return _equal(name, fields[name])
