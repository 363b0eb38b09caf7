"""What runs on workers: how much it loads, and how much of it stays in memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wex.engine import packing
from wex.engine.packing import KeyBuckets
from wex.spark import row_packing, worker, worker_heap
from wex.spark.row_packing import RowPacker

MODULES = ("operator", "packed_rows", "row_packing", "worker")
CODE = f"""
import sys
{"".join(f"import wex.spark.{name};" for name in MODULES)}
print([name for name in ("lark", "z3", "sqlglot", "wex.analysis") if name in sys.modules])
"""


def test_neither_grammar_nor_solver() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class Node:
    """An object that can refer to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_settled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects are set aside when modules have been loaded; later garbage is collected."""
    seen: list[int] = []
    monkeypatch.setattr(worker_heap, "_modules", seen)
    try:
        worker_heap.settle()
        assert gc.get_freeze_count() > 10_000
        worker_heap.settle()
        assert len(seen) == 1
        later = weakref.ref(Node())
        gc.collect()
        assert later() is None
        monkeypatch.setitem(sys.modules, "one_more", sys)
        worker_heap.settle()
        assert len(seen) == 2
    finally:
        gc.unfreeze()


def test_wide_rows_are_joined_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "BATCH_BYTES", 1_000)
    batch = pa.record_batch({"text": ["x" * 400]})
    tables = worker.joined(iter([batch] * 7), rows=100)
    assert [table.num_rows for table in tables] == [3, 3, 1]
    narrow = pa.record_batch({"number": [1]})
    tables = worker.joined(iter([narrow] * 7), rows=3)
    assert [table.num_rows for table in tables] == [3, 3, 1]
    assert not list(worker.joined(iter([narrow.slice(0, 0)]), rows=3))


@given(
    st.lists(st.lists(st.integers(0, 5), max_size=9), max_size=9),
    st.integers(1, 6),
    st.integers(1, 12),
    st.integers(1, 5),
)
def test_an_answer_for_each_row(
    parts: list[list[int]], buckets: int, together: int, blob_rows: int
) -> None:
    """A function of columns returns as many values as rows, never more than it got rows, and the blobs of `mapInArrow`."""
    packer = RowPacker(["k"], KeyBuckets(["k"], buckets), None, list(range(buckets)), together)
    batches = [pa.record_batch({"c0": pa.array(part, pa.int64())}) for part in parts]
    with pytest.MonkeyPatch.context() as patched:
        for module in (packing, row_packing):
            patched.setattr(module, "BLOB_ROWS", blob_rows)
        read = answered = 0

        def columns() -> Iterator[tuple[pa.Array, ...]]:
            nonlocal read
            for batch in batches:
                read += batch.num_rows
                yield batch.column(0), batch.column(0)

        answers = []
        for answer in packer.over_columns()(columns()):
            answered += len(answer)
            assert answered <= read
            answers.append(answer)
        assert answered == sum(map(len, parts))
        blobs = [blob for answer in answers for each in answer.to_pylist() if each for blob in each]
        plain = [row for batch in packer.over_rows(1)(iter(batches)) for row in batch.to_pylist()]
    assert blobs == [row for row in plain if row["rows"] is not None]
