"""Rows as Arrow bytes, on their way to the stateful operator and from it: code for the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from wex.engine.state.state import from_ipc, to_ipc
from wex.spark.worker import joined
from wex.spark.worker_heap import settle

PACKED = "bucket int, rows binary"
ROWS = 1 << 18  # that are packed together: each blob has a fixed cost

Batches = Iterator[pa.RecordBatch]


def pack(names: list[str]) -> Callable[[Batches], Batches]:
    """Return a function that yields the rows of each bucket as bytes, under the names of the fields.

    Bucket 0 always gets a row, so that the operator runs in every micro-batch.
    """

    def run(batches: Batches) -> Batches:
        yield _packed([0], [None])
        for joint in joined(batches, ROWS):
            *columns, numbers = joint.combine_chunks().columns
            order = np.argsort(numbers.to_numpy(), kind="stable")
            table = pa.table(columns, names=names).take(pa.array(order))
            chosen, first = np.unique(numbers.to_numpy()[order], return_index=True)
            ends = np.append(first[1:], len(order))
            slices = zip(first.tolist(), ends.tolist(), strict=True)
            blobs = [to_ipc(table.slice(begin, end - begin)) for begin, end in slices]
            yield _packed(chosen.tolist(), blobs)
        settle()

    return run


def _packed(buckets: list[int], rows: Sequence[bytes | None]) -> pa.RecordBatch:
    columns = {"bucket": pa.array(buckets, pa.int32()), "rows": pa.array(rows, pa.binary())}
    return pa.record_batch(columns)


def unpack(names: list[str]) -> Callable[[Batches], Batches]:
    """Return a function that yields the windows in the bytes of the operator."""

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for blob in batch.column("packed"):
                if blob.is_valid:
                    yield from from_ipc(blob.as_py()).select(names).to_batches()
        settle()

    return run
