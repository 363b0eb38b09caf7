"""The command `wex find`: every format in and out, and mistakes explained."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pty
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import wex
from tests.cli.commands import WEX, run
from wex import examples
from wex.cli import terminal
from wex.engine.files import reading
from wex.engine.files.reading import read_table
from wex.engine.files.sources import refuse_overwriting
from wex.engine.files.writing import write_table
from wex.engine.find import Request, find_in_files
from wex.spec import meaning
from wex.spec.types import INT, REAL, STRING

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
    windows = read_table(target, {"top": REAL})
    assert windows["top"].to_pylist() == expected["top"].to_pylist()
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


@pytest.mark.parametrize("ending", [".parquet", ".csv", ".jsonl", ".arrow"])
def test_a_row_for_every_event_in_every_format(ending: str, tmp_path: Path) -> None:
    target = tmp_path / f"rows{ending}"
    done = run("find", str(STOCKS), str(DATA / "stocks.csv"), "--rows", "-o", str(target))
    assert done.returncode == 0, done.stderr
    expected = wex.find(wex.load(STOCKS), examples.data("stocks"), rows=True)
    assert f"{expected.num_rows} rows of 57 windows in 560 events" in done.stderr.decode()
    fields = {"window_id": STRING, "row_index": INT, "price": REAL, "top": REAL}
    rows = read_table(target, fields)
    for name in fields:
        assert rows[name].to_pylist() == expected[name].to_pylist()


def test_rows_on_standard_output() -> None:
    shown = run("find", str(STOCKS), str(DATA / "stocks.csv"), "--rows")
    assert "event_index" in shown.stdout.decode()
    lines = run("find", str(STOCKS), str(DATA / "stocks.csv"), "--rows", "--json").stdout
    rows = [json.loads(line) for line in lines.decode().splitlines()]
    expected = wex.find(wex.load(STOCKS), examples.data("stocks"), rows=True)
    assert [row["row_index"] for row in rows] == expected["row_index"].to_pylist()


def test_rows_with_a_clash_of_names(tmp_path: Path) -> None:
    spec, data = tmp_path / "s.wex", tmp_path / "d.csv"
    spec.write_text("stream s (x int) window w match any measure max(x) as x")
    data.write_text("x\n1\n")
    done = run("find", str(spec), str(data), "--rows")
    assert done.returncode == 2
    assert "error[column-clash]" in done.stderr.decode()


def test_rows_are_shown_whole_in_a_pipe() -> None:
    output = run("find", str(STOCKS), str(DATA / "stocks.csv")).stdout.decode()
    assert "AAPL" in output
    assert "2000-06-01" in output


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nowhere.csv"], "nowhere.csv: No such file or directory"),
        ([str(DATA.parents[1])], "this folder has no file with a known extension"),
        ([str(DATA / "stocks.wex")], "the file extension does not tell the format"),
        ([str(DATA / "seattle.csv")], "the data has no column"),
        ([str(DATA / "stocks.csv"), "--input-format", "parquet"], "really parquet"),
        ([str(DATA / "stocks.csv"), "--input-format", "cvs"], "did you mean `csv`?"),
        ([str(DATA / "stocks.csv"), "-o", "/nowhere/x.parquet"], "No such file or directory"),
        ([str(DATA / "stocks.csv"), "-o", "x.docx"], "the file extension does not tell the format"),
        ([], "Missing argument 'FILE...'"),
    ],
)
def test_mistakes(args: list[str], message: str) -> None:
    done = run("find", str(STOCKS), *args)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["find", "a b.csv", "trend.wex", "--json"], "wex find trend.wex 'a b.csv' --json"),
        (["find", "a b.csv", "c.csv", "trend.wex"], "wex find trend.wex c.csv 'a b.csv'"),
        (["find", "-", "trend.wex"], "wex find trend.wex -"),
        (["plot", "c.csv", "trend.wex", "-o", "x.svg"], "wex plot trend.wex c.csv -o x.svg"),
        (["report", "c.csv", "--input", "trend.wex", "-o", "x.html"], "wex report trend.wex --input c.csv -o"),
        (["run", "c.csv", "--input", "trend.wex", "--output", "x"], "wex run trend.wex --input c.csv"),
    ],
)  # fmt: skip
def test_a_spec_and_data_in_the_wrong_order(args: list[str], message: str) -> None:
    done = run(*args)
    assert done.returncode == 2
    assert f"are swapped, the spec comes first: {message}" in done.stderr.decode()


@pytest.mark.parametrize("command", ["check", "explain", "draw"])
def test_data_in_the_place_of_a_spec(command: str) -> None:
    done = run(command, str(DATA / "stocks.csv"))
    assert done.returncode == 2
    first, hint = done.stderr.decode().splitlines()
    assert first.startswith("error[not-a-spec]")
    assert first.endswith("its content is not a spec")
    assert hint == "  = help: give the path of a spec file"


def test_similar_names_of_files_are_proposed(tmp_path: Path) -> None:
    for name in ("trend.wex", "prices.csv", "prices.parquet", "trades.csv"):
        (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / name).touch()
    for given, meant in {
        "data/trnd.wex": "data/trend.wex",
        "data/price.csv": "data/prices.csv",
        "data/price.parquet": "data/prices.parquet",
        "daat/trade": "data/trades.csv",
    }.items():
        with pytest.raises(wex.WexError) as caught:
            wex.load(tmp_path / given)
        assert caught.value.hint == f"did you mean `{tmp_path / meant}`?"
        with pytest.raises(wex.WexError) as caught:
            wex.find_in_file(examples.spec("stocks"), tmp_path / given)
        assert caught.value.hint == f"did you mean `{tmp_path / meant}`?"
    for given in ("data/volumes.csv", "elsewhere/trend.wex", "data/trend.wex/x"):
        with pytest.raises(wex.WexError) as caught:
            wex.load(tmp_path / given)
        assert caught.value.hint == "give the path of a spec file"


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
    assert "CSV cannot hold column" in done.stderr.decode()
    assert not (tmp_path / "out.csv").exists()


def test_declared_types_win_over_guesses(tmp_path: Path) -> None:
    text = "stream s (k string, t timestamp) order by t window w match [k = '007']"
    data = tmp_path / "d.csv"
    data.write_text("k,t\n007,2026-01-31 10:00:00\n")
    spec = wex.parse(text)
    table = read_table(data, meaning(spec).fields)
    assert table.schema.field("k").type == pa.string()
    assert wex.find(spec, table).num_rows == 1


# --- Files that are read batch by batch

KEYED = """
stream s (k string, t int, x int) partition by k order by t
window w match [x > 0]+ until [x <= 0] or end measure sum(x) as total, collect(x) as all
"""


def events(count: int) -> pa.Table:
    numbers = range(count)
    return pa.table({
        "k": [f"k{n % 3}" for n in numbers],
        "t": pa.array(numbers),
        "x": [n % 7 - 1 for n in numbers],
    })  # fmt: skip


@pytest.mark.parametrize("by", [["t"], ["k", "t"]])
def test_files_in_order_are_read_in_batches(
    by: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "BATCH", 10)
    table = events(100).sort_by([(name, "ascending") for name in by])
    parquet.write_table(table, tmp_path / "d.parquet")
    spec, progress = wex.parse(KEYED), []
    path = tmp_path / "d.parquet"
    windows, count = find_in_files(
        spec, Request(path), lambda read, _, share: progress.append((read, share))
    )
    assert windows.to_pylist() == wex.find(spec, table).to_pylist()
    assert count == 100
    assert progress[-1] == (100, 1.0)
    assert len(progress) == 11


def test_files_out_of_order_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "BATCH", 10)
    table = events(100).sort_by([("t", "descending")])
    parquet.write_table(table, tmp_path / "d.parquet")
    windows, _ = find_in_files(wex.parse(KEYED), Request(tmp_path / "d.parquet"))
    assert windows.equals(wex.find(wex.parse(KEYED), table))


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_text_files_in_batches(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "TEXT_BLOCK", 200)
    table, path = events(100), tmp_path / f"d{ending}"
    write_table(table, path)
    shares: list[float | None] = []
    windows, count = find_in_files(
        wex.parse(KEYED), Request(path), lambda _read, _found, share: shares.append(share)
    )
    assert (windows.to_pylist(), count) == (wex.find(wex.parse(KEYED), table).to_pylist(), 100)
    known = [share for share in shares if share is not None]
    assert known == sorted(known)
    assert known[-1] == 1.0


def test_an_empty_file(tmp_path: Path) -> None:
    parquet.write_table(events(0).cast(events(1).schema), tmp_path / "d.parquet")
    windows, count = find_in_files(wex.parse(KEYED), Request(tmp_path / "d.parquet"))
    assert (windows.num_rows, count) == (0, 0)


def run_on_terminal(*args: str, **environment: str) -> tuple[bytes, str]:
    """Run the command with a terminal for standard error; return both outputs."""
    primary, secondary = pty.openpty()
    with subprocess.Popen(
        [WEX, *args],
        stdout=subprocess.PIPE,
        stderr=secondary,
        env={**os.environ, **environment},
    ) as process:
        os.close(secondary)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other side is closed
            while part := os.read(primary, 4096):
                shown += part
        output = process.communicate()[0]
    os.close(primary)
    return output, shown.decode()


def test_progress_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    command = ("find", str(STOCKS), str(DATA / "stocks.csv"), "--json")
    assert run(*command).stderr == b""
    monkeypatch.setattr(terminal, "SILENT_SECONDS", 0.0)
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", screen)
    with terminal.reading_progress() as progress:
        progress(1_000_000, 12, 0.25)
    assert "25 %" in screen.getvalue()
    assert "1,000,000 events, 12 windows" in screen.getvalue()
    assert "events/s" in screen.getvalue()


# --- The first second, and the first run


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        (["--version"], {"numpy", "pyarrow", "lark", "z3", "numba", "pandas", "pyspark"}),
        (["check", str(STOCKS)], {"numba", "pandas", "pyspark"}),
        (["find", str(STOCKS), str(DATA / "stocks.csv")], {"pandas", "pyspark"}),
    ],
)
def test_a_command_imports_only_the_libraries_it_uses(command: list[str], unused: set[str]) -> None:
    code = (
        "import sys; from wex.cli.app import run; status = run();"
        f"print(status, {unused!r} & set(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *command], capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines()[-1] == "0 set()"


def test_compiling_is_announced_once_and_on_a_terminal_only(tmp_path: Path) -> None:
    spec, data = tmp_path / "s.wex", tmp_path / "d.csv"
    spec.write_text("stream s (x int) window w match [x > 0]")
    data.write_text("x\n1\n")
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    first, second = (run_on_terminal("find", str(spec), str(data), **cache)[1] for _ in range(2))
    assert first.count("compiling kernels for the first time") == 1
    assert "compiling" not in second
    piped = run("find", str(spec), str(data), NUMBA_CACHE_DIR=str(tmp_path / "other"))
    assert piped.stderr.decode() == "1 window in 1 event\n"


# --- Files as people have them

PRICES = "symbol,day,price\nA,2000-01-01,1\nA,2000-02-01,2\nB,2000-01-01,3\n"


def priced(folder: Path, content: str | bytes = PRICES, name: str = "prices.csv") -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.fixture
def rises(tmp_path: Path) -> Path:
    path = tmp_path / "rises.wex"
    path.write_text(
        "stream s (symbol string, day timestamp, price real) partition by symbol order by day\n"
        "window rise match [price > price[-1]] measure 1 / (first(price) - last(price)) as far, max(day - day[-1]) as gap\n"
    )
    return path


@pytest.mark.parametrize(
    "content",
    [
        "symbol,day,price\nA,Jan 1 2000,1\nA,Feb 1 2000,2\n",
        "symbol,day,price\nA,946684800,1\nA,949363200,2\n",
        "A;2000/01/01;1,5\nA;2000/02/01;2,5\n",
    ],
)
def test_what_an_error_proposes_can_be_pasted(content: str, rises: Path) -> None:
    path = priced(rises.parent, content)
    done = run("find", str(rises), str(path))
    assert done.returncode == 2
    (hint,) = re.findall(r"= help: try (--.*)", done.stderr.decode())
    again = run("find", str(rises), str(path), *shlex.split(hint))
    assert again.returncode == 0, again.stderr
    assert b"1 window in 2 events" in again.stderr


def test_json_is_valid_and_one_duration_is_the_same_everywhere(rises: Path) -> None:
    path = priced(rises.parent)
    output = run("find", str(rises), str(path), "--json").stdout.decode()
    (row,) = [json.loads(line, parse_constant=pytest.fail) for line in output.splitlines()]
    assert (row["far"], row["gap"]) == ("Infinity", 31 * 86400)
    run("find", str(rises), str(path), "-o", str(rises.parent / "out.csv"))
    assert (rises.parent / "out.csv").read_text().splitlines()[1].endswith(",Infinity,2678400")
    assert "Infinity" in run("find", str(rises), str(path)).stdout.decode()


def test_standard_input(rises: Path) -> None:
    out_of_order = "symbol,day,price\nA,2000-02-01,2\nA,2000-01-01,1\n"
    for content in (out_of_order.encode(), gzip.compress(PRICES.encode())):
        done = run("find", str(rises), "-", "--json", stdin=content)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["window_start"] == "2000-02-01T00:00:00"
    parquet.write_table(csv.read_csv(priced(rises.parent)).slice(0, 0), rises.parent / "e.parquet")
    content = (rises.parent / "e.parquet").read_bytes()
    spec = "stream s (price int) window w match any"
    (rises.parent / "p.wex").write_text(spec)
    assert run("find", str(rises.parent / "p.wex"), "-", stdin=content).returncode == 0
    assert b"read once" in run("find", "-", "-", stdin=spec).stderr


def test_several_files_and_one_stream(rises: Path) -> None:
    first, second = (
        priced(rises.parent),
        priced(rises.parent, "symbol,day,price\nB,2000-02-01,4\n", "q.csv"),
    )
    for given in ([str(first), str(second)], [str(rises.parent)], [str(rises.parent / "?*.csv")]):
        done = run("find", str(rises), *given, "--where-key", "symbol=B")
        assert b"1 window in 2 events" in done.stderr, done.stderr
    message = run("find", str(rises), str(first), "--where-key", "symbol=C").stderr.decode()
    assert "no event has symbol = 'C'" in message
    assert "the keys are A; B" in message


@pytest.mark.parametrize(
    ("given", "target"),
    [
        (given, target)
        for given in ("prices.csv", ".", "*.csv")
        for target in (
            "prices.csv", "./x/../prices.csv", "soft.csv", "hard.csv", "new.csv", "rises.wex",
        )
        if (given, target) != ("prices.csv", "new.csv")  # another file: see below
    ],
)  # fmt: skip
def test_the_input_is_not_overwritten(given: str, target: str, rises: Path) -> None:
    folder = rises.parent
    path = priced(folder)
    (folder / "x").mkdir()
    (folder / "soft.csv").symlink_to(path)
    (folder / "hard.csv").hardlink_to(path)
    with pytest.raises(wex.WexError) as caught:
        refuse_overwriting(folder / target, [str(rises), str(folder / given)])
    assert caught.value.code == "output-is-input"


def test_the_input_is_not_overwritten_by_the_command(rises: Path) -> None:
    path = priced(rises.parent)
    done = run("find", str(rises), str(path), "-o", str(path))
    assert done.returncode == 2
    assert b"output-is-input" in done.stderr
    assert path.read_text() == PRICES


def test_other_outputs_are_fine(tmp_path: Path) -> None:
    priced(tmp_path)
    (tmp_path / "sub").mkdir()
    refused = []
    for given, target in [
        ("prices.csv", "new.csv"), ("*.csv", "new.parquet"), ("*.csv", "sub/new.csv"),
        (".", "sub/new.csv"), (".", "_new.csv"), ("-", "new.csv"), ("nowhere.csv", "new.csv"),
    ]:  # fmt: skip
        path = given if given == "-" else str(tmp_path / given)
        try:
            refuse_overwriting(tmp_path / target, [path])
        except wex.WexError:
            refused.append((given, target))
    assert refused == []


def test_a_compressed_output(rises: Path) -> None:
    done = run(
        "find", str(rises), str(priced(rises.parent)), "-o", str(rises.parent / "out.csv.gz")
    )
    assert done.returncode == 0
    assert gzip.decompress((rises.parent / "out.csv.gz").read_bytes()).startswith(
        b"symbol,window_name,"
    )


def test_threads_change_nothing(tmp_path: Path) -> None:
    path = str(saved(tmp_path, ".parquet"))
    plain = run("find", str(STOCKS), path, "--json")
    threaded = run("find", str(STOCKS), path, "--json", "--threads", "2")
    assert (threaded.returncode, threaded.stdout) == (0, plain.stdout)


@pytest.mark.parametrize(
    ("threads", "says"),
    [
        ("0", "0 is not in the range x>=1"),
        ("-1", "-1 is not in the range x>=1"),
        ("x", "'x' is not a valid integer"),
    ],
)
def test_a_number_of_threads_that_makes_no_sense(tmp_path: Path, threads: str, says: str) -> None:
    path = str(saved(tmp_path, ".parquet"))
    refused = run("find", str(STOCKS), path, "--threads", threads)
    assert refused.returncode == 2
    assert "--threads" in refused.stderr.decode()
    assert says in refused.stderr.decode()
