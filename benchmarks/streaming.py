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
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

from benchmarks.measure import Row, seconds
from benchmarks.spark import LIMITED, SETTINGS, SPEC
from wex.spark import windows
from wex.spark.session import new_session
from wex.spark.streaming_job import counts_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEYS = 20_000
BATCHES, ROWS = 4, 1_000_000  # the first batch is left aside
MANY, SMALL, EARLY = 100, 20_000, 20
FEW, TINY, WARM = 30, 1_000, 10  # micro-batches whose rows cost next to nothing
TICKS = os.sysconf("SC_CLK_TCK")  # of a second


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spark = new_session("local[2]", {**SETTINGS, **LIMITED}, progress=False)
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
        yield from _fixed_cost(spark, folder)
        spark.stop()


def _fixed_cost(spark: SparkSession, folder: Path) -> Iterator[Row]:
    """Yield what a micro-batch costs beside its rows: CPU time of all processes, and time."""
    _write(folder / "tiny", FEW, TINY)
    finds = (lambda frame: frame.transform(windows(SPEC)), _doing_nothing)
    runs = [[_costs(spark, folder, find) for find in finds] for _ in range(2)]
    for at, unit in enumerate(("CPU", "time")):
        ours, nothing = (min(run[number][at] for run in runs) for number in range(2))
        yield Row(
            f"a micro-batch of 1,000 rows, {unit}",
            "a stateful operator that does nothing",
            ours / nothing,
        )


def _costs(spark: SparkSession, folder: Path, find: Any) -> tuple[float, float]:
    """Return the CPU seconds and the seconds of a micro-batch, the first ones aside."""
    cpu: dict[int, float] = {}
    progress = _progress(spark, folder, "tiny", find, cpu=cpu)
    first, last = min(at for at in cpu if at >= WARM), max(cpu)
    took = [each["durationMs"]["triggerExecution"] / 1000 for each in progress[WARM:]]
    return (cpu[last] - cpu[first]) / (last - first), min(took)


def _cpu() -> float:
    """Return the CPU seconds of this process and of all that it has started."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stat = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(process.name)] = int(stat[1])
        seconds[int(process.name)] = sum(map(int, stat[11:15])) / TICKS
    family = {os.getpid()}
    while more := {process for process, parent in parents.items() if parent in family} - family:
        family |= more
    return sum(seconds[process] for process in family)


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
    cpu: dict[int, float] | None = None,
) -> list[Any]:
    """Return what a query says of its batches.

    `resident` takes the memory of the workers by batch, `cpu` the CPU seconds of all processes.
    """
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "200")
    schema = spark.read.parquet(str(folder / name)).schema
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", "1")
    frame: DataFrame = find(reader.parquet(str(folder / name)))
    query = frame.writeStream.format("noop").option(
        "checkpointLocation", tempfile.mkdtemp(dir=folder)
    )
    started = query.trigger(availableNow=True).start()
    while not started.awaitTermination(1 if cpu is None else 0.05):  # type: ignore[arg-type]
        progress = started.lastProgress
        if resident is not None and progress:
            resident[progress["batchId"]] = _resident()
        if cpu is not None and progress and progress["batchId"] not in cpu:
            cpu[progress["batchId"]] = _cpu()
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


class _Nothing(StatefulProcessor):
    """A group for each bucket, as we have them, and nothing done with its rows."""

    def init(self, handle: Any) -> None:
        pass

    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        yield pd.DataFrame({"n": [sum(len(each) for each in rows)]})

    def close(self) -> None:
        pass


def _doing_nothing(frame: DataFrame) -> DataFrame:
    bucket = F.pmod(F.xxhash64("key"), F.lit(32)).alias("bucket")
    return (
        frame.select("*", bucket)
        .groupBy("bucket")
        .transformWithStateInPandas(_Nothing(), "n long", "Append", "None")
    )
