"""The states that a finite automaton is in after some events, from several states before at once.

Two runs that meet stay together, so that most automata soon have one run left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints

BROKEN = -1
MOST_ROWS = 64  # between two looks at which runs have met


@compiled
def run_states(
    codes: NDArray[Any],
    classes: Ints,
    step: NDArray[np.int32],
    live: NDArray[np.bool_],
    begin: int,
    end: int,
    judged: int,
    states: Ints,
    stops: bool,
) -> tuple[Ints, int]:
    """Return the state after the rows `begin` … `end - 1` for each state before, and the next row.

    `step` is indexed by class and state. From row `judged` on a state that is not `live` is broken,
    for good. With `stops`, the rows end where no two runs that are not broken differ.
    """
    count = len(states)
    runs = states.copy()  # the different states, the first `left` of them
    run_of = np.arange(count)
    known = np.full(step.shape[1] + 1, -1, dtype=np.int64)  # by state: its run; the last is BROKEN
    left, together, row, pause = count, False, begin, 0
    while True:
        if pause <= 1 or left > 1:
            # Runs that have met become one.
            known[:] = -1
            moved = np.empty(left, dtype=np.int64)
            unbroken = 0
            kept = 0
            for run in range(left):
                state = runs[run]
                if known[state] < 0:
                    known[state] = kept
                    runs[kept] = state
                    kept += 1
                    unbroken += state >= 0
                moved[run] = known[state]
            for at in range(count):
                run_of[at] = moved[run_of[at]]
            left = kept
            together = unbroken <= 1
        if row >= end or (stops and together):
            break
        pause = min(2 * pause, MOST_ROWS) if pause else 1
        stop = end if left == 1 else min(end, row + pause)
        for run in range(left):
            state = runs[run]
            if state >= 0:
                for x in range(row, stop):
                    state = np.int64(step[classes[codes[x]], state])
                    if x >= judged and not live[state]:
                        state = BROKEN
                        break
                runs[run] = state
        row = stop
    return runs[run_of], row
