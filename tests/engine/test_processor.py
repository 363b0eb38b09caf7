"""The processor: what it remembers, what it refuses, and that an error loses nothing."""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same
from tests.engine.ways import event_by_event
from wex.engine import short_batches
from wex.engine.engine import Engine, engine_of
from wex.engine.state import store
from wex.engine.state.store import StateStore

SPEC = wex.parse("""
stream s (k string, t int, x real) partition by k order by t
window up match [x > x[-1]]+ until [x <= x[-1]] measure avg(x) as mean, collect(t) as all, count_distinct(x) as d
""")


def rows(*found: tuple[str, int, float | None]) -> pa.Table:
    k, t, x = zip(*found, strict=True)
    return pa.table({"k": k, "t": t, "x": pa.array(x, pa.float64())})


def test_lookback_reaches_into_the_batch_before() -> None:
    processor = wex.Processor(SPEC)
    assert processor.feed(rows(("a", 1, 1.0))).num_rows == 0
    assert processor.feed(rows(("a", 2, 2.0))).num_rows == 0
    found = processor.feed(rows(("a", 3, 1.0)))
    assert found.select(["k", "start_index", "end_index", "window_start", "all"]).to_pylist() == [
        {"k": "a", "start_index": 1, "end_index": 1, "window_start": 2, "all": [2]}
    ]


def test_a_late_event_is_refused_and_loses_nothing() -> None:
    processor = wex.Processor(SPEC)
    processor.feed(rows(("a", 1, 1.0), ("a", 5, 2.0), ("b", 9, 1.0)))
    before = processor.state()
    with pytest.raises(wex.DataError) as caught:
        processor.feed(rows(("a", 4, 3.0), ("b", 10, 2.0)))
    error = caught.value
    assert (error.code, error.column, error.key, error.position) == ("late", "t", ("a",), 2)
    assert processor.state() == before
    # Ties go by the other columns, so an equal time may still be late.
    with pytest.raises(wex.DataError, match="comes after"):
        processor.feed(rows(("a", 5, 1.0)))
    assert processor.feed(rows(("a", 6, 1.0)))["end_index"].to_pylist() == [1]


def test_errors_tell_the_position_in_the_whole_stream() -> None:
    processor = wex.Processor(SPEC)
    processor.feed(rows(("a", 1, 1.0), ("a", 2, 2.0)))
    for bad in (None, float("nan")):
        with pytest.raises(wex.DataError) as caught:
            processor.feed(rows(("a", 3, 3.0), ("a", 4, bad)))
        assert (caught.value.code, caught.value.position) == ("null", 3)
    assert processor.feed(rows(("a", 3, 0.0)))["end_index"].to_pylist() == [1]


def test_a_promise_holds_across_batches() -> None:
    spec = wex.parse("stream s (x int) assume [x >= x[-1]]* window w match any")
    processor = wex.Processor(spec)
    processor.feed({"x": [1, 2]})
    with pytest.raises(wex.DataError) as caught:
        processor.feed({"x": [3, 1]})
    assert (caught.value.code, caught.value.position) == ("assumption", 3)
    with pytest.raises(wex.DataError):
        processor.feed({"x": [1]})
    assert processor.feed({"x": [2]})["start_index"].to_pylist() == [2]


def test_closing_reports_what_the_end_decides_and_forgets() -> None:
    spec = wex.parse(
        "stream s (k int, x int) partition by k window w match [x > 0]+ until [x <= 0] or end"
    )
    processor = wex.Processor(spec)
    processor.feed({"k": [2, 1, 2], "x": [1, 1, 1]})
    found = processor.close()
    assert found.select(["k", "start_index", "end_index"]).to_pylist() == [
        {"k": 1, "start_index": 0, "end_index": 0},
        {"k": 2, "start_index": 0, "end_index": 1},
        {"k": 2, "start_index": 1, "end_index": 1},
    ]
    assert processor.close().num_rows == 0
    assert processor.feed({"k": [2], "x": [1]}).num_rows == 0
    assert processor.close()["start_index"].to_pylist() == [0]


def test_empty_batches_and_no_batches() -> None:
    processor = wex.Processor(SPEC)
    nothing = rows(("a", 1, 1.0)).slice(0, 0)
    assert processor.feed(nothing).num_rows == 0
    assert processor.close().schema == processor.feed(nothing).schema
    assert wex.Processor.restore(SPEC, processor.state()).feed(rows(("a", 1, 1.0))).num_rows == 0


def test_types_stay_as_they_began() -> None:
    spec = wex.parse("stream s (n int, v other) window w match any{2} measure first(v) as f")
    processor = wex.Processor(spec)
    processor.feed({"n": [1], "v": [[1]]})
    with pytest.raises(wex.DataError, match="earlier batches had"):
        processor.feed({"n": [1], "v": ["text"]})
    assert processor.feed({"n": [1], "v": pa.nulls(1)})["f"].to_pylist() == [[1]]


def test_formulas_are_run_in_batches() -> None:
    processor = wex.Processor(wex.parse("stream s (x int) window w where begin + 1 = end"))
    found = [processor.feed({"x": [x]})["start_index"].to_pylist() for x in (1, 2, 3)]
    assert found == [[], [0], [1]]


# --- State


def state() -> bytes:
    processor = wex.Processor(SPEC)
    processor.feed(rows(("a", 1, 1.0), ("a", 2, 2.0), ("b", 1, 2.0)))
    return processor.state()


def test_state_of_another_spec_or_version_and_what_is_no_state() -> None:
    saved = state()
    other = wex.parse(str(SPEC).replace("avg", "sum"))
    cases = {
        "state-spec": (other, saved),
        "state-version": (SPEC, saved[:8] + b"\xff\xff" + saved[10:]),
        "not-state": (SPEC, b"something else"),
        "state-damaged": (SPEC, saved[:-1]),
    }
    for code, (spec, content) in cases.items():
        with pytest.raises(wex.StateError) as caught:
            wex.Processor.restore(spec, content)
        assert caught.value.code == code
    with pytest.raises(wex.StateError):
        wex.Processor.restore(SPEC, None)  # type: ignore[arg-type]


SAVED = state()


@given(st.integers(0, 8 * len(SAVED) - 1))
def test_a_flipped_bit_is_noticed(bit: int) -> None:
    damaged = bytearray(SAVED)
    damaged[bit // 8] ^= 1 << bit % 8
    with pytest.raises(wex.StateError):
        wex.Processor.restore(SPEC, bytes(damaged))


@given(st.integers(0, len(SAVED) - 1))
def test_state_that_is_cut_off_is_noticed(length: int) -> None:
    with pytest.raises(wex.StateError):
        wex.Processor.restore(SPEC, SAVED[:length])


def test_the_state_is_as_large_as_what_is_held() -> None:
    """One start stays open and windows end all the time: neither grows with the stream."""
    spec = wex.parse("""stream s (x real) window w after () match any+
      measure sum(x) as total, max(x) as most, var(x) as spread, first(x) as begun""")
    processor, sizes = wex.Processor(spec), []
    for _ in range(20):
        found = processor.feed({"x": np.random.default_rng(1).normal(size=500)})
        assert found.num_rows == 500
        sizes.append(len(processor.state()))
    assert max(sizes[1:]) < 1.2 * sizes[0]


def test_dead_panes_are_merged_away() -> None:
    """The paper's `b a* b + a`: at most two starts are open, however many were born."""
    spec = wex.parse(
        "stream s (x int) window w match [x = 1] [x = 0]* [x = 1] | [x = 0] measure sum(x) as s"
    )
    processor = wex.Processor(spec)
    for _ in range(5):
        processor.feed({"x": [1] + [0] * 200})
    assert processor.held() <= 2


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True), max_size=25),
    st.sampled_from([0, 2, store.MOST_ALONE]),
)
def test_memory_gives_back_what_was_stored_last(batches: list[list[int]], alone: int) -> None:
    with patch.object(store, "MOST_ALONE", alone):
        _check_memory(batches)


def _check_memory(batches: list[list[int]]) -> None:
    engine = engine_of(wex.parse("stream s (k int) partition by k window w match any"))
    memory, expected = StateStore(("k",)), dict[int, int]()
    for stamp, batch in enumerate(batches):
        keys = pa.table({"k": sorted(batch)})
        found = memory.recall(keys, engine.fresh)
        assert found.numbers("position").tolist() == [expected.get(k, 0) for k in sorted(batch)]
        stamped = pa.array([stamp] * len(batch), pa.int64())
        at = found.streams.column_names.index("position")
        memory.store(
            keys, type(found)(found.streams.set_column(at, "position", stamped), found.lists)
        )
        expected |= dict.fromkeys(batch, stamp)
    whole = memory.everything()
    if whole is not None:
        pairs = zip(
            whole.keys(("k",))["k"].to_pylist(), whole.numbers("position").tolist(), strict=True
        )
        listed = list(pairs)
        assert dict(listed) == expected
        assert len(listed) == len(expected)


def test_a_stream_that_is_kept_by_itself_is_in_no_layer() -> None:
    spec = wex.parse("stream s (k int, x int) partition by k window w match [x < 1]* [x >= 1]")
    processor = wex.Processor(spec)
    for keys in (range(100), range(10), [0] * 5000):  # two layers, then one of their streams grows
        processor.feed({"k": list(keys), "x": [0] * len(keys)})
    assert processor.held() == 5110
    assert wex.Processor.restore(spec, processor.state()).held() == 5110


def test_a_bounded_spec_takes_bounded_memory() -> None:
    """A short form of the benchmark: the peak after many batches is that after a few."""
    spec = wex.parse(
        "stream s (x real) window w match [x > x[-1]]{2,} [x < x[-1]] measure avg(x) as m"
    )
    processor = wex.Processor(spec)
    column = np.random.default_rng(1).normal(size=100_000)
    peaks = []
    for _ in range(30):
        processor.feed({"x": column})
        gc.collect()
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    assert peaks[-1] <= 1.1 * peaks[9]


def test_running_a_plan_loads_neither_solver_nor_grammar() -> None:
    code = """
import sys
import wex.compile.plan, wex.engine.engine, wex.engine.input.prepare
loaded = [each for each in ("z3", "lark") if each in sys.modules]
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", code], check=True)


OPEN = [
    "match [x < 8]* [x >= 8] measure sum(x) as total, collect(x) as all, max(x) as most",
    "match [x < 8]+ until [x >= 8] or end measure count() as n",
    "match [x < 8]* [x >= 8] keep shortest",
    "after any* [x = 3] match [x < 8]* [x >= 9] measure first(x) as one, avg(x) as mean",
    "match [x < 7]* [x = 7] [x < 9]* [x = 9]",
    "match ([x < 7] | [x = 8])* [x = 9] measure stddev(x) as s",
    "match [x < 9]* [x = 9] until [x = 1] measure min(x) as least",
    # Starts of the second way may be gone soon: their events then belong to starts before them.
    "match [x < 4] any* [x = 9] | [x >= 4] [x < 4] measure sum(x) as total, collect(x) as all, max(x) as most",
    "match [x < 3] any* [x = 9] | [x > 5] [x > 5] [x = 5] keep shortest measure collect(x) as all",
]


@given(
    st.lists(st.sampled_from(OPEN), min_size=1, max_size=2),
    st.lists(st.integers(0, 9), min_size=1, max_size=60),
    st.randoms(use_true_random=False),
)
def test_starts_that_are_set_aside_are_not_forgotten(
    windows: list[str], xs: list[int], chance: Random
) -> None:
    named = [f"window w{at} {window}" for at, window in enumerate(windows)]
    spec = wex.parse("\n".join(["stream s (x real)", *named]))
    table = pa.table({"x": pa.array(xs, pa.float64())})
    assert_same(event_by_event(spec, table, chance), wex.find(spec, table))


def test_events_of_a_start_that_is_gone_belong_to_the_one_before_it_that_is_set_aside() -> None:
    spec = wex.parse(
        "stream s (x int) window w match [x = 0] any* [x = 9] | [x = 1] [x = 2] measure sum(x) as total"
    )
    many = short_batches.MANY + 1
    processor = wex.Processor(spec)
    for values, held in (([0] * many + [1], many + 1), ([3], many)):
        processor.feed({"x": values})
        assert processor.held() == held  # so that no event waits
    assert processor.feed({"x": [9]})["total"].to_pylist() == [1 + 3 + 9] * many


def test_a_short_batch_does_not_copy_the_starts_that_it_leaves_alone() -> None:
    spec = wex.parse("stream s (k int, x real) partition by k window w match [x < 1]* [x >= 1]")
    processor = wex.Processor(spec)
    many = 3 * short_batches.MANY
    processor.feed({"k": [1] * many, "x": [0.0] * many})
    processor.feed({"k": [2, 3], "x": [0.0, 0.0]})
    with patch.object(Engine, "run", side_effect=AssertionError):  # runs with all starts
        for _ in range(10):
            processor.feed({"k": [1], "x": [0.0]})
    assert processor.held() == many + 12
    assert processor.feed({"k": [1], "x": [1.0]}).num_rows == many + 11
    assert processor.held() == 2
