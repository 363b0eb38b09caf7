"""Rows of windows: those of the definition, of a join with the windows, however the streams are cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from math import inf
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyarrow import parquet

import wex
from tests.engine.compare import (
    Outcome,
    assert_as_defined,
    assert_same,
    assert_same_arrivals,
    assert_same_streams,
    outcome,
    prefers,
)
from tests.engine.test_labels import Word, words
from tests.engine.test_labels import specs as labelled_specs
from tests.engine.test_labels import table as labelled_table
from tests.engine.ways import in_batches
from tests.strategies import fewer, streams
from tests.strategies.mixed import mixed_specs, random_streams
from tests.strategies.specs import pair_specs, parsed
from tests.strategies.streams import some_events
from wex.engine import event_rows
from wex.engine.engine import Engine
from wex.engine.event_rows import endless_rows_engine, rows_engine, window_count
from wex.engine.find import find
from wex.engine.input.prepare import PreparedInput
from wex.engine.running_streams import RunningStreams
from wex.engine.sorted_scan import SortedScan
from wex.engine.state.state_check import read_state
from wex.reference.rows import labels_by_definition, rows_by_definition
from wex.spec import tree
from wex.theory.evaluate import Event

SPEC = "stream s (k string, t int, x int) partition by k order by t nulls skip"
DATA = {"k": ["b", "a", "b", "a", "b"], "t": [2, 1, 1, 2, 3], "x": [5, 1, 4, None, 6]}


def with_tag(table: pa.Table) -> pa.Table:
    """Return a table with a column that no spec declares."""
    tags = [{"tag": number} for number in range(table.num_rows)]
    return table.append_column("tag", pa.array(tags, pa.struct([("tag", pa.int64())])))


def rows(spec: tree.Spec, table: pa.Table) -> pa.Table:
    return find(spec, table, rows=True)


def clashes(spec: tree.Spec, table: pa.Table) -> bool:
    measures = {measure.name.text for window in spec.windows for measure in window.measures}
    return not measures.isdisjoint(table.column_names)


# --- The definition


@fewer(2)
@given(pair_specs, some_events)
def test_rows_are_those_of_the_definition(spec: tree.Spec, events: list[Event]) -> None:
    table = with_tag(streams.table(events))
    assume(not clashes(spec, table))
    found, expected = outcome(rows, spec, table), outcome(rows_by_definition, spec, table)
    assert_as_defined(found, expected, spec)


@fewer(4)
@given(mixed_specs(), st.randoms(use_true_random=False))
def test_rows_of_mixed_windows_are_those_of_the_definition(spec: tree.Spec, chance: Random) -> None:
    table = with_tag(random_streams(chance, 3))
    found, expected = outcome(rows, spec, table), outcome(rows_by_definition, spec, table)
    assert_as_defined(found, expected, spec)


@fewer(4)
@given(mixed_specs(), st.randoms(use_true_random=False))
def test_labels_are_those_of_the_definition(spec: tree.Spec, chance: Random) -> None:
    table = with_tag(random_streams(chance, 3))
    found, expected = outcome(wex.label, spec, table), outcome(labels_by_definition, spec, table)
    if isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        # Python values, as Arrow says of NaN that it differs from itself.
        assert found.schema == expected.schema
        assert repr(found.to_pylist()) == repr(expected.to_pylist())
    else:
        assert_as_defined(found, expected, spec)


# --- The windows


def with_numbers(spec: tree.Spec) -> tree.Spec:
    """Return a spec whose events have a number, and whose windows collect these numbers."""
    number = wex.parse(
        "stream s (number int) window w match any measure collect(number) as numbers"
    )
    field, measure = number.stream.fields[0], number.windows[0].measures[0]
    windows = [replace(each, measures=(*each.measures, measure)) for each in spec.windows]
    stream = replace(spec.stream, fields=(*spec.stream.fields, field))
    return parsed(replace(spec, stream=stream, windows=tuple(windows), source=None))


@fewer(4)
@given(mixed_specs(), st.randoms(use_true_random=False))
def test_rows_are_the_join_of_windows_and_numbered_events(spec: tree.Spec, chance: Random) -> None:
    spec, table = with_numbers(spec), random_streams(chance, 3)
    table = table.append_column("number", pa.array(range(table.num_rows), pa.int64()))
    windows, found = outcome(wex.find, spec, table), outcome(rows, spec, table)
    if not isinstance(windows, pa.Table):
        assert_same(found, windows)
        return
    assert isinstance(found, pa.Table)
    numbers = windows["numbers"].to_pylist()
    owners = [window for window, own in enumerate(numbers) for _ in own]
    flat = pa.array([number for own in numbers for number in own], pa.int64())
    repeated = windows.take(pa.array(owners, pa.int64()))
    starts = windows["start_index"].to_pylist()
    indices = [starts[at] + step for at, own in enumerate(numbers) for step in range(len(own))]
    assert_same(found.select(windows.column_names), repeated)
    assert found["event_index"].to_pylist() == indices
    assert found["row_index"].to_pylist() == flat.to_pylist()
    events = [name for name in table.column_names if name != "key"]
    for name in events:
        assert repr(found[name].to_pylist()) == repr(table[name].take(flat).to_pylist())


@fewer(4)
@given(mixed_specs(), st.randoms(use_true_random=False))
def test_labels_are_the_rows_by_row(spec: tree.Spec, chance: Random) -> None:
    table = random_streams(chance, 3)
    labels, found = outcome(wex.label, spec, table), outcome(rows, spec, table)
    if not isinstance(found, pa.Table):
        assert_same(labels, found)
        return
    assert isinstance(labels, pa.Table)
    expected: list[list[object]] = [[] for _ in range(table.num_rows)]
    for row in found.select(["row_index", "window_id"]).to_pylist():
        expected[row["row_index"]].append(row["window_id"])
    assert labels["window_ids"].to_pylist() == expected
    assert labels["window_count"].to_pylist() == list(map(len, expected))
    assert len(set(found["window_id"].to_pylist())) == window_count(found)


# --- Streams that are cut


def in_pieces(
    spec: tree.Spec, table: pa.Table, chance: Random, engine: Engine | None = None
) -> pa.Table:
    """Feed running streams some events at a time, in the order of time, and save them in between."""
    engine = engine or rows_engine(spec, tuple(table.column_names))
    running, parts, row = RunningStreams(engine), [], 0
    ordered = PreparedInput(engine, table).table.sort_by([("t", "ascending")])
    while row < ordered.num_rows:
        size = chance.randint(1, 4)
        parts.append(running.feed(ordered.slice(row, size)))
        row += size
        kept = running.everything().tail_counts.max(initial=0)
        assert kept <= max(engine.tail, longest(engine) + looked_back(engine))
        if chance.random() < 0.5:
            running = RunningStreams(engine, running.saved())
    parts.append(running.close())
    # A stream without events does not know the types of columns that are not declared.
    empty = SortedScan(engine).feed(table.slice(0, 0))
    return pa.concat_tables([empty, *(part for part in parts if part.num_rows)]).combine_chunks()


def longest(engine: Engine) -> float:
    """Return how many events a window has at most."""
    lengths = [window.clauses.within_events for window in engine.plan.windows]
    return max(inf if length is None else length for length in lengths)


def looked_back(engine: Engine) -> int:
    """Return how many events before the first one are needed to parse windows."""
    return engine.tail if any(window.labels is not None for window in engine.windows) else 0


def by_scan(spec: tree.Spec, table: pa.Table, chance: Random) -> pa.Table:
    """Scan a sorted table in pieces."""
    engine = rows_engine(spec, tuple(table.column_names))
    scan, parts, row = SortedScan(engine), [], 0
    ordered = PreparedInput(engine, table).table
    while row < ordered.num_rows or not row:
        size = chance.randint(1, 7)
        parts.append(scan.feed(ordered.slice(row, size)))
        row += size
    last = scan.close()
    return pa.concat_tables([*parts, *([] if last is None else [last])]).combine_chunks()


def assert_same_rows(found: Outcome, expected: Outcome, spec: tree.Spec, table: pa.Table) -> None:
    """Check that rows are the same but for the place of whole windows by preference."""
    if not (isinstance(found, pa.Table) and isinstance(expected, pa.Table)):
        assert_same_streams(found, expected, spec, table)
        return
    expected = expected.drop_columns(["row_index"])
    if prefers(spec):
        order = [("key", "ascending"), ("window_id", "ascending"), ("event_index", "ascending")]
        found, expected = found.sort_by(order), expected.sort_by(order)
    assert_same_streams(found, expected, spec, table)


@pytest.mark.parametrize("way", [in_pieces, by_scan])
@fewer(2)
@given(spec=mixed_specs(), chance=st.randoms(use_true_random=False))
def test_rows_do_not_depend_on_batches(
    way: Callable[..., pa.Table], spec: tree.Spec, chance: Random
) -> None:
    table = with_tag(random_streams(chance, 3))
    found = outcome(way, spec, table, chance)
    assert_same_rows(found, outcome(rows, spec, table), spec, table)


def short(spec: tree.Spec) -> tree.Spec:
    """Return a spec whose windows have at most 4 events."""
    within = wex.parse("stream s (x int) window w match any within 4 events").windows[0].within
    windows = tuple(replace(window, within=within) for window in spec.windows)
    return parsed(replace(spec, windows=windows, source=None))


@fewer(2)
@given(mixed_specs().map(short), st.randoms(use_true_random=False))
def test_endless_streams_have_the_rows_of_a_batch_and_keep_few_events(
    spec: tree.Spec, chance: Random
) -> None:
    table = random_streams(chance, 3)
    found = outcome(in_pieces, spec, table, chance, endless_rows_engine(spec))
    assert_same_rows(found, outcome(rows, spec, table), spec, table)


@fewer(2)
@given(mixed_specs() | mixed_specs().map(short), st.randoms(use_true_random=False))
def test_rows_under_a_watermark_are_those_of_a_batch(spec: tree.Spec, chance: Random) -> None:
    table = random_streams(chance, 3)
    found, expected = (
        outcome(in_batches, spec, table, chance, rows_engine(spec)),
        outcome(rows, spec, table),
    )
    if isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        order = [("window_id", "ascending"), ("event_index", "ascending")]
        expected = expected.drop_columns(["row_index"]).sort_by(order).combine_chunks()
        assert_same(found.sort_by(order).combine_chunks(), expected)
    else:
        assert_same_arrivals(found, expected, spec)


def test_a_processor_gives_rows() -> None:
    spec = "stream s (x int) window w match [x = 1]+ [x = 2] within 3 events keep longest"
    processor = wex.Processor(spec, rows=True)
    assert processor.feed({"x": [1, 1, 1]}).num_rows == 0
    saved = processor.state()
    found = wex.Processor.restore(spec, saved, rows=True).feed({"x": [2], "y": [0]})
    assert found.to_pylist() == [
        {"window_name": "w", "window_id": "w/1-3", "start_index": 1, "end_index": 3, "event_index": index, "x": x}
        for index, x in ((1, 1), (2, 1), (3, 2))
    ]  # fmt: skip
    with pytest.raises(wex.StateError, match="saved with rows=True"):
        wex.Processor.restore(spec, saved)
    with pytest.raises(wex.StateError, match="saved without rows=True"):
        wex.Processor.restore(spec, wex.Processor(spec).state(), rows=True)


def test_endless_streams_need_windows_of_a_bounded_length() -> None:
    spec = "stream s (x int) window v match any within 3 events window w match [x = 1]+ [x = 2]"
    with pytest.raises(wex.WexError) as caught:
        wex.Processor(spec, rows=True)
    assert caught.value.code == "rows-unbounded"
    assert "window `w`" in caught.value.message
    assert "within 1000 events" in str(caught.value.hint)


@fewer(8)
@given(mixed_specs(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_rows_do_not_depend_on_the_pieces_in_which_they_are_made(
    spec: tree.Spec, chance: Random, size: int
) -> None:
    table = random_streams(chance, 3)
    whole, labels = outcome(rows, spec, table), outcome(wex.label, spec, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_rows, "PIECE", size)
        patch.setattr("wex.engine.membership.PIECE", size)
        assert_same(outcome(rows, spec, table), whole)
        again = outcome(wex.label, spec, table)
    if isinstance(labels, pa.Table) and isinstance(again, pa.Table):
        assert again["window_ids"].to_pylist() == labels["window_ids"].to_pylist()


def test_a_state_without_the_events_of_an_open_window_is_damaged() -> None:
    spec = wex.parse("stream s (x int) window w match [x = 1]+ [x = 2]")
    engine = rows_engine(spec)
    running = RunningStreams(engine)
    running.feed({"x": [1, 1, 1]})
    saved = running.everything()
    assert saved.tail_counts.tolist() == [3]
    assert read_state(running.saved(), engine).tail_counts.tolist() == [3]
    tail = saved.tails.slice(2)
    counts = saved.streams.column_names.index("#tail")
    short = saved.streams.set_column(counts, "#tail", pa.array([1]))
    forged = RunningStreams(engine)
    forged.resume(replace(saved, streams=short, lists={**saved.lists, "tail": tail}))
    with pytest.raises(wex.StateError, match="events of open windows are missing"):
        RunningStreams(engine, forged.saved())


# --- Cases


def test_rows_lead_back_to_the_data() -> None:
    found = wex.find(f"{SPEC} window w match [x > 0]{{2}} measure sum(x) as total", DATA, rows=True)
    assert found.to_pylist() == [
        {
            "k": "b", "window_name": "w", "window_id": f"b/w/{start}-{start + 1}", "start_index": start, "end_index": start + 1,
            "window_start": start + 1, "window_end": start + 2, "event_index": index, "row_index": row,
            "t": index + 1, "x": index + 4, "total": total,
        }
        for start, index, row, total in ((0, 0, 2, 9), (0, 1, 0, 9), (1, 1, 0, 11), (1, 2, 4, 11))
    ]  # fmt: skip


def test_skipped_rows_belong_to_no_window() -> None:
    labels = wex.label(f"{SPEC} window w match [x > 0]", DATA)
    assert labels.column_names == [*DATA, "window_count", "window_names", "window_ids"]
    assert labels["window_count"].to_pylist() == [1, 1, 1, 0, 1]
    assert labels["window_ids"].to_pylist() == [
        ["b/w/1-1"],
        ["a/w/0-0"],
        ["b/w/0-0"],
        [],
        ["b/w/2-2"],
    ]


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["a/b", "a", "a\\", None, "\\N"], ["a\\/b", "a", "a\\\\", "\\N", "\\\\N"]),
        ([0.0, -0.0, 1.5, None, float("nan")], ["0", "0", "1.5", "\\N", "nan"]),
        ([True, False, None, True, True], ["true", "false", "\\N", "true", "true"]),
    ],
)
def test_every_key_has_ids_of_its_own(keys: list[object], expected: list[str]) -> None:
    type_ = {str: "string", float: "real", bool: "bool"}[type(keys[0])]
    spec = f"stream s (k {type_}, n int) partition by k order by n window w match any"
    found = wex.label(spec, {"k": keys, "n": range(5)})["window_ids"].to_pylist()
    assert [own[0].rpartition("/w/")[0] for own in found] == expected


@pytest.mark.parametrize(
    ("spec", "data", "column", "hint"),
    [
        ("stream s (x int) window w match any measure max(x) as x", {"x": [1]}, "x", "another name"),
        ("stream s (x int) window w match any measure max(x) as y", {"x": [1], "y": [2]}, "y", "drop the column"),
        ("stream s (x int) window w match any", {"x": [1], "window_id": [2]}, "window_id", "rename the column"),
        ("stream s (start_index int) window w match any", {"start_index": [1]}, "start_index", "rename the column"),
        ("stream s (x int) window w match any measure max(x) as event_index", {"x": [1]}, "event_index", "another name"),
    ],
)  # fmt: skip
def test_a_clash_of_names_is_an_error(
    spec: str, data: dict[str, object], column: str, hint: str
) -> None:
    with pytest.raises(wex.DataError) as caught:
        wex.find(spec, data, rows=True)
    assert (caught.value.code, caught.value.column) == ("column-clash", column)
    assert hint in str(caught.value.hint)
    assert wex.find(spec, data).num_rows == 1


def test_labels_clash_only_with_their_own_columns() -> None:
    spec = "stream s (`#` int) window w match any"
    assert wex.label(spec, {"#": [1], "##": [2], "row_index": [3]})["window_count"].to_pylist() == [
        1
    ]
    with pytest.raises(wex.DataError, match="window_ids") as caught:
        wex.label(spec, {"#": [1], "window_ids": [2]})
    assert caught.value.code == "column-clash"


def test_two_columns_of_one_name_are_an_error() -> None:
    table = pa.table([[1], [2], [3]], names=["x", "y", "y"])
    with pytest.raises(wex.DataError, match="2 columns called `y`"):
        wex.find("stream s (x int) window w match any", table, rows=True)


def test_rows_have_a_limit() -> None:
    spec, data = "stream s (x int) window w match any+", {"x": range(50)}
    with wex.limits.raised(rows=1000):
        with pytest.raises(wex.LimitError, match="22,100") as caught:
            wex.find(spec, data, rows=True)
        assert caught.value.code == "limit-rows"
        with pytest.raises(wex.LimitError, match="22,100"):
            wex.label(spec, data)
    assert wex.find(spec, data, rows=True).num_rows == 22_100


@pytest.mark.parametrize("ordered", [True, False])
def test_files_have_the_same_rows(tmp_path: Path, ordered: bool) -> None:
    spec = f"""{SPEC} window w match any{{2,3}} measure sum(x) as total
      window v match [x > 0] any*? [x % 2 = 0] keep leftmost sharing 1 event"""
    count = 400
    data = pa.table({
        "k": [f"k{number % 3}" for number in range(count)],
        "t": [number if ordered else -number for number in range(count)],
        "x": [number * 7 % 11 if number % 13 else None for number in range(count)],
    })  # fmt: skip
    parquet.write_table(data, tmp_path / "data.parquet", row_group_size=50)
    expected = wex.find(spec, data, rows=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wex.engine.files.reading.BATCH", 37)
        found = wex.find_in_file(spec, tmp_path / "data.parquet", rows=True)
    assert found.equals(expected)
    own = wex.find_in_file(spec, tmp_path / "data.parquet", rows=True, where_key={"k": "k1"})
    assert own.equals(expected.filter(pa.compute.equal(expected["k"], "k1")))


# --- Labels


@fewer(2)
@given(labelled_specs(), words, st.sets(st.integers(1, 10), max_size=3))
def test_rows_show_the_labels_of_the_definition_in_any_pieces(
    spec: tree.Spec, word: Word, cuts: set[int]
) -> None:
    windows = [replace(window, measures=(), having=None) for window in spec.windows]
    spec = wex.parse(str(replace(spec, windows=tuple(windows), source=None)))
    data = labelled_table(word)
    found, expected = rows(spec, data), rows_by_definition(spec, data)
    assert found.to_pylist() == expected.to_pylist()
    streams, parts = RunningStreams(rows_engine(spec)), []
    for begin, end in pairwise([0, *sorted(cut for cut in cuts if cut < len(word)), len(word)]):
        parts += streams.feed(data.slice(begin, end - begin)).to_pylist()
    parts += streams.close().to_pylist()
    assert sorted(map(place, parts)) == sorted(map(place, expected.to_pylist()))


def place(row: dict[str, object]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in ("window_id", "event_index", "label"))


def test_a_column_called_label_clashes_only_with_labels() -> None:
    data = {"x": [1, 2], "label": ["a", "b"]}
    assert wex.find("stream s (x int) window w match any", data, rows=True).num_rows == 2
    with pytest.raises(wex.DataError, match="label"):
        wex.find("stream s (x int) window w match l:any", data, rows=True)
