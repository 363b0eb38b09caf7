"""Scans over all streams of a batch: the check of assumptions, `keep disjoint` after `having`, merging."""

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
def blank_heads(mask: NDArray[np.bool_], row: int, depth: int, first: Ints, end: Ints) -> None:
    """Make a mask of the rows from `row` on false at the first `depth` events of each stream."""
    for g in range(len(first)):
        high = min(first[g] + depth, end[g], row + len(mask))
        for at in range(max(first[g], row), high):
            mask[at - row] = False


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


@compiled
def merge(
    keys: Ints, places: Ints, second: int, end: int, out_keys: Ints, out_places: Ints
) -> None:
    """Merge two parts of keys, each in order, the one before `second` and the one before `end`.

    Places go along with their keys, and of equal keys those of the first part come first; what
    lies beyond the parts is copied. There is no branch that depends on the keys, as nobody can
    foretell which part goes on.
    """
    i, j, to = 0, second, 0
    while i < second and j < end:
        one, two = keys[np.uint64(i)], keys[np.uint64(j)]
        later = two < one
        out_keys[np.uint64(to)] = two if later else one
        out_places[np.uint64(to)] = places[np.uint64(j if later else i)]
        j += later
        i += not later
        to += 1
    # All other keys stay together: the rest of one part, then what lies beyond.
    while i < second:
        out_keys[to] = keys[i]
        out_places[to] = places[i]
        i += 1
        to += 1
    for at in range(j, len(keys)):
        out_keys[at] = keys[at]
        out_places[at] = places[at]
