"""Runs and sessions: what they are, what they expand to, and that both are the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, outcome
from tests.strategies import fewer, specs, streams
from tests.strategies.streams import some_events
from wex.reference.find import find_by_definition
from wex.spec import meaning, tree
from wex.spec.resolve.runs import spelled_out
from wex.theory.evaluate import Event

STREAM = "stream s (x int, y int, name string)"
values = st.lists(st.integers(0, 3), max_size=8)


def ranges(spec: str, **columns: list[object]) -> list[tuple[int, int]]:
    rows = wex.find(spec, columns).select(["start_index", "end_index"]).to_pylist()
    return [(row["start_index"], row["end_index"]) for row in rows]


def grouped(keys: list[object]) -> list[tuple[int, int, object]]:
    """Return the ranges of equal keys."""
    parts = [list(part) for _, part in groupby(range(len(keys)), key=keys.__getitem__)]
    return [(part[0], part[-1], keys[part[0]]) for part in parts]


@given(values)
def test_runs_of_a_value_are_groups_of_equal_values(x: list[int]) -> None:
    expected = [(b, e) for b, e, _ in grouped(list(x))]
    assert ranges("stream s (x int) window w runs of x", x=list(x)) == expected


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(["a", "b"])), max_size=8))
def test_runs_of_two_values(rows: list[tuple[int, str]]) -> None:
    found = ranges(
        "stream s (x int, name string) window w runs of x, name",
        x=[x for x, _ in rows],
        name=[name for _, name in rows],
    )
    assert found == [(b, e) for b, e, _ in grouped(list(rows))]


@given(values)
def test_runs_of_a_quotient(x: list[int]) -> None:
    expected = [(b, e) for b, e, _ in grouped([value * 2 for value in x])]
    assert ranges("stream s (x int) window w runs of x / 0.5", x=list(x)) == expected


@given(values, st.booleans())
def test_runs_where_a_predicate_holds(x: list[int], negated: bool) -> None:
    expected = [(b, e) for b, e, key in grouped([(value > 1) != negated for value in x]) if key]
    predicate = "not x > 1" if negated else "x > 1"
    assert ranges(f"stream s (x int) window w runs where {predicate}", x=list(x)) == expected


@given(values)
def test_runs_where_the_predicate_looks_back(x: list[int]) -> None:
    """An atom about a missing event is false: the first event does not rise."""
    rises = [at > 0 and x[at] > x[at - 1] for at in range(len(x))]
    expected = [(b, e) for b, e, key in grouped(list(rises)) if key]
    assert ranges("stream s (x int) window w runs where x > x[-1]", x=list(x)) == expected
    expected = [(b, e) for b, e, key in grouped(list(rises)) if not key]
    assert ranges("stream s (x int) window w runs where not x > x[-1]", x=list(x)) == expected


@given(values)
def test_runs_of_a_value_that_looks_back(x: list[int]) -> None:
    """The first value is missing and equals no other: every event is in one run."""
    keys = [x[at] - x[at - 1] if at else None for at in range(len(x))]
    expected = [(b, e) for b, e, _ in grouped(list(keys))]
    assert ranges("stream s (x int) window w runs of x - x[-1]", x=list(x)) == expected


@given(st.lists(st.integers(0, 40), max_size=8))
def test_sessions_in_numbers(times: list[int]) -> None:
    ordered = sorted(times)
    cuts = [at for at in range(1, len(ordered)) if ordered[at] - ordered[at - 1] > 5]
    bounds = [0, *cuts, len(ordered)]
    expected = [(b, e - 1) for b, e in pairwise(bounds) if b < e]
    for spec in ("(t int) order by t window w sessions gap 5",
                 "(t real) order by t window w sessions gap 5.0"):  # fmt: skip
        assert ranges(f"stream s {spec}", t=list(ordered)) == expected


def cut(times: list[float], gap: float, length: float) -> list[tuple[int, int]]:
    """Return sessions, cut from the left."""
    sessions: list[list[int]] = []
    for at, time in enumerate(times):
        begins = (
            not sessions or time - times[at - 1] > gap or time - times[sessions[-1][0]] > length
        )
        if begins:
            sessions.append([])
        sessions[-1].append(at)
    return [(session[0], session[-1]) for session in sessions]


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(0, 9), st.integers(0, 20), st.data())
def test_sessions_that_are_cut(
    times: list[int], gap: int, length: int, data: st.DataObject
) -> None:
    """Every event is in one session, whatever the type of the order, and however it arrives."""
    ordered = sorted(times)
    expected = cut(list(ordered), gap, length)
    type_ = data.draw(st.sampled_from(["int", "real", "timestamp", "date"]))
    unit = {"timestamp": " seconds", "date": " days"}.get(type_, "")
    spec = wex.parse(
        f"stream s (t {type_}) order by t window w sessions gap {gap}{unit} at most {length}{unit}"
    )
    column = {
        "int": pa.array(ordered, pa.int64()),
        "real": pa.array(ordered, pa.float64()),
        "timestamp": pa.array([time * 1_000_000 for time in ordered], pa.timestamp("us")),
        "date": pa.array(ordered, pa.date32()),
    }[type_]
    table = pa.table({"t": column})
    for found in (wex.find(spec, table), find_by_definition(spec, table)):
        assert (
            list(zip(*map(pa.ChunkedArray.to_pylist, found.columns[1:3]), strict=True)) == expected
        )
    processor, parts, row = wex.Processor(spec), [], 0
    while row < table.num_rows:
        size = data.draw(st.integers(1, 4), label="size")
        parts.append(processor.feed(table.slice(row, size)))
        row += size
        processor = wex.Processor.restore(spec, processor.state())
    parts.append(processor.close())
    pairs = [(row["start_index"], row["end_index"]) for part in parts for row in part.to_pylist()]
    assert pairs == expected


def test_what_fails_in_a_session_that_is_cut() -> None:
    """A pause beyond 64 bits is an error, as in other sessions; a length beyond them is too long."""
    spec = "stream s (t int) order by t window w sessions gap {} at most {}"
    most = 2**63 - 1
    with pytest.raises(wex.DataError) as caught:
        ranges(spec.format(3, 5), t=[-most, most])
    assert caught.value.code == "arithmetic"
    far = [-most, 0, most]
    assert ranges(spec.format(most, most), t=list(far)) == [(0, 1), (2, 2)]
    table = pa.table({"t": far})
    found = find_by_definition(wex.parse(spec.format(most, most)), table)
    assert found["end_index"].to_pylist() == [1, 2]


def test_sessions_of_days() -> None:
    spec = "stream s (day date) order by day window w sessions gap 2 days"
    assert [
        str(part) for part in meaning(wex.parse(spec)).expanded.windows[0].pairs
    ] == ["match [is_first or day - day[-1] > 2 days] [not day - day[-1] > 2 days]*"]  # fmt: skip


one_run = st.builds(
    lambda spec, run: replace(spec, windows=(specs.with_runs(spec.windows[0], run),), source=None),
    specs.specs(most=1),
    specs.runs | specs.cut_sessions,
)


@fewer(2)
@given(one_run, some_events)
def test_runs_are_what_they_expand_to(spec: tree.Spec, events: list[Event]) -> None:
    """The definition groups events, the engine runs the expansion, spelled out or not."""
    table = streams.table(events)
    scaled = specs.with_scales(spec)
    plain = tuple(spelled_out(window, spec.stream) for window in scaled.windows)
    written = wex.parse(str(replace(scaled, windows=plain)))
    expected = outcome(find_by_definition, scaled, table)
    assert_same(outcome(wex.find, scaled, table), expected)
    assert_same(outcome(wex.find, written, table), expected)


@fewer(4)
@given(one_run)
def test_the_expansion_is_text_of_the_language(spec: tree.Spec) -> None:
    assert wex.parse(str(spec)) == spec
    expanded = meaning(spec).expanded
    assert expanded.windows[0].runs is None
    assert meaning(wex.parse(str(expanded))).expanded == expanded


@pytest.mark.parametrize(
    "clause",
    [
        "runs of x",
        "runs of x, name",
        "runs of x / 3",
        "runs of x - x[-1]",
        "runs where x > 1",
        "runs where x > x[-1]",
        "runs where not (x > x[-1] and y = 0)",
    ],
)
def test_one_start_is_open_at_most(clause: str) -> None:
    (report,) = wex.check(f"{STREAM} window w {clause}")
    for answer in (report.open, report.held, report.overlap):
        assert (answer.verdict, answer.bound) == ("bounded", 1)
    spec = wex.parse(f"{STREAM} window w {clause}")
    for other in (wex.to_formula(spec), wex.to_regex(spec)):
        assert other.windows[0].runs is None
        assert wex.equivalent(spec, other).holds is True


@pytest.mark.parametrize("order", ["timestamp", "date", "int", "real"])
def test_one_session_is_open_at_most(order: str) -> None:
    gap = "3 days" if order in ("timestamp", "date") else "3"
    for limit in ("", f" at most {gap}"):
        (report,) = wex.check(f"stream s (t {order}) order by t window w sessions gap {gap}{limit}")
        assert (report.held.verdict, report.held.bound) == ("bounded", 1)


def test_clauses_apply_to_runs_as_to_any_window() -> None:
    x = [1, 1, 1, 2, 3, 3]
    head = "stream s (x int) window w runs of x"
    assert ranges(head, x=list(x)) == [(0, 2), (3, 3), (4, 5)]
    assert ranges(f"{head} within 2 events", x=list(x)) == [(3, 3), (4, 5)]
    assert ranges(f"{head} measure count() as n having n > 1", x=list(x)) == [(0, 2), (4, 5)]
    assert ranges(f"{head} keep longest lookback 3", x=list(x)) == [(0, 2), (3, 3), (4, 5)]


def test_null_in_a_value_of_a_run() -> None:
    with pytest.raises(wex.DataError) as caught:
        ranges("stream s (x int) window w runs of x", x=[1, None])
    assert caught.value.code == "null"
    assert ranges("stream s (x int) nulls skip window w runs of x", x=[1, None, 1, 2]) == [
        (0, 1),
        (2, 2),
    ]


def test_the_run_that_may_go_on_waits_for_the_end() -> None:
    processor = wex.Processor("stream s (x int) window w runs of x")
    assert processor.feed({"x": [1, 1]}).num_rows == 0
    assert processor.feed({"x": [2]})["end_index"].to_pylist() == [1]
    assert processor.close()["start_index"].to_pylist() == [2]


def test_sessions_that_are_cut_come_out_of_files_in_their_order(tmp_path: Path) -> None:
    """They are decided by a later event, and sorted by their ends, as `find` sorts them."""
    spec = wex.parse(
        "stream s (t int) order by t window cut sessions gap 3 at most 4 window each match any"
    )
    data = pa.table({"t": [0, 2, 4, 6, 20]})
    path = tmp_path / "events.parquet"
    pq.write_table(data, path, row_group_size=2)
    expected = wex.find(spec, data)
    assert expected["window_name"].to_pylist().index("cut") == 2
    assert wex.find_in_file(spec, path).equals(expected)


def test_null_is_equal_to_nothing() -> None:
    """Not to another NULL either: an event with NULL is a run of its own."""
    spec = wex.parse("stream s (x int) window w runs of x window v match [x is null]")
    data = {"x": pa.array([None, None, 1, 1], pa.int64())}
    found = [find(spec, data).to_pylist() for find in (wex.find, find_by_definition)]
    assert found[0] == found[1]
    runs = [row for row in found[0] if row["window_name"] == "w"]
    assert [(row["start_index"], row["end_index"]) for row in runs] == [(0, 0), (1, 1), (2, 3)]
