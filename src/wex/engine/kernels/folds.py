"""Folding many ranges of items at once, whatever their length and overlap.

Ranges come in the order of their ends, so that items arrive as in a stream. Which items are
merged when does not depend on what they are: it is written on a *tape* once, and one small kernel
for each kind of value plays it. Any associative merge will do, none needs an inverse.

A range is scanned backwards, item by item, as long as the budget lasts: every new item and every
range pay a little into it. Beyond that, ranges are answered by path compression: node x stands
for the items from x up to `after[x]`, and asking a long way shortens it for the next time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.emission import grown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.shapes import Ints

    Floats = NDArray[np.float64]

SCAN = -1  # scan the ranges from the first number to the second
TAKE = -2  # the range of the first number is the node of the second
PER_ITEM, PER_RANGE = 2, 8  # what is paid into the budget


@compiled
def write_tape(low: Ints, high: Ints, items: int) -> Ints:
    """Return a tape for ranges `low[q]` … `high[q] - 1`, none empty, in the order of their ends.

    Its entries are triples: SCAN or TAKE and two numbers, or a node, the one behind it that is
    merged into it, and 0.
    """
    tape = np.empty(3 * 1024, dtype=np.int64)
    size = 0
    after = np.empty(0, dtype=np.int64)
    path = np.empty(16, dtype=np.int64)
    budget = 0
    seen = 0
    first = 0
    while first < len(low):
        end = high[first]
        begin = low[first]
        last = first
        while last + 1 < len(low) and high[last + 1] == end:
            last += 1
            begin = min(begin, low[last])
        budget += PER_ITEM * (end - max(seen, begin) if end > seen else 0)
        budget += PER_RANGE * (last - first + 1)
        seen = max(seen, end)
        if end - begin <= budget:
            budget -= end - begin
            tape = grown(tape, size, size + 3)
            tape[size] = SCAN
            tape[size + 1] = first
            tape[size + 2] = last
            size += 3
        else:
            if len(after) == 0:
                after = np.arange(1, items + 1)
            for q in range(first, last + 1):
                depth = 0
                node = low[q]
                while node < end:
                    path = grown(path, depth, depth + 1)
                    path[depth] = node
                    depth += 1
                    node = after[node]
                tape = grown(tape, size, size + 3 * depth)
                for at in range(depth - 2, -1, -1):
                    tape[size] = path[at]
                    tape[size + 1] = path[at + 1]
                    tape[size + 2] = 0
                    after[path[at]] = end
                    size += 3
                tape[size] = TAKE
                tape[size + 1] = q
                tape[size + 2] = low[q]
                size += 3
        first = last + 1
    return tape[:size]


@compiled
def merges(tape: Ints) -> bool:
    """Tell whether a tape merges nodes: then items are changed while it is played."""
    found = False
    for at in range(0, len(tape), 3):
        found |= tape[at] >= 0
    return found


@compiled
def fold_floats(
    tape: Ints, low: Ints, high: Ints, totals: Floats, leasts: Floats, mosts: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return sum, least and greatest of each range of floats; the three cost what one does."""
    out_total = np.empty(len(low), dtype=np.float64)
    out_least = np.empty(len(low), dtype=np.float64)
    out_most = np.empty(len(low), dtype=np.float64)
    node_total, node_least, node_most = totals, leasts, mosts
    if merges(tape):
        node_total, node_least, node_most = totals.copy(), leasts.copy(), mosts.copy()
    for at in range(0, len(tape), 3):
        kind, one, two = tape[at], tape[at + 1], tape[at + 2]
        if kind == SCAN:
            item = high[two] - 1
            total, least, most = totals[item], leasts[item], mosts[item]
            for q in range(two, one - 1, -1):
                while item > low[q]:
                    item -= 1
                    total = totals[item] + total
                    least = min(leasts[item], least)
                    most = max(mosts[item], most)
                out_total[q] = total
                out_least[q] = least
                out_most[q] = most
        elif kind == TAKE:
            out_total[one] = node_total[two]
            out_least[one] = node_least[two]
            out_most[one] = node_most[two]
        else:
            node_total[kind] += node_total[one]
            node_least[kind] = min(node_least[kind], node_least[one])
            node_most[kind] = max(node_most[kind], node_most[one])
    return out_total, out_least, out_most


@compiled
def fold_best(tape: Ints, low: Ints, high: Ints, keys: NDArray[np.generic], sign: int) -> Ints:
    """Return of each range the item with the least key, or with sign -1 the greatest.

    Of several it is the first one.
    """
    out = np.empty(len(low), dtype=np.int64)
    node = np.arange(len(keys) if merges(tape) else 0)
    for at in range(0, len(tape), 3):
        kind, one, two = tape[at], tape[at + 1], tape[at + 2]
        if kind == SCAN:
            item = high[two] - 1
            best = item
            for q in range(two, one - 1, -1):
                while item > low[q]:
                    item -= 1
                    if sign > 0:
                        best = item if keys[item] <= keys[best] else best
                    else:
                        best = item if keys[item] >= keys[best] else best
                out[q] = best
        elif kind == TAKE:
            out[one] = node[two]
        else:
            mine, other = keys[node[kind]], keys[node[one]]
            if (sign > 0 and other < mine) or (sign < 0 and other > mine):
                node[kind] = node[one]
    return out


@compiled
def fold_spread(
    tape: Ints, low: Ints, high: Ints, counts: Floats, means: Floats, squares: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return of each range count, mean, and sum of the squared distances from the mean.

    Parts are merged by the formula of Chan, Golub and LeVeque: no large squares are subtracted.
    """
    out_count = np.empty(len(low), dtype=np.float64)
    out_mean = np.empty(len(low), dtype=np.float64)
    out_square = np.empty(len(low), dtype=np.float64)
    node_count, node_mean, node_square = counts, means, squares
    if merges(tape):
        node_count, node_mean, node_square = counts.copy(), means.copy(), squares.copy()
    for at in range(0, len(tape), 3):
        kind, one, two = tape[at], tape[at + 1], tape[at + 2]
        if kind == SCAN:
            item = high[two] - 1
            count, mean, square = counts[item], means[item], squares[item]
            for q in range(two, one - 1, -1):
                while item > low[q]:
                    item -= 1
                    more = counts[item]
                    apart = means[item] - mean
                    whole = count + more
                    square += squares[item] + apart * apart * (count * more / whole)
                    mean += apart * (more / whole)
                    count = whole
                out_count[q] = count
                out_mean[q] = mean
                out_square[q] = square
        elif kind == TAKE:
            out_count[one] = node_count[two]
            out_mean[one] = node_mean[two]
            out_square[one] = node_square[two]
        else:
            more = node_count[one]
            apart = node_mean[one] - node_mean[kind]
            whole = node_count[kind] + more
            node_square[kind] += node_square[one] + apart * apart * (
                node_count[kind] * more / whole
            )
            node_mean[kind] += apart * (more / whole)
            node_count[kind] = whole
    return out_count, out_mean, out_square


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
