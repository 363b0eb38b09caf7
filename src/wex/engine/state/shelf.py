"""Open starts that are set aside, because short batches seldom touch them.

Starts in one slot never part: what happens to one of them happens to all. So the oldest start of each
slot shows whether a batch touches those set aside, and the batch runs with these samples alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.state import schema

if TYPE_CHECKING:
    from wex.engine.arrays import Ints

MOST_SLOTS = 64  # of which there are samples
MOST_RECENT = 1024  # starts that are not set aside
WITHOUT_PANES = frozenset([*schema.HELD_NUMBERS, schema.TIME, schema.CLOSES])


@dataclass(frozen=True, eq=False)
class Shelf:
    """The open starts of one window in one stream: those set aside, their samples, and later ones."""

    aside: pa.Table
    samples: pa.Table
    recent: pa.Table

    @property
    def starts(self) -> pa.Table:
        """Return all open starts; nothing is copied."""
        return pa.concat_tables([self.aside, self.recent])

    @property
    def shown(self) -> pa.Table:
        """Return the starts that a batch runs with."""
        return pa.concat_tables([self.samples, self.recent])

    def after(self, held: pa.Table, windows: Ints) -> Shelf | None:
        """Return the starts after a batch, from those that are open then; None: it touched others.

        `windows` are the positions at which the windows that it reports start.
        """
        count = self.samples.num_rows
        if self._has_panes and not self._is_first_recent(held, count):
            return None  # its pane is now a part of the last one that is set aside
        last = self.aside.column(schema.POSITION)[-1].as_py()
        if held.num_rows < count or (windows <= last).any():
            return None
        same = held.slice(0, count)
        for name in (schema.POSITION, schema.SLOT):
            if not same.column(name).equals(self.samples.column(name)):
                return None
        return Shelf(self.aside, self.samples, held.slice(count))

    @property
    def _has_panes(self) -> bool:
        return not WITHOUT_PANES.issuperset(self.aside.column_names)

    def _is_first_recent(self, held: pa.Table, place: int) -> bool:
        """Tell whether the oldest recent start is still open, at its place among the starts after a batch."""
        position = held.column(schema.POSITION)
        first = self.recent.column(schema.POSITION)[0]
        return held.num_rows > place and bool(position[place] == first)

    @property
    def is_full(self) -> bool:
        """Tell whether it is time to set the recent starts aside as well."""
        return bool(self.recent.num_rows > max(MOST_RECENT, isqrt(self.aside.num_rows)))


def shelf_of(held: pa.Table) -> Shelf | None:
    """Return the open starts of a window, all but the last one set aside; None: in too many slots.

    The pane of the last one takes up the events up to the next start.
    """
    held = held.combine_chunks()
    slots = held.column(schema.SLOT).to_numpy()[:-1]
    if not len(slots):
        return None
    first = np.full(int(slots.max()) + 1, -1)
    first[slots[::-1]] = np.arange(len(slots))[::-1]  # of several, the last one that is written
    chosen = np.sort(first[first >= 0])
    if len(chosen) > MOST_SLOTS:
        return None
    aside = held.slice(0, len(slots))
    return Shelf(aside, aside.take(pa.array(chosen)), held.slice(len(slots)))
