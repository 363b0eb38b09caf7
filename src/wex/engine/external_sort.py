"""Rows in the order of their streams, also more than fit into memory: sorted runs on disk, merged.

Rows are collected up to a number of bytes. If there are more, they are sorted and written to a file
as a run, in short batches, whose first rows are kept. The merge reads in each round the batches that
begin before a row, the splitter, and can then pass on all rows before it. Splitters are chosen among
the first rows of batches, so that a round reads a part of what a run has: the merge and whoever takes
its rows have some copies of them. Runs are read, not mapped into memory, where their pages would stay.

Rows of one stream that come nearly in order need none of this: see `sorted_blocks`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.packing import EventOrder, concat_rows, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.engine import Engine

BATCH = 1 << 14  # rows of a batch of a run at most
BATCHES = 64  # of a run at least, however few its rows are: the merge holds a batch of each run
ROUNDS = 8  # for as many rows as are held in memory


class ExternalSort:
    """Sorts rows that are added piece by piece; `most` are the bytes held in memory. To be closed."""

    def __init__(self, order: EventOrder, most: int) -> None:
        self._order, self._most = order, most
        self._pieces: list[pa.Table] = []
        self._size = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._runs: list[Path] = []
        self._firsts: list[pa.Table] = []  # the first rows of the batches of all runs
        self._places: list[tuple[int, int]] = []  # the run and the number of each batch

    def close(self) -> None:
        """Remove the runs from disk."""
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, rows: pa.Table) -> None:
        """Add rows."""
        self._pieces.append(rows)
        self._size += size_of(rows)
        if self._size >= self._most:
            self._spill()

    def sorted(self) -> Iterator[pa.Table]:
        """Yield all rows in their order."""
        if not self._runs:
            if self._pieces:
                parts = max(1, -(-ROUNDS * self._size // self._most))
                rows = self._taken()
                step = max(1, -(-rows.num_rows // parts))
                for row in range(0, rows.num_rows, step):
                    yield rows.slice(row, step)
            return
        if self._pieces:
            self._spill()
        yield from self._merged()

    def _taken(self) -> pa.Table:
        """Return the rows in memory, sorted, and forget them."""
        rows = concat_rows(self._pieces)
        self._pieces, self._size = [], 0
        return self._order.sorted(rows)

    def _spill(self) -> None:
        rows = self._taken()
        batch = min(BATCH, rows.num_rows // BATCHES + 1)
        if self._folder is None:
            # Spark names the folders that an executor may fill.
            parent = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None
            self._folder = tempfile.TemporaryDirectory(prefix="wex-", dir=parent)
        path = Path(self._folder.name, f"{len(self._runs)}.arrow")
        options = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_file(file, rows.schema, options=options) as writer,
        ):
            writer.write_table(rows, batch)
        first = np.arange(0, rows.num_rows, batch)
        self._firsts.append(rows.take(pa.array(first)))
        self._places += [(len(self._runs), number) for number in range(len(first))]
        self._runs.append(path)
        pa.default_memory_pool().release_unused()

    def _merged(self) -> Iterator[pa.Table]:
        firsts = concat_rows(self._firsts)
        order = self._order.indices(firsts)
        begins = np.arange(firsts.num_rows) if order is None else order
        step = max(1, len(begins) // (ROUNDS * len(self._runs)))  # batches of a round
        files = [pa.ipc.open_file(pa.OSFile(str(path))) for path in self._runs]
        carried = firsts.slice(0, 0)
        for place in range(0, len(begins), step):
            read = [self._places[at] for at in begins[place : place + step]]
            loaded = [pa.Table.from_batches([files[run].get_batch(number)]) for run, number in read]
            if place + step >= len(begins):
                yield self._order.sorted(concat_rows([carried, *loaded]))
                return
            splitter = firsts.slice(int(begins[place + step]), 1)
            # The splitter comes last, so that rows that are equal to it are passed on, too: where
            # many rows are equal, they would be carried through all rounds.
            rows = concat_rows([carried, *loaded, splitter])
            order = self._order.indices(rows)
            order = np.arange(rows.num_rows) if order is None else order
            at = int(np.flatnonzero(order == rows.num_rows - 1)[0])
            if at:
                yield rows.take(pa.array(order[:at]))
            carried = rows.take(pa.array(order[at + 1 :]))


def sorted_blocks(engine: Engine, tables: Iterator[pa.Table], block: int) -> Iterator[pa.Table]:
    """Yield rows of one stream in their order, if blocks of so many rows are in that of the first order column.

    Rows that are equal in it are not divided. Memory does not grow with the number of blocks.
    """
    order, column = EventOrder(engine), engine.stream.order_by[0]
    rest: list[pa.Table] = []  # rows of a block that is not complete
    equal: list[pa.Table] = []  # rows of the last time, to which others may come
    for table in tables:
        waiting = sum(part.num_rows for part in rest)
        whole = (waiting + table.num_rows) // block * block - waiting
        if whole <= 0:
            rest.append(table)
            continue
        rows = order.sorted(concat_rows([*equal, *rest, table.slice(0, whole)]))
        rest = [table.slice(whole)] if whole < table.num_rows else []
        times = rows.column(column)
        same = pc.sum(pc.equal(times, times[-1])).as_py()
        equal = [rows.slice(rows.num_rows - same)]
        if same < rows.num_rows:
            yield rows.slice(0, rows.num_rows - same)
    if equal or rest:
        yield order.sorted(concat_rows([*equal, *rest]))
