"""Every machine gives the windows of the definition on streams of hundreds of events."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same
from tests.strategies.long_streams import Recipe, recipes, window_specs
from tests.strategies.specs import with_scales
from wex.engine.engine import Engine
from wex.engine.input import batch
from wex.engine.input.prepare import PreparedInput
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
        patch.setattr(choose, "ROOM", 3)
        assert_same(run(Engine(plan_of(spec)), table), expected)
        assert_same(run(Engine(plan_of(spec), most_configs=1), table), expected)


def run(engine: Engine, table: pa.Table) -> pa.Table:
    arriving = PreparedInput(engine, table)
    prior = engine.fresh(len(arriving.starts))
    return engine.run(arriving.batch(prior), prior, last=True)[0]


@given(window_specs(), recipes, st.lists(st.integers(0, 160), max_size=6))
def test_every_cut_of_a_long_stream_gives_the_same(
    text: str, recipe: Recipe, cuts: list[int]
) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    processor, parts = wex.Processor(spec), []
    for begin, end in pairwise([0, *sorted(cuts), recipe.rows]):
        parts.append(processor.feed(table.slice(begin, max(0, end - begin))))
        restored = wex.Processor.restore(spec, processor.state())
        assert restored.state() == processor.state()
        processor = restored
    windows = pa.concat_tables([*parts, processor.close()])
    assert_same(by_stream(windows), by_stream(wex.find(spec, table)))


def by_stream(windows: pa.Table) -> pa.Table:
    """Return the windows stream by stream, those of a stream in the order of the report."""
    numbered = windows.append_column("#", pa.array(range(windows.num_rows)))
    ordered = numbered.sort_by([("k", "ascending"), ("#", "ascending")])
    return ordered.drop_columns(["#"]).combine_chunks()


def test_the_strategy_reaches_every_machine() -> None:
    """Keep the laws above honest: all kinds of machines are among their specs."""
    kinds: set[str] = set()

    @given(window_specs())
    def look(text: str) -> None:
        spec: tree.Spec = wex.parse(text)
        kinds.update(window.machine.kind for window in Engine(plan_of(spec)).windows)

    look()
    assert kinds == {"registers", "configs", "sliding", "moving"}


def test_kernels_stay_inside_their_arrays() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-m", "tests.engine.interpreted"], check=True, env=environment)
