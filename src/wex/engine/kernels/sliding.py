"""Running windows of a fixed length, such as `any{50000}`: a queue of starts, one step per event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.lists import CLOCK, PANE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wex.engine.kernels.buffers import Buffers
    from wex.engine.kernels.types import Ints, Segments, Sliding

DUE = CLOCK  # in the queue: the row where a window ends


@compiled
def run_sliding(
    codes: NDArray[np.uint8],
    clock: Ints,  # noqa: ARG001  (as for all kernels)
    machine: Sliding,
    streams: Segments,
    lent: Buffers,
    last: bool,
) -> None:
    """Write the windows of a batch and what is held after it; `last`: the streams end with it."""
    all_begin, all_end, all_shift = streams.begin, streams.end, streams.shift
    held_from, held_pane, held_slot = streams.held, streams.pane, streams.slot
    all_state = streams.state
    classes, prefix, born, stays = machine.classes, machine.prefix, machine.born, machine.stays
    size = machine.size
    queue, starts, ends, found_in = lent.births, lent.starts, lent.ends, lent.found
    panes, slots, kept_in, states = lent.panes, lent.slots, lent.kept, lent.state
    found = 0
    kept = 0
    for g in range(len(all_begin)):
        begin, end, shift = all_begin[g], all_end[g], all_shift[g]
        head = 0
        tail = 0
        for h in range(held_from[g], held_from[g + 1]):
            queue[tail, PANE] = held_pane[h]
            queue[tail, DUE] = begin - 1 + size - held_slot[h]
            tail += 1
        at = all_state[g]
        for x in range(begin, end):
            letter = classes[codes[x]]
            if not stays[letter]:
                head = tail
            elif head < tail and queue[head, DUE] == x:
                starts[found] = queue[head, PANE]
                ends[found] = x
                found += 1
                head += 1
            if born[at, letter]:
                queue[tail, PANE] = x + shift
                queue[tail, DUE] = x + size
                tail += 1
            at = prefix[at, letter]
        states[g] = at
        found_in[g] = found
        if not last:
            for each in range(head, tail):
                panes[kept] = queue[each, PANE]
                slots[kept] = end - 1 + size - queue[each, DUE]
                kept += 1
            kept_in[g] = kept
