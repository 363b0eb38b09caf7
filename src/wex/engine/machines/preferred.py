"""The tables of windows that `keep` chooses by preference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import common_classes
from wex.engine.kernels.types import Preferred
from wex.engine.machines.tables import codes_of

if TYPE_CHECKING:
    from wex.compile.plan import PlannedWindow
    from wex.engine.machines.own_letters import OwnLetters


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
    # does one with aggregates of its own.
    alike = clauses.limit is None and not (clauses.having or clauses.running)
    return Preferred(
        np.ascontiguousarray(classes),
        np.ascontiguousarray(form.prefix.table[:, columns[:, 0]], dtype=np.int32),
        np.ascontiguousarray(form.starts),
        np.ascontiguousarray(ways.table[:, columns[:, 1]], dtype=np.int32),
        np.ascontiguousarray(ways.accepts),
        np.ascontiguousarray(ways.confirmed),
        np.ascontiguousarray(ways.denied),
        columns[:, 2].astype(np.bool_),
        clauses.keep == "leftmost",
        clauses.sharing,
        clauses.keep == "leftmost" and alike,
    )
