"""Every machine gives the windows of the definition on streams of hundreds of events."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, find_by
from tests.strategies.long_streams import COUNTED, FORMS, STREAM, Recipe, recipes, window_specs
from tests.strategies.specs import with_scales
from wex.engine.engine import Engine
from wex.engine.input import batch
from wex.engine.machines import choose
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.stages import plan_of


@given(window_specs(), recipes)
def test_a_machine_is_the_definition(text: str, recipe: Recipe) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    assert_same(wex.find(spec, table), find_by_definition(spec, table))


@given(window_specs(), recipes)
def test_small_blocks_and_moving_lists_give_the_same(text: str, recipe: Recipe) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    expected = wex.find(spec, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batch, "BLOCK", 50)
        patch.setattr(choose, "BLOCK", 7)
        patch.setattr(choose, "first_room", lambda _, **__: 1)
        assert_same(find_by(Engine(plan_of(spec)), table), expected)
        assert_same(find_by(Engine(plan_of(spec), most_configs=1), table), expected)


@given(window_specs(), recipes, st.lists(st.integers(0, 160), max_size=6))
def test_every_cut_of_a_long_stream_gives_the_same(
    text: str, recipe: Recipe, cuts: list[int]
) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    assert_same(by_stream(in_pieces(spec, table, cuts)), by_stream(wex.find(spec, table)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "keep",
    [
        "all",
        "shortest",
        "longest",
        "disjoint",
        "preferred",
        "leftmost",
        "leftmost sharing 2 events",
    ],
)
@pytest.mark.parametrize("limit", ["", "within 3 events", "within 6 seconds"])
@pytest.mark.parametrize("until", ["", "until [x = 0]", "until [ok] or end"])
@settings(max_examples=6)
@given(data=st.data(), recipe=recipes, cuts=st.lists(st.integers(0, 160), max_size=4))
def test_clauses_together(
    until: str,
    limit: str,
    keep: str,
    form: str,
    data: st.DataObject,
    recipe: Recipe,
    cuts: list[int],
) -> None:
    text = f"{STREAM}window w match {data.draw(FORMS[form])} {until} {limit} measure {COUNTED} keep {keep}"
    spec, table = with_scales(wex.parse(text)), recipe.table()
    expected = find_by_definition(spec, table)
    assert_same(wex.find(spec, table), expected)
    assert_same(by_stream(in_pieces(spec, table, cuts)), by_stream(expected))


def in_pieces(spec: tree.Spec, table: pa.Table, cuts: list[int]) -> pa.Table:
    """Return the windows of a table that a Processor reads in pieces, restored after each of them."""
    processor, parts = wex.Processor(spec), []
    for begin, end in pairwise([0, *sorted(cuts), table.num_rows]):
        parts.append(processor.feed(table.slice(begin, max(0, end - begin))))
        restored = wex.Processor.restore(spec, processor.state())
        assert restored.state() == processor.state()
        processor = restored
    return pa.concat_tables([*parts, processor.close()])


def by_stream(windows: pa.Table) -> pa.Table:
    """Return the windows of one name stream by stream, those of a stream by end and start.

    A window by preference is reported when it is decided, not in this order.
    """
    names = ("k", "end_index", "start_index")
    return windows.sort_by([(name, "ascending") for name in names]).combine_chunks()


def test_the_strategy_reaches_every_machine() -> None:
    """Keep the laws above honest: all kinds of machines are among their specs."""
    kinds: set[str] = set()

    @settings(max_examples=200)
    @given(window_specs())
    def look(text: str) -> None:
        spec: tree.Spec = wex.parse(text)
        kinds.update(window.machine.kind for window in Engine(plan_of(spec)).windows)

    look()
    assert kinds == {"registers", "configs", "sliding", "moving", "preferred"}


def test_kernels_stay_inside_their_arrays() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-m", "tests.engine.interpreted"], check=True, env=environment)
