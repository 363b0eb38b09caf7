"""Ranges of one stream for tasks that share no memory: what each has to know, and what it returns.

A range begins at a value of the first order column, so that any engine that compares values can divide
the data. What a range has to know of those before it follows from the rows near its beginning, where the
automata come to one state whatever was before. What it returns for the windows that cross its
borders are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.engine import report_order
from wex.engine.input.batch import Batch
from wex.engine.input.columns import combine_chunks, empty_table
from wex.engine.input.prepare import PreparedInput
from wex.engine.input.sorting import changes
from wex.engine.ranges.composition import Entry, first_entry, passage, reach, synchronised
from wex.engine.ranges.crossing import crossing_windows
from wex.engine.ranges.range_run import Border, Places, run_range
from wex.engine.state import schema
from wex.engine.state.state import from_ipc, to_ipc
from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.ranges.range_run import RangeResult

PART = "part"  # column of the tables of a border
BEFORE, AFTER = "before", "after"  # columns of the window states of phantoms that a range passes on


@dataclass(frozen=True)
class RangeTask:
    """A range of a stream: the states before it, its last rows before, how many events it has.

    `following` are the states before the next range; None: it is the last one.
    """

    entry: Entry
    before: bytes
    events: int
    following: Entry | None


def rows_before(engine: Engine) -> int:
    """Return how many events before a range it has to know."""
    return max(reach(engine), engine.conformity_check.most_times)


@dataclass(frozen=True)
class Cut:
    """A place where a range can begin: a value of the first order column, the states, the rows before."""

    place: pa.Scalar
    entry: Entry
    before: bytes


def cut_in(engine: Engine, rows: pa.Table, position: int) -> Cut | None:
    """Return a cut in adjacent events of a stream, of which the first one has a position.

    The events of one time, by the first order column, are never divided. None: there is no cut here,
    because the states depend on the events before, or because all events have one time.
    """
    prepared = PreparedInput(engine, rows)
    table = prepared.table
    begin = rows_before(engine) if position else 0
    if table.num_rows <= begin:
        return None
    batch = Batch(
        table,
        engine.fields,
        (),
        np.zeros(1, dtype=np.int64),
        np.array([begin]),
        np.array([table.num_rows]),
        np.array([position + begin]),
    )
    known = synchronised(engine, batch)
    if known is None:
        return None
    row, entry = known
    new_times = np.flatnonzero(changes(table.column(engine.stream.order_by[0]))) + 1
    later = new_times[new_times >= max(row, 1)]
    if not len(later):
        return None
    cut = int(later[0])
    between = replace(
        batch,
        table=table.slice(0, cut),
        begin=np.array([row]),
        end=np.array([cut]),
        position=np.array([entry.position]),
    )
    entry = passage(engine, between).after(entry)
    if entry.broken:
        return None
    kept = min(cut, rows_before(engine))
    place = table.column(engine.stream.order_by[0])[cut]
    return Cut(place, entry, to_ipc(table.slice(cut - kept, kept)))


def tasks_of(engine: Engine, cuts: Sequence[Cut], events: int) -> list[RangeTask]:
    """Return the ranges between cuts, of a stream with so many events."""
    entries = [first_entry(engine), *(cut.entry for cut in cuts)]
    befores = [b"", *(cut.before for cut in cuts)]
    ends = [*(entry.position for entry in entries[1:]), events]
    return [
        RangeTask(entry, before, end - entry.position, following)
        for entry, before, end, following in zip(
            entries, befores, ends, [*entries[1:], None], strict=True
        )
    ]


# --- On a worker


def run_task(engine: Engine, task: RangeTask, rows: pa.Table) -> RangeResult:
    """Return the windows of a range, and its borders; `rows` are all of its events."""
    prepared = PreparedInput(engine, rows)
    table = prepared.table
    if table.num_rows != task.events:
        raise changed()
    before = from_ipc(task.before).cast(table.schema) if task.before else table.slice(0, 0)
    kept = min(before.num_rows, reach(engine))
    batch = Batch(
        pa.concat_tables([before.slice(before.num_rows - kept), table]).combine_chunks(),
        engine.fields,
        (),
        np.zeros(1, dtype=np.int64),
        np.array([kept]),
        np.array([kept + table.num_rows]),
        np.array([task.entry.position]),
    )
    times = np.empty(0, dtype=np.int64)
    if engine.rated:
        column = before.column(engine.stream.order_by[0])
        times = column.cast(pa.int64()).to_numpy()[-engine.conformity_check.most_times :]
    result = run_range(engine, batch, task.entry, times, last=task.following is None)
    if task.following is not None and result.states != task.following.windows:
        raise changed()
    return result


def changed() -> DataError:
    """Return the error for data that is not what the ranges were made for."""
    return DataError(
        "changed",
        "the data has changed since its ranges were determined",
        "read it from a place that does not change, or leave `ranges` out",
    )


# --- Borders as bytes


def borders_to_bytes(borders: Sequence[Border]) -> bytes:
    """Return the borders of a range, for all windows, as bytes."""
    tables = [
        to_ipc(table, compressed=True)
        for border in borders
        for table in (
            _places_table(border.starts),
            _places_table(border.ends),
            pa.table({BEFORE: border.passed[0], AFTER: border.passed[1]}),
            border.panes,
        )
    ]
    return to_ipc(pa.table({PART: pa.array(tables, pa.binary())}))


def _borders_of(content: bytes) -> list[Border]:
    tables = [from_ipc(part) for part in from_ipc(content).column(PART).to_pylist()]
    return [
        Border(
            _places(starts),
            _places(ends),
            (_numbers(passed, BEFORE), _numbers(passed, AFTER)),
            panes,
        )
        for starts, ends, passed, panes in zip(*(tables[at::4] for at in range(4)), strict=True)
    ]


def _places_table(places: Places) -> pa.Table:
    columns = {
        schema.POSITION: pa.array(places.position),
        schema.SLOT: pa.array(places.state),
        schema.CLOCK: pa.array(places.clock),
    }
    return pa.table(columns if places.time is None else columns | {schema.TIME: places.time})


def _places(table: pa.Table) -> Places:
    timed = schema.TIME in table.column_names
    return Places(
        _numbers(table, schema.POSITION),
        _numbers(table, schema.SLOT),
        _numbers(table, schema.CLOCK),
        combine_chunks(table.column(schema.TIME)) if timed else None,
    )


def _numbers(table: pa.Table, name: str) -> Ints:
    numbers: Ints = table.column(name).to_numpy()
    return numbers


def crossing_table(engine: Engine, events: pa.Schema, borders: Mapping[int, bytes]) -> pa.Table:
    """Return the windows that cross borders, from the borders of all ranges by their numbers."""
    read = [_borders_of(borders[number]) for number in sorted(borders)]
    none = np.zeros(1, dtype=np.int64)
    batch = Batch(empty_table(events), engine.fields, (), none, none, none, none)
    parts = [
        crossing_windows(engine, window, batch, [of_range[number] for of_range in read])[0]
        for number, window in enumerate(engine.windows)
    ]
    return engine.table(batch, parts, report_order(parts))[0]
