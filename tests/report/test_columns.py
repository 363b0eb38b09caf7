"""Packed columns are what was packed, bit for bit."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wex.report.columns import MOST_CHARACTERS, Columns, unpacked


def round_trip(column: Any) -> list[object]:
    columns = Columns()
    columns.put("before", np.arange(3))  # so that places do not begin at 0
    columns.put("x", column)
    return unpacked(columns.packed())["x"]


def same(one: object, two: object) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return (math.isnan(one) and math.isnan(two)) or (
            one == two and math.copysign(1, one) == math.copysign(1, two)
        )
    return one == two


@given(
    st.lists(st.one_of(st.none(), st.floats(), st.integers(-(10**9), 10**9).map(lambda n: n / 100)))
)
def test_reals(values: list[float | None]) -> None:
    back = round_trip(pa.array(values, pa.float64()))
    assert all(map(same, back, values))
    assert len(back) == len(values)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53))))
def test_whole_numbers(values: list[int | None]) -> None:
    assert round_trip(pa.array(values, pa.int64())) == values


@given(st.lists(st.one_of(st.none(), st.text(max_size=20))))
def test_texts(values: list[str | None]) -> None:
    assert round_trip(pa.array(values, pa.string())) == values


def test_whole_numbers_that_javascript_does_not_have_are_texts() -> None:
    assert round_trip(pa.array([2**60, 1])) == [str(2**60), "1"]


def test_long_texts_are_cut() -> None:
    assert round_trip(pa.array(["a" * 1000])) == ["a" * MOST_CHARACTERS + "…"]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([True, None, False]), [1, None, 0]),
        (pa.array([date(1970, 1, 2)]), [86_400_000_000]),
        (pa.array([datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)]), [1_000_000]),
        (pa.array([timedelta(milliseconds=1)], pa.duration("ms")), [1000]),
        (pa.array([[1, 2], None], pa.list_(pa.int64())), ["[1, 2]", None]),
        (pa.chunked_array([[1], [2]]), [1, 2]),
        (pa.chunked_array([], pa.string()), []),
    ],
)
def test_other_types(values: Any, expected: list[object]) -> None:
    assert round_trip(values) == expected
