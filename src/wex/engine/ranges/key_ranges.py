"""Data of many streams, divided by ranges of keys before it is sorted.

Sorting rows and taking texts costs more than finding windows. Divided by keys, all of it is done on
several threads, and the windows of the ranges, one after the other, are in the order of all keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.input.columns import combine_chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

SAMPLE = 4096  # rows that are looked at
UNEVEN = 1.3  # times its share that a range may have; else the data is sorted first


@dataclass(frozen=True, eq=False)
class KeyRange:
    """Keys above `low` and up to `high`; NULL sorts before all keys, NaN behind them."""

    low: pa.Scalar | None
    high: pa.Scalar | None

    def rows(self, data: pa.Table, key: str) -> pa.Table:
        """Return the rows of the streams in the range, in their order."""
        column = data.column(key)
        inside = None
        if self.high is not None:
            inside = pc.fill_null(pc.less_equal(column, self.high), self.low is None)
        if self.low is not None:
            above = pc.fill_null(pc.invert(pc.less_equal(column, self.low)), False)
            inside = above if inside is None else pc.and_(inside, above)
        return data if inside is None else data.filter(inside)


def key_ranges(data: pa.Table, keys: Sequence[str], count: int) -> list[KeyRange] | None:
    """Return ranges of the first key with about the same number of rows each.

    None: they would be uneven, the type has no order here, or the rows are sorted by key already.
    """
    if not keys or data.column_names.count(keys[0]) != 1 or data.num_rows < SAMPLE:
        return None
    column = data.column(keys[0])
    if not _has_order(column.type):
        return None
    places = np.linspace(0, data.num_rows - 1, SAMPLE).astype(np.int64)
    sample = combine_chunks(column.take(pa.array(places)))
    known = sample.drop_null()
    order = pc.sort_indices(known)
    nulls_first = not len(sample.slice(0, sample.null_count).drop_null())
    if nulls_first and (order.to_numpy() == np.arange(len(known))).all():  # the sort is stable
        return None
    ordered = known.take(order)
    cuts = [len(ordered) * number // count - 1 for number in range(1, count)]
    bounds = ordered.take(pa.array([cut for cut in cuts if cut >= 0], pa.int64())).unique()
    if pa.types.is_floating(bounds.type):
        bounds = bounds.filter(pc.invert(pc.is_nan(bounds)))
    limits = [None, *bounds, None]
    ranges = [KeyRange(low, high) for low, high in pairwise(limits)]
    sizes = [part.rows(pa.table({"key": sample}), "key").num_rows for part in ranges]
    return ranges if max(sizes) <= UNEVEN * SAMPLE / count else None


def _has_order(type_: pa.DataType) -> bool:
    """Tell whether Arrow compares values of a type as keys are sorted."""
    is_ = pa.types
    real = is_.is_float32(type_) or is_.is_float64(type_)
    number = is_.is_integer(type_) or real or is_.is_temporal(type_)
    return bool(number or is_.is_string(type_) or is_.is_large_string(type_))
