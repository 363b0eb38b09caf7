"""An endless job that is killed again and again loses nothing and writes nothing twice.

python -m tests.spark.killed KILLS [SECONDS]: the job is a process of its own, killed without
warning at random moments while it works; then it may finish, and its output is compared.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from tests.spark.cases import TREND, session
from tests.spark.streams import agree, so_far, written
from wex.examples import market

FILES, ROWS = 60, 30_000
JOB = ["run", "trend.wex", "--input", "in", "--output", "out", "--stream", "--checkpoint", "checkpoint",
       "--option", "maxFilesPerTrigger=1", "--buckets", "4",
       "--conf", "spark.sql.shuffle.partitions=2"]  # fmt: skip


def start(folder: Path) -> subprocess.Popen[bytes]:
    command = [str(Path(sys.executable).with_name("wex")), *JOB]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def batches(folder: Path) -> int:
    """Return how many micro-batches are committed."""
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def main(kills: int, seconds: float | None = None) -> None:
    """Kill the job so many times, or for so long; let it finish; compare."""
    choose = random.Random(7)
    began, done = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "trend.wex").write_text(str(TREND))
        table = market.trades(ROWS, 50).sort_by("ts")
        written(table, folder / "in", FILES)
        while done < kills or (seconds is not None and time.monotonic() - began < seconds):
            job = start(folder)
            before = batches(folder)
            # Wait until it works, then a little longer: somewhere in a batch, or between two.
            while job.poll() is None and batches(folder) == before:
                time.sleep(0.05)
            time.sleep(choose.uniform(0, 2.5))
            if job.poll() is not None:
                break  # it has finished
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            done += 1
        last = start(folder)
        assert last.wait() == 0
        spark = session("classic")
        found = spark.read.parquet(str(folder / "out")).toArrow()
        spark.stop()
        agree(found, so_far(TREND, table))
        took = time.monotonic() - began
        print(  # noqa: T201
            f"killed {done} times in {took:.0f} s, {batches(folder)} batches, {found.num_rows} windows: fine"
        )
        assert done or not kills
        assert isinstance(found, pa.Table)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None)
