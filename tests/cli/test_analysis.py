"""The commands of the analysis and of both notations, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import wex
from tests.cli.commands import run

HOT = "stream s (t real) window hot match [t > 90] [t > 80]* [t <= 80]"
RISE = "stream s (x int) window w match [x > x[-1]]+"


def test_an_unbounded_spec_is_drawn() -> None:
    done = run("check", "-", stdin=HOT)
    assert done.returncode == 1
    output = done.stdout.decode()
    assert "hot: UNBOUNDED, the starts held can grow without bound" in output
    assert "for example, 3 starts held at the end of this stream:" in output
    assert "├" in output
    result = json.loads(run("check", "-", "--json", stdin=HOT).stdout)
    assert result["analysis"]["windows"]["hot"]["held"]["growth"] == "linear"


def test_effort() -> None:
    spec = "stream s (x real) window w match [x > x[-4]]+ [x < x[-3]]"
    assert (
        "a greater `effort` allows more"
        in run("check", "-", "--effort", "150", stdin=spec).stdout.decode()
    )
    assert "UNBOUNDED" in run("check", "-", "--effort", "300000", stdin=spec).stdout.decode()


def test_two_specs(tmp_path: Path) -> None:
    (tmp_path / "a.wex").write_text(RISE)
    (tmp_path / "b.wex").write_text(RISE.replace("+", "{1,2}"))
    paths = [str(tmp_path / name) for name in ("a.wex", "b.wex")]
    same = run("equiv", paths[0], paths[0])
    assert (same.returncode, same.stdout) == (
        0,
        b"equivalent: on every stream they have the same windows\n",
    )
    other = run("equiv", *paths)
    assert other.returncode == 1
    assert "only the first has the window `w` from 1 to 3" in other.stdout.decode()
    result = json.loads(run("equiv", *paths, "--json").stdout)
    assert (result["holds"], result["witness"]) == (False, {"x": [1, 2, 3, 4]})
    assert result["window"] == {"window_name": "w", "start_index": 1, "end_index": 3}
    wrong = run("equiv", paths[0], "nowhere.wex")
    assert (wrong.returncode, wrong.stdout) == (2, b"")


@pytest.mark.parametrize(("notation", "word"), [("regex", "match"), ("formula", "where")])
def test_translate_prints_a_spec(notation: str, word: str) -> None:
    done = run("translate", "-", "--to", notation, stdin=RISE)
    assert done.returncode == 0
    assert f"  {word} " in done.stdout.decode()
    assert run("check", "-", stdin=done.stdout).returncode == 1


def test_explain_shows_every_stage() -> None:
    done = run("explain", "-", stdin=RISE)
    assert done.returncode == 0
    for stage in ("tree", "guards", "letters", "automata", "smaller form", "machine", "held"):
        assert f"  {stage}" in done.stdout.decode()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("(t int, x int) order by t window w match [x > x[-1]]+", "can be divided among tasks"),
        ("(x int) window w match any", "runs in one task: it has no order column"),
        (
            "(t string) order by t window w match any",
            "its first order column, `t`, is not a number or a time",
        ),
        (
            "(t int, x int) order by t window w match any [x > avg(x)]",
            "runs in one task: window `w`: its predicates have aggregates",
        ),
        (
            "(t timestamp) order by t assume at most 70000 events in 1 second window w match any",
            "it looks back over more than 65,536 events",
        ),
    ],
)
def test_explain_says_whether_a_stream_can_be_divided(spec: str, said: str) -> None:
    assert said in str(wex.explain(f"stream s {spec}"))
