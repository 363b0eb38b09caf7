"""What runs on the workers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.running import Engine
from wex.engine.sweep import Sweep
from wex.windows.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Iterator


@lru_cache(maxsize=8)
def engine_in(plan: bytes) -> Engine:
    """Return the engine for the bytes of a plan; a worker makes it once."""
    return Engine(Plan.from_bytes(plan))


@lru_cache(maxsize=8)
def change_of(old: str, new: str) -> str | None:
    """Return what changed between two specs, given as texts; this loads grammar and solver."""
    from wex.analysis.changes import changed  # noqa: PLC0415
    from wex.spec import parse  # noqa: PLC0415

    return changed(parse(old), parse(new))


def found(
    plan: bytes, batches: Iterator[pa.RecordBatch], rows: int, *, tally: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the windows in the batches of a partition that is sorted by stream.

    With `tally`, a row more has no window, and counts events and streams.
    """
    sweep = Sweep(engine_in(plan))
    result = None
    for table in _put_together(batches, rows):
        result = sweep.feed(table)
        yield from result.to_batches()
    last = sweep.close()
    if last is not None:
        yield from last.to_batches()
    if tally and result is not None:
        counts = {"start_index": sweep.events, "end_index": sweep.streams}
        row = {name: [counts.get(name)] for name in result.column_names}
        yield from pa.table(row, schema=result.schema).to_batches()


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
            Sweep(engine_in(plan), sorted_rows=True),
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
