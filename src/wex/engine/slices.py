"""Batches in slices, where a late `keep` would have to choose among too many windows.

`keep` has to wait for `having`: all windows of a batch are found and measured first, and with
`match any+` these are as many as pairs of events. A state has no starts that are gone, so with slices
in place of one large batch there are fewer to be found, and few at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.input.batch import Batch
from wex.engine.machines.room import TooManyWindowsError, bounded
from wex.engine.state.state import State, joined

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[[Batch, State, bool], tuple[pa.Table, State | None]]

FEWER = 4  # times fewer events has the next slice, if one has too many windows


def run_in_slices(
    run: Run, batch: Batch, prior: State, *, last: bool
) -> tuple[pa.Table, State | None]:
    """Return what `run` returns for a batch, by slices of its streams if need be."""
    try:
        with bounded(True):
            return run(batch, prior, last)
    except TooManyWindowsError:
        pass
    if prior.size == 1:
        return _stream_in_slices(run, batch, prior, last=last)
    half = prior.size // 2
    tables, states = [], []
    for low, high in ((0, half), (half, prior.size)):
        part, own = batch.part(low, high), prior.take(np.arange(low, high))
        table, after = run_in_slices(run, part, own, last=last)
        tables.append(table)
        states += [] if after is None else [after]
    return pa.concat_tables(tables), joined(states) if states else None


def _stream_in_slices(
    run: Run, batch: Batch, state: State, *, last: bool
) -> tuple[pa.Table, State | None]:
    """Return what `run` returns for one stream, a slice of its events after the other."""
    row, end = int(batch.begin[0]), int(batch.end[0])
    size = max(1, (end - row) // FEWER)
    tables: list[pa.Table] = []
    after: State | None = state
    while after is not None and (row < end or not tables):
        stop = min(row + size, end)
        try:
            with bounded(stop - row > 1):  # of one event all windows are found, however many
                table, following = run(_slice(batch, after, row, stop), after, last and stop == end)
        except TooManyWindowsError:
            size = max(1, (stop - row) // FEWER)
            continue
        tables.append(table)
        after, row, size = following, stop, 2 * size
    return pa.concat_tables(tables), after


def _slice(batch: Batch, state: State, row: int, end: int) -> Batch:
    """Return some events of the only stream of a batch, behind those that its state keeps."""
    events, tails = batch.table.slice(row, end - row), state.tails
    kept = tails.num_rows
    table = pa.concat_tables([tails, events]) if kept else events
    first, begin, stop = (np.array([at]) for at in (0, kept, kept + end - row))
    return Batch(table, batch.fields, batch.keys, first, begin, stop, state.positions)
