"""Running windows of a fixed length, such as `any{50000}`: a queue of starts, one step per event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.lists import CLOCK, PANE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.kernels.buffers import Buffers
    from wex.engine.kernels.types import Segments, Sliding

DUE = CLOCK  # in the queue: the row where a window ends


@compiled
def run_sliding(
    codes: NDArray[np.uint8],
    clock: Ints,  # noqa: ARG001  (as for all kernels)
    machine: Sliding,
    streams: Segments,
    buffers: Buffers,
    last: bool,
) -> None:
    """Write the windows of a batch and the starts open after it; `last`: the streams end with it."""
    classes, prefix, born, stays = machine.classes, machine.prefix, machine.born, machine.stays
    size = machine.size
    queue, starts, ends, panes, slots = (
        buffers.births,
        buffers.starts,
        buffers.ends,
        buffers.panes,
        buffers.slots,
    )
    written = 0
    kept = 0
    for g in range(len(streams.begin)):
        begin, end, shift = streams.begin[g], streams.end[g], streams.shift[g]
        head = 0
        tail = 0
        for h in range(streams.held[g], streams.held[g + 1]):
            queue[tail, PANE] = streams.pane[h]
            queue[tail, DUE] = begin - 1 + size - streams.slot[h]
            tail += 1
        at = streams.state[g]
        for x in range(begin, end):
            cls = classes[codes[x]]
            if not stays[cls]:
                head = tail
            elif head < tail and queue[head, DUE] == x:
                starts[written] = queue[head, PANE]
                ends[written] = x
                written += 1
                head += 1
            if born[at, cls]:
                queue[tail, PANE] = x + shift
                queue[tail, DUE] = x + size
                tail += 1
            at = prefix[at, cls]
        buffers.state[g] = at
        buffers.written[g] = written
        if not last:
            for start in range(head, tail):
                panes[kept] = queue[start, PANE]
                slots[kept] = end - 1 + size - queue[start, DUE]
                kept += 1
            buffers.kept[g] = kept
