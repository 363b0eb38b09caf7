"""`assume at most N events in DURATION` bounds `within DURATION`: laws against the engine, and cases."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import regexes
from wex.analysis.boundedness_guard import refuse_unbounded
from wex.analysis.rates import Rates
from wex.engine.kernels.compiled import interpreted
from wex.errors import UnboundedError
from wex.spec.resolve.rates import RateLimit

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]
HEAD = "stream s (ts timestamp, x enum('a', 'b'), ok bool) order by ts "
PLAIN = "stream s (ts timestamp, x int) order by ts "
START = datetime(2026, 1, 1)


@st.composite
def rated(draw: st.DrawFn, *, running: bool = False) -> tuple[str, list[RateLimit]]:
    """Draw a spec with rates and `within DURATION`, and its rates."""
    limits = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=1, max_size=2))
    lines = [HEAD, *(f"assume at most {n} events in {d} seconds" for n, d in limits)]
    if draw(st.integers(0, 3)) == 0:
        lines.append("assume [ts - ts[-1] >= 1 second]*")
    expression = draw(regexes(finite=True, running=running))
    lines.append(f"window w match {expression} within {draw(st.integers(0, 6))} seconds")
    lines.append(draw(st.sampled_from(["", "until [ok]", "until [x = 'a'] or end"])))
    keeps = ["", "keep shortest", "keep longest", "keep disjoint"]
    keeps += ["keep preferred", "keep leftmost", "keep leftmost sharing 1 event"]
    lines.append(draw(st.sampled_from(keeps)))
    return " ".join(lines), [RateLimit(n, d * 1_000_000) for n, d in limits]


moments = st.lists(
    st.tuples(st.integers(0, 12), st.sampled_from("ab"), st.booleans()), max_size=20
).map(sorted)


def conforming(
    found: list[tuple[int, str, bool]], limits: list[RateLimit]
) -> list[tuple[int, str, bool]]:
    """Return the events without those that are too many."""
    rates = Rates(tuple(limits), "ts")
    kept: list[tuple[int, str, bool]] = []
    for row in found:
        if rates.conform([{"ts": at * 1_000_000} for at, _, _ in [*kept, row]]):
            kept.append(row)
    return kept


def table(found: list[tuple[int, str, bool]]) -> pa.Table:
    times, xs, flags = zip(*found, strict=True) if found else ((), (), ())
    return pa.table(
        {
            "ts": pa.array([START + timedelta(seconds=at) for at in times], pa.timestamp("us")),
            "x": pa.array(xs, pa.string()),
            "ok": pa.array(flags, pa.bool_()),
        }
    )


def most_held(spec: wex.Spec, stream: pa.Table) -> int:
    """Return the largest number of starts held after any event."""
    processor, most = wex.Processor(spec), 0
    with interpreted():
        for row in range(stream.num_rows):
            processor.feed(stream.slice(row, 1))
            most = max(most, processor.most_held())
    return most


@few
@given(rated(), moments)
def test_the_engine_never_holds_more(
    drawn: tuple[str, list[RateLimit]], found: list[tuple[int, str, bool]]
) -> None:
    text, limits = drawn
    spec = wex.parse(text)
    held = wex.check(spec)["w"].held
    assert held.verdict == "bounded", held.reason
    assert held.bound is not None
    stream = table(conforming(found, limits))
    try:
        assert most_held(spec, stream) <= held.bound
    except wex.DataError as error:  # the other assumption
        assert error.code == "assumption"
    if held.exact and held.bound:
        shown = held.witness(held.bound)
        wex.find(spec, shown)  # it conforms
        assert most_held(spec, shown) <= held.bound


@few
@given(rated(running=True), moments)
def test_the_engine_never_holds_more_with_aggregates(
    drawn: tuple[str, list[RateLimit]], found: list[tuple[int, str, bool]]
) -> None:
    text, limits = drawn
    if "keep preferred" in text or "keep leftmost" in text:
        text = text.split("keep ")[0]
    spec = wex.parse(text)
    held = wex.check(spec)["w"].held
    assert held.bound is not None
    try:
        assert most_held(spec, table(conforming(found, limits))) <= held.bound
    except wex.DataError as error:
        assert error.code == "assumption"


@pytest.mark.parametrize(
    ("window", "held"),
    [
        ("match [x > 0] any* [x < 0] within 5 seconds", "600"),
        ("match [x > 0] any* [x < 0] within 4.999999 seconds", "500"),
        ("match [x > 0] any* [x < 0] within 999 milliseconds", "100"),
        ("match any{7} within 5 seconds", "at most 7"),
        ("match any [ts - first(ts) <= 5 seconds]* [x < 0]", "at most 601"),
        ("match [x > 0] any* [x < 0] keep preferred within 5 seconds", "600"),
        ("match [x > 0] any* [x < 0] keep leftmost within 5 seconds", "at most 600"),
        ("match [x > 0] any* [x < 0] within 1 week", "at most 60,480,100"),
        ("match [x > 0] any* [x < 0]", "unbounded (linear)"),
    ],
)
def test_bounds_by_a_rate(window: str, held: str) -> None:
    spec = wex.parse(PLAIN + f"assume at most 100 events in 1 second window w {window}")
    assert str(wex.check(spec)["w"].held) == held


def test_the_bound_is_reached() -> None:
    spec = wex.parse(
        PLAIN
        + "assume at most 3 events in 1 second window w match [x > 0] any* [x < 0] within 2 seconds"
    )
    answer = wex.check(spec)["w"].held
    assert (str(answer), most_held(spec, answer.witness(9))) == ("9", 9)


def test_the_tightest_rate_counts() -> None:
    rates = "assume at most 100 events in 1 second assume at most 150 events in 1 minute "
    spec = wex.parse(PLAIN + rates + "window w match [x > 0] any* [x < 0] within 5 seconds")
    assert wex.check(spec)["w"].held.bound == 150


def test_a_least_gap_counts_beside_a_rate() -> None:
    both = "assume at most 100 events in 1 second assume [ts - ts[-1] >= 1 second]* "
    spec = wex.parse(PLAIN + both + "window w match [x > 0] any* [x < 0] within 5 seconds")
    assert wex.check(spec)["w"].held.bound == 6


def test_rates_do_not_hide_what_has_no_bound() -> None:
    """Without predicates about time the events of a witness are as far apart as the rate asks for."""
    spec = wex.parse(PLAIN + "assume at most 1 event in 1 hour window w match [x > 0] any* [x < 0]")
    answer = wex.check(spec)["w"].held
    assert answer.verdict == "unbounded"
    assert most_held(spec, answer.witness(5)) == 5


def test_predicates_about_time_are_not_called_unbounded() -> None:
    """A rate excludes what they alone would allow: five events in less than a second each."""
    spec = wex.parse(
        PLAIN + "assume at most 1 event in 1 second window w match [ts - ts[-1] < 1 second]+"
    )
    assert wex.check(spec)["w"].held.verdict == "unknown"


@pytest.mark.parametrize(
    ("match", "found"),
    [
        ("[ts - ts[-1] < 30 minutes]* [x < 0]", ["unbounded (linear)", "unbounded (linear)"]),
        ("[ts - ts[-1] < 1 second]{3} [x < 0]", ["4", "4"]),
        ("[ts = ts[-1]]+", ["unknown", "unknown"]),  # at most 99 at one moment
    ],
)
def test_streams_whose_events_are_far_apart_show_the_rest(match: str, found: list[str]) -> None:
    """Those that have an event every 10 milliseconds conform, so that what they do can happen."""
    spec = wex.parse(PLAIN + f"assume at most 100 events in 1 second window w match {match}")
    window = wex.check(spec)["w"]
    answers = [window.open, window.held]
    assert list(map(str, answers)) == found
    for answer in answers:
        if answer.verdict == "unbounded":
            wex.find(spec, answer.witness(3))  # it conforms


def test_a_delay_without_bound_is_shown_by_events_far_apart() -> None:
    spec = wex.parse(
        PLAIN + "assume at most 5 events in 1 second"
        " window w match [ts - ts[-1] < 1 hour] any* [x < 0] keep preferred"
    )
    answer = wex.check(spec)["w"].delay
    assert str(answer) == "unbounded (linear)"
    wex.find(spec, answer.witness(4))


@few
@given(rated(), moments, st.sampled_from(["1 second", "2 seconds", "3 seconds"]))
def test_bounds_hold_where_predicates_read_the_time(
    drawn: tuple[str, list[RateLimit]], found: list[tuple[int, str, bool]], gap: str
) -> None:
    """Predicates about gaps instead of `within`: no bound is exceeded, and witnesses conform."""
    text, limits = drawn
    before, _, after = text.partition(" within ")
    head, _, match = before.partition("window w match ")
    spec = wex.parse(f"{head} window w match ({match}) & [ts - ts[-1] <= {gap}]+ {after[9:]}")
    held = wex.check(spec)["w"].held
    try:
        most = most_held(spec, table(conforming(found, limits)))
    except wex.DataError as error:
        assert error.code == "assumption"
    else:
        assert held.bound is None or most <= held.bound
    if held.bound is None and held.verdict == "unbounded":
        assert most_held(spec, held.witness(3)) >= 3


def test_windows_differ_only_on_streams_that_conform() -> None:
    head = PLAIN + "assume at most 1 event in 1 second window w match "
    near = wex.parse(head + "[ts - ts[-1] < 1 second]")
    far = wex.parse(head + "[x > 0]")
    assert wex.is_empty(near).holds is None
    found = wex.equivalent(near, far)
    assert found.holds is False
    assert found.witness is not None
    wex.find(far, found.witness)


def test_an_endless_job_accepts_what_a_rate_bounds() -> None:
    window = "window w match [x > 0] any* [x < 0] within 5 seconds"
    with pytest.raises(UnboundedError):
        refuse_unbounded(wex.parse(PLAIN + window))
    refuse_unbounded(wex.parse(PLAIN + "assume at most 100 events in 1 second " + window))


def test_another_rate_is_another_checkpoint() -> None:
    from wex.analysis.changes import first_change  # noqa: PLC0415

    text = PLAIN + "assume at most {} events in 1 second window w match [x > 0]"
    change = first_change(wex.parse(text.format(5)), wex.parse(text.format(6)))
    assert change == (
        "`assume` was assume at most 5 events in 1 second, and is assume at most 6 events in 1 second"
    )
