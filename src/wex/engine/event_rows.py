"""The rows of windows: a row for every event of every window, instead of a row for every window.

See "Rows" in docs/semantics.md. Rows are made from the columns of a batch, in which the events of
open windows are kept as long as a window may still begin with them (`oldest_starts`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex import limits
from wex.compile.clauses import clauses_of
from wex.engine.input.columns import concat_arrays, spans
from wex.engine.labels import event_labels
from wex.engine.state import schema
from wex.errors import DataError, WexError
from wex.spec.types import OTHER
from wex.spec.vocabulary import ROW_COLUMNS
from wex.stages import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.compile.plan import Plan
    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine, Reported
    from wex.engine.input.batch import Batch
    from wex.engine.state.state import State
    from wex.engine.window_run import FoundWindows, WindowRun
    from wex.spec import tree

WINDOW_ID = "window_id"
EVENT_INDEX = "event_index"
ROW_INDEX = "row_index"
LABEL = "label"  # only of specs that have labels
ROWS_OF_A_BATCH = "the rows of the windows of one batch"
PIECE = 1 << 22  # rows that are made at a time: texts of one Arrow array have at most 2 GiB


# --- Engines that return rows


@lru_cache(maxsize=64)
def rows_engine(spec: tree.Spec, others: tuple[str, ...] = (), *, numbered: bool = False) -> Engine:
    """Return the engine that finds rows of windows, with columns that the spec does not declare.

    If the rows of the data are `numbered`, they have a column `row_index`.
    """
    from wex.engine.engine import Engine  # noqa: PLC0415  (it imports this module)

    return Engine(rows_plan(plan_of(spec), others, numbered=numbered), rows=True)


def rows_plan(plan: Plan, others: Sequence[str], *, numbered: bool = False) -> Plan:
    """Return a plan that passes on other columns; names that clash in rows are a DataError.

    Such a column is a field of type other: it goes through unchanged, and orders no events.
    """
    declared = dict(plan.stream.fields)
    added = [name for name in dict.fromkeys(others) if name not in declared]
    _check_names(plan, [*declared, *added])
    if numbered:
        added.append(ROW_INDEX)
    fields = (*plan.stream.fields, *((name, OTHER) for name in added))
    return replace(plan, stream=replace(plan.stream, fields=fields))


def endless_rows_engine(spec: tree.Spec) -> Engine:
    """Return the engine that finds rows of windows in streams without end.

    It keeps the events of open windows, so each window must say how many events it has at most.
    """
    engine = rows_engine(spec)
    for window in spec.windows:
        if clauses_of(window).within_events is None:
            message = (
                f"window `{window.name.text}` has no `within N events`: on a stream without end,"
                " any number of events may have to be held for its rows"
            )
            hint = (
                f"add `within 1000 events`, or another number, to `{window.name.text}`;"
                " or ask for rows of a table, a file or a batch DataFrame"
            )
            raise WexError("rows-unbounded", message, hint)
    return engine


def with_row_index(table: pa.Table, first: int = 0) -> pa.Table:
    """Return a table with a column that numbers its rows."""
    numbers = np.arange(first, first + table.num_rows)
    return table.append_column(ROW_INDEX, pa.array(numbers, pa.int64()))


def _check_names(plan: Plan, columns: Sequence[str]) -> None:
    measures = {measure.name for window in plan.windows for measure in window.measures}
    labelled = any(window.labels is not None for window in plan.windows)
    own = (*ROW_COLUMNS, LABEL) if labelled else ROW_COLUMNS
    for name in columns:
        if name in own:
            message = f"the rows of windows have a column `{name}` of their own"
            raise DataError("column-clash", message, "rename the column of the data", column=name)
        if name in measures:
            message = f"a column of the data and a measure are both called `{name}`"
            hint = "give the measure another name"
            if name not in dict(plan.stream.fields):
                hint += ", or drop the column, which the spec does not read"
            raise DataError("column-clash", message, hint, column=name)
    for name in (name for name in own if name in measures):
        message = f"a measure is called `{name}`, and the rows of windows have such a column"
        raise DataError("column-clash", message, "give the measure another name", column=name)


# --- The events that are kept


def oldest_starts(state: State, windows: Iterable[int]) -> Ints:
    """Return the position of the oldest open start of some windows in each stream, or its next one.

    A window that is reported later begins there or later.
    """
    oldest = state.positions.copy()
    for window in windows:
        name = schema.held(window)
        held = state.lists[name]
        if held.num_rows:
            owners = np.repeat(np.arange(state.size), state.counts(name))
            np.minimum.at(oldest, owners, held.column(schema.POSITION).to_numpy())
    return oldest


# --- Rows


class WindowEvents(NamedTuple):
    """Some events of windows: for each its window, its position in the stream, its row in the batch."""

    windows: Ints
    positions: Ints
    rows: Ints


def events_of(batch: Batch, windows: pa.Table, streams: Ints) -> Iterator[WindowEvents]:
    """Yield the events of windows in a batch, in their order and piece by piece; at least one piece."""
    starts = windows.column("start_index").to_numpy()
    sizes = windows.column("end_index").to_numpy() - starts + 1
    ends = np.cumsum(sizes)
    total = int(sizes.sum())
    limits.require("rows", total, ROWS_OF_A_BATCH)
    # From a number of an event among all of them to its position, and from there to its row.
    shift = starts - (ends - sizes)
    first = (batch.begin - batch.position)[streams]
    for low in range(0, max(total, 1), PIECE):
        numbers = np.arange(low, min(low + PIECE, total))
        owners = np.searchsorted(ends, numbers, side="right")
        positions = numbers + shift[owners]
        yield WindowEvents(owners, positions, positions + first[owners])


def labels_in_order(
    runs: Sequence[WindowRun], parts: Sequence[FoundWindows], order: Ints | None
) -> pa.Array:
    """Return the innermost label of each event of all windows, which are reported in an order."""
    sizes = np.concatenate([part.ends - part.starts + 1 for part in parts])
    limits.require("rows", int(sizes.sum()), ROWS_OF_A_BATCH)
    labels = concat_arrays(
        [
            event_labels(run, part.streams, part.starts, part.ends)
            for run, part in zip(runs, parts, strict=True)
        ]
    )
    if order is None:
        return labels
    ends = np.cumsum(sizes)
    return labels.take(pa.array(spans((ends - sizes)[order], ends[order])))


def event_rows(engine: Engine, batch: Batch, reported: Reported) -> pa.Table:
    """Return the rows of the windows that are reported in a batch."""
    windows, labels, done = reported.windows, reported.labels, 0
    named = windows.append_column(WINDOW_ID, window_ids(windows, engine.stream.partition_by))
    pieces = []
    for events in events_of(batch, windows, reported.streams):
        count = len(events.rows)
        own = None if labels is None else labels.slice(done, count)
        pieces.append(_piece(engine, batch, named, events, own))
        done += count
    return pa.concat_tables(pieces)


def _piece(
    engine: Engine, batch: Batch, windows: pa.Table, events: WindowEvents, labels: pa.Array | None
) -> pa.Table:
    owners, rows = pa.array(events.windows), pa.array(events.rows)
    keys = engine.stream.partition_by
    fields = [name for name in engine.fields if name not in (*keys, ROW_INDEX)]
    times = ("window_start", "window_end") if engine.stream.order_by else ()
    about_window = (*keys, "window_name", WINDOW_ID, "start_index", "end_index", *times)
    measures = [name for name in windows.column_names if name not in about_window]
    columns = {name: windows.column(name).take(owners) for name in about_window}
    # What is known about the event in its window comes before the event itself.
    columns[EVENT_INDEX] = pa.chunked_array([pa.array(events.positions)])
    if labels is not None:
        columns[LABEL] = pa.chunked_array([labels])
    numbered = [ROW_INDEX] if ROW_INDEX in engine.fields else []
    columns |= {name: batch.table.column(name).take(rows) for name in (*numbered, *fields)}
    columns |= {name: windows.column(name).take(owners) for name in measures}
    return pa.table(columns)


def window_count(rows: pa.Table) -> int:
    """Return how many windows a table of rows has."""
    if EVENT_INDEX not in rows.column_names:
        return int(rows.num_rows)
    firsts = pc.equal(rows.column(EVENT_INDEX), rows.column("start_index"))
    return int(pc.sum(firsts).as_py() or 0)


# --- The names of windows


def window_ids(windows: pa.Table, keys: Sequence[str]) -> pa.ChunkedArray:
    r"""Return a text for each window that no other window has: its key, name and indices.

    >>> windows = {"k": ["a/b", None], "window_name": ["w", "w"], "start_index": [0, 3], "end_index": [1, 9]}
    >>> window_ids(pa.table(windows), ["k"]).to_pylist()
    ['a\\/b/w/0-1', '\\N/w/3-9']
    """
    parts = [_text(windows.column(name)) for name in (*keys, "window_name")]
    start, end = (windows.column(name).cast(pa.string()) for name in ("start_index", "end_index"))
    return pc.binary_join_element_wise(*parts, pc.binary_join_element_wise(start, end, "-"), "/")


def _text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as texts in which no slash is bare; NULL is a text as well."""
    if pa.types.is_floating(column.type):
        column = pc.add(column, 0.0)  # -0.0 and 0.0 are one key
    if pa.types.is_timestamp(column.type) and column.type.tz is not None:
        column = column.cast(pa.timestamp(column.type.unit, "UTC"))
    texts = column.cast(pa.string())
    for char in ("\\", "/"):
        texts = pc.replace_substring(texts, char, f"\\{char}")
    return texts.fill_null(r"\N")
