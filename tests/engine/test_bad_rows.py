"""Bad rows are not part of their streams: what is found is what there is without them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same_streams, outcome
from tests.strategies import streams
from tests.strategies.specs import pair_specs
from wex.engine.engine import engine_of
from wex.engine.input.bad_rows import CORRUPT, BadRowFilter, BadRows
from wex.engine.input.prepare import PreparedInput
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.bucket import Bucket, Rules
from wex.reference.find import find_by_definition
from wex.spark.dead_letters import DeadLetters
from wex.theory.evaluate import Event

# Rows of which many are bad: NULL, NaN, a text that no enum lists, numbers that overflow.
bad_events = st.lists(
    st.one_of(
        streams.events,
        streams.gappy_events,
        streams.events.map(lambda event: {**event, "side": "elsewhere"}),
        streams.events.map(lambda event: {**event, "n": 2**63 - 1, "x": float("inf")}),
        streams.events.map(lambda event: {**event, "m": -(2**63), "y": float("inf")}),
    ),
    max_size=9,
)


def remaining(spec: wex.Spec, events: list[Event]) -> pa.Table:
    """Return the rows that remain by the definition: each is tried behind those before it."""
    kept = [event for event in events if sole_fault(spec, event) is None]
    ordered = (
        PreparedInput(engine_of(spec), streams.table(kept)).table if kept else streams.table([])
    )
    rows: list[int] = []
    bare = without_measures(spec)
    for row in range(ordered.num_rows):
        try:
            find_by_definition(bare, ordered.take(pa.array([*rows, row])))
        except wex.DataError as error:
            assert error.code in ("arithmetic", "assumption")
        else:
            rows.append(row)
    return ordered.take(pa.array(rows, pa.int64()))


def sole_fault(spec: wex.Spec, event: Event) -> str | None:
    """Return what is wrong with a row by itself: a code, or None."""
    try:
        find_by_definition(without_measures(spec), streams.table([event]))
    except wex.DataError as error:
        return None if error.code in ("arithmetic", "assumption") else error.code
    return None


def without_measures(spec: wex.Spec) -> wex.Spec:
    """Return a spec whose guards can fail, and whose measures cannot."""
    windows = tuple(replace(each, measures=(), having=None) for each in spec.windows)
    return replace(spec, windows=windows, source=None)


@given(pair_specs, bad_events, st.integers(1, 5))
def test_a_sweep_finds_what_there_is_without_them(
    spec: wex.Spec, events: list[Event], size: int
) -> None:
    """In a batch job, whatever pieces its rows come in."""
    rest, row_filter = remaining(spec, events), BadRowFilter(engine_of(spec), "divert")
    expected = outcome(wex.find, spec, rest)
    assert_same_streams(outcome(swept, spec, row_filter, events, size), expected, spec, rest)
    if isinstance(expected, wex.DataError):  # a fault of a measure, which has no row to blame
        return
    dropped = len(events) - rest.num_rows
    assert row_filter.count == len(row_filter.lines) == dropped - skipped(spec, events)
    for line in row_filter.lines:
        assert list(json.loads(line)) == ["code", "message", "column", "row"]


def swept(spec: wex.Spec, row_filter: BadRowFilter, events: list[Event], size: int) -> pa.Table:
    """Return the windows of a sorted scan in pieces, without the bad rows."""
    sweep, table = SortedScan(row_filter.engine), row_filter.without_bad_rows(streams.table(events))
    ordered = PreparedInput(row_filter.engine, table).table if table.num_rows else table
    parts = [wex.find(spec, streams.table([]))]
    for begin in range(0, ordered.num_rows, size):
        windows, _ = row_filter.feed_good_rows(sweep.feed, sweep.recall, ordered.slice(begin, size))
        parts.append(windows)
    last = sweep.close()
    return pa.concat_tables([*parts, *([] if last is None else [last])]).combine_chunks()


def skipped(spec: wex.Spec, events: list[Event]) -> int:
    """Return how many rows `nulls skip` leaves out: these are not bad."""
    engine = engine_of(spec)
    table = BadRowFilter(engine, "skip").without_bad_rows(streams.table(events))
    return int(table.num_rows) - (
        PreparedInput(engine, table).table.num_rows if table.num_rows else 0
    )


@given(pair_specs, bad_events, st.data())
def test_a_bucket_finds_what_there_is_without_them(
    spec: wex.Spec, events: list[Event], data: st.DataObject
) -> None:
    """In an endless job, in whatever batches they come and whatever steps the watermark takes."""
    rest = remaining(spec, events)
    expected = outcome(wex.find, spec, rest)
    found = outcome(in_batches, spec, events, data, rest)
    assert_same_streams(found, expected, spec, rest)


def in_batches(
    spec: wex.Spec, events: list[Event], data: st.DataObject, rest: pa.Table
) -> pa.Table:
    """Return the windows of a bucket that drops bad rows, and check how many it has dropped."""
    whole, engine = streams.table(events), engine_of(spec)
    rules = Rules(expire_after=2**60, bad_rows="skip")
    rows = data.draw(st.permutations(range(whole.num_rows)), label="order")
    bucket, found, bad = Bucket.of(engine, rules), [], 0
    while rows:
        count = data.draw(st.integers(1, len(rows)), label="rows")
        found.append(bucket.arrive(whole.take(pa.array(rows[:count])), 0))
        rows, bad = rows[count:], bad + bucket.row_filter.count
        bucket = Bucket.of(engine, rules, bucket.saved())
    times = pc.cast(whole["ts"], pa.int64()).drop_null().to_pylist()
    steps = data.draw(st.lists(st.sampled_from(times)) if times else st.just([]), label="steps")
    for at in (*sorted(at for at in steps if at > 0), 2**62):
        found.append(bucket.advance(at))
        bad += bucket.row_filter.count
        bucket = Bucket.of(engine, rules, bucket.saved())
    assert bad == len(events) - rest.num_rows - skipped(spec, events)
    empty = wex.find(spec, streams.table([]))
    parts = [windows.cast(empty.schema) for windows in found if windows.num_rows]
    return pa.concat_tables([empty, *parts]).combine_chunks()


# --- Events that fail in their stream

HEAD = "stream s (k string, t timestamp, x int) partition by k order by t "
STEPS = wex.parse(
    HEAD + "assume [x != 3]* window w match [x - x[-1] > 0]+ keep longest measure count() as n"
    " window all after () match any+ until [false] or end keep longest measure count() as n"
)
START = datetime(2026, 1, 31)
FAR = 2**62 + 2**61
some_rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 60), st.sampled_from([0, 1, 2, 3, FAR, -FAR])),
    max_size=14,
)


def table(rows: list[tuple[str, int, int]]) -> pa.Table:
    keys, times, values = zip(*rows, strict=True) if rows else ((), (), ())
    moments = [START + timedelta(seconds=at) for at in times]
    types = [pa.string(), pa.timestamp("us"), pa.int64()]
    return pa.table([pa.array(each, type_) for each, type_ in zip((keys, moments, values), types, strict=True)],
                    names=["k", "t", "x"])  # fmt: skip


def microseconds(seconds: int) -> int:
    return (START - datetime(1970, 1, 1)) // timedelta(microseconds=1) + seconds * 1_000_000


@given(some_rows, st.sets(st.integers(0, 99)), st.integers(5, 30))
def test_silences_are_counted_between_the_events_that_remain(
    rows: list[tuple[str, int, int]], times: set[int], silence: int
) -> None:
    engine = engine_of(STEPS)
    rules = Rules(expire_after=silence * 1_000_000, bad_rows="skip")
    bucket = Bucket.of(engine, rules)
    found, bad = [bucket.arrive(table(rows), 0)], bucket.row_filter.count
    for at in (*sorted(times), 200):
        found.append(bucket.advance(microseconds(at)))
        bad += bucket.row_filter.count
        bucket = Bucket.of(engine, rules, bucket.saved())
    expected, left = [], 0
    for key in "ab":
        part: list[tuple[str, int, int]] = []
        for row in sorted(row for row in rows if row[0] == key):
            if part and row[1] - part[-1][1] > silence:
                expected.append(wex.find(STEPS, table(part)))
                part = []
            try:
                wex.find(STEPS, table([*part, row]))
            except wex.DataError:
                continue
            part.append(row)
            left += 1
        if part:
            expected.append(wex.find(STEPS, table(part)))
    names = ["k", "window_name", "start_index", "end_index", "n"]
    ours, theirs = (
        sorted(tuple(row[each] for each in names) for part in all_ for row in part.to_pylist())
        for all_ in (found, expected)
    )
    assert ours == theirs
    assert bad == len(rows) - left
    assert bucket.streams.everything().size == 0


def test_many_in_a_row_cost_little() -> None:
    """Each fault is looked for near the one before: no pass over the whole stream for each."""
    rows = [("a", at, -FAR if at % 70 else FAR) for at in range(5_000)]
    rows += [("b", at, 1) for at in range(20_000)]
    engine = engine_of(STEPS)
    bucket = Bucket.of(engine, Rules(bad_rows="divert"))
    looks = 0
    check = engine.check

    def counted(batch: object, promise: object) -> object:
        nonlocal looks
        looks += batch.rows  # type: ignore[attr-defined]
        return check(batch, promise)  # type: ignore[arg-type]

    engine.check = counted  # type: ignore[assignment,method-assign]
    try:
        bucket.run(table(rows))
    finally:
        del engine.check
    assert bucket.counts.processed + bucket.row_filter.count == len(rows)
    assert bucket.row_filter.count > 4_000
    assert looks < 200 * bucket.row_filter.count + 20 * len(rows)


# --- Rows that are wrong by themselves


def filtered(text: str, data: dict[str, object], choice: BadRows = "divert") -> tuple[pa.Table, list[dict[str, object]]]:  # fmt: skip
    row_filter = BadRowFilter(engine_of(wex.parse(text)), choice)
    left = row_filter.without_bad_rows(pa.table(data))
    assert row_filter.count == pa.table(data).num_rows - left.num_rows
    return left, [json.loads(line) for line in row_filter.lines]


@pytest.mark.parametrize(
    ("type_", "values", "code"),
    [
        ("real", pa.array([1, 2**53 + 1]), "wrong-value"),
        ("timestamp", pa.array([1000, 1500], pa.timestamp("ns")), "sub-microsecond"),
        ("timestamp", pa.array([1, 2**60], pa.timestamp("s")), "timestamp-range"),
        ("date", pa.array([86_400_000, 5], pa.int64()).cast(pa.date64()), "wrong-value"),
        ("enum('a', 'b')", pa.array(["a", "c"]), "enum-value"),
        ("enum('a', 'b')", pa.array(["a", "c"]).dictionary_encode(), "enum-value"),
        ("string", pa.array([b"a", b"\xff"]).view(pa.string()), "wrong-value"),
    ],
)
def test_values_that_do_not_fit(type_: str, values: pa.Array, code: str) -> None:
    text = f"stream s (n int, v {type_}) order by n window w match [n > 0]"
    left, told = filtered(text, {"n": [7, 8], "v": values})
    assert left["n"].to_pylist() == [7]
    (line,) = told
    assert (line["code"], line["column"]) == (code, "v")
    assert line["row"]["n"] == 8  # type: ignore[index]
    assert line["message"]
    with pytest.raises(wex.DataError) as caught:
        filtered(text, {"n": [7, 8], "v": values}, "fail")
    assert caught.value.code == code


def test_no_value_to_order_or_to_decide_by() -> None:
    text = "stream s (k string, t real, x real, y real) partition by k order by t window w match [x > 0]"
    nan = float("nan")
    data: dict[str, object] = {
        "k": ["a", "b", None, "d", "e"],
        "t": [1.0, nan, None, 4.0, 5.0],
        "x": [1.0, 2.0, 3.0, nan, None],
        "y": [nan, None, 1.0, 1.0, float("inf")],
    }
    left, told = filtered(text, data)
    assert left["k"].to_pylist() == ["a"]
    assert [(each["code"], each["column"]) for each in told] == [
        ("null-order", "t"), ("null-order", "t"), ("null", "x"), ("null", "x"),
    ]  # fmt: skip
    assert told[0]["row"] == {"k": "b", "t": "NaN", "x": 2.0, "y": None}
    assert told[3]["row"]["y"] == "Infinity"  # type: ignore[index]
    skip = text.replace("order by t", "order by t nulls skip")
    left, told = filtered(skip, data)
    assert [each["code"] for each in told] == ["null-order", "null-order"]
    assert left.num_rows == 3


def test_rows_that_could_not_be_read() -> None:
    text = "stream s (k string, x int) order by x window w match any"
    long = '{"k": "a", "x": ' + "1" * 200
    data: dict[str, object] = {
        "k": ["a", None, "b", None],
        "x": pa.array([1, None, None, None], pa.int64()),
        "_corrupt_record": [None, long, '{"k": "b", "x": "oops"}', "[1, 2"],
    }
    left, told = filtered(text, data)
    assert left.to_pylist() == [{"k": "a", "x": 1}]
    half, value, other = told
    assert (half["code"], half["column"], half["row"]) == ("malformed", None, long)
    assert "..." in str(half["message"])
    assert (value["code"], value["column"]) == ("wrong-value", "x")
    assert (value["message"], value["row"]) == (
        "'oops' is not a value of type int",
        {"k": "b", "x": "oops"},
    )
    assert other["row"] == "[1, 2"
    with pytest.raises(wex.DataError) as caught:
        filtered(text, data, "fail")
    assert caught.value.code == "malformed"
    assert '{"k": "a"' in caught.value.message


def test_what_is_wrong_with_a_column_is_no_bad_row() -> None:
    with pytest.raises(wex.DataError) as caught:
        filtered("stream s (x int) order by x window w match any", {"y": [1]})
    assert caught.value.code == "missing-column"


def test_poison_in_the_state_of_an_earlier_run_comes_out_when_it_is_due() -> None:
    """It went in where it could not be seen: its fault is one of its stream."""
    engine = engine_of(STEPS)
    strict = Bucket.of(engine, Rules())
    strict.arrive(table([("a", 1, FAR), ("a", 2, -FAR), ("a", 3, FAR + 1)]), microseconds(0))
    saved = strict.saved()
    with pytest.raises(wex.DataError):
        strict.advance(microseconds(9))
    going = Bucket.of(engine, Rules(bad_rows="divert"), saved)
    found = going.advance(microseconds(9))
    assert [(row["start_index"], row["end_index"]) for row in found.to_pylist()] == [(1, 1)]
    (line,) = going.row_filter.lines
    assert json.loads(line)["row"] == {"k": "a", "t": "2026-01-31T00:00:02", "x": -FAR}


def test_a_poison_row_does_not_get_into_the_state() -> None:
    engine = engine_of(STEPS)
    bucket = Bucket.of(engine, Rules())
    rows = table([("a", 1, 1), ("a", 2, 2)])
    poison = rows.set_column(2, "x", pa.array([1, None], pa.int64()))
    with pytest.raises(wex.DataError) as caught:
        bucket.arrive(poison, microseconds(0))
    assert (caught.value.code, caught.value.key) == ("null", ("a",))
    assert bucket.waiting is None


@pytest.mark.parametrize("value", ["1e999", "12345678901234567890.5", '"\\ud83d"', "NaN", '"ä"'])
def test_any_text_becomes_a_dead_letter(value: str, tmp_path: Path) -> None:
    text = f'{{"k": "a", "x": {value}}}'
    rows = pa.table({"k": ["a"], "t": [None], "x": [None], CORRUPT: [text]})
    row_filter = BadRowFilter(engine_of(STEPS), "divert")
    assert row_filter.without_corrupt(rows).num_rows == 0
    DeadLetters(str(tmp_path)).write("w", row_filter.lines)
    (line,) = (tmp_path / "w.jsonl").read_text().splitlines()
    assert list(json.loads(line)) == ["code", "message", "column", "row"]
    assert value == "NaN" or f'"row": {text}' in line


def test_what_is_given_up_leaves_nothing_behind(tmp_path: Path) -> None:
    file = DeadLetters(str(tmp_path)).new_file("w")
    file.add(["{}"])
    file.abort()
    assert list(tmp_path.iterdir()) == []
