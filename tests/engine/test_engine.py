"""The engine gives what the definition gives: on any spec, any streams, however they are cut."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import (
    assert_as_defined,
    assert_same,
    assert_same_streams,
    find_moving,
    outcome,
)
from tests.strategies import fewer, specs, streams
from tests.strategies.specs import pair_specs, with_scales
from tests.strategies.streams import some_events
from wex.engine.engine import engine_of
from wex.engine.input.prepare import PreparedInput
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.spec.vocabulary import PREFERENCE
from wex.theory.evaluate import Event


@given(pair_specs, some_events, st.data())
def test_every_way_to_run_is_the_definition(
    spec: tree.Spec, events: list[Event], data: st.DataObject
) -> None:
    """One law for all ways: `find`, the machine that moves lists, and a processor, however cut."""
    table = streams.table(events)
    found, expected = outcome(wex.find, spec, table), outcome(find_by_definition, spec, table)
    assert_as_defined(found, expected, spec)
    assert_same(outcome(find_moving, spec, table), found)
    ordered = PreparedInput(engine_of(spec), table).table if table.num_rows else table
    by_time = ordered.sort_by([("ts", "ascending")]) if ordered.num_rows else ordered
    assert_same_streams(outcome(run_cut, spec, by_time, data), found, spec, table)


@given(specs.specs(most=1).map(with_scales), st.lists(streams.events, max_size=5))
def test_find_is_the_definition_of_formulas(spec: tree.Spec, events: list[Event]) -> None:
    table = streams.table(events)
    try:
        with wex.limits.raised(subsets=33):
            expected = outcome(find_by_definition, spec, table)
            found = outcome(wex.find, spec, table)
    except wex.LimitError:
        return
    assert_as_defined(found, expected, spec)


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


@fewer(2)
@given(pair_specs, some_events)
def test_windows_are_reported_without_delay(spec: tree.Spec, events: list[Event]) -> None:
    """The 0-delay law: a window is returned by the very feed whose event decides about it."""
    late = {window.name.text for window in spec.windows if window.until or window.runs}
    by_preference = {
        window.name.text
        for window in spec.windows
        if window.keep and window.keep.text in PREFERENCE
    }
    processor, seen = wex.Processor(spec), dict[object, int]()
    table = streams.table(sorted(events, key=lambda event: event["ts"] or 0))
    try:
        ordered = PreparedInput(engine_of(spec), table).table.sort_by([("ts", "ascending")])
        for row in range(ordered.num_rows):
            one = ordered.slice(row, 1)
            (key,) = one["key"].to_pylist()
            found = processor.feed(one)
            for window in found.to_pylist():
                assert window["key"] == key
                if window["window_name"] in by_preference:
                    continue  # reported when it is decided
                assert window["end_index"] + (window["window_name"] in late) == seen.get(key, 0)
            seen[key] = seen.get(key, 0) + 1
    except wex.DataError as error:
        assert_same_streams(error, outcome(wex.find, spec, table), spec, table)
