"""`wex.find`: every kind of data in, the columns of a result out, and bad data explained."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import wex
from wex import build as w
from wex.reference.find import find_by_definition

T0 = datetime(2026, 1, 31, 10)
TRADES = """stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
  window rise match [price > price[-1]] measure last(price) as price_now"""
ONE = "stream s ({fields}) {clauses} window w match {match} {more}"


def one(fields: str, match: str = "any", clauses: str = "", more: str = "") -> wex.Spec:
    return wex.parse(ONE.format(fields=fields, match=match, clauses=clauses, more=more))


def refused(spec: wex.Spec, data: object) -> wex.DataError:
    with pytest.raises(wex.DataError) as caught:
        wex.find(spec, data)
    error = caught.value
    assert error.hint
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert (again.column, again.key, again.position) == (error.column, error.key, error.position)
    return error


# --- Data in


@pytest.mark.parametrize(
    "data",
    [
        {"x": [1.0, 2.0]},
        {"x": np.array([1.0, 2.0])},
        {"x": pa.array([1, 2], pa.int8())},
        pa.table({"x": [1.0, 2.0], "extra": ["a", "b"]}),
        pa.record_batch({"x": [1.0, 2.0]}),
        pd.DataFrame({"x": [1.0, 2.0]}),
        pa.table({"x": pa.chunked_array([[1.0], [2.0]])}),
        pa.table({"x": pa.array([0.0, 1.0, 2.0])}).slice(1),
        pa.table({"x": pa.array([1.0, 2.0], pa.float32())}),
        pa.table({"x": pa.array([Decimal(1), Decimal(2)])}),
        pa.table({"x": pa.array([1.0, 2.0]).dictionary_encode()}),
        pa.table({"x": [1.0, 2.0]}).to_reader(),
    ],
)
def test_every_kind_of_columns(data: object) -> None:
    spec = one("x real", "[x > 1]", more="measure sum(x) as total")
    assert wex.find(spec, data).to_pylist() == [
        {"window_name": "w", "start_index": 1, "end_index": 1, "total": 2.0}
    ]


@pytest.mark.parametrize(
    ("type_", "values", "predicate"),
    [
        ("bool", pa.array([True, False]), "v"),
        ("int", pa.array([3, 1], pa.int64()), "v > 2"),
        ("int", pa.array([3, 1], pa.int16()), "v > 2"),
        ("int", pa.array([3, 1], pa.uint32()), "v > 2"),
        ("real", pa.array([3.5, 1]), "v > 2.25"),
        ("real", pa.array([Decimal("3.50"), Decimal("1.25")]), "v > 2.25"),
        ("string", pa.array(["a", "b"]), "v = 'a'"),
        ("string", pa.array(["a", "b"], pa.large_string()), "v = 'a'"),
        ("string", pa.array(["a", "b"], pa.string_view()), "v = 'a'"),
        ("string", pa.array(["a", "b"]).dictionary_encode(), "v = 'a'"),
        ("enum('a', 'b')", pa.array(["a", "b"]), "v = 'a'"),
        ("timestamp", pa.array([T0, T0 + timedelta(1)]), "v < timestamp '2026-02-01'"),
        (
            "timestamp",
            pa.array([T0, T0 + timedelta(1)], pa.timestamp("s")),
            "v < timestamp '2026-02-01'",
        ),
        (
            "timestamp",
            pa.array([T0, T0 + timedelta(1)], pa.timestamp("ns")),
            "v < timestamp '2026-02-01'",
        ),
        (
            "timestamp",
            pa.array([T0, T0 + timedelta(1)], pa.timestamp("ms", "Europe/Berlin")),
            "v < timestamp '2026-02-01 00:00+01:00'",
        ),
        ("date", pa.array([date(2026, 1, 1), date(2026, 3, 1)]), "v < date '2026-02-01'"),
        (
            "date",
            pa.array([date(2026, 1, 1), date(2026, 3, 1)], pa.date64()),
            "v < date '2026-02-01'",
        ),
    ],
)
def test_every_type(type_: str, values: pa.Array, predicate: str) -> None:
    spec = one(f"v {type_}", f"[{predicate}]", more="measure first(v) as f, collect(v) as all_v")
    (row,) = wex.find(spec, {"v": values}).to_pylist()
    assert row["start_index"] == 0
    expected = values[0].as_py()
    assert row["f"] == expected
    assert row["all_v"] == [expected]


def test_other_types_pass_through() -> None:
    spec = one(
        "v other",
        more="measure first(v) as f, last(v) as l, collect(v) as c, count(v) as n",
        match="any any",
    )
    for values in ([{"a": 1}, {"a": 2}], [[1], [2, 3]], [b"x", b"y"], [timedelta(1), timedelta(2)]):
        table = pa.table({"v": values})
        found = wex.find(spec, table)
        assert found.to_pylist()[0]["f"] == values[0]
        assert found.to_pylist()[0]["c"] == values
        assert found.schema.field("l").type == table.schema.field("v").type


# --- Results out


def test_the_columns_of_a_result() -> None:
    data = {
        "symbol": ["b", "a", "a", "b"],
        "ts": [T0, T0, T0 + timedelta(minutes=1), T0 + timedelta(minutes=2)],
        "price": [1.0, 5.0, 6.0, 2.0],
    }
    found = wex.find(wex.parse(TRADES), data)
    assert found.schema.names == [
        "symbol", "window_name", "start_index", "end_index", "window_start", "window_end", "price_now",
    ]  # fmt: skip
    assert found.schema.field("start_index").type == pa.int64()
    assert found.schema.field("window_start").type == pa.timestamp("us")
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("a", "rise", 1, 1, T0 + timedelta(minutes=1), T0 + timedelta(minutes=1), 6.0),
        ("b", "rise", 1, 1, T0 + timedelta(minutes=2), T0 + timedelta(minutes=2), 2.0),
    ]


def test_the_types_of_measures() -> None:
    spec = wex.parse("""stream s (ts timestamp, d date, n int, x real, c string, ok bool) order by ts
      window w match any any measure count() as a, sum(n) as b, avg(n) as c1, sum(x) as e, min(ts) as f,
        max(d) as g, first(c) as h, some(ok) as i, sum(ts - ts[-1]) as j, collect(ts) as k,
        max(ts) - min(ts) as l, max(n) / 2 as m, min_by(d, x) as o, max(d) - min(d) as p""")
    table = pa.table({
        "ts": pa.array([T0, T0 + timedelta(minutes=1)], pa.timestamp("us", "UTC")),
        "d": [date(2026, 1, 1), date(2026, 1, 3)],
        "n": [1, 2], "x": [2.0, 1.0], "c": ["a", "b"], "ok": [False, True],
    })  # fmt: skip
    found = wex.find(spec, table)
    zoned = pa.timestamp("us", "UTC")
    expected = {
        "a": pa.int64(), "b": pa.int64(), "c1": pa.float64(), "e": pa.float64(), "f": zoned,
        "g": pa.date32(), "h": pa.string(), "i": pa.bool_(), "j": pa.duration("us"), "k": pa.list_(zoned),
        "l": pa.duration("us"), "m": pa.float64(), "o": pa.date32(), "p": pa.duration("us"),
    }  # fmt: skip
    for name, type_ in expected.items():
        assert found.schema.field(name).type == type_, name
    (row,) = found.to_pylist()
    assert row["j"] == row["l"] == timedelta(minutes=1)
    assert row["k"] == [
        datetime(2026, 1, 31, 10, tzinfo=UTC),
        datetime(2026, 1, 31, 10, 1, tzinfo=UTC),
    ]
    assert (row["a"], row["b"], row["c1"], row["i"], row["m"]) == (2, 3, 1.5, True, 1.0)
    assert (row["o"], row["p"]) == (date(2026, 1, 3), timedelta(days=2))


def test_several_windows_share_columns_and_order() -> None:
    spec = wex.parse("""stream s (x int) window later match any any measure count() as n
      window one match any measure sum(x) as total, count() as n""")
    found = wex.find(spec, {"x": [1, 2]}).to_pylist()
    assert found == [
        {"window_name": "one", "start_index": 0, "end_index": 0, "n": 1, "total": 1},
        {"window_name": "later", "start_index": 0, "end_index": 1, "n": 2, "total": None},
        {"window_name": "one", "start_index": 1, "end_index": 1, "n": 1, "total": 2},
    ]


def test_output_is_ordered_by_report_then_place_then_start() -> None:
    spec = wex.parse("""stream s (ok bool) window slow match any+ until [ok]
      window fast match any+ keep longest""")
    found = wex.find(spec, {"ok": [False, False, True]}).to_pylist()
    assert [(r["window_name"], r["start_index"], r["end_index"]) for r in found] == [
        ("fast", 0, 0), ("fast", 0, 1), ("slow", 0, 1), ("slow", 1, 1), ("fast", 0, 2),
    ]  # fmt: skip


# --- Streams


def test_ties_are_ordered_by_the_other_columns() -> None:
    spec = wex.parse("""stream s (t int, a string, b int, blob other) order by t
      window w match any{4} measure collect(b) as b""")
    data = {
        "t": [1, 1, 1, 0],
        "a": ["ä", "z", None, "q"],
        "b": [1, 2, 3, 4],
        "blob": [[1], [2], [3], [4]],
    }
    (row,) = wex.find(spec, data).to_pylist()
    assert row["b"] == [4, 3, 2, 1]  # NULL first, then by UTF-8 bytes


def test_null_keys_are_one_stream_and_come_first() -> None:
    spec = one("k string, x int", "any any", "partition by k")
    found = wex.find(spec, {"k": ["b", None, "b", None], "x": [1, 2, 3, 4]}).to_pylist()
    assert [row["k"] for row in found] == [None, "b"]


def test_without_an_order_rows_keep_theirs() -> None:
    spec = one("x int", "any any any", more="measure collect(x) as xs")
    assert wex.find(spec, {"x": [3, 1, 2]})["xs"].to_pylist() == [[3, 1, 2]]
    assert "window_start" not in wex.find(spec, {"x": [3, 1, 2]}).column_names


def test_arguments_fill_in_what_the_spec_leaves_open() -> None:
    spec = one("k string, t int, x int", "any any", more="measure collect(x) as xs")
    data = {"k": ["a", "b", "a"], "t": [2, 0, 1], "x": [1, 2, 3]}
    found = wex.find(spec, data, partition_by="k", order_by=["t"]).to_pylist()
    assert [(row["k"], row["xs"]) for row in found] == [("a", [3, 1])]
    assert wex.find(spec, data, partition_by=["k"], order_by="t").to_pylist() == found


def test_arguments_that_contradict_the_spec_are_an_error() -> None:
    spec = one("k string, t int", clauses="partition by k")
    with pytest.raises(wex.SpecError) as caught:
        wex.find(spec, {"k": [], "t": []}, partition_by="t")
    assert caught.value.code == "contradiction"
    assert wex.find(spec, {"k": ["a"], "t": [1]}, partition_by="k").num_rows == 1
    with pytest.raises(wex.SpecError, match="nothing"):
        wex.find(spec, {"k": [], "t": []}, order_by="nothing")


def test_nulls_skip_leaves_events_out_and_counts_the_rest() -> None:
    spec = one("x real, y real", "[x > 0]", "nulls skip", "measure sum(y) as s")
    found = wex.find(spec, {"x": [1.0, None, float("nan"), 2.0], "y": [1.0, 2.0, 3.0, None]})
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        ("w", 0, 0, 1.0),
        ("w", 1, 1, None),
    ]


# --- Measures


def measured(aggregate: str, **columns: Sequence[object]) -> object:
    types = {"x": "real", "n": "int", "c": "string", "ok": "bool", "d": "timestamp"}
    fields = ", ".join(f"{name} {types[name]}" for name in columns)
    count = len(next(iter(columns.values())))
    spec = one(fields, f"any{{{count}}}", more=f"measure {aggregate} as m")
    typed = {
        name: pa.array(values, {"real": pa.float64(), "int": pa.int64()}.get(types[name]))
        for name, values in columns.items()
    }
    return wex.find(spec, typed)["m"].to_pylist()[0]


@pytest.mark.parametrize(
    ("aggregate", "columns", "expected"),
    [
        ("count()", {"x": [1.0, None]}, 2),
        ("count(x)", {"x": [1.0, None]}, 1),
        ("sum(x)", {"x": [1.0, None, 2.0]}, 3.0),
        ("sum(x)", {"x": [None, None]}, None),
        ("sum(n)", {"n": [2**62, 2**62 - 1]}, 2**63 - 1),
        ("avg(n)", {"n": [2**62, 2**62, 2**62]}, float(2**62)),
        ("avg(x)", {"x": [1.0, None, 2.0]}, 1.5),
        ("min(x)", {"x": [None, 3.0, 2.0]}, 2.0),
        ("max(c)", {"c": ["a", "é", "z", None]}, "é"),
        ("first(x)", {"x": [None, 3.0, 2.0]}, 3.0),
        ("last(x)", {"x": [3.0, 2.0, None]}, 2.0),
        ("var(x)", {"x": [1.0, 2.0, 3.0]}, 1.0),
        ("var(x)", {"x": [1.0]}, None),
        ("stddev(x)", {"x": [1.0, 3.0, None, 5.0]}, 2.0),
        ("collect(x)", {"x": [1.0, None, 2.0]}, [1.0, 2.0]),
        ("collect(x)", {"x": [None]}, []),
        ("count_distinct(c)", {"c": ["a", "b", "a", None]}, 2),
        ("count_if(x > 1)", {"x": [1.0, 2.0, None]}, 1),
        ("count_if(not x > 1)", {"x": [1.0, 2.0, None]}, 1),
        ("some(x > 1)", {"x": [None, 2.0]}, True),
        ("every(x > 1)", {"x": [None, 2.0]}, True),
        ("every(x > 1)", {"x": [None]}, None),
        ("min_by(c, x)", {"c": ["a", "b", "c"], "x": [2.0, 1.0, 1.0]}, "b"),
        ("max_by(c, x)", {"c": ["a", "b", "c"], "x": [2.0, None, 2.0]}, "a"),
        ("sum(x) filter [x > 1]", {"x": [1.0, 2.0, None, 3.0]}, 5.0),
        ("count() filter [not x > 1]", {"x": [1.0, 2.0, None]}, 1),
        ("sum(x[-1])", {"x": [1.0, 2.0, 3.0]}, 3.0),
        ("count_if(is_first)", {"x": [1.0, 2.0]}, 1),
        ("(max(x) - min(x)) / count()", {"x": [1.0, 5.0]}, 2.0),
        ("abs(min(n)) * 2", {"n": [-3, 1]}, 6),
        ("max(x) - 1", {"x": [None]}, None),
        ("-count()", {"x": [1.0, 2.0]}, -2),
        (
            "first(x)",
            {"x": [float("nan"), 1.0], "n": [1, 2]},
            pytest.approx(float("nan"), nan_ok=True),
        ),
    ],
)
def test_aggregates(aggregate: str, columns: dict[str, list[object]], expected: object) -> None:
    assert measured(aggregate, **columns) == expected


def test_the_mean_of_durations_is_rounded_half_to_even() -> None:
    times = [T0, T0 + timedelta(microseconds=1), T0 + timedelta(microseconds=3)]
    assert measured("avg(d - d[-1])", d=times) == timedelta(microseconds=2)  # of 1 and 2


def test_the_event_before_the_window_counts_for_its_lookback() -> None:
    spec = one("x int", "[x = 3]", more="measure sum(x - x[-1]) as rise")
    assert wex.find(spec, {"x": [1, 3]})["rise"].to_pylist() == [2]


# --- Bad data


def test_a_missing_column() -> None:
    error = refused(one("price real"), {"prise": [1.0]})
    assert (error.code, error.column) == ("missing-column", "price")
    assert "did you mean `prise`?" in str(error)


def test_a_column_that_is_there_twice() -> None:
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["x", "x"])
    assert refused(one("x real"), table).code == "column-twice"


@pytest.mark.parametrize(
    ("type_", "values"),
    [
        ("real", pa.array(["1.5"])),
        ("int", pa.array([1.5])),
        ("int", pa.array([1], pa.uint64())),
        ("real", pa.array([1], pa.uint64())),
        ("string", pa.array([1])),
        ("string", pa.array([b"x"])),
        ("bool", pa.array([1])),
        ("timestamp", pa.array(["2026-01-01"])),
        ("timestamp", pa.array([date(2026, 1, 1)])),
        ("date", pa.array([T0])),
        ("enum('a')", pa.array([1])),
        ("int", pa.array([[1]])),
        ("string", pa.array([{"a": 1}])),
    ],
)
def test_a_wrong_type(type_: str, values: pa.Array) -> None:
    error = refused(one(f"v {type_}"), {"v": values})
    assert (error.code, error.column) == ("wrong-column-type", "v")


def test_a_whole_number_that_a_real_cannot_hold() -> None:
    assert refused(one("v real"), {"v": [2**53 + 1]}).code == "wrong-value"


@pytest.mark.parametrize("bad", [None, float("nan")])
def test_null_and_nan_in_a_guarded_field(bad: float | None) -> None:
    data = {"symbol": ["a", "b", "b"], "ts": [T0, T0 + timedelta(1), T0], "price": [1.0, bad, 2.0]}
    error = refused(wex.parse(TRADES), data)
    assert (error.code, error.column, error.key, error.position) == ("null", "price", ("b",), 1)
    assert "column `price`, stream 'b', event 1" in str(error)


def test_null_in_a_field_that_no_predicate_reads() -> None:
    assert measured("sum(x)", x=[None, 1.0]) == 1.0


@pytest.mark.parametrize(
    "aggregate", ["sum(x)", "avg(x)", "min(x)", "max(x)", "var(x)", "min_by(n, x)"]
)
def test_nan_in_a_measured_field(aggregate: str) -> None:
    with pytest.raises(wex.DataError) as caught:
        measured(aggregate, x=[1.0, float("nan")], n=[1, 2])
    assert (caught.value.code, caught.value.column) == ("arithmetic", "m")


def test_an_order_value_that_is_null() -> None:
    data = {"symbol": ["a", "b"], "ts": [T0, None], "price": [1.0, 2.0]}
    error = refused(wex.parse(TRADES), data)
    assert (error.code, error.column, error.key) == ("null-order", "ts", ("b",))


def test_an_enum_outside_its_list() -> None:
    spec = one("k int, e enum('a', 'b')", clauses="partition by k")
    error = refused(spec, {"k": [1, 1, 2], "e": ["a", "c", "b"]})
    assert (error.code, error.column, error.key, error.position) == ("enum-value", "e", (1,), 1)
    assert wex.find(spec, {"k": [1], "e": pa.array([None], pa.string())}).num_rows == 1


def test_whole_numbers_that_overflow() -> None:
    error = refused(one("n int", "[n + 1 > 0]"), {"n": [1, 2**63 - 1]})
    assert (error.code, error.position) == ("arithmetic", 1)
    with pytest.raises(wex.DataError):
        measured("sum(n)", n=[2**62, 2**62])
    with pytest.raises(wex.DataError):
        measured("max(n) * 2", n=[2**62])


def test_arithmetic_that_is_not_a_number() -> None:
    error = refused(one("x real, y real", "[x / y > 0]"), {"x": [1.0, 0.0], "y": [0.0, 0.0]})
    assert (error.code, error.position) == ("arithmetic", 1)
    with pytest.raises(wex.DataError):
        measured("sum(x)", x=[float("inf"), float("-inf")])


def test_timestamps_finer_than_microseconds() -> None:
    column = pa.array([0, 1_000, 1_001], pa.timestamp("ns"))
    error = refused(one("t timestamp"), {"t": column})
    assert (error.code, error.column) == ("sub-microsecond", "t")
    assert "row 2" in str(error)


def test_timestamps_out_of_range() -> None:
    column = pa.array([0, 2**62], pa.timestamp("s"))
    assert refused(one("t timestamp"), {"t": column}).code == "timestamp-range"


def test_time_zones_do_not_mix() -> None:
    zoned, plain = pa.array([T0], pa.timestamp("us", "UTC")), pa.array([T0])
    assert refused(one("a timestamp, b timestamp"), {"a": zoned, "b": plain}).code == "zones-mixed"
    constant = one("a timestamp", "[a > timestamp '2026-01-01']")
    assert refused(constant, {"a": zoned}).code == "zones-mixed"
    assert wex.find(constant, {"a": plain}).num_rows == 1


def test_an_assumption_that_breaks() -> None:
    spec = one("k int, x int", clauses="partition by k assume [x >= x[-1]]*", match="any")
    error = refused(spec, {"k": [1, 2, 2, 2], "x": [1, 1, 2, 0]})
    assert (error.code, error.key, error.position) == ("assumption", (2,), 2)
    unchecked = one("k int, x int", clauses="partition by k assume [x >= x[-1]]* unchecked")
    assert wex.find(unchecked, {"k": [1, 1], "x": [1, 0]}).num_rows == 2


def test_a_stream_conforms_as_long_as_it_can_go_on() -> None:
    spec = one("x int", clauses="assume [x = 1] [x = 2]", match="any")
    assert wex.find(spec, {"x": [1]}).num_rows == 1
    assert refused(spec, {"x": [1, 2, 3]}).position == 2
    never = one("x int", clauses="assume [x = 1] [false]", match="any")
    assert refused(never, {"x": [1]}).position == 0


@pytest.mark.parametrize("rows", [0, 1])
def test_few_rows(rows: int) -> None:
    data = pa.table({
        "symbol": pa.array(["a"] * rows, pa.string()),
        "ts": pa.array([T0] * rows, pa.timestamp("us")),
        "price": pa.array([1.0] * rows, pa.float64()),
    })  # fmt: skip
    found = wex.find(wex.parse(TRADES), data)
    assert found.num_rows == 0
    assert found.schema.field("price_now").type == pa.float64()
    assert found.schema.field("window_start").type == pa.timestamp("us")


def test_columns_without_a_type() -> None:
    assert wex.find(one("x real"), {"x": [None, None]}).num_rows == 2
    assert wex.find(one("x real"), {"x": []}).num_rows == 0


def test_what_is_no_data() -> None:
    for data in (None, 3, [1, 2], "x"):
        assert refused(one("x real"), data).code == "not-columns"


def test_specs_built_in_python_run_too() -> None:
    t = w.stream("s", x="int")
    spec = w.spec(t, w.window("w", match=(t.x > 1).plus(), keep="longest"))
    assert wex.find(spec, {"x": [1, 2, 3]})["end_index"].to_pylist() == [1, 2]


def test_having_without_a_result() -> None:
    spec = one("x real", more="measure sum(x) as m having m / m > 5")
    error = refused(spec, {"x": [0.0]})
    assert (error.code, error.position) == ("arithmetic", 0)


def test_constants_beyond_the_largest_float_are_infinite() -> None:
    assert wex.find(one("x real", "[x > 1e308 * 1e308]"), {"x": [1e308]}).num_rows == 0
    assert wex.find(one("x real", "[x > -1e308 * 1e308]"), {"x": [-1e308]}).num_rows == 1
    with pytest.raises(wex.SpecError, match="number-out-of-range"):
        one("x real", "[x > 2e308]")


def test_the_variance_of_huge_numbers() -> None:
    assert measured("var(x)", x=[1e200, -1e200]) == float("inf")
    assert measured("stddev(x)", x=[1.7e308, 1.7e308]) == 0.0


def test_keys_beyond_pythons_times() -> None:
    spec = one("t timestamp, x real", "[x > 0]", "partition by t")
    table = pa.table({"t": pa.array([2**62, 2**62], pa.timestamp("us")), "x": [1.0, None]})
    assert refused(spec, table).position == 1
    assert wex.find(spec, table.slice(0, 1)).num_rows == 1


def test_measures_of_one_name_over_other_columns() -> None:
    spec = wex.parse("""stream s (v other, u other) window a match any measure first(v) as m
      window b match any measure first(u) as m""")
    assert wex.find(spec, {"v": [[1]], "u": [[2]]})["m"].to_pylist() == [[1], [2]]
    error = refused(spec, {"v": [[1]], "u": [{"a": 2}]})
    assert (error.code, error.column) == ("wrong-column-type", "m")


def test_the_sign_of_zero_is_the_last_tie() -> None:
    spec = one("t int, x real", "[1 / x > 0]", "order by t")
    for zeros in ([0.0, -0.0], [-0.0, 0.0]):
        assert wex.find(spec, {"t": [1, 1], "x": zeros})["start_index"].to_pylist() == [1]


def test_measured_times_keep_the_zone_of_their_column() -> None:
    spec = one("a timestamp, b timestamp", more="measure first(b) as f")
    table = pa.table({
        "a": pa.array([T0], pa.timestamp("us", "Europe/Berlin")),
        "b": pa.array([T0], pa.timestamp("us", "UTC")),
    })  # fmt: skip
    assert wex.find(spec, table).schema.field("f").type == pa.timestamp("us", "UTC")


def test_columns_without_values_mix_with_any_zone() -> None:
    zoned = pa.array([T0], pa.timestamp("us", "UTC"))
    spec = one("a timestamp, b timestamp", more="measure last(b) as f")
    assert wex.find(spec, {"a": zoned, "b": pa.nulls(1)}).num_rows == 1
    constant = one("a timestamp", "[a > timestamp '2026-01-01 00:00+00:00']")
    assert wex.find(constant, {"a": []}).num_rows == 0


# --- Odd data, odd numbers, odd calls


@pytest.mark.parametrize(
    "data",
    [
        {"x": [1, 2], "y": [1]},
        {"x": [1, "a"], "y": [1, 2]},
        {"x": 5, "y": [1]},
        {"x": [2**70], "y": [1]},
        {1: [1], "x": [1], "y": [1]},
        pd.DataFrame({"x": [1, "a"], "y": [1, 2]}),
        pd.DataFrame([[1, 2, 3]], columns=["x", "x", "y"]),
        pa.chunked_array([[1, 2]]),
    ],
)
def test_data_that_holds_no_columns(data: object) -> None:
    assert refused(one("x int, y int"), data).code in ("not-columns", "column-twice")


@pytest.mark.parametrize("scale", range(1, 20))
def test_decimals_are_rounded_to_the_nearest_float(scale: int) -> None:
    digits = [3, 12345678901234567, 7 * 10 ** (scale - 1) + 1]
    values = [Decimal(each).scaleb(-scale) for each in digits]
    spec = one("x real", more="measure first(x) as f")
    table = pa.table({"x": pa.array(values, pa.decimal128(38, scale))})
    assert wex.find(spec, table)["f"].to_pylist() == [float(value) for value in values]
    assert wex.find(one("x real", "[x = 0.3]"), {"x": [Decimal("0.3")]}).num_rows == 1


def test_rows_keep_their_order_also_with_a_float_for_a_key() -> None:
    spec = one("k real, x int", clauses="partition by k", more="measure first(x) as f")
    found = wex.find(spec, {"k": [0.0, -0.0, 0.0], "x": [1, 2, 3]})
    assert found["f"].to_pylist() == [1, 2, 3]


def test_several_assumptions_intersect() -> None:
    both = "assume [x = 1]* [x = 2] assume [x = 1]* [x = 3]"
    assert refused(one("x int", clauses=both), {"x": [1, 1]}).position == 0
    meet = "assume [x = 1]* [x >= 2] assume [x > x[-1]]*"
    assert wex.find(one("x int", clauses=meet), {"x": [1, 3]}).num_rows == 2
    assert refused(one("x int", clauses=meet), {"x": [1, 1]}).position == 1
    assert refused(one("x int", clauses=meet), {"x": [1, 2, 3]}).position == 2


def test_assumptions_with_different_lookbacks() -> None:
    spec = one("x int", clauses="assume [x > 0]* assume [x > x[-2]]*")
    assert wex.find(spec, {"x": [2, 1, 3, 2]}).num_rows == 4
    assert refused(spec, {"x": [2, 0, 3]}).position == 1
    assert refused(spec, {"x": [2, 1, 2]}).position == 2


def test_a_sum_that_rounds_is_another_guard_than_one_that_does_not() -> None:
    spec = one("n int, m int", clauses="assume ([n + 1 > m] & ~[n + 1.0 > m])*")
    assert wex.find(spec, {"n": [2**53], "m": [2**53]}).num_rows == 1


def test_constants_that_are_all_infinite() -> None:
    spec = one("x real", clauses="assume ([x = 1e300 * 1e300] | [x = 1e300 * 1e301] | any)*")
    assert wex.find(spec, {"x": [float("inf")]}).num_rows == 1


def test_field_names_with_odd_characters() -> None:
    spec = one(
        "`a\0b` int, `a\0c` int, `#0` int", clauses="assume ([`a\0b` = 1] | [`a\0c` = 2] | any)*"
    )
    assert wex.find(spec, {"a\0b": [1], "a\0c": [2], "#0": [3]}).num_rows == 1


def test_dates_and_zones_beyond_python() -> None:
    far = pa.array([3_000_000], pa.int32()).cast(pa.date32())
    assert wex.find(one("d date", clauses="partition by d"), {"d": far}).num_rows == 1
    odd = pa.array([0], pa.timestamp("us", "Foo/Bar"))
    assert wex.find(one("t timestamp", clauses="partition by t"), {"t": odd}).num_rows == 1
    spec = one("d date, n int", clauses="partition by d order by n")
    assert refused(spec, {"d": far, "n": pa.array([None], pa.int64())}).key == (3_000_000,)


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["x", None, "y"]).dictionary_encode(),
        pa.array([[{"a": [1]}], None, []]),
        pa.array([1, None, 2], pa.time64("ns")),
        pa.array([b"a", None, b"b"], pa.binary(1)),
        pa.array([1, None, 2], pa.timestamp("ns", "UTC")),
        pa.array([[(1, 2)], None, []], pa.map_(pa.int64(), pa.int64())),
        pa.array([1, None, 2], pa.uint64()),
        pa.ExtensionArray.from_storage(
            pa.uuid(), pa.array([b"0" * 16, None, b"1" * 16], pa.binary(16))
        ),
    ],
)
def test_other_is_passed_on_whatever_it_is(values: pa.Array) -> None:
    spec = one(
        "n int, v other",
        "any any any",
        "order by n",
        "measure first(v) as f, last(v) as l, collect(v) as c, count(v) as k",
    )
    found = wex.find(spec, pa.table({"n": [2, 1, 0], "v": values}))
    assert found.schema.field("f").type == values.type
    assert found["f"].chunk(0).equals(values.take(pa.array([2])))
    assert found["l"].chunk(0).equals(values.take(pa.array([0])))
    assert found["c"].chunk(0).flatten().equals(values.take(pa.array([2, 0])))
    assert found["k"].to_pylist() == [2]


def test_results_that_do_not_fit() -> None:
    for measure in ("first(abs(-9223372036854775808))", "first(-(-9223372036854775808))"):
        assert (
            refused(one("x int", more=f"measure {measure} as m"), {"x": [1]}).code == "arithmetic"
        )
    last_day = pa.array([2**31 - 1], pa.int32()).cast(pa.date32())
    spec = one("d date", more="measure max(d) + 1 day as m")
    assert refused(spec, {"d": last_day}).code == "arithmetic"
    assert refused(one("x int", "[x < abs(-9223372036854775808)]"), {"x": [1]}).code == "arithmetic"


def test_strings_that_are_not_utf8() -> None:
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")]
    )
    assert refused(one("s string"), {"s": broken}).code == "wrong-value"


def test_calls_that_are_no_calls() -> None:
    for partition_by in (5, [None], [1]):
        with pytest.raises(wex.WexError):
            wex.find(one("x int"), {"x": [1]}, partition_by=partition_by)  # type: ignore[arg-type]
    with pytest.raises(wex.WexError, match="expected a Spec"):
        wex.find(["stream s (x int)"], {"x": [1]})  # type: ignore[arg-type]


def test_skipped_events_are_not_judged_and_do_not_count() -> None:
    spec = one("x int, e enum('a')", "[x > 0]", "nulls skip")
    assert wex.find(spec, {"x": pa.array([None], pa.int64()), "e": ["z"]}).num_rows == 0
    error = refused(spec, {"x": [None, 1, 1], "e": ["z", "a", "z"]})
    assert (error.code, error.position) == ("enum-value", 1)


def test_a_value_that_does_not_fit_names_its_stream() -> None:
    spec = one("k string, x real", clauses="partition by k")
    error = refused(spec, {"k": ["a", "b"], "x": [1, 2**53 + 1]})
    assert (error.column, error.key) == ("x", ("b",))
    assert "row 1" in str(error)
    overflow = refused(
        one("k string, n int", "[n + 1 > 0]", "partition by k"), {"k": ["a"], "n": [2**63 - 1]}
    )
    assert (overflow.column, overflow.key, overflow.position) == ("n", ("a",), 0)


def test_sets_of_positions_have_a_limit_in_the_definition() -> None:
    formula = wex.parse("stream s (x int) window w where exists set X: begin in X")
    assert find_by_definition(formula, {"x": [1, 2, 3]}).num_rows == 6
    with pytest.raises(wex.LimitError) as caught:
        find_by_definition(formula, {"x": list(range(30))})
    assert caught.value.limit == "subsets"
    assert wex.find(formula, {"x": list(range(30))}).num_rows == 465


def test_the_variance_of_infinite_values() -> None:
    assert measured("var(x)", x=[float("inf")]) is None
    with pytest.raises(wex.DataError):
        measured("stddev(x)", x=[float("inf"), 1.0])


def test_a_spec_without_windows_is_not_run() -> None:
    spec = wex.parse("stream s (x int)")
    for run in (lambda: wex.find(spec, {"x": [1]}), lambda: wex.Processor(spec)):
        with pytest.raises(wex.WexError) as caught:
            run()
        assert caught.value.code == "no-windows"
