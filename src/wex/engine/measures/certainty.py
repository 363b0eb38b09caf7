"""What is certain of the measures of all windows of a batch, before any of them is computed.

With `having`, a window whose measures have no result is an error even if `keep` would not choose it. So windows
may be left out only where each of them has a result: here sizes of values are bounded, not computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec.types import REAL
from wex.theory.terms import (
    MIRRORED,
    Absolute,
    Always,
    And,
    Arithmetic,
    Comparison,
    Constant,
    Field,
    IsNull,
    Like,
    Negative,
    Not,
    Or,
    Truth,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.compile.measures import Measure
    from wex.engine.measures.fold import FoldItems
    from wex.theory.terms import Aggregate, Guard, Term

LARGEST = {"whole": 2.0**62, "real": 1e300}  # far from overflow


def all_have_results(
    measures: Sequence[Measure], items: Sequence[Sequence[FoldItems]], having: Guard
) -> bool:
    """Tell whether all measures of all windows have results, and `having` a truth or NULL.

    `items` are for each measure those of its aggregates.
    """
    sizes: dict[str, float | None] = {}
    for measure, own in zip(measures, items, strict=True):
        read = {f"#{at}": each.largest() for at, each in enumerate(own)}
        if None in read.values():
            return False
        sizes[measure.name] = _size(measure.value, read)
    return None not in sizes.values() and _is_judged(having, sizes)


def _size(term: Term, sizes: Mapping[str, float | None]) -> float | None:
    """Return a bound of the absolute values of a term; None: it may have no value."""
    match term:
        case Field(name):
            return sizes.get(name)
        case Constant(value):
            return 0.0 if isinstance(value, str) else abs(float(value))
        case Negative(value) | Absolute(value):
            return _bounded(term, _size(value, sizes))
        case Arithmetic(op, left, right):
            first, second = _size(left, sizes), _size(right, sizes)
            if first is None or second is None:
                return None
            if op in ("+", "-"):
                return _bounded(term, first + second)
            if op == "*":
                return _bounded(term, first * second)
            if op == "%" or not isinstance(right, Constant) or not second:
                return None
            return _bounded(term, first / second + 1)
    return None


def _bounded(term: Term, size: float | None) -> float | None:
    return size if size is not None and size < LARGEST.get(term.kind, 0.0) else None


def _is_judged(guard: Guard, sizes: Mapping[str, float | None]) -> bool:
    """Tell whether the arithmetic of a guard has results, for measures of bounded sizes."""
    match guard:
        case Not(operand):
            return _is_judged(operand, sizes)
        case And(parts) | Or(parts):
            return all(_is_judged(part, sizes) for part in parts)
        case Comparison(_, left, right):
            return _size(left, sizes) is not None and _size(right, sizes) is not None
        case Always() | Truth() | Like() | IsNull():
            return True
    return False


# --- Conditions that also hold of longer windows, or of shorter ones

_RISING, _FALLING = (">", ">="), ("<", "<=")
_COUNTS = ("count", "count_if")


class Trend:
    """How the truth of `having` changes from a window to those that contain it, as far as that is known."""

    def __init__(
        self,
        measures: Sequence[Measure],
        items: Sequence[Sequence[FoldItems]],
        clock: str | None,
    ) -> None:
        """`clock` is the first order column, which never falls."""
        self._measures = {
            measure.name: (measure, own) for measure, own in zip(measures, items, strict=True)
        }
        self._clock = clock

    def holds_of_longer(self, guard: Guard) -> bool:
        """Tell whether a guard that holds of a window holds of all that contain it."""
        return self._is_closed(guard, longer=True)

    def holds_of_shorter(self, guard: Guard) -> bool:
        """Tell whether a guard that holds of a window holds of all that it contains."""
        return self._is_closed(guard, longer=False)

    def _is_closed(self, guard: Guard, *, longer: bool) -> bool:
        match guard:
            case And(parts) | Or(parts):
                return all(self._is_closed(part, longer=longer) for part in parts)
            case Comparison(op, Field(name), Constant()):
                return self._compares(op, name, longer=longer)
            case Comparison(op, Constant(), Field(name)):
                return self._compares(MIRRORED[op], name, longer=longer)
        return isinstance(guard, Always)

    def _compares(self, op: str, name: str, *, longer: bool) -> bool:
        """Tell whether `measure op constant` is closed."""
        measure, items = self._measures[name]
        rises, falls, always_known = self._direction(measure, items)
        if not (longer or always_known):
            return False  # a part of a window may have no value where the window has one
        return (rises and op in (_RISING if longer else _FALLING)) or (
            falls and op in (_FALLING if longer else _RISING)
        )

    def _direction(self, measure: Measure, items: Sequence[FoldItems]) -> tuple[bool, bool, bool]:
        """Tell whether a measure never falls, or never rises, with longer windows, and never is NULL."""
        match measure.value:
            case Field(name):
                place = int(name[1:])
                aggregate, own = measure.aggregates[place], items[place]
                if aggregate.name in _COUNTS:
                    return True, False, True
                if aggregate.name == "sum":
                    # A sum of floats may be rounded otherwise in a longer window.
                    rises = aggregate.types[0] != REAL and own.never_falls()
                    return rises, False, own.always_known()
                return aggregate.name == "max", aggregate.name == "min", own.always_known()
            case Arithmetic("-", Field(later), Field(earlier)):
                last = measure.aggregates[int(later[1:])]
                first = measure.aggregates[int(earlier[1:])]
                lasts = last.name in ("last", "max") and first.name in ("first", "min")
                clocked = self._reads_clock(last) and self._reads_clock(first)
                return lasts and clocked, False, lasts and clocked
        return False, False, False

    def _reads_clock(self, aggregate: Aggregate) -> bool:
        if aggregate.filter is not None or len(aggregate.arguments) != 1:
            return False
        argument = aggregate.arguments[0]
        return isinstance(argument, Field) and argument.name == self._clock and not argument.offset
