"""Pieces of a sorted table give what the whole table gives."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import (
    assert_same,
    in_window_order,
    judges_by_batch,
    outcome,
    prefers,
)
from tests.strategies import streams
from tests.strategies.specs import pair_specs
from tests.strategies.streams import some_events
from wex.engine.engine import engine_of
from wex.engine.input.prepare import PreparedInput
from wex.engine.sorted_scan import SortedScan
from wex.spec import tree
from wex.theory.evaluate import Event


@given(pair_specs, some_events, st.data())
def test_pieces_give_what_the_whole_gives(
    spec: tree.Spec, events: list[Event], data: st.DataObject
) -> None:
    table, engine = streams.table(events), engine_of(spec)
    table = PreparedInput(engine, table).table
    found, expected = outcome(swept, spec, table, data), outcome(wex.find, spec, table)
    if prefers(spec) and isinstance(found, pa.Table) and isinstance(expected, pa.Table):
        # A window by preference comes with the piece in which it is decided.
        found, expected = in_window_order(found), in_window_order(expected)
    errors = isinstance(found, wex.DataError) or isinstance(expected, wex.DataError)
    if not (errors and judges_by_batch(spec)):
        assert_same(found, expected)


def swept(spec: tree.Spec, table: pa.Table, data: st.DataObject) -> pa.Table:
    sweep, row = SortedScan(engine_of(spec)), 0
    parts: list[pa.Table] = []
    while row < table.num_rows or not parts:
        size = data.draw(st.integers(0, 5))
        parts.append(sweep.feed(table.slice(row, size)))
        row += size
    last = sweep.close()
    return pa.concat_tables(parts if last is None else [*parts, last]).combine_chunks()


def test_keys_that_come_back_are_an_error() -> None:
    spec = wex.parse("stream s (k int, x int) partition by k window w match any")
    sweep = SortedScan(engine_of(spec))
    sweep.feed({"k": [1, 2], "x": [1, 1]})
    assert sweep.feed({"k": [2, 3], "x": [1, 1]}).num_rows == 2
    with pytest.raises(wex.DataError) as caught:
        sweep.feed({"k": [1], "x": [1]})
    assert (caught.value.code, caught.value.key) == ("interleaved", (1,))
