"""The command `wex run`: from files to files on Spark, and mistakes explained."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

import wex
from tests.cli.commands import TREND, letters, run
from wex import examples
from wex.examples import market

ROOT = Path(__file__).parents[2]


def test_parquet_to_parquet_and_not_over_it(tmp_path: Path) -> None:
    table = market.trades(5_000, 7)
    market.write(table, tmp_path / "in")
    args = ("run", str(TREND), "--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"))
    done = run(*args, "--master", "local[2]", "--conf", "spark.sql.shuffle.partitions=3")
    assert done.returncode == 0, done.stderr
    result = parquet.read_table(tmp_path / "out")
    expected = wex.find(examples.spec("trend"), table)
    assert result.num_rows == expected.num_rows
    assert sorted(result["mean"].to_pylist()) == sorted(expected["mean"].to_pylist())
    assert f"{expected.num_rows:,} windows in 5,000 events of 7 streams".encode() in done.stderr
    again = run(*args)
    assert again.returncode == 2
    assert b"exists already" in again.stderr
    assert b"Traceback" not in again.stderr
    over = run(*args, "--mode", "overwrite", "--ranges", "2")
    assert over.returncode == 0
    assert parquet.read_table(tmp_path / "out").num_rows == expected.num_rows


def test_csv_of_ones_own(tmp_path: Path) -> None:
    table = market.trades(500, 2)
    plain = table.set_column(1, "ts", table["ts"].cast(pa.timestamp("us")))
    shuffled = plain.select(["price", "ts", "symbol"]).append_column("note", pa.array(["x"] * 500))
    csv.write_csv(shuffled, tmp_path / "in.csv")
    args = (
        "run",
        str(TREND),
        "--input",
        str(tmp_path / "in.csv"),
        "--output",
        str(tmp_path / "out.csv"),
    )
    done = run(*args, "--conf", "spark.sql.session.timeZone=UTC")
    assert done.returncode == 0, done.stderr
    expected = wex.find(examples.spec("trend"), table)
    written = [csv.read_csv(file) for file in sorted((tmp_path / "out.csv").glob("part-*.csv"))]
    assert sum(part.num_rows for part in written) == expected.num_rows


def test_the_job_of_the_tutorial(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    for name in ("alarm.wex", "fridges.csv"):
        block = re.search(rf"<!-- file: {name} -->\n```\w+\n(.*?)```", page, re.DOTALL)
        assert block
        (tmp_path / name).write_text(block[1])
    job = re.search(r"<!-- file: job.py -->\n```py\n(.*?)```", page, re.DOTALL)
    assert job
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", job[1]],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split("|")[1:-1] for line in done.stdout.splitlines() if "alarm" in line]
    found = sorted((row[0].strip(), row[-1].strip()) for row in rows)
    assert found == [("F1", "9.1"), ("F2", "10.4")]


def test_mistakes_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("symbol,ts,price\nA,2026-01-31 10:00:00,\n")
    (tmp_path / "text.csv").write_text("symbol,ts,price\nA,2026-01-31 10:00:00,abc\n")
    (tmp_path / "short.csv").write_text("symbol,ts\nA,2026-01-31 10:00:00\n")
    expected = {
        "bad.csv": b"column `price`, stream 'A', event 0",
        "text.csv": b"'abc'",
        "short.csv": b"the data has no column",
        "none.csv": b"does not exist",
    }
    for name, words in expected.items():
        out = tmp_path / "out"
        done = run("run", str(TREND), "--input", str(tmp_path / name), "--output", str(out))
        assert (done.returncode, words in done.stderr) == (2, True), (name, done.stderr)
        assert b"Traceback" not in done.stderr
        assert b"\tat " not in done.stderr
        assert not out.exists()


def test_a_traceback_has_no_lines_for_programs(tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("symbol,ts,price\nA,2026-01-31 10:00:00,\n")
    args = ("--input", str(tmp_path / "bad.csv"), "--output", str(tmp_path / "out"), "--debug")
    done = run("run", str(TREND), *args)
    assert b"Traceback" in done.stderr
    assert b"WorkerError: error[null]" in done.stderr
    assert b"[wex:" not in done.stderr


def test_calls_that_are_wrong_need_no_spark(tmp_path: Path) -> None:
    done = run("run", str(TREND), "--input", "x")
    assert done.returncode == 2
    assert b"--output" in done.stderr
    done = run("run", str(TREND), "--input", "x", "--output", "y", "--conf", "nonsense")
    assert (done.returncode, b"name=value" in done.stderr) == (2, True)


def test_paths_on_this_machine_are_checked_before_spark_starts(tmp_path: Path) -> None:
    """Spark could not start here: there is no Java."""
    (tmp_path / "prices.csv").write_text("symbol,ts,price\n")
    (tmp_path / "there").mkdir()

    def message(*args: str, **environment: str) -> str:
        output = () if "--output" in args else ("--output", str(tmp_path / "out"))
        done = run("run", str(TREND), *args, *output, JAVA_HOME="/nowhere", **environment)
        assert done.returncode == 2, done.stderr
        return done.stderr.decode()

    prices, pattern = str(tmp_path / "prices.csv"), str(tmp_path / "{prices,other}.[c]sv")
    for wrong in (str(tmp_path / "price.csv"), f"file://{tmp_path}/price.csv"):
        assert f"error[no-file]: {wrong} does not exist" in message("--input", wrong)
        assert f"did you mean `{prices}`?" in message("--input", wrong)
    assert "no file matches" in message("--input", str(tmp_path / "{x,y}*.csv"))
    exists = message("--input", prices, "--output", str(tmp_path / "there"))
    assert "error[output-exists]" in exists
    inside = message("--input", prices, "--output", f"{prices}/out", "--mode", "append")
    assert f"{prices} is not a folder" in inside
    # These are left to Spark, which does not start.
    for others in (
        ("--input", pattern),
        ("--input", prices, "--output", str(tmp_path / "there"), "--mode", "overwrite"),
        ("--input", "hdfs://host/none.csv"),
        ("--input", "s3a://bucket/none.csv", "--output", "s3a://bucket/out"),
        ("--input", "none.csv", "--conf", "spark.hadoop.fs.defaultFS=hdfs://host"),
        ("--input", "none", "--input-format", "delta"),
    ):
        assert "error[no-spark]: Spark did not start" in message(*others), others
    assert "error[no-spark]" in message("--input", "none.csv", HADOOP_CONF_DIR="/etc")


def test_the_demo(tmp_path: Path) -> None:
    done = run("demo", "--folder", str(tmp_path / "demo"), "--trades", "20000")
    assert done.returncode == 0, done.stderr
    assert b"20,000 events of 100 streams" in done.stdout.replace(b"\n", b" ")
    assert parquet.read_table(tmp_path / "demo" / "windows").num_rows > 100
    other = tmp_path / "mine"
    other.mkdir()
    refused = run("demo", "--folder", str(other))
    assert (refused.returncode, b"exists already" in refused.stderr) == (2, True)


def test_bad_rows_are_put_aside(tmp_path: Path) -> None:
    spec = tmp_path / "w.wex"
    spec.write_text(
        "stream s (k string, t timestamp, x int) partition by k order by t window up match [x > x[-1]]"
    )
    lines = [
        f"{'ab'[index % 2]},2026-01-31 10:00:{index:02d},{index * index % 7},note {index}"
        for index in range(40)
    ]
    lines[5] = "a,2026-01-31 10:00:05,5x,WEX1:{}:WEX1"
    lines[11] = "b,,3,no time"
    lines[17] = "b,yesterday,,"
    (tmp_path / "in.csv").write_text("\n".join(["k,t,x,note", *lines]) + "\n")
    out, bad = tmp_path / "out", tmp_path / "bad"
    args = ("run", str(spec), "--input", str(tmp_path / "in.csv"), "--output", str(out), "--conf",
            "spark.sql.shuffle.partitions=2", "--conf", "spark.sql.session.timeZone=UTC")  # fmt: skip
    for wrong, expected in {
        ("--bad-rows", "divert"): b"--bad-rows-to",
        ("--bad-rows-to", str(bad)): b"--bad-rows divert",
        ("--bad-rows", "divert", "--bad-rows-to", "nowhere://x"): b"nowhere://x",
    }.items():
        refused = run(*args, *wrong)
        assert (refused.returncode, expected in refused.stderr) == (2, True), refused.stderr
        assert b"Traceback" not in refused.stderr
    failed = run(*args)
    assert failed.returncode == 2
    assert b"--bad-rows divert" in failed.stderr, failed.stderr
    aside = (*args, "--bad-rows", "divert", "--bad-rows-to", str(bad))
    done = run(*aside)
    assert done.returncode == 0, done.stderr
    assert b"in 37 events of 2 streams, 3 bad rows diverted to " in done.stderr
    dead = letters(bad)
    assert sorted((letter["code"], letter["column"]) for letter in dead) == [
        ("null-order", "t"), ("wrong-value", "t"), ("wrong-value", "x"),
    ]  # fmt: skip
    five = next(letter for letter in dead if letter["column"] == "x")
    assert five["message"] == "'5x' is not a value of type int"
    assert five["row"] == {"k": "a", "t": "2026-01-31 10:00:05", "x": "5x", "note": "WEX1:{}:WEX1"}
    good = [line.split(",")[:3] for index, line in enumerate(lines) if index not in {5, 11, 17}]
    rises = sum(
        one[0] == two[0] and int(one[2]) < int(two[2])
        for key in "ab"
        for one, two in pairwise(row for row in good if row[0] == key)
    )
    assert parquet.read_table(out).num_rows == rises
    kept = {path.name for path in bad.iterdir()}
    again = run(*aside, "--mode", "overwrite")
    assert again.returncode == 0, again.stderr
    assert letters(bad) == dead
    assert not kept & {path.name for path in bad.iterdir()}
    refused = run(*aside[:5], str(tmp_path / "other"), *aside[6:])
    assert (refused.returncode, b"another run" in refused.stderr) == (2, True), refused.stderr
