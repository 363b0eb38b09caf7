"""Expiry of open starts under `within DURATION`, by the watermark.

An event drops the starts that are too old for it. A silent stream has no events, but every event
to come is later than the watermark, so that the watermark can drop starts as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.state import schema
from wex.engine.state.state import State

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.arrays import Bools, Ints
    from wex.engine.engine import Engine


def without_expired(engine: Engine, state: State, watermark: int) -> State:
    """Return a state without the starts that no event after a watermark, in microseconds, can end."""
    streams, lists = state.streams, dict(state.lists)
    for name, owners, ends, droppable in _timed(engine, state):
        left = ~(droppable & (ends <= watermark))
        if left.all():
            continue
        lists[name] = state.lists[name].filter(pa.array(left))
        counts = np.bincount(owners[left], minlength=state.size)
        column = schema.count(name)
        streams = streams.set_column(
            streams.column_names.index(column), column, pa.array(counts.astype(np.int64))
        )
    return State(streams, lists) if streams is not state.streams else state


def next_expiry(engine: Engine, state: State) -> int | None:
    """Return the first watermark at which a start expires; None: none does."""
    times = [
        int(ends[droppable].min())
        for _, _, ends, droppable in _timed(engine, state)
        if droppable.any()
    ]
    return min(times, default=None)


def _timed(engine: Engine, state: State) -> Iterator[tuple[str, Ints, Ints, Bools]]:
    """Yield for each list of starts its name, their streams, last times, and which may be dropped."""
    for number, window in enumerate(engine.windows):
        name = schema.held(number)
        limit, held = window.planned.clauses.within_time, state.lists[name]
        if limit is None or not held.num_rows:
            continue
        counts = state.counts(name)
        streams = np.repeat(np.arange(state.size), counts)
        clock = held.column(schema.CLOCK).to_numpy()
        ends = np.where(clock > _LATEST - limit, _LATEST, clock + min(limit, _LATEST))
        slots = held.column(schema.SLOT).to_numpy()
        waits = np.zeros(len(clock), dtype=np.bool_)
        if window.planned.until is not None:
            # The next event, whenever it comes, may be the `until` of a window that ended before it.
            states = state.numbers(schema.machine_state(number))[streams]
            waits = window.machine.is_final(states, slots)
        if window.planned.clauses.prefers:
            # A start that has a window stays until an event, or the end, reports it.
            waits = waits | (slots == schema.BORDER)
            waits |= held.column(schema.CANDIDATE).to_numpy() >= 0
        # A pane reaches to the next start, so that only the first starts of a stream can go.
        before = np.cumsum(waits)
        first = (np.cumsum(counts) - counts)[streams]
        droppable = before == np.where(first > 0, before[first - 1], 0)
        yield name, streams, ends, droppable


_LATEST = 2**63 - 1
