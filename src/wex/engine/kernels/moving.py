"""Running a window by moving its lists, event by event: slower than configs, and always possible.

The lists that are in use stand side by side with their window states. A letter moves each, and
joins those that meet. A *chain* is a row of states in which every letter moves all starts one
place on, or ends all of them (`any{100000}`): one list for all of its states, whose runs keep the
position SINCE when they are in it, so that an event looks at its oldest runs only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled
from wex.engine.kernels.emission import emit, grown, put_in_order
from wex.engine.kernels.lists import (
    AFTER,
    BEFORE,
    BIRTH_WIDTH,
    CLOCK,
    HEAD,
    HI,
    LIST_WIDTH,
    LO,
    NIL,
    NOTHING,
    PANE,
    RUN_WIDTH,
    SINCE,
    TAIL,
    append,
    clear,
    drop,
    expire,
    give_back,
    is_empty,
    join,
    link,
    new_run,
    oldest_of,
    pop,
    put_behind,
    put_first,
)
from wex.engine.kernels.shapes import Automata, Clauses, Ints, Ran, Segments

if TYPE_CHECKING:
    from numpy.typing import NDArray

FAR = 1 << 62


@compiled
def run_moving(
    codes: NDArray[np.uint8],
    clock: Ints,
    machine: Automata,
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
    classes, prefix, born_as, move = machine.classes, machine.prefix, machine.born, machine.move
    final, lasts, until_class = machine.final, machine.lasts, machine.until
    chain_of, chain_first, chain_size = machine.chain_of, machine.chain_first, machine.chain_size
    leave = machine.leave
    until, limit, only_oldest = clauses.until, clauses.limit, clauses.oldest
    cuts, spent = clauses.cuts, clauses.spent
    # A list for each state now, one for the state after the event, one for each chain, a spare one.
    states, chains = len(move), len(chain_size)
    chained, spare = 2 * states, 2 * states + chains
    most = 1
    for g in range(count):
        most = max(most, all_end[g] - all_begin[g] + held_from[g + 1] - held_from[g])
    lists = np.empty((spare + 2, LIST_WIDTH), dtype=np.int64)
    clear(lists)
    runs = np.empty((most + 2, RUN_WIDTH), dtype=np.int64)
    births = np.empty((most, BIRTH_WIDTH), dtype=np.int64)
    slot_of = np.empty(most, dtype=np.int64)
    in_use = np.empty((2, states), dtype=np.int64)
    used = np.zeros(2, dtype=np.int64)
    found_in = np.empty(count, dtype=np.int64)
    panes = np.empty(16, dtype=np.int64)
    slots = np.empty(16, dtype=np.int64)
    kept_in = np.zeros(count, dtype=np.int64)
    states_after = np.empty(count, dtype=np.int64)
    found = 0
    kept = 0
    for g in range(count):
        begin, end, shift = all_begin[g], all_end[g], all_shift[g]
        born = 0
        now = 0
        for h in range(held_from[g], held_from[g + 1]):
            births[born, PANE] = held_pane[h]
            if limit >= 0:
                births[born, CLOCK] = streams.clock[h]
            state = held_slot[h]
            chain = chain_of[state]
            if chain >= 0:
                run = new_run(lists, runs, born, born)
                runs[run, SINCE] = chain_first[chain] - state - 1
                # Held starts come in the order of birth, a chain wants the order of entry.
                place = lists[chained + chain, TAIL]
                while place != NIL and runs[place, SINCE] > runs[run, SINCE]:
                    place = runs[place, BEFORE]
                if place == lists[chained + chain, TAIL]:
                    link(lists, runs, chained + chain, run)
                elif place == NIL:
                    put_first(lists, runs, chained + chain, run)
                else:
                    put_behind(lists, runs, chained + chain, place, run)
            else:
                if is_empty(lists, 2 * state + now):
                    in_use[now, used[now]] = state
                    used[now] += 1
                append(lists, runs, 2 * state + now, born, born)
            born += 1
        at_prefix = streams.state[g]
        for x in range(begin, end):
            letter = classes[codes[x]]
            then = 1 - now
            if until and until_class[letter]:
                before = found
                oldest = FAR
                for u in range(used[now]):
                    at = 2 * in_use[now, u] + now
                    if final[in_use[now, u]] and not is_empty(lists, at):
                        if limit >= 0:
                            expire(lists, runs, births, at, clock[x - 1], limit)
                        if not only_oldest:
                            starts, found = emit(lists, runs, births, at, starts, found)
                        elif not is_empty(lists, at):
                            oldest = min(oldest, births[oldest_of(lists, runs, at), PANE])
                        if spent:
                            drop(lists, runs, at)
                if oldest != FAR:
                    starts = grown(starts, found, found + 1)
                    starts[found] = oldest
                    found += 1
                if found > before:
                    put_in_order(starts, before, found)
                    ends = grown(ends, before, found)
                    for w in range(before, found):
                        ends[w] = x - 1
                    if cuts:
                        for u in range(used[now]):
                            drop(lists, runs, 2 * in_use[now, u] + now)
                        for chain in range(chains):
                            drop(lists, runs, chained + chain)
            for chain in range(chains):
                if leave[chain, letter] < 0:
                    drop(lists, runs, chained + chain)
            for chain in range(chains):
                first = lists[chained + chain, HEAD]
                while first != NIL and x - begin - runs[first, SINCE] >= chain_size[chain]:
                    run = pop(lists, runs, chained + chain)
                    state = leave[chain, letter]
                    into = chain_of[state]
                    if into >= 0:
                        runs[run, SINCE] = x - begin
                        link(lists, runs, chained + into, run)
                    else:
                        if is_empty(lists, 2 * state + then):
                            in_use[then, used[then]] = state
                            used[then] += 1
                        lists[spare, LO] = runs[run, LO]
                        lists[spare, HI] = runs[run, HI]
                        give_back(lists, runs, run)
                        join(lists, runs, spare, 2 * state + then)
                    first = lists[chained + chain, HEAD]
            for u in range(used[now]):
                at = 2 * in_use[now, u] + now
                state = move[in_use[now, u], letter]
                if state < 0:
                    drop(lists, runs, at)
                elif not is_empty(lists, at):
                    into = chain_of[state]
                    if into >= 0:
                        if lists[at, HEAD] != NIL:
                            run = lists[at, HEAD]
                            while run != NIL:
                                runs[run, SINCE] = x - begin
                                following = runs[run, AFTER]
                                link(lists, runs, chained + into, run)
                                run = following
                        run = new_run(lists, runs, lists[at, LO], lists[at, HI])
                        runs[run, SINCE] = x - begin
                        link(lists, runs, chained + into, run)
                        lists[at, LO] = NOTHING[0]
                        lists[at, HI] = NOTHING[1]
                        lists[at, HEAD] = NIL
                        lists[at, TAIL] = NIL
                    else:
                        if is_empty(lists, 2 * state + then):
                            in_use[then, used[then]] = state
                            used[then] += 1
                        join(lists, runs, at, 2 * state + then)
                        if limit >= 0:
                            expire(lists, runs, births, 2 * state + then, clock[x], limit)
            used[now] = 0
            state = born_as[at_prefix, letter]
            at_prefix = prefix[at_prefix, letter]
            if state >= 0:
                births[born, PANE] = x + shift
                if limit >= 0:
                    births[born, CLOCK] = clock[x]
                into = chain_of[state]
                if into >= 0:
                    run = new_run(lists, runs, born, born)
                    runs[run, SINCE] = x - begin
                    link(lists, runs, chained + into, run)
                else:
                    if is_empty(lists, 2 * state + then):
                        in_use[then, used[then]] = state
                        used[then] += 1
                    append(lists, runs, 2 * state + then, born, born)
                born += 1
            now = then
            if not until:
                before = found
                oldest = FAR
                for u in range(used[now]):
                    at = 2 * in_use[now, u] + now
                    if final[in_use[now, u]]:
                        if limit >= 0:
                            expire(lists, runs, births, at, clock[x], limit)
                        if not only_oldest:
                            starts, found = emit(lists, runs, births, at, starts, found)
                        elif not is_empty(lists, at):
                            oldest = min(oldest, births[oldest_of(lists, runs, at), PANE])
                        if spent or not lasts[in_use[now, u]]:
                            drop(lists, runs, at)
                if oldest != FAR:
                    starts = grown(starts, found, found + 1)
                    starts[found] = oldest
                    found += 1
                if found > before:
                    put_in_order(starts, before, found)
                    ends = grown(ends, before, found)
                    for w in range(before, found):
                        ends[w] = x
                    if cuts:
                        for u in range(used[now]):
                            drop(lists, runs, 2 * in_use[now, u] + now)
                        for chain in range(chains):
                            drop(lists, runs, chained + chain)
        states_after[g] = at_prefix
        if last:
            before = found
            oldest = FAR
            for u in range(used[now]):
                at = 2 * in_use[now, u] + now
                if clauses.or_end and final[in_use[now, u]] and not is_empty(lists, at):
                    if limit >= 0:
                        expire(lists, runs, births, at, clock[end - 1], limit)
                    if not only_oldest:
                        starts, found = emit(lists, runs, births, at, starts, found)
                    elif not is_empty(lists, at):
                        oldest = min(oldest, births[oldest_of(lists, runs, at), PANE])
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
            for u in range(used[now]):
                state = in_use[now, u]
                run = lists[2 * state + now, HEAD]
                while run != NIL:
                    slot_of[runs[run, LO] : runs[run, HI] + 1] = state
                    run = runs[run, AFTER]
                if not is_empty(lists, 2 * state + now):
                    slot_of[lists[2 * state + now, LO] : lists[2 * state + now, HI] + 1] = state
            for chain in range(chains):
                run = lists[chained + chain, HEAD]
                while run != NIL:
                    state = chain_first[chain] + (end - begin - 1 - runs[run, SINCE])
                    slot_of[runs[run, LO] : runs[run, HI] + 1] = state
                    run = runs[run, AFTER]
            for start in range(born):
                if slot_of[start] != NIL:
                    panes = grown(panes, kept, kept + 1)
                    slots = grown(slots, kept, kept + 1)
                    panes[kept] = births[start, PANE]
                    slots[kept] = slot_of[start]
                    kept += 1
        for u in range(used[now]):
            drop(lists, runs, 2 * in_use[now, u] + now)
        used[now] = 0
        for chain in range(chains):
            drop(lists, runs, chained + chain)
        lists[-1, 0] = NIL
        lists[-1, 1] = 0
        found_in[g] = found
        kept_in[g] = kept
    return Ran(
        starts[:found], ends[:found], found_in, panes[:kept], slots[:kept], kept_in, states_after
    )
