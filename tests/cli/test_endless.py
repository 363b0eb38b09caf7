"""The command `wex run --stream`: a terminal, a stop and a restart, messages, mistakes."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import time
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

import wex
from tests.cli.commands import SMALL, TREND, WEX, letters, run, written
from wex import examples
from wex.examples import market

HEAD = "stream s (k string, t timestamp, x int) partition by k order by t "


def on_a_terminal(command: list[str], folder: Path, until: bytes) -> tuple[int, str]:
    """Run a command on a terminal of its own, press Ctrl-C when it shows something; what it showed."""
    child, terminal = pty.fork()
    if not child:
        os.chdir(folder)
        os.execv(command[0], command)
    shown, pressed, begin = b"", False, time.monotonic()
    while time.monotonic() - begin < 240:
        ready, _, _ = select.select([terminal], [], [], 1)
        if ready:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # nobody is there any more
                break
        if until in shown and not pressed:
            pressed = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), shown.decode()


def test_stopped_on_a_terminal_and_started_again(tmp_path: Path) -> None:
    table = market.trades(4_000, 5).sort_by("ts")
    (tmp_path / "in").mkdir()
    for index in range(8):
        parquet.write_table(table.slice(500 * index, 500), tmp_path / "in" / f"{index}.parquet")
        os.utime(tmp_path / "in" / f"{index}.parquet", (1_767_225_600 + index,) * 2)
    job = [WEX, "run", str(TREND), "--input", "in", "--output", "out", "--stream", "--checkpoint", "c",
           "--option", "maxFilesPerTrigger=1", *SMALL]  # fmt: skip
    status, shown = on_a_terminal([*job, "--trigger", "0 seconds"], tmp_path, b" events of ")
    assert status == 130, shown
    assert "start it again with the same --checkpoint" in shown
    assert "Traceback" not in shown
    assert "\r" in shown
    done = subprocess.run(job, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(rb"[\d,]+ windows? in [\d,]+ events? of 5 streams, 0 late, ", done.stderr)
    assert len(done.stderr.splitlines()) == 1
    assert written(tmp_path / "out") == wex.Processor(examples.spec("trend")).feed(table).num_rows
    changed = tmp_path / "changed.wex"
    changed.write_text(TREND.read_text().replace("as mean", "as average"))
    parquet.write_table(table, tmp_path / "in" / "9.parquet")
    job[2] = str(changed)
    refused = subprocess.run(job, cwd=tmp_path, capture_output=True, check=False)
    assert refused.returncode == 2
    assert b"as average" in refused.stderr.splitlines()[0], refused.stderr


def test_messages(tmp_path: Path) -> None:
    """A source of messages, as Kafka is: JSON in a column `value`."""
    (tmp_path / "in").mkdir()
    (tmp_path / "w.wex").write_text(HEAD + "window up match [x > x[-1]] measure max(x) as top")
    values = [index * index % 7 for index in range(40)]
    events = [
        {"k": "ab"[index % 2], "t": f"2026-01-31T10:00:{index:02d}", "x": x}
        for index, x in enumerate(values)
    ]
    lines = "".join(json.dumps(event) + "\n" for event in events)
    (tmp_path / "in" / "messages.txt").write_text(lines)
    args = ("run", str(tmp_path / "w.wex"), "--input", str(tmp_path / "in"), "--input-format", "text",
            "--output", str(tmp_path / "out"), "--stream", "--checkpoint", str(tmp_path / "c"),
            "--watermark", "2 seconds", "--expire-after", "1 hour", *SMALL)  # fmt: skip
    done = run(*args)
    assert done.returncode == 0, done.stderr
    rises = [index for index in range(2, 38) if values[index] > values[index - 2]]
    assert written(tmp_path / "out") == len(rises)
    assert b"38 events of 2 streams, 0 late, 2 waiting" in done.stderr
    again = run(*args)
    assert again.stderr.startswith(b"nothing new, in "), again.stderr


def test_half_a_message(tmp_path: Path) -> None:
    """It ends a job with its text; the next start, from the same checkpoint, puts it aside."""
    (tmp_path / "in").mkdir()
    (tmp_path / "w.wex").write_text(HEAD + "window up match [x > x[-1]] measure max(x) as top")
    events = [
        json.dumps({"k": "a", "t": f"2026-01-31T10:00:{index:02d}", "x": index})
        for index in range(9)
    ]
    events[4] = events[4][:-9]
    (tmp_path / "in" / "messages.txt").write_text("\n".join(events) + "\n")
    args = ("run", str(tmp_path / "w.wex"), "--input", str(tmp_path / "in"), "--input-format", "text",
            "--output", str(tmp_path / "out"), "--stream", "--checkpoint", str(tmp_path / "c"), *SMALL)  # fmt: skip
    failed = run(*args)
    assert failed.returncode == 2
    message, hint = failed.stderr.decode().splitlines()
    assert message.startswith("error[malformed]: this text is not a row of the stream: ")
    assert events[4] in message
    assert "--bad-rows divert" in hint
    bad = tmp_path / "bad"
    done = run(*args, "--bad-rows", "divert", "--bad-rows-to", str(bad))
    assert done.returncode == 0, done.stderr
    assert f"8 events of 1 stream, 0 late, 1 bad row diverted to {bad}," in done.stderr.decode()
    assert written(tmp_path / "out") == 7
    (letter,) = letters(bad)
    assert letter["row"] == events[4]


def test_wrong_data(tmp_path: Path) -> None:
    spec = tmp_path / "w.wex"
    spec.write_text(HEAD + "window w match any measure sum(x) as total")
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "1.json").write_text(
        '{"k": "a", "t": "2026-01-31T10:00:00", "x": "oops"}\n'
    )
    (tmp_path / "csv").mkdir()
    (tmp_path / "csv" / "1.csv").write_text("k,t,x\na,2026-01-31 10:00:00,1\n")
    (tmp_path / "csv" / "2.csv").write_text("t,k,x\n2026-01-31 10:00:00,a,1\n")
    (tmp_path / "parquet").mkdir()
    null = table_of([("a", None, 1)])
    parquet.write_table(null, tmp_path / "parquet" / "1.parquet")
    for kind, code in {
        "json": b"'oops' is not a value of type int",
        "csv": b"columns-differ",
        "parquet": b"null-order",
    }.items():
        done = run("run", str(spec), "--input", str(tmp_path / kind), "--input-format", kind, "--output",
                   str(tmp_path / "out"), "--stream", "--checkpoint", str(tmp_path / f"c-{kind}"),
                   "--watermark", "1 second", *SMALL)  # fmt: skip
        assert done.returncode == 2, (kind, done.stderr)
        assert code in done.stderr, done.stderr
        assert b"Traceback" not in done.stderr


def table_of(rows: list[tuple[str, int | None, int]]) -> pa.Table:
    keys, times, values = zip(*rows, strict=True)
    seconds = pa.array(times, pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC"))
    return pa.table({"k": list(keys), "t": seconds, "x": list(values)})


def test_mistakes(tmp_path: Path) -> None:
    spec, out, checkpoint = tmp_path / "w.wex", str(tmp_path / "out"), str(tmp_path / "c")
    spec.write_text(HEAD + "window w match [x > 0]+ [x < 0]")
    args = ("run", str(spec), "--input", str(tmp_path), "--output", out, "--stream")
    refused = run(*args, "--checkpoint", checkpoint)
    assert refused.returncode == 1
    assert b"the stream x = " in refused.stderr
    assert b"--allow-unbounded" in refused.stderr
    for more, expected in {
        (): b"--checkpoint",
        ("--checkpoint", checkpoint, "--mode", "overwrite"): b"appends",
        ("--checkpoint", checkpoint, "--expire-after", "soon"): b"'20 seconds'",
    }.items():
        done = run(*args, *more)
        assert done.returncode == 2
        assert expected in done.stderr, done.stderr
    nothing = run("run", str(spec), "--output", out)
    assert nothing.returncode == 2
    assert b"--input" in nothing.stderr
    unordered = tmp_path / "unordered.wex"
    unordered.write_text("stream s (x int) window w match any")
    done = run("run", str(unordered), "--input", str(tmp_path), "--output", out)
    assert b"order by" in done.stderr
    assert not (tmp_path / "out").exists()
