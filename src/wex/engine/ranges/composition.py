"""The states of a stream at the borders of its ranges, and which specs can be divided into ranges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wex.engine.conformity import Conformity
from wex.engine.input.event_checks import check_events
from wex.engine.kernels.states import BROKEN, run_states
from wex.engine.kernels.types import EMIT, JOIN, Configs, Registers
from wex.engine.machines.choose import Machine
from wex.engine.machines.state_tables import states_in_use
from wex.engine.measures.user_defined import UserDefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.input.batch import Batch
    from wex.engine.window_run import Window

MOST_PHANTOMS = 1 << 16  # of one window: a range with more of them would not be worth it


# --- Which specs can be divided


def obstacle(engine: Engine) -> str | None:
    """Return why one stream cannot be divided into ranges; None: it can."""
    if engine.rows:
        return "rows are made from all events of a window"
    for window in engine.windows:
        reason = obstacle_of(window)
        if reason is not None:
            return f"window `{window.planned.name}`: {reason}"
    return None


def obstacle_of(window: Window) -> str | None:
    """Return why a window cannot be divided; None: it can."""
    machine, clauses = window.machine, window.planned.clauses
    if not isinstance(machine, Machine) or machine.own is not None:
        return "its predicates have aggregates"
    if machine.kind == "preferred":
        return f"`keep {clauses.keep}` chooses among the ways of a start"
    if window.measuring.labelled:
        return "labels are read off all events of a window"
    if clauses.keeps_late:
        return f"`keep {clauses.keep}` waits for `having`"
    if clauses.oldest_wins and not _one_start_ends(machine):
        return f"`keep {clauses.keep}` has to compare the starts of different ranges"
    if machine.kind in ("moving", "sliding") and len(states_in_use(machine)) > MOST_PHANTOMS:
        return "its automaton is too large"
    return None


def _one_start_ends(machine: Machine) -> bool:
    """Tell whether no two starts ever end together, or become one: then their ages do not matter."""
    match machine.tables:
        case Registers():
            return True
        case Configs(ops_at=ops_at, ops=ops):
            ends = [int((ops[a:b, 0] == EMIT).sum()) for a, b in pairwise(ops_at)]
            return machine.clauses.single and max(ends) <= 1 and not (ops[:, 0] == JOIN).any()
    return False


def slow_in_threads(engine: Engine) -> str | None:
    """Return why threads cannot help; None: they can."""
    own = [fold for window in engine.windows for fold in window.measuring.folds]
    if any(isinstance(fold, UserDefined) for fold in own):
        return "an aggregate is written in Python, which runs one thread at a time"
    return None


def reach(engine: Engine) -> int:
    """Return how many events before a range its first events may depend on, beside the states."""
    phases = engine.conformity_check.phases
    return max(engine.tail, phases, *(window.first for window in engine.windows))


# --- States at the borders


class Entry(NamedTuple):
    """A stream before a range: how many events it had, and the states of its automata."""

    position: int
    windows: tuple[int, ...]
    assumption: int

    @property
    def broken(self) -> bool:
        """Tell whether the stream does not conform to its assumptions."""
        return self.assumption == BROKEN


def first_entry(engine: Engine) -> Entry:
    """Return a stream before its first event."""
    return Entry(0, (0,) * len(engine.windows), 0)


@dataclass(frozen=True, eq=False)
class Passage:
    """What some events do to a stream: for each automaton, its state after each state before."""

    events: int
    windows: tuple[Ints, ...]
    assumption: Ints

    def after(self, entry: Entry) -> Entry:
        """Return the stream after the events."""
        states = [int(by[state]) for by, state in zip(self.windows, entry.windows, strict=True)]
        assumption = BROKEN if entry.broken else int(self.assumption[entry.assumption])
        return Entry(entry.position + self.events, tuple(states), assumption)


def passage(engine: Engine, batch: Batch) -> Passage:
    """Return what the events of a batch with one stream do to it; a bad event is a FaultError."""
    check_events(engine, batch)
    codes = engine.codes(batch)
    windows = [
        _after(window, batch, own, np.arange(window.automaton.states))[0]
        for window, own in zip(engine.windows, codes, strict=True)
    ]
    assumption = engine.conformity_check.passage(batch)
    return Passage(int(batch.end[0] - batch.begin[0]), tuple(windows), assumption)


def _after(
    window: Window,
    batch: Batch,
    codes: NDArray[np.generic],
    states: Ints,
    *,
    begin: int | None = None,
    stops: bool = False,
) -> tuple[Ints, int]:
    """Return the states of a window's machine after each of some states, and the next row."""
    table = window.automaton
    end = int(batch.end[0])
    if begin is None:
        begin = int(batch.begin[0])
        begin = min(max(begin, begin + window.first - int(batch.position[0])), end)
    live = np.ones(table.states, dtype=np.bool_)
    return run_states(codes, table.classes, table.step, live, begin, end, end, states, stops)


def synchronised(engine: Engine, batch: Batch) -> tuple[int, Entry] | None:
    """Return a row of a batch with one stream, and the states there whatever they were before.

    None: the states at the end of the batch depend on those before, or an event is bad. The events before the
    row may break the assumptions, from any state: whoever runs them finds out.
    """
    position = int(batch.position[0])
    codes = engine.codes(batch)
    rows, states = [], []
    for window, own in zip(engine.windows, codes, strict=True):
        before = np.arange(window.automaton.states if position > window.first else 1)
        after, row = _after(window, batch, own, before, stops=True)
        if (after != after[0]).any():
            return None
        rows.append(row)
        states.append(after[:1])
    rows.append(engine.conformity_check.after(batch, stops=True)[1])
    cut = max(rows)
    shorter = replace(batch, end=np.array([cut]))
    for number, window in enumerate(engine.windows):
        own, begin = codes[number], rows[number]
        states[number], _ = _after(window, shorter, own, states[number], begin=begin)
    assumption, _ = engine.conformity_check.after(shorter)
    unbroken = np.unique(assumption[assumption != BROKEN])
    if len(unbroken) != 1:
        return None
    position += cut - int(batch.begin[0])
    return cut, Entry(position, tuple(int(state[0]) for state in states), int(unbroken[0]))


def composed(engine: Engine, passages: Sequence[Passage]) -> list[Entry]:
    """Return the entries of all ranges of a stream, and the stream after the last one."""
    entries = [first_entry(engine)]
    for events in passages:
        entries.append(events.after(entries[-1]))
    return entries


def conformity_of(engine: Engine, entry: Entry, times: Ints) -> Conformity:
    """Return how far a stream conforms before a range; `times` are those of the last events before it."""
    counts = np.array([len(times)]) if engine.rated else np.zeros(1, dtype=np.int64)
    own = times if engine.rated else np.empty(0, dtype=np.int64)
    return Conformity(np.array([entry.assumption]), counts, own)
