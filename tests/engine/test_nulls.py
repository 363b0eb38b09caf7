"""Fields that a predicate tests for NULL: what atoms say about them, in batches and in states."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

import wex
from wex.compile.plan import Plan
from wex.reference.find import find_by_definition
from wex.spec import meaning
from wex.stages import plan_of


def starts(spec: str, data: Mapping[str, object]) -> list[int]:
    """Return where the windows `w` begin, which the engine and the definition agree on."""
    parsed = wex.parse(spec)
    table = wex.find(parsed, data)
    assert table.equals(find_by_definition(parsed, data))
    rows = table.to_pylist()
    return [row["start_index"] for row in rows if row["window_name"] == "w"]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("x is null", [1]),
        ("x is not null", [0, 2]),
        ("x > 1", [2]),
        ("not x > 1", [0, 1]),
        ("x = x", [0, 2]),
        ("x in (1, 2)", [0]),
        ("x not in (1, 2)", [1, 2]),
        ("x / x = 1", [0, 2]),  # no arithmetic on NULL
        ("x + y > 0", [0, 2]),
    ],
)
def test_an_atom_that_reads_a_null_is_false(predicate: str, expected: list[int]) -> None:
    spec = f"stream s (x real, y int) window w match [{predicate}] window v match [x is null]"
    assert starts(spec, {"x": [1, None, 5], "y": [0, 0, 0]}) == expected


def test_a_missing_event_is_not_null() -> None:
    spec = "stream s (x int) window w match [x[-1] is null]"
    assert starts(spec, {"x": [1, None, 5]}) == [2]


def test_only_tested_fields_may_be_null() -> None:
    spec = wex.parse("stream s (x int, y int) window w match [x is null or y > 1]")
    assert meaning(spec).nullable == {"x"}
    for run in (wex.find, find_by_definition):
        with pytest.raises(wex.DataError) as caught:
            run(spec, {"x": [None], "y": pa.array([None], pa.int64())})
        assert (caught.value.code, caught.value.column) == ("null", "y")


def test_a_test_in_a_measure_allows_no_null() -> None:
    spec = "stream s (x int) window w match [x > 0] measure count_if(x is null) as n"
    with pytest.raises(wex.DataError):
        wex.find(spec, {"x": [1, None]})


@pytest.mark.parametrize("nulls", ["error", "skip"])
def test_nan_in_a_tested_field_is_no_null(nulls: str) -> None:
    spec = wex.parse(f"stream s (x real) nulls {nulls} window w match [x is null]")
    data = {"x": [1.0, None, float("nan"), None]}
    if nulls == "skip":
        assert starts(str(spec), data) == [1, 2]
        return
    for run in (wex.find, find_by_definition):
        with pytest.raises(wex.DataError) as caught:
            run(spec, data)
        assert (caught.value.code, caught.value.column) == ("null", "x")


def test_values_of_type_other_can_be_tested() -> None:
    spec = "stream s (x other) window w match [x is null] [x is not null]"
    assert starts(spec, {"x": [[1], None, [2], None]}) == [1]


def test_formulas_and_assumptions_test_for_null() -> None:
    spec = "stream s (ok bool) window w where ok(begin) and [ok is null](end) and begin + 1 = end"
    assert starts(spec, {"ok": [True, None, False, None, None]}) == [0]
    assumed = "stream s (x int) assume ([x is null] [x > 0])* window w match [x > 0]"
    assert starts(assumed, {"x": [None, 1, None]}) == [1]
    with pytest.raises(wex.DataError) as caught:
        wex.find(assumed, {"x": [None, 1, 1]})
    assert caught.value.code == "assumption"


def test_having_and_filter_test_for_null() -> None:
    spec = """stream s (x int) window w match any
      measure count() filter [x is null] as n, first(x) as f  having f is null and n = 1"""
    assert starts(spec, {"x": [1, None, 5]}) == [1]


def test_a_state_keeps_nulls() -> None:
    spec = wex.parse(
        """stream s (x int, name string) window w match [x is null] [x[-1] is null and name[-1] is null]
        window v match [not x > x[-1] and x is not null]"""
    )
    data = pa.table(
        {
            "x": pa.array([None, 1, None, None, 2], pa.int64()),
            "name": pa.array([None, "a", None, "b", None], pa.string()),
        }
    )
    whole = wex.find(spec, data)
    assert whole.num_rows > 1
    processor = wex.Processor(spec)
    tables = []
    for row in range(data.num_rows):
        tables.append(processor.feed(data.slice(row, 1)))
        processor = wex.Processor.restore(spec, processor.state())
    assert pa.concat_tables(tables).equals(whole)


def test_plans_keep_their_bytes_without_nulls_and_carry_them_with() -> None:
    plain = plan_of(wex.parse("stream s (x int) window w match [x > 0]"))
    assert "nullable" not in plain.stream.to_parts()
    tested = plan_of(
        wex.parse("stream s (x int, c string) window w match [x is null and c like 'A%']")
    )
    again = Plan.from_bytes(tested.to_bytes())
    assert again.fingerprint == tested.fingerprint
    assert again.stream.nullable == ("x",)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("count(x) = 1", [0, 1, 2, 3]),
        ("first(x) = 5", [1, 2]),
        ("last(x) = 5", [1, 2]),
        ("min(x) = 1", [0]),
        ("sum(x) = 5", [1, 2]),
        ("avg(x) = 5", [1, 2]),
        ("max_by(y, x) = 'c'", [1, 2]),
        ("count_if(x > 1) = 1", [1, 2, 3]),
        ("every(x > 1)", [1, 2, 3]),
        ("max(y) filter [x is null] = 'b'", [0, 1]),
        ("x > max(x)[-1] or x is null", [0, 2]),
    ],
)
def test_an_aggregate_in_a_predicate_skips_null(test: str, expected: list[int]) -> None:
    spec = f"stream s (x int, y string) window w match any [{test}] window v match [x is null]"
    assert starts(spec, {"x": [1, None, 5, None, 2], "y": list("abcde")}) == expected
