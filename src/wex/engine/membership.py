"""`wex.label`: the rows of some data as they are, with the windows that each of them belongs to."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.data_errors import arrow_errors
from wex.engine.engine import Engine
from wex.engine.event_rows import PIECE, events_of, window_ids
from wex.engine.input.columns import combine_chunks, table_of
from wex.engine.input.prepare import PreparedInput
from wex.errors import DataError
from wex.spec.arguments import with_arguments
from wex.spec.types import OTHER
from wex.stages import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.engine.arrays import Ints
    from wex.engine.input.columns import Data
    from wex.spec import SpecLike, tree

COUNT, NAMES, IDS = "window_count", "window_names", "window_ids"


def label(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> pa.Table:
    """Return the rows of some data in their order, with the windows that each belongs to."""
    filled = with_arguments(spec, partition_by, order_by)
    table = table_of(data)
    for name in (COUNT, NAMES, IDS):
        if name in table.column_names:
            message = f"the result has a column `{name}` of its own"
            raise DataError("column-clash", message, "rename the column of the data", column=name)
    number = "#"
    while number in table.column_names:
        number += "#"
    with arrow_errors():
        windows, rows, owners = _memberships(_numbering_engine(filled, number), table, number)
        order = np.argsort(rows, kind="stable")  # the windows of a row stay in their order
        counts = np.bincount(rows, minlength=table.num_rows)
        ids = window_ids(windows, [name.text for name in filled.stream.partition_by])
        columns = {NAMES: windows.column("window_name"), IDS: ids}
        table = table.append_column(COUNT, pa.array(counts, pa.int64()))
        for name, texts in columns.items():
            lists = list(_lists(counts, owners[order], combine_chunks(texts)))
            table = table.append_column(name, pa.chunked_array(lists, pa.list_(pa.string())))
    return table


@lru_cache(maxsize=64)
def _numbering_engine(spec: tree.Spec, number: str) -> Engine:
    """Return the engine of a spec for data with one more column, the number of each row."""
    plan = plan_of(spec)
    fields = (*plan.stream.fields, (number, OTHER))
    return Engine(replace(plan, stream=replace(plan.stream, fields=fields)))


def _memberships(engine: Engine, table: pa.Table, number: str) -> tuple[pa.Table, Ints, Ints]:
    """Return the windows of a table, the row of each event of each window, and its window."""
    numbers = pa.array(np.arange(table.num_rows), pa.int64())
    prepared = PreparedInput(engine, table.append_column(number, numbers))
    prior = engine.fresh(len(prepared.starts))
    batch = prepared.batch(prior)
    windows, streams, *_ = engine.find(batch, prior, last=True)
    events = list(events_of(batch, windows, streams))
    rows: Ints = batch.table.column(number).to_numpy()
    places = rows[np.concatenate([part.rows for part in events])]
    return windows, places, np.concatenate([part.windows for part in events])


def _lists(counts: Ints, owners: Ints, texts: pa.Array) -> Iterator[pa.Array]:
    """Yield lists of so many texts, which are given by their numbers, piece by piece."""
    offsets = np.concatenate([[0], np.cumsum(counts)])
    row = 0
    while row < len(counts):
        following = int(np.searchsorted(offsets, offsets[row] + PIECE, side="right")) - 1
        end = min(max(following, row + 1), len(counts))
        first, last = int(offsets[row]), int(offsets[end])
        places = pa.array((offsets[row : end + 1] - first).astype(np.int32))
        yield pa.ListArray.from_arrays(places, texts.take(pa.array(owners[first:last])))
        row = end
