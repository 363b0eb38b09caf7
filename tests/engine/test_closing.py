"""Time closes windows: the watermark reports what no event to come can change, and nothing twice."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.tables import START, microseconds, table
from tests.engine.test_bucket import HEAD, events, spans
from wex.engine.engine import engine_of
from wex.engine.streaming.bucket import Bucket, Rules

GAP = "t - t[-1] > 7 seconds"
LATE = "t - first(t) > 9 seconds"
BY_THE_CLOCK = [  # the event that `until` waits for, or that ends all better ways, is known by its time
    "sessions gap 7 seconds measure count() as n, sum(x) as total",
    "sessions gap 7 seconds at most 9 seconds measure count() as n, sum(x) as total",
    "runs of floor(t, 10 seconds) measure sum(x) as total",
    "runs of floor(t, 10 seconds, 3 seconds), year(t)",
    f"match [x > 0] [not {GAP}]* until [{GAP}] or end measure sum(x) as total",
    f"match [x > 0] any* until [{GAP}] or end keep shortest measure sum(x) as total",
    f"match [x > 0] any* until [{GAP} and x[-1] > 1] or end keep longest measure sum(x) as total",
    f"match [x > 0]+ until [{GAP} or x[-1] > 2 and t[-1] - t[-2] > 3 seconds] or end keep disjoint",
    "match [x > 0] any* until [not t <= t[-1] + 7 seconds] or end within 20 seconds measure sum(x) as total",
    "match [x > 0] any* until [2 * (t[-1] - t) < -9 seconds] or end within 3 events",
    f"match [x > 0] any* until [{GAP}] or end keep shortest measure sum(x) as total having total > 3",
    f"match [x > 0] any* until [{GAP}] or end keep longest measure sum(x) as total having total > 3",
    f"match [x > 0] any* until [{GAP}] or end keep disjoint measure sum(x) as total having total > 3",
    "match any{2} until [true] or end measure sum(x) as total",
    "match any{2} until [is_first[-2]] or end measure sum(x) as total",
    f"match [x > 0] any* until [{LATE}] or end measure sum(x) as total",
    f"match [x > 0] [x < 4 and not {LATE}]* until [{LATE}] or end keep longest measure sum(x) as total",
    f"match [x > 0] [x < 4]* until [{LATE} or max(x) > 3] or end keep shortest",
    f"match [x > 0] any* until [{LATE}] or end keep disjoint measure sum(x) as total having total > 3",
    "match any+ until [t - avg(t - t[-1]) filter [x > 1] > max(t)] or end keep longest",
    "match any+ until [t > max(t) + 2 * (last(t) - first(t))] or end keep disjoint",
    f"match [x > 0] [not {GAP}]* keep preferred measure sum(x) as total",
    f"match [x > 0] [not {GAP} and x != 2]* keep leftmost measure sum(x) as total",
    f"match [x > 0] [not {GAP}]*? until [{GAP}] or end keep leftmost sharing 1 event measure sum(x) as total",
    f"match [x > 0] [not {GAP}]* until [{GAP}] or end keep preferred measure sum(x) as total having total > 3",
    f"match any [not {GAP} and not {LATE}]* keep leftmost measure sum(x) as total",
    f"match [x > 0] [x < 3 and not {LATE}]* keep preferred measure sum(x) as total",
    f"match [x > 0] any*? until [{LATE}] or end keep leftmost sharing 1 event",
    f"match [x > 0] l:([not {GAP}]*) keep leftmost resuming at first l measure sum(x) as total",
    f"match any l:([x > 1 and not {GAP}]+) [not {GAP}]* keep leftmost resuming at last l",
]
AND_MORE = [  # other fields of the next event count, too
    "match [x > 0] any* until [x = 0] or end within 9 seconds",
    f"match [x > 0] any* until [{GAP} or x = 0] or end keep disjoint measure sum(x) as total",
    f"match [x > 0] any* until [{GAP} and x > 0] or end keep longest",
    "match [x > 0] any* [x = 3] within 9 seconds keep preferred measure sum(x) as total",
    "match [x > 0] any* [x = 3] within 9 seconds keep leftmost measure sum(x) as total having total > 5",
    f"match [x > 0] any*? [x = 3] until [{GAP}] within 9 seconds keep leftmost",
    f"match [x > 0] any* until [{GAP} or x > 0] or end within 9 seconds keep preferred measure sum(x) as total",
    f"match [x > 0] [not {GAP} or x = 1]* keep leftmost",
    f"match [x > 0] any* until [{LATE} or x = 0] or end keep longest measure sum(x) as total",
    f"match [x > 0] any* until [x > 0 or {LATE} and max(x) > 1] or end keep disjoint",
    f"match [x > 0] [sum(x) < 9]* [x = 3 and not {LATE}] keep leftmost measure sum(x) as total",
]
Rows = list[tuple[str, int, int]]
batches = st.lists(
    st.tuples(st.lists(events, max_size=6), st.integers(0, 9)), min_size=1, max_size=7
)


@given(st.sampled_from(BY_THE_CLOCK + AND_MORE), batches)
def test_the_watermark_reports_what_the_batch_reports(
    text: str, steps: list[tuple[Rows, int]]
) -> None:
    """Each window once, and all of them in the end; whatever comes out early is certain."""
    spec = wex.parse(HEAD + text)
    engine = engine_of(spec)
    bucket, kept, reports, watermark = Bucket.of(engine, Rules()), [], [], 0
    for rows, step in steps:
        kept += [row for row in rows if not watermark or row[1] > watermark]
        at = microseconds(watermark) if watermark else 0
        reports.append(bucket.arrive(table(rows) if rows else None, at))
        following = bucket.next_time()
        assert following is None or following > at or not watermark
        bucket = Bucket.of(engine, Rules(), bucket.saved())
        passed = [row for row in kept if watermark and row[1] <= watermark]
        certain = reported_by_any_event(spec, passed, watermark)
        if text in BY_THE_CLOCK:
            assert spans(reports) == certain
        else:
            assert set(spans(reports)) <= set(certain)
        watermark = max([watermark, *(row[1] - 5 for row in rows)]) + step
    reports.append(bucket.advance(microseconds(200)))
    bucket = Bucket.of(engine, Rules(expire_after=1), bucket.saved())
    reports.append(bucket.advance(microseconds(300)))
    assert spans(reports) == spans([wex.find(spec, table(kept))])


def reported_by_any_event(spec: wex.Spec, rows: Rows, watermark: int) -> list[tuple[object, ...]]:
    """Return the windows that are reported, whichever event comes next after the watermark."""
    counts = {key: sum(row[0] == key for row in rows) for key in "ab"}
    first = START + timedelta(seconds=watermark, microseconds=1)
    certain: list[tuple[object, ...]] | None = None
    for time in (first, first + timedelta(days=3000)):
        for x in (0, 1, 3):
            keys = [key for key in "ab" if counts[key]]
            following = pa.table(
                {"k": pa.array(keys, pa.string()), "t": [time] * len(keys), "x": [x] * len(keys)}
            ).cast(table([]).schema)
            processor = wex.Processor(spec)
            whole = pa.concat_tables([table(sorted(rows)), following])
            windows = [
                window
                for window in spans([processor.feed(whole)])
                if window[3] < counts[window[0]]  # type: ignore[operator, index]
            ]
            certain = windows if certain is None else [row for row in certain if row in windows]
    assert certain is not None
    return certain


def test_an_order_that_is_not_paid_in_time() -> None:
    spec = wex.parse("""
      stream events (id string, kind enum('order', 'paid'), ts timestamp) partition by id order by ts
      window unpaid match [kind = 'order'] [kind != 'paid' and ts - first(ts) <= 1 hour]*
        until [ts - first(ts) > 1 hour] or end""")
    bucket = Bucket.of(engine_of(spec), Rules())
    minutes = {
        "a": [("order", 0)],
        "b": [("order", 1), ("paid", 30)],
        "c": [("order", 2), ("paid", 90)],
    }
    rows = [(key, *event) for key, happened in minutes.items() for event in happened]
    ids, kinds, times = zip(*rows, strict=True)
    at = [START + timedelta(minutes=time) for time in times]
    bucket.arrive(pa.table({"id": ids, "kind": kinds, "ts": at}), 0)
    reports = {
        minute: [row["id"] for row in bucket.advance(microseconds(60 * minute)).to_pylist()]
        for minute in (10, 59, 60, 61, 62, 100)
    }
    assert reports == {10: [], 59: [], 60: ["a"], 61: [], 62: ["c"], 100: []}


def test_a_state_of_an_earlier_version_goes_on() -> None:
    """It has no column for the watermarks that report windows."""
    spec = wex.parse(HEAD + BY_THE_CLOCK[0])
    engine = engine_of(spec)
    processor = wex.Processor(spec)
    processor.feed(table([("a", 1, 1), ("b", 2, 1)]))
    from wex.engine.state.state import State, from_bytes, to_bytes  # noqa: PLC0415

    state = from_bytes(processor.state(), engine.fingerprint)
    lists = {
        name: held.drop_columns("closes") if "closes" in held.column_names else held
        for name, held in state.lists.items()
    }
    assert lists != state.lists
    bucket = Bucket.of(engine, Rules())
    bucket.streams.restore(to_bytes(State(state.streams, lists), engine.fingerprint))
    assert spans([bucket.advance(microseconds(8))]) == [("a", "w", 0, 0, 1, 1)]
