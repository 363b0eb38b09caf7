"""Windows that `keep` chooses by preference: their tables, and those that leave nothing to choose."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import common_classes
from wex.automata.explore import events_ahead
from wex.engine.kernels.types import Preferred
from wex.engine.machines.tables import MachineTables, codes_of

if TYPE_CHECKING:
    from wex.automata.preference import OrderedAutomaton
    from wex.compile.clauses import Clauses
    from wex.compile.plan import PlannedWindow
    from wex.engine.arrays import Ints
    from wex.engine.machines.own_letters import OwnLetters

MOST_STATES = 1 << 12  # states of a window whose automata are searched for a choice


def without_choice(window: PlannedWindow) -> PlannedWindow:
    """Return a window with `keep all` if that finds the same windows: its kernels are faster.

    It does if a start has at most one window. Under `keep leftmost` no two windows may share an
    event, either: here no start begins while another one is open, nor with the last event of a
    window. `until` and `having` deny windows, and predicates with aggregates part the starts: such
    windows stay as they are.
    """
    clauses = window.clauses
    if not clauses.prefers or clauses.conditional or clauses.running:
        return window
    if len(window.window.table) * len(window.prefix.table) > MOST_STATES:
        return window
    tables = MachineTables(window)
    if (tables.final & tables.lasts).any():
        return window
    if clauses.keep == "leftmost" and _may_meet(tables):
        return window
    alone = replace(clauses, keep="all", sharing=0, resuming=None)
    return replace(window, clauses=alone, preference=None)


def _may_meet(tables: MachineTables) -> bool:
    """Tell whether a start may begin while another one is open, or with the last event of a window."""
    known = {(0, -1)}  # a prefix state, and the state of the start that is open, or -1
    pending = list(known)
    while pending:
        before, state = pending.pop()
        born = tables.born[before]
        moved = tables.move[state] if state >= 0 else np.full_like(born, -1)
        if ((born >= 0) & (moved >= 0)).any():
            return True
        after = np.maximum(born, moved)
        after = np.where((after >= 0) & tables.final[after], -1, after)
        new = set(zip(tables.prefix[before].tolist(), after.tolist(), strict=True)) - known
        known |= new
        pending += new
    return False


def preferred_tables(window: PlannedWindow, own: OwnLetters | None) -> Preferred:
    """Return the tables of a window: its ordered automaton over classes of letters."""
    form, clauses = window.preference, window.clauses
    assert form is not None
    count = len(window.letters.rows)
    until = [window.until is not None and bool(window.until >> at & 1) for at in range(count)]
    ways = form.ways
    by_letter, keys = common_classes(form.prefix.classes.tolist(), ways.classes.tolist(), until)
    columns = np.array(keys, dtype=np.int64).reshape(-1, 3)
    if own is None:
        classes = codes_of(window, by_letter).astype(np.uint16)[:, np.newaxis]
    else:
        classes = own.classes(by_letter)
    # A start that grows old, or whose windows `having` denies, decides nothing about others; nor
    # does one with aggregates of its own. Where a window goes on at a label, it need not skip them.
    alike = clauses.limit is None and not (clauses.having or clauses.running or clauses.resuming)
    return Preferred(
        np.ascontiguousarray(classes),
        np.ascontiguousarray(form.prefix.table[:, columns[:, 0]], dtype=np.int32),
        np.ascontiguousarray(form.starts),
        np.ascontiguousarray(ways.table[:, columns[:, 1]], dtype=np.int32),
        np.ascontiguousarray(ways.accepts),
        np.ascontiguousarray(ways.confirmed),
        np.ascontiguousarray(ways.denied),
        columns[:, 2].astype(np.bool_),
        _ahead(ways, clauses),
        clauses.keep == "leftmost",
        clauses.sharing,
        clauses.keep == "leftmost" and alike,
    )


def _ahead(ways: OrderedAutomaton, clauses: Clauses) -> Ints:
    """Return by state how many events a start needs at least to get another candidate.

    0 if `within` does not count events: no start is decided by their number then.
    """
    if clauses.within_events is None:
        return np.zeros(ways.states, dtype=np.int64)
    accepts = ways.accepts.tolist()
    # With `until` a start in a state that accepts waits for the next event to confirm its window.
    steps = events_ahead(ways.table.tolist(), accepts, later=not clauses.until)
    return np.array(steps, dtype=np.int64)
