"""An endless query and batch jobs on a real cluster whose workers are killed again and again.

python -m tests.spark.cluster_torture KILLS [SECONDS]: workers are killed, with their executors, at random
moments of jobs or after them, so many times and for so long at least. Every batch job must find what `wex.find` finds, and the
query must have written every window once.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import wex
from tests.spark.cases import TREND, rows, session
from tests.spark.standalone import Cluster, kill_worker
from tests.spark.streams import agree, source, written
from wex.examples import market
from wex.spark import windows
from wex.spark.session import ROCKSDB
from wex.spark.streaming import PROVIDER

ROWS, SYMBOLS = 1_000, 20  # of a micro-batch
MOST = 400  # micro-batches
LONGEST = 6.0  # seconds after the start of a batch job
# A loss of an executor counts as a failure of its tasks, and Spark gives up after four of them.
SETTINGS = {"spark.task.maxFailures": "100", "spark.sql.shuffle.partitions": "2", PROVIDER: ROCKSDB}


def kill_one(cluster: Cluster, choose: random.Random) -> None:
    """Kill a worker of a cluster."""
    if workers := cluster.workers():
        kill_worker(choose.choice(workers))


def main(kills: int, seconds: float = 0) -> None:
    """Run until workers have been killed so many times, and for so long."""
    began = time.monotonic()
    table = market.trades(ROWS * MOST, SYMBOLS).sort_by("ts")
    with tempfile.TemporaryDirectory() as name, Cluster() as cluster:
        work = Path(name)
        spark = session(cluster.url, **SETTINGS)
        written(table.slice(0, ROWS), work / "in", 1)
        found = source(spark, work / "in").transform(windows(TREND, buckets=4))
        sink = found.writeStream.format("parquet").option("path", str(work / "out"))
        query = sink.option("checkpointLocation", str(work / "checkpoint")).start()
        query.processAllAvailable()
        batches, choose = 1, random.Random(7)
        while (batches <= kills or time.monotonic() - began < seconds) and batches < MOST:
            part = table.slice(ROWS * batches, ROWS)
            written(part, work / "in", 1)
            batches += 1
            # One kill in each round, so that executors have time to start, however slow the machine.
            killer = threading.Timer(choose.uniform(0, LONGEST), kill_one, (cluster, choose))
            killer.start()
            result = spark.createDataFrame(part).transform(windows(TREND)).toArrow()
            assert rows(result) == rows(wex.find(TREND, part))
            query.processAllAvailable()
            killer.join()
        query.stop()
        output = spark.read.parquet(str(work / "out")).toArrow()
        agree(output, wex.find(TREND, table.slice(0, ROWS * batches)))
        spark.stop()
    print(  # noqa: T201
        f"killed {batches - 1} workers in {time.monotonic() - began:.0f} s: {batches} micro-batches with"
        f" {output.num_rows} windows, {batches - 1} batch jobs: fine"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0)
