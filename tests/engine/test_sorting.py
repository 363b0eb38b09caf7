"""Sorting of events: by comparing rows, and by counting keys where the rest is in order."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import wex
from wex.engine.input import grouping, sorting
from wex.engine.workers import Workers
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


@given(st.data(), st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=2), st.booleans())
def test_rows_in_the_order_of_time_are_grouped_as_they_are_sorted(
    data: st.DataObject, kinds: list[str], coded: bool
) -> None:
    """Whole numbers and texts as keys; other columns, with NULLs or not, go along with their rows."""
    size = data.draw(st.integers(1, 12))
    names = [f"c{n}" for n in range(len(kinds))]
    keys = [
        pa.array(data.draw(st.lists(KEYS[kind], min_size=size, max_size=size)), TYPES[kind])
        for kind in kinds
    ]
    times = data.draw(st.lists(st.integers(0, 20), min_size=size, max_size=size))
    texts = data.draw(st.lists(KEYS["text"], min_size=size, max_size=size))
    sorted_times = sorted(times) if data.draw(st.booleans()) else times
    columns = {
        **dict(zip(names, keys, strict=True)),
        "time": pa.array(sorted_times),
        "short": pa.array(times, pa.int8()),
        "flag": pa.array([time > 10 for time in times]),
        "text": pa.array(texts, pa.string()),
    }
    table = pa.table(columns)
    fields: dict[str, Type] = dict.fromkeys(columns, INT)
    given_table = table
    if coded:
        given_table = table.set_column(
            table.num_columns - 1, "text", table["text"].dictionary_encode()
        )
    with patch.object(grouping, "MANY", 0):
        workers = Workers(data.draw(st.integers(1, 3)))
        grouped = grouping.grouped_by_key(given_table, names, ("time",), workers)
    if grouped is None:
        return
    plain = grouping.without_codes(grouped.table)
    assert plain.equals(sorting.sort(table, names, ("time",), fields))
    changes = [row for row in range(1, size) if any(
        not _same(grouped.table[name][row].as_py(), grouped.table[name][row - 1].as_py()) for name in names
    )]  # fmt: skip
    assert list(grouped.starts) == [0, *changes]


def _same(left: Any, right: Any) -> bool:
    return place(left) == place(right)


def test_rows_in_the_order_of_time_are_grouped() -> None:
    random = np.random.default_rng(3)
    size = 10_000
    table = pa.table({
        "a": random.choice(["x", "ü", "y"], size), "b": random.integers(-4, 4, size),
        "time": pa.array(np.arange(size), pa.timestamp("us")), "x": random.random(size),
    })  # fmt: skip
    grouped = grouping.grouped_by_key(table.slice(7), ("a", "b"), ("time",))
    assert grouped is not None
    fields: dict[str, Type] = {"a": STRING, "b": INT, "time": INT, "x": REAL}
    by = [(name, "ascending") for name in ("a", "b", "time")]
    assert grouped.table.equals(table.slice(7).sort_by(by))
    assert len(grouped.starts) == 24
    again = grouping.grouped_by_key(grouped.table, ("a", "b"), ("time",))
    assert again is not None
    assert again.table.equals(sorting.sort(table.slice(7), ("a", "b"), ("time",), fields))
    late = grouped.table.take(pa.array([1, 0, *range(2, size - 7)]))
    assert grouping.grouped_by_key(late, ("a", "b"), ("time",)) is None


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


def test_types_do_not_depend_on_the_number_of_rows() -> None:
    """A dictionary of a field of type other stays one, however rows are put in order."""
    spec = wex.parse(
        "stream s (k int, t int, p other) partition by k order by t window w match any measure first(p) as p"
    )
    for size in (10, 10_000):
        texts = pa.array(["a", "b"] * (size // 2)).dictionary_encode()
        numbers = np.arange(size)
        found = wex.find(spec, pa.table({"k": numbers % 3, "t": numbers, "p": texts}))
        assert pa.types.is_dictionary(found["p"].type)


def test_signs_of_zeros_decide_the_same_in_every_batch() -> None:
    """The sign of a key comes before that of an order column, also between two batches."""
    spec = wex.parse("stream s (k real, o real) partition by k order by o window w match any any")
    keys, times = [-0.0, -0.0, 0.0, 0.0] * 2, [-0.0, 0.0, -0.0, 0.0] * 2
    table = pa.table({"k": keys, "o": times})
    whole = wex.find(spec, table)
    rows = sorting.sort(table, ("k",), ("o",), {"k": REAL, "o": REAL})
    for cut in range(9):
        processor = wex.Processor(spec)
        parts = [processor.feed(rows.slice(0, cut)), processor.feed(rows.slice(cut))]
        assert sum(part.num_rows for part in parts) == whole.num_rows


def test_keys_far_apart_are_sorted() -> None:
    table = pa.table({"k": np.arange(5_000) * 10_000 % 16_777_213, "t": range(5_000)})
    assert grouping.grouped_by_key(table, ("k",), ("t",)) is None
