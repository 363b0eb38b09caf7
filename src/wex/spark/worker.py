"""The code that runs on the workers: the windows of one partition."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.compile.plan import Plan
from wex.engine.engine import Engine
from wex.engine.input.bad_rows import BadRowFilter
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.worker_errors import bad_rows_hint
from wex.spark.worker_heap import settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wex.engine.input.bad_rows import BadRows
    from wex.spark.dead_letters import DeadLetterFile

BATCH_BYTES = 1 << 26  # that a worker joins at most before it looks for windows, however few rows


@lru_cache(maxsize=8)
def engine_of_plan(plan: bytes, *, rows: bool = False) -> Engine:
    """Return the engine for a plan, given as bytes; a worker makes it once."""
    return Engine(Plan.from_bytes(plan), rows=rows)


def partition_windows(
    engine: Engine,
    tables: Iterator[pa.Table],
    *,
    tally: bool,
    bad_rows: BadRows = "fail",
    new_file: Callable[[], DeadLetterFile] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the windows in the rows of a partition that is sorted by stream.

    With `tally`, two rows without a window follow: one counts events and streams, one bad rows.
    Diverted rows are written to a `new_file`.
    """
    scan, row_filter = SortedScan(engine), BadRowFilter(engine, bad_rows)
    schema: pa.Schema | None = None
    file: DeadLetterFile | None = None
    try:
        with bad_rows_hint(engine.guarded, bad_rows):
            for table in tables:
                readable = (
                    row_filter.without_corrupt(table)
                    if bad_rows == "fail"
                    else row_filter.without_bad_rows(table)
                )
                windows, _ = row_filter.feed_good_rows(scan.feed, scan.recall, readable)
                schema = windows.schema
                yield from windows.to_batches()
                if row_filter.lines and new_file is not None:
                    file = file or new_file()
                    file.add(row_filter.lines)
                    row_filter.lines.clear()
            last = scan.close()
    except BaseException:  # the task fails, or Spark does not read it to its end
        if file is not None:
            file.abort()
        raise
    if file is not None:
        file.close()
    if last is not None:
        yield from last.to_batches()
    if tally and schema is not None:
        yield tally_row(schema, scan.events, scan.streams)
        yield tally_row(schema, row_filter.count, None)
    settle()


def tally_row(schema: pa.Schema, first: int, second: int | None) -> pa.RecordBatch:
    """Return a row without a window that counts events and streams, or bad rows and nothing else."""
    counts = {"start_index": first, "end_index": second}
    row = {column.name: pa.array([counts.get(column.name)], column.type) for column in schema}
    return pa.record_batch(row, schema=schema)


def joined(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield batches joined into tables of so many rows or bytes: each table has a fixed cost."""
    waiting = WaitingBatches(rows)
    for batch in batches:
        waiting.add(batch)
        if waiting.are_enough:
            yield waiting.taken()
    if waiting.rows:
        yield waiting.taken()


class WaitingBatches:
    """Batches that wait until they have so many rows or bytes."""

    def __init__(self, enough: int) -> None:
        self._enough, self._batches = enough, list[pa.RecordBatch]()
        self.rows = self._bytes = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch."""
        self._batches.append(batch)
        self.rows += batch.num_rows
        self._bytes += batch.nbytes

    @property
    def are_enough(self) -> bool:
        """Whether the batches need not wait any longer."""
        return self.rows >= self._enough or self._bytes >= BATCH_BYTES

    def taken(self) -> pa.Table:
        """Return the batches as one table, and wait for others."""
        table = pa.Table.from_batches(self._batches)
        self._batches, self.rows, self._bytes = [], 0, 0
        return table


class BatchScan:
    """The windows in batches that arrive one by one, for a table function with a fixed schema."""

    def __init__(self, plan: bytes, rows: int, schema: pa.Schema) -> None:
        self._scan = SortedScan(engine_of_plan(plan), sorted_rows=True)
        self._waiting, self._schema = WaitingBatches(rows), schema

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Yield the windows of the batches that wait, once they have enough rows."""
        self._waiting.add(batch)
        if self._waiting.are_enough:
            yield self._windows()

    def close(self) -> Iterator[pa.Table]:
        """Yield the windows of the batches that wait, and those that the end of the data decides."""
        if self._waiting.rows:
            yield self._windows()
        last = self._scan.close()
        if last is not None:
            yield last.cast(self._schema)

    def _windows(self) -> pa.Table:
        return self._scan.feed(self._waiting.taken()).cast(self._schema)
