"""Guards compared by the kernel have the codes that they have step by step, on all columns."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.tables import batch_of
from tests.strategies import specs, streams
from wex.engine.engine import Engine, engine_of
from wex.engine.eval import comparing
from wex.engine.kernels import comparing as kernel
from wex.spec import tree
from wex.stages import plan_of
from wex.theory.evaluate import Event


def both(engine: Engine, table: pa.Table, sizes: list[int]) -> tuple[list[list[int]], ...]:
    """Return the codes of each window, by the kernel and step by step."""
    found = []
    for least in (0, 1 << 62):
        with patch.object(comparing, "LEAST", least):
            found.append([codes.tolist() for codes in engine.codes(batch_of(table, sizes))])
    return tuple(found)


@given(
    specs.specs(running=False),
    st.lists(st.lists(streams.events, min_size=1, max_size=5), min_size=1, max_size=4),
)
def test_codes_do_not_depend_on_the_way_they_are_read(
    spec: tree.Spec, words: list[list[Event]]
) -> None:
    engine = Engine(plan_of(spec))
    table = streams.table([event for word in words for event in word])
    found: list[object] = []
    for least in (0, 1 << 62):
        with patch.object(comparing, "LEAST", least):
            try:
                windows = engine.codes(batch_of(table, [len(word) for word in words]))
                first = [window.first for window in engine.windows]
                # Before its first gram a window reads nothing.
                found.append(
                    [
                        code
                        for codes, begin in zip(windows, first, strict=True)
                        for code, position in zip(
                            codes.tolist(), [at for w in words for at in range(len(w))], strict=True
                        )
                        if position >= begin
                    ]
                )
            except wex.DataError as error:
                found.append((error.code, str(error)))
    assert found[0] == found[1]


MANY = """
stream s (x real, y real, n int, m int)
let a = x > x[-1] and not (y <= x[-2] or n = 3)
let b = n[-1] < m or 2 >= x or m != n[-3] and x[-1] = y
window one match a b
window two match [n >= -1] [not a]
window three match [x < 0.5]+ [n > m[-1]]
"""


@pytest.mark.parametrize("sizes", [[20_000], [1, 2, 3, 9_994, 10_000], [10] * 2000])
def test_slices_streams_and_operators(sizes: list[int]) -> None:
    random = np.random.default_rng(1)
    rows = sum(sizes)
    reals = {name: random.integers(-2, 3, rows) / 2 for name in "xy"}
    table = pa.table({**reals, **{name: random.integers(-2, 4, rows) for name in "nm"}})
    engine = engine_of(wex.parse(MANY))
    assert rows > 4 * kernel.SLICE
    by_kernel, by_steps = both(engine, table, sizes)
    positions = np.concatenate([np.arange(size) for size in sizes])
    for window, one, other in zip(engine.windows, by_kernel, by_steps, strict=True):
        used = positions >= window.first
        assert (np.array(one)[used] == np.array(other)[used]).all()


@pytest.mark.parametrize("bad", [0, 1, kernel.SLICE - 1, kernel.SLICE, 19_999])
def test_a_nan_is_the_same_error(bad: int) -> None:
    x = np.zeros(20_000)
    x[bad] = np.nan
    errors = []
    for least in (0, 1 << 62):
        with patch.object(comparing, "LEAST", least), pytest.raises(wex.DataError) as caught:
            wex.find("stream s (x real) window w match [x > x[-1]]", {"x": x})
        errors.append((caught.value.code, str(caught.value)))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("nulls", ["", " nulls skip"])
def test_columns_with_null_say_what_they_say_step_by_step(nulls: str) -> None:
    spec = wex.parse(f"stream s (x real, n int){nulls} window w match [x > x[-1]] [n = 1 or x > 0]")
    x = pa.array([None if at % 7 == 3 else at % 5 for at in range(20_000)], pa.float64())
    found: list[object] = []
    for least in (0, 1 << 62):
        with patch.object(comparing, "LEAST", least):
            try:
                found.append(wex.find(spec, {"x": x, "n": np.arange(20_000) % 3}))
            except wex.DataError as error:
                found.append((error.code, str(error)))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("match", "plain"),
    [
        ("[x > 1]", True),
        ("[n < 9007199254740993]", True),
        ("[x < 9007199254740993]", True),  # a constant beside a real is the nearest float
        ("[n > x]", False),
        ("[x + 1 > x[-1]]", False),
        ("[t = 'a']", False),
        ("[abs(x) > 1]", False),
        ("any", False),  # no guard
    ],
)
def test_which_guards_are_compared_by_the_kernel(match: str, plain: bool) -> None:
    engine = engine_of(wex.parse(f"stream s (x real, n int, t string) window w match {match}"))
    assert (engine._lettering._comparing is not None) == plain
