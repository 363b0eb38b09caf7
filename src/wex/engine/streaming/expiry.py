"""Starts that have outlived `within DURATION`, by the clock of the stream and not by its events.

An event shows that a start is too old. Where a stream falls silent no event comes, but a watermark
says as much: every event to come is later than it.
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


def without_outlived(engine: Engine, state: State, watermark: int) -> State:
    """Return a state without the starts that no event after a time, in microseconds, can end."""
    streams, lists = state.streams, dict(state.lists)
    for name, streams_of, ends, drops in _timed(engine, state):
        left = ~(drops & (ends <= watermark))
        if left.all():
            continue
        lists[name] = state.lists[name].filter(pa.array(left))
        counts = np.bincount(streams_of[left], minlength=state.size)
        column = schema.count(name)
        streams = streams.set_column(
            streams.column_names.index(column), column, pa.array(counts.astype(np.int64))
        )
    return State(streams, lists) if streams is not state.streams else state


def next_outlived(engine: Engine, state: State) -> int | None:
    """Return the first time at which a start is too old for all that may come after it."""
    times = [int(ends[drops].min()) for _, _, ends, drops in _timed(engine, state) if drops.any()]
    return min(times, default=None)


def _timed(engine: Engine, state: State) -> Iterator[tuple[str, Ints, Ints, Bools]]:
    """Yield lists of starts: their streams, how long they last, and which of them may be dropped."""
    for at, window in enumerate(engine.windows):
        name = schema.held(at)
        limit, held = window.planned.within_time, state.lists[name]
        if limit is None or not held.num_rows:
            continue
        counts = state.counts(name)
        streams = np.repeat(np.arange(state.size), counts)
        clock = held.column(schema.CLOCK).to_numpy()
        ends = np.where(clock > _LATEST - limit, _LATEST, clock + min(limit, _LATEST))
        waits = np.zeros(len(clock), dtype=np.bool_)
        if window.planned.until is not None:
            # The next event, whenever it comes, may say that a window has ended with the last one.
            states = state.numbers(schema.machine_state(at))[streams]
            waits = window.machine.is_final(states, held.column(schema.SLOT).to_numpy())
        # A pane reaches to the next start, so that only the first starts of a stream can go.
        before = np.cumsum(waits)
        first = (np.cumsum(counts) - counts)[streams]
        drops = before == np.where(first > 0, before[first - 1], 0)
        yield name, streams, ends, drops


_LATEST = 2**63 - 1
