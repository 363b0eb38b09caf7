"""What is drawn of much data: rows whose picture is that of all rows, and the longest windows.

Rows are cut into the columns of pixels that they fall into. A column keeps its first and last row
and those with its least and greatest value; a line through these covers the same pixels.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Floats, Ints

PER_COLUMN = 5  # rows that a column keeps at most: first, last, least, greatest, a missing one
SEVERAL = -2  # the code of a part of a strip that has several values


def pixel_columns(places: NDArray[Any], count: int) -> Ints:
    """Return the column, of `count` equal ones, of each of some ascending places."""
    if not len(places):
        return np.zeros(0, dtype=np.int64)
    shifted = places.astype(np.float64) - float(places[0])
    width = float(shifted[-1])
    if not width:
        return np.zeros(len(places), dtype=np.int64)
    columns: Ints = np.minimum((shifted / width * count).astype(np.int64), count - 1)
    return columns


def extremes(values: Floats, columns: Ints) -> Ints:
    """Return the rows to draw of a series: of each column its ends, extremes and first missing value.

    Without more than `PER_COLUMN` rows in each column these are all rows.

    >>> extremes(np.array([3.0, 1, 2, 9, 2, 4]), np.zeros(6, dtype=np.int64)).tolist()
    [0, 1, 3, 5]
    """
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    begins = np.flatnonzero(np.diff(columns, prepend=columns[0] - 1))
    ends = np.append(begins[1:], len(values)) - 1
    sizes = ends - begins + 1
    missing = np.isnan(values)
    kept = [begins, ends]
    for reduce, nothing in ((np.minimum, np.inf), (np.maximum, -np.inf)):
        filled = np.where(missing, nothing, values)
        best = np.repeat(reduce.reduceat(filled, begins), sizes)
        kept.append(_first_in_each((filled == best) & ~missing, begins))
    kept.append(_first_in_each(missing, begins))
    rows: Ints = np.unique(np.concatenate(kept))
    return rows


def _first_in_each(mask: NDArray[np.bool_], begins: Ints) -> Ints:
    """Return the first true row of each part that has one."""
    true = np.flatnonzero(mask)
    part = np.searchsorted(begins, true, side="right")
    first: Ints = true[np.flatnonzero(np.diff(part, prepend=-1))]
    return first


# --- Depth


def depth_steps(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return the positions at which the number of windows changes, and the new number.

    At an event where windows start and others end there are two steps, the starts first: between two
    events only those count that contain both.

    >>> [column.tolist() for column in depth_steps(np.array([1, 2]), np.array([2, 4]))]
    [[1, 2, 2, 4], [1, 2, 1, 0]]
    """
    falls = np.repeat([0, 1], [len(starts), len(ends)])
    places, which = np.unique(2 * np.concatenate([starts, ends]) + falls, return_inverse=True)
    steps = np.bincount(which, weights=1 - 2 * falls, minlength=len(places))
    return places // 2, np.cumsum(steps).astype(np.int64)


# --- Strips


@dataclass(frozen=True, eq=False)
class Strip:
    """Parts of a stream with one value each, or `SEVERAL`: their first and last rows, and codes.

    A part ends where a column of pixels has no event: nothing is known of a value between two events.
    """

    first: Ints
    last: Ints
    codes: Ints


def strip(codes: Ints, columns: Ints, most: int) -> Strip:
    """Return the parts of a stream with equal codes; if there are more than `most`, column by column."""
    if not len(codes):
        return Strip(codes, codes, codes)
    begins = np.flatnonzero(
        (np.diff(codes, prepend=codes[0] - 1) != 0) | (np.diff(columns, prepend=columns[0]) > 1)
    )
    if len(begins) > most:
        begins = np.flatnonzero(np.diff(columns, prepend=columns[0] - 1))
    ends = np.append(begins[1:], len(codes))[: len(begins)] - 1
    least, greatest = np.minimum.reduceat(codes, begins), np.maximum.reduceat(codes, begins)
    return Strip(begins, ends, np.where(least == greatest, least, SEVERAL))


# --- Windows


def longest(lengths: NDArray[Any], most: int) -> Ints:
    """Return the numbers of the longest windows, at most so many, in their order.

    Of windows that are equally long and not all chosen, those at equal distances are.

    >>> longest(np.array([5, 1, 1, 1, 1]), 3).tolist()
    [0, 1, 4]
    """
    if len(lengths) <= most:
        return np.arange(len(lengths))
    least = -np.partition(-lengths, most - 1)[most - 1]
    longer, equal = np.flatnonzero(lengths > least), np.flatnonzero(lengths == least)
    spread = np.linspace(0, len(equal) - 1, most - len(longer)).astype(np.int64)
    chosen: Ints = np.sort(np.concatenate([longer, equal[spread]]))
    return chosen


def lanes(starts: Ints, ends: Ints) -> Ints:
    """Return a lane for each window, the least that is free: windows in one lane share no event.

    >>> lanes(np.array([0, 1, 3]), np.array([2, 5, 4])).tolist()
    [0, 1, 0]
    """
    taken: list[tuple[int, int]] = []  # (last event, lane)
    free: list[int] = []
    chosen = np.zeros(len(starts), dtype=np.int64)
    for at in np.lexsort((ends, starts)).tolist():
        while taken and taken[0][0] < starts[at]:
            heapq.heappush(free, heapq.heappop(taken)[1])
        lane = heapq.heappop(free) if free else len(taken)
        chosen[at] = lane
        heapq.heappush(taken, (int(ends[at]), lane))
    return chosen
