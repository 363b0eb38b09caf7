"""Types of columns: NULLs alone fix none, and what Arrow cannot put in order is converted or told."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from wex.engine.engine import engine_of
from wex.engine.input.columns import conform
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.bucket import Bucket, Rules
from wex.engine.workers import Workers
from wex.spec.types import STRING

SPEC = wex.parse("""
  stream s (t int, at timestamp, seen timestamp, v other, x int, name string, ok bool, d date, e enum('a', 'b'), y real)
    order by t
  window w match any{3} measure first(at) as f, last(seen) as l, collect(v) as all, first(v) as v, last(v) as w,
    min(at) as lo, max_by(seen, t) as m, count_distinct(name) as n, sum(x) as s, collect(d) as days, min_by(e, t) as e
  window z match any+ until [t = 5] or end keep longest measure collect(v) as all, first(v[-1]) as v, count(v) as c
""")
MOMENT = datetime(2026, 1, 31, tzinfo=UTC)
TYPED = {
    "at": pa.timestamp("us", "UTC"), "seen": pa.timestamp("ms", "UTC"), "v": pa.list_(pa.int64()), "x": pa.int64(),
    "name": pa.string(), "ok": pa.bool_(), "d": pa.date32(), "e": pa.string(), "y": pa.float64(),
}  # fmt: skip
VALUES = {
    "at": MOMENT, "seen": MOMENT, "v": [1, 2], "x": 3, "name": "n", "ok": True, "d": MOMENT.date(), "e": "a", "y": 1.5,
}  # fmt: skip


def batch(time: int, known: set[str], untyped: bool) -> pa.Table:
    """Return one event; what is not known is NULL, of its type or without one."""
    columns = {"t": pa.array([time], pa.int64())}
    for name, type_ in TYPED.items():
        if name in known:
            columns[name] = pa.array([VALUES[name]], type_)
        else:
            columns[name] = pa.nulls(1, pa.null() if untyped else type_)
    return pa.table(columns)


batches = st.lists(st.tuples(st.sets(st.sampled_from(list(TYPED))), st.booleans()), max_size=7)


@given(batches, st.booleans())
def test_a_column_of_nulls_does_not_fix_a_type(
    rows: list[tuple[set[str], bool]], save: bool
) -> None:
    """Pieces of which some have columns without a type give what typed ones give."""
    known = [each for each, _ in rows]
    processor, found = wex.Processor(SPEC), []
    for time, (values, untyped) in enumerate(rows):
        found.append(processor.feed(batch(time, values, untyped)))
        if save:
            processor = wex.Processor.restore(SPEC, processor.state())
    found.append(processor.close())
    typed = wex.Processor(SPEC)
    expected = [typed.feed(batch(time, each, untyped=False)) for time, each in enumerate(known)]
    expected.append(typed.close())
    for one, two in zip(found, expected, strict=True):
        assert one.to_pylist() == two.to_pylist()


LATER = [
    pa.array([[1]]), pa.array(["text"]), pa.array([{"a": 1}]), pa.array([b"bytes"]), pa.array(["a"]).dictionary_encode(),
    pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())), pa.array([b"u" * 16], pa.uuid()), pa.array([1]),
]  # fmt: skip


@pytest.mark.parametrize("column", LATER, ids=[str(each.type) for each in LATER])
def test_any_type_may_come_later(column: pa.Array) -> None:
    spec = wex.parse(
        "stream s (v other) window w match any{3} measure last(v) as l, collect(v) as c"
    )
    processor, value = wex.Processor(spec), column.to_pylist()
    processor.feed({"v": pa.nulls(2)})
    processor = wex.Processor.restore(spec, processor.state())
    found = processor.feed({"v": column})
    assert found["l"].type == column.type
    assert (found["l"].to_pylist(), found["c"].to_pylist()) == (value, [value])
    again = wex.Processor.restore(spec, processor.state()).feed({"v": pa.nulls(1)})
    assert (again["l"].to_pylist(), again["c"].to_pylist()) == (value, [value])
    with pytest.raises(wex.DataError, match="earlier batches had"):
        processor.feed({"v": [1.5]})


def test_a_batch_that_is_refused_fixes_nothing() -> None:
    spec = wex.parse("stream s (x int, v other) window w match [x > 0]{2} measure last(v) as v")
    processor = wex.Processor(spec)
    processor.feed({"x": [1], "v": pa.nulls(1)})
    with pytest.raises(wex.DataError):
        processor.feed({"x": [None], "v": [[1]]})
    assert processor.feed({"x": [1], "v": ["text"]})["v"].to_pylist() == ["text"]


def test_keys_of_nulls_take_a_zone() -> None:
    spec = wex.parse(
        "stream s (k timestamp, x int) partition by k window w match any{2} measure sum(x) as s"
    )
    processor = wex.Processor(spec)
    processor.feed({"k": pa.nulls(1), "x": [1]})
    processor = wex.Processor.restore(spec, processor.state())
    found = processor.feed({"k": pa.array([MOMENT, None], pa.timestamp("us", "UTC")), "x": [5, 2]})
    assert found.select(["k", "s"]).to_pylist() == [{"k": None, "s": 3}]
    assert found["k"].type.tz == "UTC"


def test_zones_still_do_not_mix() -> None:
    spec = wex.parse("stream s (t timestamp) window w match any{2}")
    processor = wex.Processor(spec)
    processor.feed({"t": pa.nulls(1)})
    processor.feed({"t": pa.array([MOMENT], pa.timestamp("us", "UTC"))})
    with pytest.raises(wex.DataError, match="earlier batches had"):
        processor.feed({"t": pa.array([0], pa.timestamp("us"))})


def test_buckets_and_sweeps_take_types_later() -> None:
    text = "stream s (k string, t timestamp, v other) partition by k order by t window w match any+ until [false] or end"
    spec = wex.parse(text + " keep longest measure collect(v) as c")
    engine = engine_of(spec)

    def rows(second: int, value: pa.Array) -> pa.Table:
        time = pa.array([second * 1_000_000], pa.timestamp("us", "UTC"))
        return pa.table({"k": ["a"], "t": time, "v": value})

    pieces = [
        rows(1, pa.nulls(1)),
        rows(2, pa.array([[1]])),
        rows(3, pa.nulls(1)),
        rows(90, pa.nulls(1)),
    ]
    rules = Rules(expire_after=30_000_000)
    for late_watermark in (False, True):
        bucket, found = Bucket.of(engine, rules), []
        for at, piece in enumerate(pieces):
            found.append(bucket.arrive(piece, 0 if late_watermark else at * 1_000_000))
            bucket = Bucket.of(engine, rules, bucket.saved())
        found.append(bucket.advance(200_000_000))
        assert [row["c"] for each in found for row in each.to_pylist()] == [[[1]], []]
    unordered = Bucket.of(engine, Rules())
    for piece in pieces:
        unordered.run(piece)
        unordered = Bucket.of(engine, Rules(), unordered.saved())
    sweep = SortedScan(engine)
    for piece in pieces:
        sweep.feed(piece)
    last = sweep.close()
    assert last is not None
    assert last["c"].to_pylist() == [[[1]]]


# --- Types that Arrow cannot put in order

OTHER = wex.parse(
    "stream s (t int, v other) order by t window w match any{2} measure first(v) as f, collect(v) as c"
)
VIEWS = [
    (pa.array([b"a", b"b" * 20, None], pa.binary_view()), pa.binary()),
    (pa.array(["a", "b" * 20, None], pa.string_view()), pa.string()),
    (pa.array([{"a": b"x"}, None, {"a": b"y"}], pa.struct([("a", pa.binary_view())])), pa.struct([("a", pa.binary())])),
    (pa.array([["x"], None, ["y"]], pa.list_(pa.string_view())), pa.list_(pa.string())),
    (pa.array([[("a", 1)], None, []], pa.map_(pa.string_view(), pa.int64())), pa.map_(pa.string(), pa.int64())),
    (pa.array([[1], [2, 3], None], pa.list_view(pa.int64())), pa.list_view(pa.int64())),
    (pc.run_end_encode(pa.array([1, 1, None])), pa.int64()),
]  # fmt: skip


@pytest.mark.parametrize(("column", "type_"), VIEWS, ids=[str(each.type) for each, _ in VIEWS])
def test_views_and_runs_become_plain(column: pa.Array, type_: pa.DataType) -> None:
    times, values = [3, 1, 2], column.to_pylist()
    found = wex.find(OTHER, pa.table({"t": times, "v": column}))
    ordered = [values[1], values[2], values[0]]
    firsts = [next((each for each in pair if each is not None), None) for pair in pairwise(ordered)]
    assert found["f"].type == type_
    assert found["f"].to_pylist() == firsts
    processor, parts = wex.Processor(OTHER), []
    for at in range(3):
        parts.append(processor.feed(pa.table({"t": [at], "v": column.slice(at, 1)})))
        processor = wex.Processor.restore(OTHER, processor.state())
    in_order = [next((e for e in pair if e is not None), None) for pair in pairwise(values)]
    assert pa.concat_tables(parts)["f"].to_pylist() == in_order


def test_what_cannot_be_converted_is_told() -> None:
    runs = pc.run_end_encode(pa.array([1, 1]))
    column = pa.StructArray.from_arrays([runs], ["a"])
    with pytest.raises(wex.DataError) as caught:
        wex.find(OTHER, pa.table({"t": [2, 1], "v": column}))
    assert (caught.value.code, caught.value.column) == ("wrong-column-type", "v")


@pytest.mark.parametrize("chunks", [1, 3])
def test_the_error_about_a_text_does_not_depend_on_threads(chunks: int) -> None:
    raw = pa.array([b"a"] * 7 + [b"\xff"] + [b"a"] * 4).view(pa.string())
    size = len(raw) // chunks
    column = pa.chunked_array([raw.slice(size * at, size) for at in range(chunks)])
    errors = []
    for workers in (Workers(1), Workers(2)):
        with pytest.raises(wex.DataError) as caught:
            conform(pa.table({"s": column}), {"s": STRING}, (), workers)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]
    assert "7" in errors[0] if chunks == 1 else "chunk 1" in errors[0]
