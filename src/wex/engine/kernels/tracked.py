"""Running windows with aggregates in their predicates: each start by itself, with registers.

Two starts in one state may part, because their aggregates differ. So a start is followed from its
first event to its end, and the events of a stream are read once for each start that is open there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.kernels.compiled import Kernel, compiled_without_refcounts, inlined
from wex.engine.kernels.lists import too_old

if TYPE_CHECKING:
    from wex.engine.arrays import Bools, Ints

# The entry of a move has the next state and these flags: a window ends before the event, or with
# it, and the start goes on.
ENDS_BEFORE, ENDS_HERE, GOES_ON = 1, 2, 4
FLAG_BITS = 3


@inlined
def reported(
    starts: Ints, ends: Ints, written: int, taken: Bools, oldest: bool, pane: int, row: int
) -> int:
    """Return how many windows there are with the one to a row; those beyond the room are not written.

    Starts are followed in their order, so under `keep longest` the first one takes an end.
    """
    if oldest:
        if taken[row]:
            return written
        taken[row] = True
    if written < len(starts):
        starts[written] = pane
        ends[written] = row
    return written + 1


def tracked_kernel(step: Any, load: Any, store: Any, digest: str) -> Kernel:
    """Return the kernel for the functions of a program."""
    # Compiled code need not test whether an unsigned row counts from the end of an array: that saves
    # a third of the time. As Python, such numbers are slow.
    unsigned = np.uint64 if isinstance(step, Kernel) else int

    def run(  # type: ignore[no-untyped-def]
        codes, clock, tables, clauses, streams, columns, initial, ints, reals, buffers, taken,
        kept_ints, kept_reals, last,
    ):  # fmt: skip
        """Write the windows of a batch and the starts open after it; False: there is no room."""
        limit, once, oldest = clauses.limit, clauses.ends_after_first, clauses.oldest_wins
        classes, moves, quiet = tables.classes, tables.moves, tables.quiet
        starts, ends = buffers.starts, buffers.ends
        written = 0
        kept = 0
        for g in range(len(streams.begin)):
            begin, end, shift = streams.begin[g], streams.end[g], streams.shift[g]
            at = streams.state[g]
            held = streams.held[g]
            row = begin
            while True:
                # The next start: first those that are held, then those that begin in the batch.
                if held < streams.held[g + 1]:
                    pane, first, slot = streams.pane[held], begin, streams.slot[held]
                    since = streams.clock[held]
                    registers = load(ints, reals, held)
                    held += 1
                else:
                    while row < end and tables.entry[at] < 0:
                        at = tables.prefix[at, classes[codes[row], 0]]
                        row += 1
                    if row >= end:
                        break
                    pane, first, slot = row + shift, row, tables.entry[at]
                    since = clock[row] if limit >= 0 else 0
                    registers = initial
                    at = tables.prefix[at, classes[codes[row], 0]]
                    row += 1
                alive = True
                at_row, stop = unsigned(first), unsigned(end)
                while at_row < stop:
                    # Most events lead back to the same state: this loop has nothing else to do.
                    own = 0
                    stays = quiet[slot]
                    while at_row < stop:
                        registers, own = step(at_row, registers, columns)
                        if not stays[codes[at_row]] >> unsigned(own & 63) & unsigned(1) or (
                            limit >= 0 and too_old(since, clock[at_row], limit)
                        ):
                            break
                        at_row += unsigned(1)
                    if at_row >= stop:
                        break
                    x = int(at_row)
                    at_row += unsigned(1)
                    after = moves[slot, classes[codes[x], own]]
                    if after & ENDS_BEFORE and (
                        limit < 0 or not too_old(since, clock[x - 1], limit)
                    ):
                        written = reported(starts, ends, written, taken, oldest, pane, x - 1)
                        alive = not once
                    if not alive or (limit >= 0 and too_old(since, clock[x], limit)):
                        alive = False
                        break
                    slot = after >> FLAG_BITS
                    if after & ENDS_HERE:
                        written = reported(starts, ends, written, taken, oldest, pane, x)
                        alive = not once
                    if not alive or not after & GOES_ON:
                        alive = False
                        break
                if alive and not last:
                    buffers.panes[kept] = pane
                    buffers.slots[kept] = slot
                    store(kept_ints, kept_reals, kept, registers)
                    kept += 1
                elif alive and clauses.or_end and tables.final[slot]:  # noqa: SIM102
                    if limit < 0 or not too_old(since, clock[end - 1], limit):
                        written = reported(starts, ends, written, taken, oldest, pane, end - 1)
                if written > len(starts):
                    return False
            buffers.state[g] = at
            buffers.written[g] = written
            if not last:
                buffers.kept[g] = kept
        return True

    run.__name__ = run.__qualname__ = f"run_tracked_{digest}"
    return compiled_without_refcounts(run)  # type: ignore[return-value]
