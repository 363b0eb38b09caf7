"""Folds that keep the values of a window and pick from them: `nth`, `median`, `percentile`, `mode`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.kernels import folds
from wex.engine.kernels.types import read_only
from wex.engine.measures.fold import Result, as_numpy, passed_on
from wex.engine.measures.pass_through import Collect, CollectItems, codes_of
from wex.spec.types import DURATION, REAL
from wex.theory.evaluate import FLOATING, INFINITE
from wex.theory.terms import Constant

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.input.batch import BatchView
    from wex.engine.measures.fold import FoldItems, Parts, RelevantRows
    from wex.engine.measures.panes import Items, Panes, Ranges

MIDDLE = 0.5  # the fraction of the median


def _constant(aggregate_argument: object) -> float:
    """Return the constant that is the second argument of an aggregate."""
    assert isinstance(aggregate_argument, Constant)
    assert not isinstance(aggregate_argument.value, str)
    return FLOATING.constant(aggregate_argument.value)


# --- The n-th value


class Nth(Collect):
    """The n-th value, or with a negative n the n-th from the end; a pane keeps no more than n values."""

    def of_items(self, items: Items, column: pa.Array) -> FoldItems:
        return _NthItems(items, column, int(_constant(self.arguments[1])))

    def result(self, name: str, parts: Parts) -> Result:
        return passed_on(parts["result"])


class _NthItems(CollectItems):
    def __init__(self, items: Items, column: pa.Array, n: int) -> None:
        super().__init__(items, column)
        self._n = n

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        places = ranges.low + self._n - 1 if self._n > 0 else ranges.high + self._n
        there = (ranges.low <= places) & (places < ranges.high)
        return {"result": self._column.take(pa.array(places, mask=~there))}

    def keep(self, held: Ranges) -> Parts:
        ranges = self._items.ranges(held)
        if self._n > 0:
            return self.listed(ranges.low, np.minimum(ranges.high, ranges.low + self._n))
        return self.listed(np.maximum(ranges.low, ranges.high + self._n), ranges.high)


# --- Values between which a part of the others lies


class Percentile(Collect):
    """The value below which a given part of the values lies, between two of them if need be."""

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        if self.types[0] == REAL:
            missing = np.isnan(self.numbers(rows).astype(np.float64, copy=False))
            if missing.any():
                relevant.note_nan(missing)
        return super().lift(rows, relevant, panes, carried)

    def of_items(self, items: Items, column: pa.Array) -> FoldItems:
        part = MIDDLE if self.aggregate.name == "median" else _constant(self.arguments[1])
        return _PercentileItems(items, column, part, rounds=self.types[0] == DURATION)

    def result(self, name: str, parts: Parts) -> Result:
        return Result(parts["values"], parts["known"], parts["bad"], INFINITE)


class _PercentileItems(CollectItems):
    def __init__(self, items: Items, column: pa.Array, part: float, *, rounds: bool) -> None:
        super().__init__(items, column)
        self._part, self._rounds = part, rounds

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        values = read_only(as_numpy(self._column))
        below, above, between = folds.percentiles(values, self._part, ranges.low, ranges.high)
        low, high = below.astype(np.float64), above.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            way = np.where((between == 0) | (below == above), 0.0, (high - low) * between)
            results: NDArray[np.generic] = low + way
        bad = np.isnan(results)
        if self._rounds:
            results = below + np.rint(way).astype(np.int64)
        return {"values": results, "known": ranges.low < ranges.high, "bad": bad}

    def keep(self, held: Ranges) -> Parts:
        return super().fold(held)


# --- The commonest value


class Mode(Collect):
    """The value that occurs most often; of several the one that occurs first."""

    def of_items(self, items: Items, column: pa.Array) -> FoldItems:
        return _ModeItems(items, column)

    def result(self, name: str, parts: Parts) -> Result:
        return passed_on(parts["result"])


class _ModeItems(CollectItems):
    def __init__(self, items: Items, column: pa.Array) -> None:
        super().__init__(items, column)
        self._codes, self._different = codes_of(column)

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        places: Ints = folds.commonest(self._codes, self._different, ranges.low, ranges.high)
        return {"result": self._column.take(pa.array(places, mask=places < 0))}

    def keep(self, held: Ranges) -> Parts:
        return super().fold(held)
