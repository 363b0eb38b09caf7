"""Scans over all streams of a batch: the check of assumptions, and `keep disjoint` after `having`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints


@compiled
def run_assumptions(
    letters: NDArray[np.int32],
    table: NDArray[np.int32],
    live: NDArray[np.bool_],
    from_row: Ints,
    begin: Ints,
    end: Ints,
    state: Ints,
) -> tuple[Ints, int]:
    """Return the state of each stream, and the first row that breaks the assumptions, or -1.

    Rows before `from_row` are read, and cannot break them.
    """
    states = state.copy()
    for g in range(len(begin)):
        at = states[g]
        for row in range(begin[g], end[g]):
            at = np.int64(table[at, letters[row]])
            if row >= from_row[g] and not live[at]:
                return states, row
        states[g] = at
    return states, -1


@compiled
def keep_disjoint(
    streams: Ints, starts: Ints, ends: Ints, last: Ints
) -> tuple[NDArray[np.bool_], Ints]:
    """Tell which windows are kept, and where the last one of each stream ends.

    Windows come in the order of their ends, then starts; of each end the first one counts that
    begins after the last window kept.
    """
    kept = np.zeros(len(starts), dtype=np.bool_)
    after = last.copy()
    for w in range(len(starts)):
        if starts[w] > after[streams[w]]:
            kept[w] = True
            after[streams[w]] = ends[w]
    return kept, after
