"""Endless streams: against an operator with one group for each key, and against our own batch job."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import parquet
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from benchmarks.measure import Row, seconds
from benchmarks.spark import SPEC
from wex.spark import windows
from wex.spark.session import new_session
from wex.spark.streaming_job import counts_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = 20_000
BATCHES, ROWS = 4, 1_000_000  # the first batch is left aside
MANY, SMALL, EARLY = 100, 20_000, 20


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = new_session("local[2]", {"spark.sql.shuffle.partitions": "4"}, progress=False)
        _write(folder / "large", BATCHES, ROWS)
        _write(folder / "small", MANY, SMALL)
        ours = _stream(spark, folder, "large", lambda frame: frame.transform(windows(SPEC)))
        peers = _stream(spark, folder, "large", _counting, most=2)
        batch = _batch(spark, folder)
        yield Row(
            "20,000 keys, streaming", "one group for each key, only counting", ours / peers, 0.2
        )
        yield Row("20,000 keys, streaming", "the same as a batch job", ours / batch, 3.0)
        resident: dict[int, int] = {}
        progress = _progress(
            spark, folder, "small", lambda frame: frame.transform(windows(SPEC)), resident
        )
        states = [counts_in(each)["state_bytes"] for each in progress]
        yield Row("state after 100 batches", "after 20", states[-1] / states[EARLY - 1], 1.1)
        first = min(at for at in resident if at >= EARLY)
        yield Row(
            "workers' memory after 100 batches",
            "after 20",
            resident[max(resident)] / resident[first],
            1.1,
        )
        yield Row("state of a key", "100 bytes", states[-1] / KEYS / 100)
        spark.stop()


def _write(folder: Path, batches: int, size: int) -> None:
    folder.mkdir()
    random = np.random.default_rng(1)
    for at in range(batches):
        times = (np.arange(size) + at * size) * 1_000
        table = pa.table({
            "key": random.integers(0, KEYS, size),
            "ts": pa.array(times, pa.timestamp("us", "UTC")),
            "price": 100 + 0.01 * np.cumsum(random.integers(-1, 2, size)),
        })  # fmt: skip
        path = folder / f"{at:04d}.parquet"
        parquet.write_table(table, path)
        os.utime(path, (1_767_225_600 + at,) * 2)


def _progress(
    spark: SparkSession,
    folder: Path,
    name: str,
    find: Any,
    resident: dict[int, int] | None = None,
) -> list[Any]:
    """Return what a query says of its batches; `resident` takes the memory of the workers by batch."""
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "200")
    schema = spark.read.parquet(str(folder / name)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
    frame: DataFrame = find(reader.parquet(str(folder / name)))
    query = frame.writeStream.format("noop").option(
        "checkpointLocation", tempfile.mkdtemp(dir=folder)
    )
    started = query.trigger(availableNow=True).start()
    while not started.awaitTermination(1):
        if resident is not None and started.lastProgress:
            resident[started.lastProgress["batchId"]] = _resident()
    return [each for each in started.recentProgress if each["numInputRows"]]


def _resident() -> int:
    """Return the memory of all Python workers, in kilobytes."""
    total = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                status = (process / "status").read_text()
                total += int(status.partition("VmRSS:")[2].split()[0])
        except (OSError, IndexError):  # it has ended
            continue
    return total


def _stream(spark: SparkSession, folder: Path, name: str, find: Any, most: int = BATCHES) -> float:
    """Return the seconds of a micro-batch, the first one aside."""
    chosen = folder / name
    if most < BATCHES:
        chosen = folder / f"{name}-{most}"
        chosen.mkdir()
        for path in sorted((folder / name).iterdir())[:most]:
            (chosen / path.name).hardlink_to(path)
    progress = _progress(spark, folder, chosen.name, find)
    took: list[float] = [each["durationMs"]["addBatch"] / 1000 for each in progress[1:]]
    return min(took)


def _batch(spark: SparkSession, folder: Path) -> float:
    """Return the seconds that a batch job takes for as many rows as a micro-batch has."""
    frame = spark.read.parquet(str(folder / "large")).transform(windows(SPEC))

    def work() -> None:
        frame.write.format("noop").mode("overwrite").save()

    work()
    return min(seconds(work) for _ in range(2)) / BATCHES


class _Counter(StatefulProcessor):
    """What people write first: a group, a state and a call for each key."""

    def init(self, handle: Any) -> None:
        self.count = handle.getValueState("count", "n long")

    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        before = self.count.get()[0] if self.count.exists() else 0
        total = before + sum(len(each) for each in rows)
        self.count.update((total,))
        yield pd.DataFrame({"key": [key[0]], "n": [total]})

    def close(self) -> None:
        pass


def _counting(frame: DataFrame) -> DataFrame:
    return frame.groupBy("key").transformWithStateInPandas(
        _Counter(), "key long, n long", "Append", "None"
    )
