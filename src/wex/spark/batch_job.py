"""A batch job: read any source of Spark, find the windows, write them to any target of Spark."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812  (the usual name)
from pyspark.sql.types import StringType

from wex.engine.engine import engine_of
from wex.engine.input.bad_rows import CORRUPT
from wex.engine.input.columns import check_column
from wex.engine.streaming.rules import with_order
from wex.errors import WexError
from wex.spark.dataframe import counted, found_windows
from wex.spark.dead_letters import new_run
from wex.spark.errors import error_for_user
from wex.spark.schemas import declared_schema, quoted
from wex.spark.session import check_workers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from wex.engine.engine import Engine
    from wex.spark.dead_letters import BadRowHandling
    from wex.spec import tree

ENDINGS = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".orc": "orc",
    ".txt": "csv",
}
WITHOUT_SCHEMA = ("csv", "json")


@dataclass(frozen=True)
class Job:
    """The source and the target; a format that is not given follows from the ending, or is Parquet."""

    source: str
    target: str
    source_format: str | None = None
    target_format: str | None = None
    options: dict[str, str] = field(default_factory=dict)
    mode: str = "error"


@dataclass(frozen=True)
class Summary:
    """The counts of a job."""

    events: int
    streams: int
    windows: int
    bad: int = 0


def run_job(
    spark: SparkSession,
    spec: tree.Spec,
    job: Job,
    handling: BadRowHandling | None = None,
    ranges: int | None = None,
) -> Summary:
    """Run a job; an error of Spark or of a worker is a WexError."""
    engine = engine_of(with_order(spec))
    target_format = job.target_format or format_of(job.target)
    new, run = not Path(job.target).exists(), new_run()
    letters = None if handling is None else handling.letters
    check_workers(spark)
    if letters is not None and job.mode == "error":
        letters.refuse_used()
    try:
        events = _read(spark, engine, job)
        observed = Observation("wex")
        tallied = found_windows(
            engine, events, tally=True, handling=handling, run=run, ranges=ranges
        )
        result = counted(tallied, observed)
        options = {"header": "true"} if target_format == "csv" else {}
        writer = result.write.format(target_format).options(**options).mode(job.mode)
        earlier = [] if letters is None or job.mode != "overwrite" else letters.files()
        writer.save(job.target)
    except Exception as error:
        if new and Path(job.target).is_dir() and not any(Path(job.target).glob("part-*")):
            shutil.rmtree(job.target)  # nothing was written
        if letters is not None:
            with suppress(WexError):
                letters.remove(run)
        if isinstance(error, WexError):
            raise
        raise error_for_user(error, job) from error
    for name in earlier:
        assert letters is not None
        letters.remove(name)
    numbers = {name: int(value or 0) for name, value in observed.get.items()}
    return Summary(**numbers)


def _read(spark: SparkSession, engine: Engine, job: Job) -> DataFrame:
    source_format = job.source_format or format_of(job.source)
    reader = spark.read.format(source_format)
    if source_format == "json":
        reader = reader.schema(marked_schema(engine)).options(**MARKED)
    if source_format != "csv":
        return reader.options(**job.options).load(job.source)
    strict = reader.option("header", "true").option("enforceSchema", "false")
    return as_declared(strict.options(**job.options).load(job.source), engine)


def as_declared(texts: DataFrame, engine: Engine) -> DataFrame:
    """Return text columns cast to the types of the stream line; other columns are left out.

    A row with a text that does not fit its type is marked with all its texts, as JSON.
    """
    fields = declared_schema(engine).fields
    for name in engine.fields:
        check_column(name, texts.columns)
    given = {field.name: F.col(quoted(field.name)) for field in fields}
    if CORRUPT in engine.fields:  # the user's own column of that name: nothing is marked
        return texts.select(
            *(given[field.name].cast(field.dataType).alias(field.name) for field in fields)
        )
    values = {field.name: given[field.name].try_cast(field.dataType) for field in fields}
    wrong = [given[name].isNotNull() & value.isNull() for name, value in values.items()]
    row = F.struct(*(F.col(quoted(name)) for name in texts.columns))
    mark = F.when(reduce(or_, wrong, F.lit(False)), F.to_json(row, {"ignoreNullFields": "false"}))
    columns = [value.alias(name) for name, value in values.items()]
    return texts.select(*columns, mark.alias(CORRUPT))


# Options of readers of JSON: a row that does not fit is marked with its text.
MARKED = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}


def marked_schema(engine: Engine) -> StructType:
    """Return the schema that a stream line declares, and the column that marks rows."""
    schema = declared_schema(engine)
    return schema if CORRUPT in engine.fields else schema.add(CORRUPT, StringType())


def format_of(path: str) -> str:
    """Return the format for the ending of a path."""
    return ENDINGS.get(Path(path.rstrip("/")).suffix.lower(), "parquet")
