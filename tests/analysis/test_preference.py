"""The analysis of windows by preference: the delay of the decision, held starts, equivalence."""

from __future__ import annotations

import pytest

import wex

HEAD = "stream s (x enum('a', 'b', 'c')) let a = x = 'a' let b = x = 'b' let c = x = 'c' window w match "


@pytest.mark.parametrize(
    ("text", "delay", "held"),
    [
        ("a any*? b keep preferred", "0", "unbounded (linear)"),
        ("a any*? b keep leftmost", "0", "at most 2"),
        ("a any* b keep preferred", "unbounded (linear)", "unbounded (linear)"),
        ("a any* b keep leftmost", "unbounded (linear)", "at most 3"),
        ("a any* b keep leftmost within 3 events", "at most 2", "at most 3"),
        ("any a+ b+ keep leftmost", "1", "at most 3"),
        ("any a+ b+ keep leftmost sharing 1 event", "1", "at most 3"),
        ("a | a a keep preferred", "0", "1"),
        ("a a | a keep preferred", "1", "2"),
        ("a+ keep preferred until [c]", "1", "unbounded (linear)"),
        ("a b* keep preferred until [b]", "2", "1"),
        ("a any | a keep preferred", "at most 1", "2"),  # the next event always replaces it
        ("a (b b b)? keep preferred", "3", "1"),
        ("a b{0,4} keep preferred", "1", "1"),
        ("a b{0,4} keep preferred until [c]", "1", "1"),
        ("a any* b | c keep leftmost", "unbounded (linear)", "unbounded (linear)"),
        ("a (any* b)? keep leftmost", "unbounded (linear)", "unbounded (linear)"),
        ("a b* c | b keep leftmost", "unbounded (linear)", "unbounded (linear)"),
        ("a any* b | b c keep leftmost", "unbounded (linear)", "at most 5"),
        ("a+ keep preferred measure count() as n having n > 1", "unknown", "unknown"),
        ("any p:(a+) q:(b+) keep leftmost resuming at last p", "1", "unbounded (linear)"),
        ("a p:(c*) b keep leftmost resuming at last p", "0", "1"),
        ("a p:(b{0,4}) keep leftmost resuming at last p", "1", "at most 5"),
        ("a p:(any*) b keep leftmost resuming at last p within 5 events", "at most 4", "at most 5"),
        (
            "a p:(b*) c | b keep leftmost resuming at last p",
            "unbounded (linear)",
            "unbounded (linear)",
        ),
    ],
)
def test_delay_and_held_starts(text: str, delay: str, held: str) -> None:
    report = wex.check(HEAD + text)["w"]
    assert (str(report.delay), str(report.held)) == (delay, held)
    assert list(report.answers) == ["open", "held", "overlap", "delay"]


def test_windows_that_are_reported_at_once_have_no_delay() -> None:
    delay = wex.check(HEAD + "a+ keep longest")["w"].delay
    assert (delay.bound, delay.exact) == (0, True)


@pytest.mark.parametrize("rest", ["keep preferred", "keep leftmost", "keep preferred until [b]"])
def test_a_witness_of_the_delay_has_a_window_that_changes(rest: str) -> None:
    spec = wex.parse(f"{HEAD} a (any* b)? {rest}")
    answer = wex.check(spec)["w"].delay
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
    "text",
    [
        "any a+ b+ keep leftmost",
        "a a | a keep preferred",
        "a+ keep preferred until [c]",
        "a b* keep preferred until [b]",
        "a (b b b)? keep preferred",
        "a (b b b)? | c keep leftmost",
    ],
)
def test_a_witness_of_a_bounded_delay_is_decided_at_its_last_event(text: str) -> None:
    spec = wex.parse(HEAD + text)
    answer = wex.check(spec)["w"].delay
    assert answer.exact
    assert answer.bound
    for n in range(1, answer.bound + 1):
        letters = answer.witness(n)["x"].to_pylist()
        processor = wex.Processor(spec)
        reported = [processor.feed({"x": [letter]})["end_index"].to_pylist() for letter in letters]
        end = len(letters) - 1 - n
        assert not any(end in ends for ends in reported[:-1])
        assert end in reported[-1] or n < answer.bound


@pytest.mark.parametrize(
    "text",
    [
        "a any* b | c keep leftmost",
        "a (any* b)? keep leftmost",
        "a b* c | b keep leftmost",
        "a any* c | b keep leftmost sharing 1 event",
    ],
)
def test_any_number_of_windows_waits_for_an_earlier_start(text: str) -> None:
    spec = wex.parse(HEAD + text)
    report = wex.check(spec)["w"]
    for n in (1, 3, 10):
        processor = wex.Processor(spec)
        processor.feed(report.held.witness(n))
        assert processor.held() >= n
        processor = wex.Processor(spec)
        stream = report.delay.witness(n)
        processor.feed(stream)
        ended = processor.close()["end_index"].to_pylist()
        assert any(end + n < stream.num_rows for end in ended)


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
        ("a l:b keep leftmost resuming at last l", "a l:b keep leftmost resuming at last l", True),
        (
            "a l:(b+) keep leftmost resuming at last l",
            "a l:b* b keep leftmost resuming at last l",
            None,
        ),
        ("a l:b keep leftmost resuming at last l", "a l:c keep leftmost resuming at last l", False),
    ],
)
def test_equivalence_by_preference(one: str, two: str, same: bool | None) -> None:
    comparison = wex.equivalent(HEAD + one, HEAD + two)
    assert comparison.holds is same, comparison
    if same is False:
        assert comparison.witness is not None


AGGREGATES = (
    "stream s (ts timestamp, x int) order by ts assume [ts - ts[-1] >= 1 second]* window w match "
)


@pytest.mark.parametrize(
    ("text", "held", "delay"),
    [
        ("any [x > max(x)[-1]]+ keep preferred", "unknown", "at most 1"),
        ("any [x > max(x)[-1]]+ keep leftmost", "unknown", "unknown"),
        ("any ([x > first(x)] any)? keep preferred", "3", "at most 2"),
        ("any [x > first(x)]{0,3} keep leftmost", "1", "at most 1"),
        ("[count() <= 5]+ keep preferred", "5", "at most 1"),
        ("[ts - first(ts) <= 5 seconds]+ keep leftmost", "1", "at most 1"),
        ("any [x > first(x)]* keep preferred until [x < min(x)]", "unknown", "unknown"),
        ("any [x > first(x)]* keep leftmost within 4 events", "1", "at most 1"),
        ("any [x > first(x)]* keep leftmost sharing 2 events", "3", "at most 1"),
        ("any [x > first(x)] any keep leftmost", "at most 3", "at most 3"),
    ],
)
def test_preference_with_aggregates_has_bounds_or_none(text: str, held: str, delay: str) -> None:
    report = wex.check(AGGREGATES + text)["w"]
    assert (str(report.held), str(report.delay)) == (held, delay)
    for answer in report.answers.values():
        assert answer.growth is None
        assert (
            not answer.exact or answer.witness(answer.bound or 0) is not None
        )  # what a stream shows


def test_equal_windows_with_aggregates_are_equivalent_by_preference() -> None:
    one, two = (AGGREGATES + f"any [x > first(x)]{more} keep leftmost" for more in ("+", "{1,}"))
    assert wex.equivalent(one, two).holds
