"""The command `wex check` as a user meets it: real processes, output and exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import WEX, run

RIGHT = "stream s (x real) let up = x > x[-1] window rise match up{3} measure count() as n\n"
WRONG = "stream s (x real)\nwindow w match [y > 1]\n"


def test_a_right_spec_is_summed_up(tmp_path: Path) -> None:
    path = tmp_path / "rise.wex"
    path.write_text(RIGHT)
    done = run("check", str(path))
    assert done.returncode == 0
    assert done.stderr == b""
    assert "window rise: regular expressions, lookback 1, keep all" in done.stdout.decode()


def test_a_wrong_spec_is_explained_on_stderr() -> None:
    done = run("check", "-", stdin=WRONG)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().splitlines()[:5] == [
        "error[unknown-name]: there is no field or let called `y`",
        " --> <stdin>:2:17",
        "  |",
        "2 | window w match [y > 1]",
        "  |                 ^",
    ]


def test_json_for_machines() -> None:
    right = run("check", "-", "--json", stdin=RIGHT)
    assert right.returncode == 0
    result = json.loads(right.stdout)
    assert result["ok"] is True
    assert result["windows"][0]["lookback"] == 1
    assert result["windows"][0]["measures"] == {"n": "int"}
    wrong = run("check", "--json", "-", stdin=WRONG)
    assert wrong.returncode == 2
    assert wrong.stderr == b""
    result = json.loads(wrong.stdout)
    assert result["ok"] is False
    assert (result["errors"][0]["code"], result["errors"][0]["line"]) == ("unknown-name", 2)


def test_runs_are_summed_up_as_they_are_written() -> None:
    text = "stream s (x real) window w runs of x / 10 window v match [x > 1]+"
    shown = run("check", "-", stdin=text).stdout.decode()
    assert "window w: runs of x / 10, lookback 1, keep all" in shown
    assert (
        "v: UNBOUNDED, the starts held can grow without bound; with `keep leftmost` it holds"
        in shown
    )
    done = run("check", "-", "--json", stdin=text)
    result = json.loads(done.stdout)
    assert (result["windows"][0]["form"], result["windows"][0]["runs"]) == (
        "runs",
        "runs of x / 10",
    )
    kinds = [found["kind"] for found in result["analysis"]["windows"]["v"]["findings"]]
    assert kinds == ["every-beginning", "remedy"]


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["check", "nowhere.wex"], b"", "nowhere.wex: No such file or directory"),
        (["check", "."], b"", ".: Is a directory"),
        (["check"], b"", "Missing argument 'SPEC'"),
        (["chekc"], b"", "No such command 'chekc'. Help: did you mean `check`?"),
        (["check", "-", "--jason"], b"", "No such option"),
        (["check", "-"], b"\xff\xfe", "expected UTF-8, found byte 0xff"),
        (["run", "-", "--output", "o", "--conf", "a"], b"", "expected name=value, got 'a'"),
        (
            ["run", "-", "--output", "o", "--expire-after", "soon"],
            b"",
            "expected a duration such as '20 seconds', got 'soon'",
        ),
        (["check", "-"], b"", "this spec is empty"),
        (["check", "-"], b"#" * 2_000_000, "exceeds the limit of 1,000,000"),
    ],
)
def test_mistakes_end_in_a_message_and_status_2(
    args: list[str], stdin: bytes, message: str
) -> None:
    done = run(*args, stdin=stdin)
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()


def test_odd_terminals_get_the_same_words() -> None:
    wrong = "stream s (価格 real) window w match [価挌 > 1]"
    plain = run(
        "check", "-", stdin=wrong, PYTHONIOENCODING="ascii", TERM="dumb", LC_ALL="C", COLUMNS="20"
    )
    assert plain.returncode == 2
    assert "\\u4fa1\\u683c" in plain.stderr.decode("ascii")
    assert "\x1b" not in run("check", "-", stdin=wrong, NO_COLOR="1").stderr.decode()
    assert "\x1b" in run("check", "-", stdin=wrong, FORCE_COLOR="1").stderr.decode()


@pytest.mark.parametrize(
    ("command", "status"),
    [
        ("demo --examples | head -n 1 > /dev/null", 0),
        ("demo --examples | true", 0),
        ("check right.wex | true", 0),
        ("check wrong.wex 2>&1 | true", 2),
        ("check --json wrong.wex | true", 2),
        ("check right.wex >&-", 0),
        ("check right.wex 2>&-", 0),
        ("check wrong.wex 2>&-", 2),
        ("check - <&-", 2),
        ("check right.wex > /dev/full", 3),
        ("check missing.wex", 2),
    ],
)
def test_output_without_a_reader(command: str, status: int, tmp_path: Path) -> None:
    (tmp_path / "right.wex").write_text(RIGHT)
    (tmp_path / "wrong.wex").write_text(WRONG)
    line = f"{WEX} {command}"
    script = (
        f"set -o pipefail; {line}" if "head" not in line else f"{line}; exit ${{PIPESTATUS[0]}}"
    )
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == status
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_an_interrupt_is_status_130(tmp_path: Path) -> None:
    pipe = tmp_path / "never"
    os.mkfifo(pipe)

    def heed_interrupts() -> None:  # which a job in the background of a shell ignores
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    with subprocess.Popen(
        [WEX, "check", str(pipe)],
        stderr=subprocess.PIPE,
        preexec_fn=heed_interrupts,  # noqa: PLW1509  (no other thread holds a lock here)
    ) as process:
        # This waits until the command reads, which then waits for us.
        writer = os.open(pipe, os.O_WRONLY)
        process.send_signal(signal.SIGINT)
        try:
            _, stderr = process.communicate(timeout=30)
        finally:
            process.kill()
            os.close(writer)
    assert process.returncode == 130
    assert b"Traceback" not in stderr


def test_names_reach_the_terminal_as_they_are() -> None:
    spec = "stream s (`:bug:` int, `\x1b[2J` int) window w match [`:bug:` > 1]"
    output = run("check", "-", stdin=spec).stdout.decode()
    assert ":bug: int" in output
    assert "\x1b" not in output


def test_the_demo_shows_every_example() -> None:
    done = run("demo", "--examples")
    assert done.returncode == 0
    assert b"15 specs, all of them fine." in done.stdout


def test_the_version() -> None:
    done = run("--version")
    assert done.stdout.decode().startswith("wex, version 0.")


def test_the_help_names_every_command() -> None:
    lines = run("--help").stdout.decode().partition("Commands:")[2].splitlines()
    names = [line.split()[0] for line in lines if line[2:3].strip()]
    assert names == [
        "check", "demo", "draw", "equiv", "explain", "find", "plot", "report", "run", "sql", "translate",
    ]  # fmt: skip
    for name in names:
        done = run(name, "--help")
        assert done.returncode == 0
        assert done.stdout.startswith(f"Usage: wex {name} ".encode())


RATED = (
    "stream s (ts timestamp, x int) order by ts assume at most 2 events in 1 second"
    " window w match [x > 0]+ until [x <= 0] within 2 seconds measure median(x) as m"
)


def test_rates_delays_and_values_are_shown() -> None:
    lines = run("check", "-", stdin=RATED).stdout.decode().splitlines()
    assert "  assume at most 2 events in 1 second: checked" in lines
    assert "    delay    1                    the event after a window decides about it" in lines
    assert lines[-1].endswith("per event of an open window for the values kept")
    found = json.loads(run("check", "-", "--json", stdin=RATED).stdout)
    assert found["rates"] == [{"events": 2, "duration": "1 second", "checked": True}]
    window = found["analysis"]["windows"]["w"]
    assert (window["delay"]["verdict"], window["delay"]["bound"], window["delay"]["exact"]) == (
        "bounded",
        1,
        True,
    )
    assert (window["held"]["verdict"], found["analysis"]["event_bytes"]) == ("bounded", 8)


def test_a_spec_without_windows_is_fine() -> None:
    done = run("check", "-", stdin="stream s (x int)\n")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "no windows" in done.stdout.decode()
