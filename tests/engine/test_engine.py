"""The engine gives what the definition gives: on any spec, any streams, however they are cut."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, with_scales
from tests.strategies import specs, streams
from wex.engine.engine import Engine, engine_of
from wex.engine.input.prepare import Arriving
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.stages import plan_of as planned
from wex.theory.evaluate import Event

pair_specs = specs.specs(formulas_too=False, most=3).map(with_scales)
some_events = st.lists(streams.events, max_size=10) | st.lists(streams.gappy_events, max_size=10)


@given(pair_specs, some_events)
def test_find_is_the_definition(spec: tree.Spec, events: list[Event]) -> None:
    table = streams.table(events)
    try:
        expected = find_by_definition(spec, table)
    except wex.DataError as error:
        with pytest.raises(wex.DataError) as caught:
            wex.find(spec, table)
        assert_like(caught.value, error)
    else:
        assert_same(wex.find(spec, table), expected)


@given(specs.specs(most=1).map(with_scales), st.lists(streams.events, max_size=5))
def test_find_is_the_definition_of_formulas(spec: tree.Spec, events: list[Event]) -> None:
    table = streams.table(events)
    try:
        with wex.limits.raised(subsets=33):
            expected = find_by_definition(spec, table)
            found = wex.find(spec, table)
    except (wex.DataError, wex.LimitError):
        return
    assert_same(found, expected)


def assert_like(found: wex.DataError, expected: wex.DataError) -> None:
    """Check that two errors tell the same, of several faults too.

    Where several guards fail at one event, their order may differ, and so may the column.
    """
    assert (found.code, found.key, found.position) == (
        expected.code,
        expected.key,
        expected.position,
    )
    assert found.column == expected.column or found.code == "arithmetic"


@given(pair_specs, some_events)
def test_one_config_is_enough(spec: tree.Spec, events: list[Event]) -> None:
    table = streams.table(events)
    try:
        expected = wex.find(spec, table)
    except wex.DataError:
        return
    engine = Engine(planned(spec), most_configs=1)
    arriving = Arriving(engine, table)
    prior = engine.fresh(len(arriving.starts))
    found, _ = engine.run(arriving.batch(prior), prior, last=True)
    assert_same(found, expected)


def in_stream_order(table: pa.Table) -> pa.Table:
    """Return windows stream by stream, those of one stream as they were reported."""
    rows = table.append_column("#", pa.array(range(table.num_rows)))
    keys = [("known", "ascending"), ("key", "ascending"), ("#", "ascending")]
    marked = rows.append_column("known", rows["key"].is_valid())
    return marked.sort_by(keys).drop_columns(["#", "known"]).combine_chunks()


@given(pair_specs, some_events, st.data())
def test_every_cut_gives_the_same(
    spec: tree.Spec, events: list[Event], data: st.DataObject
) -> None:
    table = streams.table(sorted(events, key=lambda event: event["ts"] or 0))
    engine = Engine(planned(spec))
    ordered = Arriving(engine, table).table if table.num_rows else table
    by_time = ordered.sort_by([("ts", "ascending")]) if ordered.num_rows else ordered
    try:
        expected = wex.find(spec, table)
    except wex.DataError:
        with pytest.raises(wex.DataError):
            run_cut(spec, by_time, data)
        return
    assert_same(in_stream_order(run_cut(spec, by_time, data)), in_stream_order(expected))


def run_cut(spec: tree.Spec, table: pa.Table, data: st.DataObject) -> pa.Table:
    """Feed a table in pieces, the state saved and restored now and then."""
    processor = wex.Processor(spec)
    parts, row = [], 0
    while row < table.num_rows:
        size = data.draw(st.integers(1, 4), label="size")
        parts.append(processor.feed(table.slice(row, size)))
        row += size
        if data.draw(st.booleans(), label="restored"):
            processor = wex.Processor.restore(spec, processor.state())
    return pa.concat_tables([*parts, processor.close()]).combine_chunks()


@given(pair_specs, some_events)
def test_windows_are_reported_without_delay(spec: tree.Spec, events: list[Event]) -> None:
    """The 0-delay law: a window is returned by the very feed whose event decides about it."""
    late = {window.name.text for window in spec.windows if window.until}
    processor, seen = wex.Processor(spec), dict[object, int]()
    table = streams.table(sorted(events, key=lambda event: event["ts"] or 0))
    try:
        ordered = Arriving(engine_of(spec), table).table.sort_by([("ts", "ascending")])
        for row in range(ordered.num_rows):
            one = ordered.slice(row, 1)
            (key,) = one["key"].to_pylist()
            found = processor.feed(one)
            for window in found.to_pylist():
                assert window["key"] == key
                assert window["end_index"] + (window["window_name"] in late) == seen.get(key, 0)
            seen[key] = seen.get(key, 0) + 1
    except wex.DataError:
        return
