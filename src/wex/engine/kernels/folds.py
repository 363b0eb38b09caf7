"""Folding many ranges of items at once, whatever their length and overlap.

Ranges `low[q]` … `high[q] - 1` are not empty and come in the order of their ends, those with the
same end in the order of their beginnings. One kernel for each kind of value; any associative merge
will do, none needs an inverse.

A range is scanned backwards, item by item, as long as the budget lasts: every new item and every
range pay a little into it. Beyond that, ranges are answered by path compression: node x stands for
the items from x up to `after[x]`, and asking a long way shortens it for the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.types import Ints

    Floats = NDArray[np.float64]

PER_ITEM, PER_RANGE = 2, 8  # what is paid into the budget


@compiled
def scanned(low: Ints, high: Ints) -> int:
    """Return how many ranges the budget lets be scanned before it is used up for the first time.

    Ranges `low[q]` … `high[q] - 1` are not empty and come in the order of their ends, those with
    the same end in the order of their beginnings.
    """
    budget = 0
    seen = 0
    first = 0
    for q in range(len(low)):
        if q > first and high[q] != high[first]:
            first = q
        budget += PER_RANGE
        if q == first:
            budget += PER_ITEM * max(high[q] - max(seen, low[q]), 0) - (high[q] - low[q])
            seen = high[q]
            if budget < 0:
                return first
    return len(low)


@compiled
def fold_floats(
    low: Ints, high: Ints, scan: int, totals: Floats, leasts: Floats, mosts: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return sum, least and greatest of each range; the first `scan` ones are scanned."""
    out_total = np.empty(len(low), dtype=np.float64)
    out_least = np.empty(len(low), dtype=np.float64)
    out_most = np.empty(len(low), dtype=np.float64)
    total = least = most = 0.0
    item = 0
    for q in range(scan - 1, -1, -1):
        if q + 1 == scan or high[q] != high[q + 1]:
            item = high[q] - 1
            total, least, most = totals[item], leasts[item], mosts[item]
        while item > low[q]:
            item -= 1
            total = totals[item] + total
            least = leasts[item] if leasts[item] < least else least
            most = mosts[item] if mosts[item] > most else most
        out_total[q] = total
        out_least[q] = least
        out_most[q] = most
    if scan == len(low):
        return out_total, out_least, out_most
    node_total, node_least, node_most = totals.copy(), leasts.copy(), mosts.copy()
    after = np.arange(1, len(totals) + 1)
    path = np.empty(len(totals) + 1, dtype=np.int64)
    for q in range(scan, len(low)):
        depth = 0
        node = low[q]
        while node < high[q]:
            path[depth] = node
            depth += 1
            node = after[node]
        node = path[depth - 1]
        total, least, most = node_total[node], node_least[node], node_most[node]
        for at in range(depth - 2, -1, -1):
            node = path[at]
            total += node_total[node]
            least = node_least[node] if node_least[node] < least else least
            most = node_most[node] if node_most[node] > most else most
            node_total[node] = total
            node_least[node] = least
            node_most[node] = most
            after[node] = high[q]
        out_total[q] = total
        out_least[q] = least
        out_most[q] = most
    return out_total, out_least, out_most


@compiled
def slide_floats(low: Ints, high: Ints, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what `fold_floats` returns, for ranges whose beginnings ascend, too.

    Two stacks: what was in sight when the last turn was made is folded from there backwards, what
    has come since then forwards. Each item takes part in two merges, each range in one.
    """
    out_total = np.empty(len(low), dtype=np.float64)
    out_least = np.empty(len(low), dtype=np.float64)
    out_most = np.empty(len(low), dtype=np.float64)
    back_total = np.empty(len(values), dtype=np.float64)
    back_least = np.empty(len(values), dtype=np.float64)
    back_most = np.empty(len(values), dtype=np.float64)
    total = least = most = 0.0
    turn = 0  # items before it are folded backwards
    seen = 0
    for q in range(len(low)):
        while seen < high[q]:
            value = values[seen]
            if seen == turn:
                total = least = most = value
            else:
                total += value
                least = value if value < least else least
                most = value if value > most else most
            seen += 1
        if low[q] >= turn:
            turn = seen
            value = values[turn - 1]
            total = least = most = value
            back_total[turn - 1] = back_least[turn - 1] = back_most[turn - 1] = value
            for item in range(turn - 2, low[q] - 1, -1):
                value = values[item]
                total += value
                least = value if value < least else least
                most = value if value > most else most
                back_total[item] = total
                back_least[item] = least
                back_most[item] = most
        at = low[q]
        if turn == seen:
            out_total[q] = back_total[at]
            out_least[q] = back_least[at]
            out_most[q] = back_most[at]
        else:
            out_total[q] = back_total[at] + total
            out_least[q] = back_least[at] if back_least[at] < least else least
            out_most[q] = back_most[at] if back_most[at] > most else most
    return out_total, out_least, out_most


@compiled
def scan_floats(low: Ints, high: Ints, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Return what `fold_floats` returns, for ranges that are all scanned and items as they came."""
    out_total = np.empty(len(low), dtype=np.float64)
    out_least = np.empty(len(low), dtype=np.float64)
    out_most = np.empty(len(low), dtype=np.float64)
    total = least = most = 0.0
    item = 0
    for q in range(len(low) - 1, -1, -1):
        if q + 1 == len(low) or high[q] != high[q + 1]:
            item = high[q] - 1
            total = least = most = values[item]
        while item - 4 >= low[q]:  # four at a time: they do not wait for one another
            a, b, c, d = values[item - 1], values[item - 2], values[item - 3], values[item - 4]
            total += (a + b) + (c + d)
            low_a, high_a = (a, b) if a < b else (b, a)
            low_c, high_c = (c, d) if c < d else (d, c)
            lowest = low_a if low_a < low_c else low_c
            highest = high_a if high_a > high_c else high_c
            least = lowest if lowest < least else least
            most = highest if highest > most else most
            item -= 4
        while item > low[q]:
            item -= 1
            value = values[item]
            total += value
            least = value if value < least else least
            most = value if value > most else most
        out_total[q] = total
        out_least[q] = least
        out_most[q] = most
    return out_total, out_least, out_most


@compiled
def fold_best(low: Ints, high: Ints, scan: int, keys: NDArray[np.generic], sign: int) -> Ints:
    """Return of each range the item with the least key, or with sign -1 the greatest.

    Of several it is the first one.
    """
    out = np.empty(len(low), dtype=np.int64)
    item = best = 0
    for q in range(scan - 1, -1, -1):
        if q + 1 == scan or high[q] != high[q + 1]:
            best = item = high[q] - 1
        while item > low[q]:
            item -= 1
            if sign > 0:
                best = item if keys[item] <= keys[best] else best
            else:
                best = item if keys[item] >= keys[best] else best
        out[q] = best
    if scan == len(low):
        return out
    node_best = np.arange(len(keys))
    after = np.arange(1, len(keys) + 1)
    path = np.empty(len(keys) + 1, dtype=np.int64)
    for q in range(scan, len(low)):
        depth = 0
        node = low[q]
        while node < high[q]:
            path[depth] = node
            depth += 1
            node = after[node]
        best = node_best[path[depth - 1]]
        for at in range(depth - 2, -1, -1):
            node = path[at]
            mine = node_best[node]
            if sign > 0:
                best = mine if keys[mine] <= keys[best] else best
            else:
                best = mine if keys[mine] >= keys[best] else best
            node_best[node] = best
            after[node] = high[q]
        out[q] = best
    return out


@inlined
def distance(one: int, two: int) -> float:
    """Return how far two whole numbers are apart, exactly unless 64 bits do not hold it."""
    apart = one - two
    wrapped = ((one ^ two) & (one ^ apart)) < 0
    return np.float64(one) - np.float64(two) if wrapped else np.float64(apart)


@compiled
def fold_spread(
    low: Ints,
    high: Ints,
    scan: int,
    counts: Floats,
    bases: Ints,
    means: Floats,
    squares: Floats,
) -> tuple[Floats, Ints, Floats, Floats]:
    """Return of each range count, mean, and sum of the squared distances from the mean.

    A mean is a whole number, its base, and a float beside it: large whole numbers that lie close
    together stay apart. Parts are merged by the formula of Chan, Golub and LeVeque: no large
    squares are subtracted.
    """
    out_count = np.empty(len(low), dtype=np.float64)
    out_base = np.empty(len(low), dtype=np.int64)
    out_mean = np.empty(len(low), dtype=np.float64)
    out_square = np.empty(len(low), dtype=np.float64)
    count = mean = square = 0.0
    base = item = 0
    for q in range(scan - 1, -1, -1):
        if q + 1 == scan or high[q] != high[q + 1]:
            item = high[q] - 1
            count, base, mean, square = counts[item], bases[item], means[item], squares[item]
        while item > low[q]:
            item -= 1
            more, apart = counts[item], distance(bases[item], base) + (means[item] - mean)
            whole = count + more
            square += squares[item] + apart * apart * (count * more / whole)
            mean += apart * (more / whole)
            count = whole
        out_count[q] = count
        out_base[q] = base
        out_mean[q] = mean
        out_square[q] = square
    if scan == len(low):
        return out_count, out_base, out_mean, out_square
    node_count, node_base = counts.copy(), bases.copy()
    node_mean, node_square = means.copy(), squares.copy()
    after = np.arange(1, len(counts) + 1)
    path = np.empty(len(counts) + 1, dtype=np.int64)
    for q in range(scan, len(low)):
        depth = 0
        node = low[q]
        while node < high[q]:
            path[depth] = node
            depth += 1
            node = after[node]
        node = path[depth - 1]
        count, base = node_count[node], node_base[node]
        mean, square = node_mean[node], node_square[node]
        for at in range(depth - 2, -1, -1):
            node = path[at]
            more, apart = (
                node_count[node],
                distance(node_base[node], base) + (node_mean[node] - mean),
            )
            whole = count + more
            square += node_square[node] + apart * apart * (count * more / whole)
            mean += apart * (more / whole)
            count = whole
            node_count[node] = count
            node_base[node] = base
            node_mean[node] = mean
            node_square[node] = square
            after[node] = high[q]
        out_count[q] = count
        out_base[q] = base
        out_mean[q] = mean
        out_square[q] = square
    return out_count, out_base, out_mean, out_square


@compiled
def count_distinct(codes: Ints, different: int, low: Ints, high: Ints) -> Ints:
    """Return how many different codes each range has; codes are numbers below `different`.

    A tree of partial sums counts the last occurrence of each code so far: within a range that
    ends here, those are as many as there are different ones.
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
