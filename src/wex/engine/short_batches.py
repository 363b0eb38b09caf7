"""Short batches of a stream with many open starts, most of which they do not touch.

The time of a batch should not depend on starts that nothing happens to. Where many are open, all but
the last ones are set aside (`state/shelf.py`), and the batch runs with a sample of them. If that shows that
the batch touches those set aside, it runs again with all of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.kernels.types import Automata, Configs
from wex.engine.state import schema
from wex.engine.state.shelf import shelf_of
from wex.engine.state.state import State
from wex.errors import WexError

if TYPE_CHECKING:
    from wex.engine.engine import Engine, Reported
    from wex.engine.input.batch import Batch
    from wex.engine.state.shelf import Shelf
    from wex.engine.window_run import Window

MANY = 4096  # open starts from which on some are set aside
SHORT = 8  # so many times fewer events than open starts has a batch that is short


def run_batch(engine: Engine, batch: Batch, prior: State) -> tuple[pa.Table, State | None]:
    """Return the windows that a batch reports and the next state, as `Engine.run` does."""
    shelves = _shelves(engine, batch, prior)
    if shelves:
        try:
            reported = engine.find(batch, _shown(prior, shelves), last=False)
        except WexError:
            pass  # maybe because a sample has no whole panes; an error of the data comes again
        else:
            after = _after(engine, reported, shelves)
            if after is not None:
                return reported.windows, after
    return engine.run(batch, prior, last=False)


def _shelves(engine: Engine, batch: Batch, prior: State) -> dict[str, Shelf]:
    """Return the shelves of the windows that have many open starts, if the batch is short."""
    if prior.size != 1 or engine.keeping:
        return {}
    rows = int(batch.end[0] - batch.begin[0])
    if prior.shelves:
        return dict(prior.shelves) if rows * SHORT <= MANY else {}
    shelves = {}
    for at, window in enumerate(engine.windows):
        held = prior.lists[schema.held(at)]
        if held.num_rows >= max(MANY, rows * SHORT) and _moves_together(window, held):
            shelf = shelf_of(held)
            if shelf is not None:
                shelves[schema.held(at)] = shelf
    return shelves


def _moves_together(window: Window, held: pa.Table) -> bool:
    """Tell whether starts in one slot never part, and whether a window of one shows in the result.

    `within` parts them. `having` hides windows, and would judge a sample by a part of its panes.
    """
    clauses, tables = window.planned.clauses, window.machine.tables
    if clauses.limit is not None or clauses.having or clauses.prefers or window.machine.own:
        return False
    if schema.CLOSES in held.column_names:
        asked = held.column(schema.CLOSES).to_numpy() != schema.NOT_ASKED
        if asked.any():
            return False
    if isinstance(tables, Automata):
        return not len(tables.chain_size)  # starts in a chain are in a new slot at each event
    return isinstance(tables, Configs)


def _shown(prior: State, shelves: dict[str, Shelf]) -> State:
    """Return the state with the starts that are not set aside, and samples of those that are."""
    lists = prior.lists | {name: shelf.shown for name, shelf in shelves.items()}
    return State(_counted(prior.streams, lists, shelves), lists)


def _after(engine: Engine, reported: Reported, shelves: dict[str, Shelf]) -> State | None:
    """Return the next state, with the starts set aside; None: the batch touched one of them."""
    state, table = reported.state, reported.windows
    assert state is not None
    starts, names = table.column("start_index").to_numpy(), table.column("window_name")
    following: dict[str, Shelf] = {}
    for at, window in enumerate(engine.windows):
        shelf = shelves.get(schema.held(at))
        if shelf is None:
            continue
        own = starts
        if len(engine.windows) > 1:
            own = starts[np.array(names.to_pylist(), dtype=object) == window.planned.name]
        after = shelf.after(state.lists[schema.held(at)], own)
        if after is None:
            return None
        following[schema.held(at)] = after
    lists = state.lists | {name: shelf.starts for name, shelf in following.items()}
    if any(shelf.is_full for shelf in following.values()):
        following = {}
    return replace(State(_counted(state.streams, lists, shelves), lists), shelves=following)


def _counted(streams: pa.Table, lists: dict[str, pa.Table], shelves: dict[str, Shelf]) -> pa.Table:
    """Return the table of a stream with the lengths of the lists that have shelves."""
    for name in shelves:
        column = schema.count(name)
        place = streams.column_names.index(column)
        count = pa.array([lists[name].num_rows], pa.int64())
        streams = streams.set_column(place, column, count)
    return streams
