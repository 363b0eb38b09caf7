"""Panes: the pieces that windows are made of, and share, whatever their number and overlap.

In the current batch every event is a pane. Of past events there is one pane for each open start,
from that start to the next, with the columns that the folds need of its events. So memory grows
with the number of open starts, and a window is a range of panes that begins with the pane of its
start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.arrays import empty
from wex.engine.input.columns import concat_arrays, spans, take
from wex.engine.kernels.folds import Survey, survey
from wex.engine.kernels.types import read_only
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.input.batch import Batch


OVERLAP = 8  # windows over one event: from there on sliding beats scanning


@dataclass(frozen=True, eq=False)
class Panes:
    """The panes of one window in a batch: stream by stream, those carried over, then the events.

    `carried[g]` says how many panes of stream g come from before the batch.
    """

    batch: Batch
    carried: Ints

    @cached_property
    def shift(self) -> Ints:
        """Return for each stream the difference between a pane and its row."""
        if self._plain:
            return self.carried  # nothing but 0
        sizes = self.carried + self.batch.end - self.batch.begin
        begin = np.cumsum(sizes) - sizes
        shift: Ints = begin + self.carried - self.batch.begin
        return shift

    @cached_property
    def count(self) -> int:
        """Return how many panes there are."""
        return int(self.carried.sum() + self.batch.end.sum() - self.batch.begin.sum())

    @cached_property
    def _plain(self) -> bool:
        """Tell whether panes are rows."""
        return self.count == self.batch.rows and not self.carried.any()

    @cached_property
    def held(self) -> Ints:
        """Return the panes that come from before the batch."""
        if self._plain:
            return np.empty(0, dtype=np.int64)
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

    def spread(self, values: NDArray[Any], carried: NDArray[Any]) -> NDArray[Any]:
        """Return an array by pane, from one by row and one of the panes carried over."""
        if self._plain:
            return values
        if len(self.batch.begin) == 1:
            own = values[int(self.batch.begin[0]) : int(self.batch.end[0])]
            return np.concatenate([carried, own]) if len(carried) else own
        by_pane = np.empty(self.count, dtype=values.dtype)
        by_pane[self.own] = values[self.rows]
        by_pane[self.held] = carried
        return by_pane

    def spread_column(self, column: pa.Array, carried: pa.Array) -> pa.Array:
        """Return an Arrow array by pane, from one by row and one of the panes carried over."""
        if self._plain:
            return column
        if len(self.batch.begin) == 1:
            begin, end = int(self.batch.begin[0]), int(self.batch.end[0])
            return concat_arrays([carried, column.slice(begin, end - begin)])
        places = np.empty(self.count, dtype=np.int64)
        places[self.held] = np.arange(len(carried))
        places[self.own] = self.rows + len(carried)
        return take(concat_arrays([carried, column]), places)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Ranges of items, `low[q]` … `high[q] - 1`, in the order of their ends."""

    low: Ints
    high: Ints

    @cached_property
    def _survey(self) -> Survey:
        return Survey(*survey(read_only(self.low), read_only(self.high)))

    @cached_property
    def sizes(self) -> Ints:
        """Return how many items each range has."""
        sizes: Ints = np.subtract(self.high, self.low, out=empty(len(self.low), np.int64))
        return sizes

    @cached_property
    def filled(self) -> Bools | None:
        """Tell which ranges have items; None: all."""
        return None if self._survey.filled else self.low < self.high

    @cached_property
    def _order(self) -> Ints | None:
        """Return the order of the ranges that have items; None: as they are.

        Panes without items make ends equal that were not, so that beginnings may go back and forth.
        """
        low, high = self.low, self.high
        if self.filled is None:
            return None if self._survey.in_order else np.lexsort((low, high))
        low, high = low[self.filled], high[self.filled]
        if not ((high[1:] == high[:-1]) & (low[1:] < low[:-1])).any():
            return None
        return np.lexsort((low, high))

    @cached_property
    def work(self) -> tuple[Ints, Ints, int]:
        """Return the ranges that have items, those with one end by their beginnings.

        Behind them comes how many of them are cheap to scan.
        """
        low, high = self.low, self.high
        if self.filled is not None:
            low, high = low[self.filled], high[self.filled]
        if self._order is not None:
            low, high = low[self._order], high[self._order]
        # Not kept if they are these ranges: an object that holds itself is freed late, with what it holds.
        some = self if low is self.low else Ranges(low, high)
        return low, high, some.scannable

    @property
    def scannable(self) -> int:
        """Return how many of the ranges, none of them empty, are cheap to scan."""
        return self._survey.scanned

    @property
    def slides(self) -> bool:
        """Tell whether no range is empty, all overlap much, and their beginnings ascend."""
        if len(self.low) < 2 or not (self._survey.filled and self._survey.ascending):
            return False
        return self._survey.total > OVERLAP * int(self.high[-1] - self.low[0])

    @property
    def scans(self) -> bool:
        """Tell whether no range is empty and all are cheap to scan."""
        in_order = self._survey.filled and self._survey.in_order
        return in_order and self._survey.scanned == len(self.low)

    def blocks(self, size: int) -> Iterator[slice]:
        """Yield blocks of so many ranges, or one of all if blocks would share too many items."""
        count = len(self.low)
        if count > 2 * size:
            begins = np.arange(0, count, size)
            last = np.append(begins[1:], count) - 1
            spans = self.high[last] - np.minimum.reduceat(self.low, begins)
            if 4 * int(spans.sum()) <= 5 * int(self.high[-1] - self.low.min()):
                yield from (slice(begin, begin + size) for begin in begins.tolist())
                return
        yield slice(0, count)

    def put(self, values: NDArray[Any], empty: float = 0) -> NDArray[Any]:
        """Return an array for all ranges, from one for those that have items."""
        if self._order is not None:
            sorted_, values = values, np.empty_like(values)
            values[self._order] = sorted_
        if self.filled is None:
            return values
        whole = np.full(len(self.low), empty, dtype=values.dtype)
        whole[self.filled] = values
        return whole


@dataclass(frozen=True, eq=False)
class Items:
    """The places of items in panes: `before[p]` items lie before pane p; None: one item per pane."""

    panes: Panes
    before: Ints | None

    @property
    def one_each(self) -> bool:
        """Tell whether each pane has an item."""
        return self.before is None or bool((np.diff(self.before) > 0).all())

    def ranges(self, windows: Ranges) -> Ranges:
        """Return the ranges of items that belong to ranges of panes."""
        if self.before is None:
            return windows
        return Ranges(self.before[windows.low], self.before[windows.high])


def items_of(panes: Panes, sizes: Ints | None) -> Items:
    """Return the places of items, from the number of items of each pane; None: one per pane."""
    if sizes is None:
        return Items(panes, None)
    before = np.zeros(panes.count + 1, dtype=np.int64)
    np.cumsum(sizes, out=before[1:])
    return Items(panes, before)
