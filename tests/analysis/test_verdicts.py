"""Verdicts and bounds of known specs, including those of docs/semantics.md."""

from __future__ import annotations

import json
from unittest import mock

import pytest

import wex
from wex import examples
from wex.analysis import witness
from wex.stages import plan_of
from wex.theory.letters import letters_of

AB = "stream s (x enum('a', 'b'))"
X = "stream s (x real)"
INSIDE = "assume [0 < x and x < 10]*"
UP = "let up = x > x[-1]"
CHAIN = "let g = (x[-1] = 'a' and x = 'b') or (x[-1] = 'b' and x = 'c')"
LINEAR, QUADRATIC = "linear", "quadratic"

# text, open, held, overlap: a bound, or how it grows
KNOWN: dict[str, tuple[str, int | str, int | str, int | str]] = {
    "trend": (examples.text("trend"), 1, 1, 1),
    "sliding 5 by 2": (f"{X} window w after (any any)* match any{{5}}", 3, 3, 3),
    "any hundred": (f"{X} window w match any{{100}}", 100, 100, 100),
    "a* b": (f"{AB} window w match [x = 'a']* [x = 'b']", LINEAR, LINEAR, LINEAR),
    "a* b without aaa": (
        f"{AB} assume ~(any* [x = 'a']{{3}} any*) window w match [x = 'a']* [x = 'b']", 3, 3, 3,
    ),
    "rising reals": (f"{X} {UP} window w match up+", LINEAR, LINEAR, QUADRATIC),
    "rising reals inside": (f"{X} {INSIDE} {UP} window w match up+", LINEAR, LINEAR, QUADRATIC),
    "rising integers inside": (f"stream s (x int) {INSIDE} {UP} window w match up+", 8, 8, 20),
    "counting reals inside": (f"{X} {INSIDE} window w match [x = x[-1] + 1]+", 9, 9, 25),
    "never": (f"{X} {UP} window w match up any* up [x[-1] < x[-2]]", 0, 0, 0),
    "one start, endless ends": (f"{X} window w after () match any+", 1, 1, LINEAR),
    "the lemma's counterexample": (
        f"stream s (x enum('a', 'b', 'c')) {CHAIN} window w match [g]+", 2, 2, 2,
    ),
    "longest": (f"{AB} window w match [x = 'a']* [x = 'b'] keep longest", 1, 1, 1),
    "disjoint": (f"{AB} window w match [x = 'a']* [x = 'b'] keep disjoint", 1, 1, 1),
    "five, disjoint": (f"{AB} window w match any{{5}} keep disjoint", 1, 1, 1),
    "shortest": (f"{AB} window w match any+ keep shortest", 1, 1, 1),
    "within events": (f"{AB} window w match any+ within 7 events", 7, 7, 28),
    "until": (f"{AB} window w match [x = 'a'] until [x = 'b']", 1, 1, 1),
    "until or end": (f"{AB} window w match any+ until [x = 'b'] or end", LINEAR, LINEAR, QUADRATIC),
    "first event": (f"{X} window w match [is_first] any{{3}}", 1, 1, 1),
    "several pairs": (f"{AB} window w match any{{2}} or match any{{4}}", 4, 4, 6),
    "strings": ("stream s (u string) window w match [u = u[-1]]{2}", 2, 2, 2),
    "the key stays": (
        "stream s (k string, x real) partition by k window w match [k != k[-1]]", 0, 0, 0,
    ),
    "the order": ("stream s (t int, x real) order by t window w match [t < t[-1]]", 0, 0, 0),
    "ties": (
        "stream s (t int, x real) order by t window w match [t = t[-1] and x < x[-1]]", 0, 0, 0,
    ),
    "a product": ("stream s (x real, y real) window w match [x * y > 1]+ [x * x < 0]", 0, LINEAR, 0),
    "a product of two events": (
        "stream s (x real) window w match [x * x[-1] > 1]+", LINEAR, LINEAR, QUADRATIC,
    ),
    "different lookback of an assumption": (
        f"{X} assume [x > x[-1]]* assume [x < 3]* window w match [x >= 2 and x < 3] [x >= 3]", 0, 0, 0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known(name: str) -> None:
    text, *expected = KNOWN[name]
    (window,) = wex.check(wex.parse(text))
    found = []
    for answer in (window.open, window.held, window.overlap):
        found.append(answer.bound if answer.verdict == "bounded" else answer.growth)
        assert answer.verdict != "bounded" or answer.exact
        assert answer.reason
        assert answer.seconds >= 0
    assert found == expected


def test_time_bounds_what_comes_in_it() -> None:
    stream = "stream s (t timestamp, x real) order by t"
    rare = wex.check(
        wex.parse(f"{stream} assume [t - t[-1] >= 1 second]* window w match any+ within 10 seconds")
    )["w"]
    assert (rare.held.verdict, rare.held.bound, rare.held.exact) == ("bounded", 11, False)
    dense = wex.check(wex.parse(f"{stream} window w match any+ within 10 seconds"))["w"]
    assert (dense.held.verdict, dense.held.growth) == ("unbounded", "linear")
    assert (dense.overlap.verdict, dense.overlap.growth) == ("unbounded", "quadratic")
    assert dense.open.witness(5).num_rows >= 5
    few = wex.check(wex.parse(f"{stream} window w match any{{3}} within 10 seconds"))["w"]
    assert (few.open.bound, few.open.exact) == (3, True)  # a stream shows it
    once = wex.check(wex.parse(f"{stream} window w match any+ within 1 second keep longest"))["w"]
    assert once.open.bound == 1_000_001


def test_having_only_removes() -> None:
    having = "measure sum(x) as total having total > 3"
    few = wex.check(wex.parse(f"{X} window w match any{{2}} {having}"))["w"]
    assert (few.open.bound, few.open.exact, few.held.exact) == (2, False, True)
    many = wex.check(wex.parse(f"{X} window w match any+ {having}"))["w"]
    assert (many.open.verdict, many.held.verdict) == ("unknown", "unbounded")
    assert "having" in many.open.reason


def test_having_about_the_count_is_exact() -> None:
    few = "measure count() as n having n > 3 and n != 5"
    found = wex.check(wex.parse(f"{X} window w match any{{2,6}} {few} keep shortest"))["w"]
    assert (found.open.bound, found.open.exact) == (4, True)
    assert (found.held.bound, found.held.exact) == (4, True)
    never = wex.check(wex.parse(f"{X} window w match any{{2,3}} {few}"))["w"]
    assert (never.open.bound, never.held.bound) == (0, 0)


def test_what_is_not_finished_is_said_to_be_so() -> None:
    halves = wex.check(wex.parse(f"{X} window w match [2 * x < x[-1] and x > 1]+"))["w"]
    assert halves.open.verdict == "unknown"
    assert halves.open.reason == (
        "every event with 2 * x < x[-1] and x > 1 would add one, but the predicates relate events"
        " in more ways than the analysis can distinguish; 200,000 steps of the analysis were not"
        " enough, and a greater `effort` allows more"
    )


@pytest.mark.parametrize(
    ("window", "held", "overlap"),
    [
        (
            "match any",
            "a start ends or fails before the next one begins",
            "the starts up to a position have at most 1 window that ends there or later",
        ),
        (
            "match any{3}",
            "starts end or fail before there are more than 3 at once",
            "the starts up to a position have at most 3 windows that end there or later",
        ),
        (
            "match [x > 0]+",
            "every event with x > 0 adds one",
            "an unbounded number of starts can have an unbounded number of windows each",
        ),
        (
            "match ([x > 0] [x < 0])+ [x = 0]",
            "every repetition of [x > 0] [x < 0] adds one",
            "an unbounded number of starts can end at the same event",
        ),
        (
            "after () match any+",
            "a start ends or fails before the next one begins",
            "one start can have an unbounded number of windows",
        ),
        (
            "match any+ keep disjoint",
            "with `keep disjoint` a plan holds one start for each state",
            "`keep disjoint` reports windows that do not overlap",
        ),
    ],
)
def test_reasons(window: str, held: str, overlap: str) -> None:
    report = wex.check(f"{X} window w {window}")["w"]
    assert (report.held.reason, report.overlap.reason) == (held, overlap)


@pytest.mark.parametrize(
    ("type_", "asked"),
    [
        ("timestamp", "hour({}) > 6"),
        ("timestamp", "minute({}) = 30 or second({}) < 5"),
        ("timestamp", "weekday({}) > 5"),
        ("timestamp", "month({}) > 6 and year({}) != 1970"),
        ("date", "day({}) > 6"),
        ("int", "{} // 3600000000 % 24 > 6"),
        ("int", "({} % 7 + 3) // 2 > 3"),
    ],
)
def test_predicates_that_nobody_wrote_are_said_as_one_would_write_them(
    type_: str, asked: str
) -> None:
    """What the next event asks of this one is part of its letter."""
    before = asked.replace("{}", "x[-1]")
    spec = f"stream s (x {type_}, b bool) window w match any [{before}] any* [b]"
    reason = wex.check(spec)["w"].held.reason
    assert "every repetition of [" in reason
    now = reason.replace(before, "")
    for part in asked.replace("{}", "x").replace(" or ", " and ").split(" and "):
        assert part in now
    assert "timestamp" not in now


def test_verdicts_are_texts_too() -> None:
    answer = wex.check(f"{X} window w match any+")["w"].open
    assert (answer.what, answer.verdict, answer.growth) == ("open starts", "unbounded", "linear")
    assert "verdict='unbounded'" in repr(answer)
    assert json.dumps([answer.verdict, answer.growth]) == '["unbounded", "linear"]'


def test_formulas_are_analysed_like_any_other() -> None:
    report = wex.check(wex.parse(f"{X} window w where begin + 2 = end"))
    assert report["w"].open.bound == 3


def test_a_report_is_read_by_name() -> None:
    report = wex.check(wex.parse(f"{X} window one match any window two match any{{2}}"))
    assert [window.name for window in report] == ["one", "two"]
    assert report["two"].open.bound == 2
    assert "two: open 2" in str(report)
    with pytest.raises(KeyError, match="one, two"):
        report["three"]


def test_bytes_of_a_stream() -> None:
    small = wex.check(wex.parse(f"{X} window w match any{{2}}")).state_bytes
    large = wex.check(wex.parse(f"{X} window w match any{{20}}")).state_bytes
    assert small is not None
    assert large is not None
    assert large > small + 18 * 8
    assert wex.check(wex.parse(f"{X} window w match any+")).state_bytes is None


# --- Effort

ENTANGLED = "stream s (x real) window w match [x > x[-4]]+ [x < x[-3]]"


def test_more_effort_decides_more() -> None:
    little = wex.check(ENTANGLED, effort=20)["w"].open
    assert little.verdict == "unknown"
    assert "20 steps of the analysis were not enough, and a greater `effort`" in little.reason
    assert wex.check(ENTANGLED)["w"].open.verdict == "unbounded"


def test_verdicts_do_not_depend_on_what_was_asked_before() -> None:
    first = [str(wex.check(ENTANGLED, effort=effort)["w"].open) for effort in (20, 2_000, 20_000)]
    wex.check(ENTANGLED)
    again = [str(wex.check(ENTANGLED, effort=effort)["w"].open) for effort in (20, 2_000, 20_000)]
    assert first == again


def test_effort_is_a_limit() -> None:
    with wex.limits.raised(effort=20):
        assert wex.check(ENTANGLED)["w"].open.verdict == "unknown"
    with pytest.raises(wex.WexError, match="effort must be positive"):
        wex.check(ENTANGLED, effort=0)


def test_repeated_events_show_growth_where_there_is_too_much_to_explore() -> None:
    entangled = (
        "stream s (x real, y real, z real) window w match (([x[-2] < 0 or x < z])* [x < y[-3] or z >= z[-2]"
        " or x != z])+ [y <= y[-3] or y = x[-3] or z = x[-2]]"
    )
    report = wex.check(entangled, effort=10_000)["w"]
    assert report.open.reason == "every event with x = 1 and y = 1 and z = 1 adds one"
    assert report.overlap.growth == "quadratic"
    for answer in (report.open, report.held, report.overlap):
        assert answer.verdict == "unbounded"
        stream = answer.witness(5).to_pydict()
        assert wex.find(entangled, stream).num_rows >= 5


def test_what_the_method_cannot_decide_needs_no_effort() -> None:
    area = "stream s (a real, b real) window w match [a * b > a[-1] * b[-1]]+"
    answer = wex.check(area)["w"].open
    assert answer.verdict == "unknown"
    assert "effort" not in answer.reason


@pytest.mark.parametrize("keep", ["leftmost", "leftmost sharing 1 event", "disjoint"])
def test_a_window_is_tried_with_nulls_that_only_another_one_tests(keep: str) -> None:
    spec = f"stream s (x int) window w match [x > x[-1]] [x = 1] keep {keep} window u match [x is null]"
    assert wex.check(spec)["w"].held.verdict == "bounded"
    found = wex.find(spec, {"x": [4, 3, None, 5]})
    assert found.select(["window_name", "start_index"]).to_pylist() == [
        {"window_name": "u", "start_index": 2}
    ]


def test_many_streams_are_tried_with_one_plan() -> None:
    """The automaton of the assumption is made once, too: both took most of the time of such a search."""
    steps = "assume [0 <= n and n <= 5]*"
    spec = f"stream s (n int) {steps} window w match [n > n[-1]] any* [n < n[-1]] keep leftmost"
    with (
        mock.patch("wex.analysis.witness.plan_of", wraps=plan_of) as plans,
        mock.patch.object(witness, "run_alone", wraps=witness.run_alone) as runs,
        mock.patch("wex.analysis.held_search.run_alone", runs),
        mock.patch("wex.compile.assumptions.letters_of", wraps=letters_of) as letters,
    ):
        assert wex.check(spec)["w"].held.bound == 3
    assert runs.call_count > 50
    assert plans.call_count == 1
    assert letters.call_count <= 1  # another test may have made it before


@pytest.mark.parametrize(
    "match",
    [
        "[n > 9223372036854775800] any [n + 100 > n[-1]]",
        "[n > 9223372036854775800] any* [n + 100 > n[-1] and b]",
    ],
)
def test_streams_that_64_bits_cannot_compute_are_no_examples(match: str) -> None:
    spec = f"stream s (n int, b bool) window w match {match} keep leftmost"
    assert wex.check(spec)["w"].held.bound is not None
    assert wex.find(spec, {"n": [1], "b": [True]}).num_rows == 0
