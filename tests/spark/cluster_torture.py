"""An endless query and batch jobs on a real cluster whose workers are killed again and again.

python -m tests.spark.cluster_torture KILLS [SECONDS]: workers are killed, with their executors, at random
moments, so many times and for so long at least. Every batch job must find what `wex.find` finds, and the
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
LONGEST = 12.0  # seconds between two kills
# A loss of an executor counts as a failure of its tasks, and Spark gives up after four of them.
SETTINGS = {"spark.task.maxFailures": "100", "spark.sql.shuffle.partitions": "2", PROVIDER: ROCKSDB}


class Killer:
    """Kills workers of a cluster in a thread, until it is stopped."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster, self._choose = cluster, random.Random(7)
        self.kills = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Kill no more."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._choose.uniform(2, LONGEST)):
            if workers := self._cluster.workers():
                kill_worker(self._choose.choice(workers))
                self.kills += 1


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
        killer, batches = Killer(cluster), 1
        try:
            while (killer.kills < kills or time.monotonic() - began < seconds) and batches < MOST:
                part = table.slice(ROWS * batches, ROWS)
                written(part, work / "in", 1)
                batches += 1
                result = spark.createDataFrame(part).transform(windows(TREND)).toArrow()
                assert rows(result) == rows(wex.find(TREND, part))
                query.processAllAvailable()
        finally:
            killer.stop()
        query.stop()
        output = spark.read.parquet(str(work / "out")).toArrow()
        agree(output, wex.find(TREND, table.slice(0, ROWS * batches)))
        spark.stop()
    print(  # noqa: T201
        f"killed {killer.kills} workers in {time.monotonic() - began:.0f} s: {batches} micro-batches with"
        f" {output.num_rows} windows, {batches - 1} batch jobs: fine"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0)
