"""Runs and sessions by the definition: adjacent events are joined, or they are not."""

from __future__ import annotations

from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from wex.engine.data_errors import arithmetic_error
from wex.spec import tree
from wex.spec.types import DATE, UNITS
from wex.theory.evaluate import ArithmeticFault, Value, value_of
from wex.theory.terms import fields
from wex.theory.translate import guard_of, term_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from wex.reference.windows import Grams, Pair
    from wex.spec.types import Type
    from wex.theory.terms import Term

    Number = int | float | Fraction


def runs(
    clause: tree.Runs, grams: Grams, types: Mapping[str, Type], order_by: Sequence[tree.Name]
) -> set[Pair]:
    """Return the first and last position of each run or session of a stream."""
    everywhere = range(grams.count)
    cuts: list[int] = []
    match clause:
        case tree.RunsWhere(predicate):
            guard = guard_of(predicate, types)
            truths = [grams.holds(guard, position) for position in everywhere]
            ranges = [
                list(positions)
                for satisfied, positions in groupby(everywhere, key=truths.__getitem__)
                if satisfied
            ]
            return {(positions[0], positions[-1]) for positions in ranges}
        case tree.RunsOf(values):
            terms = [term_of(value, types) for value in values]
            cuts = [at for at in everywhere[1:] if not _same(terms, grams, at)]
        case tree.Sessions(gap, most):
            time = order_by[0].text
            distance = tree.Binary("-", tree.Ref(time), tree.Ref(time, -1))
            pause, longest_pause = term_of(distance, types), term_of(gap, types)
            cuts = [at for at in everywhere[1:] if _longer(pause, longest_pause, grams, at)]
            if most is not None:
                times = _times(grams, time, UNITS["day"] if types[time] == DATE else 1)
                cuts = _cut_from_the_left(cuts, times, term_of(most, types), grams)
    bounds = [0, *cuts, grams.count]
    return {(first, following - 1) for first, following in pairwise(bounds) if first < following}


def _same(values: Sequence[Term], grams: Grams, position: int) -> bool:
    """Tell whether all values of an event are those of the event before it.

    A value that is NULL or reads a missing event equals nothing.
    """
    results = []
    for value in values:
        deepest = min((field.offset for field in fields(value)), default=0)
        if position - 1 + deepest < 0:
            results.append(False)
            continue
        now = _value(value, grams, position, position, values[0])
        before = _value(value, grams, position - 1, position, values[0])
        results.append(now is not None and now == before)
    return all(results)


def _longer(pause: Term, longest: Term, grams: Grams, position: int) -> bool:
    """Tell whether the distance of an event from the one before it is longer than a gap."""
    return _number(pause, grams, position) > _number(longest, grams, position)


def _cut_from_the_left(
    cuts: Sequence[int], times: Sequence[Number], most: Term, grams: Grams
) -> list[int]:
    """Return where the sessions after the first one begin, if each is also cut at a length."""
    begins = [0]
    for at in range(1, len(times)):
        if at in cuts or times[at] - times[begins[-1]] > _number(most, grams, at):
            begins.append(at)
    return begins[1:]


def _times(grams: Grams, name: str, unit: int) -> list[Number]:
    """Return the order values of all events, in the unit of distances."""
    times: list[Number] = []
    for event in grams.stream.events:
        time = event[name]
        assert isinstance(time, int | float)
        times.append(time * unit)
    return times


def _number(term: Term, grams: Grams, position: int) -> Number:
    number = _value(term, grams, position, position, term)
    assert number is not None
    assert not isinstance(number, str)
    return number


def _value(term: Term, grams: Grams, position: int, reported: int, named: Term) -> Value:
    """Return the value of a term at a position, or raise a DataError about the reported event."""
    try:
        return value_of(term, grams.gram(position))
    except ArithmeticFault as fault:
        column = next(field.name for field in fields(named))
        raise arithmetic_error(fault.why, column, grams.stream.key, reported) from fault
