"""Equivalence, inclusion and emptiness; every reported difference exists on the witness."""

from __future__ import annotations

import pytest

import wex
from wex import examples

X = "stream s (x real) "
UP = X + "let up = x > x[-1] "

SAME = [
    (X + "window w match [x > 0] [x > 0]*", X + "window w match [x > 0]+"),
    (X + "window w match ~(any*)", X + "window w match [false]"),
    (UP + "window w match up [x <= x[-1]] up", UP + "window w match up [not up] up"),
    (UP + "window w match [up and x < x[-1]]", UP + "window w match [false] lookback 1"),
    (X + "window w match any+ keep shortest", X + "window w match any"),
    (X + "window w match any+ keep disjoint", X + "window w match any"),
    (X + "window w match any+ within 2 events", X + "window w match any{1,2}"),
    (X + "window w match any+ keep longest", X + "window w after () match any+"),
    (X + "window a match any window b match any{2}", X + "window b match any any window a match any"),
    (
        "stream s (t timestamp, x real) order by t window w match any+ within 1 hour keep longest",
        "stream s (t timestamp, x real) order by t window w match any any* within 1 hour keep longest",
    ),
    (X + "window w match any+ measure count() as n having n > 1", X + "window w match any any* measure count() as n having n > 1"),
]  # fmt: skip
DIFFERENT = [
    (X + "window w match any{2}", X + "window w match any{2} or match any{3}"),
    (UP + "window w match up+", UP + "window w match up{1,3}"),
    (UP + "window w match up+ keep longest", UP + "window w match up+ keep shortest"),
    (X + "window w match [x > 0]+ until [x < 0]", X + "window w match [x > 0]+ until [x < 0] or end"),
    (X + "window w match any{2} keep disjoint", X + "window w match any{2}"),
    (X + "window w match any", X + "window v match any"),
    (X + "window w match any+ within 3 events keep longest", X + "window w match any+ within 4 events keep longest"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same(a: str, b: str) -> None:
    assert wex.equivalent(wex.parse(a), wex.parse(b)).holds is True


@pytest.mark.parametrize(("a", "b"), DIFFERENT)
def test_different(a: str, b: str) -> None:
    one, two = wex.parse(a), wex.parse(b)
    found = wex.equivalent(one, two)
    assert found.holds is False
    assert found.window is not None
    assert found.witness is not None
    name, start, end = found.window
    inside = [
        (name, start, end)
        in [(row["window_name"], row["start_index"], row["end_index"]) for row in rows]
        for rows in (wex.find(spec, found.witness).to_pylist() for spec in (one, two))
    ]
    assert inside[0] != inside[1]
    assert found.side == ("first" if inside[0] else "second")


def test_includes() -> None:
    wide, narrow = wex.parse(UP + "window w match up+"), wex.parse(UP + "window w match up{2,3}")
    assert wex.includes(wide, narrow).holds is True
    found = wex.includes(narrow, wide)
    assert found.holds is False
    assert found.window == ("w", 1, 1)


def test_assumptions_of_both_count() -> None:
    one = wex.parse(X + "assume [x > 0]* window w match [x > 0]")
    two = wex.parse(X + "window w match any")
    assert wex.equivalent(one, two).holds is True


def test_empty() -> None:
    assert wex.is_empty(wex.parse(UP + "window w match up [x[-1] < x[-2]]")).holds is True
    found = wex.is_empty(examples.spec("trend"))
    assert found.holds is False
    assert found.window == ("trend", 3, 5)


def test_what_is_not_known() -> None:
    one = wex.parse("stream s (t timestamp) order by t window w match any+ within 1 hour")
    two = wex.parse("stream s (t timestamp) order by t window w match any+ within 2 hours")
    assert wex.equivalent(one, two).holds is None
    with pytest.raises(TypeError, match="holds"):
        bool(wex.equivalent(one, two))


def test_other_streams_are_an_error() -> None:
    with pytest.raises(wex.WexError) as caught:
        wex.equivalent(
            wex.parse(X + "window w match any"), wex.parse("stream s (x int) window w match any")
        )
    assert caught.value.code == "streams-differ"


DOWN = "stream s (n int) assume [n >= 0]* assume [n = n[-1] - 1]* "


@pytest.mark.parametrize("first", [1, 3])
def test_a_countdown_is_found(first: int) -> None:
    found = wex.is_empty(DOWN + f"window w match [n = {first}] any* [n[-1] = 1 and n = 0]")
    assert found.holds is False
    assert found.witness is not None
    assert found.window is not None
    _, start, end = found.window
    assert found.witness["n"].to_pylist()[start : end + 1] == list(range(first, -1, -1))


def test_nothing_is_said_of_regions_that_are_not_exact() -> None:
    area = "stream s (a real, b real) let area = a * b window w "
    report = wex.check(area + "match [area > area[-1]]+ [area > area[-2]]")["w"]
    assert report.open.verdict == "unknown"
    assert not report.findings
