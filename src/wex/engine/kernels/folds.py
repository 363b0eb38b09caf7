"""Folds of many ranges of items at once, whatever their length and overlap.

Ranges `low[q]` … `high[q] - 1` are not empty and come in the order of their ends, those with the
same end in the order of their beginnings. Any associative merge will do, none needs an inverse.

A range is scanned backwards, item by item, as long as the budget lasts: every new item and every
range add to it. Beyond that, ranges are answered by path compression (`range_fold`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wex.engine.arrays import Floats, Ints, empty
from wex.engine.kernels.compiled import compiled, compiled_without_refcounts, inlined
from wex.engine.kernels.types import read_only

PER_ITEM, PER_RANGE = 2, 8  # added to the budget

Value = TypeVar("Value")
Columns = tuple[NDArray[Any], ...]


def range_fold(
    load: Callable[[Any, int], Value],
    store: Callable[[Any, int, Value], None],
    merge: Callable[[Value, Value], Value],
) -> Callable[..., None]:
    """Return a function that folds ranges of items of any kind, compiled or not.

    `load` and `store` read and write the value of a place, `merge` joins the values of two
    neighbouring ranges, the earlier one first.
    """

    def fold(
        low: Any, high: Any, scan: int, items: Any, nodes: Any, after: Any, path: Any, out: Any
    ) -> None:
        """Write the value of each range to `out`; the first `scan` ranges are scanned.

        Node x stands for the items from x up to `after[x]`: one each to begin with. Following the
        nodes of a range from one to the next makes each stand for the rest of the range, so that
        later ranges take fewer steps. `path` has room for all nodes.
        """
        if len(low) == 0:
            return
        item = low[0]
        value = load(items, item)
        for q in range(scan - 1, -1, -1):
            if q + 1 == scan or high[q] != high[q + 1]:
                item = high[q] - 1
                value = load(items, item)
            while item > low[q]:
                item -= 1
                value = merge(load(items, item), value)
            store(out, q, value)
        for q in range(scan, len(low)):
            depth = 0
            node = low[q]
            while node < high[q]:
                path[depth] = node
                depth += 1
                node = after[node]
            value = load(nodes, path[depth - 1])
            for step in range(depth - 2, -1, -1):
                node = path[step]
                value = merge(load(nodes, node), value)
                store(nodes, node, value)
                after[node] = high[q]
            store(out, q, value)

    return fold


def _fold(kernel: Callable[..., None], low: Ints, high: Ints, scan: int, items: Columns) -> Columns:
    """Return the columns of all ranges, from the columns of all items."""
    out = tuple(np.empty(len(low), dtype=column.dtype) for column in items)
    size = 0
    if scan < len(low):
        first, size = int(low.min()), int(high[-1] - low.min())
        low, high = read_only(low - first), read_only(high - first)
        items = tuple(column[first : first + size] for column in items)
    nodes = tuple(column[:size].copy() for column in items)
    after, path = np.arange(1, size + 1), np.empty(size + 1, dtype=np.int64)
    kernel(low, high, scan, items, nodes, after, path, out)
    return out


# --- Which ranges to scan


class Survey(NamedTuple):
    """What there is to know of ranges before they are folded, from one pass over them."""

    filled: bool  # no range is empty
    in_order: bool  # those with the same end come in the order of their beginnings
    ascending: bool  # beginnings ascend, as ends do
    total: int  # the number of items of all ranges, those of several ranges counted several times
    scanned: int  # how many ranges the budget lets be scanned before it is used up


@compiled
def survey(low: Ints, high: Ints) -> tuple[bool, bool, bool, int, int]:
    """Return the fields of a Survey of ranges; the last one counts if no range is empty and all are in order."""
    filled = in_order = ascending = True
    total = 0
    scanned = len(low)
    budget = 0
    seen = 0
    first = 0
    for q in range(len(low)):
        size = high[q] - low[q]
        filled &= size > 0
        total += size
        begins = q == 0 or high[q] != high[q - 1]
        if q > 0:
            back = low[q] < low[q - 1]
            ascending &= not back
            in_order &= begins or not back
        budget += PER_RANGE
        if begins:
            first = q
            budget += PER_ITEM * max(high[q] - max(seen, low[q]), 0) - size
            seen = high[q]
            if budget < 0:
                scanned = min(scanned, first)
    return filled, in_order, ascending, total, scanned


# --- Sum, least and greatest


@inlined
def load_floats(columns: Columns, at: int) -> tuple[float, float, float]:
    """Return sum, least and greatest of a place."""
    return columns[0][at], columns[1][at], columns[2][at]


@inlined
def store_floats(columns: Columns, at: int, value: tuple[float, float, float]) -> None:
    """Write sum, least and greatest of a place."""
    columns[0][at], columns[1][at], columns[2][at] = value


@inlined
def merge_floats(
    one: tuple[float, float, float], two: tuple[float, float, float]
) -> tuple[float, float, float]:
    """Return sum, least and greatest of two ranges."""
    least = one[1] if one[1] < two[1] else two[1]
    most = one[2] if one[2] > two[2] else two[2]
    return one[0] + two[0], least, most


_fold_floats = compiled_without_refcounts(
    range_fold(load_floats, store_floats, merge_floats), "fold_floats"
)


def fold_floats(
    low: Ints, high: Ints, scan: int, totals: Floats, leasts: Floats, mosts: Floats
) -> Columns:
    """Return sum, least and greatest of each range; the first `scan` ranges are scanned."""
    return _fold(_fold_floats, low, high, scan, (totals, leasts, mosts))


@compiled
def _slide_floats(
    low: Ints,
    high: Ints,
    values: Floats,
    out_total: Floats,
    out_least: Floats,
    out_most: Floats,
) -> None:
    """Write sum, least and greatest of ranges whose beginnings ascend, as their ends do.

    This is the queue made of two stacks: items before the turn are folded backwards from it, items
    after it forwards. An item takes part in two merges, a range in one. The stack of items that are
    folded backwards is never longer than a range.
    """
    longest = 0
    for q in range(len(low)):
        longest = max(longest, high[q] - low[q])
    back_total = np.empty(longest, dtype=np.float64)
    back_least = np.empty(longest, dtype=np.float64)
    back_most = np.empty(longest, dtype=np.float64)
    total = least = most = 0.0
    bottom = 0  # the first item of the stack
    turn = 0  # items before it are folded backwards
    seen = 0
    for q in range(len(low)):
        begin, end = low[q], high[q]
        if begin >= turn:
            # The range becomes the stack, and nothing is left beyond it.
            bottom, turn, seen = begin, end, end
            value = values[np.uint64(turn - 1)]
            total = least = most = value
            for item in range(turn - 1, bottom - 1, -1):
                if item != turn - 1:
                    value = values[np.uint64(item)]
                    total += value
                    least = value if value < least else least
                    most = value if value > most else most
                at = np.uint64(item - bottom)
                back_total[at] = total
                back_least[at] = least
                back_most[at] = most
        while seen < end:
            value = values[np.uint64(seen)]
            if seen == turn:
                total = least = most = value
            else:
                total += value
                least = value if value < least else least
                most = value if value > most else most
            seen += 1
        at = np.uint64(begin - bottom)
        if turn == seen:
            out_total[q] = back_total[at]
            out_least[q] = back_least[at]
            out_most[q] = back_most[at]
        else:
            out_total[q] = back_total[at] + total
            out_least[q] = back_least[at] if back_least[at] < least else least
            out_most[q] = back_most[at] if back_most[at] > most else most


def slide_floats(low: Ints, high: Ints, values: Floats) -> Columns:
    """Return sum, least and greatest of ranges whose beginnings ascend, as their ends do."""
    out = (empty(len(low), np.float64), empty(len(low), np.float64), empty(len(low), np.float64))
    _slide_floats(low, high, values, *out)
    return out


def scan_floats(low: Ints, high: Ints, values: Floats) -> Columns:
    """Return sum, least and greatest of ranges that are all scanned, of items that are values."""
    out = (empty(len(low), np.float64), empty(len(low), np.float64), empty(len(low), np.float64))
    _scan_floats(low, high, values, *out)
    return out


@compiled
def _scan_floats(
    low: Ints,
    high: Ints,
    values: Floats,
    out_total: Floats,
    out_least: Floats,
    out_most: Floats,
) -> None:
    """Write sum, least and greatest of ranges that are all scanned, of items that are values.

    Four items are read at a time and do not wait for one another; in front of the range its first
    item stands for those that are missing, so that short ranges take no branch that depends on
    their length. -0.0 is the number that changes no sum.
    """
    even = odd = -0.0
    least = most = 0.0
    item = 0
    for q in range(len(low) - 1, -1, -1):
        first = low[q]
        if q + 1 == len(low) or high[q] != high[q + 1]:
            item = high[q] - 1
            even = odd = -0.0
            least = most = values[np.uint64(item)]
        while item >= first:
            a = values[np.uint64(item)]
            b = values[np.uint64(max(item - 1, first))]
            c = values[np.uint64(max(item - 2, first))]
            d = values[np.uint64(max(item - 3, first))]
            even += a + (b if item - 1 >= first else -0.0)
            odd += (c if item - 2 >= first else -0.0) + (d if item - 3 >= first else -0.0)
            low_a, high_a = (a, b) if a < b else (b, a)
            low_c, high_c = (c, d) if c < d else (d, c)
            lowest = low_a if low_a < low_c else low_c
            highest = high_a if high_a > high_c else high_c
            least = lowest if lowest < least else least
            most = highest if highest > most else most
            item -= 4
        item = first - 1
        out_total[q] = even + odd
        out_least[q] = least
        out_most[q] = most


# --- The item with the least or the greatest key


@inlined
def load_keyed(columns: Columns, at: int) -> tuple[Any, int]:
    """Return the key of a place, and the item that has it."""
    return columns[0][at], columns[1][at]


@inlined
def store_keyed(columns: Columns, at: int, value: tuple[Any, int]) -> None:
    """Write the key of a place, and the item that has it."""
    columns[0][at], columns[1][at] = value


@inlined
def lesser(one: tuple[Any, int], two: tuple[Any, int]) -> tuple[Any, int]:
    """Return the item with the lesser key, of two with the same key the first."""
    return one if one[0] <= two[0] else two


@inlined
def greater(one: tuple[Any, int], two: tuple[Any, int]) -> tuple[Any, int]:
    """Return the item with the greater key, of two with the same key the first."""
    return one if one[0] >= two[0] else two


_fold_least = compiled_without_refcounts(range_fold(load_keyed, store_keyed, lesser), "fold_least")
_fold_greatest = compiled_without_refcounts(
    range_fold(load_keyed, store_keyed, greater), "fold_greatest"
)


def fold_best(low: Ints, high: Ints, scan: int, keys: NDArray[np.generic], sign: int) -> Ints:
    """Return of each range the item with the least key, or with sign -1 the greatest.

    Of several it is the first one.
    """
    items = (keys, read_only(np.arange(len(keys))))
    _, best = _fold(_fold_least if sign > 0 else _fold_greatest, low, high, scan, items)
    return best


# --- Mean and squared distances from it

Spread = tuple[float, int, float, float]


@inlined
def load_spread(columns: Columns, at: int) -> Spread:
    """Return count, base, mean and squares of a place."""
    return columns[0][at], columns[1][at], columns[2][at], columns[3][at]


@inlined
def store_spread(columns: Columns, at: int, value: Spread) -> None:
    """Write count, base, mean and squares of a place."""
    columns[0][at], columns[1][at], columns[2][at], columns[3][at] = value


@inlined
def distance(one: int, two: int) -> float:
    """Return how far two whole numbers are apart, exactly unless 64 bits do not hold it."""
    apart = one - two
    wrapped = ((one ^ two) & (one ^ apart)) < 0
    return np.float64(one) - np.float64(two) if wrapped else np.float64(apart)


@inlined
def merge_spread(one: Spread, two: Spread) -> Spread:
    """Return count, base, mean and squares of two ranges, by the formula of Chan, Golub, LeVeque."""
    count = two[0] + one[0]
    apart = distance(one[1], two[1]) + (one[2] - two[2])
    mean = two[2] + apart * (one[0] / count)
    square = two[3] + (one[3] + apart * apart * (two[0] * one[0] / count))
    return count, two[1], mean, square


_fold_spread = compiled_without_refcounts(
    range_fold(load_spread, store_spread, merge_spread), "fold_spread"
)


def fold_spread(
    low: Ints, high: Ints, scan: int, counts: Floats, bases: Ints, means: Floats, squares: Floats
) -> Columns:
    """Return of each range count, mean, and sum of the squared distances from the mean.

    A mean is a whole number, its base, and a float beside it: large whole numbers that lie close
    together stay apart. No large squares are subtracted from one another.
    """
    return _fold(_fold_spread, low, high, scan, (counts, bases, means, squares))


# --- How many different ones


@compiled
def count_distinct(codes: Ints, different: int, low: Ints, high: Ints) -> Ints:
    """Return how many different codes each range has; codes are numbers below `different`.

    A Fenwick tree counts the last occurrence of each code so far. A range that ends here has as
    many last occurrences as it has different codes.
    """
    size = len(codes)
    tree = np.zeros(size + 1, dtype=np.int64)
    last = np.full(different, -1, dtype=np.int64)
    out = np.empty(len(low), dtype=np.int64)
    seen = 0
    for q in range(len(low)):
        while seen < high[q]:
            at = last[codes[seen]] + 1
            while 0 < at <= size:
                tree[at] -= 1
                at += at & -at
            last[codes[seen]] = seen
            at = seen + 1
            while at <= size:
                tree[at] += 1
                at += at & -at
            seen += 1
        total = 0
        at = high[q]
        while at > 0:
            total += tree[at]
            at -= at & -at
        at = low[q]
        while at > 0:
            total -= tree[at]
            at -= at & -at
        out[q] = total
    return out


@compiled
def percentiles(
    values: NDArray[np.generic], part: float, low: Ints, high: Ints
) -> tuple[NDArray[np.generic], NDArray[np.generic], NDArray[np.float64]]:
    """Return for each range the two values around a part of it, and how far it lies between them."""
    below = np.zeros(len(low), dtype=values.dtype)
    above = np.zeros(len(low), dtype=values.dtype)
    between = np.zeros(len(low))
    for q in range(len(low)):
        size = high[q] - low[q]
        if size > 0:
            ordered = np.sort(values[low[q] : high[q]])
            place = (size - 1) * part
            at = int(np.floor(place))
            below[q] = ordered[at]
            above[q] = ordered[min(at + 1, size - 1)]
            between[q] = place - at
    return below, above, between


@compiled
def commonest(codes: Ints, different: int, low: Ints, high: Ints) -> Ints:
    """Return for each range the place of its commonest code, the first of several; -1: it is empty."""
    counts = np.zeros(different, dtype=np.int64)
    places = np.full(len(low), -1, dtype=np.int64)
    for q in range(len(low)):
        most = 0
        for at in range(low[q], high[q]):
            counts[codes[at]] += 1
            most = max(most, counts[codes[at]])
        for at in range(low[q], high[q]):
            if counts[codes[at]] == most:
                places[q] = at
                break
        for at in range(low[q], high[q]):
            counts[codes[at]] = 0
    return places
