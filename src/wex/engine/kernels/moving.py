"""Running a window by moving its lists, event by event: slower than configs, and always possible.

The states that hold a list are listed in `in_use`. A letter moves each list to the next state, and
joins those that meet. A *chain* is a row of states in which every letter moves all starts one
place on, or ends all of them (`any{100000}`): one list for all of its states, whose runs keep the
position SINCE when they are in it, so that an event looks at its oldest runs only. Windows end in all
states of a chain (`any{1,100000}`) or in none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.arrays import Ints
from wex.engine.kernels.compiled import compiled_without_refcounts, inlined
from wex.engine.kernels.lists import (
    AFTER,
    BEFORE,
    CLOCK,
    FAR,
    HEAD,
    HI,
    LO,
    NIL,
    PANE,
    SINCE,
    TAIL,
    append,
    clear,
    drop,
    enter_chain,
    expire,
    finish,
    gather,
    gather_chain,
    give_back,
    hold,
    is_empty,
    is_in_chain,
    join,
    link,
    new_run,
    older_in_chain,
    only_oldest,
    pop,
    put_behind,
    put_first,
    write_held,
)
from wex.engine.kernels.types import Automata, Choice, KernelClauses, Segments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.buffers import Buffers

LISTED = 2  # beside the states in use now and then: the row for which a state was listed last


@inlined
def drop_all(buffers: Buffers, now: int, used: int, states: int, chains: int) -> None:
    """Empty the lists of all states in use, and all chains."""
    for u in range(used):
        drop(buffers.lists, buffers.runs, 2 * buffers.in_use[now, u] + now)
    for chain in range(chains):
        drop(buffers.lists, buffers.runs, 2 * states + chain)


@inlined
def list_state(in_use: Ints, then: int, used: int, state: int, row: int) -> int:
    """List a state as in use after a row, and return how many are listed then."""
    if in_use[LISTED, state] != row:
        in_use[LISTED, state] = row
        in_use[then, used] = state
        used += 1
    return used


@inlined
def end_windows(
    machine: Automata,
    clauses: KernelClauses,
    choice: Choice,
    buffers: Buffers,
    clock: Ints,
    row: int,
    now: int,
    used: int,
    written: int,
) -> int:
    """Write the windows that end at a row, and drop the starts that cannot go on after it.

    Return how many windows there are then, or -1 if there is no room.
    """
    before = written
    oldest = cut = FAR
    for u in range(used):
        state = buffers.in_use[now, u]
        if machine.final[state]:
            written, oldest, cut = gather(
                buffers.lists, buffers.runs, buffers.births, 2 * state + now, clock, row, clauses.limit,
                clauses.oldest_wins, choice, buffers.starts, written, oldest, cut,
            )  # fmt: skip
            if clauses.ends_after_first or not machine.lasts[state]:
                drop(buffers.lists, buffers.runs, 2 * state + now)
    for chain in range(len(machine.chain_size)):
        if machine.final[machine.chain_first[chain]]:
            at = 2 * len(machine.move) + chain
            written, oldest, cut = gather_chain(
                buffers.lists, buffers.runs, buffers.births, at, row,
                clauses.oldest_wins, choice, buffers.starts, written, oldest, cut,
            )  # fmt: skip
            if clauses.ends_after_first:
                drop(buffers.lists, buffers.runs, at)
    written = finish(buffers.starts, buffers.ends, before, written, oldest, cut, row)
    if clauses.cuts and written > before:
        drop_all(buffers, now, used, len(machine.move), len(machine.chain_size))
    return written


@compiled_without_refcounts
def run_moving(
    codes: NDArray[np.uint8],
    clock: Ints,
    machine: Automata,
    clauses: KernelClauses,
    choice: Choice,
    streams: Segments,
    buffers: Buffers,
    last: bool,
) -> bool:
    """Write the windows of a batch and the starts open after it; False: there was not enough room.

    `last` says that the streams end with the batch.
    """
    classes, prefix, born_as, move = machine.classes, machine.prefix, machine.born, machine.move
    chain_of, chain_first, chain_size = machine.chain_of, machine.chain_first, machine.chain_size
    leave, until_class = machine.leave, machine.until
    until, limit, single = clauses.until, clauses.limit, clauses.single
    lists, runs, births, slot_of = buffers.lists, buffers.runs, buffers.births, buffers.slot_of
    in_use = buffers.in_use
    # A list for each state now, one for the state after the event, one for each chain, a spare one.
    states, chains = len(move), len(chain_size)
    chained, spare = 2 * states, 2 * states + chains
    clear(lists)
    for state in range(states):
        in_use[LISTED, state] = NIL
    used_now = 0
    used_then = 0
    written = 0
    kept = 0
    for g in range(len(streams.begin)):
        begin, end, shift = streams.begin[g], streams.end[g], streams.shift[g]
        born = 0
        now = 0
        for h in range(streams.held[g], streams.held[g + 1]):
            births[born, PANE] = streams.pane[h]
            births[born, CLOCK] = streams.clock[h]
            state = streams.slot[h]
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
                    in_use[now, used_now] = state
                    used_now += 1
                append(lists, runs, 2 * state + now, born, born)
            born += 1
        at_prefix = streams.state[g]
        for x in range(begin, end):
            cls = classes[codes[x]]
            then = 1 - now
            if until and until_class[cls]:
                written = end_windows(
                    machine, clauses, choice, buffers, clock, x - 1, now, used_now, written
                )
                if written < 0:
                    return False
            for chain in range(chains):
                if leave[chain, cls] < 0:
                    drop(lists, runs, chained + chain)
            for chain in range(chains):
                first = lists[chained + chain, HEAD]
                while first != NIL and x - begin - runs[first, SINCE] >= chain_size[chain]:
                    run = pop(lists, runs, chained + chain)
                    state = leave[chain, cls]
                    into = chain_of[state]
                    if into >= 0 and single and is_in_chain(lists, runs, chained + into, x - begin):
                        older_in_chain(lists, runs, chained + into, runs[run, LO])
                        give_back(lists, runs, run)
                    elif into >= 0:
                        runs[run, SINCE] = x - begin
                        link(lists, runs, chained + into, run)
                    else:
                        used_then = list_state(in_use, then, used_then, state, x)
                        lists[spare, LO] = runs[run, LO]
                        lists[spare, HI] = runs[run, HI]
                        give_back(lists, runs, run)
                        join(lists, runs, spare, 2 * state + then)
                        if single:
                            only_oldest(lists, runs, 2 * state + then)
                    first = lists[chained + chain, HEAD]
            for u in range(used_now):
                at = 2 * in_use[now, u] + now
                state = move[in_use[now, u], cls]
                if state < 0:
                    drop(lists, runs, at)
                elif not is_empty(lists, at):
                    into = chain_of[state]
                    if into >= 0 and single and is_in_chain(lists, runs, chained + into, x - begin):
                        older_in_chain(lists, runs, chained + into, lists[at, LO])
                        drop(lists, runs, at)
                    elif into >= 0:
                        enter_chain(lists, runs, at, chained + into, x - begin)
                    else:
                        used_then = list_state(in_use, then, used_then, state, x)
                        join(lists, runs, at, 2 * state + then)
                        if single:
                            only_oldest(lists, runs, 2 * state + then)
                        if limit >= 0:
                            expire(lists, runs, births, 2 * state + then, clock[x], limit)
            state = born_as[at_prefix, cls]
            at_prefix = prefix[at_prefix, cls]
            if state >= 0:
                births[born, PANE] = x + shift
                if limit >= 0:
                    births[born, CLOCK] = clock[x]
                into = chain_of[state]
                if into >= 0:
                    if not (single and is_in_chain(lists, runs, chained + into, x - begin)):
                        run = new_run(lists, runs, born, born)
                        runs[run, SINCE] = x - begin
                        link(lists, runs, chained + into, run)
                else:
                    used_then = list_state(in_use, then, used_then, state, x)
                    if not single or is_empty(lists, 2 * state + then):
                        append(lists, runs, 2 * state + then, born, born)
                born += 1
            now = then
            used_now = used_then
            used_then = 0
            if not until:
                written = end_windows(
                    machine, clauses, choice, buffers, clock, x, now, used_now, written
                )
                if written < 0:
                    return False
        buffers.state[g] = at_prefix
        if last and clauses.or_end:
            written = end_windows(
                machine, clauses, choice, buffers, clock, end - 1, now, used_now, written
            )
            if written < 0:
                return False
        if not last:
            for start in range(born):
                slot_of[start] = NIL
            for u in range(used_now):
                state = in_use[now, u]
                hold(lists, runs, 2 * state + now, state, slot_of)
            for chain in range(chains):
                run = lists[chained + chain, HEAD]
                while run != NIL:
                    state = chain_first[chain] + (end - begin - 1 - runs[run, SINCE])
                    for start in range(runs[run, LO], runs[run, HI] + 1):
                        slot_of[start] = state
                    run = runs[run, AFTER]
            kept = write_held(births, born, slot_of, buffers.panes, buffers.slots, kept)
            buffers.kept[g] = kept
        drop_all(buffers, now, used_now, states, chains)
        used_now = 0
        lists[-1, 0] = NIL
        lists[-1, 1] = 0
        buffers.written[g] = written
    return True
