"""Measures by definition: every aggregate computed from all events of its window."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from wex.compile.measures import LABEL, depends_on_labels
from wex.engine.measures.user_defined import guarded, natural, plain_value, user_defined_aggregate
from wex.spec.aggregates import REGISTRATIONS
from wex.spec.types import DURATION, INT, REAL, Type
from wex.theory.evaluate import FLOATING, INFINITE, NAN, ArithmeticFault, truth, value_of
from wex.theory.terms import Guard, Term, rounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wex.compile.measures import Measure
    from wex.reference.preference import Labels
    from wex.theory.evaluate import Gram, Value
    from wex.theory.terms import Aggregate

Inputs = list[tuple["Value", ...]]  # for each event of a window, the values of the arguments
Place = tuple["Gram", int | None]  # an event by its gram, and where the first event lies


def measured(
    measure: Measure, grams: Sequence[Place], labels: Labels | None = None
) -> Value | list[Value]:
    """Return the value of a measure over the events of a window, each given by its gram.

    `labels` are the labels of each event, if the measure depends on them.
    """
    results = {}
    for number, aggregate in enumerate(measure.aggregates):
        places = grams
        if labels is not None and depends_on_labels(aggregate):
            places = _labelled(aggregate, grams, labels)
        results[f"#{number}"] = aggregated(aggregate, places)
    return value_of(measure.value, [results])  # type: ignore[list-item]


def _labelled(aggregate: Aggregate, grams: Sequence[Place], labels: Labels) -> list[Place]:
    """Return the events that an aggregate is about; the last event of a gram has its label."""
    return [
        ([*gram[:-1], {**event, LABEL: own[-1] if own else None}], first)
        for (gram, first), own in zip(grams, labels, strict=True)
        if (not aggregate.label or aggregate.label in own) and (event := gram[-1]) is not None
    ]


def aggregated(aggregate: Aggregate, grams: Sequence[Place]) -> Value | list[Value]:
    """Return the value of an aggregate over the events of a window, each given by its gram."""
    inputs: Inputs = []
    for gram, first in grams:
        if aggregate.filter is None or truth(aggregate.filter, gram, first=first):
            inputs.append(tuple(_input(a, gram, first) for a in aggregate.arguments))
    if aggregate.name not in COMPUTE:
        return _own(aggregate, inputs)
    return COMPUTE[aggregate.name](inputs, aggregate.types)


def _own(aggregate: Aggregate, inputs: Inputs) -> Value:
    """Return the result of a user-defined aggregate, which adds one event after the other."""
    name, types = aggregate.name, aggregate.types
    own = user_defined_aggregate(name)
    state = guarded(name, own.zero)
    for row in inputs:
        if None not in row:
            plain = tuple(natural(value, type_) for value, type_ in zip(row, types, strict=True))
            state = guarded(name, own.add, state, plain if len(plain) > 1 else plain[0])
    return plain_value(guarded(name, own.result, state), REGISTRATIONS[name].type, name)  # type: ignore[return-value]


def _input(argument: Term | Guard, gram: Gram, first: int | None) -> Value:
    if isinstance(argument, Guard):
        return truth(argument, gram, first=first)
    return value_of(argument, gram)


# --- The aggregates. NULLs are skipped, as in SQL.


def _count(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    return sum(not row or row[0] is not None for row in inputs)


def _known(inputs: Inputs) -> list[Value]:
    return [row[0] for row in inputs if row[0] is not None]


def _numbers(inputs: Inputs) -> list[int | float]:
    """Return the numbers that an aggregate reads; a NaN is a fault."""
    numbers = [value for value in _known(inputs) if isinstance(value, int | float)]
    if any(isinstance(number, float) and math.isnan(number) for number in numbers):
        raise ArithmeticFault(NAN)
    return numbers


def _sum(inputs: Inputs, types: tuple[Type, ...]) -> Value:
    numbers = _numbers(inputs)
    if not numbers:
        return None
    if types[0] == REAL:
        return _float_sum(numbers)
    return FLOATING.whole(sum(int(number) for number in numbers))


def _avg(inputs: Inputs, types: tuple[Type, ...]) -> Value:
    numbers = _numbers(inputs)
    if not numbers:
        return None
    if types[0] == DURATION:
        return round(Fraction(sum(int(number) for number in numbers), len(numbers)))
    if types[0] == INT:
        return sum(int(number) for number in numbers) / len(numbers)
    return _float_sum(numbers) / len(numbers)


def _float_sum(numbers: list[int | float]) -> float:
    """Return the sum from left to right; the built-in `sum` compensates from Python 3.12 on."""
    total = 0.0
    for number in numbers:
        total += number
    if math.isnan(total):
        raise ArithmeticFault(INFINITE)
    return total


def _var(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    numbers = _numbers(inputs)
    if len(numbers) < 2:
        return None
    if any(math.isinf(number) for number in numbers):
        raise ArithmeticFault(INFINITE)
    exact = [Fraction(number) for number in numbers]
    mean = sum(exact, Fraction(0)) / len(exact)
    squares: Fraction = sum(((x - mean) * (x - mean) for x in exact), Fraction(0))
    return rounded(squares / (len(exact) - 1))


def _stddev(inputs: Inputs, types: tuple[Type, ...]) -> Value:
    variance = _var(inputs, types)
    return math.sqrt(variance) if isinstance(variance, float) else None


def _extreme(pick: Callable[..., Value]) -> Callable[[Inputs, tuple[Type, ...]], Value]:
    def compute(inputs: Inputs, types: tuple[Type, ...]) -> Value:
        known = _numbers(inputs) if types[0] == REAL else _known(inputs)
        return pick(known) if known else None

    return compute


def _by(better: Callable[..., bool]) -> Callable[[Inputs, tuple[Type, ...]], Value]:
    """Return the value of the event with the best key; of several the earliest."""

    def compute(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
        _numbers([(key,) for _, key in inputs])
        best: tuple[Value, Value] | None = None
        for value, key in inputs:
            if key is not None and (best is None or better(key, best[1])):
                best = (value, key)
        return best[0] if best else None

    return compute


def _first(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    known = _known(inputs)
    return known[0] if known else None


def _last(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    known = _known(inputs)
    return known[-1] if known else None


def _collect(inputs: Inputs, _types: tuple[Type, ...]) -> list[Value]:
    return _known(inputs)


def _nth(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    """Return the n-th value that is not NULL, from the end if n is negative."""
    known = _known(inputs)
    n = inputs[0][1] if inputs else 1
    assert isinstance(n, int)
    place = n - 1 if n > 0 else len(known) + n
    return known[place] if 0 <= place < len(known) else None


def _median(inputs: Inputs, types: tuple[Type, ...]) -> Value:
    return _percentile([(*row, 0.5) for row in inputs], types)


def _percentile(inputs: Inputs, types: tuple[Type, ...]) -> Value:
    """Return the value at a part of the way through all values in their order, or between two."""
    numbers = sorted(_numbers(inputs))
    if not numbers:
        return None
    part = inputs[0][1]
    assert isinstance(part, int | float)
    place = (len(numbers) - 1) * float(part)
    below = numbers[math.floor(place)]
    above = numbers[min(math.floor(place) + 1, len(numbers) - 1)]
    between = place - math.floor(place)
    way = 0.0 if between == 0 or below == above else (float(above) - float(below)) * between
    if types[0] == DURATION:
        return int(below) + round(way)
    if math.isnan(float(below) + way):
        raise ArithmeticFault(INFINITE)
    return float(below) + way


def _mode(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    """Return the value that occurs most often, of several the one that occurs first."""
    known = _known(inputs)
    counts = [sum(_same(value, other) for other in known) for value in known]
    return known[counts.index(max(counts))] if known else None


def _same(one: Value, other: Value) -> bool:
    """Tell whether two values are one: all NaN are."""
    return one == other or (one != one and other != other)  # noqa: PLR0124


def _count_distinct(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    known = _known(inputs)
    nan = any(isinstance(value, float) and math.isnan(value) for value in known)
    return len({value for value in known if value == value}) + nan  # noqa: PLR0124


def _count_if(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    return sum(row[0] is True for row in inputs)


def _some(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    known = _known(inputs)
    return any(known) if known else None


def _every(inputs: Inputs, _types: tuple[Type, ...]) -> Value:
    known = _known(inputs)
    return all(known) if known else None


COMPUTE: dict[str, Callable[[Inputs, tuple[Type, ...]], Value | list[Value]]] = {
    "count": _count,
    "sum": _sum,
    "avg": _avg,
    "min": _extreme(min),
    "max": _extreme(max),
    "first": _first,
    "last": _last,
    "var": _var,
    "stddev": _stddev,
    "collect": _collect,
    "count_distinct": _count_distinct,
    "count_if": _count_if,
    "some": _some,
    "every": _every,
    "min_by": _by(lambda key, best: key < best),
    "max_by": _by(lambda key, best: key > best),
    "nth": _nth,
    "median": _median,
    "percentile": _percentile,
    "mode": _mode,
}
