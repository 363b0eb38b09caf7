"""A spec that can hold an unbounded number of starts runs on finite data, with one line of warning."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import wex
from wex.analysis import boundedness_guard as warned
from wex.cli.verdicts import lines
from wex.draw.timeline import held_timeline
from wex.spec import meaning

UNBOUNDED = "stream s (x int) window w match [x > 0]* [x < 0]"
LOGGER = logging.getLogger("wex")


@pytest.fixture(autouse=True)
def _switched_on() -> Iterator[None]:
    warned._checked.clear()
    LOGGER.setLevel(logging.WARNING)
    yield
    LOGGER.setLevel(logging.ERROR)


def test_find_warns_and_runs(caplog: pytest.LogCaptureFixture) -> None:
    assert wex.find(wex.parse(UNBOUNDED), {"x": [1, 2, -1]}).num_rows == 3
    (said,) = [record.getMessage() for record in caplog.records]
    assert "`w`" in said
    assert "an unbounded number of open starts: every event with x > 0 adds one" in said


def test_find_warns_once_of_a_spec(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):  # the same text again is the same spec
        spec = wex.parse(UNBOUNDED)
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: wex.find(spec, {"x": [1, -1]}), range(8)))  # noqa: B023
    assert len(caplog.records) == 1
    wex.find(wex.parse(UNBOUNDED.replace("0", "1")), {"x": [1]})
    assert len(caplog.records) == 2


def test_the_warning_says_what_helps(caplog: pytest.LogCaptureFixture) -> None:
    wex.find(wex.parse(UNBOUNDED), {"x": [1, -1]})
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.endswith("; with `keep disjoint` it holds at most 1 start")


def test_find_says_why_a_window_is_never_found(caplog: pytest.LogCaptureFixture) -> None:
    spec = wex.parse("stream s (x int) window w match [x > 0] [x[-1] < 0] window v match [x > 9]")
    for _ in range(2):
        assert wex.find(spec, {"x": [1, -1, 2]}).num_rows == 0
    (said,) = [record.getMessage() for record in caplog.records]
    assert "the window `w` can never occur: in the shortest one event 1" in said


def test_a_refusal_says_what_helps() -> None:
    with pytest.raises(wex.UnboundedError) as caught:
        warned.refuse_unbounded(wex.parse(UNBOUNDED))
    assert str(caught.value.hint).startswith(
        "with `keep disjoint` it holds at most 1 start; or pass"
    )


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("stream s (x real) window w match any any* [x < 0]", 6),
        ("stream s (t timestamp, x int) order by t window w match any+ within 1 hour", 4),
        (UNBOUNDED, 3),
    ],
)
def test_a_refusal_and_a_report_show_the_same_stream(text: str, count: int) -> None:
    with pytest.raises(wex.UnboundedError) as caught:
        warned.refuse_unbounded(wex.parse(text))
    assert f" holds {count} at its end, and so on" in caught.value.message
    report = wex.check(text)
    assert f"    for example, {count} starts held at the end of this stream:" in lines(report)
    timeline = held_timeline(meaning(report.spec), 0, report["w"])
    assert timeline is not None
    assert timeline[1].events == caught.value.witness.num_rows


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match any{3}",
        "stream s (x enum('a', 'b')) assume ~(any* [x = 'a']{3} any*) window w match [x = 'a']* [x = 'b']",
    ],
)
def test_nothing_is_said_of_a_bounded_spec(text: str, caplog: pytest.LogCaptureFixture) -> None:
    spec = wex.parse(text)
    values = {"x": [1, 2]} if "int" in text else {"x": ["a", "b"]}
    wex.find(spec, values)
    assert not caplog.records


def test_the_command_line_warns_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "w.wex").write_text(UNBOUNDED)
    (tmp_path / "x.csv").write_text("x\n1\n-1\n")
    command = [str(Path(sys.executable).with_name("wex")), "find", "w.wex", "x.csv", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr.startswith(
        "warning: window `w` can hold an unbounded number of open starts: every event with x > 0 adds one"
    )
    assert done.stderr.count("warning:") == 1
