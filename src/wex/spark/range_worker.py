"""The code that runs on the workers for ranges of one stream: see `wex.spark.ranges`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.engine import report_order
from wex.engine.input.prepare import PreparedInput
from wex.engine.ranges.distribution import borders_to_bytes, changed, crossing_table, run_task
from wex.engine.streaming.worker_errors import bad_rows_hint
from wex.spark.worker import engine_of_plan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import RangeTask

    Batches = Iterator[pa.RecordBatch]

EXTRA = 3  # columns behind those of windows: a group, and the number and the borders of a range


def range_parts(
    plan: bytes,
    batches: Batches,
    names: list[str],
    by_group: dict[int, int],
    tasks: list[RangeTask],
    schema: pa.Schema,
    *,
    tally: bool,
) -> Batches:
    """Yield the windows of the ranges of a partition, and their borders.

    Borders, and counts with `tally`, are rows without a window. The last column of the batches is
    the group of a row, by which it is found which range it belongs to.
    """
    engine = engine_of_plan(plan)
    for group, rows in _by_group(batches, names):
        number = by_group[group]
        with bad_rows_hint(engine.guarded, "fail"):
            result = run_task(engine, tasks[number], rows)
        windows, _ = engine.table(result.batch, result.windows, report_order(result.windows))
        yield from _widened(windows, schema, group)
        if tally:
            yield _row(schema, group, counts=(tasks[number].events, int(not number)))
            yield _row(schema, group, counts=(0, None))
        first_group = next(iter(by_group))
        yield _row(schema, first_group, number, borders_to_bytes(result.borders))


def _by_group(batches: Batches, names: list[str]) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each group; they come one group after the other."""
    group, waiting = -1, list[pa.RecordBatch]()
    for batch in batches:
        groups = batch.column(len(names))
        row = 0
        while row < batch.num_rows:
            own = groups[row].as_py()
            end = row + int((groups.to_numpy()[row:] == own).sum())  # equal ones are adjacent
            if own != group and waiting:
                yield group, pa.Table.from_batches(waiting)
                waiting = []
            group = own
            columns = [column.slice(row, end - row) for column in batch.columns[: len(names)]]
            waiting.append(pa.RecordBatch.from_arrays(columns, names=names))
            row = end
    if waiting:
        yield group, pa.Table.from_batches(waiting)


def _widened(windows: pa.Table, schema: pa.Schema, group: int) -> Batches:
    """Yield windows with the columns of the schema behind theirs."""
    for batch in windows.to_batches():
        extra = [pa.repeat(pa.scalar(group, pa.int32()), batch.num_rows)]
        extra += [pa.nulls(batch.num_rows, field.type) for field in list(schema)[1 - EXTRA :]]
        yield _typed([*batch.columns, *extra], schema)


def _typed(columns: Sequence[pa.Array], schema: pa.Schema) -> pa.RecordBatch:
    """Return columns as a batch: all batches of a worker need exactly one schema."""
    typed = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(typed, schema=schema)


def _row(
    schema: pa.Schema,
    group: int,
    number: int | None = None,
    borders: bytes | None = None,
    counts: tuple[int, int | None] = (0, None),
) -> pa.RecordBatch:
    """Return a row without a window, with the borders of a range, or with counts."""
    values: list[object] = [None] * (len(schema) - EXTRA) + [group, number, borders]
    if number is None:
        values[1:3] = counts
    return pa.RecordBatch.from_arrays(
        [pa.array([value], field.type) for value, field in zip(values, schema, strict=True)],
        schema=schema,
    )


def joined_parts(
    plan: bytes, batches: Batches, events: pa.Schema, count: int, result: pa.Schema
) -> Batches:
    """Yield the windows of a partition, and those that cross borders if it has the borders."""
    borders: dict[int, bytes] = {}
    for batch in batches:
        numbers = batch.column(batch.num_columns - EXTRA + 1)
        marked = numbers.is_valid()
        contents = batch.column(batch.num_columns - 1).filter(marked).to_pylist()
        borders.update(zip(numbers.filter(marked).to_pylist(), contents, strict=True))
        windows = batch.filter(numbers.is_null())
        if windows.num_rows:
            yield _typed(windows.columns[: len(result)], result)
    if borders:
        if sorted(borders) != list(range(count)):
            raise changed()
        engine = engine_of_plan(plan)
        with bad_rows_hint(engine.guarded, "fail"):
            crossing = crossing_table(engine, _prepared(engine, events), borders)
        for batch in crossing.to_batches():
            yield _typed(batch.columns, result)


def _prepared(engine: Engine, events: pa.Schema) -> pa.Schema:
    """Return the schema of events as an engine runs them."""
    return PreparedInput(engine, events.empty_table()).table.schema
