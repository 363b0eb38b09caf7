"""The fastest way to run a window: no list ever has two starts, so that a slot is a register.

One pass without branches notes the pairs of events that do anything. A second one does the same
for each of them, again without branches: it puts the row into a register (one that nobody reads,
if no start is born), and writes a window (over the last one, if none ends there).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.lists import too_old
from wex.engine.kernels.shapes import Clauses, Ints, Ran, Registers, Segments

if TYPE_CHECKING:
    from numpy.typing import NDArray

SLOTS = 31
NO_SLOT = 31  # the register that nobody reads
ENDING = 1 << 10  # in an operation: the slot of a birth, the slot of a window, and whether one ends
IDLE = NO_SLOT | NO_SLOT << 5
BLOCK = 4096


@compiled
def run_registers(
    codes: NDArray[np.uint8],
    clock: Ints,
    machine: Registers,
    clauses: Clauses,
    streams: Segments,
    room: tuple[Ints, Ints],
    last: bool,
) -> Ran:
    """Return the windows of a batch and what is held after it; `last`: the streams end with it.

    `room` is where windows are written: one for each row, one for each slot that may be final at
    the end of a stream, and one.
    """
    starts, ends = room
    count = len(streams.begin)
    all_begin, all_end, all_shift = streams.begin, streams.end, streams.shift
    held_from, held_pane, held_slot = streams.held, streams.pane, streams.slot
    classes, step, op = machine.classes, machine.step, machine.op
    pair_step, pair_op, bits = machine.pair_step, machine.pair_op, np.uint64(machine.bits)
    until, limit = clauses.until, clauses.limit
    registers = np.zeros(SLOTS + 1, dtype=np.int64)
    clocks = np.zeros(SLOTS + 1, dtype=np.int64)
    acting = np.empty(BLOCK // 2 + 1, dtype=np.uint64)
    doing = np.empty(BLOCK // 2 + 1, dtype=np.uint32)
    idle = np.uint32(IDLE | IDLE << 16)
    found_in = np.empty(count, dtype=np.int64)
    held = 0 if last else count * SLOTS
    panes = np.empty(held, dtype=np.int64)
    slots = np.empty(held, dtype=np.int64)
    kept_in = np.zeros(count, dtype=np.int64)
    states = np.empty(count, dtype=np.int64)
    found = 0
    kept = 0
    for g in range(count):
        end, shift = np.uint64(all_end[g]), all_shift[g]
        for h in range(held_from[g], held_from[g + 1]):
            registers[held_slot[h]] = held_pane[h]
            if limit >= 0:
                clocks[held_slot[h]] = streams.clock[h]
        config = np.uint64(streams.state[g])
        row = np.uint64(all_begin[g])
        while row < end:
            stop = min(end, row + np.uint64(BLOCK))
            noted = np.uint64(0)
            while row + np.uint64(1) < stop:
                word = np.uint64(classes[codes[row]])
                word |= np.uint64(classes[codes[row + np.uint64(1)]]) << bits
                done = pair_op[word, config]
                config = np.uint64(pair_step[word, config])
                acting[noted] = row
                doing[noted] = done
                noted += np.uint64(done != idle)
                row += np.uint64(2)
            if row < stop:
                word = np.uint64(classes[codes[row]])
                acting[noted] = row
                doing[noted] = np.uint32(op[word, config]) | np.uint32(IDLE << 16)
                config = np.uint64(step[word, config])
                noted += np.uint64(1)
                row += np.uint64(1)
            for at in range(noted):
                x = np.int64(acting[at])
                both = np.uint64(doing[at])
                for _ in range(2):
                    slot = (both >> np.uint64(5)) & np.uint64(31)
                    birth = both & np.uint64(31)
                    ending = np.int64((both >> np.uint64(10)) & np.uint64(1))
                    before, then = registers[slot], clocks[slot]
                    registers[birth] = x + shift
                    if limit >= 0:
                        clocks[birth] = clock[x]
                        then = then if until else clocks[slot]
                        ending &= not too_old(then, clock[x - until], limit)
                    starts[found] = before if until else registers[slot]
                    ends[found] = x - until
                    found += ending
                    both >>= np.uint64(16)
                    x += 1
        states[g] = np.int64(config)
        occupied, final = machine.occupied[config], machine.final[config]
        if last and clauses.or_end and final:
            at_end = found
            for slot in range(SLOTS):
                fresh = limit < 0 or not too_old(clocks[slot], clock[end - np.uint64(1)], limit)
                if (final >> slot) & 1 and fresh:
                    starts[found] = registers[slot]
                    ends[found] = np.int64(end) - 1
                    found += 1
            starts[at_end:found].sort()
            if clauses.oldest and found > at_end:
                found = at_end + 1
        elif not last and occupied:
            first = kept
            for slot in range(SLOTS):
                if (occupied >> slot) & 1:
                    at = kept  # insertion keeps the panes in order
                    while at > first and panes[at - 1] > registers[slot]:
                        panes[at] = panes[at - 1]
                        slots[at] = slots[at - 1]
                        at -= 1
                    panes[at] = registers[slot]
                    slots[at] = slot
                    kept += 1
        found_in[g] = found
        kept_in[g] = kept
    return Ran(starts[:found], ends[:found], found_in, panes[:kept], slots[:kept], kept_in, states)
