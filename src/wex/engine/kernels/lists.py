"""Lists of starts, the unit that moves: all starts in one list are in one window state.

Starts are numbered in the order of their birth, and a list is a sequence of runs of consecutive
numbers, ascending. Appending the next birth widens the youngest run. Joining two lists takes a step
for each run that interleaves, and most lists do not interleave.

Three arrays hold them. `lists[at]` has the youngest run of a list, LO to HI, and the older ones
as a chain from HEAD to TAIL; an empty list has HI below LO. Its last row is the head of the runs
given back and the number of those handed out. `runs[r]` are LO and HI of a run in a chain, its
neighbours BEFORE and AFTER, and SINCE for lists that keep a time (see `moving`). `births[start]`
are PANE and CLOCK, where a start is and when.
"""

from __future__ import annotations

import numpy as np

from wex.engine.arrays import Ints
from wex.engine.kernels.compiled import inlined
from wex.engine.kernels.types import Choice

NIL = -1
LO, HI = 0, 1
HEAD, TAIL = 2, 3
BEFORE, AFTER, SINCE = 2, 3, 4
PANE, CLOCK = 0, 1
LIST_WIDTH, RUN_WIDTH, BIRTH_WIDTH = 4, 5, 2
NOTHING = (1 << 62, -2)  # LO and HI of an empty list
FAR = 1 << 62  # beyond all panes
BEFORE_ALL = -FAR  # before all panes, those of phantoms included


@inlined
def clear(lists: Ints) -> None:
    """Empty all lists, and take all runs out of use."""
    for at in range(len(lists)):
        lists[at, LO] = NOTHING[0]
        lists[at, HI] = NOTHING[1]
        lists[at, HEAD] = NIL
        lists[at, TAIL] = NIL
    lists[-1, 0] = NIL
    lists[-1, 1] = 0


@inlined
def is_empty(lists: Ints, at: int) -> bool:
    """Tell whether a list is empty."""
    return lists[at, HI] < lists[at, LO]  # type: ignore[no-any-return]


@inlined
def oldest_of(lists: Ints, runs: Ints, at: int) -> int:
    """Return the oldest start of a list that is not empty."""
    return runs[lists[at, HEAD], LO] if lists[at, HEAD] != NIL else lists[at, LO]  # type: ignore[no-any-return]


@inlined
def new_run(lists: Ints, runs: Ints, low: int, high: int) -> int:
    """Return a run that holds some starts."""
    run = lists[-1, 0]
    if run != NIL:
        lists[-1, 0] = runs[run, AFTER]
    else:
        run = lists[-1, 1]
        lists[-1, 1] += 1
    runs[run, LO] = low
    runs[run, HI] = high
    return run  # type: ignore[no-any-return]


@inlined
def give_back(lists: Ints, runs: Ints, run: int) -> None:
    """Take a run out of use."""
    runs[run, AFTER] = lists[-1, 0]
    lists[-1, 0] = run


@inlined
def link(lists: Ints, runs: Ints, at: int, run: int) -> None:
    """Put a run at the end of the chain of a list."""
    last = lists[at, TAIL]
    runs[run, BEFORE] = last
    runs[run, AFTER] = NIL
    if last == NIL:
        lists[at, HEAD] = run
    else:
        runs[last, AFTER] = run
    lists[at, TAIL] = run


@inlined
def pop(lists: Ints, runs: Ints, at: int) -> int:
    """Take the first run off the chain of a list and return it."""
    first = lists[at, HEAD]
    following = runs[first, AFTER]
    lists[at, HEAD] = following
    if following == NIL:
        lists[at, TAIL] = NIL
    else:
        runs[following, BEFORE] = NIL
    return first  # type: ignore[no-any-return]


@inlined
def append(lists: Ints, runs: Ints, at: int, low: int, high: int) -> None:
    """Put starts that are younger than all others at the end of a list."""
    if lists[at, HI] != low - 1:
        if not is_empty(lists, at):
            link(lists, runs, at, new_run(lists, runs, lists[at, LO], lists[at, HI]))
        lists[at, LO] = low
    lists[at, HI] = high


@inlined
def drop(lists: Ints, runs: Ints, at: int) -> None:
    """Empty a list."""
    lists[at, LO] = NOTHING[0]
    lists[at, HI] = NOTHING[1]
    if lists[at, HEAD] != NIL:
        runs[lists[at, TAIL], AFTER] = lists[-1, 0]
        lists[-1, 0] = lists[at, HEAD]
        lists[at, HEAD] = NIL
        lists[at, TAIL] = NIL


@inlined
def swap(lists: Ints, one: int, two: int) -> None:
    """Exchange two lists."""
    for column in range(LIST_WIDTH):
        moved = lists[one, column]
        lists[one, column] = lists[two, column]
        lists[two, column] = moved


@inlined
def put_first(lists: Ints, runs: Ints, at: int, run: int) -> None:
    """Put a run at the beginning of the chain of a list that has one."""
    first = lists[at, HEAD]
    runs[run, BEFORE] = NIL
    runs[run, AFTER] = first
    runs[first, BEFORE] = run
    lists[at, HEAD] = run


@inlined
def put_behind(lists: Ints, runs: Ints, at: int, place: int, run: int) -> None:
    """Put a run into a chain, behind another one."""
    behind = runs[place, AFTER]
    runs[run, BEFORE] = place
    runs[run, AFTER] = behind
    runs[place, AFTER] = run
    if behind == NIL:
        lists[at, TAIL] = run
    else:
        runs[behind, BEFORE] = run


@inlined
def absorb(lists: Ints, runs: Ints, at: int, place: int) -> bool:
    """Make a run one with the run behind it, if their starts follow one another; tell whether."""
    behind = runs[place, AFTER]
    follows = behind != NIL and runs[place, HI] + 1 == runs[behind, LO]
    if follows:
        runs[place, HI] = runs[behind, HI]
        following = runs[behind, AFTER]
        runs[place, AFTER] = following
        if following == NIL:
            lists[at, TAIL] = place
        else:
            runs[following, BEFORE] = place
        give_back(lists, runs, behind)
    return follows  # type: ignore[no-any-return]


@inlined
def interleave(lists: Ints, runs: Ints, source: int, target: int) -> None:
    """Move all of a list into another one that has an older start, however they overlap."""
    link(lists, runs, source, new_run(lists, runs, lists[source, LO], lists[source, HI]))
    link(lists, runs, target, new_run(lists, runs, lists[target, LO], lists[target, HI]))
    # Each run finds its place behind another one. Lists overlap at their young ends if at all, so
    # the first place is looked for from there.
    place = lists[target, TAIL]
    run = lists[source, HEAD]
    while runs[place, LO] > runs[run, LO]:
        place = runs[place, BEFORE]
    while run != NIL:
        while runs[place, AFTER] != NIL and runs[runs[place, AFTER], LO] < runs[run, LO]:
            place = runs[place, AFTER]
        following = runs[run, AFTER]
        put_behind(lists, runs, target, place, run)
        if not absorb(lists, runs, target, place):
            place = run
        absorb(lists, runs, target, place)
        run = following
    lists[source, HEAD] = NIL
    lists[source, TAIL] = NIL
    last = lists[target, TAIL]
    lists[target, LO] = runs[last, LO]
    lists[target, HI] = runs[last, HI]
    place = runs[last, BEFORE]
    lists[target, TAIL] = place
    if place == NIL:
        lists[target, HEAD] = NIL
    else:
        runs[place, AFTER] = NIL
    give_back(lists, runs, last)


@inlined
def join(lists: Ints, runs: Ints, source: int, target: int) -> None:
    """Move all of one list into another, in the order of birth."""
    if not is_empty(lists, source):
        if is_empty(lists, target):
            swap(lists, source, target)
        else:
            if oldest_of(lists, runs, source) < oldest_of(lists, runs, target):
                swap(lists, source, target)
            if lists[source, HEAD] == NIL and lists[source, LO] > lists[target, HI]:
                append(lists, runs, target, lists[source, LO], lists[source, HI])
            else:
                interleave(lists, runs, source, target)
            lists[source, LO] = NOTHING[0]
            lists[source, HI] = NOTHING[1]


@inlined
def only_oldest(lists: Ints, runs: Ints, at: int) -> None:
    """Leave only the oldest start in a list that is not empty."""
    first = oldest_of(lists, runs, at)
    drop(lists, runs, at)
    lists[at, LO] = first
    lists[at, HI] = first


@inlined
def is_in_chain(lists: Ints, runs: Ints, at: int, since: int) -> bool:
    """Tell whether the last run that has entered a chain did so at a time."""
    last = lists[at, TAIL]
    return last != NIL and runs[last, SINCE] == since  # type: ignore[no-any-return]


@inlined
def older_in_chain(lists: Ints, runs: Ints, at: int, start: int) -> None:
    """Put a start instead of the one that has entered a chain last, if it is older."""
    last = lists[at, TAIL]
    runs[last, LO] = min(runs[last, LO], start)
    runs[last, HI] = runs[last, LO]


@inlined
def enter_chain(lists: Ints, runs: Ints, source: int, target: int, since: int) -> None:
    """Move all of a list that is not empty to the end of one whose runs keep a time."""
    run = lists[source, HEAD]
    while run != NIL:
        following = runs[run, AFTER]
        runs[run, SINCE] = since
        link(lists, runs, target, run)
        run = following
    run = new_run(lists, runs, lists[source, LO], lists[source, HI])
    runs[run, SINCE] = since
    link(lists, runs, target, run)
    lists[source, LO] = NOTHING[0]
    lists[source, HI] = NOTHING[1]
    lists[source, HEAD] = NIL
    lists[source, TAIL] = NIL


@inlined
def too_old(then: int, now: int, limit: int) -> bool:
    """Tell whether an event lies further back than a limit."""
    # Times may lie up to 2^64 apart; as unsigned numbers their difference is right.
    return bool(np.uint64(now) - np.uint64(then) > np.uint64(limit))


@inlined
def expire(lists: Ints, runs: Ints, births: Ints, at: int, now: int, limit: int) -> None:
    """Forget the starts of a list that lie further back than a limit."""
    run = lists[at, HEAD]
    while run != NIL:
        while runs[run, LO] <= runs[run, HI] and too_old(births[runs[run, LO], CLOCK], now, limit):
            runs[run, LO] += 1
        if runs[run, LO] <= runs[run, HI]:
            run = NIL
        else:
            give_back(lists, runs, pop(lists, runs, at))
            run = lists[at, HEAD]
    if lists[at, HEAD] == NIL:
        while not is_empty(lists, at) and too_old(births[lists[at, LO], CLOCK], now, limit):
            lists[at, LO] += 1
        if is_empty(lists, at):
            lists[at, LO] = NOTHING[0]
            lists[at, HI] = NOTHING[1]


# --- Writing windows and open starts


@inlined
def emit_run(births: Ints, first: int, final: int, starts: Ints, written: int) -> int:
    """Write the panes of adjacent starts behind the windows written so far; -1: no room."""
    if written + final - first + 1 > len(starts):
        return -1
    for start in range(first, final + 1):
        starts[written + start - first] = births[start, PANE]
    return written + final - first + 1


@inlined
def first_since(births: Ints, first: int, final: int, since: int) -> int:
    """Return the first of adjacent starts that is at a pane or behind it; the next one if none is."""
    if births[first, PANE] >= since:
        return first
    low, high = first, final + 1
    while low + 1 < high:
        middle = (low + high) // 2
        if births[middle, PANE] < since:
            low = middle
        else:
            high = middle
    return high


@inlined
def emit(
    lists: Ints,
    runs: Ints,
    births: Ints,
    at: int,
    since: int,
    most: int,
    starts: Ints,
    written: int,
    cut: int,
) -> tuple[int, int]:
    """Write the panes of the `most` oldest starts of a list, from a pane on, behind the windows written so far.

    Return how many windows there are then, -1 if there is no room, and the pane that none may lie
    behind, because starts before it are left out: `cut`, or an earlier one.
    """
    run = lists[at, HEAD]
    more = not is_empty(lists, at)
    left = most
    while more and written >= 0:
        more = run != NIL  # the chain first, then the youngest run
        first = runs[run, LO] if more else lists[at, LO]
        final = runs[run, HI] if more else lists[at, HI]
        first = first_since(births, first, final, since)
        last = min(final, first + left - 1)
        written = emit_run(births, first, last, starts, written)
        left -= last - first + 1
        if left == 0 and (more or last < final):
            cut = min(cut, births[last, PANE])
            more = False
        if more:
            run = runs[run, AFTER]
    return written, cut


@inlined
def gather(
    lists: Ints,
    runs: Ints,
    births: Ints,
    at: int,
    clock: Ints,
    row: int,
    limit: int,
    only_oldest: bool,
    choice: Choice,
    starts: Ints,
    written: int,
    oldest: int,
    cut: int,
) -> tuple[int, int, int]:
    """Write the starts of a list that ends at a row, or find out the oldest start of several.

    Return how many windows there are then, -1 if there is no room, the oldest pane so far, and
    the pane that none may lie behind.
    """
    if limit >= 0:
        expire(lists, runs, births, at, clock[row], limit)
    if written >= 0 and not is_empty(lists, at):
        if only_oldest:
            oldest = min(oldest, births[oldest_of(lists, runs, at), PANE])
        else:
            since = choice.since[row] if len(choice.since) else BEFORE_ALL
            if since != FAR:
                written, cut = emit(
                    lists, runs, births, at, since, choice.most, starts, written, cut
                )
    return written, oldest, cut


@inlined
def gather_chain(
    lists: Ints,
    runs: Ints,
    births: Ints,
    at: int,
    row: int,
    only_oldest: bool,
    choice: Choice,
    starts: Ints,
    written: int,
    oldest: int,
    cut: int,
) -> tuple[int, int, int]:
    """Write the starts of a chain in which windows end, or find out the oldest start of several.

    The first run has the oldest one. Return what `gather` returns.
    """
    run = lists[at, HEAD]
    if only_oldest:
        if run != NIL:
            oldest = min(oldest, births[runs[run, LO], PANE])
    else:
        since = choice.since[row] if len(choice.since) else BEFORE_ALL
        left = choice.most
        run = run if since != FAR else NIL
        while run != NIL and written >= 0:
            first = first_since(births, runs[run, LO], runs[run, HI], since)
            last = min(runs[run, HI], first + left - 1)
            written = emit_run(births, first, last, starts, written)
            left -= last - first + 1
            following = runs[run, AFTER]
            if left == 0 and (following != NIL or last < runs[run, HI]):
                cut = min(cut, births[last, PANE])
                following = NIL
            run = following
    return written, oldest, cut


@inlined
def finish(
    starts: Ints, ends: Ints, before: int, written: int, oldest: int, cut: int, row: int
) -> int:
    """Write where the windows gathered end, and the oldest start if only that is wanted.

    Starts behind the pane `cut` are taken back. Return how many windows there are then, or -1 if
    there is no room.
    """
    if written >= 0 and cut != FAR:
        gathered, written = written, before
        for window in range(before, gathered):
            starts[written] = starts[window]
            written += starts[window] <= cut
    if written >= 0 and oldest != FAR:
        if written < len(starts):
            starts[written] = oldest
            written += 1
        else:
            written = -1
    for window in range(before, written):
        ends[window] = row
    return written


@inlined
def hold(lists: Ints, runs: Ints, at: int, slot: int, slot_of: Ints) -> None:
    """Note for all starts of a list in which slot or state they are."""
    run = lists[at, HEAD]
    while run != NIL:
        for start in range(runs[run, LO], runs[run, HI] + 1):
            slot_of[start] = slot
        run = runs[run, AFTER]
    for start in range(lists[at, LO], lists[at, HI] + 1):
        slot_of[start] = slot


@inlined
def write_held(births: Ints, born: int, slot_of: Ints, panes: Ints, slots: Ints, kept: int) -> int:
    """Write the starts that are held, in the order of their birth, and return how many there are."""
    for start in range(born):
        if slot_of[start] != NIL:
            panes[kept] = births[start, PANE]
            slots[kept] = slot_of[start]
            kept += 1
    return kept
