"""What wex writes it reads back: one form for each type, in CSV, JSON lines, Parquet and Arrow."""

from __future__ import annotations

import json
import tempfile
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import compute as pc

import wex
from wex.engine.files import json_files, reading
from wex.engine.files.reading import read_table
from wex.engine.files.writing import csv_lines, json_lines, shown_rows, write_table
from wex.engine.input.columns import arrow_type
from wex.spec.types import BOOL, DATE, INT, REAL, STRING, TIMESTAMP

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31))
VALUES = {
    BOOL: st.booleans(),
    INT: st.integers(-(2**63), 2**63 - 1),
    REAL: st.floats(),
    STRING: st.one_of(texts, st.sampled_from(["", " ", "NaN", "null", '"', "a,b", "a\r\nb", "\n"])),
    DATE: st.dates(),
}
NAIVE, ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    size = draw(st.integers(0, 20))
    columns = {}
    for type_, values in VALUES.items():
        column = draw(st.lists(st.none() | values, min_size=size, max_size=size))
        columns[type_.name] = pa.array(column, arrow_type(type_))
    times = draw(st.lists(st.none() | moments, min_size=size, max_size=size))
    for name, zone in (("naive", None), ("zoned", UTC)):
        zoned = [each and each.replace(tzinfo=zone) for each in times]
        columns[name] = pa.array(zoned, NAIVE if zone is None else ZONED)
    return pa.table(columns)


FIELDS = {type_.name: type_ for type_ in VALUES} | {"naive": TIMESTAMP, "zoned": TIMESTAMP}


def rows(table: pa.Table) -> list[str]:
    """Return the rows as texts: NaN equals itself, and -0.0 is not 0.0."""
    return [repr(list(row.values())) for row in table.to_pylist()]


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".arrow"])
@given(table=tables(), block=st.sampled_from([2_000, 1 << 24]))
def test_what_is_written_is_read_back(ending: str, table: pa.Table, block: int) -> None:
    with tempfile.TemporaryDirectory() as folder, patch.object(reading, "TEXT_BLOCK", block):
        path = Path(folder) / f"d{ending}"
        write_table(table, path)
        found = read_table(path, FIELDS)
    assert found.column_names == table.column_names
    assert rows(found) == rows(table)
    for field in found.schema:  # a text column without a value may be with or without a zone
        assert field.type in (table.schema.field(field.name).type, pa.null())


@given(table=tables())
def test_json_is_json(table: pa.Table) -> None:
    def refuse(name: str) -> None:
        raise AssertionError(name)

    lines = list(json_lines(table))
    assert [json.loads(line, parse_constant=refuse)["int"] for line in lines] == (
        table["int"].to_pylist()
    )


@given(table=tables())
def test_slow_json_is_quick_json(table: pa.Table) -> None:
    """Blocks that Arrow cannot read are read by Python: the same where Arrow can."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "d.jsonl"
        write_table(table, path)
        quick = read_table(path, FIELDS)
        with patch.object(json_files, "_arrow", lambda *_, **__: None):
            slow = read_table(path, FIELDS)
    assert quick.schema == slow.schema
    assert rows(quick) == rows(slow)


@given(st.lists(st.integers(-(2**63) + 1, 2**63 - 1)))
def test_durations_are_exact_seconds(counts: list[int]) -> None:
    table = pa.table({"d": pa.array(counts, pa.duration("us")), "n": counts})
    in_json = [json.loads(line, parse_float=Decimal)["d"] for line in json_lines(table)]
    in_csv = [Decimal(line.partition(",")[0]) for line in list(csv_lines(table))[1:]]
    assert in_json == in_csv == [Decimal(each) / 1_000_000 for each in counts]


def test_one_form_for_each_type() -> None:
    table = pa.table({
        "real": [1.0, float("nan"), float("inf"), float("-inf"), -0.0, 1e300],
        "gap": pa.array([90_000_001, 90_000_000, -1, 0, None, 2**62], pa.duration("us")),
        "t": pa.array([0, 1, None, 10**15, 0, 0], pa.timestamp("us", "Europe/Berlin")),
        "local": pa.array([0, 1, None, 10**15, 0, 0], pa.timestamp("us")),
        "s": ["", None, "x,y", '"', "é", "a\nb"],
        "n": pa.array([2**63 - 1, 0, 0, 0, 0, 0]),
    })  # fmt: skip
    assert "\n".join(csv_lines(table)) == (
        "real,gap,t,local,s,n\n"
        '1.0,90.000001,1970-01-01T00:00:00Z,1970-01-01T00:00:00,"",9223372036854775807\n'
        "NaN,90,1970-01-01T00:00:00.000001Z,1970-01-01T00:00:00.000001,,0\n"
        'Infinity,-0.000001,,,"x,y",0\n'
        '-Infinity,0,2001-09-09T01:46:40Z,2001-09-09T01:46:40,"""",0\n'
        "-0.0,,1970-01-01T00:00:00Z,1970-01-01T00:00:00,é,0\n"
        '1e+300,4611686018427.387904,1970-01-01T00:00:00Z,1970-01-01T00:00:00,"a\nb",0'
    )
    first, second, *_ = json_lines(table)
    assert first == (
        '{"real": 1.0, "gap": 90.000001, "t": "1970-01-01T00:00:00Z", '
        '"local": "1970-01-01T00:00:00", "s": "", "n": 9223372036854775807}'
    )
    assert second.startswith('{"real": "NaN", "gap": 90, "t": "1970-01-01T00:00:00.000001Z"')
    assert '"s": null' in second


def test_lists_and_structs_in_json() -> None:
    table = pa.table({
        "l": pa.array([[1.5, None, float("nan")], [], None]),
        "s": pa.array([{"a": timedelta(seconds=1), "b": ["x"]}, None, {"a": None, "b": None}]),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "d": pa.array(["a", None, "b"]).dictionary_encode(),
        "y": pa.array([b"\xff", None, b""]),
    })  # fmt: skip
    assert list(json_lines(table)) == [
        '{"l": [1.5, null, "NaN"], "s": {"a": 1, "b": ["x"]},'
        ' "m": [{"key": "k", "value": 1}], "d": "a", "y": "/w=="}',
        '{"l": [], "s": null, "m": null, "d": null, "y": null}',
        '{"l": null, "s": {"a": null, "b": null}, "m": [], "d": "b", "y": ""}',
    ]
    assert [row[0] for row in shown_rows(table)] == ['[1.5, null, "NaN"]', "[]", "null"]
    assert list(json_lines(table.slice(1, 1))) == [list(json_lines(table))[1]]


def test_years_that_iso_8601_does_not_have(tmp_path: Path) -> None:
    for column in (pa.array([2**62], pa.timestamp("us")), pa.array([2**30], pa.date32())):
        with pytest.raises(wex.WexError, match="years 1 to 9999"):
            write_table(pa.table({"t": column, "n": [1]}), tmp_path / "d.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_measures_of_a_window_are_read_back(tmp_path: Path) -> None:
    """Windows of one spec are the data of another: durations come back as seconds."""
    spec = wex.parse("""stream s (t timestamp, x real) order by t
      window w match any{2} measure max(t - t[-1]) as gap, sum(x / 0.5) as total""")
    times = [datetime(2026, 1, 31, tzinfo=UTC) + timedelta(microseconds=n * n) for n in range(5)]
    found = wex.find(spec, {"t": times, "x": [1.0, float("inf"), 2.0, -1.0, -0.0]})
    again = wex.parse("""stream s (window_start timestamp, gap real, total real) order by window_start
      window w match any measure first(gap) as gap, first(total) as total""")
    for ending in (".csv", ".jsonl"):
        write_table(found, tmp_path / f"w{ending}")
        back = wex.find_in_file(again, tmp_path / f"w{ending}")
        assert back["gap"].to_pylist() == [
            each.total_seconds() for each in found["gap"].to_pylist()
        ]
        assert back["total"].to_pylist() == found["total"].to_pylist()
        assert pc.equal(back["window_start"], found["window_start"]).to_pylist() == [True] * 4


def test_a_date_is_a_date() -> None:
    assert list(csv_lines(pa.table({"d": [date(2026, 1, 31), None], "n": [1, 2]}))) == [
        "d,n",
        "2026-01-31,1",
        ",2",
    ]
