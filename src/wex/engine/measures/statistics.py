"""Folds without an inverse: sums of reals, least and greatest values, variances."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.arrays import empty
from wex.engine.kernels import folds
from wex.engine.kernels.types import read_only
from wex.engine.measures.fold import (
    Fold,
    FoldItems,
    Parts,
    RelevantRows,
    Result,
    as_numpy,
    check_counts,
    check_whole,
    dense_items,
    largest_of,
    passed_on,
    running_sums,
    sizes_of,
    term_known,
)
from wex.engine.measures.panes import items_of
from wex.framing import require
from wex.spec.types import REAL
from wex.theory.evaluate import INFINITE
from wex.theory.terms import Field, Term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.input.batch import BatchView
    from wex.engine.measures.panes import Items, Panes, Ranges
    from wex.theory.terms import Aggregate


class FloatStats(Fold):
    """Sum, least and greatest of floats."""

    in_blocks = True

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        return {
            "total": pa.float64(), "least": pa.float64(), "most": pa.float64(), "n": pa.int64()
        }  # fmt: skip

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        values = self.numbers(rows).astype(np.float64, copy=False)
        if not self.clean(rows):
            missing = np.isnan(values)
            if missing.any():
                relevant.note_nan(missing)
        n = as_numpy(carried["n"])
        sizes = sizes_of(panes, relevant.present, n > 0)
        items = items_of(panes, sizes)
        counts = items_of(panes, sizes_of(panes, relevant.present, n))
        columns = [dense_items(panes, values, as_numpy(carried["total"]), sizes)]
        if len(n):
            columns += [
                dense_items(panes, values, as_numpy(carried[name]), sizes)
                for name in ("least", "most")
            ]
        return _FloatItems(items, counts, columns)

    def clean(self, rows: BatchView) -> bool:
        """Tell whether the engine has already rejected NULL and NaN in this field."""
        argument = self.arguments[0]
        return isinstance(argument, Field) and not argument.offset and argument.name in rows.guarded

    def result(self, name: str, parts: Parts) -> Result:
        total, n = as_numpy(parts["total"]), as_numpy(parts["n"])
        known = None if n.min(initial=1) > 0 else n > 0
        if name in ("min", "max"):
            return Result(as_numpy(parts["least" if name == "min" else "most"]), known)
        bad = np.isnan(total)
        if name == "avg":
            divisor = n if known is None else np.maximum(n, 1)
            total = np.divide(total, divisor, out=empty(len(total), np.float64))
        return Result(total, known, bad, INFINITE)

    def check(self, parts: Parts, sizes: Ints) -> None:
        check_counts(parts, sizes, "n")
        check_whole(parts, "total", "least", "most")


class _FloatItems(FoldItems):
    def __init__(self, items: Items, counts: Items, columns: list[NDArray[Any]]) -> None:
        self._items, self._counts, self._columns = items, counts, columns

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        if len(self._columns) == 1 and ranges.slides:
            folded = folds.slide_floats(ranges.low, ranges.high, *self._columns)
        elif len(self._columns) == 1 and ranges.scans:
            folded = folds.scan_floats(ranges.low, ranges.high, *self._columns)
        else:
            columns = self._columns if len(self._columns) == 3 else self._columns * 3
            folded = folds.fold_floats(*ranges.work, *columns)
        counted = self._counts.ranges(windows)
        names = ("total", "least", "most")
        parts = {
            name: pa.array(ranges.put(column)) for name, column in zip(names, folded, strict=True)
        }
        return {**parts, "n": pa.array(counted.sizes)}

    def largest(self) -> float | None:
        sizes = [float(np.abs(column).sum()) for column in self._columns]
        return max(sizes) if np.isfinite(sizes).all() else None

    def always_known(self) -> bool:
        return self._items.one_each


class Spread(Fold):
    """Count, mean and squared distances from the mean; infinite values are counted separately."""

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        floats = dict.fromkeys(("n", "mean", "square"), pa.float64())
        return {**floats, "base": pa.int64(), "infinite": pa.int64()}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        values = self.numbers(rows)
        if self.types[0] == REAL:
            floats, bases = values.astype(np.float64), np.zeros(rows.size, dtype=np.int64)
        else:
            floats, bases = np.zeros(rows.size), values.astype(np.int64)
        relevant.note_nan(np.isnan(floats))
        infinite = np.isinf(floats)
        floats = np.where(infinite, 0.0, floats)
        if relevant.present is not None:
            infinite &= relevant.present
        n = as_numpy(carried["n"])
        sizes = sizes_of(panes, relevant.present, n > 0)
        ones, zeros = np.ones(rows.size), np.zeros(rows.size)
        own = {"n": ones, "base": bases, "mean": floats, "square": zeros}
        columns = [
            dense_items(panes, column, as_numpy(carried[name]), sizes)
            for name, column in own.items()
        ]
        sums = running_sums(panes, infinite, carried["infinite"])
        return _SpreadItems(items_of(panes, sizes), columns, sums)

    def result(self, name: str, parts: Parts) -> Result:
        n, square = as_numpy(parts["n"]), as_numpy(parts["square"])
        with np.errstate(all="ignore"):
            variance = square / (n - 1)
        # Distances beyond the largest float.
        variance = np.where(np.isnan(variance), np.inf, variance)
        bad = (as_numpy(parts["infinite"]) > 0) & (n > 1)
        return Result(np.sqrt(variance) if name == "stddev" else variance, n > 1, bad, INFINITE)

    def check(self, parts: Parts, sizes: Ints) -> None:
        check_counts(parts, sizes, "n", "infinite")
        check_whole(parts, "mean", "square", "base")


class _SpreadItems(FoldItems):
    def __init__(
        self, items: Items, columns: list[NDArray[Any]], infinite: NDArray[np.int64]
    ) -> None:
        self._items, self._columns, self._infinite = items, columns, infinite

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        folded = folds.fold_spread(*ranges.work, *self._columns)
        names = ("n", "base", "mean", "square")
        parts = {
            name: pa.array(ranges.put(column)) for name, column in zip(names, folded, strict=True)
        }
        infinite = self._infinite[windows.high] - self._infinite[windows.low]
        return {**parts, "infinite": pa.array(infinite)}

    def largest(self) -> float | None:
        return None if self._infinite[-1] else math.inf


class Best(Fold):
    """The value of the event with the least or the greatest key, of several the first one."""

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__(aggregate)
        self.sign = 1 if aggregate.name.startswith("min") else -1
        self.key = len(self.arguments) - 1

    def known(self, rows: BatchView) -> Bools | None:
        key = self.arguments[self.key]
        assert isinstance(key, Term)
        return term_known(key, rows)

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        value, key = self.stored(rows, 0).type, self.stored(rows, self.key).type
        return {"value": value, "key": key, "there": pa.bool_()}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        key = self.stored(rows, self.key)
        if self.types[self.key] == REAL:
            relevant.note_nan(np.asarray(np.isnan(as_numpy(key.fill_null(0.0)))))
        value = self.stored(rows) if self.key else key
        there = as_numpy(carried["there"])
        sizes = sizes_of(panes, relevant.present, there)
        columns = []
        for name, own in (("value", value), ("key", key)):
            column = panes.spread_column(own, carried[name])
            columns.append(column if sizes is None else column.filter(pa.array(sizes > 0)))
        return _BestItems(items_of(panes, sizes), columns[0], columns[1], self.sign)

    def result(self, name: str, parts: Parts) -> Result:
        return passed_on(parts["value"])

    def check(self, parts: Parts, sizes: Ints) -> None:
        check_whole(parts, "there")
        known = as_numpy(parts["key"].is_valid())
        require((known | ~as_numpy(parts["there"])).all(), "a pane has a value without its key")


class _BestItems(FoldItems):
    def __init__(self, items: Items, values: pa.Array, keys: pa.Array, sign: int) -> None:
        self._items, self._values, self._keys, self._sign = items, values, keys, sign
        self._numbers = read_only(_ranked(keys))

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        best = folds.fold_best(*ranges.work, self._numbers, self._sign)
        there = np.ones(len(ranges.low), dtype=np.bool_) if ranges.filled is None else ranges.filled
        places = pa.array(ranges.put(best), mask=~there)
        return {
            "value": self._values.take(places),
            "key": self._keys.take(places),
            "there": pa.array(there),
        }

    def largest(self) -> float | None:
        return largest_of(self._values)

    def always_known(self) -> bool:
        return self._items.one_each


def _ranked(keys: pa.Array) -> NDArray[Any]:
    """Return keys as numbers of the same order: strings by their bytes."""
    if not pa.types.is_string(keys.type):
        return as_numpy(keys)
    encoded = keys.dictionary_encode()
    order = np.empty(len(encoded.dictionary), dtype=np.int64)
    order[as_numpy(pc.sort_indices(encoded.dictionary))] = np.arange(len(order))
    ranks: NDArray[Any] = order[as_numpy(encoded.indices)]
    return ranks
