"""The command `wex sql`: in this process where it can be, with Spark otherwise, and mistakes explained."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from tests.cli.commands import run

TICKS = pa.table(
    {"symbol": ["a"] * 4 + ["b"] * 3, "ts": [1, 2, 3, 4, 1, 2, 3], "price": [9.5, 9, 9.5, 9.75, 1, 2, 3]}
)  # fmt: skip
MATCH = """MATCH_RECOGNIZE (
  PARTITION BY symbol ORDER BY ts MEASURES COUNT(*) AS n, LAST(price) AS top
  PATTERN (a up+) DEFINE up AS price > PREV(price))"""
RESULT = [{"symbol": "a", "n": 3, "top": 9.75}, {"symbol": "b", "n": 3, "top": 3}]


@pytest.fixture
def ticks(tmp_path: Path) -> Path:
    csv.write_csv(TICKS, tmp_path / "ticks.csv")
    parquet.write_table(TICKS, tmp_path / "ticks.parquet")
    return tmp_path


@pytest.mark.parametrize("file", ["ticks.csv", "ticks.parquet"])
def test_a_match_alone_runs_in_this_process(ticks: Path, file: str) -> None:
    done = run("sql", f"SELECT * FROM ticks {MATCH}", "--input", f"ticks={ticks / file}", "--json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == RESULT


def test_a_file_with_a_query_and_an_output(ticks: Path) -> None:
    (ticks / "q.sql").write_text(f"SELECT top AS high FROM Ticks {MATCH} AS m -- all\n")
    where = f"ticks={ticks / 'ticks.parquet'}"
    done = run("sql", str(ticks / "q.sql"), "--input", where, "-o", str(ticks / "out.csv"))
    assert done.returncode == 0, done.stderr
    assert b"2 rows" in done.stderr
    assert csv.read_csv(ticks / "out.csv")["high"].to_pylist() == [9.75, 3]


def test_spark_runs_what_is_around_a_match(ticks: Path) -> None:
    query = f"SELECT max(top) AS top FROM ticks {MATCH} WHERE n > 2"
    done = run("sql", query, "--input", f"ticks={ticks / 'ticks.csv'}", "--json")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [{"top": 9.75}], done.stderr


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT * FROM tocks {MATCH}", "--input tocks=PATH"),
        (f"SELECT * FROM ticks {MATCH.replace('PREV(price)', 'PREV(prise)')}", "did you mean `price`?"),
        (f"SELECT * FROM ticks {MATCH.replace('a up+', 'a up+(')}", "never closed"),
        (f"SELECT * FROM ticks {MATCH.replace('DEFINE', 'DEFINED')}", "error["),
        ("missing.sql", "missing.sql"),
    ],
)  # fmt: skip
def test_mistakes(ticks: Path, query: str, expected: str) -> None:
    done = run("sql", query, "--input", f"ticks={ticks / 'ticks.csv'}")
    assert done.returncode == 2
    assert expected in done.stderr.decode()
    assert b"Traceback" not in done.stderr
