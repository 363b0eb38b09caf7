"""Folds that keep values unchanged: `first`, `last`, `collect` and `count_distinct`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.input.columns import concat_arrays, empty_array, take
from wex.engine.kernels import folds
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
    largest_of,
    passed_on,
    sizes_of,
)
from wex.engine.measures.panes import items_of
from wex.framing import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.input.batch import BatchView
    from wex.engine.measures.panes import Items, Panes, Ranges


class PassThrough(Fold):
    """Values unchanged, in the order of the events: `first`, `last`, `collect`."""

    listed = False

    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        own = self.stored(rows).type
        return {"value": pa.list_(own) if self.listed else own}

    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        own = self.stored(rows)
        present = both(relevant.present, None if not own.null_count else as_numpy(own.is_valid()))
        return self.fold_items(own, present, panes, carried)

    def fold_items(
        self, own: pa.Array, present: Bools | None, panes: Panes, carried: Parts
    ) -> FoldItems:
        there = as_numpy(carried["value"].is_valid())
        sizes = sizes_of(panes, present, there)
        column = panes.spread_column(own, carried["value"])
        if sizes is not None:
            column = column.filter(pa.array(sizes > 0))
        return _EndItems(items_of(panes, sizes), column, last=self.aggregate.name == "last")

    def result(self, name: str, parts: Parts) -> Result:
        return passed_on(parts["value"])

    def check(self, parts: Parts, sizes: Ints) -> None:
        """Do nothing: any value is sound, and so is NULL."""


class _EndItems(FoldItems):
    def __init__(self, items: Items, column: pa.Array, *, last: bool) -> None:
        self._items, self._column, self._last = items, column, last

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        places = ranges.high - 1 if self._last else ranges.low
        mask = None if ranges.filled is None else ~ranges.filled
        return {"value": self._column.take(pa.array(places, mask=mask))}

    def largest(self) -> float | None:
        return largest_of(self._column)


class Collect(PassThrough):
    """All values, in a list."""

    listed = True

    def fold_items(
        self, own: pa.Array, present: Bools | None, panes: Panes, carried: Parts
    ) -> FoldItems:
        lists = carried["value"]
        lengths = as_numpy(pc.list_value_length(lists)) if len(lists) else np.empty(0, np.int64)
        sizes = sizes_of(panes, present, lengths)
        items = items_of(panes, sizes)
        if not len(lists):
            spread = panes.spread_column(own, empty_array(own.type))
            column = spread if sizes is None else spread.filter(pa.array(sizes > 0))
        else:
            column = self._spread(own, present, panes, lists, lengths, items)
        return self.of_items(items, column)

    def _spread(
        self,
        own: pa.Array,
        present: Bools | None,
        panes: Panes,
        lists: pa.Array,
        lengths: NDArray[Any],
        items: Items,
    ) -> pa.Array:
        """Return the values of the lists carried over and of the rows, in the order of the panes."""
        before = items.before
        if before is None:
            before = np.arange(panes.count + 1)
        flat = lists.flatten()
        rows = panes.rows if present is None else panes.rows[present[panes.rows]]
        own_panes = panes.own if present is None else panes.own[present[panes.rows]]
        places = np.empty(int(before[-1]), dtype=np.int64)
        sizes = lengths.astype(np.int64)
        begin = before[panes.held]
        offset = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
        places[np.arange(len(flat)) + offset] = np.arange(len(flat))
        places[before[own_panes]] = rows + len(flat)
        return take(concat_arrays([flat, own]), places)

    def of_items(self, items: Items, column: pa.Array) -> FoldItems:
        return CollectItems(items, column)

    def check(self, parts: Parts, sizes: Ints) -> None:
        lists = parts["value"]
        check_whole(parts, "value")
        require(not lists.flatten().null_count, "a pane has collected a NULL")
        check_counts({"length": pc.list_value_length(lists)}, sizes, "length")


class CollectItems(FoldItems):
    """Values by pane, in one column."""

    def __init__(self, items: Items, column: pa.Array) -> None:
        self._items, self._column = items, column

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        return self.listed(ranges.low, ranges.high)

    def listed(self, low: Ints, high: Ints) -> Parts:
        """Return the values of ranges, as lists."""
        sizes = high - low
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(int(offsets[-1])) + np.repeat(low - offsets[:-1], sizes)
        flat = take(self._column, places)
        return {"value": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)}


class Distinct(Collect):
    """The number of different values; a pane keeps its different values."""

    def of_items(self, items: Items, column: pa.Array) -> FoldItems:
        return _DistinctItems(items, column)

    def result(self, name: str, parts: Parts) -> Result:
        return Result(as_numpy(parts["count"]))


class _DistinctItems(CollectItems):
    def __init__(self, items: Items, column: pa.Array) -> None:
        super().__init__(items, column)
        self._codes, self._different = codes_of(column)

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        return {
            "count": pa.array(
                folds.count_distinct(self._codes, self._different, ranges.low, ranges.high)
            )
        }

    def keep(self, held: Ranges) -> Parts:
        """Return the different values of ranges, as lists."""
        ranges = self._items.ranges(held)
        sizes = ranges.high - ranges.low
        owners = np.repeat(np.arange(len(sizes)), sizes)
        places = np.arange(len(owners)) + np.repeat(ranges.low - (np.cumsum(sizes) - sizes), sizes)
        pairs = owners * (self._different + 1) + self._codes[places]
        _, first = np.unique(pairs, return_index=True)
        first.sort()
        counts = np.bincount(owners[first], minlength=len(sizes))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        flat = take(self._column, places[first])
        return {"value": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)}


def codes_of(column: pa.Array) -> tuple[Ints, int]:
    """Return a number for each value, the same for equal values, and how many numbers there are."""
    if pa.types.is_floating(column.type):
        # -0.0 is 0.0, and all NaN are one
        column = pc.if_else(pc.is_nan(column), math.nan, pc.add(column, 0.0))
    encoded = column.dictionary_encode()
    return as_numpy(encoded.indices).astype(np.int64), len(encoded.dictionary)
