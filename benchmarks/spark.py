"""Jobs on Spark against Spark's own shuffle and sort, against mere reading, and against what people write."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import wex
from benchmarks.engine import python_loop
from benchmarks.measure import Row, seconds
from benchmarks.peers.flink_worker import cpu_seconds
from wex.spark import register, windows
from wex.spark.dataframe import Shuffle
from wex.spark.session import new_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Measured = TypeVar("Measured")
EVENTS = 10_000_000
FEW = 1_000_000
SPEC = wex.parse("""
stream trades (key int, ts timestamp, price real)
  partition by key
  order by ts
let up    = price > price[-1]
let down2 = price[-2] > price[-1] and price[-1] > price
window trend
  after any* down2
  match up [not down2]* down2
  measure avg(price) as mean, count() as n
""")
ONE_STREAM = wex.parse(
    str(SPEC).replace("key int, ", "").replace("  partition by key\n", ""),
)
KEYS = (10, 1_000, 1_000_000)
MIDDLE = 1_000
WARM_UP = 3  # runs before the first one that counts
RUNS = 3
SETTINGS = {"spark.sql.shuffle.partitions": "4"}
LIMITED = {"spark.sql.execution.arrow.maxBytesPerBatch": "64m"}  # as Spark has it by itself
SESSIONS = (
    3  # processes of Java: in about half of them, Spark takes twice as long to hand rows to Python
)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        paths = {keys: str(_write(Path(folder), keys)) for keys in KEYS}
        limited = _least(
            [_in_new_session(_costs_of_files, paths, LIMITED) for _ in range(SESSIONS)]
        )
        yield from _compared(limited)
        free = _in_new_session(_costs_of_files, {MIDDLE: paths[MIDDLE]}, {})[MIDDLE]
        yield from _without_limit(free, limited[MIDDLE])
        spark = new_session("local[2]", SETTINGS, progress=False)
        yield from _in_sql(spark, paths[MIDDLE])
        yield from _by_hand(spark, paths[MIDDLE])
        yield from _skewed(spark, Path(folder))
        yield from _one_stream(spark, Path(folder))
        spark.stop()
        yield from _memory(Path(folder))


def _write(folder: Path, keys: int, events: int = EVENTS, hot: float = 0.0) -> Path:
    """Write trades of so many keys, in the order of time; the first key has a share of them."""
    random = np.random.default_rng(keys)
    path = folder / f"trades-{keys}-{events}-{hot}.parquet"
    key = random.integers(0, keys, events)
    key[random.random(events) < hot] = 0
    table = pa.table({
        "key": key,
        "ts": pa.array(np.arange(events) * 1_000, pa.timestamp("us", "UTC")),
        "price": 100 + 0.01 * np.cumsum(random.integers(-1, 2, events)),
    })  # fmt: skip
    parquet.write_table(table, path, row_group_size=events // 8)
    return path


def _compared(costs: Mapping[int, Costs]) -> Iterator[Row]:
    for keys, (ours, sort, read) in costs.items():
        what = f"10 M rows on Spark, {keys:,} keys"
        yield Row(
            f"{what}, CPU", "Spark's shuffle and sort, then nothing", ours.cpu / sort.cpu, 0.65
        )
        yield Row(
            f"{what}, time", "Spark's shuffle and sort, then nothing", ours.time / sort.time, 0.65
        )
        yield Row(f"{what}, CPU", "reading the columns into Python", ours.cpu / read.cpu, 1.6)
        yield Row(f"{what}, time", "reading the columns into Python", ours.time / read.time, 1.6)


def _without_limit(free: Costs, limited: Costs) -> Iterator[Row]:
    """Compare jobs whose batches have no limit in bytes, as in sessions of `wex run`, with others."""
    what = f"10 M rows on Spark, {MIDDLE:,} keys, no limit of bytes, CPU"
    yield Row(what, "Spark's shuffle and sort, likewise", free.ours.cpu / free.sort.cpu, 0.65)
    yield Row(what, "reading the columns into Python, likewise", free.ours.cpu / free.read.cpu)
    yield Row(what, "with Spark's own limit", free.ours.cpu / limited.ours.cpu)


def _in_sql(spark: SparkSession, path: str) -> Iterator[Row]:
    frame = spark.read.parquet(path)
    frame.createOrReplaceTempView("trades")
    register(spark, "trend", SPEC)

    def by_sql() -> None:
        _done(
            spark.sql(
                "SELECT * FROM trend(TABLE(SELECT * FROM trades DISTRIBUTE BY key SORT BY key, ts, price))"
            )
        )

    sql, ours = _costs(by_sql, partial(_found, frame))
    yield Row("the same in SQL, distributed and sorted", "the DataFrame", sql.time / ours.time)


def _skewed(spark: SparkSession, folder: Path) -> Iterator[Row]:
    frame = spark.read.parquet(str(_write(folder, 1_000, hot=0.9)))
    divided, whole, before = _costs(
        partial(_found, frame, ranges=2),
        partial(_found, frame),
        partial(_found, frame, shuffle="rows"),
    )
    what = "one key with 90 % of the rows, `ranges=2`"
    yield Row(f"{what}, time", 'shuffle="rows"', divided.time / before.time, 0.7)
    yield Row(f"{what}, time", "one task for the key", divided.time / whole.time)
    yield Row(f"{what}, CPU", "one task for the key", divided.cpu / whole.cpu)


def _one_stream(spark: SparkSession, folder: Path) -> Iterator[Row]:
    """Compare a stream without a key in two partitions with one: as it is read, or packed by two tasks for one."""
    frame = spark.read.parquet(str(_write(folder, 1, 2 * EVENTS))).drop("key")
    whole = frame.coalesce(1)

    def found(rows: DataFrame, ranges: int) -> None:
        _done(rows.transform(windows(ONE_STREAM, ranges=ranges)))

    divided, alone, packed = _costs(
        partial(found, frame, 2), partial(found, whole, 1), partial(found, frame, 1)
    )
    what, other = "20 M events without a key in two partitions", "one, packed by two tasks"
    yield Row(f"{what}, time", "one partition", divided.time / alone.time, 0.65)
    yield Row(f"{what}, CPU", "one partition", divided.cpu / alone.cpu)
    yield Row(f"{what}, time", other, divided.time / packed.time)
    yield Row(f"{what}, CPU", other, divided.cpu / packed.cpu)


def _memory(folder: Path) -> Iterator[Row]:
    """Compare the most memory that a worker takes, where the rows of one key do not fit into it."""
    paths = [str(_write(folder, 1, times * EVENTS)) for times in (1, 4, 8)]
    few, many, more = (_in_new_session(_memory_for_file, path) for path in paths)
    yield Row("workers' memory, 40 M rows of one key", "10 M", many / few, 1.2)
    yield Row("workers' memory, 80 M rows of one key", "40 M", more / many, 1.2)


def _memory_for_file(path: str) -> int:
    """Return the most memory that a Python worker takes for a file, in kB."""
    spark = new_session("local[2]", SETTINGS, progress=False)
    _found(spark.read.parquet(path))
    most = _most_memory_of_workers()
    spark.stop()
    return most


def _most_memory_of_workers() -> int:
    """Return the most memory that a Python worker of Spark has taken so far, in kB."""
    most = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if b"pyspark.daemon" in (folder / "cmdline").read_bytes():
                status = (folder / "status").read_text()
                most = max(most, int(status.partition("VmHWM:")[2].split()[0]))
    return most


def _found(frame: DataFrame, shuffle: Shuffle = "packed", ranges: int | None = None) -> None:
    _done(frame.transform(windows(SPEC, shuffle=shuffle, ranges=ranges)))


def _sorted(frame: DataFrame) -> None:
    ordered = frame.repartition("key").sortWithinPartitions("key", "ts", "price")
    _done(ordered.mapInArrow(_nothing, "n long"))


def _read(frame: DataFrame) -> None:
    _done(frame.mapInArrow(_nothing, "n long"))


class Cost(NamedTuple):
    """What a job takes."""

    time: float
    cpu: float  # of all processes


class Costs(NamedTuple):
    """What it takes to find windows, to shuffle and sort rows and do nothing with them, and only to read them."""

    ours: Cost
    sort: Cost
    read: Cost


def _in_new_session(measure: Callable[..., Measured], *arguments: object) -> Measured:
    """Return what is measured in a session of its own, in a new process of Java."""
    alone = ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1)
    with alone as process:
        return process.submit(measure, *arguments).result()


def _costs_of_files(paths: Mapping[int, str], settings: Mapping[str, str]) -> dict[int, Costs]:
    spark = new_session("local[2]", {**SETTINGS, **settings}, progress=False)
    costs = {}
    for keys, path in paths.items():
        frame = spark.read.parquet(path)
        jobs = [partial(job, frame) for job in (_found, _sorted, _read)]
        costs[keys] = Costs(*_costs(*jobs))
    spark.stop()
    return costs


def _least(sessions: list[dict[int, Costs]]) -> dict[int, Costs]:
    """Return the least that each job took in any session."""
    return {
        keys: Costs(
            *(_cheapest(runs) for runs in zip(*(costs[keys] for costs in sessions), strict=True))
        )
        for keys in sessions[0]
    }


def _costs(*jobs: Callable[[], None]) -> list[Cost]:
    """Return the least that each job takes, run in turns.

    Before that each of them runs three times: until then Spark's compiler takes a part of the cores.
    """
    for job in WARM_UP * jobs:
        job()
    runs = [[Cost(*_measured(job)) for job in jobs] for _ in range(RUNS)]
    return [_cheapest(own) for own in zip(*runs, strict=True)]


def _cheapest(runs: Iterable[Cost]) -> Cost:
    times, cpus = zip(*runs, strict=True)
    return Cost(min(times), min(cpus))


def _measured(job: Callable[[], None]) -> tuple[float, float]:
    cpu = cpu_seconds()
    return seconds(job), cpu_seconds() - cpu


def _by_hand(spark: SparkSession, path: str) -> Iterator[Row]:
    few = spark.read.parquet(path).limit(FEW).repartition(4).cache()
    few.count()

    def loop() -> None:
        _done(few.groupBy("key").applyInPandas(_trend_of_group, "key long, first long, last long"))

    ours = min(seconds(lambda: _done(few.transform(windows(SPEC)))) for _ in range(2))
    yield Row("1 M rows on Spark, 1,000 keys", "applyInPandas with a loop", ours / seconds(loop))


def _done(frame: DataFrame) -> None:
    frame.write.format("noop").mode("overwrite").save()


def _nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    return iter(())


def _trend_of_group(group: pd.DataFrame) -> pd.DataFrame:
    ordered = group.sort_values("ts")
    found = python_loop(ordered["price"].tolist())
    starts, ends = zip(*found, strict=True) if found else ((), ())
    return pd.DataFrame(
        {"key": [int(group["key"].iloc[0])] * len(found), "first": starts, "last": ends}
    )
