"""A checkpoint that version 1 of the state has made, kept so that later versions read it.

python -m tests.spark.kept FOLDER: make such a checkpoint, as the file `checkpoint-1.zip` there. The
source makes up its events, so that nothing in it points to a file.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

import wex
from tests.spark.cases import session
from wex.spark import windows
from wex.spark.session import CHANGELOG, ROCKSDB
from wex.spark.streaming import PROVIDER

KEPT = Path(__file__).parents[1] / "data" / "checkpoint-1.zip"
SPEC = wex.parse("""
  stream s (k string, t timestamp, x int) partition by k order by t
  window rise unpadded match [x > x[-1]]{1,4} keep longest measure sum(x) as total, first(t) as since
  window rest match [x < 4]{2} until [x >= 4] within 1 minute measure count() as n
""")
FIRST = datetime(2026, 1, 31, tzinfo=UTC)
ROWS, BATCHES, DELAY = 60, 2, 20  # of each micro-batch; before it is kept; seconds
PLACE = "/CHECKPOINT"  # for where it lies


def stream(spark: SparkSession) -> DataFrame:
    """Return one event a second, of five keys."""
    made_up = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS)
    events = made_up.option("numPartitions", 1).load().select(
        F.concat(F.lit("K"), F.col("value") % 5).alias("k"),
        F.timestamp_seconds(F.col("value") + int(FIRST.timestamp())).alias("t"),
        (F.col("value") * F.col("value") % 11).alias("x"),
    )  # fmt: skip
    return events.withWatermark("t", f"{DELAY} seconds")


def events(count: int) -> pa.Table:
    """Return the first events of the same stream."""
    return pa.table({
        "k": [f"K{index % 5}" for index in range(count)],
        "t": pa.array([FIRST + timedelta(seconds=index) for index in range(count)], pa.timestamp("us", "UTC")),
        "x": [index * index % 11 for index in range(count)],
    })  # fmt: skip


def one_more(spark: SparkSession, checkpoint: Path, out: Path) -> None:
    """Run one micro-batch."""
    query = stream(spark).transform(windows(SPEC, buckets=3)).writeStream.format("parquet")
    query = query.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True)
    query.start(str(out)).awaitTermination()


def passed(checkpoint: Path) -> int:
    """Return how many events the watermark had passed in the last micro-batch."""
    last = max((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    watermark = int(json.loads(last.read_text().splitlines()[1])["batchWatermarkMs"])
    return max(0, watermark // 1000 - int(FIRST.timestamp()) + 1)


def moved(checkpoint: Path, before: str, after: str) -> None:
    """Say in a checkpoint that it is at another place: Spark writes down where it is."""
    for path in (checkpoint / "state").glob("*/_metadata/*/*"):
        path.write_text(path.read_text().replace(before, after))


def still_readable(spark: SparkSession, work: Path) -> None:
    """Go on from the checkpoint that is kept."""
    shutil.unpack_archive(KEPT, work / "kept")
    moved(work / "kept", PLACE, str(work / "kept"))
    before = passed(work / "kept")
    assert before > ROWS
    for _ in range(2):
        one_more(spark, work / "kept", work / "out")
    after = passed(work / "kept")
    assert after >= before + ROWS
    processor = wex.Processor(SPEC)
    processor.feed(events(before))
    expected = processor.feed(events(after).slice(before))
    # Spark would want to know of the batches before, too.
    result = pa.concat_tables(map(parquet.read_table, (work / "out").glob("part-*.parquet")))
    assert expected.num_rows > 10

    def plain(table: pa.Table) -> list[tuple[object, ...]]:
        return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)

    assert plain(result.cast(expected.schema)) == plain(expected)


def main(folder: str) -> None:
    """Make the file."""
    spark = session("classic")
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    spark.conf.set(CHANGELOG, "true")  # small files
    with tempfile.TemporaryDirectory() as work:
        for _ in range(BATCHES):
            one_more(spark, Path(work) / "checkpoint", Path(work) / "out")
        checkpoint = Path(work) / "checkpoint"
        for checksum in checkpoint.rglob(".*.crc"):
            checksum.unlink()
        moved(checkpoint, str(checkpoint), PLACE)
        shutil.make_archive(str(Path(folder) / KEPT.stem), "zip", checkpoint)
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
