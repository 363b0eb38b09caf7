"""Folds over the events of windows that have a label, or over the labels themselves.

The events of each window are picked from the batch, one window after the other. Picked events are
panes like others, so that all folds work on them as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from wex.compile.measures import LABEL
from wex.engine.eval.guards import kleene
from wex.engine.eval.terms import Faults
from wex.engine.input.batch import Batch, BatchView
from wex.engine.input.columns import empty_array, take
from wex.engine.measures.fold import RelevantRows, both
from wex.engine.measures.panes import Panes, Ranges
from wex.spec.types import STRING
from wex.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.labels import ParsedWindows
    from wex.engine.measures.fold import Fold, Parts


@dataclass(frozen=True, eq=False)
class PickedPanes(Panes):
    """Events that are picked from a batch, each a pane; nothing is carried over."""

    picked: Ints

    @cached_property
    def count(self) -> int:
        """Return how many panes there are."""
        return len(self.picked)

    @cached_property
    def held(self) -> Ints:
        """Return the panes that come from before the batch: none."""
        return np.empty(0, dtype=np.int64)

    @cached_property
    def rows(self) -> Ints:
        """Return the rows that are picked."""
        return self.picked

    @cached_property
    def own(self) -> Ints:
        """Return the panes of these rows."""
        return np.arange(len(self.picked))

    def spread(self, values: NDArray[Any], carried: NDArray[Any]) -> NDArray[Any]:
        """Return an array by pane, from one by row."""
        return values[self.picked]

    def spread_column(self, column: pa.Array, carried: pa.Array) -> pa.Array:
        """Return an Arrow array by pane, from one by row."""
        return take(column, self.picked)


class LabelledFold:
    """One fold over the events of windows that it is about."""

    def __init__(self, fold: Fold, rows: BatchView, parsed: ParsedWindows) -> None:
        self._fold, self._rows = fold, rows
        self._reads_label = not fold.aggregate.label
        self._picked, self._first = parsed.rows, parsed.first
        if not self._reads_label:
            chosen = parsed.having(fold.aggregate.label)
            before = np.zeros(len(chosen) + 1, dtype=np.int64)
            np.cumsum(chosen, out=before[1:])
            self._picked, self._first = parsed.rows[chosen], before[parsed.first]
        else:
            self._labels = parsed.innermost()
        self._relevant = self._relevant_rows()

    def parts(self) -> Parts:
        """Return the columns of the fold, a row for each window."""
        fold, rows, relevant, picked = self._fold, self._rows, self._relevant, self._picked
        if self._reads_label:
            # The labels of picked events are a batch of their own.
            fold, rows = type(fold)(replace(fold.aggregate, filter=None)), self._view
            known = both(_taken(relevant.present, picked), rows.known(LABEL, 0))
            relevant, picked = RelevantRows(known, Faults()), np.arange(len(picked))
        panes = PickedPanes(rows.batch, np.zeros(0, dtype=np.int64), picked)
        nothing = {name: empty_array(type_) for name, type_ in fold.types_of(rows).items()}
        items = fold.lift(rows, relevant, panes, nothing)
        return items.fold(Ranges(self._first[:-1], self._first[1:]))

    @cached_property
    def _view(self) -> BatchView:
        count = len(self._labels)
        none, end = np.zeros(1, dtype=np.int64), np.array([count])
        table = pa.table({LABEL: self._labels})
        return BatchView(Batch(table, {LABEL: STRING}, (), none, none, end, none))

    def _relevant_rows(self) -> RelevantRows:
        """Return which rows of the batch count and which fail."""
        if not self._reads_label:
            return self._fold.relevant_rows(self._rows)
        faults = Faults()
        keep: Bools | None = None
        if self._fold.aggregate.filter is not None:
            keep, _ = kleene(self._fold.aggregate.filter, self._rows, faults)
        relevant = RelevantRows(None, Faults())
        relevant.note_failures(faults, self._rows.size)
        relevant.present = both(keep, relevant.present)
        return relevant

    # --- Failures

    @cached_property
    def _bad(self) -> Bools | None:
        bad = self._relevant.faults.bad
        if bad is None:
            return None
        picked: Bools = np.broadcast_to(bad, (self._rows.size,))[self._picked]
        return picked

    @property
    def failed(self) -> Bools | None:
        """Tell which windows have an event for which arithmetic failed; None: none."""
        if self._bad is None:
            return None
        before = np.zeros(len(self._bad) + 1, dtype=np.int64)
        np.cumsum(self._bad, out=before[1:])
        failed: Bools = before[self._first[1:]] > before[self._first[:-1]]
        return failed

    def why(self, window: int) -> str:
        """Return why arithmetic failed for the first event of a window that it failed for."""
        assert self._bad is not None
        low, high = int(self._first[window]), int(self._first[window + 1])
        at = low + int(np.argmax(self._bad[low:high]))
        return self._relevant.faults.why(int(self._picked[at]))


def _taken(present: Bools | None, picked: Ints) -> Bools | None:
    return None if present is None else present[picked]
