"""The analysis of windows by preference: the delay of the decision, held starts, equivalence."""

from __future__ import annotations

import pytest

import wex

HEAD = "stream s (x enum('a', 'b', 'c')) let a = x = 'a' let b = x = 'b' let c = x = 'c' window w match "


@pytest.mark.parametrize(
    ("text", "delay", "held"),
    [
        ("a any*? b keep preferred", "0", "unbounded (linear)"),
        ("a any*? b keep leftmost", "at most 0", "at most 2"),
        ("a any* b keep preferred", "unbounded (linear)", "unbounded (linear)"),
        ("a any* b keep leftmost", "unbounded (linear)", "unknown"),
        ("a any* b keep leftmost within 3 events", "at most 3", "at most 3"),
        ("any a+ b+ keep leftmost", "at most 1", "at most 3"),
        ("any a+ b+ keep leftmost sharing 1 event", "at most 1", "at most 4"),
        ("a | a a keep preferred", "0", "1"),
        ("a a | a keep preferred", "at most 1", "2"),
        ("a+ keep preferred until [c]", "at most 1", "unbounded (linear)"),
        ("a b* keep preferred until [b]", "at most 2", "1"),
        ("a b* c | b keep leftmost", "unknown", "unknown"),
        ("a+ keep preferred measure count() as n having n > 1", "unknown", "unknown"),
    ],
)
def test_delay_and_held_starts(text: str, delay: str, held: str) -> None:
    report = wex.check(HEAD + text)["w"]
    assert (str(report.delay), str(report.held)) == (delay, held)
    assert list(report.answers) == ["open", "held", "overlap", "delay"]


def test_windows_that_are_reported_at_once_have_no_delay() -> None:
    report = wex.check(HEAD + "a+ keep longest")["w"]
    assert report.delay is None
    assert "delay" not in report.answers


@pytest.mark.parametrize("rest", ["keep preferred", "keep leftmost", "keep preferred until [b]"])
def test_a_witness_of_the_delay_has_a_window_that_changes(rest: str) -> None:
    spec = wex.parse(f"{HEAD} a (any* b)? {rest}")
    answer = wex.check(spec)["w"].delay
    assert answer is not None
    for n in (1, 5):
        letters = answer.witness(n)["x"].to_pylist()
        now, later = (wex.find(spec, {"x": [*letters, *more]}) for more in ([], ["b", "b"]))
        start, end = (now[name].to_pylist()[0] for name in ("start_index", "end_index"))
        assert end + n < len(letters)
        ends = dict(
            zip(later["start_index"].to_pylist(), later["end_index"].to_pylist(), strict=True)
        )
        assert ends[start] > end


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("a (b | c) keep preferred", "a b | a c keep preferred", True),
        ("a (b c)? keep leftmost", "a b c | a keep leftmost", True),
        ("a (b c)? keep leftmost", "a | a b c keep leftmost", False),
        ("a+ keep preferred", "a+? keep preferred", False),
        ("a+? keep preferred", "a keep preferred", True),
        ("a b* keep preferred until [c]", "a | a b+ keep preferred until [c]", True),
        ("a keep preferred", "a keep leftmost", None),
        ("a+ keep preferred", "a+ keep leftmost", None),
        ("a+ keep preferred", "a+ keep all", None),
        ("a+? keep leftmost within 3 events", "a keep leftmost within 3 events", True),
    ],
)
def test_equivalence_by_preference(one: str, two: str, same: bool | None) -> None:
    comparison = wex.equivalent(HEAD + one, HEAD + two)
    assert comparison.holds is same, comparison
    if same is False:
        assert comparison.witness is not None
