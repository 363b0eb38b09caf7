"""Sorting of events: by comparing rows, and by counting keys where the rest is in order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from wex.engine.input import sorting
from wex.spec.types import INT, REAL, STRING, Type

KEYS = {
    "text": st.sampled_from(["", "a", "ab", "b", "é", "ü", "z", "\U0001f600", None]),
    "whole": st.sampled_from([-(2**63), -1, 0, 1, 2**40, 2**63 - 1, None]),
    "real": st.sampled_from([float("-inf"), -1.5, -0.0, 0.0, 2.0, float("nan"), None]),
    "flag": st.sampled_from([True, False, None]),
    "time": st.integers(0, 3).map(lambda n: datetime(1969, 12, 31) + timedelta(days=n)),
}
TYPES = {
    "text": pa.string(),
    "whole": pa.int64(),
    "real": pa.float64(),
    "flag": pa.bool_(),
    "time": pa.timestamp("us"),
}


def place(value: Any) -> tuple[Any, ...]:
    """Return what a value sorts by: NULL first, NaN last, texts by their bytes."""
    if value is None:
        return (0,)
    if isinstance(value, str):
        return (1, value.encode())
    if value != value:  # noqa: PLR0124 - only a NaN differs from itself
        return (2,)
    return (1, value)


@given(st.data(), st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=4), st.booleans())
def test_rows_are_sorted_by_all_columns_and_keep_their_order_otherwise(
    data: st.DataObject, kinds: list[str], in_time: bool
) -> None:
    """Keys that are mixed, with a time that rises or not."""
    size = data.draw(st.integers(0, 12))
    columns: list[list[Any]] = [
        data.draw(st.lists(KEYS[kind], min_size=size, max_size=size)) for kind in kinds
    ]
    times = data.draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    columns.append(sorted(times) if in_time else times)
    arrays = [
        pa.array(column, type_)
        for column, type_ in zip(
            columns, [*(TYPES[kind] for kind in kinds), pa.int64()], strict=True
        )
    ]
    names = [f"c{n}" for n in range(len(arrays))]
    table = pa.table([*arrays, pa.array(range(size))], names=[*names, "row"])
    fields: dict[str, Type] = dict.fromkeys(names, INT)
    keys = sorting.sort_keys(table, names, (), fields)
    expected = sorted(
        range(size), key=lambda row: (*(place(column[row]) for column in columns), row)
    )
    assert list(sorting.sort_indices(keys)) == expected
    assert list(sorting._radix_order(keys)) == expected


def test_words_of_wide_columns_decide_ties() -> None:
    """Each column fills a word, so that ties are decided by one column after the other."""
    random = np.random.default_rng(1)
    columns = [random.choice([-1.5, 0.0, 2e300], 5_000) for _ in range(4)]
    table = pa.table(columns, names=[*"abcd"])
    keys = sorting.sort_keys(table, [*"abcd"], (), dict.fromkeys("abcd", REAL))
    assert list(sorting.sort_indices(keys)) == list(np.lexsort(columns[::-1]))


def test_many_keys_need_more_than_sixteen_bits() -> None:
    size = 70_001
    numbers = [(row * 7919) % size for row in range(size)]
    table = pa.table({"key": [f"{number:06}" for number in numbers], "time": range(size)})
    fields: dict[str, Type] = {"key": STRING, "time": INT}
    ordered = sorting.sort(table, ("key",), ("time",), fields)
    assert ordered["key"].to_pylist() == [f"{number:06}" for number in range(size)]


def test_zeros_are_equal_whatever_their_sign() -> None:
    table = pa.table({"key": [1.0, 0.0, -0.0, 0.0, -1.0]})
    keys = sorting.sort_keys(table, ("key",), (), {"key": REAL})
    assert list(sorting.sort_indices([*keys, pa.chunked_array([range(5)])])) == [4, 1, 2, 3, 0]
