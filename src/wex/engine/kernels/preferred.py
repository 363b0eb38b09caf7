"""Windows by preference: each start follows the ordered automaton until its window is decided.

Starts are run one after the other. A start that reaches a state in which an earlier one was at the
same event shares the rest of its way, so that it need not be run again: `marks` remembers for each
event some states and the starts that were in them.

A start has a *candidate*, the last window that was confirmed. It is decided when the automaton
has no better way left. Under `keep leftmost` it is also skipped, if it lies in the window of an
earlier start, and it waits while an earlier start is undecided. With `resuming` it may lie in that
window, at its event with the label or later: a chosen window is parsed at once.

If predicates have aggregates, a start has registers, and letters of its own: what an event does to
the registers is a function `step` of its program. Without aggregates there are no registers, and
all starts read the same letters.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wex.engine.arrays import Ints
from wex.engine.kernels.compiled import Kernel, compiled, inlined
from wex.engine.kernels.labels import last_skipped
from wex.engine.kernels.lists import too_old
from wex.engine.kernels.types import Preferred

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
    window is reported, -1: it is held, -2: it has no window. `number` is the place of its registers.
    """

    row: Ints
    held: Ints
    state: Ints
    candidate: Ints
    stopped: Ints
    chosen: Ints
    number: Ints
    up_to: Ints
    prefix: Ints
    skipped: Ints  # for each stream, the last row at which no window may start


HELD, NONE = -1, -2
# While a stream is run, `chosen` tells of a start whether it grew too old, before the row at which
# it stopped: by the event there (TOO_OLD), or because it had too few events left (TOO_LATE).
TOO_OLD, TOO_LATE = -2, -3


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


class Own(NamedTuple):
    """What the starts of a batch have of their own: the columns that programs read, and registers.

    `initial` are the registers of a new start, `ints` and `reals` those of the starts that are held
    when the batch begins; into `kept_ints` and `kept_reals` come those of the starts after it.
    """

    columns: tuple[NDArray[np.generic], ...]
    initial: tuple[int | float, ...]
    ints: NDArray[np.int64]
    reals: NDArray[np.float64]
    kept_ints: NDArray[np.int64]
    kept_reals: NDArray[np.float64]


@inlined
def _judged(allowed: Allowed, at: int, end: int, row: int, last: int) -> tuple[bool, int]:
    """Tell whether `having` allows a window, and from where on to look for later ends of its start."""
    fine = True
    if allowed.asked:
        while at < end and allowed.start[at] == row and allowed.end[at] < last:
            at += 1
        fine = at < end and allowed.start[at] == row and allowed.end[at] == last
    return fine, at


@inlined
def _noted(pairs: Pairs, count: int, start: int, end: int, stream: int, held: int) -> int:
    """Return how many windows there are with this one; those beyond the room are not written."""
    if count < len(pairs.start):
        pairs.start[count], pairs.end[count] = start, end
        pairs.stream[count], pairs.held[count] = stream, held
    return count + 1


def candidates_kernel(step: Any, load: Any, _store: Any, name: str) -> Kernel:
    """Return the kernel that writes all windows that `having` has to judge."""

    def run(codes, clock, machine, clauses, streams, carried, own, pairs, last):  # type: ignore[no-untyped-def]
        """Write the windows, start by start, and return how many there are.

        Those that there is no room for are only counted.
        """
        count = 0
        limit, until = clauses.limit, clauses.until
        classes = machine.classes
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
                    registers = load(own.ints, own.reals, h)
                else:
                    x = row = first
                    first += 1
                    state = np.int64(machine.born[prefix])
                    prefix = np.int64(machine.prefix[prefix, classes[codes[row], 0]])
                    if state < 0:
                        continue
                    since = clock[row] if limit >= 0 else 0
                    registers = own.initial
                while x < end and state != DEAD:
                    registers, bits = step(x, registers, own.columns)
                    cls = classes[codes[x], bits]
                    if machine.accepts[state]:
                        if machine.until[cls]:
                            count = _noted(pairs, count, row, x - 1, g, h)
                        state = np.int64(machine.denied[state])
                    if limit >= 0 and too_old(since, clock[x], limit):
                        state = DEAD
                    state = np.int64(machine.move[state, cls])
                    if machine.accepts[state] and not until:
                        count = _noted(pairs, count, row, x, g, h)
                        state = np.int64(machine.denied[state])
                    x += 1
                if last and clauses.or_end and machine.accepts[state]:
                    count = _noted(pairs, count, row, end - 1, g, h)
        return count

    run.__name__ = run.__qualname__ = f"run_candidates_{name}"
    return compiled(run)  # type: ignore[return-value]


def preferred_kernel(step: Any, load: Any, store: Any, name: str) -> Kernel:
    """Return the kernel that writes the starts of a batch with their windows."""

    def run(  # type: ignore[no-untyped-def]
        codes, clock, machine, clauses, streams, carried, own, allowed, onward, tracks, marks, last
    ):
        """Write the starts; `last`: the streams end with the batch.

        `marks` has for each row of the longest stream pairs of a state and a start.
        """
        limit, until, or_end = clauses.limit, clauses.until, clauses.or_end
        leftmost, sharing = machine.leftmost, machine.sharing
        classes = machine.classes
        places = marks.shape[1] // 2
        waits = 1 if until else 0
        t = 0
        number = 0  # of starts in all streams
        for g in range(len(streams.begin)):
            begin, end = streams.begin[g], streams.end[g]
            prefix = streams.state[g]
            held = streams.held[g]
            first = begin
            first_track = t
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
                    registers = load(own.ints, own.reals, h)
                else:
                    x = row = first
                    first += 1
                    state = np.int64(machine.born[prefix])
                    prefix = np.int64(machine.prefix[prefix, classes[codes[row], 0]])
                    if state < 0:
                        continue
                    since = clock[row] if limit >= 0 else 0
                    registers = own.initial
                if row <= bound:
                    continue
                while pair < pairs and allowed.start[pair] < row:
                    pair += 1
                next_end = pair
                decided = state == DEAD
                old = late = False
                stopped = begin if decided else end
                while x < end and not decided:
                    if places > 0:
                        place = 2 * (state % places)
                        at = x - begin
                        if marks[at, place] == state:
                            other = np.int64(marks[at, place + 1])
                            aged = limit >= 0 and tracks.chosen[other] <= TOO_OLD
                            if not aged or tracks.stopped[other] > x:
                                if tracks.candidate[other] + waits >= x:
                                    candidate = tracks.candidate[other]
                                state, stopped = tracks.state[other], tracks.stopped[other]
                                if not aged:
                                    decided = state == DEAD
                                    break
                                marks[at, place + 1] = t  # this start goes on for longer
                                x, stopped = stopped, end
                                late = too_old(since, clock[x - 1] + machine.ahead[state], limit)
                                if late:
                                    break
                                continue
                        marks[at, place] = state
                        marks[at, place + 1] = t
                    registers, bits = step(x, registers, own.columns)
                    cls = classes[codes[x], bits]
                    before = state
                    if machine.accepts[state]:
                        fine = machine.until[cls]
                        if fine:
                            fine, next_end = _judged(allowed, next_end, pairs, row, x - 1)
                        if fine:
                            candidate = x - 1
                        state = np.int64(
                            machine.confirmed[state] if fine else machine.denied[state]
                        )
                    if state != DEAD and limit >= 0 and too_old(since, clock[x], limit):
                        state, old = before, True  # a younger start may go on from here
                        break
                    state = np.int64(machine.move[state, cls])
                    if machine.accepts[state] and not until:
                        fine, next_end = _judged(allowed, next_end, pairs, row, x)
                        if fine:
                            candidate = x
                        state = np.int64(
                            machine.confirmed[state] if fine else machine.denied[state]
                        )
                    x += 1
                    if state == DEAD:
                        decided = True
                        stopped = x - 1
                    elif limit >= 0 and too_old(since, clock[x - 1] + machine.ahead[state], limit):
                        late = True
                        break
                tracks.row[t], tracks.held[t], tracks.number[t] = row, h, number
                tracks.state[t], tracks.candidate[t] = state, candidate
                tracks.stopped[t], tracks.chosen[t] = stopped, HELD
                if old or late:
                    tracks.stopped[t], tracks.chosen[t] = x, TOO_OLD if old else TOO_LATE
                    decided = True
                elif not decided and last:
                    if machine.accepts[state] and or_end:
                        fine, next_end = _judged(allowed, next_end, pairs, row, end - 1)
                        if fine:
                            tracks.candidate[t] = candidate = end - 1
                    decided = True
                if not last:
                    store(own.kept_ints, own.kept_reals, number, registers)
                t += 1
                number += 1
                if leftmost and not waiting:
                    if decided and candidate != NO_ROW and onward.asked:
                        registers = own.initial
                        for x in range(row, candidate + 1 if len(onward.bits) else row):
                            registers, bits = step(x, registers, own.columns)
                            onward.bits[x - row] = bits
                        bound = last_skipped(codes, onward, row, candidate)
                    elif decided and candidate != NO_ROW:
                        bound = max(candidate - sharing, row)
                    elif not decided:
                        # The candidate of the first undecided start can only move to the right.
                        # Where it would go on at a label is not known.
                        waiting = True
                        tracks.skipped[g] = bound
                        unknown = candidate == NO_ROW or onward.asked
                        bound = row if unknown else max(candidate - sharing, row)
            if not waiting:
                tracks.skipped[g] = bound
            t = _settled(tracks, first_track, t, begin, leftmost, last)
            if machine.prunes and not last:
                t = _without_losers(machine, tracks, first_track, t, end - waits)
            tracks.up_to[g] = t
            tracks.prefix[g] = prefix
        return True

    run.__name__ = run.__qualname__ = f"run_preferred_{name}"
    return compiled(run)  # type: ignore[return-value]


# --- Without aggregates: all starts read the letters of the events


@inlined
def _no_step(_row: int, registers: Any, _columns: Any) -> Any:
    return registers, 0


@inlined
def _no_registers(_ints: Any, _reals: Any, _at: int) -> Any:
    return ()


@inlined
def _nothing_stored(_ints: Any, _reals: Any, _at: int, _registers: Any) -> None:
    pass


run_candidates = candidates_kernel(_no_step, _no_registers, _nothing_stored, "plain")
run_preferred = preferred_kernel(_no_step, _no_registers, _nothing_stored, "plain")


# --- After the events of a stream


@inlined
def _moved(tracks: Tracks, start: int, to: int) -> None:
    """Move a start to another place."""
    tracks.row[to], tracks.held[to] = tracks.row[start], tracks.held[start]
    tracks.state[to], tracks.candidate[to] = tracks.state[start], tracks.candidate[start]
    tracks.stopped[to], tracks.chosen[to] = tracks.stopped[start], tracks.chosen[start]
    tracks.number[to] = tracks.number[start]


@compiled
def _settled(tracks: Tracks, own: int, count: int, begin: int, leftmost: bool, last: bool) -> int:
    """Say of each start of a stream where its window is reported, and return where starts end.

    Starts that have no window are removed.
    """
    latest = begin
    waiting = False
    kept = own
    for s in range(own, count):
        decided = last or tracks.chosen[s] <= TOO_OLD or tracks.state[s] == DEAD
        chosen = HELD
        if decided:
            stopped = tracks.stopped[s] - (tracks.chosen[s] == TOO_LATE)
            latest = max(latest, stopped)
            if tracks.candidate[s] == NO_ROW:
                chosen = NONE
            elif not leftmost:
                chosen = stopped
            elif not waiting:
                chosen = latest
            if chosen == HELD:
                tracks.state[s] = DEAD
        elif leftmost:
            waiting = True
        if chosen != NONE:
            _moved(tracks, s, kept)
            tracks.chosen[kept] = chosen
            kept += 1
    return kept


@inlined
def _first_after(tracks: Tracks, begin: int, end: int, row: int) -> int:
    """Return the first of the starts `begin` … `end` - 1 that lies after a row."""
    while begin < end:
        middle = (begin + end) // 2
        if tracks.row[middle] > row:
            end = middle
        else:
            begin = middle + 1
    return begin


@compiled
def _without_losers(machine: Preferred, tracks: Tracks, own: int, count: int, next_end: int) -> int:
    """Remove held starts that `keep leftmost` will skip in any case, and return where starts end.

    Windows that are found from now on end at the row `next_end` or later.

    A decided window that waits for an earlier start is chosen, or skipped: in both cases each later
    start that it reaches is skipped. Two starts in one state have the same windows from now on: the
    later one is skipped if the earlier one has a window that reaches it, and has none if the earlier
    one has none. Neither is so if the earlier start is itself skipped, for a candidate before it that
    does not reach the later one: such a candidate ends a *segment* of starts.
    """
    sharing = machine.sharing
    rep = np.full(len(machine.accepts), -1, dtype=np.int64)
    rep_segment = np.zeros(len(machine.accepts), dtype=np.int64)
    ends_segment = np.zeros(count - own + 1, dtype=np.bool_)
    segment, done_segment, done_until = 0, -1, NO_ROW
    kept = own
    for s in range(own, count):
        row, state, candidate = tracks.row[s], tracks.state[s], tracks.candidate[s]
        if ends_segment[s - own]:
            segment += 1
        if tracks.chosen[s] == HELD:
            sure = row + sharing <= next_end
            if sure and done_segment == segment and row <= done_until:
                continue
            if state != DEAD:
                other = rep[state]
                if sure and other >= 0 and rep_segment[state] == segment:
                    theirs = tracks.candidate[other]
                    loses = candidate == NO_ROW
                    if theirs != NO_ROW:
                        loses = row <= theirs - sharing
                    if loses:
                        continue
                rep[state], rep_segment[state] = kept, segment
            if candidate != NO_ROW:
                skips_to = max(candidate - sharing, row)
                if skips_to > row:
                    ends_segment[_first_after(tracks, s + 1, count, skips_to) - own] = True
                if state == DEAD:
                    done_segment, done_until = segment, skips_to
        _moved(tracks, s, kept)
        kept += 1
    return kept
