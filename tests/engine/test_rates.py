"""`assume at most N events in DURATION`: every way to run refuses the event that the definition refuses."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import wex
from tests.engine.ways import FAR
from wex.engine.engine import engine_of
from wex.engine.running_streams import RunningStreams
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.bucket import Bucket, Rules
from wex.errors import DataError
from wex.reference.find import find_by_definition

HEAD = "stream s (k string, ts timestamp, x int) partition by k order by ts "
WINDOWS = " window w match [x > 0] any* [x < 0] within 5 seconds"
START = datetime(2026, 1, 1)
Rows = list[tuple[str, int, int]]  # key, seconds, x
rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 12), st.integers(-1, 1)), max_size=14
)
limits = st.lists(
    st.tuples(st.integers(1, 4), st.integers(1, 6), st.sampled_from(["", "", " unchecked"])),
    min_size=1,
    max_size=2,
)


def spec_of(limits: list[tuple[int, int, str]], more: str = "") -> wex.Spec:
    written = [f"assume at most {n} events in {d} seconds{flag}" for n, d, flag in limits]
    return wex.parse(HEAD + " ".join(written) + more + WINDOWS)


def table(found: Rows) -> pa.Table:
    keys, seconds, values = zip(*found, strict=True) if found else ((), (), ())
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "ts": pa.array([START + timedelta(seconds=at) for at in seconds], pa.timestamp("us")),
            "x": pa.array(values, pa.int64()),
        }
    )


def outcome(run: object, *arguments: object) -> object:
    try:
        return run(*arguments).to_pylist()  # type: ignore[operator]
    except DataError as error:
        return (error.code, error.message, error.hint, error.key, error.position)


@given(
    limits, rows, st.sampled_from(["", " assume [x != x[-1]]*", " assume [ts < ts[-3]]* unchecked"])
)
def test_find_is_the_definition(limits: list[tuple[int, int, str]], found: Rows, more: str) -> None:
    spec = spec_of(limits, more)
    expected = outcome(find_by_definition, spec, table(found))
    event("refused" if isinstance(expected, tuple) else "accepted")
    assert outcome(wex.find, spec, table(found)) == expected


@given(limits, rows)
def test_a_rate_is_that_of_every_interval(limits: list[tuple[int, int, str]], found: Rows) -> None:
    """Straight from the text of the definition: no half-open interval has more events."""
    checked = [(n, d) for n, d, flag in limits if not flag]
    by_key = [[at for k, at, _ in found if k == key] for key in "ab"]
    fits = all(
        sum(begin <= at < begin + d for at in times) <= n
        for n, d in checked
        for times in by_key
        for begin in range(-6, 13)
    )
    assert isinstance(outcome(wex.find, spec_of(limits), table(found)), list) == fits


@given(limits, rows, st.lists(st.integers(0, 14)))
def test_batches_and_saved_states_change_nothing(
    limits: list[tuple[int, int, str]], found: Rows, cuts: list[int]
) -> None:
    """A stream is cut anywhere; the processor and the scan find what `find` finds, or the same fault."""
    spec = spec_of(limits)
    ordered = table(sorted(found))
    expected = outcome(wex.find, spec, ordered)
    borders = sorted({0, len(found), *(cut for cut in cuts if cut < len(found))})

    def processed() -> pa.Table:
        processor, parts = wex.Processor(spec), []
        for begin, end in pairwise(borders):
            parts.append(processor.feed(ordered.slice(begin, end - begin)))
            processor = wex.Processor.restore(spec, processor.state())
        return pa.concat_tables([*parts, processor.close()])

    def scanned() -> pa.Table:
        scan = SortedScan(engine_of(spec))
        parts = [scan.feed(ordered.slice(begin, end - begin)) for begin, end in pairwise(borders)]
        last = scan.close()
        return pa.concat_tables(
            [wex.find(spec, table([])), *parts, *([] if last is None else [last])]
        )

    for run in (processed, scanned):
        ours = outcome(run)
        if isinstance(expected, tuple):
            assert ours == expected
        else:
            assert sorted(map(str, ours)) == sorted(map(str, expected))  # type: ignore[call-overload]


@given(limits, rows, st.sets(st.integers(1, 12)), st.integers(2, 12))
def test_bad_events_are_left_out_one_by_one(
    limits: list[tuple[int, int, str]], found: Rows, steps: set[int], silence: int
) -> None:
    """An event too many is skipped; the next one is asked together with those that remain."""
    spec = spec_of(limits)
    engine = engine_of(spec)
    rules = Rules(expire_after=silence * 1_000_000, bad_rows="skip")
    bucket = Bucket.of(engine, rules)
    parts, bad = [bucket.arrive(table(found), 0)], bucket.row_filter.count
    epoch = (START - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    for step in [*(epoch + at * 1_000_000 for at in sorted(steps)), FAR]:
        parts.append(bucket.advance(step))
        bad += bucket.row_filter.count
        bucket = Bucket.of(engine, rules, bucket.saved())
    expected, left = [], 0
    for key in "ab":
        stream: Rows = []
        for row in sorted(row for row in found if row[0] == key):
            if stream and row[1] - stream[-1][1] > silence:
                expected += wex.find(spec, table(stream)).to_pylist()
                stream = []
            if isinstance(outcome(wex.find, spec, table([*stream, row])), list):
                stream.append(row)
                left += 1
        expected += wex.find(spec, table(stream)).to_pylist()
    ours = [row for part in parts for row in part.to_pylist()]
    names = ["k", "start_index", "end_index"]
    assert sorted([row[name] for name in names] for row in ours) == sorted(
        [row[name] for name in names] for row in expected
    )
    assert bad == len(found) - left


@pytest.mark.parametrize(
    ("seconds", "position"),
    [([0, 1, 2], None), ([0, 1, 1.999999], 2), ([0, 0, 0], 2), ([0, 0, 2, 2, 3], 4)],
)
def test_the_interval_is_half_open(seconds: list[float], position: int | None) -> None:
    spec = wex.parse(
        "stream s (ts timestamp) order by ts assume at most 2 events in 2 seconds window w match any"
    )
    times = [START + timedelta(seconds=at) for at in seconds]
    for run in (find_by_definition, wex.find):
        try:
            run(spec, {"ts": times})
        except DataError as error:
            assert (error.code, error.position) == ("assumption", position)
            assert (
                error.message
                == "the stream does not conform to assume at most 2 events in 2 seconds"
            )
        else:
            assert position is None


def test_times_that_differ_by_more_than_63_bits() -> None:
    spec = wex.parse(
        "stream s (ts timestamp) order by ts assume at most 1 event in 1 second window w match any"
    )
    times = pa.array([-(2**63) + 1, 2**63 - 1], pa.int64()).cast(pa.timestamp("us"))
    assert wex.find(spec, pa.table({"ts": times})).num_rows == 2


def test_a_state_keeps_the_times_that_matter() -> None:
    """At most N of them, and none that is a duration before the last event."""
    spec = wex.parse(HEAD + "assume at most 100 events in 10 seconds" + WINDOWS)
    streams = RunningStreams(engine_of(spec))
    kept = []
    for at in range(0, 60, 3):
        streams.feed(table([("a", at, 0)]))
        kept.append(streams.everything().lists["rates"].num_rows)
    assert max(kept) == 4
