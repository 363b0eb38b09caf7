"""A stream that is divided into ranges has the windows, measures and errors that it has in one piece."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from datetime import date
from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

import wex
from tests.engine.compare import (
    _moving_engine,
    assert_as_defined,
    assert_same,
    find_by,
    outcome,
)
from tests.engine.test_long import WINDOWS, spec_of, table
from tests.engine.ways import in_ranges
from tests.strategies import fewer, streams
from tests.strategies.long_streams import Recipe, recipes, window_specs
from tests.strategies.specs import pair_specs, with_scales
from tests.strategies.streams import some_events
from wex.engine import engine as engine_module
from wex.engine.engine import Engine, engine_of
from wex.engine.input.prepare import PreparedInput
from wex.engine.ranges import division, key_ranges
from wex.engine.ranges.composition import obstacle
from wex.engine.ranges.division import Part, run_parts
from wex.engine.workers import Workers, cores
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.theory.evaluate import Event

chances = st.integers(0, 2**32).map(Random)


@given(pair_specs, some_events, chances, st.booleans())
def test_ranges_are_the_definition(
    spec: tree.Spec, events: list[Event], chance: Random, synchronised: bool
) -> None:
    rows = streams.table(events)
    expected = outcome(find_by_definition, spec, rows)
    for engine in (engine_of(spec), _moving_engine(spec)):
        found = outcome(_in_ranges, spec, rows, chance, engine, synchronised)
        assert_as_defined(found, expected, spec)


@fewer(2)
@given(window_specs(), recipes, chances, st.booleans())
def test_ranges_of_longer_streams_are_one_piece(
    text: str, recipe: Recipe, chance: Random, synchronised: bool
) -> None:
    spec, rows = with_scales(wex.parse(text)), recipe.table()
    whole = wex.find(spec, rows, threads=1)
    for engine in (engine_of(spec), _moving_engine(spec)):
        assert_same(_in_ranges(spec, rows, chance, engine, synchronised), whole)


def _in_ranges(
    spec: tree.Spec, rows: pa.Table, chance: Random, engine: Engine, synchronised: bool
) -> pa.Table:
    return in_ranges(spec, rows, chance, engine, synchronised=synchronised)


@pytest.mark.parametrize("name", WINDOWS)
def test_threads_change_nothing(name: str) -> None:
    """All kernels, on streams of a thousand events and on one of thirty thousand."""
    spec = spec_of(name)
    for keys in (1, 30):
        rows = table(keys)
        with patch.object(division, "LEAST", 1000), patch.object(key_ranges, "SAMPLE", 100):
            found = wex.find(spec, rows, threads=3)
        assert_same(found.combine_chunks(), wex.find(spec, rows, threads=1))


# --- Borders


def cut_at(text: str, x: list[object], *borders: int, **columns: list[object]) -> None:
    """Check that a stream has the same outcome in one piece and between borders."""
    spec = wex.parse(text)
    rows = pa.table({"x": pa.array(x, pa.float64()), **columns})
    engine = engine_of(spec)
    assert obstacle(engine) is None
    batch = PreparedInput(engine, rows)
    stream = batch.batch(engine.fresh(len(batch.starts)))
    expected = outcome(find_by, engine, rows)
    for look in (division.LOOK, ()):
        with patch.object(division, "LOOK", look):
            found = outcome(run_parts, engine, stream, [Part(0, 1, borders)], Workers(2))
        assert_same(found.combine_chunks() if isinstance(found, pa.Table) else found, expected)


MEASURE = "measure sum(x) as total, collect(x) as all, first(x - x[-1]) as step"


def test_a_window_crosses_all_borders() -> None:
    rising = "stream s (x real) window w match [x = 0] [x > x[-1]]* [x < x[-1]] " + MEASURE
    for borders in [(3,), (3, 5), (1, 2, 3, 4, 5, 6, 7, 8), (4, 4, 4), (0, 0, 9, 9)]:
        cut_at(rising, [0, 1, 2, 3, 4, 5, 6, 7, 3], *borders)


def test_starts_of_several_ranges_end_together() -> None:
    cut_at(
        "stream s (x real) window w match any+ [x = 9] " + MEASURE, [1, 2, 9, 4, 5, 9, 9], 2, 4, 5
    )
    cut_at("stream s (x real) window w match any{3} " + MEASURE, [1, 2, 9, 4, 5, 9, 9], 1, 2, 4, 5)
    cut_at("stream s (x real) window w match any{9} " + MEASURE, list(range(30)), 4, 5, 20)


def test_only_the_oldest_start_crosses_a_border() -> None:
    for keep in ("longest", "disjoint", "shortest"):
        cut_at(
            f"stream s (x real) window w match [x > 0]+ keep {keep} {MEASURE}",
            [1, 1, 0, 1, 2, 3, 0, 4, 4],
            1, 4, 5, 8,
        )  # fmt: skip


def test_until_reports_a_window_of_the_range_before() -> None:
    text = "stream s (x real) window w match [x > 0]+ until [x = 0] or end " + MEASURE
    cut_at(text, [1, 2, 0, 3, 4, 0, 5], 2, 5, 6)


def test_within_counts_over_borders() -> None:
    text = "stream s (x real) window w match [x > 0] any* [x = 0] within 4 events " + MEASURE
    cut_at(text, [1, 2, 2, 0, 3, 4, 0, 5, 0, 0], 1, 3, 4, 7)


def test_the_lookback_is_longer_than_a_range() -> None:
    text = "stream s (x real) window w match [x > x[-5]] any* [x = x[-3]] " + MEASURE
    cut_at(text, [1, 5, 2, 6, 3, 7, 4, 4, 4, 4, 9, 1], *range(1, 12))


def test_an_automaton_that_never_synchronises() -> None:
    """A window after an even number of events: no event tells whether it is even."""
    text = "stream s (x real) window w after (any{2})* match [x > 0] any*  [x = 0] " + MEASURE
    spec = engine_of(wex.parse(text))
    rows = pa.table({"x": [1.0, 0.0, 2.0, 0.0, 3.0, 3.0, 0.0]})
    prepared = PreparedInput(spec, rows)
    stream = prepared.batch(spec.fresh(1))
    assert division._entry_after(spec, stream, 3) is None
    for border in range(8):
        cut_at(text, rows["x"].to_pylist(), border, min(border + 1, 7))


def test_rows_without_a_value_are_skipped_before_the_division() -> None:
    text = "stream s (x real) nulls skip window w match [x > x[-1]]+ " + MEASURE
    cut_at(text, [1, None, 2, 3, None, 4, 5, 1], 1, 2, 4)


@pytest.mark.parametrize("rule", ["[x >= x[-1]]*", "(any any)*", "any [x > 0]* [x = 0]* "])
def test_an_assumption_is_violated_in_the_middle(rule: str) -> None:
    """The error is that of one piece, wherever the borders are."""
    text = f"stream s (x real) assume {rule} window w match [x > 2] any"
    for bad in ([1, 2, 3, 0, 1, 2], [1, 1, 1, 1, 1, 1], [1, 2, 0, 0, 0, 1, 5]):
        for border in range(len(bad)):
            cut_at(text, list(bad), border, border)


def test_a_rate_counts_over_borders() -> None:
    text = (
        "stream s (x real, t timestamp) order by t assume at most 3 events in 5 seconds"
        " window w match any{2}"
    )
    for gap in (1, 2, 3):
        times = pa.array([n * gap * 1_000_000 for n in range(9)], pa.timestamp("us"))
        cut_at(text, [1.0] * 9, 2, 3, 7, t=times)


def test_faults_are_those_of_one_piece() -> None:
    text = "stream s (x real) window w match [x > 0] any* [x = 0] measure sum(1 / x) as y"
    nan = float("nan")
    for x in ([1, 2, 0, nan, 1, 0], [1, None, 2, 0], [2, 3, -0.0, 0, 0], [1e308, 1e308, 0]):
        cut_at(text, list(x), 1, 2, 3)
    whole = "stream s (x int) window w match [x > 0] any* [x = 0] measure sum(x) as y"
    spec = wex.parse(whole)
    rows = pa.table({"x": [2**62, 2**62, 2**62, 0, 1, 0]})
    errors = [outcome(in_ranges, spec, rows, Random(seed)) for seed in range(20)]
    for error in errors:
        assert_same(error, outcome(wex.find, spec, rows))


# --- What is not divided


OBSTACLES = {
    "match [x > avg(x)] any": "its predicates have aggregates",
    "match [x > 0]+ keep preferred": "`keep preferred` chooses among the ways of a start",
    "match a: [x > 0]+ b: any measure sum(a.x) as y": "labels are read off all events of a window",
    "match [x > 0]+ measure sum(x) as y having y > 1 keep shortest": "`keep shortest` waits for `having`",
    "match [x > 0]+ within 3 events keep longest": "`keep longest` has to compare the starts of different ranges",
}


@pytest.mark.parametrize("window", OBSTACLES)
def test_what_cannot_be_divided_runs_in_one_piece(
    window: str, caplog: pytest.LogCaptureFixture
) -> None:
    spec = wex.parse(f"stream s (x real) window w {window}")
    assert obstacle(engine_of(spec)) == f"window `w`: {OBSTACLES[window]}"
    rows = pa.table({"x": np.arange(200_000) % 7.0})
    with caplog.at_level(logging.INFO, "wex"):
        found = wex.find(spec, rows, threads=2)
    assert any(OBSTACLES[window] in record.message for record in caplog.records)
    assert found.equals(wex.find(spec, rows, threads=1))


# --- Threads


KEYED = "stream s (k {type}, x int) partition by k window w match [x > x[-1]]+ measure count() as n"


@pytest.mark.parametrize("type_", ["string", "int", "real", "bool", "date"])
def test_keys_of_all_types_are_divided_in_their_order(type_: str) -> None:
    random = np.random.default_rng(1)
    by_type: dict[str, list[object]] = {
        "string": ["a", "b", "ä", "", None, "z"],
        "int": [1, -5, None, 2**60, 3, 4],
        "real": [0.0, -0.0, float("nan"), None, float("inf"), 1.5],
        "bool": [True, False, None],
        "date": [date(2020, 1, 1), None, date(1960, 1, 1)],
    }
    keys = by_type[type_]
    chosen = [keys[at] for at in random.integers(0, len(keys), 9000)]
    rows = pa.table({"k": pa.array(chosen), "x": random.integers(0, 9, 9000)})
    spec = wex.parse(KEYED.format(type=type_))
    with patch.object(division, "LEAST", 10):
        for threads in (2, 3, 8):
            found = wex.find(spec, rows, threads=threads).combine_chunks()
            assert_same(found, wex.find(spec, rows, threads=1))


def test_data_is_divided_by_keys_unless_a_key_is_too_frequent() -> None:
    numbers = pa.table({"k": np.arange(10_000) % 100})
    assert len(key_ranges.key_ranges(numbers, ["k"], 4) or []) == 4
    assert key_ranges.key_ranges(numbers.sort_by("k"), ["k"], 4) is None
    often = pa.table({"k": np.where(np.arange(10_000) % 10, 5, np.arange(10_000) % 7)})
    assert key_ranges.key_ranges(often, ["k"], 4) is None


def test_find_may_be_called_from_any_thread() -> None:
    """Several threads, each of which uses several."""
    spec = spec_of("configs, joined")
    tables = [table(keys) for keys in (1, 3, 30)]
    expected = [wex.find(spec, rows, threads=1) for rows in tables]
    with patch.object(division, "LEAST", 1000), ThreadPoolExecutor(6) as pool:
        tasks = [pool.submit(wex.find, spec, tables[at % 3], threads=2) for at in range(24)]
        for at, task in enumerate(tasks):
            assert_same(task.result().combine_chunks(), expected[at % 3])


def test_limits_hold_in_threads() -> None:
    spec = wex.parse("stream s (x int) window w match any+")
    with (
        patch.object(division, "LEAST", 100),
        wex.limits.raised(windows=10_000),
        pytest.raises(wex.LimitError),
    ):
        wex.find(spec, {"x": list(range(3000))}, threads=2)


FILED = """
stream s (key int, ts int, x int)
  partition by key
  order by ts
window rise match [x > x[-1]]+ keep longest measure sum(x) as total
window fall match [x < x[-1]]{2} measure count() as n, max(x) as most
window pair match [x = x[-1]]
"""


@pytest.mark.parametrize("keys", [1, 7])
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("rows", [False, True])
def test_threads_change_nothing_in_files(
    tmp_path: Path, keys: int, in_order: bool, rows: bool
) -> None:
    """In batches, where the windows run side by side, and all at once, where streams are divided."""
    random = np.random.default_rng(keys)
    times = np.arange(6000) if in_order else random.permutation(6000)
    table = pa.table(
        {"key": random.integers(0, keys, 6000), "ts": times, "x": random.integers(0, 4, 6000)}
    )
    path = tmp_path / "events.parquet"
    parquet.write_table(table, path, row_group_size=1500)
    spec = wex.parse(FILED)
    whole = wex.find_in_file(spec, path, rows=rows, threads=1)
    assert whole.num_rows
    expected = wex.find(spec, table, rows=rows, threads=1)
    if not rows:
        assert_same(whole.combine_chunks(), expected.combine_chunks())
    with patch.object(division, "LEAST", 100), patch.object(engine_module, "SIDE_BY_SIDE", 1):
        for threads in (None, 2, 5):
            found = wex.find_in_file(spec, path, rows=rows, threads=threads)
            assert_same(found.combine_chunks(), whole.combine_chunks())


def test_from_ten_million_events_on_all_cores_are_used() -> None:
    assert division.threads_for(division.LONG - 1, None) == 1
    assert division.threads_for(division.LONG, None) == cores()
    assert division.LONG == 10_000_000
    assert division.threads_for(division.LONG, 1) == 1


def test_parts_of_the_data_do_not_divide_their_windows_again() -> None:
    """With so many threads, no more work at once than that: windows run in the thread of their part."""
    spec = wex.parse(FILED)
    random = np.random.default_rng(1)
    rows = {name: random.integers(0, 5, 4000) for name in ("key", "ts", "x")}
    inside = ContextVar("inside", default=False)  # tasks see the context of their caller
    nested = []
    plain = Workers.map

    def counted(self: Workers, task: object, parts: object) -> object:
        if self.threads == 1:
            return plain(self, task, parts)  # type: ignore[arg-type]
        nested.append(inside.get())
        token = inside.set(True)
        try:
            return plain(self, task, parts)  # type: ignore[arg-type]
        finally:
            inside.reset(token)

    with (
        patch.object(division, "LEAST", 100),
        patch.object(engine_module, "SIDE_BY_SIDE", 1),
        patch.object(Workers, "map", counted),
    ):
        wex.find(spec, rows, threads=2)
    assert nested
    assert not any(nested)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", True])
def test_a_number_of_threads_that_makes_no_sense(threads: object, tmp_path: Path) -> None:
    spec = wex.parse("stream s (x int) window w match any")
    with pytest.raises(wex.WexError, match="threads must be a positive whole number"):
        wex.find(spec, {"x": [1]}, threads=threads)  # type: ignore[arg-type]
    path = tmp_path / "events.csv"
    path.write_text("x\n1\n")
    with pytest.raises(wex.WexError, match="threads must be a positive whole number"):
        wex.find_in_file(spec, path, threads=threads)  # type: ignore[arg-type]
