"""Windows whose automata are traced side by side are those of the definition, in every way to run them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, find_by
from tests.engine.test_machines import in_pieces
from tests.engine.ways import in_ranges
from tests.strategies.long_streams import (
    COUNTED,
    STREAM,
    Recipe,
    bounded,
    keeps,
    limits,
    prefixes,
    recipes,
    singles,
    untils,
)
from tests.strategies.specs import with_scales
from wex.engine import engine as running
from wex.engine.engine import Engine, engine_of
from wex.engine.eval import comparing
from wex.engine.machines import lanes
from wex.reference.find import find_by_definition
from wex.stages import plan_of

FALLS = "(x[-2] > x[-1] and x[-1] > x)"
# Few starts at a time, and lookbacks of several lengths: the windows of a stream begin at different rows.
trends = st.sampled_from(
    [
        f"after any* [{FALLS}] match [x > x[-1]] [not {FALLS}]* [{FALLS}]",
        "after any* [x = x[-1]] match [x != x[-1]]+ [x = x[-1]]",
        "match [x > x[-1]] [x <= x[-1] and x[-5] < 4]* [x > x[-1] and ok]",
        "match [is_first or x = 0] [x != 0]*",
    ]
)
pairs = trends | st.builds("{} match {}".format, prefixes, singles | bounded)


@st.composite
def several_windows(draw: st.DrawFn) -> str:
    """Return the text of a spec with two to six windows."""
    windows = [
        f"window w{number} {draw(pairs)} {draw(untils)} {draw(limits)} measure {COUNTED} {draw(keeps)}"
        for number in range(draw(st.integers(2, 6)))
    ]
    return STREAM + "\n".join(windows)


@contextmanager
def side_by_side(always: bool = True) -> Iterator[None]:
    """Trace all batches side by side, and compare columns by the kernel; or do neither."""
    least = 0 if always else 1 << 62
    with (
        patch.object(lanes, "LEAST", least),
        patch.object(lanes, "LENGTH", 0),
        patch.object(comparing, "LEAST", least),
    ):
        yield


def in_order(windows: pa.Table) -> pa.Table:
    """Return windows by name, stream, end and start: batches report them in another order."""
    names = ("window_name", "k", "end_index", "start_index")
    return windows.sort_by([(name, "ascending") for name in names]).combine_chunks()


@settings(max_examples=40)
@given(several_windows(), recipes)
def test_all_windows_are_those_of_the_definition(text: str, recipe: Recipe) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    with side_by_side():
        assert_same(wex.find(spec, table), find_by_definition(spec, table))


@settings(max_examples=40)
@given(several_windows(), recipes, st.lists(st.integers(0, 160), max_size=6))
def test_every_cut_gives_the_same(text: str, recipe: Recipe, cuts: list[int]) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    with side_by_side():
        found = in_pieces(spec, table, cuts)
    assert_same(in_order(found), in_order(find_by_definition(spec, table)))


@settings(max_examples=40)
@given(several_windows(), recipes, st.integers(0, 2**32))
def test_ranges_give_the_same(text: str, recipe: Recipe, seed: int) -> None:
    spec, table = with_scales(wex.parse(text)), recipe.table()
    with side_by_side():
        found = in_ranges(spec, table, Random(seed))
    assert_same(found, find_by_definition(spec, table))


def test_the_strategy_reaches_every_form_of_a_lane() -> None:
    """Keep the laws above honest: two to four lanes, codes that are symbols and codes that are mapped."""
    sizes: set[int] = set()
    maps: set[bool] = set()

    @given(several_windows())
    def look(text: str) -> None:
        for group in engine_of(wex.parse(text))._lane_groups:
            sizes.add(len(group.windows))
            maps.update(group.lanes.maps[: len(group.windows)].tolist())

    look()
    assert sizes == {2, 3, 4}
    assert maps == {False, True}


LONG = f"""
stream s (k int, x real, ok bool) partition by k
window trend after any* [{FALLS}] match [x > x[-1]] [not {FALLS}]* [{FALLS}] measure sum(x) as total
window same  match [x = x[-1]] [x != x[-1]]* [x = x[-1]] within 9 events
window high  match [x > 2 and ok and x[-1] > 0] [x <= 2 or not ok]* until [x > 2 and ok] or end
window low   match [x < 0] [x >= 0]* [x < 0]
window rest  match [x > x[-3]] [x <= x[-3]]
"""


@pytest.mark.parametrize("sizes", [[30_001], [4097, 1, 4099, 2, 3, 20_000, 5, 6], [70] * 400])
def test_blocks_and_borders_of_streams(sizes: list[int]) -> None:
    random = np.random.default_rng(len(sizes))
    rows = sum(sizes)
    table = pa.table({
        "k": np.repeat(np.arange(len(sizes)), sizes),
        "x": random.integers(-3, 4, rows) / 2,
        "ok": random.random(rows) < 0.5,
    })  # fmt: skip
    spec = wex.parse(LONG)
    engine = Engine(plan_of(spec))
    assert [len(group.windows) for group in engine._lane_groups] == [2, 3]
    with side_by_side(False):
        expected = find_by(engine, table)
    with side_by_side():
        assert_same(find_by(engine, table), expected)
        assert_same(wex.find(spec, table, threads=2), expected)
        processor, parts, row = wex.Processor(spec), [], 0
        while row < rows:
            size = int(random.integers(1, 9000))
            parts.append(processor.feed(table.slice(row, size)))
            row += size
        parts.append(processor.close())
    assert_same(in_order(pa.concat_tables(parts)), in_order(expected))


@pytest.mark.parametrize(
    ("rows", "streams", "expected"),
    [(1 << 14, 1, True), (1 << 13, 1, False), (1 << 20, 1 << 14, True), (1 << 20, 1 << 15, False)],
)
def test_short_batches_and_short_streams_are_traced_alone(
    rows: int, streams: int, expected: bool
) -> None:
    assert lanes.pays(rows, streams) == expected


@pytest.mark.parametrize(
    ("count", "sizes"), [(1, []), (2, [2]), (4, [4]), (5, [2, 3]), (8, [4, 4]), (9, [3, 3, 3])]
)
def test_groups_have_nearly_the_same_size(count: int, sizes: list[int]) -> None:
    windows = "".join(
        f"window w{at} match [x = {at}] [x != {at}]* [x = {at}]\n" for at in range(count)
    )
    engine = engine_of(wex.parse(f"stream s (x int)\n{windows}"))
    assert [len(group.windows) for group in engine._lane_groups] == sizes


def test_names_of_many_windows() -> None:
    names = ["`é`", "w", "a_name_of_more_than_sixteen_bytes", "`two words`"]
    windows = "".join(f"window {name} match [x = {at}]\n" for at, name in enumerate(names))
    spec = f"stream s (x int)\n{windows}"
    table = {"x": np.random.default_rng(1).integers(0, 5, 20_000)}
    found = wex.find(spec, table)
    assert found.num_rows > 4 * running.MANY // 2
    with patch.object(running, "MANY", 1 << 62):
        assert wex.find(spec, table) == found
    found.validate(full=True)
    expected = [names[x].strip("`") for x in table["x"] if x < len(names)]
    assert found["window_name"].to_pylist() == expected
