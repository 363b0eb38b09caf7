"""An endless job: read any streaming source of Spark, and write windows as they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from wex.engine.engine import engine_of
from wex.engine.streaming.rules import with_order
from wex.errors import WexError
from wex.spark.batch_job import MARKED, WITHOUT_SCHEMA, as_declared, format_of, marked_schema
from wex.spark.causes import condition_of
from wex.spark.dataframe import METRICS, windows
from wex.spark.errors import error_for_user
from wex.spark.operator import COUNTS
from wex.spark.schemas import declared_schema, quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamReader, StreamingQuery

    from wex.engine.engine import Engine
    from wex.spark.batch_job import Job
    from wex.spec import tree

FILES = ("parquet", "orc")
ADDED = (
    "processed",
    "windows",
    "late",
    "bad",
)  # counts of one micro-batch; the others are of the state


@dataclass(frozen=True)
class EndlessSettings:
    """The settings of an endless job.

    `checkpoint` is the folder of its state; `trigger` is `available-now` or the interval between
    two micro-batches, and `watermark` the longest delay of an event, as Spark reads intervals.
    """

    checkpoint: str
    trigger: str = "available-now"
    watermark: str | None = None


def start_stream(
    spark: SparkSession, spec: tree.Spec, job: Job, endless: EndlessSettings, **rules: Any
) -> StreamingQuery:
    """Start a job and return its query; an error of Spark is a WexError."""
    engine = engine_of(with_order(spec))
    find = windows(spec, **rules)
    try:
        events = _read(spark, engine, job)
        if endless.watermark is not None:
            events = events.withWatermark(quoted(engine.stream.order_by[0]), endless.watermark)
        target = job.target_format or format_of(job.target)
        writer = events.transform(find).writeStream.format(target).outputMode("append")
        if target == "csv":
            writer = writer.option("header", "true")
        now = endless.trigger == "available-now"
        writer = writer.trigger(
            **({"availableNow": True} if now else {"processingTime": endless.trigger})
        )
        return writer.option("checkpointLocation", endless.checkpoint).start(job.target)
    except WexError:
        raise
    except Exception as error:
        raise error_for_user(error, job, endless.checkpoint) from error


def _read(spark: SparkSession, engine: Engine, job: Job) -> DataFrame:
    source = job.source_format or format_of(job.source)
    reader = spark.readStream.format(source).options(**job.options)
    if source == "csv":
        return _texts(spark, reader, engine, job)
    if source in WITHOUT_SCHEMA:
        marked = reader.schema(marked_schema(engine)).options(**{**MARKED, **job.options})
        return marked.load(job.source)
    if source in FILES:
        schema = _schema_of_files(spark, source, job) or declared_schema(engine)
        return reader.schema(schema).load(job.source)
    frame = reader.load(job.source) if job.source else reader.load()
    names = {name for name, _ in engine.stream.fields}
    messages = source == "kafka" or ("value" in frame.columns and not names & set(frame.columns))
    return from_messages(frame, engine) if messages else frame


def _schema_of_files(spark: SparkSession, source: str, job: Job) -> StructType | None:
    """Return the schema of the files of a source; None if it has no files at the moment."""
    reader = spark.read.format(source).options(**job.options)
    try:
        return reader.load(job.source).schema
    except AnalysisException as error:
        if condition_of(error) == "UNABLE_TO_INFER_SCHEMA":
            return None
        raise


def _texts(spark: SparkSession, reader: DataStreamReader, engine: Engine, job: Job) -> DataFrame:
    """Return the columns of CSV files, named by the header of the first one."""
    plain = spark.read.format("csv").option("header", "true").options(**job.options)
    names = plain.load(job.source).columns or [name for name, _ in engine.stream.fields]
    schema = StructType([StructField(name, StringType()) for name in names])
    strict = reader.option("header", "true").option("enforceSchema", "false").schema(schema)
    return as_declared(strict.load(job.source), engine)


def from_messages(frame: DataFrame, engine: Engine) -> DataFrame:
    """Return events from messages: JSON objects in a column `value`, as Kafka gives them."""
    text = F.col("value").cast("string")
    event = F.from_json(text, marked_schema(engine), MARKED).alias("event")
    return frame.select(event).select("event.*")


def watch(
    query: StreamingQuery,
    job: Job,
    endless: EndlessSettings,
    report: Callable[[dict[str, int]], None],
    stopped: Callable[[], bool],
    seconds: int = 1,
) -> dict[str, int]:
    """Wait until a query ends or is stopped, and report its counts; return the final ones."""
    seen: set[str] = set()
    total = dict.fromkeys(COUNTS, 0)
    try:
        while not query.awaitTermination(seconds):
            for counts in _new_counts(query, seen):
                _add(total, counts)
                report(total)
            if stopped():
                query.stop()  # the next start repeats the micro-batch that was running
    except Exception as error:
        raise error_for_user(error, job, endless.checkpoint) from error
    for counts in _new_counts(query, seen):
        _add(total, counts)
    return total


def _add(total: dict[str, int], counts: dict[str, int]) -> None:
    for name in ADDED:
        total[name] += counts.get(name, 0)
    total.update({name: counts[name] for name in COUNTS if name in counts and name not in ADDED})


def _new_counts(query: StreamingQuery, seen: set[str]) -> Iterator[dict[str, int]]:
    for progress in query.recentProgress:
        # Not by the number of the batch: a trigger without new rows has that of the next one.
        if progress["timestamp"] not in seen:
            seen.add(progress["timestamp"])
            yield counts_in(progress)


def counts_in(progress: Any) -> dict[str, int]:
    """Return the counts of one micro-batch, summed over its specs; Connect has another format."""
    total: dict[str, int] = {}
    for metrics, observed in progress["observedMetrics"].items():
        if not metrics.startswith(METRICS):
            continue
        counts = observed.asDict()
        if "values" in counts:
            names = [column["name"] for column in counts["schema"]["fields"]]
            counts = dict(zip(names, counts["values"], strict=True))
        for name, value in counts.items():
            total[name] = total.get(name, 0) + int(value or 0)
    return total
