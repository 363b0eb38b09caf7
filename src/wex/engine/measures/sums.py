"""Counting and adding whole numbers: the difference of two sums up to a place, which is exact."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.eval.guards import kleene
from wex.engine.eval.terms import Faults
from wex.engine.measures.fold import (
    Fold,
    FoldItems,
    Parts,
    RelevantRows,
    Result,
    as_numpy,
    both,
    check_counts,
    check_whole,
    running_sums,
    sizes_of,
)
from wex.engine.measures.panes import items_of
from wex.framing import require
from wex.spec.types import DURATION
from wex.theory.evaluate import OVERFLOW
from wex.theory.terms import Guard

if TYPE_CHECKING:
    from wex.engine.arrays import Ints
    from wex.engine.input.batch import BatchView
    from wex.engine.measures.panes import Items, Panes, Ranges


HALF = 32  # whole numbers are summed in two halves, so that no sum overflows


class Count(Fold):
    """How many events count."""

    in_blocks = True

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        return {"n": pa.int64()}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        sizes = sizes_of(panes, relevant.present, as_numpy(carried["n"]))
        return _CountItems(items_of(panes, sizes))

    def result(self, name: str, parts: Parts) -> Result:
        return Result(as_numpy(parts["n"]))

    def check(self, parts: Parts, sizes: Ints) -> None:
        check_counts(parts, sizes, "n")


class _CountItems(FoldItems):
    def __init__(self, items: Items) -> None:
        self.items = items

    def fold(self, windows: Ranges) -> Parts:
        ranges = self.items.ranges(windows)
        return {"n": pa.array(ranges.sizes)}

    def largest(self) -> float | None:
        return float(self.items.panes.count if self.items.before is None else self.items.before[-1])


class Truths(Fold):
    """Of how many events a predicate is true, and of how many it is known."""

    in_blocks = True

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        return {"true": pa.int64(), "known": pa.int64()}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        (guard,) = self.arguments
        assert isinstance(guard, Guard)
        held, known = kleene(guard, rows, Faults())
        sums = [both(relevant.present, held), both(relevant.present, known)]
        return _SumItems(
            {
                name: running_sums(
                    panes, np.ones(rows.size) if flags is None else flags, carried[name]
                )
                for name, flags in zip(("true", "known"), sums, strict=True)
            }
        )

    def result(self, name: str, parts: Parts) -> Result:
        true, known = as_numpy(parts["true"]), as_numpy(parts["known"])
        if name == "count_if":
            return Result(true)
        return Result(true > 0 if name == "some" else true == known, known > 0)

    def check(self, parts: Parts, sizes: Ints) -> None:
        check_counts(parts, sizes, "known")
        check_counts(parts, as_numpy(parts["known"]), "true")


class _SumItems(FoldItems):
    """Columns of whole numbers, summed up to each pane."""

    def __init__(self, sums: dict[str, Ints]) -> None:
        self._sums = sums

    def fold(self, windows: Ranges) -> Parts:
        return {
            name: pa.array(sums[windows.high] - sums[windows.low])
            for name, sums in self._sums.items()
        }

    def largest(self) -> float | None:
        return max(float(sums[-1]) for sums in self._sums.values())


class WholeSum(Fold):
    """The sum of whole numbers, in two halves."""

    in_blocks = True

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        return {"high": pa.int64(), "low": pa.int64(), "n": pa.int64()}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        values = self.numbers(rows).astype(np.int64)
        if relevant.present is not None:
            values = np.where(relevant.present, values, 0)
        count = np.ones(rows.size, dtype=np.int64) if relevant.present is None else relevant.present
        mask = (1 << HALF) - 1
        return _WholeSumItems(
            {
                "high": running_sums(panes, values >> HALF, carried["high"]),
                "low": running_sums(panes, values & mask, carried["low"]),
                "n": running_sums(panes, count, carried["n"]),
            }
        )

    def result(self, name: str, parts: Parts) -> Result:
        high, low, n = (as_numpy(parts[name]) for name in ("high", "low", "n"))
        if name == "sum":
            fits = (high >= -(2**31)) & (high < 2**31)
            return Result((high << HALF) + low, n > 0, ~fits, OVERFLOW)
        if self.types[0] == DURATION:
            return Result(_average_whole(high, low, n), n > 0)
        small = np.abs(high) < 2**20  # the sum is exact as a float, and the quotient rounded once
        total = (np.where(small, high, 0) << HALF) + low
        with np.errstate(all="ignore"):
            average = total / np.maximum(n, 1)
        for at in np.flatnonzero(~small & (n > 0)):
            average[at] = ((int(high[at]) << HALF) + int(low[at])) / int(n[at])
        return Result(average, n > 0)

    def check(self, parts: Parts, sizes: Ints) -> None:
        check_counts(parts, sizes, "n")
        check_whole(parts, "high", "low")
        high, low, n = (as_numpy(parts[name]) for name in ("high", "low", "n"))
        most = np.minimum(n, 1 << HALF - 1) << HALF - 1  # the high half of so many numbers
        require(((high >= -most) & (high <= most)).all(), "a sum of a pane is out of range")
        require(((low >= 0) & (low < 1 << HALF)).all(), "a sum of a pane is out of range")


class _WholeSumItems(_SumItems):
    def fold(self, windows: Ranges) -> Parts:
        parts = super().fold(windows)
        high, low = as_numpy(parts["high"]), as_numpy(parts["low"])
        parts["high"] = pa.array(high + (low >> HALF))
        parts["low"] = pa.array(low & ((1 << HALF) - 1))
        return parts

    def largest(self) -> float | None:
        high = np.abs(np.diff(self._sums["high"])).sum(dtype=np.float64)
        most = float(high + len(self._sums["high"])) * 2.0**HALF
        return most if most < 2.0**62 else None

    def never_falls(self) -> bool:
        return bool((np.diff(self._sums["high"]) >= 0).all())

    def always_known(self) -> bool:
        return bool((np.diff(self._sums["n"]) > 0).all())


def _average_whole(high: Ints, low: Ints, n: Ints) -> Ints:
    """Return averages rounded to whole numbers, halves to the even one."""
    fits = (high >= -(2**31)) & (high < 2**31)
    total = (np.where(fits, high, 0) << HALF) + low
    count = np.maximum(n, 1)
    quotient, rest = np.divmod(total, count)
    up = (rest > count - rest) | ((rest == count - rest) & (quotient % 2 == 1))
    average: Ints = quotient + up
    for at in np.flatnonzero(~fits):
        average[at] = round(Fraction((int(high[at]) << HALF) + int(low[at]), int(count[at])))
    return average
