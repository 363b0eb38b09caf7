"""Events that are repeated any number of times, and the proof that atoms keep their truth.

A few events are repeated, and each time some numbers rise or fall by a fixed amount. Every value in an
atom is then constant or linear in two numbers: how often the events came before a start, and how often
since. The sign of a linear expression is known for all larger numbers if its slopes are. If each atom
keeps its truth in this way, all starts read the same letters at the same age.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.reference.running import gram_so_far, holds_so_far
from wex.theory.evaluate import EXACT, ArithmeticFault, value_of
from wex.theory.terms import (
    Arithmetic,
    Comparison,
    Constant,
    Field,
    Guard,
    Negative,
    RunningTest,
    atoms,
    fields,
    linear,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wex.reference.windows import Grams
    from wex.theory.evaluate import Event, Value
    from wex.theory.terms import Aggregate, Atom, Term

Margin = Fraction | bool | None  # left less right; the truth of an atom that compares no numbers


@dataclass(frozen=True)
class Repetition:
    """Events that are repeated, what is added to their fields each time, and events that end them.

    Other events may come `before` the first round. A tail begins where the repeated events end; with `back` only its clock
    does, and its other fields are what they would be behind the first round. What is said of starts is about
    those that begin with the event at `place` in each round; once they are `settled` rounds old, their states recur.
    """

    events: tuple[Event, ...]
    steps: Mapping[str, int]
    tail: tuple[Event, ...] = ()
    back: bool = False
    clock: str | None = None
    before: tuple[Event, ...] = ()
    place: int = 0
    settled: int = 0

    def stream(self, rounds: int) -> list[Event]:
        """Return the events, repeated so often, behind those that come before them."""
        repeated = [self._moved(event, turn) for turn in range(rounds) for event in self.events]
        return [*self.before, *repeated]

    def starts(self, turns: Iterable[int]) -> Iterator[int]:
        """Yield the positions of the starts of some rounds."""
        return (len(self.before) + turn * len(self.events) + self.place for turn in turns)

    def ending(self, rounds: int) -> list[Event]:
        """Return the events behind so many rounds."""
        return [self._moved(event, rounds - 1, back=self.back) for event in self.tail]

    def _moved(self, event: Event, turn: int, *, back: bool = False) -> Event:
        return {
            name: value
            if back and name != self.clock
            else plus(value, turn * self.steps.get(name, 0))
            for name, value in event.items()
        }

    def in_words(self, read: Sequence[str]) -> str:
        """Return the events in words, by the fields that predicates read."""
        if len(self.events) > 1:
            return f"every repetition of {len(self.events)} events"
        shown = []
        for name in read:
            step, value = self.steps.get(name, 0), self.events[0][name]
            if step:
                shown.append(f"{name} {'rising' if step > 0 else 'falling'}")
            elif name == self.clock:
                shown.append(f"the same {name}")
            else:
                shown.append(
                    f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
                )
        return "every event" + (f" with {' and '.join(shown)}" if shown else "")


def plus(value: Value, more: int) -> Value:
    """Return a value, which is a number or NULL if anything is added to it, and the sum."""
    return value + more if more and value is not None else value  # type: ignore[operator]


def keep_truth(
    guards: Sequence[Guard],
    found: Repetition,
    first: int,
    grams_of: Callable[[list[Event]], Grams],
) -> bool:
    """Tell whether every atom of some guards keeps its truth, however many rounds there are.

    From round `first` on all rounds are alike, and so are starts that are as many rounds old.
    """
    every = [(guard, atom) for guard in guards for atom in atoms(tested(guard))]
    if not all(_is_linear(found, guard, atom) for guard, atom in every):
        return False
    turns = range(first + 3, first + 6)
    grams = {turn: grams_of(found.stream(turn + 1) + found.ending(turn + 1)) for turn in turns}
    size, rest = len(found.events), len(found.before)
    for guard, atom in every:
        for place in range(size + len(found.tail)):
            for begin in range(size) if isinstance(guard, RunningTest) else (0,):
                values = {
                    (turn, age): _margin(
                        guard,
                        atom,
                        grams[turn],
                        rest + turn * size + place,
                        rest + (turn - age) * size + begin,
                    )
                    for turn in turns
                    for age in range(first + 3)
                    if place >= begin or age
                }
                if not _keeps_sign(values, atom, first):
                    return False
    return True


def _is_linear(found: Repetition, guard: Guard, atom: Atom) -> bool:
    """Tell whether the two sides of an atom are constant, or linear in the number of rounds."""
    moving = {name for name, step in found.steps.items() if step}
    aggregates = guard.aggregates if isinstance(guard, RunningTest) else ()
    short = len(found.events) == 1
    if not all(_is_regular(aggregate, moving, short=short) for aggregate in aggregates):
        return False
    varies = any(
        aggregate.name in ("count", "sum", "count_if") or _reads(aggregate, moving)
        for aggregate in aggregates
    ) or any(part.name in moving for part in fields(atom))
    if not varies:
        return True
    if not isinstance(atom, Comparison):
        return all(part.name not in moving for part in fields(atom))
    return all(_is_sum(side) and linear(side) for side in (atom.left, atom.right))


def tested(guard: Guard) -> Guard:
    """Return the predicate inside a guard with aggregates, or the guard."""
    return guard.test if isinstance(guard, RunningTest) else guard


def _reads(aggregate: Aggregate, names: set[str]) -> bool:
    return any(part.name in names for node in parts_of(aggregate) for part in fields(node))


def _is_regular(aggregate: Aggregate, moving: set[str], *, short: bool) -> bool:
    """Tell whether an aggregate over whole rounds is constant, or linear in their number."""
    reads = _reads(aggregate, moving)
    match aggregate.name:
        case "first" | "last" | "min" | "max":
            return not reads or (
                aggregate.filter is None
                and all(
                    not isinstance(part, Guard) and _is_sum(part) for part in aggregate.arguments
                )
            )
        case "avg":
            plain = aggregate.filter is None and all(
                isinstance(part, Field) for part in aggregate.arguments
            )
            return short and (not reads or plain)
        case "count":
            return not reads or aggregate.filter is None
        case "sum" | "count_if" | "some" | "every" | "min_by" | "max_by":
            return not reads
    return False


def _is_sum(term: Term) -> bool:
    """Tell whether a term is made of sums, differences and multiples."""
    match term:
        case Field() | Constant():
            return True
        case Negative(value):
            return _is_sum(value)
        case Arithmetic("+" | "-" | "*" | "/", left, right):
            return linear(term) and _is_sum(left) and _is_sum(right)
    return False


def _margin(guard: Guard, atom: Atom, grams: Grams, position: int, begin: int) -> Margin:
    """Return by how much the left side of a comparison is larger, or whether an atom is true."""
    if isinstance(atom, Comparison):
        gram = grams.gram(position)
        if isinstance(guard, RunningTest):
            gram = gram_so_far(guard, grams, position, begin)
        try:
            left, right = (value_of(side, _exact(gram), EXACT) for side in (atom.left, atom.right))
        except ArithmeticFault:
            return None
        if left is None or right is None:
            return None
        if atom.left.kind in ("whole", "real"):
            return Fraction(left) - Fraction(right)
    if isinstance(guard, RunningTest):
        alone = RunningTest(atom, guard.aggregates)
        return holds_so_far(alone, grams, position, begin)
    return grams.holds(atom, position)


def _exact(gram: Sequence[Event | None]) -> list[Event | None]:
    """Return events with exact numbers."""
    return [
        event
        and {
            name: Fraction(value) if isinstance(value, float) else value
            for name, value in event.items()
        }
        for event in gram
    ]


def _keeps_sign(values: Mapping[tuple[int, int], Margin], atom: Atom, first: int) -> bool:
    """Tell whether what is known of a few turns and ages holds for all larger ones.

    Ages below `first` are looked at one by one. Of the others, margins are linear in turn and age.
    """
    for ages in [*([age] for age in range(first)), range(first, first + 3)]:
        known = {place: values[place] for place in values if place[1] in ages}
        margins = {place: m for place, m in known.items() if isinstance(m, Fraction)}
        if len(margins) < len(known):  # no numbers are compared, or NULL
            if len(set(known.values())) > 1:
                return False
        elif known and not _stays(margins, atom, first):
            return False
    return True


def _stays(margins: Mapping[tuple[int, int], Fraction], atom: Atom, first: int) -> bool:
    """Tell whether a comparison stays true, or false, for later starts and for older ones.

    Starts from round `first` on are looked at: the youngest of them, and the first, is the corner.
    """
    turn, age = min(margins)
    base = margins[turn, age]
    by_turn = margins[turn + 1, age] - base
    by_age = margins.get((turn, age + 1), base) - base
    linear_in_both = all(
        margin == base + by_turn * (later - turn) + by_age * (older - age)
        for (later, older), margin in margins.items()
    )
    if not linear_in_both:
        return False
    assert isinstance(atom, Comparison)
    corner = base + by_turn * (first + age - turn)
    # A later start of the same age, and the same start when it is older.
    slopes = [by_turn, by_turn + by_age] if (turn, age + 1) in margins else [by_turn]
    if not any(slopes):
        return True
    rises, falls = all(slope >= 0 for slope in slopes), all(slope <= 0 for slope in slopes)
    if corner > 0:
        return rises
    if corner < 0:
        return falls
    # On the border the comparison changes with the next step, unless it goes the other way.
    return (rises and atom.op in (">=", "<")) or (falls and atom.op in ("<=", ">"))
