"""Regressions: errors found by using the analysis."""

from __future__ import annotations

import pytest

import wex
from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.spec import meaning as meaning_of

TIMED = "stream s (t timestamp, ok bool) order by t assume ok* any window w within 2 seconds "


@pytest.mark.parametrize(
    "text",
    [
        "stream s (ok bool) window w match any any | any{50,} within 2 events",
        "stream s (ok bool) window w within 1 events match (ok?) ([ok != true] [ok = true] ok)",
        "stream s (ok bool) window w match ([ok] ok ok) within 1 events until [ok[-2] != ok] or end",
        "stream s (ok bool) window w match [ok] any* [ok] any* [not ok] [ok] within 4 events",
    ],
)
def test_a_processor_holds_no_more_than_is_proved(text: str) -> None:
    spec = wex.parse(text)
    held = wex.check(spec)["w"].held
    assert held.bound is not None
    processor = wex.Processor(spec)
    for at in range(120):
        processor.feed({"ok": [bool(at * at % 7 % 3)]})
        assert processor.most_held() <= held.bound


LETTERS = "stream s (x enum('a', 'b', 'c', 'd', 'y', 'z')) window w match "
WAITING = [
    # With `until` a window may yet end at the last event: two starts are too young to be skipped.
    ("~~~[x = 'a'] until [x = 'a'] keep leftmost sharing 2 events", ["aaaaabababb", "ab" * 8]),
    # Behind the first start, the second has a window with every c.
    (
        "[x = 'a'] [x = 'b'] [x = 'c']+ [x = 'z'] | [x = 'b'] [x = 'c']+ | [x = 'c']+ [x = 'y'] keep leftmost",
        ["ab" + "c" * 90],
    ),
    # The window of the second start reaches all those in one state that begin with c.
    (
        "[x = 'a'] [x = 'b'] [x = 'c']* [x = 'd'] [x = 'z'] | [x = 'b'] [x = 'c']* [x = 'd'] |"
        " [x = 'c']+ [x = 'd'] [x = 'y'] keep leftmost",
        ["ab" + "c" * 90 + "d"],
    ),
    ("any{1,9} until [x = 'a'] within 3 events", ["ab" * 8]),
]


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize(("match", "streams"), WAITING)
def test_what_waits_does_not_exceed_the_bound(match: str, streams: list[str], size: int) -> None:
    """However the events come: a batch drops the starts that its events one by one would drop."""
    spec = wex.parse(LETTERS + match)
    bound = wex.check(spec)["w"].held.bound
    for stream in streams:
        processor = wex.Processor(spec)
        for begin in range(0, len(stream), size):
            processor.feed({"x": list(stream[begin : begin + size])})
            assert processor.held() <= (6 if bound is None else bound)


def test_a_small_range_of_whole_numbers_is_decided_whatever_is_computed() -> None:
    collatz = "[n = 3 * n[-1] + 1 or 2 * n = n[-1]]+ [n = 1]"
    text = f"stream s (n int) assume [0 < n and n < 50]* window w match {collatz}"
    assert str(wex.check(text)["w"].held) == "unbounded (linear)"


def test_no_more_starts_are_open_than_are_held() -> None:
    match = "after [false] ok ok match ok+ | any (ok [ok != ok]) ok* or match [ok = ok]{3}"
    report = wex.check(wex.parse(f"{TIMED}{match} keep disjoint lookback 1"))["w"]
    assert report.held.bound is not None
    assert report.open.bound is not None
    assert report.open.bound <= report.held.bound


COUNTDOWN = "stream s (n int) assume [n >= 0]* assume [n = n[-1] - 1]* window w match any* [n = 0]"


def test_what_regions_cannot_tell_is_no_finding() -> None:
    found = wex.check(wex.parse(COUNTDOWN))["w"].findings
    assert [finding.kind for finding in found] == ["remedy"]


def test_emptiness_asks_assumptions_once() -> None:
    found = wex.is_empty(wex.parse(COUNTDOWN))
    assert found.holds is False
    assert found.window == ("w", 0, 0)
    assert found.witness is not None
    assert found.witness["n"].to_pylist() == [0]


def test_emptiness_that_is_not_known_speaks_of_windows() -> None:
    spec = wex.parse("stream s (x int) window w match any measure sum(x) as s having s > 5")
    found = wex.is_empty(spec)
    assert found.holds is None
    assert found.reason == "`w` may have windows, but no stream was found that shows it"


def test_a_witness_of_a_formula_with_sets() -> None:
    odd = "forall x: begin <= x and x < end implies (x in X iff x + 1 not in X)"
    spec = wex.parse(
        f"stream s (x int) window w where exists set X: begin in X and end in X and {odd}"
    )
    stream = wex.check(spec)["w"].open.witness(20)
    assert stream.num_rows >= 20


@pytest.mark.parametrize(
    ("match", "bound"),
    [("[x > 1]{20000}", 20_000), ("[x > 1]{3,5000} [x < 9]", 5_001)],
)
def test_counted_windows_are_bounded_by_arithmetic(match: str, bound: int) -> None:
    window = wex.check(wex.parse(f"stream s (x int) window w match {match}"))["w"]
    for answer in (window.open, window.held):
        assert (answer.bound, answer.exact) == (bound, True)
        assert "within" not in answer.reason
    assert window.overlap.verdict == "bounded"


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match [x < 3]+ [x > 5]+ within 100 events keep disjoint",
        "stream s (x int) window w match any* [x > 5] any{10}",
        f"stream s (x int) window w match {' | '.join(f'[x > {at}]' for at in range(200))}",
        f"stream s (x int) window w match {' '.join(f'[x > {at}]' for at in range(200))}",
        f"stream s ({', '.join(f'f{at} int' for at in range(12))})"
        f" window w match {' '.join(f'[f{at} > 0]' for at in range(12))}",
    ],
)
def test_an_answer_keeps_to_its_budget(text: str) -> None:
    meaning = meaning_of(wex.parse(text))
    small = Budget(regions=5, work=0, vectors=5)
    analysis = Analysis(meaning, 0, small)
    assert {analysis.open.verdict, analysis.held.verdict, analysis.overlap.verdict} <= {
        "bounded",
        "unknown",
    }


@pytest.mark.parametrize(
    ("text", "starts", "windows"),
    [
        ("[x > 1]{3000}", 3000, 3000),
        ("[x > 1]{100,300}", 300, 40_200),
        ("any{0,3000} [x > 1]", 3001, 3001 * 3002 // 2),
        ("[x > 1] [x > 2]{999} keep shortest", 1000, 1000),
    ],
)
def test_long_counts_are_arithmetic(text: str, starts: int, windows: int) -> None:
    report = wex.check(f"stream s (x real) window w match {text}")["w"]
    assert (report.open.bound, report.held.bound) == (starts, starts)
    assert report.overlap.bound == windows
    assert report.open.exact
    assert report.held.exact
    assert report.overlap.exact


def test_too_many_states_are_a_limit() -> None:
    spec = wex.parse("stream s (x int) window w match any* [x > 7] any{16}")
    for ask in (wex.check, wex.explain, lambda each: wex.find(each, {"x": [1]})):
        with wex.limits.raised(work=10_000), pytest.raises(wex.LimitError) as caught:
            ask(spec)
        assert caught.value.hint is not None
        assert "work=100000" in caught.value.hint
