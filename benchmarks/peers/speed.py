"""Flink SQL, WEX on Spark and WEX in process side by side: the same query, file and cores.

Flink runs the query as a batch and as a stream, and the faster of the two counts. Everything has been
started and has run once before it is measured. `whole` begins with the CSV file; `matching` is what
is left without reading it: the job that only reads the columns is measured, too, and taken off.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv
from pyspark.sql import SparkSession

import wex
import wex.spark
from benchmarks.peers import flink
from benchmarks.peers.flink_worker import cpu_seconds
from wex.spark.session import new_session

KEYS, CORES, ROUNDS = 100, 2, 6
FLINK_ROUNDS = 2  # of each mode, after the matches were counted once: the JVM is warm
COLUMNS = {
    "symbol": "STRING",
    "ts": "TIMESTAMP(3)",
    "t": "BIGINT",
    "price": "DOUBLE",
    "peak": "BIGINT",
}
MATCH = {"symbol": "STRING", "began": "BIGINT", "ended": "BIGINT"}
FIELDS = {
    "symbol": "string not null",
    "ts": "timestamp not null",
    "t": "int not null",
    "price": "real not null",
    "peak": "int not null",
}
ARROW = {
    "symbol": pa.string(),
    "ts": pa.timestamp("us"),
    "t": pa.int64(),
    "price": pa.float64(),
    "peak": pa.int64(),
}
SPARK_SCHEMA = "symbol string, ts timestamp_ntz, t bigint, price double, peak bigint"
BEFORE = "SELECT symbol, began, ended FROM ticks MATCH_RECOGNIZE (PARTITION BY symbol ORDER BY ts\n"
MEASURES = "MEASURES FIRST(t) AS began, LAST(t) AS ended ONE ROW PER MATCH\n"


@dataclass(frozen=True)
class Load:
    """A query, and the number of events that it runs on."""

    name: str
    pattern: str
    events: int

    @property
    def query(self) -> str:
        """The whole statement, which Flink and WEX both read."""
        return f"{BEFORE}{MEASURES}{self.pattern})"

    @property
    def counted(self) -> str:
        """The statement around it that counts the matches."""
        return f"SELECT COUNT(*), MAX(ended - began) FROM ({self.query})"


LOADS = [
    Load(
        "a fall and the rise after it: V",
        "AFTER MATCH SKIP TO LAST UP PATTERN (STRT DOWN+ UP)\n"
        "DEFINE DOWN AS price < LAST(price, 1), UP AS price > LAST(price, 1)",
        4_000_000,
    ),
    Load(
        "from a rise after two falls to the next two falls: a trend",
        "AFTER MATCH SKIP PAST LAST ROW PATTERN (STRT FALL1 FALL2 UP REST*? DOWN1 DOWN2)\n"
        "DEFINE FALL1 AS price < LAST(price, 1), FALL2 AS price < LAST(price, 1),\n"
        "  UP AS price > LAST(price, 1), DOWN1 AS price < LAST(price, 1), DOWN2 AS price < LAST(price, 1)",
        4_000_000,
    ),
    Load(
        "sessions with gaps below 150 s",
        "AFTER MATCH SKIP TO LAST LATER PATTERN (STRT SAME* LATER)\n"
        "DEFINE SAME AS t < LAST(t, 1) + 150, LATER AS t >= LAST(t, 1) + 150",
        4_000_000,
    ),
    Load(
        "from every event to the next peak, some 50 matches open at a time for each key",
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (STRT REST*? TOP) DEFINE TOP AS peak = 1",
        100_000,
    ),
]


@dataclass(frozen=True)
class Cost:
    """Seconds and CPU seconds of a run, and what it counted."""

    seconds: float
    cpu: float
    matches: int = 0

    def without(self, other: Cost) -> Cost:
        """Return what is left when the cost of another run is taken off."""
        return Cost(
            max(self.seconds - other.seconds, 1e-9), max(self.cpu - other.cpu, 1e-9), self.matches
        )


@dataclass(frozen=True)
class Line:
    """The results for one load; each system with its reading, and without."""

    load: Load
    mode: str
    flink: tuple[Cost, Cost]
    spark: tuple[Cost, Cost]
    process: tuple[Cost, Cost]


def main() -> Iterator[Line]:
    """Measure all loads."""
    with tempfile.TemporaryDirectory() as folder:
        paths = {
            events: _written(Path(folder), events) for events in {load.events for load in LOADS}
        }
        spark = new_session(
            f"local[{CORES}]", {"spark.sql.shuffle.partitions": str(CORES)}, progress=False
        )
        for load in LOADS:
            path = paths[load.events]
            mode, theirs = _flink(load, path)
            line = Line(load, mode, theirs, _spark(spark, load, path), _in_process(load, path))
            counts = {pair[0].matches for pair in (line.flink, line.spark, line.process)}
            if len(counts) > 1:
                raise AssertionError(f"{load.name}: the systems count different matches: {counts}")
            yield line
        spark.stop()


def _written(folder: Path, events: int) -> Path:
    """Write prices that walk at random, of a hundred symbols, an event each second."""
    random = np.random.default_rng(events)
    symbols = random.integers(0, KEYS, events)
    prices = np.empty(events)
    for key in range(KEYS):
        at = np.flatnonzero(symbols == key)
        prices[at] = 100 + np.cumsum(random.standard_normal(len(at)))
    table = pa.table({
        "symbol": pa.array([f"S{key:02}" for key in range(KEYS)]).take(pa.array(symbols)),
        "ts": pa.array(np.arange(events) * 1000, pa.timestamp("ms")).cast(pa.timestamp("s")),
        "t": np.arange(events),
        "price": np.round(prices, 6),
        "peak": (random.random(events) < 1 / 50).astype(np.int64),
    })  # fmt: skip
    path = folder / f"ticks-{events}.csv"
    csv.write_csv(table, path, csv.WriteOptions(include_header=False, quoting_style="none"))
    return path


def _flink(load: Load, path: Path) -> tuple[str, tuple[Cost, Cost]]:
    """Return the faster mode of Flink and its costs."""
    job: dict[str, Any] = {
        "table": "ticks",
        "columns": COLUMNS,
        "order": "ts",
        "path": str(path),
        "parallelism": CORES,
    }
    match = {"rounds": FLINK_ROUNDS, "query": load.query, "sink": MATCH}
    read = {"rounds": FLINK_ROUNDS, "query": "SELECT * FROM ticks", "sink": COLUMNS}
    modes = [
        {**job, "mode": mode, **work} for mode in ("batch", "streaming") for work in (match, read)
    ]
    counted, *answers = flink.run([{**job, "query": load.counted}, *modes])
    for answer in (counted, *answers):
        if "refused" in answer:
            raise AssertionError(f"Flink refused a job: {answer['refused']}")
    ((matches, _),) = counted["rows"]
    batch, batch_read, stream, stream_read = (
        min((Cost(**run, matches=matches) for run in answer["runs"]), key=lambda cost: cost.seconds)
        for answer in answers
    )
    if batch.seconds < stream.seconds:
        return "batch", (batch, batch.without(batch_read))
    return "streaming", (stream, stream.without(stream_read))


def _spark(spark: SparkSession, load: Load, path: Path) -> tuple[Cost, Cost]:
    """Return the costs of the query on Spark."""

    def ticks() -> Any:
        return spark.read.csv(str(path), SPARK_SCHEMA)

    def match() -> int:
        ticks().createOrReplaceTempView("ticks")
        return int(wex.spark.sql(spark, load.counted).collect()[0][0])

    def read() -> int:
        counts = [f"count({name})" for name in COLUMNS]
        return int(ticks().selectExpr(*counts).collect()[0][0])

    whole = _best(match)
    return whole, whole.without(_best(read))


def _in_process(load: Load, path: Path) -> tuple[Cost, Cost]:
    """Return the costs of the query in this process."""
    translation = wex.from_sql(load.query, FIELDS, dialect="flink")

    def read() -> pa.Table:
        columns = csv.ReadOptions(column_names=list(ARROW))
        return csv.read_csv(path, columns, convert_options=csv.ConvertOptions(column_types=ARROW))

    def whole() -> int:
        return int(translation.find(read(), threads=CORES).num_rows)

    table = read()
    return _best(whole), _best(lambda: int(translation.find(table, threads=CORES).num_rows))


def _best(work: Callable[[], int]) -> Cost:
    """Return the cost of the fastest of some runs, after one that does not count."""
    work()
    costs = []
    for _ in range(ROUNDS):
        wall, cpu = time.perf_counter(), cpu_seconds()
        matches = work()
        costs.append(Cost(time.perf_counter() - wall, cpu_seconds() - cpu, matches))
    return min(costs, key=lambda cost: cost.seconds)
