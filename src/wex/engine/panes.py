"""Panes: what a window is made of. Windows share them, whatever their number and overlap.

In the batch that is being processed every event is a pane. Of the events before, one pane is left
for each start that is still open, from that start to the next: it holds what the aggregates need
of its events, no more. So memory is proportional to the starts held, and a window is a range of
panes that begins with the pane of its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.kernels.folds import write_tape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.batch import Batch

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Panes:
    """The panes of one window in a batch: stream by stream, those carried over, then the events.

    `carried[g]` says how many panes of stream g come from before the batch.
    """

    batch: Batch
    carried: Ints

    @cached_property
    def shift(self) -> Ints:
        """Return for each stream what leads from a row to its pane."""
        sizes = self.carried + self.batch.end - self.batch.begin
        begin = np.cumsum(sizes) - sizes
        return begin + self.carried - self.batch.begin

    @cached_property
    def count(self) -> int:
        """Return how many panes there are."""
        return int((self.carried + self.batch.end - self.batch.begin).sum())

    @cached_property
    def _plain(self) -> bool:
        """Tell whether panes are rows."""
        return self.count == self.batch.rows and not self.carried.any()

    @cached_property
    def held(self) -> Ints:
        """Return the panes that come from before the batch."""
        ends = self.batch.begin + self.shift
        return spans(ends - self.carried, ends)

    @cached_property
    def rows(self) -> Ints:
        """Return the rows that are events of the batch."""
        return spans(self.batch.begin, self.batch.end)

    @cached_property
    def own(self) -> Ints:
        """Return the panes of these rows."""
        return spans(self.batch.begin + self.shift, self.batch.end + self.shift)

    def spread(
        self, values: NDArray[np.generic], carried: NDArray[np.generic]
    ) -> NDArray[np.generic]:
        """Return an array by pane, from one by row and one of the panes carried over."""
        if self._plain:
            return values
        if len(self.batch.begin) == 1:
            own = values[int(self.batch.begin[0]) : int(self.batch.end[0])]
            return np.concatenate([carried, own]) if len(carried) else own
        found = np.empty(self.count, dtype=values.dtype)
        found[self.own] = values[self.rows]
        found[self.held] = carried
        return found

    def spread_column(self, column: pa.Array, carried: pa.Array) -> pa.Array:
        """Return an Arrow array by pane, from one by row and one of the panes carried over."""
        if self._plain:
            return column
        if len(self.batch.begin) == 1:
            begin, end = int(self.batch.begin[0]), int(self.batch.end[0])
            return joined([carried, column.slice(begin, end - begin)])
        places = np.empty(self.count, dtype=np.int64)
        places[self.held] = np.arange(len(carried))
        places[self.own] = self.rows + len(carried)
        return taken(joined([carried, column]), places)


def spans(begin: Ints, end: Ints) -> Ints:
    """Return the numbers of several ranges, one after the other."""
    sizes = end - begin
    offset = begin - (np.cumsum(sizes) - sizes)
    return np.arange(int(sizes.sum())) + np.repeat(offset, sizes)


def joined(arrays: list[pa.Array]) -> pa.Array:
    """Return several Arrow arrays of one type as one."""
    filled = [array for array in arrays if len(array)] or arrays[-1:]
    return filled[0] if len(filled) == 1 else pa.concat_arrays(filled)


def taken(array: pa.Array, places: Ints) -> pa.Array:
    """Return the values of an Arrow array at some places."""
    return array.take(pa.array(places))


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of items, `low[q]` … `high[q] - 1`, in the order of their ends."""

    low: Ints
    high: Ints
    items: int

    @cached_property
    def filled(self) -> Bools | None:
        """Tell which ranges have items; None: all."""
        found = self.low < self.high
        return None if found.all() else found

    @cached_property
    def _some(self) -> Ranges:
        if self.filled is None:
            return self
        return Ranges(self.low[self.filled], self.high[self.filled], self.items)

    @cached_property
    def tape(self) -> tuple[Ints, Ints, Ints]:
        """Return the tape for the ranges that have items, and these ranges."""
        some = self._some
        return write_tape(some.low, some.high, self.items), some.low, some.high

    def put(self, found: NDArray[np.generic], empty: float = 0) -> NDArray[np.generic]:
        """Return an array for all ranges, from one for those that have items."""
        if self.filled is None:
            return found
        whole = np.full(len(self.low), empty, dtype=found.dtype)
        whole[self.filled] = found
        return whole


@dataclass(frozen=True, eq=False)
class Items:
    """How the items of a fold lie in the panes: `before[p]` of them before pane p; None: one each."""

    panes: Panes
    before: Ints | None

    def ranges(self, windows: Ranges) -> Ranges:
        """Return the ranges of items that belong to ranges of panes."""
        if self.before is None:
            return windows
        return Ranges(self.before[windows.low], self.before[windows.high], int(self.before[-1]))


def items_of(panes: Panes, sizes: Ints | Bools | None) -> Items:
    """Return how items lie in panes that have so many of them each; None: one."""
    if sizes is None:
        return Items(panes, None)
    before = np.zeros(panes.count + 1, dtype=np.int64)
    np.cumsum(sizes, out=before[1:])
    return Items(panes, before)
