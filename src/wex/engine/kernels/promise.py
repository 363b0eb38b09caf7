"""Checking a promise: one automaton over all streams of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.shapes import Ints


@compiled
def run_promise(
    letters: NDArray[np.int32],
    table: NDArray[np.int32],
    live: NDArray[np.bool_],
    from_row: Ints,
    begin: Ints,
    end: Ints,
    state: Ints,
) -> tuple[Ints, int]:
    """Return the state of each stream, and the first row that breaks the promise, or -1.

    Rows before `from_row` are read, and cannot break it.
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
