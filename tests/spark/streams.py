"""Streaming queries, checked on every kind of session: python -m tests.spark.streams classic|connect."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from math import isclose
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import wex
from tests.spark.cases import TREND, rows, session, wrong
from wex.examples import market
from wex.spark import windows
from wex.spark.endless import counts_in
from wex.spark.session import ROCKSDB
from wex.spark.streaming import PROVIDER

MODIFIED = 1_767_225_600  # seconds: the time of the first file
CLAUSES = wex.parse("""
  stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
  window pair match any{2} until [price > price[-1]] measure count() as n
  window fall match [price < price[-1]]{1,4} within 20 seconds keep longest measure sum(price) as total
  window first match [price > price[-1]] [price <= price[-1]] keep disjoint having n2 > 1 measure count() as n2
""")


def agree(found: pa.Table, expected: pa.Table) -> None:
    """Check that windows are the same; sums of floats depend on how rows were cut into batches."""
    ours, theirs = rows(found), rows(expected)
    assert len(ours) == len(theirs)
    for one, two in zip(ours, theirs, strict=True):
        for our, their in zip(one, two, strict=True):
            same = our == their
            close = (
                isinstance(our, float)
                and isinstance(their, float)
                and isclose(our, their, abs_tol=1e-6)
            )
            assert same or close, (one, two)


def written(table: pa.Table, folder: Path, parts: int, *, shuffle: int = 0) -> None:
    """Write a table as files, in the order of time; `shuffle`: rows are that far from their place."""
    order = np.arange(table.num_rows)
    if shuffle:
        order = np.argsort(order + np.random.default_rng(1).uniform(0, shuffle, table.num_rows))
    table = table.take(pa.array(order))
    folder.mkdir(exist_ok=True)
    begin = len(list(folder.glob("*.parquet")))
    for at, chunk in enumerate(np.array_split(np.arange(table.num_rows), parts)):
        path = folder / f"{begin + at:04d}.parquet"
        hidden = path.with_name(f".{path.name}")  # Spark reads no file that is half written
        pq.write_table(table.take(pa.array(chunk)), hidden)
        # Spark reads files in the order of their time, to the millisecond.
        os.utime(hidden, (MODIFIED + begin + at,) * 2)
        hidden.rename(path)


def source(spark: SparkSession, folder: Path, delay: str | None = None) -> DataFrame:
    schema = spark.read.parquet(str(folder)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
    frame = reader.option("latestFirst", "false").parquet(str(folder))
    return frame if delay is None else frame.withWatermark("ts", delay)


def run(frame: DataFrame, work: Path, name: str) -> tuple[pa.Table, list[dict[str, int]]]:
    """Run a query over what there is; return the windows in its sink, and its counts."""
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(work / f"{name}-out"))
        .option("checkpointLocation", str(work / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = [counts_in(each) for each in query.recentProgress]
    out = frame.sparkSession.read.schema(frame.schema).parquet(str(work / f"{name}-out"))
    return out.toArrow(), [each for each in progress if each]


def final_watermark(table: pa.Table, seconds: int) -> pa.Table:
    """Return the rows that the last watermark has passed."""
    last = pc.max(table["ts"]).as_py() - timedelta(seconds=seconds)
    return table.filter(pc.less_equal(table["ts"], pa.scalar(last, table["ts"].type)))


def so_far(spec: wex.Spec, table: pa.Table) -> pa.Table:
    """Return the windows of streams that have not ended."""
    return wex.Processor(spec).feed(table)


# --- The cases


def any_batches(spark: SparkSession, work: Path) -> None:
    table = market.trades(6_000, 20).sort_by("ts")
    for spec, parts in ((TREND, 4), (CLAUSES, 3)):
        name = f"plain{parts}"
        written(table, work / f"{name}-in", parts)
        frame = source(spark, work / f"{name}-in").transform(windows(spec, buckets=4))
        found, seen = run(frame, work, name)
        agree(found, so_far(spec, table))
        assert sum(each["processed"] for each in seen) == table.num_rows
        assert seen[-1]["streams"] == 20


def within_the_watermark(spark: SparkSession, work: Path) -> None:
    table = market.trades(6_000, 20).sort_by("ts")
    written(table, work / "marked-in", 5, shuffle=60)
    frame = source(spark, work / "marked-in", "120 seconds").transform(windows(TREND, buckets=4))
    found, seen = run(frame, work, "marked")
    agree(found, so_far(TREND, final_watermark(table, 120)))
    assert sum(each["late"] for each in seen) == 0
    passed = final_watermark(table, 120).num_rows
    assert sum(each["processed"] for each in seen) == passed


def late_rows(spark: SparkSession, work: Path) -> None:
    table = market.trades(4_000, 10).sort_by("ts")
    early, rest = table.slice(0, 100), table.slice(100)
    written(rest, work / "late-in", 2)
    written(early, work / "late-in", 1)
    frame = source(spark, work / "late-in", "10 seconds").transform(windows(TREND, buckets=4))
    found, seen = run(frame, work, "late")
    assert sum(each["late"] for each in seen) == 100
    agree(found, so_far(TREND, final_watermark(rest, 10)))
    strict = source(spark, work / "late-in", "10 seconds")
    strict = strict.transform(windows(TREND, buckets=4, late="error"))
    wrong(lambda: run(strict, work, "strict"), "late")


def silent_keys(spark: SparkSession, work: Path) -> None:
    spec = wex.parse(
        "stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts"
        " window all after () match any+ until [false] or end keep longest measure count() as n"
    )
    table = market.trades(3_000, 3).sort_by("ts")
    start = table["ts"][0].as_py()
    silent = pc.and_(
        pc.equal(table["symbol"], "S000"),
        pc.greater(table["ts"], pa.scalar(start + timedelta(seconds=5), table["ts"].type)),
    )
    table = table.filter(pc.invert(silent))
    written(table, work / "silent-in", 3)
    chosen = windows(spec, buckets=2, expire_after=timedelta(seconds=10), allow_unbounded=True)
    found, _ = run(source(spark, work / "silent-in", "1 second").transform(chosen), work, "silent")
    assert found["symbol"].to_pylist() == ["S000"]
    assert found["n"].to_pylist() == [pc.sum(pc.equal(table["symbol"], "S000")).as_py()]


def restarts(spark: SparkSession, work: Path) -> None:
    table = market.trades(6_000, 20).sort_by("ts")
    written(table.slice(0, 2_500), work / "again-in", 2)
    for begin in (2_500, 6_000):
        frame = source(spark, work / "again-in").transform(windows(TREND, buckets=4))
        found, _ = run(frame, work, "again")
        agree(found, so_far(TREND, table.slice(0, begin)))
        if begin < 6_000:
            written(table.slice(2_500), work / "again-in", 2)
    written(table.slice(0, 10), work / "again-in", 1)
    same = wex.parse(str(TREND).replace("[not down2]*", "([not down2] | [not down2] [not down2])*"))
    frame = source(spark, work / "again-in").transform(windows(same, buckets=4))
    run(frame, work, "again")  # the same plan, said differently
    written(table.slice(0, 10), work / "again-in", 1)
    other = wex.parse(str(TREND).replace("match up", "match [not up]"))
    changed = source(spark, work / "again-in").transform(windows(other, buckets=4))
    wrong(lambda: run(changed, work, "again"), "state-spec")


def refusals(spark: SparkSession, work: Path) -> None:
    written(market.trades(100, 2).sort_by("ts"), work / "no-in", 1)
    frame = source(spark, work / "no-in")
    text = "stream s (symbol string, ts timestamp, price real) partition by symbol order by ts window w match "
    grows = wex.parse(text + "[price > 0]* [price < 0]")
    error = wrong(lambda: frame.transform(windows(grows)), "unbounded")
    assert "without bound" in str(error)
    limited = frame.transform(windows(grows, allow_unbounded=True, max_open=5, buckets=2))
    wrong(lambda: run(limited, work, "open"), "max-open")
    elsewhere = frame.withColumn("other", frame["ts"]).withWatermark("other", "1 second")
    wrong(lambda: elsewhere.transform(windows(TREND)), "watermark")
    wrong(lambda: frame.transform(windows(TREND, late="never")), "wrong-argument")  # type: ignore[arg-type]
    spark.conf.set(
        PROVIDER, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
    )
    assert PROVIDER in str(wrong(lambda: frame.transform(windows(TREND)), "state-store"))
    spark.conf.set(PROVIDER, ROCKSDB)


CASES: list[Callable[[SparkSession, Path], None]] = [
    any_batches, within_the_watermark, late_rows, silent_keys, restarts, refusals,
]  # fmt: skip


def main(kind: str) -> None:
    """Check all cases on a session of a kind."""
    spark = session(kind)
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            case(spark, Path(folder))
        print(case.__name__, "fine", flush=True)  # noqa: T201
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
