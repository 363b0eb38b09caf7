"""Windows with aggregates in their predicates: bounds that hold, and streams that show growth."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.fuzz import compare
from tests.analysis.small import spec_texts

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]
SECOND = 1_000_000
PACED = "stream s (ts timestamp, x int) order by ts assume [ts - ts[-1] >= 1 second]* window w "
# Windows of at most n events: a start i events before a position has at most n - i ends from there on.
TIMED = {
    "match [ts - first(ts) <= 10 seconds]+": ("at most 11", "at most 66"),
    "match [ts < first(ts) + 10 seconds]+": ("at most 10", "at most 55"),
    "match any [first(ts) + 10 seconds >= ts and x > 0]*": ("at most 11", "at most 66"),
    "match any [not ts - first(ts) > 10 seconds]* [ts - first(ts) > 10 seconds]": (
        "at most 12", "at most 78",
    ),
    "match any ([ts - min(ts) <= 10 seconds] [x > sum(x)[-1]])*": ("at most 12", "at most 78"),
    # Its windows have 11 events, too: the twelfth only decides about them, while the start is held.
    "match [ts - first(ts) <= 10 seconds]+ until [x > max(x)]": ("at most 12", "at most 66"),
    "match [ts - first(ts) <= 5 seconds]+ [ts - first(ts) <= 10 seconds] any{2}": (
        "at most 13", "at most 91",
    ),
    "match [ts - first(ts) <= 10 seconds]+ within 20 seconds": ("at most 11", "at most 66"),
    "match [ts - first(ts) <= 30 seconds]+ within 20 seconds": ("at most 21", "at most 231"),
}  # fmt: skip


@pytest.mark.parametrize("text", TIMED)
def test_a_predicate_that_limits_the_time_acts_as_within(text: str) -> None:
    report = wex.check(PACED + text)["w"]
    assert (str(report.held), str(report.overlap)) == TIMED[text]


@few
@given(
    st.sampled_from(sorted(TIMED)),
    st.lists(st.tuples(st.integers(1, 4), st.integers(-1, 3)), max_size=30),
)
def test_a_limit_of_time_holds_on_every_stream(text: str, events: list[tuple[int, int]]) -> None:
    spec = wex.parse(PACED + text)
    report = wex.check(spec)["w"]
    assert report.held.bound is not None
    assert report.overlap.bound is not None
    times = [sum(gap for gap, _ in events[: at + 1]) * SECOND for at in range(len(events))]
    columns = {
        "ts": pa.array(times, pa.timestamp("us")),
        "x": pa.array([x for _, x in events], pa.int64()),
    }
    processor = wex.Processor(spec)
    for at in range(len(events)):
        processor.feed({name: column.slice(at, 1) for name, column in columns.items()})
        assert processor.held() <= report.held.bound
    found = wex.find(spec, columns).to_pylist()
    spans = [(row["start_index"], row["end_index"]) for row in found]
    shared = [sum(b <= at <= e for b, e in spans) for at in range(len(events))]
    assert max(shared, default=0) <= report.overlap.bound


@pytest.mark.parametrize(
    "text",
    [
        "match any any* [ts - first(ts) <= 10 seconds]",  # only its last event is limited
        "match [ts - first(ts) <= 10 seconds or x > first(x)]+",
        "match [ts - last(ts)[-1] <= 10 seconds]+",  # a gap between neighbours
        "match [ts - first(ts) filter [x > 0] <= 10 seconds]+",
        "match [first(ts) - ts <= 10 seconds]+",  # always so
        "match [ts - first(ts) >= 10 seconds or count() = 1]+",
    ],
)
def test_other_predicates_about_time_limit_nothing(text: str) -> None:
    assert wex.check(PACED + text)["w"].held.bound is None


@few
@given(spec_texts(running=True))
def test_aggregates_agree_with_every_short_stream(text: str) -> None:
    compare(text, longest=4, decided=False)


X = "stream s (x int) window w match "
T = "stream s (ts timestamp, x int) order by ts window w match "
GROWING = {
    X + "[x >= first(x)]* [x < first(x)]": ("linear", "linear", "linear"),
    X + "any [x < first(x)]+ [x >= first(x)]": ("linear", "linear", "linear"),
    X + "any [x < first(x)]+ [x >= first(x)] keep shortest": ("linear", "linear", "linear"),
    X + "any [x < first(x)]+ [x >= first(x)] keep longest": (None, "linear", None),
    X + "any [x > max(x)[-1]]+": ("linear", "linear", "quadratic"),
    X + "[avg(x) < 15]+ any": ("linear", "linear", "quadratic"),
    X + "[sum(x) > 100]* [x = 7]": ("linear", "linear", "quadratic"),
    "stream s (x real) window w match [x >= 0.95 * max(x)]* [x < 0.95 * max(x)]": ("linear",) * 3,
    "stream s (k string, x int) window w match [k = first(k)]* [k != first(k) and x = 3]": (
        ("linear",) * 3
    ),
    "stream s (x int) assume [x > 3]* window w match [x >= first(x)]* [x < first(x)]": (
        ("linear",) * 3
    ),
    T + "[ts - first(ts) <= 1 hour]+": ("linear", "linear", "quadratic"),
    T + "[ts - first(ts) <= 1 hour]+ [ts - first(ts) > 1 hour]": ("linear",) * 3,
    T + "any any* [ts - first(ts) >= 10 seconds]": ("linear",) * 3,
    T + "[x >= first(x)]+ within 1 hour": ("linear", "linear", "quadratic"),
    # The numbers of events that these hold are large, and nothing small shows it.
    X + "[count() <= 5000]+": (None, None, None),
    X + "[x > 0 and sum(x) <= 100000]+": (None, None, None),
    X + "any [x = count()]+": (None, None, None),
}  # fmt: skip


@pytest.mark.parametrize("text", GROWING)
def test_a_stream_that_repeats_events_proves_growth(text: str) -> None:
    report = wex.check(text)["w"]
    answers = (report.open, report.held, report.overlap)
    assert tuple(answer.growth for answer in answers) == GROWING[text]
    for answer in answers:
        assert answer.verdict == ("unknown" if answer.growth is None else "unbounded")
    for n in (1, 2, 7, 20) if report.held.growth else ():
        _engine_holds(text, report.held.witness(n), n)
        if report.open.growth:
            report.open.witness(n)
            spans = _spans(text, report.overlap.witness(n))
            events = range(max(end for _, end in spans) + 1)
            assert max(sum(b <= at <= e for b, e in spans) for at in events) >= n


def _engine_holds(text: str, stream: pa.Table, n: int) -> None:
    processor = wex.Processor(wex.parse(text))
    processor.feed(stream)
    assert processor.held() >= n


def _spans(text: str, stream: pa.Table) -> list[tuple[int, int]]:
    rows = wex.find(wex.parse(text), stream).to_pylist()
    return [(row["start_index"], row["end_index"]) for row in rows]


@few
@given(spec_texts(running=True))
def test_the_engine_holds_what_the_analysis_says(text: str) -> None:
    held = wex.check(text)["w0"].held
    if held.growth is not None:
        for n in (1, 9):
            processor, stream = wex.Processor(wex.parse(text)), held.witness(n)
            most = 0
            for at in range(stream.num_rows):
                processor.feed(stream.slice(at, 1))
                most = max(most, processor.held())
            assert most >= n


@pytest.mark.parametrize(
    "window",
    [
        "[x > 1] any* [count() <= 3 and x = 0]",
        "[x > 1] any* [count() <= 1]",
        "[x > 1] any* [count() <= 3 and x = 0] keep shortest",
        "[x > 1] any* [count() <= 3 and x = 0] within 6 events",
        "[x > 1] l:any*? [count() <= 3 and x = 0] keep leftmost resuming at last l",
        "any any [count() <= 2]",
        "any any any [count() <= 3] | [x = 1] any",
        "any [count() <= 3]+",
    ],
)
def test_a_plan_does_not_know_that_a_count_is_too_high(window: str) -> None:
    """It holds starts whose windows have become too long to end; the bound counts them."""
    spec = f"stream s (x int) window w match {window}"
    held = wex.check(spec)["w"].held
    processor, most = wex.Processor(spec), 0
    for _ in range(12):
        processor.feed({"x": [2]})
        most = max(most, processor.held())
    assert held.verdict != "bounded" or most <= (held.bound or 0)
