"""Running a window on its config automaton: a trace of the events that act, then their actions.

A config is a prefix state and the window states that hold a list, each in a slot. The action of an
event on the lists depends on config and letter alone, and most events have none: one pass without
branches notes the events that act, a second one performs their actions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.arrays import Ints
from wex.engine.kernels.compiled import compiled_without_refcounts
from wex.engine.kernels.lists import (
    CLOCK,
    FAR,
    NIL,
    PANE,
    append,
    clear,
    drop,
    expire,
    finish,
    gather,
    hold,
    is_empty,
    join,
    only_oldest,
    write_held,
)
from wex.engine.kernels.types import (
    BIRTH,
    DROP,
    EMIT,
    EMITTED,
    Choice,
    Configs,
    KernelClauses,
    Segments,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.buffers import Buffers


@compiled_without_refcounts
def run_configs(
    codes: NDArray[np.uint8],
    clock: Ints,
    machine: Configs,
    clauses: KernelClauses,
    choice: Choice,
    streams: Segments,
    buffers: Buffers,
    last: bool,
) -> bool:
    """Write the windows of a batch and the starts open after it; False: there was not enough room.

    `last` says that the streams end with the batch.
    """
    classes, step, act = machine.classes, machine.step, machine.act
    ops_at, ops, finals = machine.ops_at, machine.ops, machine.final
    until, limit, single = clauses.until, clauses.limit, clauses.single
    lists, runs, births, slot_of = buffers.lists, buffers.runs, buffers.births, buffers.slot_of
    acting, doing, starts, ends = buffers.acting, buffers.doing, buffers.starts, buffers.ends
    width = finals.shape[1]
    block = len(acting)
    written = 0
    kept = 0
    for g in range(len(streams.begin)):
        end, shift = streams.end[g], streams.shift[g]
        born = 0
        clear(lists)
        for h in range(streams.held[g], streams.held[g + 1]):
            births[born, PANE] = streams.pane[h]
            births[born, CLOCK] = streams.clock[h]
            append(lists, runs, streams.slot[h], born, born)
            born += 1
        config = np.uint64(streams.state[g])
        row = streams.begin[g]
        while row < end:
            stop = min(end, row + block)
            noted = 0
            for x in range(row, stop):
                cls = np.uint64(classes[codes[x]])
                action = act[cls, config]
                acting[noted] = x
                doing[noted] = action
                noted += action != 0
                config = np.uint64(step[cls, config])
            row = stop
            for at in range(noted):
                x = acting[at]
                action = np.int64(doing[at])
                before = written
                oldest = cut = FAR
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
                        written, oldest, cut = gather(
                            lists, runs, births, slot, clock, x - until, limit,
                            clauses.oldest_wins, choice, starts, written, oldest, cut,
                        )  # fmt: skip
                    elif op == EMITTED:
                        written = finish(starts, ends, before, written, oldest, cut, x - until)
                        if written < 0:
                            return False
                    elif op == DROP:
                        drop(lists, runs, slot)
                    else:
                        join(lists, runs, slot, ops[o, 2])
                        if single and not is_empty(lists, ops[o, 2]):
                            only_oldest(lists, runs, ops[o, 2])
                        if limit >= 0:
                            expire(lists, runs, births, ops[o, 2], clock[x], limit)
        buffers.state[g] = np.int64(config)
        if last and clauses.or_end:
            before = written
            oldest = cut = FAR
            for slot in range(width):
                if finals[config, slot]:
                    written, oldest, cut = gather(
                        lists, runs, births, slot, clock, end - 1, limit,
                        clauses.oldest_wins, choice, starts, written, oldest, cut,
                    )  # fmt: skip
            written = finish(starts, ends, before, written, oldest, cut, end - 1)
            if written < 0:
                return False
        if not last:
            for start in range(born):
                slot_of[start] = NIL
            for slot in range(width):
                hold(lists, runs, slot, slot, slot_of)
            kept = write_held(births, born, slot_of, buffers.panes, buffers.slots, kept)
            buffers.kept[g] = kept
        buffers.written[g] = written
    return True
