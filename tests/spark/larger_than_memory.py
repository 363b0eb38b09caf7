"""A batch job on a cluster whose data is many times larger than the memory of its workers.

python -m tests.spark.larger_than_memory [TIMES]: generate so many times (10) the memory of both executors,
find windows, compare with what they must be, and print how much memory the processes took at most.
"""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import wex
from tests.spark.cases import session
from tests.spark.standalone import MEMORY, Cluster, members_of
from wex.spark import windows

SPEC = wex.parse("""
  stream events (key int, t timestamp, x int, text string) partition by key order by t
  window ramp match [x = 0] [x > x[-1]]{9} measure count() as n, last(text) as text
""")
WORKERS = 2
KEYS, STEPS = 200, 10  # a window is a ramp of so many events
REPEATED = 30  # times a text of 32 bytes, so that bytes are many and rows few
ROW = 32 * REPEATED + 24  # bytes
# Python's limit is one of addresses. The libraries alone take about 1.6 GB of them.
SETTINGS = {
    "spark.executor.pyspark.memory": "2200m",
    "spark.sql.shuffle.partitions": "16",
}


def events(spark: SparkSession, count: int) -> DataFrame:
    """Return generated events: `x` counts from 0 to 9 again and again, in each key."""
    number = F.floor(F.col("id") / KEYS)
    return spark.range(0, count, 1, 16).select(
        (F.col("id") % KEYS).alias("key"),
        F.timestamp_seconds(number).alias("t"),
        (number % STEPS).alias("x"),
        _text(F.col("id")).alias("text"),
    )


def _text(number: Column) -> Column:
    return F.repeat(F.md5(number.cast("string")), REPEATED)


def check(found: DataFrame, count: int) -> int:
    """Check that each ramp is there once, with the text of its last event; return their number."""
    last = _text(F.col("end_index") * KEYS + F.col("key"))
    fine = (F.col("text") == last) & (F.col("n") == STEPS)
    place = F.struct("key", "start_index")
    row = found.agg(
        F.count("*").alias("windows"),
        F.count_distinct(place).alias("places"),
        F.count_if(fine).alias("fine"),
    ).first()
    assert row is not None
    assert row["windows"] == row["places"] == row["fine"] == count // STEPS, row
    return int(row["windows"])


class Peaks:
    """The greatest memory of Java and Python processes of the workers, in MB."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.megabytes = {"java": 0, "python": 0}
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while True:
            for worker in self._cluster.workers():
                for process in members_of(worker):
                    self._look(Path(f"/proc/{process}"))
            time.sleep(0.5)

    def _look(self, process: Path) -> None:
        try:
            command = (process / "cmdline").read_text()
            status = (process / "status").read_text()
        except OSError:  # it has ended
            return
        kind = "python" if "pyspark.daemon" in command else "java"
        peak = int(status.partition("VmHWM:")[2].split()[0]) // 1024
        self.megabytes[kind] = max(self.megabytes[kind], peak)


def main(times: float) -> None:
    """Run the job and print numbers."""
    step = KEYS * STEPS
    count = int(times * WORKERS * int(MEMORY.removesuffix("m")) * 2**20 / ROW) // step * step
    with Cluster(WORKERS) as cluster:
        peaks = Peaks(cluster)
        spark = session(cluster.url, **SETTINGS)
        began = time.monotonic()
        number = check(events(spark, count).transform(windows(SPEC)), count)
        took = time.monotonic() - began
        spark.stop()
    print(  # noqa: T201
        f"{count * ROW / 2**30:.1f} GB in {count:,} rows, {WORKERS} executors of {MEMORY}: {number:,} windows in {took:.0f} s;"
        f" at most {peaks.megabytes['java']} MB in a Java process, {peaks.megabytes['python']} in a Python one: fine"
    )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 10)
