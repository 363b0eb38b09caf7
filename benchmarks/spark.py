"""The pipeline on Spark against the same pipeline that does nothing, and against what people write."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet

import wex
from benchmarks.engine import python_loop
from benchmarks.measure import Row, seconds
from wex.spark import register, windows
from wex.spark.session import new_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

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


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        spark = new_session("local[2]", {"spark.sql.shuffle.partitions": "4"}, progress=False)
        paths = {keys: _write(Path(folder), keys) for keys in (10, 1_000, 1_000_000)}
        yield from _compared(spark, {keys: str(path) for keys, path in paths.items()})
        spark.stop()


def _write(folder: Path, keys: int) -> Path:
    random = np.random.default_rng(keys)
    path = folder / f"trades-{keys}.parquet"
    table = pa.table({
        "key": random.integers(0, keys, EVENTS),
        "ts": pa.array(np.arange(EVENTS) * 1_000, pa.timestamp("us", "UTC")),
        "price": 100 + 0.01 * np.cumsum(random.integers(-1, 2, EVENTS)),
    })  # fmt: skip
    parquet.write_table(table, path, row_group_size=EVENTS // 8)
    return path


def _compared(spark: SparkSession, paths: dict[int, str]) -> Iterator[Row]:
    def ours(keys: int) -> None:
        _done(spark.read.parquet(paths[keys]).transform(windows(SPEC)))

    def nothing() -> None:
        ordered = (
            spark.read.parquet(paths[1_000])
            .repartition("key")
            .sortWithinPartitions("key", "ts", "price")
        )
        _done(ordered.mapInArrow(_nothing, "n long"))

    def by_sql() -> None:
        _done(
            spark.sql(
                "SELECT * FROM trend(TABLE(SELECT * FROM trades DISTRIBUTE BY key SORT BY key, ts, price))"
            )
        )

    ours(1_000)  # workers have started, kernels are loaded
    times = {keys: min(seconds(partial(ours, keys)) for _ in range(2)) for keys in paths}
    floor = min(seconds(nothing) for _ in range(2))
    yield Row(
        "10 M rows on Spark, 1,000 keys", "mapInArrow that does nothing", times[1_000] / floor, 1.2
    )
    slowest, fastest = max(times.values()), min(times.values())
    yield Row("10 to 1,000,000 keys: the slowest", "the fastest", slowest / fastest, 2)
    spark.read.parquet(paths[1_000]).createOrReplaceTempView("trades")
    register(spark, "trend", SPEC)
    sql = min(seconds(by_sql) for _ in range(2))
    yield Row("the same in SQL, distributed and sorted", "the DataFrame", sql / times[1_000], 1.5)
    yield from _by_hand(spark, paths[1_000])


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
