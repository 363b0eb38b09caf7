"""Which starts can never win, because an earlier one always does: for `keep longest` and `keep disjoint`.

Of windows that end together the one with the earliest start is kept. So a later start is *dominated* by an
earlier one if each of its ends is an end of the earlier one, too. Under `keep disjoint` it is enough if the
earlier one ends with it or before: the window that is kept then removes both.

A dominated start never has a window, whatever becomes of the earlier one. Under `keep longest` no start is
removed for a window. Under `keep disjoint` a window removes all starts before its end, and with the earlier
start the later one. And the earlier start may itself be dropped for a still earlier one that
dominates it: domination is transitive, and it stays as both starts go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

MOST_STATES = 64  # of an automaton: all pairs of them are compared


def dominance(
    moves: ArrayLike,
    final: ArrayLike,
    until: Sequence[bool] | NDArray[np.bool_] | None,
    *,
    or_end: bool,
    cuts: bool,
) -> NDArray[np.bool_] | None:
    """Tell which states of an earlier start (rows) dominate which ones of a later start (columns).

    `moves` is by state and class, with -1 for no state; `until` tells by class whether an event confirms
    the windows that end before it. With `cuts` a window removes all starts. None if there are too many states.

    In `[a] any* [b]`, a start that has read its first event ends with every b; in `[c] [b]` with the next event:

    >>> moves = [[1, -1, 2], [1, 3, 1], [-1, 4, -1], [1, 3, 1], [-1, -1, -1]]
    >>> found = dominance(moves, [False, False, False, True, True], None, or_end=False, cuts=False)
    >>> bool(found[1, 2]), bool(found[2, 1])
    (True, False)
    """
    table = np.asarray(moves, dtype=np.int64)
    states, classes = table.shape
    if states > MOST_STATES:
        return None
    # One more state: that of a start that is gone. It dominates nothing, and is always dominated.
    table = np.vstack([np.where(table < 0, states, table), np.full(classes, states)])
    ends = np.append(np.asarray(final, dtype=np.bool_), False)
    earlier, later = ends[:, np.newaxis], ends[np.newaxis, :]

    def decided(wins: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which pairs are dominated if windows end in their states now."""
        together: NDArray[np.bool_] = wins & (earlier | ~later)
        return together | earlier if cuts else together

    wins = np.ones((states + 1, states + 1), dtype=np.bool_)
    wins[states, :states] = False
    if until is not None and or_end:
        wins &= earlier | ~later
    while True:
        before = wins
        for cls in range(classes):
            to = np.ix_(table[:, cls], table[:, cls])
            if until is None:
                wins = wins & decided(wins)[to]
            else:
                wins = wins & (decided(wins[to]) if until[cls] else wins[to])
        if (wins == before).all():
            return wins[:states, :states]
