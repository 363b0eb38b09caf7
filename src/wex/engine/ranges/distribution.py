"""Ranges of one stream for tasks that share no memory: where they begin, and what each of them finds.

A range begins at a value of the first order column, so that any engine that compares values can divide
the data. The states of a stream there follow from the rows near this place, where the automata come
to one state whatever was before. Some never do: a range then runs from each of a few states, and the
right one of these *ways* is chosen when all ranges have run (see `joining`).

No range knows how many events are before it. Its positions count from a place of its own.

All rows here are of one stream. If it has a key, whoever divides the data keeps other keys out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import FaultError
from wex.engine.engine import report_order
from wex.engine.input.batch import Batch
from wex.engine.input.event_checks import check_events
from wex.engine.input.prepare import PreparedInput
from wex.engine.input.sorting import changes
from wex.engine.kernels.states import BROKEN
from wex.engine.ranges.composition import (
    Entry,
    first_entry,
    obstacle,
    passage,
    reach,
    synchronised,
)
from wex.engine.ranges.range_run import run_range
from wex.engine.state.state import from_ipc, to_ipc
from wex.errors import DataError
from wex.spec.types import DATE, INT, OTHER, REAL, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.ranges.range_run import Border, RangeResult

MOST_WAYS = 8  # states from which a range runs
MOST_BEFORE = 1 << 16  # events before a range that it can be given


def rows_before(engine: Engine) -> int:
    """Return how many events before a range it has to know."""
    return max(reach(engine), engine.conformity_check.most_times)


def obstacle_to_tasks(engine: Engine) -> str | None:
    """Return why one stream cannot be divided among tasks; None: it can."""
    order = engine.stream.order_by
    if not order:
        return "it has no order column"
    if engine.fields[order[0]] not in (INT, REAL, DATE, TIMESTAMP):
        return f"its first order column, `{order[0]}`, is not a number or a time"
    if rows_before(engine) > MOST_BEFORE:
        return f"it looks back over more than {MOST_BEFORE:,} events"
    return obstacle(engine)


# --- Where ranges begin


@dataclass(frozen=True)
class Cut:
    """A place where a range can begin: a value of the first order column.

    The stream has one of the `entries` there; `before` are the last rows before it.
    """

    place: pa.Scalar
    entries: tuple[Entry, ...]
    before: bytes


def cut_in(engine: Engine, rows: pa.Table, *, at_last: bool = False) -> Cut | None:
    """Return a cut in adjacent events of a stream; with `at_last`, before the events of the last time.

    The events of one time, by the first order column, are never divided. None: there is no cut here,
    because there are too few events, too many states are possible, or an event is bad.
    """
    try:
        table = PreparedInput(engine, rows).table
        begin = rows_before(engine)
        if table.num_rows <= begin:
            return None
        check_events(engine, _batch(engine, table, 0, 0))
        # A position at which nothing is special: letters and states are those of all later ones.
        batch = _batch(engine, table, begin, begin + 1)
        new_times = np.flatnonzero(changes(table.column(engine.stream.order_by[0]))) + 1
        known = synchronised(engine, batch)
        row = begin if known is None else known[0]
        later = new_times[-1:] if at_last else new_times
        later = later[later >= max(row, 1)]
        if not len(later):
            return None
        if known is None:
            # The more events, the fewer states may be left; else as soon as possible.
            cut, entries = int(later[-1]), _possible(engine, batch.before(int(later[-1])))
            soon = _possible(engine, batch.before(int(later[0])))
            if len(soon) == len(entries):
                cut, entries = int(later[0]), soon
        else:
            cut = int(later[0])
            between = replace(
                batch.before(cut), begin=np.array([row]), position=np.array([known[1].position])
            )
            entries = (passage(engine, between).after(known[1]),)
    except DataError:
        return None
    if not 0 < len(entries) <= MOST_WAYS or entries[0].broken:
        return None
    kept = min(cut, begin)
    place = table.column(engine.stream.order_by[0])[cut]
    return Cut(place, entries, to_ipc(table.slice(cut - kept, kept)))


def _possible(engine: Engine, batch: Batch) -> tuple[Entry, ...]:
    """Return the entries that are possible after a batch, whatever was before; none if there are too many."""
    passed = passage(engine, batch)
    assumption, _ = engine.conformity_check.after(batch)
    by_automaton = [np.unique(states).tolist() for states in passed.windows]
    unbroken = np.unique(assumption[assumption != BROKEN]).tolist()
    if np.prod([len(states) for states in (*by_automaton, unbroken)], dtype=float) > MOST_WAYS:
        return ()
    position = int(batch.position[0]) + passed.events
    return tuple(
        Entry(position, tuple(states), state) for *states, state in product(*by_automaton, unbroken)
    )


@dataclass(frozen=True)
class RangeTask:
    """A range of a stream: the entries it may have, the last rows before it.

    `following` are the last rows before the next range; None: it is the last one.
    """

    entries: tuple[Entry, ...]
    before: bytes
    following: bytes | None


def tasks_of(engine: Engine, cuts: Sequence[Cut]) -> list[RangeTask]:
    """Return the ranges between cuts."""
    entries = [(first_entry(engine),), *(cut.entries for cut in cuts)]
    befores = [b"", *(cut.before for cut in cuts)]
    return [
        RangeTask(*range_) for range_ in zip(entries, befores, [*befores[1:], None], strict=True)
    ]


# --- What a range finds


@dataclass(frozen=True, eq=False)
class Way:
    """What a piece of a range does to a stream from one entry: its windows and borders.

    `after` is the stream after it, None at its end. Behind a `fault` nothing is found.
    """

    entry: Entry
    after: Entry | None
    windows: pa.Table
    entering: list[Border]
    leaving: list[Border]
    fault: FaultError | None


@dataclass(frozen=True, eq=False)
class Piece:
    """Adjacent events of a range that have run, from all entries that they may have."""

    position: int
    events: int
    ways: list[Way]


def run_task(engine: Engine, task: RangeTask, tables: Iterable[pa.Table]) -> Iterator[Piece]:
    """Yield the pieces of a range, given as its sorted rows: memory does not grow with their number."""
    entries = task.entries
    before: pa.Table | None = None
    schema: pa.Schema | None = None
    for rows, is_last in _with_last(tables):
        last = is_last and task.following is None
        prepared = PreparedInput(engine, rows, schema)
        schema = prepared.schema
        if before is None:
            empty = prepared.table.slice(0, 0)
            before = from_ipc(task.before).cast(empty.schema) if task.before else empty
        piece, before = _piece(engine, prepared.table, before, entries, last=last)
        following = [way.after for way in piece.ways if way.fault is None and way.after is not None]
        entries = tuple(dict.fromkeys(following))  # ways may meet
        del rows, prepared  # they would wait while the next rows are sorted
        yield piece
        del piece
        if not entries:
            return
    if before is None or task.following is None or not _same(engine, before, task.following):
        raise changed()


def _piece(
    engine: Engine, table: pa.Table, before: pa.Table, entries: tuple[Entry, ...], *, last: bool
) -> tuple[Piece, pa.Table]:
    """Return adjacent events of a range, run from their entries, and the last rows of all so far."""
    whole = pa.concat_tables([before.cast(table.schema), table]).combine_chunks()
    kept = min(before.num_rows, reach(engine))
    rows = whole.slice(before.num_rows - kept)
    batch = _batch(engine, rows, kept, position=entries[0].position)
    times = _times(engine, before)
    ways = [_way(engine, batch, entry, times, last=last) for entry in entries]
    first = max(whole.num_rows - rows_before(engine), 0)
    copied = whole.take(pa.array(np.arange(first, whole.num_rows)))  # a slice would hold all rows
    return Piece(entries[0].position, table.num_rows, ways), copied


def _with_last(tables: Iterable[pa.Table]) -> Iterator[tuple[pa.Table, bool]]:
    """Yield tables, and of each whether it is the last one."""
    waiting: list[pa.Table] = []
    for table in tables:
        if waiting:
            yield waiting.pop(), False
        waiting.append(table)
    if waiting:
        yield waiting.pop(), True


def _batch(engine: Engine, table: pa.Table, begin: int, position: int) -> Batch:
    """Return rows of one stream, with those before `begin` to look back at."""
    return Batch(
        table,
        engine.fields,
        engine.stream.partition_by,
        np.zeros(1, dtype=np.int64),
        np.array([begin]),
        np.array([table.num_rows]),
        np.array([position]),
    )


def _times(engine: Engine, before: pa.Table) -> Ints:
    if not engine.rated:
        return np.empty(0, dtype=np.int64)
    times: Ints = before.column(engine.stream.order_by[0]).cast(pa.int64()).to_numpy()
    return times[max(len(times) - engine.conformity_check.most_times, 0) :]


def _way(engine: Engine, batch: Batch, entry: Entry, times: Ints, *, last: bool) -> Way:
    """Return what a batch does from an entry, up to its first fault, as `first_fault` finds it."""

    def run(events: Batch, *, last: bool) -> RangeResult:
        return run_range(engine, events, entry, times, last=last)

    fault: FaultError | None = None
    events, result = batch, None
    while result is None:
        try:
            result = run(events, last=last and fault is None)
        except FaultError as earlier:
            fault, events = earlier, batch.before(earlier.row)
    if fault is not None:
        # No event before it has a fault; at this event the first stage that fails decides.
        ends = fault.row == batch.rows
        try:
            run(batch if ends else batch.before(fault.row + 1), last=ends and last)
        except FaultError as first:
            fault = first
    windows, _ = engine.table(events, result.windows, report_order(result.windows))
    halves = [run.halves() for run in result.runs]
    entering, leaving = ([pair[half] for pair in halves] for half in (0, 1))
    return Way(entry, result.after, windows, entering, leaving, fault)


def _same(engine: Engine, rows: pa.Table, content: bytes) -> bool:
    """Tell whether rows are those that were found before; fields that order no events may differ."""
    other = from_ipc(content).cast(rows.schema)
    if other.num_rows != rows.num_rows:
        return False
    return all(
        _equal(rows.column(name), other.column(name))
        for name, type_ in engine.fields.items()
        if type_ != OTHER
    )


def _equal(one: pa.ChunkedArray, two: pa.ChunkedArray) -> bool:
    equal = pc.equal(one, two)  # NULL where one of them is
    if pa.types.is_floating(one.type):
        equal = pc.or_(equal, pc.and_(pc.is_nan(one), pc.is_nan(two)))
    same = pc.if_else(pc.is_null(one), pc.is_null(two), pc.fill_null(equal, False))
    return bool(pc.all(same, min_count=0).as_py())


def changed() -> DataError:
    """Return the error for data that is not what the ranges were made for."""
    return DataError(
        "changed",
        "the data has changed since its ranges were determined",
        "read it from a place that does not change, or give `ranges=1`",
    )
