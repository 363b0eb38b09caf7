"""The command `wex find`: every format in and out, and mistakes explained."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import wex
from tests.cli.test_check import run
from wex import examples
from wex.engine.files import read_table
from wex.spec import meaning

DATA = Path(examples.__file__).parent / "data"
STOCKS = DATA / "stocks.wex"


def saved(folder: Path, ending: str) -> Path:
    table, path = examples.data("stocks"), folder / f"stocks{ending}"
    match ending:
        case ".parquet":
            parquet.write_table(table, path)
        case ".csv":
            csv.write_csv(table, path)
        case ".csv.gz":
            with pa.CompressedOutputStream(str(path), "gzip") as sink:
                csv.write_csv(table, sink)
        case ".jsonl":
            rows = [{**row, "day": row["day"].isoformat()} for row in table.to_pylist()]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case ".feather":
            feather.write_feather(table, path)
        case ".arrow":
            with (
                pa.OSFile(str(path), "wb") as sink,
                pa.ipc.new_stream(sink, table.schema) as writer,
            ):
                writer.write_table(table)
    return path


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".csv.gz", ".jsonl", ".feather", ".arrow"])
def test_every_format_in(ending: str, tmp_path: Path) -> None:
    done = run("find", str(STOCKS), str(saved(tmp_path, ending)), "--json")
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert [row["end_index"] for row in rows] == examples.windows("stocks")["end_index"].to_pylist()
    assert rows[0]["window_start"] == "2000-06-01"


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_every_format_out(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"windows{ending}"
    done = run("find", str(STOCKS), str(DATA / "stocks.csv"), "-o", str(target))
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    assert b"57 windows in 560 events" in done.stderr
    expected = examples.windows("stocks")
    found = read_table(target, {})
    assert found["top"].to_pylist() == expected["top"].to_pylist()
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_rows_are_shown_whole_in_a_pipe() -> None:
    said = run("find", str(STOCKS), str(DATA / "stocks.csv")).stdout.decode()
    assert "AAPL" in said
    assert "2000-06-01" in said


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["nowhere.csv"], "nowhere.csv: No such file or directory"),
        (["."], "its name does not tell its format"),
        ([str(DATA / "stocks.wex")], "its name does not tell its format"),
        ([str(DATA / "seattle.csv")], "the data has no such column"),
        ([str(DATA / "stocks.csv"), "--input-format", "parquet"], "is this parquet"),
        ([str(DATA / "stocks.csv"), "--input-format", "cvs"], "did you mean `csv`?"),
        ([str(DATA / "stocks.csv"), "-o", "/nowhere/x.parquet"], "No such file or directory"),
        ([str(DATA / "stocks.csv"), "-o", "x.docx"], "its name does not tell its format"),
        ([], "Missing argument 'FILE'"),
    ],
)
def test_mistakes(args: list[str], said: str) -> None:
    done = run("find", str(STOCKS), *args)
    assert done.returncode == 2
    assert said in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_values_that_do_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("symbol,day,price\nA,2026-01-01,1.5\nA,2026-01-02,cheap\n")
    done = run("find", str(STOCKS), str(path))
    assert done.returncode == 2
    assert "unreadable" in done.stderr.decode()
    assert "cheap" in done.stderr.decode()


def test_a_null_names_its_place(tmp_path: Path) -> None:
    path = tmp_path / "null.csv"
    path.write_text("symbol,day,price\nA,2026-01-01,1.5\nA,2026-01-02,\n")
    done = run("find", str(STOCKS), str(path))
    assert done.returncode == 2
    assert "column `price`, stream 'A', event 1" in done.stderr.decode()


def test_lists_do_not_fit_into_csv(tmp_path: Path) -> None:
    spec, data = tmp_path / "s.wex", tmp_path / "d.csv"
    spec.write_text("stream s (x int) window w match any measure collect(x) as xs")
    data.write_text("x\n1\n")
    done = run("find", str(spec), str(data), "-o", str(tmp_path / "out.csv"))
    assert done.returncode == 2
    assert "lists do not fit into CSV" in done.stderr.decode()
    assert not (tmp_path / "out.csv").exists()


def test_declared_types_win_over_guesses(tmp_path: Path) -> None:
    text = "stream s (k string, t timestamp) order by t window w match [k = '007']"
    data = tmp_path / "d.csv"
    data.write_text("k,t\n007,2026-01-31 10:00:00\n")
    spec = wex.parse(text)
    table = read_table(data, meaning(spec).fields)
    assert table.schema.field("k").type == pa.string()
    assert wex.find(spec, table).num_rows == 1
