"""What runs on workers: how much it loads, and how much of it stays in memory."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import pyarrow as pa
import pytest

from wex.spark import worker, worker_heap

MODULES = ("operator", "packed_rows", "worker")
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
