"""Endless streams in buckets: whatever comes in whatever batches, what is not late is as in one run."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same_arrivals, assert_same_streams, outcome
from tests.engine.tables import SPEC, microseconds, table
from tests.strategies import fewer, streams
from tests.strategies.specs import pair_specs
from tests.strategies.streams import some_events
from wex.engine.engine import engine_of
from wex.engine.streaming.bucket import Bucket, Rules
from wex.theory.evaluate import Event

HEAD = "stream s (k string, t timestamp, x int) partition by k order by t window w "
OLD = [  # what starts may outlive, on each kind of kernel
    "match [x > 0] [x < 2]* [x > 2] within 7 seconds measure sum(x) as total",
    "match [x > 0]+ [x = 0] within 9 seconds measure count() as n, sum(x) as total",
    "after any* [x = 0] match [x > 0]* [x > 2] keep shortest within 8 seconds measure sum(x) as total",
    "match [x > 0] any* [x > 2] within 11 seconds keep longest measure sum(x) as total",
    "match [x > 0] any* [x > 2] within 11 seconds keep disjoint having n > 2 measure count() as n",
    "match [x > 1] any{9} | [x > 2] any{11} [x > 1] within 20 seconds measure sum(x) as total",
    "match [x > 0]+ until [x = 0] within 6 seconds measure sum(x) as total",
    "match ([x > 0] [x < 2])+ until [x = 0] or end within 6 seconds keep longest measure count() as n",
]
events = st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.integers(0, 4))


def spans(found: list[pa.Table]) -> list[tuple[object, ...]]:
    names = ["k", "window_name", "start_index", "end_index", "total", "n"]
    return sorted(
        (
            tuple(row.get(name) for name in names)
            for part in found
            if part.num_rows
            for row in part.to_pylist()
        ),
        key=repr,
    )


def reported(rows: list[tuple[str, int, int]], spec: wex.Spec = SPEC) -> list[tuple[object, ...]]:
    """Return the windows of a run that has not ended: without those that the end decides."""
    processor = wex.Processor(spec)
    return spans([processor.feed(table(rows))] if rows else [])


@given(st.lists(st.lists(events, min_size=1, max_size=6), max_size=6), st.integers(0, 30))
def test_rows_wait_for_the_watermark(batches: list[list[tuple[str, int, int]]], delay: int) -> None:
    engine, rules = engine_of(SPEC), Rules()
    saved: bytes | None = None
    watermark, latest = 0, 0
    found, kept, late = [], [], 0
    for rows in batches:
        bucket = Bucket.of(engine, rules, saved)
        found.append(bucket.arrive(table(rows), microseconds(watermark) if watermark else 0))
        fine = [row for row in rows if not watermark or row[1] > watermark]
        kept += fine
        late += len(rows) - len(fine)
        assert bucket.counts.late == len(rows) - len(fine)
        saved = bucket.saved()
        latest = max([latest, *(at for _, at, _ in rows)])
        watermark = max(watermark, latest - delay)
    bucket = Bucket.of(engine, rules, saved)
    found.append(bucket.advance(microseconds(watermark) if watermark else 0))
    passed = [row for row in kept if watermark and row[1] <= watermark]
    assert spans(found) == reported(passed)
    assert bucket.counts.buffered == len(kept) - len(passed)


@fewer(2)
@given(st.lists(st.lists(events, min_size=1, max_size=6), max_size=6))
def test_without_a_watermark_late_rows_drop(batches: list[list[tuple[str, int, int]]]) -> None:
    engine = engine_of(SPEC)
    saved: bytes | None = None
    found = []
    last: dict[str, tuple[int, int]] = {}
    processor, expected = wex.Processor(SPEC), []
    for rows in batches:
        bucket = Bucket.of(engine, Rules(), saved)
        found.append(bucket.run(table(rows)))
        saved = bucket.saved()
        fine = [row for row in rows if row[1:] >= last.get(row[0], (-1, -1))]
        assert bucket.counts.late == len(rows) - len(fine)
        for key, *rest in sorted(fine):
            last[key] = (rest[0], rest[1])
        if fine:
            expected.append(processor.feed(table(fine)))
    assert spans(found) == spans(expected)


@fewer(2)  # `tests.engine.differential` does the same with more
@given(pair_specs, some_events, st.data())
def test_any_spec_in_any_batches(spec: wex.Spec, events: list[Event], data: st.DataObject) -> None:
    """What comes in any order, waits, runs as the watermark steps and expires is what `find` finds."""
    whole = streams.table(events)
    found, expected = outcome(_in_batches, spec, whole, data), outcome(wex.find, spec, whole)
    if isinstance(found, wex.DataError) and found.code in ("null", "enum-value"):
        # Rows are checked when they arrive, before the events ahead of them have run.
        assert found.code in [outcome_code(spec, whole.slice(row, 1)) for row in range(len(events))]
        assert isinstance(expected, wex.DataError)
    elif isinstance(found, wex.DataError) or isinstance(expected, wex.DataError):
        assert_same_streams(found, expected, spec, whole)
    else:
        assert_same_arrivals(found, expected, spec)


def outcome_code(spec: wex.Spec, table: pa.Table) -> str | None:
    return getattr(outcome(wex.find, spec, table), "code", None)


def _in_batches(spec: wex.Spec, whole: pa.Table, data: st.DataObject) -> pa.Table:
    """Feed a bucket in batches of any order, then advance the watermark in steps."""
    engine, rules = engine_of(spec), Rules(expire_after=2**60)
    rows = data.draw(st.permutations(range(whole.num_rows)), label="order")
    bucket, found = Bucket.of(engine, rules), []
    while rows:
        count = data.draw(st.integers(1, len(rows)), label="rows")
        found.append(bucket.arrive(whole.take(pa.array(rows[:count])), 0))
        rows = rows[count:]
        bucket = Bucket.of(engine, rules, bucket.saved())
    times = pc.cast(whole["ts"], pa.int64()).to_pylist()
    steps = data.draw(st.lists(st.sampled_from(times)) if times else st.just([]), label="steps")
    for at in (*sorted(at for at in steps if at > 0), 2**62):
        found.append(bucket.advance(at))
        bucket = Bucket.of(engine, rules, bucket.saved())
    empty = wex.find(spec, whole.slice(0, 0))
    parts = [windows.cast(empty.schema) for windows in found if windows.num_rows]
    return pa.concat_tables([empty, *parts]).combine_chunks()


@given(st.sampled_from(OLD), st.lists(events, min_size=1, max_size=40), st.sets(st.integers(0, 99)))
def test_starts_grow_old_in_silence(
    text: str, rows: list[tuple[str, int, int]], times: set[int]
) -> None:
    """What no event to come can end is dropped when the watermark says so, and nothing else."""
    spec = wex.parse(HEAD + text)
    engine = engine_of(spec)
    bucket = Bucket.of(engine, Rules())
    found = [bucket.arrive(table(rows), microseconds(-1))]
    for at in sorted(times):
        found.append(bucket.advance(microseconds(at)))
        following = bucket.next_time()
        assert following is None or following > microseconds(at)
        bucket = Bucket.of(engine, Rules(), bucket.saved())
    last = max(times, default=-1)
    passed = [row for row in rows if row[1] <= last]
    assert spans(found) == reported(passed, spec)
    if last >= 90 and "until" not in text:
        assert bucket.streams.held() == 0


def test_a_window_may_wait_for_the_event_that_follows_it() -> None:
    engine = engine_of(wex.parse(HEAD + OLD[6]))
    bucket = Bucket.of(engine, Rules())
    bucket.arrive(table([("a", 1, 1), ("a", 90, 0)]), microseconds(0))
    assert bucket.advance(microseconds(50)).num_rows == 0
    assert bucket.streams.held() == 1
    assert bucket.advance(microseconds(95)).num_rows == 1


@fewer(2)
@given(st.lists(events, min_size=1, max_size=20), st.sets(st.integers(0, 99)), st.integers(5, 30))
def test_a_long_silence_ends_a_stream(
    rows: list[tuple[str, int, int]], times: set[int], silence: int
) -> None:
    """It does so whatever steps the watermark takes: what comes out depends on the data alone."""
    engine = engine_of(SPEC)
    rules = Rules(expire_after=silence * 1_000_000)
    bucket = Bucket.of(engine, rules)
    found = [bucket.arrive(table(rows), 0)]
    for at in (*sorted(times), 200):
        found.append(bucket.advance(microseconds(at)))
        bucket = Bucket.of(engine, rules, bucket.saved())
    expected = []
    for key in "ab":
        part: list[tuple[str, int, int]] = []
        for row in sorted(row for row in rows if row[0] == key):
            if part and row[1] - part[-1][1] > silence:
                expected.append(wex.find(SPEC, table(part)))
                part = []
            part.append(row)
        if part:
            expected.append(wex.find(SPEC, table(part)))
    assert spans(found) == spans(expected)
    assert bucket.streams.everything().size == 0


def test_moments_are_moments_in_any_zone() -> None:
    engine = engine_of(SPEC)
    bucket = Bucket.of(engine, Rules())
    for at, zone in enumerate(("UTC", "Europe/Berlin", "Asia/Tokyo")):
        rows = table([("a", at, at)])
        column = rows["t"].cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
        bucket.arrive(rows.set_column(1, "t", column), 0)
        bucket = Bucket.of(engine, Rules(), bucket.saved())
    assert bucket.counts.late == 0
    found = spans([bucket.advance(microseconds(9))])
    assert ("a", "rise", 1, 2) in [each[:4] for each in found]
    with pytest.raises(wex.DataError) as caught:
        bucket.arrive(table([("a", 1, 1)]).set_column(1, "t", pa.nulls(1, pa.timestamp("us"))), 0)
    assert caught.value.code == "null-order"


def test_silent_keys_expire() -> None:
    engine = engine_of(SPEC)
    bucket = Bucket.of(engine, Rules(expire_after=30 * 1_000_000))
    bucket.arrive(table([("a", 1, 1), ("a", 2, 0), ("b", 1, 1), ("b", 40, 1)]), microseconds(0))
    assert bucket.next_time() == microseconds(1)
    assert spans([bucket.advance(microseconds(10))]) == []
    (gone,) = spans([bucket.advance(microseconds(45))])
    assert gone[:4] == ("a", "pair", 0, 1)
    assert bucket.streams.everything().size == 1
    again = bucket.arrive(table([("a", 50, 1), ("a", 51, 2)]), microseconds(45))
    assert again.num_rows == 0
    after = bucket.advance(microseconds(60))
    assert [row["start_index"] for row in after.to_pylist() if row["k"] == "a"] == [1]


def test_too_late_or_too_much() -> None:
    engine = engine_of(SPEC)
    strict = Bucket.of(engine, Rules(late="error"))
    with pytest.raises(wex.DataError) as caught:
        strict.arrive(table([("a", 1, 1)]), microseconds(5))
    assert (caught.value.code, caught.value.key) == ("late", ("a",))
    small = Bucket.of(engine_of(wex.parse(HEAD + "match [x > x[-1]]+")), Rules(max_open=2))
    with pytest.raises(wex.WexError) as open_:
        small.run(table([("a", at, at) for at in range(9)]))
    assert open_.value.code == "max-open"


def test_bytes_that_are_no_bucket() -> None:
    engine = engine_of(SPEC)
    with pytest.raises(wex.WexError):
        Bucket.of(engine, Rules(), b"nothing")
    saved = Bucket.of(engine, Rules()).saved()
    other = engine_of(wex.parse(str(SPEC).replace("any{2}", "any{3}")))
    with pytest.raises(wex.StateError) as caught:
        Bucket.of(other, Rules(), saved)
    assert caught.value.code == "state-spec"
    with pytest.raises(wex.StateError) as apart:
        Bucket.of(engine, Rules(buckets=8), saved)
    assert apart.value.code == "state-buckets"
