"""Scans over all streams of a batch: the check of assumptions, `keep disjoint` after `having`, merging, texts."""

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
    keys: tuple[Ints, ...], places: tuple[Ints, ...], out_keys: Ints, out_places: Ints
) -> None:
    """Merge two parts, a pair of keys and a pair of places, each in the order of its keys.

    Places go along with their keys, and of equal keys those of the first part come first. There is no
    branch that depends on the keys, as nobody can foretell which part goes on.
    """
    first, second = keys
    first_places, second_places = places
    i, j, to = 0, 0, 0
    while i < len(first) and j < len(second):
        one, two = first[np.uint64(i)], second[np.uint64(j)]
        place, later_place = first_places[np.uint64(i)], second_places[np.uint64(j)]
        later = two < one
        out_keys[np.uint64(to)] = two if later else one
        out_places[np.uint64(to)] = later_place if later else place
        j += later
        i += not later
        to += 1
    while i < len(first):
        out_keys[to] = first[i]
        out_places[to] = first_places[i]
        i += 1
        to += 1
    while j < len(second):
        out_keys[to] = second[j]
        out_places[to] = second_places[j]
        j += 1
        to += 1


@compiled
def write_texts(
    numbers: NDArray[np.int32],
    order: Ints,
    texts: NDArray[np.uint8],
    width: int,
    sizes: Ints,
    offsets: NDArray[np.int32],
    out: NDArray[np.uint8],
) -> None:
    """Write texts by their numbers, these in an order, and where each text begins and the last one ends.

    Each of `texts` has the same width, a multiple of eight bytes, which are moved together; the next
    text overwrites what is too much. Unsigned places need no test whether they count from the end.
    """
    one, two, three, four = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    five, six, seven, eight = np.uint64(5), np.uint64(6), np.uint64(7), np.uint64(8)
    to = np.uint64(0)
    for at in range(len(order)):
        number = np.uint64(numbers[np.uint64(order[at])])
        offsets[at] = to
        for place in range(np.uint64(0), np.uint64(width), eight):
            x, y = number * np.uint64(width) + place, to + place
            a, b, c, d = texts[x], texts[x + one], texts[x + two], texts[x + three]
            e, f, g, h = texts[x + four], texts[x + five], texts[x + six], texts[x + seven]
            out[y], out[y + one], out[y + two], out[y + three] = a, b, c, d
            out[y + four], out[y + five], out[y + six], out[y + seven] = e, f, g, h
        to += np.uint64(sizes[number])
    offsets[len(order)] = to
