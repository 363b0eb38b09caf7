"""The fastest way to run a window: no list ever has two starts, so that a slot is a register.

One pass without branches notes the events that act, four at a time where the table for that is
small. A second pass, again without branches, puts the row of each into a register (one that is
never read, if no start is born), and writes a window (which the next one overwrites, if none ends).
Of four events seldom more than two act: the table has those that act first, and two are performed.
Where several windows were traced side by side (`lanes`), the events that act are known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.arrays import Ints
from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.lanes import NOTE_BITS
from wex.engine.kernels.lists import too_old
from wex.engine.kernels.types import KernelClauses, Registers, Segments, Trace

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.buffers import Buffers

SLOTS = 31
NO_SLOT = 31  # the register that is never read
ENDING = 1 << 10  # in an operation: the slot of a birth, the slot of a window, and whether one ends
PLACE = 11  # above that: which of four events it is
IDLE = NO_SLOT | NO_SLOT << 5
ONE_OP = (1 << 16) - 1
IDLE_PAIR = IDLE | IDLE << 16
IDLE_QUAD = IDLE_PAIR | IDLE_PAIR << 32
BLOCK = 4096


@compiled
def run_registers(
    codes: NDArray[np.uint8],
    clock: Ints,
    machine: Registers,
    clauses: KernelClauses,
    streams: Segments,
    trace: Trace,
    buffers: Buffers,
    last: bool,
    at_ends: bool,
) -> None:
    """Write the windows of a batch and the starts open after it; `last`: the streams end with it.

    Registers are read when a stream ends, if `at_ends` is true. If not, events of several streams
    act together: then no start is held before, and panes are rows. There has to be room for a
    window for each row, one for each slot that may be final at the end of a stream, and one more.
    """
    starts, ends, panes, slots = buffers.starts, buffers.ends, buffers.panes, buffers.slots
    held_from, held_slot = streams.held, streams.slot
    classes, step, op = machine.classes, machine.step, machine.op
    quad_step, quad_op, quads = machine.quad_step, machine.quad_op, len(machine.quad_op) > 0
    bits, shift_bits = np.uint64(machine.bits), np.uint64(machine.config_bits)
    until, limit = clauses.until, clauses.limit
    registers = np.zeros(SLOTS + 1, dtype=np.int64)
    clocks = np.zeros(SLOTS + 1, dtype=np.int64)
    acting = np.empty(2 * BLOCK + 1, dtype=np.uint64)
    doing = np.empty(2 * BLOCK + 1, dtype=np.uint64)
    idle = np.uint64(IDLE_QUAD)
    later = np.uint64(IDLE_QUAD ^ IDLE)  # beside one event, three that do nothing
    idle_pair = np.uint64(IDLE_PAIR)
    at_once = 2 if quads else 1
    noted = np.uint64(0)
    much = np.uint64(BLOCK)
    notes, ops_at, traced = trace.notes, trace.ops, len(trace.up_to) > 0
    note_bits, place = np.uint64(NOTE_BITS), np.uint64((1 << NOTE_BITS) - 1)
    taken = 0  # of the notes
    expired = np.uint32(0)
    count = len(streams.begin)
    written = 0
    kept = 0
    g, begun = 0, False  # the stream that is traced, and whether some of its events are
    row = end = config = np.uint64(0)
    shift = 0
    while g < count or noted > 0:
        if at_ends and not begun:
            shift = streams.shift[g]
            for h in range(held_from[g], held_from[g + 1]):
                registers[held_slot[h]] = streams.pane[h]
                if limit >= 0:
                    clocks[held_slot[h]] = streams.clock[h]
            if limit >= 0:
                # Starts that had outlived the limit are no longer held, though their slots are in use.
                expired = machine.occupied[streams.state[g]]
                for h in range(held_from[g], held_from[g + 1]):
                    expired &= ~(np.uint32(1) << np.uint32(held_slot[h]))
        # Short streams are traced one after the other, until there is much to do.
        ended = False
        while traced and g < count and noted <= much and not ended:
            up_to = min(trace.up_to[g], taken + BLOCK)
            for n in range(taken, up_to):
                acting[noted] = notes[n] >> note_bits
                doing[noted] = ops_at[notes[n] & place]
                noted += np.uint64(1)
            taken = up_to
            begun = taken < trace.up_to[g]
            if not begun:
                config, end = np.uint64(trace.after[g]), np.uint64(streams.end[g])
                g, ended = g + 1, at_ends
        while not traced and g < count and noted <= much and not ended:
            if not begun:
                row, end = np.uint64(streams.begin[g]), np.uint64(streams.end[g])
                config = np.uint64(streams.state[g])
            stop = min(end, row + much)
            while quads and row + np.uint64(3) < stop:
                word = np.uint64(classes[codes[row]])
                word |= np.uint64(classes[codes[row + np.uint64(1)]]) << bits
                word |= np.uint64(classes[codes[row + np.uint64(2)]]) << (bits + bits)
                word |= np.uint64(classes[codes[row + np.uint64(3)]]) << (bits + bits + bits)
                at = (word << shift_bits) + config
                done = quad_op[at]
                config = np.uint64(quad_step[at])
                acting[noted] = row
                doing[noted] = done
                noted += np.uint64(done != idle)
                row += np.uint64(4)
            while row < stop:
                at = (np.uint64(classes[codes[row]]) << shift_bits) + config
                done = np.uint64(op[at]) | later
                config = np.uint64(step[at])
                acting[noted] = row
                doing[noted] = done
                noted += np.uint64(done != idle)
                row += np.uint64(1)
            begun = row < end
            if not begun:
                g, ended = g + 1, at_ends
        for note in range(noted):
            ops = doing[note]
            more = True
            while more:
                for _ in range(at_once):
                    x = np.int64(acting[note] + ((ops >> np.uint64(PLACE)) & np.uint64(3)))
                    slot = (ops >> np.uint64(5)) & np.uint64(31)
                    birth = ops & np.uint64(31)
                    ending = np.int64((ops >> np.uint64(10)) & np.uint64(1))
                    starts[written] = registers[slot]
                    registers[birth] = x + shift
                    ends[written] = x - until
                    if not until:
                        starts[written] = registers[slot]
                    if limit >= 0 and (ops & np.uint64(ONE_OP)) != np.uint64(IDLE):
                        then, late = clocks[slot], expired
                        clocks[birth] = clock[x]
                        expired &= ~(np.uint32(1) << np.uint32(birth))
                        if not until:
                            then, late = clocks[slot], expired
                        ending &= not too_old(then, clock[x - until], limit)
                        ending &= not (late >> np.uint32(slot)) & np.uint32(1)
                    written += ending
                    ops >>= np.uint64(16)
                more = quads and ops != idle_pair and ops != np.uint64(0)
        noted = np.uint64(0)
        if ended:
            stream = g - 1
            occupied, final = machine.occupied[config] & ~expired, machine.final[config] & ~expired
            if last and clauses.or_end and final:
                at_end = written
                for slot in range(SLOTS):
                    fresh = limit < 0 or not too_old(clocks[slot], clock[end - np.uint64(1)], limit)
                    if (final >> slot) & 1 and fresh:
                        starts[written] = registers[slot]
                        ends[written] = np.int64(end) - 1
                        written += 1
                starts[at_end:written].sort()
                if clauses.oldest_wins and written > at_end:
                    written = at_end + 1
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
            buffers.written[stream] = written
            if not last:
                buffers.kept[stream] = kept
                buffers.state[stream] = np.int64(config)
    if not at_ends and count:
        buffers.written[count - 1] = written
    if len(buffers.owners):
        owner = 0
        for w in range(written):
            while owner + 1 < count and streams.begin[owner + 1] <= ends[w]:
                owner += 1
            buffers.owners[w] = owner
