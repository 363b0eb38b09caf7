"""Corners that random small streams did not reach, each found once and mended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, namedtuple
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import wex
from tests.engine.compare import assert_same
from tests.strategies.specs import with_scales
from wex.engine.files import reading
from wex.engine.find import Request, find_in_files
from wex.reference.find import find_by_definition
from wex.spec import tree


def both(spec: tree.Spec, data: pa.Table) -> list[dict[str, object]]:
    """Return what the engine finds, which is what the definition finds."""
    scaled = with_scales(spec)
    assert_same(wex.find(scaled, data), find_by_definition(scaled, data))
    return wex.find(spec, data).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "measure",
    ["sum(z)", "min(z)", "max(z)", "avg(z)", "var(z)", "min_by(n, z)", "sum(z) filter [n > 1]"],
)
def test_values_that_do_not_count_and_windows_that_overlap(measure: str) -> None:
    spec = wex.parse(f"stream s (z real, n int) window w match any{{1,3}} measure {measure} as m")
    values = [1.0, 2.0, 4.0, None, 3.0, None, None, 8.0, 0.5]
    assert len(both(spec, pa.table({"z": values, "n": range(9)}))) == 9 + 8 + 7


def test_nothing_is_read_behind_the_last_row() -> None:
    """Run in a process whose kernels check every index."""
    code = """
import numpy as np, pyarrow as pa, wex
spec = wex.parse("stream s (t timestamp, x int) order by t window w match [x = 0] [x = 1]* [x = 2] within 1 minute")
for rows in range(1, 12):
    times = pa.array(np.arange(rows), pa.timestamp("us"))
    assert wex.find(spec, pa.table({"t": times, "x": np.arange(rows) % 3})).num_rows == rows // 3
"""
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": os.devnull}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_small_dictionaries_of_different_values() -> None:
    def some(begin: int, end: int) -> pa.Array:
        names = pa.array([f"v{n}" for n in range(begin, end)])
        return pa.DictionaryArray.from_arrays(pa.array(range(end - begin), pa.int8()), names)

    spec = wex.parse(
        "stream s (k int, v other) partition by k window w match any{2} measure first(v) as f"
    )
    processor = wex.Processor(spec)
    for begin in (0, 100, 200):
        assert (
            processor.feed({"k": np.arange(100) + begin, "v": some(begin, begin + 100)}).num_rows
            == 0
        )
    found = processor.feed({"k": np.arange(100), "v": some(0, 100)})
    assert found["f"].to_pylist() == [f"v{n}" for n in range(100)]


@pytest.mark.parametrize("name", ["position", "promise", "`state.0`", "`#`", "`#tail`", "`key.k`"])
def test_keys_of_any_name_survive_a_restart(name: str) -> None:
    spec = wex.parse(
        f"stream s ({name} string, x int) partition by {name} window w match [x > 0]{{2}}"
    )
    batch = {name.strip("`"): ["a", "b"], "x": [1, 1]}
    processor = wex.Processor(spec)
    processor.feed(batch)
    assert wex.Processor.restore(spec, processor.state()).feed(batch).num_rows == 2


def test_a_young_stream_beside_an_old_one_keeps_its_promise() -> None:
    spec = wex.parse(
        "stream s (k string, n int) partition by k assume [n[-2] > 0]+ any* window w match any"
    )
    processor = wex.Processor(spec)
    processor.feed({"k": ["a", "b", "a"], "n": [3, 0, 1]})
    with pytest.raises(wex.DataError) as caught:
        processor.feed({"k": ["b", "b", "a"], "n": [0, 1, 3]})
    assert (caught.value.code, caught.value.key, caught.value.position) == ("assumption", ("b",), 2)


def test_measures_that_are_constant() -> None:
    data = pa.table({"x": [1, 2]})
    for measures in ("1 + 1 as two", "1 + 1 as two, count() as n", "1 + 1 as two having two > 1"):
        spec = wex.parse(f"stream s (x int) window w match any measure {measures}")
        assert [row["two"] for row in both(spec, data)] == [2, 2]


def test_files_without_rows_that_count(tmp_path: Path) -> None:
    spec = wex.parse("""stream s (t timestamp, x int, v other) order by t nulls skip
      window w match [x > 0] measure first(v) as f""")
    for values in ([], [None]):
        table = pa.table({
            "t": pa.array([0] * len(values), pa.timestamp("us", "UTC")),
            "x": pa.array(values, pa.int64()),
            "v": pa.array([{"a": 1}] * len(values), pa.struct({"a": pa.int64()})),
        })  # fmt: skip
        parquet.write_table(table, tmp_path / "d.parquet")
        found, _ = find_in_files(spec, Request(tmp_path / "d.parquet"))
        assert found.schema == wex.find(spec, table).schema
        assert found.num_rows == 0


def test_files_out_of_order_that_look_wrong_in_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH", 3)
    spec = wex.parse("stream s (t int) order by t assume [t - t[-1] <= 1]* window w match any{2}")
    parquet.write_table(pa.table({"t": [1, 3, 5, 2, 4, 6]}), tmp_path / "d.parquet")
    assert find_in_files(spec, Request(tmp_path / "d.parquet"))[0].num_rows == 5


def test_columns_that_are_missing_in_a_file_are_told_beside_those_there(tmp_path: Path) -> None:
    spec = wex.parse("stream s (price int) window w match any")
    parquet.write_table(pa.table({"prise": [1]}), tmp_path / "d.parquet")
    (tmp_path / "d.csv").write_text("prise\n1\n")
    for name in ("d.parquet", "d.csv"):
        with pytest.raises(wex.DataError, match="prise"):
            find_in_files(spec, Request(tmp_path / name))


def test_a_file_that_is_broken(tmp_path: Path) -> None:
    spec = wex.parse("stream s (x int) window w match any")
    parquet.write_table(pa.table({"x": range(100_000)}), tmp_path / "d.parquet", compression="zstd")
    content = bytearray((tmp_path / "d.parquet").read_bytes())
    content[100 : len(content) // 2] = b"\xff" * (len(content) // 2 - 100)
    (tmp_path / "d.parquet").write_bytes(content)
    with pytest.raises(wex.DataError) as caught:
        find_in_files(spec, Request(tmp_path / "d.parquet"))
    assert caught.value.code == "unreadable"


@pytest.mark.parametrize("start", [1_700_000_000_000_000_001, 2**62, -(2**63), 0])
def test_the_variance_of_large_whole_numbers(start: int) -> None:
    spec = wex.parse("stream s (n int) window w match any{3} measure var(n) as v")
    data = pa.table({"n": pa.array([start, start + 49, start + 100, start + 3], pa.int64())})
    both(spec, data)
    processor, found = wex.Processor(spec), []
    for row in range(4):
        found += processor.feed(data.slice(row, 1))["v"].to_pylist()
    assert found == pytest.approx(wex.find(spec, data)["v"].to_pylist())


def test_the_variance_of_numbers_at_both_ends() -> None:
    spec = wex.parse("stream s (n int) window w match any{2} measure stddev(n) as v")
    data = pa.table({"n": pa.array([-(2**63), 2**63 - 1], pa.int64())})
    (found,) = wex.find(spec, data)["v"].to_pylist()
    (expected,) = find_by_definition(spec, data)["v"].to_pylist()
    assert found == pytest.approx(expected)


def test_an_order_that_is_null_is_not_skipped() -> None:
    spec = wex.parse(
        "stream s (t timestamp) order by t nulls skip window w match [t - t[-1] > 1 second]"
    )
    with pytest.raises(wex.DataError) as caught:
        wex.find(spec, {"t": pa.array([0, None], pa.timestamp("us"))})
    assert caught.value.code == "null-order"


def test_lists_are_passed_on_as_they_are() -> None:
    lists = pa.table({"x": [1, 2, 3], "o": pa.array([[1], [2], [3]])})
    for window in ("match any{2}", "where begin + 1 = end"):
        spec = wex.parse(
            f"stream s (x int, o other) window w {window} measure first(o) as f, collect(o) as c"
        )
        found = both(spec, lists)
        assert found[0]["f"] == [1]
        assert found[0]["c"] == [[1], [2]]


def test_all_nan_are_one_value() -> None:
    bits = np.array([0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1], dtype=np.uint64)
    spec = wex.parse("stream s (x real) window w match any{3} measure count_distinct(x) as d")
    assert both(spec, pa.table({"x": bits.view(np.float64)}))[0]["d"] == 1


def test_more_windows_than_a_machine_holds() -> None:
    spec = wex.parse("stream s (x int) window w match any+")
    with wex.limits.raised(windows=1_000_000), pytest.raises(wex.LimitError) as caught:
        wex.find(spec, {"x": np.zeros(5_000, dtype=np.int64)})
    assert caught.value.limit == "windows"


def test_columns_that_arrow_cannot_take() -> None:
    spec = wex.parse("stream s (x int, v other) window w match any{2} measure first(v) as f")
    encoded = pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([1]))
    try:
        wex.find(spec, pa.table({"x": [1, 2], "v": encoded}))
    except wex.WexError as error:
        assert error.code in ("arrow", "wrong-column-type")


# --- Aggregates of the user's own that go wrong

Point = namedtuple("Point", "x")
numbers = count()


def own(**parts: object) -> tree.Spec:
    """Return a spec with an aggregate that has some odd part."""
    name = f"odd_{next(numbers)}"
    usual = {
        "result_type": "int",
        "zero": lambda self: 0,
        "add": lambda self, state, event: state + 1,
        "merge": lambda self, left, right: left + right,
        "result": lambda self, state: state,
    }
    wex.aggregate(name)(type("Odd", (), {**usual, **parts}))
    return wex.parse(f"stream s (x int) window w match any{{2}} measure {name}(x) as m")


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("int", 2**70),
        ("real", 10**400),
        ("string", "\ud800"),
        ("date", __import__("datetime").datetime(2026, 1, 1)),
    ],
)
def test_results_that_do_not_fit(type_: str, value: object) -> None:
    spec = own(result_type=type_, result=lambda self, state: value)
    with pytest.raises(wex.WexError) as caught:
        wex.find(spec, {"x": [1, 2]})
    assert caught.value.code == "aggregate-failed"


@pytest.mark.parametrize(
    "state", [Counter([1]), Point(1), {1, 2}, pytest.param(10**5000, id="huge")]
)
def test_states_that_would_come_back_as_something_else(state: object) -> None:
    spec = own(add=lambda self, before, event: state, merge=lambda self, a, b: a)
    with pytest.raises(wex.WexError, match="cannot be kept"):
        wex.Processor(spec).feed({"x": [1]})


def test_dumps_that_are_no_bytes() -> None:
    spec = own(dump=lambda self, state: "text", load=lambda self, content: 0)
    with pytest.raises(wex.WexError, match="bytes"):
        wex.Processor(spec).feed({"x": [1]})


def test_classes_that_cannot_be_made() -> None:
    needy = type("Needy", (), {"__init__": lambda self, x: None})
    with pytest.raises(wex.WexError, match="cannot be instantiated"):
        wex.aggregate("needy")(needy)
