"""Cases for a session on a real cluster: a worker is killed in the middle, and the result is the same.

Each is compared with `wex.find`. Nothing here depends on how rows are shuffled.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

import wex
from tests.spark.cases import ONE, TREND, rows
from tests.spark.gate import Gate
from tests.spark.range_cases import said
from tests.spark.standalone import kill_worker
from tests.spark.streams import agree, source, written
from wex.examples import market
from wex.spark import create_view, range_borders, sql, windows

ROWS, SYMBOLS, FILES = 8_000, 20, 4


def events(spark: SparkSession, work: Path) -> tuple[pa.Table, DataFrame]:
    """Return trades, as a table and as a frame of several partitions."""
    table = market.trades(ROWS, SYMBOLS)
    written(table, work / "in", FILES)
    frame = spark.read.parquet(str(work / "in"))
    return table, frame.repartition(FILES)


def killed(gate: Gate, job: Callable[[], pa.Table]) -> pa.Table:
    """Return the result of a job; the worker of the task that waits at a gate is killed."""
    gate.close()
    with ThreadPoolExecutor(1) as pool:
        result = pool.submit(job)
        kill_worker(gate.caught())
        assert not result.done()
        gate.open()
        return result.result()


def killed_before_windows(spark: SparkSession, work: Path) -> None:
    """Lose the task that reads events, and events that its worker has shuffled."""
    table, frame = events(spark, work)
    gate = Gate(work / "gate")
    result = killed(gate, gate.on(frame).transform(windows(TREND)).toArrow)
    expected = wex.find(TREND, table)
    assert expected.num_rows > 100
    assert rows(result) == rows(expected)


def killed_after_windows(spark: SparkSession, work: Path) -> None:
    """Lose a task that has found windows, and the rows shuffled by its worker."""
    table, frame = events(spark, work)
    gate = Gate(work / "gate")
    result = killed(gate, gate.on(frame.transform(windows(TREND))).toArrow)
    assert rows(result) == rows(wex.find(TREND, table))


def ranges_killed(spark: SparkSession, work: Path) -> None:
    """Divide a key with most of the rows, and then a stream without a key: lose tasks on both sides."""
    table = market.trades(ROWS, SYMBOLS)
    symbols = pc.if_else(pa.array(np.arange(ROWS) % 10 == 0), table["symbol"], "large")
    skewed = table.set_column(table.column_names.index("symbol"), "symbol", symbols)
    written(skewed, work / "skewed", FILES)
    frame = spark.read.parquet(str(work / "skewed")).repartition(FILES)
    one = wex.parse(str(TREND).replace("partition by symbol", ""))
    for number, (spec, gated_first) in enumerate(((TREND, True), (TREND, False), (one, True))):
        gate = Gate(work / f"gate{number}")
        with patch.object(range_borders, "LEAST_EVENTS", 1), said() as lines:
            # The gate is open while borders are looked for.
            given = gate.on(frame) if gated_first else frame
            found = given.transform(windows(spec, ranges=2))
        assert "in 2 ranges, on 2 tasks" in lines[0]
        result = killed(gate, (found if gated_first else gate.on(found)).toArrow)
        expected = wex.find(spec, skewed)
        assert expected.num_rows > 100
        assert rows(result.drop_columns(["mean"])) == rows(expected.drop_columns(["mean"]))


def statement_killed(spark: SparkSession, work: Path) -> None:
    """Run a statement with MATCH_RECOGNIZE, and then a view of windows."""
    table, frame = events(spark, work)
    gate = Gate(work / "gate")
    gate.on(frame).createOrReplaceTempView("trades")
    query = f"SELECT * FROM trades {ONE}"
    result = killed(gate, sql(spark, query).toArrow)
    expected = wex.from_sql(query, table.schema).find(table)
    assert expected.num_rows > 100
    assert rows(result) == rows(expected)
    create_view(spark, "trends", TREND, "trades")
    assert rows(spark.sql("SELECT * FROM trends").toArrow()) == rows(wex.find(TREND, table))


def stream_killed(spark: SparkSession, work: Path) -> None:
    """Kill workers in micro-batches: nothing is lost, nothing is twice."""
    table = market.trades(ROWS, SYMBOLS).sort_by("ts")
    size = ROWS // 4
    parts = [table.slice(start, size) for start in range(0, ROWS, size)]
    written(parts[0], work / "in", 1)
    before, after = Gate(work / "before"), Gate(work / "after")
    found = before.on(source(spark, work / "in")).transform(windows(TREND, buckets=4))
    query = (
        after.on(found)
        .writeStream.format("parquet")
        .option("path", str(work / "out"))
        .option("checkpointLocation", str(work / "checkpoint"))
        .start()
    )

    query.processAllAvailable()
    for part, gate in zip(parts[1:], (before, after, before), strict=True):
        gate.close()
        written(part, work / "in", 1)
        worker = gate.caught()  # the micro-batch has begun, and is not committed
        if part is not parts[-1]:
            kill_worker(worker)  # behind the gate `after`, when the operator has changed states
        gate.open()
        query.processAllAvailable()
    query.stop()
    expected = wex.find(TREND, table)
    assert expected.num_rows > 100
    agree(spark.read.parquet(str(work / "out")).toArrow(), expected)


CASES: list[Callable[[SparkSession, Path], None]] = [
    killed_before_windows,
    killed_after_windows,
    ranges_killed,
    statement_killed,
    stream_killed,
]
