"""Running a window on its config automaton: a trace of the events that act, then their actions.

A config is a prefix state and the window states that hold a list, each in a slot. What an event
does to the lists depends on config and letter alone, and most events do nothing: one pass without
branches notes the others, a second one acts on them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.emission import emit, grown, put_in_order
from wex.engine.kernels.lists import (
    AFTER,
    BIRTH_WIDTH,
    CLOCK,
    HEAD,
    HI,
    LIST_WIDTH,
    LO,
    NIL,
    PANE,
    RUN_WIDTH,
    append,
    clear,
    drop,
    expire,
    is_empty,
    join,
    oldest_of,
)
from wex.engine.kernels.shapes import (
    BIRTH,
    DROP,
    EMIT,
    EMITTED,
    Clauses,
    Configs,
    Ints,
    Ran,
    Segments,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

BLOCK = 4096
FAR = 1 << 62


@compiled
def run_configs(
    codes: NDArray[np.uint8],
    clock: Ints,
    machine: Configs,
    clauses: Clauses,
    streams: Segments,
    room: tuple[Ints, Ints],
    last: bool,
) -> Ran:
    """Return the windows of a batch and what is held after it; `last`: the streams end with it.

    `room` is where windows are written first; beyond that, more of it is made.
    """
    starts, ends = room
    count = len(streams.begin)
    all_begin, all_end, all_shift = streams.begin, streams.end, streams.shift
    held_from, held_pane, held_slot = streams.held, streams.pane, streams.slot
    classes, step, act = machine.classes, machine.step, machine.act
    ops_at, ops, finals = machine.ops_at, machine.ops, machine.final
    until, limit, only_oldest = clauses.until, clauses.limit, clauses.oldest
    width = finals.shape[1]
    most = 1
    for g in range(count):
        most = max(most, all_end[g] - all_begin[g] + held_from[g + 1] - held_from[g])
    lists = np.empty((width + 1, LIST_WIDTH), dtype=np.int64)
    runs = np.empty((most + 2, RUN_WIDTH), dtype=np.int64)
    births = np.empty((most, BIRTH_WIDTH), dtype=np.int64)
    slot_of = np.empty(most, dtype=np.int64)
    acting = np.empty(BLOCK, dtype=np.int64)
    doing = np.empty(BLOCK, dtype=np.uint16)
    found_in = np.empty(count, dtype=np.int64)
    panes = np.empty(16, dtype=np.int64)
    slots = np.empty(16, dtype=np.int64)
    kept_in = np.zeros(count, dtype=np.int64)
    states = np.empty(count, dtype=np.int64)
    found = 0
    kept = 0
    for g in range(count):
        end, shift = all_end[g], all_shift[g]
        born = 0
        clear(lists)
        for h in range(held_from[g], held_from[g + 1]):
            births[born, PANE] = held_pane[h]
            if limit >= 0:
                births[born, CLOCK] = streams.clock[h]
            append(lists, runs, held_slot[h], born, born)
            born += 1
        config = np.uint64(streams.state[g])
        row = all_begin[g]
        while row < end:
            stop = min(end, row + BLOCK)
            noted = 0
            for x in range(row, stop):
                letter = np.uint64(classes[codes[x]])
                action = act[letter, config]
                acting[noted] = x
                doing[noted] = action
                noted += action != 0
                config = np.uint64(step[letter, config])
            row = stop
            for at in range(noted):
                x = acting[at]
                action = np.int64(doing[at])
                final_row = x - until
                before = found
                oldest = FAR
                for o in range(ops_at[action], ops_at[action + 1]):
                    op, slot = ops[o, 0], ops[o, 1]
                    if op == BIRTH:
                        births[born, PANE] = x + shift
                        if limit >= 0:
                            births[born, CLOCK] = clock[x]
                            expire(lists, runs, births, slot, clock[x], limit)
                        append(lists, runs, slot, born, born)
                        born += 1
                    elif op == EMIT:
                        if limit >= 0:
                            expire(lists, runs, births, slot, clock[final_row], limit)
                        if not only_oldest:
                            starts, found = emit(lists, runs, births, slot, starts, found)
                        elif not is_empty(lists, slot):
                            oldest = min(oldest, births[oldest_of(lists, runs, slot), PANE])
                    elif op == EMITTED:
                        if oldest != FAR:
                            starts = grown(starts, found, found + 1)
                            starts[found] = oldest
                            found += 1
                        put_in_order(starts, before, found)
                        ends = grown(ends, before, found)
                        for w in range(before, found):
                            ends[w] = final_row
                    elif op == DROP:
                        drop(lists, runs, slot)
                    else:
                        join(lists, runs, slot, ops[o, 2])
                        if limit >= 0:
                            expire(lists, runs, births, ops[o, 2], clock[x], limit)
        states[g] = np.int64(config)
        if last:
            before = found
            oldest = FAR
            for slot in range(width):
                if clauses.or_end and finals[config, slot] and not is_empty(lists, slot):
                    if limit >= 0:
                        expire(lists, runs, births, slot, clock[end - 1], limit)
                    if not only_oldest:
                        starts, found = emit(lists, runs, births, slot, starts, found)
                    elif not is_empty(lists, slot):
                        oldest = min(oldest, births[oldest_of(lists, runs, slot), PANE])
            if oldest != FAR:
                starts = grown(starts, found, found + 1)
                starts[found] = oldest
                found += 1
            put_in_order(starts, before, found)
            ends = grown(ends, before, found)
            for w in range(before, found):
                ends[w] = end - 1
        else:
            slot_of[:born] = NIL
            for slot in range(width):
                run = lists[slot, HEAD]
                while run != NIL:
                    slot_of[runs[run, LO] : runs[run, HI] + 1] = slot
                    run = runs[run, AFTER]
                if not is_empty(lists, slot):
                    slot_of[lists[slot, LO] : lists[slot, HI] + 1] = slot
            for start in range(born):
                if slot_of[start] != NIL:
                    panes = grown(panes, kept, kept + 1)
                    slots = grown(slots, kept, kept + 1)
                    panes[kept] = births[start, PANE]
                    slots[kept] = slot_of[start]
                    kept += 1
        found_in[g] = found
        kept_in[g] = kept
    return Ran(starts[:found], ends[:found], found_in, panes[:kept], slots[:kept], kept_in, states)
