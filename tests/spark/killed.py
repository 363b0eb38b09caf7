"""An endless job that is killed again and again loses nothing and writes nothing twice.

Some of its rows are bad: they are diverted, each once.

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

import wex
from tests.spark.cases import letters, session
from tests.spark.streams import agree, without_bad, written
from wex.examples import market
from wex.spark.session import CHANGELOG

SPEC = wex.parse("""
  stream trades (symbol string, ts timestamp, price real) partition by symbol order by ts
  window up match [price - price[-1] > 0]{2,9} keep longest measure count() as n, max(price) as top
  window dip match any [price < first(price)]{2,9} until [price >= first(price)] measure min(price) as least
  window pick match [price < price[-1]] any{0,6}? [price > price[-1]] keep leftmost measure last(price) as last
  window visit sessions gap 2 seconds measure count() as events
  window cut sessions gap 2 seconds at most 9 seconds measure count() as events
""")

MOST = 2_000  # files in all
AHEAD, ROWS = 6, 500  # files that wait for the job, and rows in a file
JOB = ["run", "up.wex", "--input", "in", "--output", "out", "--stream", "--checkpoint", "checkpoint",
       "--option", "maxFilesPerTrigger=1", "--buckets", "4", "--watermark", "1 second",
       "--conf", "spark.sql.shuffle.partitions=2", "--bad-rows", "divert", "--bad-rows-to", "bad"]  # fmt: skip


def trades(count: int) -> pa.Table:
    """Return trades of which some have no price, and some one without a difference to the last."""
    table = market.trades(count, 50).sort_by("ts")
    prices = table["price"].to_pylist()
    for index in range(0, count, 37):
        prices[index] = None if index % 2 else float("nan")
    for index in range(0, count, 700):
        prices[index : index + 100] = [float("inf")] * len(prices[index : index + 100])
    return table.set_column(2, "price", pa.array(prices, pa.float64()))


def start(folder: Path, *, changelog: bool) -> subprocess.Popen[bytes]:
    settings = [] if changelog else ["--conf", f"{CHANGELOG}=false"]
    command = [str(Path(sys.executable).with_name("wex")), *JOB, *settings]
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
        (folder / "up.wex").write_text(str(SPEC))
        table = trades(ROWS * (MOST if seconds else AHEAD * 3 * (kills + 1)))
        files = 0
        while done < kills or (seconds is not None and time.monotonic() - began < seconds):
            before = batches(folder)
            more = before + AHEAD - files
            written(table.slice(ROWS * files, ROWS * more), folder / "in", more)
            files += more
            job = start(folder, changelog=bool(done % 2))  # a checkpoint may have both
            # Wait until it works, then a little longer: somewhere in a batch, or between two.
            while job.poll() is None and batches(folder) == before:
                time.sleep(0.05)
            time.sleep(choose.uniform(0, 2.5))
            assert job.poll() is None, "it has ended before it was killed"
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            done += 1
        last = start(folder, changelog=bool(done % 2))
        assert last.wait() == 0
        spark = session("classic")
        result = spark.read.parquet(str(folder / "out")).toArrow()
        spark.stop()
        expected, bad = without_bad(SPEC, table.slice(0, ROWS * files), 1)
        agree(result, expected)
        assert letters(folder / "bad") == bad, "bad rows are lost, or there twice"
        took = time.monotonic() - began
        print(  # noqa: T201
            f"killed {done} times in {took:.0f} s, {batches(folder)} batches, {result.num_rows} windows,"
            f" {len(bad)} bad rows: fine"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else None)
