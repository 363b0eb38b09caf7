"""The packed shuffle in one process: rows come back, those of a key in one bucket and in their order."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.strategies.mixed import mixed_specs, random_streams
from wex.engine import external_sort, packing
from wex.engine.engine import Engine, engine_of
from wex.engine.external_sort import ExternalSort, sorted_blocks
from wex.engine.input import grouping
from wex.engine.packing import (
    EventOrder,
    KeyBuckets,
    SkewedBuckets,
    TimeBuckets,
    blobs,
    rows_of,
    size_of,
)
from wex.errors import DataError
from wex.spark.worker import partition_windows


def unpacked(
    engine: Engine, pieces: list[pa.Table], buckets: int, most: int, random: Random
) -> list[list[pa.Table]]:
    """Return the sorted rows of each bucket, as a shuffle brings them: in any order of pieces."""
    stream = engine.stream
    first = stream.order_by[0] if stream.order_by else None
    moved = [
        blob
        for piece in pieces
        for blob in blobs(piece, KeyBuckets(stream.partition_by, buckets), first)
    ]
    random.shuffle(moved)
    result = []
    for bucket in sorted({blob.bucket for blob in moved}):
        with closing(ExternalSort(EventOrder(engine), most)) as sort:
            for blob in moved:
                if blob.bucket == bucket:
                    sort.add(rows_of(blob.data, pieces[0].schema))
            result.append(list(sort.sorted()))
    return result


def split(table: pa.Table, random: Random) -> list[pa.Table]:
    """Return a table in pieces, some of them empty."""
    cuts = sorted(random.choices(range(table.num_rows + 1), k=random.randint(0, 4)))
    ends = [*cuts, table.num_rows]
    return [table.slice(begin, end - begin) for begin, end in zip([0, *cuts], ends, strict=True)]


@settings(max_examples=settings().max_examples // 4)  # each compiles a spec
@given(mixed_specs(least=1, most=3), st.integers(0, 2**32), st.sampled_from([1, 2, 7]))
def test_windows_of_packed_rows_are_those_of_find(spec: wex.Spec, seed: int, buckets: int) -> None:
    """With pieces in any order, with memory for all rows or for a few."""
    random = Random(seed)
    table, engine = random_streams(random, 4), engine_of(spec)
    mixed = table.sort_by("t")  # rows of all keys, in the order of time or in none
    if random.random() < 0.5:
        mixed = table.take(pa.array(random.sample(range(table.num_rows), table.num_rows)))
    most = random.choice([1, 300, 1 << 20])
    with patch.object(grouping, "MANY", random.choice([0, grouping.MANY])):
        parts = unpacked(engine, split(mixed, random), buckets, most, random)
    try:
        expected: Any = wex.find(spec, table)
    except DataError as error:
        expected = error
    found: Any = []
    try:
        for part in parts:
            found += partition_windows(engine, iter(part), tally=False)
    except DataError as error:
        found = error
    if isinstance(expected, DataError):
        assert isinstance(found, DataError)
        return
    rows = [row for batch in found for row in batch.to_pylist()]
    assert sorted(rows, key=repr) == sorted(expected.to_pylist(), key=repr)


KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["", "a", "ü", "b" * 50, None]),
    "large": (pa.large_string(), ["a", "b", None]),
    "whole": (pa.int64(), [-(2**63), 0, 1, 2**63 - 1, None]),
    "byte": (pa.int8(), [-128, 0, 127]),
    "real": (pa.float64(), [0.0, -0.0, 1.5, float("inf"), float("nan"), None]),
    "single": (pa.float32(), [0.5, float("nan")]),
    "decimal": (pa.decimal128(10, 2), [Decimal("1.50"), Decimal("-2.00"), None]),
    "flag": (pa.bool_(), [True, False, None]),
    "day": (pa.date32(), [date(1969, 1, 1), date(2026, 1, 31), None]),
    "nothing": (pa.null(), [None]),
    "time": (pa.timestamp("us", "UTC"), [datetime(1900, 1, 1), datetime(2026, 1, 31), None]),
}


def _random_keys(kinds: list[str], random: Random) -> pa.Table:
    """Return key columns k0, k1, … of some kinds, with up to 60 rows."""
    count = random.randint(1, 60)
    return pa.table({
        f"k{number}": pa.array(random.choices(KEYS[kind][1], k=count), KEYS[kind][0])
        for number, kind in enumerate(kinds)
    })  # fmt: skip


@given(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3), st.integers(0, 2**32))
def test_equal_keys_meet_in_one_bucket_and_rows_stay_whole(kinds: list[str], seed: int) -> None:
    random = Random(seed)
    keys = _random_keys(kinds, random)
    names = keys.column_names
    table = keys.append_column("n", pa.array(range(keys.num_rows)))
    moved = [
        (blob.bucket, row)
        for piece in split(table, random)
        for blob in blobs(piece, KeyBuckets(names, 5), None)
        for row in rows_of(blob.data, table.schema).to_pylist()
    ]
    assert sorted(map(repr, table.to_pylist())) == sorted(repr(row) for _, row in moved)
    home: dict[str, int] = {}
    for bucket, row in moved:
        key = repr([0.0 if row[name] == 0 else row[name] for name in names])
        assert home.setdefault(key, bucket) == bucket


@given(st.lists(st.sampled_from(sorted(KEYS)), min_size=1, max_size=3), st.integers(0, 2**32))
def test_rows_of_some_keys_are_packed_by_time(kinds: list[str], seed: int) -> None:
    """All rows of such a key are in its buckets, and no other row."""
    random = Random(seed)
    keys = _random_keys(kinds, random)
    names = keys.column_names
    table = keys.append_column("t", pa.array([random.randrange(10) for _ in range(keys.num_rows)]))
    shown = [_shown_key(row, names) for row in table.to_pylist()]
    chosen = random.sample(sorted(set(shown)), random.randint(1, min(3, len(set(shown)))))
    first_rows = [table.select(names).slice(shown.index(key), 1) for key in chosen]
    by_time = [(key, TimeBuckets("t", np.array([3, 7]))) for key in first_rows]
    division = SkewedBuckets(KeyBuckets(names, random.choice([1, 4])), by_time)
    moved = [
        (blob.bucket - division.by_key.count, row)
        for piece in split(table, random)
        for blob in blobs(piece, division, "t")
        for row in rows_of(blob.data, table.schema).to_pylist()
    ]
    assert sorted(map(repr, table.to_pylist())) == sorted(repr(row) for _, row in moved)
    for bucket, row in moved:
        key, time = _shown_key(row, names), row["t"]
        assert (bucket // 3 if bucket >= 0 else None) == (
            chosen.index(key) if key in chosen else None
        )
        assert bucket < 0 or bucket % 3 == (time >= 3) + (time >= 7)


def _shown_key(row: dict[str, object], names: list[str]) -> str:
    """Return a key as text, equal for values that are one key."""
    values = [
        float(value) if isinstance(value, Decimal) else value for value in map(row.get, names)
    ]
    return repr([0.0 if value == 0 and value is not False else value for value in values])


def test_codes_and_narrow_numbers_make_rows_short() -> None:
    random = np.random.default_rng(1)
    start = datetime(2026, 1, 31)
    table = pa.table({
        "key": random.choice(["first", "second", "third"], 3_000),
        "t": [start + timedelta(seconds=row) for row in range(3_000)],
        "x": random.random(3_000),
    })  # fmt: skip
    (blob,) = blobs(table, KeyBuckets((), 1), "t")
    assert len(blob.data) < 3_000 * 11  # a code, a step of seconds, a real
    rows = rows_of(blob.data, table.schema)
    assert rows["t"].to_pylist() == table["t"].to_pylist()
    assert rows["key"].to_pylist() == table["key"].to_pylist()


@given(st.data(), st.sampled_from([1, 1_000, 1_000_000, 7]), st.integers(-(2**62), 2**62))
def test_times_come_back_whatever_their_steps(data: st.DataObject, step: int, first: int) -> None:
    counts = data.draw(st.lists(st.integers(0, 2**40), min_size=1, max_size=20))
    numbers = [first + count * step for count in counts if first + count * step < 2**63]
    table = pa.table({"t": pa.array(numbers or [first], pa.timestamp("us"))})
    (blob,) = blobs(table, KeyBuckets((), 1), "t")
    assert rows_of(blob.data, table.schema).equals(table)


# Steps of a byte, of two, and more than fit; the ends of what 64 bits hold.
RISES = st.sampled_from([0, 1, 1, 255, 256, 65_535, 65_536, 2**33])
LEAST = st.sampled_from([-(2**63), -1, 0, 1_767_225_600_000_000, 2**63 - 1])


@given(
    st.lists(st.tuples(st.integers(0, 2), RISES), min_size=1, max_size=60),
    st.sampled_from([1, 1_000, 1_000_000, 7]),
    LEAST,
    st.booleans(),
)
def test_numbers_that_rise_come_back(
    rows: list[tuple[int, int]], step: int, first: int, mixed: bool
) -> None:
    """In each bucket, also if they rise too far, or only in some buckets."""
    numbers = [
        min(first + int(total) * step, 2**63 - 1) for total in np.cumsum([r for _, r in rows])
    ]
    if mixed:
        numbers.reverse()
    table = pa.table({
        "bucket": [bucket for bucket, _ in rows],
        "t": pa.array(numbers, pa.timestamp("us", "UTC")),
        "n": pa.array(numbers, pa.int64()),
    })  # fmt: skip
    with patch.object(packing, "BLOB_ROWS", 7):
        moved = list(blobs(table, TimeBuckets("bucket", np.array([1, 2])), "t"))
    found = pa.concat_tables([rows_of(blob.data, table.schema) for blob in moved])
    indices = np.argsort(table["bucket"].to_numpy(), kind="stable")
    assert found.equals(table.take(pa.array(indices)))


@pytest.mark.parametrize("count", [1, 128, 129, 2_048, 2_049])
def test_reals_that_repeat_are_codes(count: int) -> None:
    """They come back bit by bit: zeros with their sign, and each NaN."""
    words = np.random.default_rng(count).integers(0, 2**63, count).astype(np.uint64)
    words[:3] = np.array([0, 1 << 63, 0x7FF8_0000_0000_0001], dtype=np.uint64)[: len(words[:3])]
    reals = np.tile(words, 20_000 // count).view(np.float64)
    table = pa.table({"x": reals, "key": np.arange(len(reals)) % 3})
    moved = list(blobs(table, KeyBuckets(("key",), 4), None))
    found = pa.concat_tables([rows_of(blob.data, table.schema) for blob in moved])
    assert found.schema == table.schema
    for key in range(3):
        mine = found.filter(pc.equal(found["key"], key))["x"].to_numpy()
        assert (mine.view(np.uint64) == reals[key::3].view(np.uint64)).all()
    assert (sum(blob.data.size for blob in moved) > 8 * len(reals)) == (count > 2_048)


@pytest.mark.parametrize("count", [1, 127, 128, 129, 32_768, 32_769])
def test_codes_are_as_short_as_the_number_of_texts_allows(count: int) -> None:
    table = pa.table({"k": [f"{number}" for number in range(count)] * 2})
    parts = [rows_of(blob.data, table.schema) for blob in blobs(table, KeyBuckets((), 1), None)]
    assert [text for part in parts for text in part["k"].to_pylist()] == table["k"].to_pylist()


def test_a_key_larger_than_memory_is_sorted_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forty runs of one key, each in many batches, merged: no round holds more than a few of them."""
    monkeypatch.setattr(external_sort, "BATCH", 64)
    spec = wex.parse(
        "stream s (k string, t int, x real) partition by k order by t window w match [x > x[-1]]+"
    )
    engine = engine_of(spec)
    random = np.random.default_rng(2)
    count = 20_000
    table = pa.table(
        {"k": ["one"] * count, "t": random.integers(0, 5_000, count), "x": random.random(count)}
    )
    pieces = [table.slice(row, 500) for row in range(0, count, 500)]
    (tables,) = unpacked(engine, pieces, 3, pieces[0].nbytes, Random(1))
    assert max(piece.num_rows for piece in tables) < count / 4
    together = pa.concat_tables(tables)
    assert together.equals(table.sort_by([("t", "ascending"), ("x", "ascending")]))
    found = pa.Table.from_batches(partition_windows(engine, iter(tables), tally=False))
    assert found.equals(wex.find(spec, table))


MERGE = """
import sys
from contextlib import closing
import numpy as np, pyarrow as pa, wex
from wex.engine.engine import engine_of
from wex.engine.external_sort import ExternalSort
from wex.engine.packing import EventOrder
engine = engine_of(wex.parse("stream s (t int, text string) order by t window w match any"))
count, most = 32_000, 1 << 21
times = np.random.default_rng(3).permutation(count) if sys.argv[1] == "mixed" else np.arange(count)
with closing(ExternalSort(EventOrder(engine), most)) as sort:
    for row in range(0, count, 500):
        own = times[row : row + 500]
        sort.add(pa.table({"t": own, "text": [f"{t:0>1000}" for t in own]}))
    texts = [text for rows in sort.sorted() for text in rows["text"].to_pylist()]
assert texts == [f"{t:0>1000}" for t in range(count)]
print(pa.default_memory_pool().max_memory() / most)
"""


@pytest.mark.parametrize("order", ["mixed", "sorted"])
def test_the_merge_of_long_rows_takes_a_few_times_the_memory_of_a_run(order: str) -> None:
    """Texts of a kilobyte, all different: batches have few of them, and none gets a code.

    In a process of its own: Arrow counts all memory that it has ever taken.
    """
    command = [sys.executable, "-c", MERGE, order]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 5


def test_no_run_stays_on_disk(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/nowhere")
    spec = wex.parse("stream s (n int) window w match any")
    with closing(ExternalSort(EventOrder(engine_of(spec)), 1)) as sort:
        for number in range(3):
            sort.add(pa.table({"n": [number]}))
        assert len(list(tmp_path.glob("wex-*/*.arrow"))) == 3
        assert pa.concat_tables(sort.sorted())["n"].to_pylist() == [0, 1, 2]
    assert not list(tmp_path.iterdir())


def test_decimals_that_are_one_real_are_one_key() -> None:
    """Arrow rounds a decimal differently if it does not go through its text."""
    texts = ["0.2009651139027379071", "0.2009651139027379072"]
    keys = pa.array([Decimal(text) for text in texts], pa.decimal128(38, 19))
    assert len({float(text) for text in texts}) == 1
    moved = list(blobs(pa.table({"k": keys}), KeyBuckets(("k",), 1000), None))
    assert len({blob.bucket for blob in moved}) == 1


def test_repeated_texts_count_in_full() -> None:
    table = pa.table({"k": ["x" * 1000, "y" * 2000, None] * 100})
    (blob,) = blobs(table, KeyBuckets((), 1), None)
    assert len(blob.data) < 10_000
    assert size_of(rows_of(blob.data, table.schema)) > 300_000


def test_rows_that_are_equal_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(external_sort, "BATCH", 50)
    spec = wex.parse("stream s (t int, p other) order by t window w match any")
    pieces = [pa.table({"t": [1] * 500, "p": [number] * 500}) for number in range(40)]
    (tables,) = unpacked(engine_of(spec), pieces, 1, 1, Random(1))
    assert max(table.num_rows for table in tables) <= 1_000
    assert sum(table.num_rows for table in tables) == 20_000


def test_columns_of_no_type_have_no_order() -> None:
    spec = wex.parse("stream s (k int, t int, x real) partition by k order by t window w match any")
    table = pa.table({"k": pa.nulls(5_000), "t": range(5_000, 0, -1), "x": pa.nulls(5_000)})
    ((sorted_table,),) = unpacked(engine_of(spec), [table], 3, 1 << 20, Random(1))
    assert sorted_table["t"].to_pylist() == list(range(1, 5_001))


@pytest.mark.parametrize(
    "type_", [pa.int16(), pa.float32(), pa.timestamp("us", "UTC"), pa.date32()]
)
def test_rows_are_packed_by_time(type_: pa.DataType) -> None:
    """A border begins a bucket; NULL is in the first one, NaN in the last; large buckets are several blobs."""
    width = pa.int32() if pa.types.is_date(type_) else pa.int64()
    times = [5, None, -3, 7, 0, 6, 10_000] * 10_000
    column = pa.array(times, width).cast(type_)
    if pa.types.is_floating(type_):
        column = pa.concat_arrays([column, pa.array([float("nan")], type_)])
    table = pa.table({"t": column})
    found: dict[int, list[object]] = {}
    for blob in blobs(table, TimeBuckets("t", np.array([0, 7, 8])), "t"):
        found.setdefault(blob.bucket, []).extend(rows_of(blob.data, table.schema)["t"].to_pylist())
    numbers = pa.array([0, 5, 6, 7], width).cast(type_).to_pylist()
    assert found[1] == [numbers[1], numbers[0], numbers[2]] * 10_000
    assert found[2] == [numbers[3]] * 10_000
    assert found[0].count(None) == 10_000
    assert len(found[0]) == 20_000
    assert len(found[3]) == len(table) - 60_000


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=40),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
def test_rows_whose_blocks_are_in_order_are_sorted(
    events: list[tuple[int, int]], block: int, random: Random
) -> None:
    """Rows in any order within their blocks, whatever the pieces in which they come; no time is divided."""
    engine = engine_of("stream s (t int, x int) order by t, x window w match any")
    ordered = sorted(events)
    mixed = [
        event
        for at in range(0, len(ordered), block)
        for event in random.sample(ordered[at : at + block], len(ordered[at : at + block]))
    ]
    columns = {
        name: pa.array([event[at] for event in mixed], pa.int64()) for at, name in enumerate("tx")
    }
    pieces = split(pa.table(columns), random)
    found = [table.to_pylist() for table in sorted_blocks(engine, iter(pieces), block)]
    assert [tuple(row.values()) for rows in found for row in rows] == ordered
    for one, other in pairwise(found):
        assert one[-1]["t"] < other[0]["t"]
