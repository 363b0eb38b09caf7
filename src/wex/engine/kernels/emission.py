"""Writing windows, into arrays that grow as they have to."""

from __future__ import annotations

import numpy as np

from wex.engine.kernels.compiled import inlined
from wex.engine.kernels.lists import AFTER, HEAD, HI, LO, NIL, PANE, Ints


@inlined
def grown(array: Ints, used: int, needed: int) -> Ints:
    """Return an array with room for what is needed, which begins with what is used."""
    result = array
    if needed > len(array):
        result = np.empty(2 * needed, dtype=np.int64)
        result[:used] = array[:used]
    return result


@inlined
def emit(
    lists: Ints, runs: Ints, births: Ints, at: int, starts: Ints, found: int
) -> tuple[Ints, int]:
    """Write the panes of all starts of a list behind the windows found so far."""
    run = lists[at, HEAD]
    low, high = lists[at, LO], lists[at, HI]
    more = True
    while more:
        more = run != NIL  # the chain first, then the youngest run
        first = runs[run, LO] if more else low
        final = runs[run, HI] if more else high
        starts = grown(starts, found, found + final - first + 1)
        for start in range(first, final + 1):
            starts[found] = births[start, PANE]
            found += 1
        if more:
            run = runs[run, AFTER]
    return starts, found


@inlined
def put_in_order(starts: Ints, begin: int, end: int) -> None:
    """Sort what several lists have written, unless it is in order as it is."""
    ordered = True
    for at in range(begin + 1, end):
        ordered &= starts[at - 1] < starts[at]
    if not ordered:
        starts[begin:end].sort()
