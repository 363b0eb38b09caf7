"""Cases of streams that are divided into ranges of time, for every kind of session."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv, parquet
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import wex
from tests.engine.compare import assert_same
from tests.spark.cases import is_classic, random_cases, rows, wrong
from tests.strategies.mixed import mixed_specs, random_streams
from wex.engine.engine import engine_of
from wex.engine.input.prepare import PreparedInput
from wex.engine.ranges.composition import obstacle_of
from wex.spark import internals, partition_ranges, range_borders, ranges, windows
from wex.spark.batch_job import Job, run_job

RANGED = [
    "match [x > x[-1]]+ [x < x[-1]] measure sum(x) as s, collect(name) as c",
    "match [x = 9] any* [x = 0] keep shortest measure max(name) as c"
    " window v match [x > 4]+ until [x < 4] or end keep longest measure count() as n",
    "match [x = 9] any{30} measure avg(x) as `a.b`",
    "match any{4} measure sum(x) as total, count() as n",
    "match any{4} within 5 seconds",
    "after (any any)* match [x = 0] any{2,40} keep shortest measure sum(x) as s",  # never in one state
    "after (any{9})* match [x = 0] any",  # of too many states: runs in one task
    "match [x > x[-600]] [x = 9] measure first(x[-550]) as s",  # looks back over several ranges
    "match [x > avg(x)] any",  # cannot be divided
]


def ranges_of_time(spark: SparkSession) -> None:
    """One stream in ranges: windows over several borders, ties at borders, times with and without a zone."""
    random = np.random.default_rng(1)
    head = "stream s (t timestamp, x int, name string) order by t "
    for ties, zone in ((1, "UTC"), (3, None), (900, "UTC")):
        seconds = np.arange(2_000) // ties * 1_000_000
        table = pa.table({
            "t": pa.array(seconds, pa.timestamp("us", zone)),
            "x": random.integers(0, 10, 2_000),
            "name": pa.array(["a", None, "it's"]).take(pa.array(random.integers(0, 3, 2_000))),
        })  # fmt: skip
        frame = spark.createDataFrame(table)
        frame = frame if zone else frame.withColumn("t", F.col("t").cast("timestamp_ntz"))
        # Workers do the same whatever the session is, so one kind of session is enough for all specs.
        for text in RANGED if ties == 1 and is_classic(spark) else RANGED[:2]:
            spec = wex.parse(f"{head} window w {text}")
            found = frame.transform(windows(spec, ranges=4)).toArrow()
            assert rows(found) == rows(wex.find(spec, table)), text
    number = pa.table({"t": np.arange(400) // 2, "x": random.integers(0, 10, 400)})
    for type_, field in (("short", "int"), ("double", "real"), ("date", "date")):
        spec = wex.parse(f"stream s (t {field}, x int) order by t window w {RANGED[3]}")
        cast = (
            F.date_from_unix_date(F.col("t").cast("int"))
            if type_ == "date"
            else F.col("t").cast(type_)
        )
        frame = spark.createDataFrame(number).withColumn("t", cast)
        found = frame.transform(windows(spec, ranges=3)).toArrow()
        assert rows(found) == rows(wex.find(spec, frame.toArrow())), type_
        nothing = spark.createDataFrame([(None, 1)], frame.schema)
        with_null = frame.union(nothing).transform(windows(spec, ranges=3))
        wrong(with_null.toArrow, "null-order")
    # The error of one task, wherever the first bad event is.
    for row in (3, 700, 1_990):
        x = np.where(np.arange(2_000) < row, random.integers(0, 9, 2_000), 9)
        times = pa.array(np.arange(2_000) * 1_000_000, pa.timestamp("us", "UTC"))
        limited = pa.table({"t": times, "x": x, "name": ["a"] * 2_000})
        frame = spark.createDataFrame(limited)
        spec = wex.parse(f"{head} assume [x < 9]* window w match [x > 4]+")
        errors = [
            wrong(lambda: frame.transform(windows(spec, ranges=n)).toArrow(), "assumption")  # noqa: B023
            for n in (1, 3)
        ]
        assert str(errors[0]) == str(errors[1])
    wrong(lambda: frame.transform(windows(spec, ranges=0)), "wrong-argument")


def ranges_of_random_specs(spark: SparkSession) -> None:
    """All kinds of windows that can be divided, several in a spec."""
    chance, count = Random(1), 0
    for divisible in map(_divisible, random_specs(5)):
        if not divisible.windows:
            continue
        one = wex.parse(str(divisible).replace("partition by key\n", ""))
        table = random_streams(chance, 1, longest=200)
        frame = spark.createDataFrame(table).withColumn("t", F.col("t").cast("timestamp_ntz"))
        try:
            expected = wex.find(one, table)
        except wex.DataError as error:
            found = wrong(lambda: frame.transform(windows(one, ranges=4)).toArrow(), error.code)  # noqa: B023
            assert error.code == "arithmetic" or found.position == error.position  # type: ignore[attr-defined]
            continue
        result = frame.transform(windows(one, ranges=4)).toArrow().cast(expected.schema)
        order = [(name, "ascending") for name in ("window_name", "end_index", "start_index")]
        assert_same(result.sort_by(order), expected.sort_by(order))
        count += result.num_rows
    assert count > 100


def random_specs(count: int) -> list[wex.Spec]:
    """Return specs of many windows."""
    return [spec for spec, _ in random_cases(mixed_specs(least=6, most=8), count)]


def _divisible(spec: wex.Spec) -> wex.Spec:
    """Return a spec without the windows that cannot be divided."""
    pairs = zip(spec.windows, engine_of(spec).windows, strict=True)
    whole = tuple(written for written, window in pairs if obstacle_of(window) is None)
    return replace(spec, windows=whole, source=None)


def large_keys(spark: SparkSession) -> None:
    """Keys with many rows in ranges beside others that are not divided: NULL, NaN, decimals, several columns."""
    random = np.random.default_rng(2)
    count = 3_000
    key = random.choice(["a", "b", "c", "d", "e"], count, p=[0.5, 0.3, 0.1, 0.05, 0.05])
    name = pa.array(["a", None, "it's"]).take(pa.array(random.integers(0, 3, count)))
    keys = {
        "string": pa.array([None if k == "a" else k for k in key]),
        "real": pa.array([{"a": np.nan, "b": -0.0, "c": None}.get(k, 0.0) for k in key]),
        "int": pa.array([{"a": None, "b": 2**63 - 1}.get(k, ord(k)) for k in key], pa.int64()),
        "timestamp": pa.array([ord(k) for k in key], pa.timestamp("us", "UTC")),
        "date": pa.array([-ord(k) for k in key], pa.int32()).cast(pa.date32()),
        "bool": pa.array([k == "a" for k in key]),
    }
    with patch.object(range_borders, "LEAST_EVENTS", 1):
        for ties, (type_, column), text in zip(
            (1, 3, 900, 1, 1, 2), keys.items(), (*RANGED[:4], *RANGED[5:7]), strict=True
        ):
            table = pa.table({
                "k": column,
                "t": pa.array(np.arange(count) // ties * 1_000_000, pa.timestamp("us", "UTC")),
                "x": random.integers(0, 10, count),
                "name": name,
            })  # fmt: skip
            spec = wex.parse(
                f"stream s (k {type_}, t timestamp, x int, name string) partition by k order by t window w {text}"
            )
            _same_in_ranges(spark.createDataFrame(table), spec, table, "key")
        # Several columns; decimals that are one real are one key.
        halves = [Decimal("0.2009651139027379071"), Decimal("0.2009651139027379072"), None]
        decimals = pa.array(
            [halves[n] for n in random.integers(0, 3, count)], pa.decimal128(38, 19)
        )
        table = table.append_column("d", decimals).set_column(0, "k", keys["string"])
        spec = wex.parse(
            "stream s (d real, k string, t timestamp, x int) partition by d, k order by t"
            f" window w {RANGED[3]}"
        )
        _same_in_ranges(spark.createDataFrame(table), spec, table, "keys")
        for only, line in (
            ("match [x > avg(x)] any", "aggregates"),
            (RANGED[6], "no time was found"),
        ):
            whole = wex.parse(f"{str(spec).split('window')[0]} window w {only}")
            _same_in_ranges(spark.createDataFrame(table), whole, table, line)
    _same_in_ranges(spark.createDataFrame(table), spec, table, "no key is large")


def _same_in_ranges(frame: DataFrame, spec: wex.Spec, table: pa.Table, logged: str) -> None:
    """Check the windows of four ranges, their counts, and what was said about them."""
    expected = wex.find(spec, table)
    observation = Observation("counts")
    with said() as lines:
        divided = frame.transform(windows(spec, ranges=4, observation=observation))
    assert any(logged in line for line in lines), lines
    result = divided.toArrow()
    assert result.column_names == expected.column_names
    assert plain_reals(rows(result)) == plain_reals(rows(expected)), spec
    prepared = PreparedInput(engine_of(spec), table)
    counts = observation.get
    assert (counts["events"], counts["streams"]) == (table.num_rows, len(prepared.starts))
    assert counts["windows"] == expected.num_rows


def plain_reals(windows_found: list[tuple[object, ...]]) -> list[list[object]]:
    """Return rows to compare, in which NaN is equal to NaN, and zeros have no sign."""
    return sorted(
        ([repr(v + 0.0) if isinstance(v, float) else v for v in row] for row in windows_found),
        key=repr,
    )


@contextmanager
def said() -> Iterator[list[str]]:
    """Yield a list that gets what is logged about ranges."""
    lines: list[str] = []
    with patch.object(ranges.logger, "info", lambda text, *more: lines.append(text % more)):
        yield lines


def errors_of_large_keys(spark: SparkSession) -> None:
    """Raise the error of one task, in a key that is divided or in another one."""
    random = np.random.default_rng(3)
    count = 2_000
    spec = wex.parse(
        "stream s (k string, t timestamp, x int, y int) partition by k order by t"
        " assume [x < 9]* window w match [x > 4]{1,9} measure sum(y) as s"
    )
    times = pa.array(np.arange(count) * 1_000_000, pa.timestamp("us", "UTC"))
    key = np.where(random.random(count) < 0.9, "large", "small")
    for row in (1_990, int(np.argmax(key[1_000:] == "small")) + 1_000):
        x = random.integers(0, 9, count)
        x[row] = 9
        unknown = pa.array([None if at == row else 1 for at in range(count)], pa.int64())
        huge = np.where(np.abs(np.arange(count) - row) < 5, 2**62, 1)
        calm = pa.array(np.minimum(x, 5))
        for columns, code in (
            ((pa.array(x), unknown), "assumption"),
            ((pc.if_else(pc.is_null(unknown), None, calm), unknown), "null"),
            ((pa.array(np.full(count, 5)), pa.array(huge)), "arithmetic"),
        ):
            table = pa.table({"k": key, "t": times, "x": columns[0], "y": columns[1]})
            frame = spark.createDataFrame(table)
            with patch.object(range_borders, "LEAST_EVENTS", 1):
                found = wrong(lambda: frame.transform(windows(spec, ranges=3)).toArrow(), code)  # noqa: B023
            expected = wrong(lambda: wex.find(spec, table), code)  # noqa: B023
            assert found.key == expected.key  # type: ignore[attr-defined]
            if code != "arithmetic":
                assert found.position == expected.position  # type: ignore[attr-defined]
                assert found.message == expected.message


def large_keys_of_random_specs(spark: SparkSession) -> None:
    """All kinds of windows that can be divided, in keys that are divided and others; one key is NULL."""
    chance, count, divided = Random(2), 0, 0
    for spec in map(_divisible, random_specs(5)):
        if not spec.windows:
            continue
        table = pa.concat_tables(
            [random_streams(chance, 1, longest=200), random_streams(chance, 4, longest=40)]
        )
        key = pc.if_else(pc.equal(table["key"], "k000"), None, table["key"])
        table = table.set_column(table.column_names.index("key"), "key", key)
        frame = spark.createDataFrame(table).withColumn("t", F.col("t").cast("timestamp_ntz"))

        def found() -> pa.Table:
            return frame.transform(windows(spec, ranges=4)).toArrow()  # noqa: B023

        with patch.object(range_borders, "LEAST_EVENTS", 1), said() as lines:
            try:
                expected = wex.find(spec, table)
            except wex.DataError as error:
                wrong(found, error.code)
                continue
            result = found().cast(expected.schema)
        divided += any("ranges" in line for line in lines)
        order = [(n, "ascending") for n in ("key", "window_name", "end_index", "start_index")]
        assert_same(result.sort_by(order), expected.sort_by(order))
        count += result.num_rows
    assert count > 100
    assert divided


def ranges_by_themselves(spark: SparkSession) -> None:
    """Divide a large stream without a key if nobody says anything, and run it in one task if somebody says so."""
    spec = wex.parse(
        "stream s (t int, x int) order by t window w match [x > x[-1]]+ measure count() as n"
    )
    table = pa.table({"t": list(range(1000)), "x": [n * 7 % 10 for n in range(1000)]})
    expected = rows(wex.find(spec, table))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events"
        spark.createDataFrame(table).write.parquet(path)
        events = spark.read.parquet(path)
        computed = events.join(events.select("t").distinct(), "t")
        classic = is_classic(spark)
        for frame, least, given_ranges, line in (
            (events, 1, None, "runs in the 2 partitions" if classic else "Spark Connect"),
            (events.where("t >= 0"), 1, None, "2 partitions" if classic else "Spark Connect"),
            (events, 1 << 26, None, "Spark expects" if classic else "Spark Connect"),
            (computed, 1, None, "computed" if classic else "Spark Connect"),
            (computed, 1, 3, "3 ranges"),
            (events, 1, 1, None),
        ):
            with patch.object(ranges, "WORTH_DIVIDING", least), said() as lines:
                result = frame.transform(windows(spec, ranges=given_ranges)).toArrow()
            assert rows(result) == expected
            assert (line in lines[0]) if line else not lines, lines
        job = Job(path, f"{folder}/windows")
        with patch.object(ranges, "WORTH_DIVIDING", 1), said() as lines:
            summary = run_job(spark, spec, job, ranges=2)
        assert ("2 partitions" if classic else "2 ranges") in lines[0]
        assert (summary.events, summary.streams, summary.windows) == (1000, 1, len(expected))
        hot = table.append_column("k", pa.array([n % 10 == 3 for n in range(1000)]))
        by_flag = wex.parse(
            f"{str(spec).replace('x int', 'x int, k bool').replace('order by t', 'partition by k order by t')}"
        )
        spark.createDataFrame(hot).write.parquet(f"{folder}/hot")
        for least, line in ((1, "1 key in" if classic else None), (1 << 28, None)):
            with (
                patch.object(ranges, "WORTH_LOOKING", least),
                patch.object(range_borders, "LEAST_EVENTS", 1),
                said() as lines,
            ):
                found = spark.read.parquet(f"{folder}/hot").transform(windows(by_flag)).toArrow()
            assert rows(found) == rows(wex.find(by_flag, hot))
            assert (line in lines[0]) if line else not lines, lines
        keyed = wex.parse(str(spec).replace("order by t", "partition by x order by t"))
        with said() as lines:
            found = events.transform(windows(keyed)).toArrow()
        assert rows(found) == rows(wex.find(keyed, table))
        assert not lines


def ranges_of_data_that_changes(spark: SparkSession) -> None:
    """Fail if the data of the second pass has other rows at the borders; no window is wrong."""
    spec = wex.parse("stream s (t int, x int) order by t window w match [x > x[-1]]+")
    table = pa.table({"t": list(range(1000)), "x": [n * 7 % 10 for n in range(1000)]})
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/events"
        spark.createDataFrame(table).write.parquet(path)
        events = spark.read.parquet(path)
        observation = Observation("ranges")
        found = events.transform(windows(spec, ranges=3, observation=observation))
        assert found.count() == wex.find(spec, table).num_rows
        numbers = observation.get
        assert (numbers["events"], numbers["streams"]) == (1000, 1)
        shorter, other = (
            table.slice(0, 900),
            table.set_column(1, "x", pa.array(np.arange(1000) % 3)),
        )
        for data in (shorter, other):
            changed = spark.createDataFrame(data)
            with patch("wex.spark.ranges._divided", partial(_other_data, ranges._divided, changed)):
                divided = events.transform(windows(spec, ranges=3))
            if data is shorter:  # only at its end: the borders are those of this data, too
                assert rows(divided.toArrow()) == rows(wex.find(spec, data))
            else:
                wrong(divided.toArrow, "changed")


def _other_data(
    divide: Callable[..., DataFrame], other: DataFrame, *arguments: Any, **named: Any
) -> DataFrame:
    """Divide other data than that of the first pass."""
    engine, rows_given, *rest = arguments
    return divide(engine, other.toDF(*rows_given.columns), *rest, **named)


def partitions_that_are_ranges(spark: SparkSession) -> None:
    """Run a stream where it is read, if its partitions are ranges of time; else as always."""
    random = np.random.default_rng(4)
    count = 900
    x = random.integers(0, 9, count)
    mixed = np.arange(count).reshape(-1, 4)[:, random.permutation(4)].ravel()  # in blocks of four
    in_place, shuffled = "in the 3 partitions", "ranges, on"
    every, some = RANGED[:6], RANGED[:2]
    layouts = [
        (1, np.arange(count), 3, in_place, every),
        (1, mixed, 3, in_place, some),
        (20, mixed, 3, in_place, every),  # blocks of one time
        (1, np.arange(count), 2, shuffled, some),  # fewer than tasks
        (7, np.arange(count), 3, shuffled, some),  # partitions of one time
        (1, random.permutation(count), 3, shuffled, some),
    ]
    if not is_classic(spark):  # which does not say what partitions there are
        layouts = [(1, np.arange(count), 3, shuffled, some)]
    for ties, order, files, line, texts in layouts:
        tied = pa.array(np.arange(count) // ties * 1_000_000, pa.timestamp("us", "UTC"))
        events = pa.table({"t": tied, "x": x, "name": pa.array(["a", None, "b"] * (count // 3))})
        with _files(spark, events.take(pa.array(order)), files) as frame:
            for text in texts:
                _same_in_partitions(frame, wex.parse(f"{HEAD} window w {text}"), events, line)
    # The error of one task, wherever the first bad event is.
    times = pa.array(np.arange(count) * 1_000_000, pa.timestamp("us", "UTC"))
    table = pa.table({"t": times, "x": x, "name": ["a"] * count})
    spec = wex.parse(f"{HEAD} assume [x < 9]* window w match [x > 4]+")
    for row in (3, 450, 890):
        bad = table.set_column(1, "x", pa.array(np.where(np.arange(count) < row, x, 9)))
        with _files(spark, bad, 3) as frame:
            one, three = (
                wrong(lambda: frame.transform(windows(spec, ranges=n)).toArrow(), "assumption")  # noqa: B023
                for n in (1, 3)
            )
            assert str(one) == str(three)
    unknown = pa.array(
        [None if at == 450 else at for at in range(count)], pa.timestamp("us", "UTC")
    )
    with _files(spark, table.set_column(0, "t", unknown), 3) as frame:
        wrong(frame.transform(windows(spec, ranges=3)).toArrow, "null-order")


HEAD = "stream s (t timestamp, x int, name string) order by t"


@contextmanager
def _files(spark: SparkSession, table: pa.Table, count: int) -> Iterator[DataFrame]:
    """Yield a DataFrame of so many files, each a partition."""
    size = -(-table.num_rows // count)
    with (
        _file_settings(spark, {"openCostInBytes": "128m"}),
        tempfile.TemporaryDirectory() as folder,
    ):
        for at in range(count):
            parquet.write_table(table.slice(at * size, size), f"{folder}/{at}.parquet")
        yield spark.read.parquet(folder)


@contextmanager
def _file_settings(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    """Set how Spark divides files, and take it back."""
    names = {f"spark.sql.files.{name}": value for name, value in settings.items()}
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def _same_in_partitions(frame: DataFrame, spec: wex.Spec, table: pa.Table, logged: str) -> None:
    """Check the windows of a stream on three tasks, in short pieces, their counts, and what was said about them."""
    observation = Observation("counts")
    with (
        patch.multiple(partition_ranges, BLOCK_BITS=2, PIECE_ROWS=50),
        patch.object(range_borders, "LOOK", 100),
        patch.object(partition_ranges, "LOOK", 100),
        said() as lines,
    ):
        divided = frame.transform(windows(spec, ranges=3, observation=observation))
    assert any(logged in line for line in lines), lines
    expected = wex.find(spec, table)
    assert rows(divided.toArrow()) == rows(expected), spec
    counts = observation.get
    assert (counts["events"], counts["streams"]) == (table.num_rows, 1)
    assert counts["windows"] == expected.num_rows


def partitions_that_change(spark: SparkSession) -> None:
    """Fail if a partition does not have the rows that it had; no window is wrong."""
    if not is_classic(spark):
        return
    count = 900
    x = np.random.default_rng(5).integers(0, 9, count)
    times = pa.array(np.arange(count) * 1_000_000, pa.timestamp("us", "UTC"))
    table = pa.table({"t": times, "x": x, "name": ["a"] * count})
    spec = wex.parse(f"{HEAD} window w match [x > x[-1]]+")
    without = [
        table.slice(0, 890),
        table.slice(5),
        pa.concat_tables([table.slice(0, 50), table.slice(51)]),
    ]
    backwards = table.take(pa.array(np.arange(count)[::-1]))
    unknown = table.set_column(0, "t", pc.if_else(pc.less(times, times[800]), times, None))
    with _files(spark, table, 3) as frame:
        for data in (*without, backwards, unknown):
            with _files(spark, data, 3) as other:
                fixed = partial(_fixed, internals.with_fixed_partitions, other)
                with (
                    patch.multiple(partition_ranges, BLOCK_BITS=2, PIECE_ROWS=50),
                    patch.object(partition_ranges, "with_fixed_partitions", fixed),
                    said() as lines,
                ):
                    divided = frame.transform(windows(spec, ranges=3))
                assert any("in the 3 partitions" in line for line in lines), lines
                wrong(divided.toArrow, "changed")


def _fixed(
    fix: Callable[[DataFrame], tuple[DataFrame, int] | None], other: DataFrame, given: DataFrame
) -> tuple[DataFrame, int] | None:
    """Fix the partitions of other data than that of the first pass."""
    return fix(other.toDF(*given.columns))


def files_that_are_divided_anew(spark: SparkSession) -> None:
    """Find all windows if Spark divides files otherwise for each job, as it does when it gets more cores."""
    if not is_classic(spark):
        return
    table, settings = _events_to_write(), {"openCostInBytes": "1", "minPartitionNum": "3"}
    for changes, line in (((True, False), "3 ranges"), ((False, True), "in the 3 partitions")):
        fixed = partial(_fixed_at_a_time, internals.with_fixed_partitions, spark, iter(changes))
        with (
            _texts(spark, table, settings) as frame,
            patch.object(partition_ranges, "BLOCK_BITS", 2),
            patch.object(partition_ranges, "with_fixed_partitions", fixed),
            said() as lines,
        ):
            found = frame.transform(windows(RISES, ranges=3)).toArrow()
        assert line in lines[0], lines
        assert rows(found) == rows(wex.find(RISES, table))


def _fixed_at_a_time(
    fix: Callable[[DataFrame], tuple[DataFrame, int] | None],
    spark: SparkSession,
    changes: Iterator[bool],
    given: DataFrame,
) -> tuple[DataFrame, int] | None:
    """Fix partitions; Spark makes two of each file from then on, if the next of some flags says so."""
    fixed = fix(given)
    if next(changes):
        spark.conf.set("spark.sql.files.minPartitionNum", "6")
    return fixed


def files_without_wrong_rows(spark: SparkSession) -> None:
    """Shuffle rows if Spark leaves out those that are wrong: which ones depends on the columns that it reads."""
    table = _events_to_write()
    texts = pc.if_else(pc.equal(table["t"], 450), "?", table["x"].cast(pa.string()))
    settings = {"openCostInBytes": "128m"}
    with (
        _texts(spark, table.set_column(1, "x", texts), settings, mode="dropMalformed") as frame,
        said() as lines,
    ):
        found = frame.transform(windows(RISES, ranges=3)).toArrow()
    assert "3 ranges" in lines[0], lines
    assert rows(found) == rows(wex.find(RISES, table.filter(pc.not_equal(table["t"], 450))))


RISES = wex.parse("stream s (t int, x int) order by t window w match [x > x[-1]]+")


def _events_to_write() -> pa.Table:
    """Return events whose texts have one length, so that files have."""
    return pa.table({"t": range(100, 1000), "x": np.random.default_rng(6).integers(0, 9, 900)})


@contextmanager
def _texts(
    spark: SparkSession, table: pa.Table, settings: dict[str, str], **options: str
) -> Iterator[DataFrame]:
    """Yield a DataFrame of three files of text, with some settings of how Spark divides files."""
    with _file_settings(spark, settings), tempfile.TemporaryDirectory() as folder:
        for at in range(3):
            csv.write_csv(
                table.slice(at * 300, 300),
                f"{folder}/{at}.csv",
                csv.WriteOptions(include_header=False, quoting_style="none"),
            )
        yield spark.read.schema("t long, x long").options(**options).csv(folder)


CASES = [
    ranges_of_time, ranges_of_random_specs, ranges_of_data_that_changes, large_keys, errors_of_large_keys,
    large_keys_of_random_specs, ranges_by_themselves, partitions_that_are_ranges, partitions_that_change,
    files_that_are_divided_anew, files_without_wrong_rows,
]  # fmt: skip
