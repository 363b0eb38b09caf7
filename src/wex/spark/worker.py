"""What runs on the workers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.compile.plan import Plan
from wex.engine.engine import Engine
from wex.engine.input.bad_rows import Sieve
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.worker_errors import bad_rows_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from wex.engine.input.bad_rows import BadRows
    from wex.spark.dead_letters import Letter


@lru_cache(maxsize=8)
def engine_in(plan: bytes) -> Engine:
    """Return the engine for the bytes of a plan; a worker makes it once."""
    return Engine(Plan.from_bytes(plan))


def found(
    plan: bytes,
    batches: Iterator[pa.RecordBatch],
    rows: int,
    *,
    tally: bool,
    bad_rows: BadRows = "fail",
    letter: Callable[[], Letter] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield the windows in the batches of a partition that is sorted by stream.

    With `tally`, two rows more have no window: one counts events and streams, one bad rows. Bad
    rows that are diverted go into a `letter`.
    """
    engine = engine_in(plan)
    sweep, sieve = SortedScan(engine), Sieve(engine, bad_rows)
    result, put = None, None
    try:
        with bad_rows_hint(engine.guarded, bad_rows):
            for table in _put_together(batches, rows):
                fine = sieve.readable(table) if bad_rows == "fail" else sieve.alone(table)
                piece, _ = sieve.through(sweep.feed, sweep.recall, fine)
                result = piece
                yield from piece.to_batches()
                if sieve.lines and letter is not None:
                    put = put or letter()
                    put.add(sieve.lines)
                    sieve.lines.clear()
            last = sweep.close()
    except BaseException:  # the task ends here, or is not read to its end
        if put is not None:
            put.abort()
        raise
    if put is not None:
        put.close()
    if last is not None:
        yield from last.to_batches()
    if tally and result is not None:
        schema = result.schema
        yield _tallied(schema, sweep.events, sweep.streams)
        yield _tallied(schema, sieve.count, None)


def _tallied(schema: pa.Schema, first: int, second: int | None) -> pa.RecordBatch:
    counts = {"start_index": first, "end_index": second}
    row = {each.name: pa.array([counts.get(each.name)], each.type) for each in schema}
    return pa.record_batch(row, schema=schema)


def _put_together(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """Yield batches put together until they have so many rows: each piece has its price."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.num_rows
        if size >= rows:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if size:
        yield pa.Table.from_batches(waiting)


class Pieces:
    """The windows in batches that arrive one by one, for a table function with a fixed schema."""

    def __init__(self, plan: bytes, rows: int, schema: pa.Schema) -> None:
        self._sweep, self._rows, self._schema = (
            SortedScan(engine_in(plan), sorted_rows=True),
            rows,
            schema,
        )
        self._waiting: list[pa.RecordBatch] = []

    def feed(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Yield the windows that a batch brings, if enough rows have come together."""
        self._waiting.append(batch)
        if sum(each.num_rows for each in self._waiting) >= self._rows:
            yield self._found()

    def _found(self) -> pa.Table:
        table = pa.Table.from_batches(self._waiting)
        self._waiting = []
        return self._sweep.feed(table).cast(self._schema)

    def close(self) -> Iterator[pa.Table]:
        """Yield the windows of the rows that wait, and those that the end decides."""
        if self._waiting:
            yield self._found()
        last = self._sweep.close()
        if last is not None:
            yield last.cast(self._schema)
