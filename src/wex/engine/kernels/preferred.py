"""Windows by preference: each start follows the ordered automaton until its window is decided.

Starts are run one after the other. A start that reaches a state in which an earlier one was at the
same event shares the rest of its way, so that it need not be run again: `marks` remembers for each
event some states and the starts that were in them.

A start has a *candidate*, the last window that was confirmed. It is decided when the automaton
has no better way left. Under `keep leftmost` it is also skipped, if it lies in the window of an
earlier start, and it waits while an earlier start is undecided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wex.engine.arrays import Ints
from wex.engine.kernels.compiled import compiled, inlined
from wex.engine.kernels.lists import too_old
from wex.engine.kernels.types import KernelClauses, Preferred, Segments

NO_ROW = -(1 << 62)  # of a start without a candidate
DEAD = 0  # the state of the automaton in which a start is decided


class Carried(NamedTuple):
    """The starts that are held when a batch begins: rows may lie before the batch."""

    row: Ints
    candidate: Ints  # the row of its last event, or NO_ROW


class Tracks(NamedTuple):
    """The starts of a batch, stream by stream in their order; `up_to[g]` counts those up to stream g.

    `held` is the number of a start that was held before, or -1. `stopped` is the row at which a
    start stopped: where it was decided, or the end of its stream. `chosen` is the row at which its
    window is reported, -1: it is held, -2: it has no window.
    """

    row: Ints
    held: Ints
    state: Ints
    candidate: Ints
    stopped: Ints
    chosen: Ints
    up_to: Ints
    prefix: Ints
    skipped: Ints  # for each stream, the last row at which no window may start


HELD, NONE = -1, -2


class Allowed(NamedTuple):
    """Windows that satisfy `having`: starts and ends, sorted; those of stream g from `first[g]` on."""

    asked: bool
    start: Ints
    end: Ints
    first: Ints


class Pairs(NamedTuple):
    """Windows to be judged: start, end, stream, and the number of a start that was held, or -1."""

    start: Ints
    end: Ints
    stream: Ints
    held: Ints


@inlined
def _sought(allowed: Allowed, at: int, end: int, row: int, last: int) -> int:
    """Return the place of the first window from `at` on that a start has and that ends at a row or later."""
    while at < end and allowed.start[at] == row and allowed.end[at] < last:
        at += 1
    return at


@inlined
def _is_there(allowed: Allowed, at: int, end: int, row: int, last: int) -> bool:
    """Tell whether a window stands at a place."""
    return bool(at < end and allowed.start[at] == row and allowed.end[at] == last)


@compiled
def run_candidates(
    codes: NDArray[np.generic],
    clock: Ints,
    machine: Preferred,
    clauses: KernelClauses,
    streams: Segments,
    carried: Carried,
    pairs: Pairs,
    last: bool,
) -> int:
    """Write all windows that `having` has to judge, start by start, and return how many there are.

    Those that there is no room for are only counted.
    """
    starts, ends, owners, helds = pairs.start, pairs.end, pairs.stream, pairs.held
    room = len(starts)
    count = 0
    limit, until = clauses.limit, clauses.until
    for g in range(len(streams.begin)):
        begin, end = streams.begin[g], streams.end[g]
        prefix = streams.state[g]
        held = streams.held[g]
        first = begin
        while held < streams.held[g + 1] or first < end:
            h = -1
            if held < streams.held[g + 1]:
                h = held
                held += 1
                state = streams.slot[h]
                if state <= DEAD:
                    continue
                row, since, x = carried.row[h], streams.clock[h], begin
            else:
                x = row = first
                first += 1
                state = np.int64(machine.born[prefix])
                prefix = np.int64(machine.prefix[prefix, machine.classes[codes[row]]])
                if state < 0:
                    continue
                since = clock[row] if limit >= 0 else 0
            while x < end and state != DEAD:
                cls = machine.classes[codes[x]]
                if machine.accepts[state]:
                    if machine.until[cls]:
                        if count < room:
                            starts[count], ends[count] = row, x - 1
                            owners[count], helds[count] = g, h
                        count += 1
                    state = np.int64(machine.denied[state])
                if limit >= 0 and too_old(since, clock[x], limit):
                    state = DEAD
                state = np.int64(machine.move[state, cls])
                if machine.accepts[state] and not until:
                    if count < room:
                        starts[count], ends[count] = row, x
                        owners[count], helds[count] = g, h
                    count += 1
                    state = np.int64(machine.denied[state])
                x += 1
            if last and clauses.or_end and machine.accepts[state]:
                if count < room:
                    starts[count], ends[count] = row, end - 1
                    owners[count], helds[count] = g, h
                count += 1
    return count


@compiled
def run_preferred(
    codes: NDArray[np.generic],
    clock: Ints,
    machine: Preferred,
    clauses: KernelClauses,
    streams: Segments,
    carried: Carried,
    allowed: Allowed,
    tracks: Tracks,
    marks: NDArray[np.int32],
    last: bool,
) -> None:
    """Write the starts of a batch with their windows; `last`: the streams end with it.

    `marks` has for each row of the longest stream pairs of a state and a start.
    """
    limit, until, or_end = clauses.limit, clauses.until, clauses.or_end
    leftmost, sharing = machine.leftmost, machine.sharing
    places = marks.shape[1] // 2
    waits = 1 if until else 0
    t = 0
    for g in range(len(streams.begin)):
        begin, end = streams.begin[g], streams.end[g]
        prefix = streams.state[g]
        held = streams.held[g]
        first = begin
        own = t  # the first start of the stream
        bound = tracks.skipped[g]
        waiting = False  # an earlier start is undecided
        pair = allowed.first[g] if allowed.asked else 0
        pairs = allowed.first[g + 1] if allowed.asked else 0
        for at in range(end - begin):
            for place in range(places):
                marks[at, 2 * place] = -1
        while held < streams.held[g + 1] or first < end:
            h = -1
            candidate = NO_ROW
            if held < streams.held[g + 1]:
                h = held
                held += 1
                state = streams.slot[h]
                row, since, x = carried.row[h], streams.clock[h], begin
                candidate = carried.candidate[h]
                if state < DEAD:
                    continue  # the border of a pane
            else:
                x = row = first
                first += 1
                state = np.int64(machine.born[prefix])
                prefix = np.int64(machine.prefix[prefix, machine.classes[codes[row]]])
                if state < 0:
                    continue
                since = clock[row] if limit >= 0 else 0
            if row <= bound:
                continue
            while pair < pairs and allowed.start[pair] < row:
                pair += 1
            next_end = pair
            decided = state == DEAD
            stopped = begin if decided else end
            while x < end and not decided:
                if places > 0:
                    place = 2 * (state % places)
                    at = x - begin
                    if marks[at, place] == state:
                        other = np.int64(marks[at, place + 1])
                        aged = limit >= 0 and tracks.chosen[other] == NONE
                        if not aged or tracks.stopped[other] > x:
                            if tracks.candidate[other] + waits >= x:
                                candidate = tracks.candidate[other]
                            state, stopped = tracks.state[other], tracks.stopped[other]
                            if not aged:
                                decided = state == DEAD
                                break
                            marks[at, place + 1] = t  # this start goes on for longer
                            x, stopped = stopped, end
                            continue
                    marks[at, place] = state
                    marks[at, place + 1] = t
                cls = machine.classes[codes[x]]
                before = state
                if machine.accepts[state]:
                    fine = machine.until[cls]
                    if fine and allowed.asked:
                        next_end = _sought(allowed, next_end, pairs, row, x - 1)
                        fine = _is_there(allowed, next_end, pairs, row, x - 1)
                    if fine:
                        candidate = x - 1
                    state = np.int64(machine.confirmed[state] if fine else machine.denied[state])
                if state != DEAD and limit >= 0 and too_old(since, clock[x], limit):
                    state = before
                    stopped = -1 - x  # too old: a younger start may go on from here
                    break
                state = np.int64(machine.move[state, cls])
                if machine.accepts[state] and not until:
                    fine = True
                    if allowed.asked:
                        next_end = _sought(allowed, next_end, pairs, row, x)
                        fine = _is_there(allowed, next_end, pairs, row, x)
                    if fine:
                        candidate = x
                    state = np.int64(machine.confirmed[state] if fine else machine.denied[state])
                if state == DEAD:
                    decided = True
                    stopped = x
                x += 1
            tracks.row[t], tracks.held[t] = row, h
            tracks.state[t], tracks.candidate[t] = state, candidate
            # While the stream is run, `chosen` is NONE for starts that grew too old: see `_settled`.
            tracks.stopped[t], tracks.chosen[t] = stopped, HELD
            if stopped < 0:
                tracks.stopped[t], tracks.chosen[t] = -1 - stopped, NONE
                decided = True
            elif not decided and last:
                if machine.accepts[state] and or_end:
                    fine = True
                    if allowed.asked:
                        next_end = _sought(allowed, next_end, pairs, row, end - 1)
                        fine = _is_there(allowed, next_end, pairs, row, end - 1)
                    if fine:
                        tracks.candidate[t] = candidate = end - 1
                decided = True
            t += 1
            if leftmost and not waiting:
                if decided and candidate != NO_ROW:
                    bound = max(candidate - sharing, row)
                elif not decided:
                    # The candidate of the first undecided start can only move to the right.
                    waiting = True
                    tracks.skipped[g] = bound
                    bound = row if candidate == NO_ROW else max(candidate - sharing, row)
        if not waiting:
            tracks.skipped[g] = bound
        t = _settled(tracks, own, t, begin, leftmost, last)
        if machine.prunes and not last:
            t = _without_losers(machine, tracks, own, t, end - waits)
        tracks.up_to[g] = t
        tracks.prefix[g] = prefix


@compiled
def _settled(tracks: Tracks, own: int, count: int, begin: int, leftmost: bool, last: bool) -> int:
    """Say of each start of a stream where its window is reported, and return where starts end.

    Starts that have no window are removed. Before, `chosen` tells only which starts grew too old.
    """
    latest = begin
    waiting = False
    kept = own
    for s in range(own, count):
        decided = last or tracks.chosen[s] == NONE or tracks.state[s] == DEAD
        chosen = HELD
        if decided:
            latest = max(latest, tracks.stopped[s])
            if tracks.candidate[s] == NO_ROW:
                chosen = NONE
            elif not leftmost:
                chosen = tracks.stopped[s]
            elif not waiting:
                chosen = latest
            if chosen == HELD:
                tracks.state[s] = DEAD
        elif leftmost:
            waiting = True
        if chosen != NONE:
            tracks.row[kept], tracks.held[kept] = tracks.row[s], tracks.held[s]
            tracks.state[kept], tracks.candidate[kept] = tracks.state[s], tracks.candidate[s]
            tracks.stopped[kept], tracks.chosen[kept] = tracks.stopped[s], chosen
            kept += 1
    return kept


@compiled
def _without_losers(machine: Preferred, tracks: Tracks, own: int, count: int, next_end: int) -> int:
    """Remove held starts that `keep leftmost` will skip in any case, and return where starts end.

    Windows that are found from now on end at the row `next_end` or later.

    Two starts in one state have the same windows from now on. The later one is skipped if the
    earlier one has a window that reaches it, and has none if the earlier one has none; unless the
    earlier one is itself skipped, for an earlier window that does not reach the later one.
    """
    sharing = machine.sharing
    rep = np.full(len(machine.accepts), -1, dtype=np.int64)
    best, best_of, second = NO_ROW, -1, NO_ROW  # the latest candidates so far
    kept = own
    for s in range(own, count):
        row, state, candidate = tracks.row[s], tracks.state[s], tracks.candidate[s]
        if tracks.chosen[s] == HELD and state != DEAD:
            other = rep[state]
            if other >= 0 and row + sharing <= next_end:
                theirs = tracks.candidate[other]
                loses = candidate == NO_ROW
                if theirs != NO_ROW:
                    loses = row <= theirs - sharing
                reached = second if best_of == other else best
                if loses and min(reached - sharing, row - 1) < tracks.row[other]:
                    continue
            rep[state] = kept
        tracks.row[kept], tracks.held[kept] = row, tracks.held[s]
        tracks.state[kept], tracks.candidate[kept] = state, candidate
        tracks.stopped[kept], tracks.chosen[kept] = tracks.stopped[s], tracks.chosen[s]
        if tracks.chosen[s] == HELD and candidate != NO_ROW:
            if candidate >= best:
                best, best_of, second = candidate, kept, best
            elif candidate > second:
                second = candidate
        kept += 1
    return kept
