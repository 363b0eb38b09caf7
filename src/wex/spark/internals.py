"""Undocumented parts of Spark: the only module that relies on them, each with a reason and a fallback.

pyproject.toml bounds the version of PySpark because of this module.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import DataType, StructField, StructType, TimestampNTZType

try:
    from pyspark.sql.pandas import types as _converters
except ImportError:
    _converters = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# The delay of a watermark, in the metadata of its column: no method of a DataFrame tells of a
# watermark. Without this key, rows are processed as on a stream without a watermark.
WATERMARK_DELAY = "spark.watermarkDelayMs"
UNKNOWN_SIZE = 1 << 60
# PySpark logs the stack traces of Java to these loggers, beside the exceptions that it raises.
# Without loggers of these names, they are shown.
TRACE_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


def arrow_type_of(data_type: DataType) -> pa.DataType:
    """Return the Arrow type in which workers get a column of Spark."""
    convert = getattr(_converters, "to_arrow_type", None)
    if convert is not None:
        with suppress(TypeError):  # Spark 4.1 knows no other zone, and has no such argument
            return convert(data_type, timezone="UTC")
        return convert(data_type)
    # The documented way needs a session and a job.
    column = StructType([StructField("column", data_type)])
    return _session().createDataFrame([], column).toArrow().schema.field(0).type


def spark_schema_of(schema: pa.Schema) -> StructType:
    """Return the Spark schema for tables of an Arrow schema."""
    convert = getattr(_converters, "from_arrow_schema", None)
    if convert is not None:
        converted: StructType = convert(schema)
        return converted
    # The documented way needs a session, whose settings decide about timestamps without a zone.
    row = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
    columns: StructType = _session().createDataFrame(row).schema
    for column, field in zip(columns, schema, strict=True):
        if pa.types.is_timestamp(field.type) and field.type.tz is None:
            column.dataType = TimestampNTZType()
    return columns


def _session() -> SparkSession:
    from pyspark.sql import SparkSession  # noqa: PLC0415

    return SparkSession.active()


def estimated_size(frame: DataFrame) -> int | None:
    """Return how many bytes Spark expects a DataFrame to have; None, if it does not say.

    Only the plan of a classic session is at hand. Where the size is not known there, it is a very large number.
    """
    try:
        size = int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())  # noqa: SLF001
    except Exception:  # noqa: BLE001  (an estimate is worth no error)
        return None
    return size if size < UNKNOWN_SIZE else None


def is_only_read(frame: DataFrame, *, filtered: bool = True, files: bool = False) -> bool:
    """Tell whether rows are read from files, tables or memory, at most `filtered`: then reading them again is cheap.

    With `files`, from files alone that have the same rows whatever columns are read: these give the rows of a
    partition in the same order each time, a database may not. Only the plan of a classic session is at hand.
    """
    allowed = _READ if filtered else [name for name in _READ if name != "Filter"]
    try:
        nodes = [frame._jdf.queryExecution().optimizedPlan()]  # noqa: SLF001
        while nodes:
            node = nodes.pop()
            children = node.children()
            if children.isEmpty() and files and not _has_the_rows_of_files(node):
                return False
            if not children.isEmpty() and node.nodeName() not in allowed:
                return False
            nodes += [children.apply(at) for at in range(children.size())]
    except Exception:  # noqa: BLE001  (rows are then read once)
        return False
    return True


def _has_the_rows_of_files(leaf: Any) -> bool:
    """Tell whether a leaf of a plan reads files, and leaves out no row because of a value in it.

    Spark only sees what is wrong with the columns that it reads.
    """
    if not leaf.nodeName().startswith("LogicalRelation"):
        return False
    relation = leaf.relation()
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    mode = relation.options().get("mode")
    return not (mode.isDefined() and str(mode.get()).upper() == "DROPMALFORMED")


def with_fixed_partitions(frame: DataFrame) -> tuple[DataFrame, int] | None:
    """Return a DataFrame whose rows are in the partitions in which Spark would read them now, and their number.

    Else Spark divides files anew for each job, by settings and cores that may have changed. None, if that
    cannot be done: only the plan of a classic session is at hand.
    """
    from pyspark.sql import DataFrame  # noqa: PLC0415

    try:
        rows = frame._jdf.queryExecution().toRdd()  # noqa: SLF001
        partitions = int(rows.getNumPartitions())  # divides the files
        session = frame.sparkSession
        fixed = session._jsparkSession.internalCreateDataFrame(rows, frame._jdf.schema(), False)  # noqa: SLF001
        return DataFrame(fixed, session), partitions
    except Exception:  # noqa: BLE001  (rows are then shuffled)
        return None


_READ = ("Project", "Filter", "Union")
# Operators that leave rows in their partitions. A partitioning below others, such as a join, is what
# Spark plans, and adaptive execution may choose another; one that was asked for stays.
_STAY = ("Project", "Filter", "Sort")
_KEPT = (
    "REPARTITION_BY_COL",
    "REPARTITION_BY_NUM",
)  # the origins of shuffles that it does not divide
_PARTITIONED = re.compile(r"(?:hash|range)partitioning\((.*), \d+\)")
_COLUMN = re.compile(r"(\w+)#\d+L?(?: ASC| DESC)?(?: NULLS FIRST| NULLS LAST)?")


def partitioned_by(frame: DataFrame) -> frozenset[str] | None:
    """Return columns by which somebody has partitioned a DataFrame, with names of letters and digits.

    Rows that are equal in them are in one partition; there are no columns if there is one partition.
    None: nobody has, or it is not known. Only the plan of a classic session is at hand.
    """
    try:
        plan = node = frame._jdf.queryExecution().sparkPlan()  # noqa: SLF001
        while node.nodeName() in _STAY:
            node = node.children().apply(0)
        if node.nodeName() == "Exchange":
            if str(node.shuffleOrigin().toString()) not in _KEPT:
                return None
        elif node.nodeName() != "Coalesce":
            return None
        text = str(plan.outputPartitioning().toString())
    except Exception:  # noqa: BLE001  (rows are then shuffled)
        return None
    if text == "SinglePartition":
        return frozenset()
    columns = _PARTITIONED.fullmatch(text)
    named = [_COLUMN.fullmatch(column) for column in columns[1].split(", ")] if columns else [None]
    return frozenset(column[1] for column in named if column) if all(named) else None


def spread_labels(partitions: int, each: int) -> list[int]:
    """Return numbers of which `repartition` puts so many into each partition, one by one in turns.

    If Spark hashed otherwise, partitions would be less even, and nothing else.

    >>> spread_labels(4, 2)
    [12, 6, 2, 0, 13, 9, 4, 1]
    """
    labels: list[list[int]] = [[] for _ in range(partitions)]
    missing, label = partitions * each, 0
    while missing:
        own = labels[_hash(label) % partitions]
        if len(own) < each:
            own.append(label)
            missing -= 1
        label += 1
    return [own[turn] for turn in range(each) for own in labels]


def _hash(number: int) -> int:
    """Return Spark's hash of an integer of 32 bits: MurmurHash3 with the seed 42, as a signed number.

    >>> _hash(0), _hash(1)
    (933211791, -559580957)
    """
    mask = 0xFFFFFFFF
    key = number * 0xCC9E2D51 & mask
    key = (key << 15 | key >> 17) & mask
    code = 42 ^ key * 0x1B873593 & mask
    code = (code << 13 | code >> 19) & mask
    code = (code * 5 + 0xE6546B64) & mask
    code ^= 4
    code = (code ^ code >> 16) * 0x85EBCA6B & mask
    code = (code ^ code >> 13) * 0xC2B2AE35 & mask
    code ^= code >> 16
    return code - (1 << 32) if code >> 31 else code


def micro_batch() -> tuple[str, int] | None:
    """Return the query and the number of the micro-batch that a worker works on.

    Spark sets these properties for its own tasks. None, if a task does not have them.
    """
    from pyspark import TaskContext  # noqa: PLC0415  (on the worker)

    context = TaskContext.get()
    if context is None:
        return None
    query = context.getLocalProperty("sql.streaming.queryId")
    batch = context.getLocalProperty("streaming.sql.batchId")
    return None if query is None or batch is None else (query, int(batch))


def python_of_local_workers(spark: SparkSession) -> str | None:
    """Return the program that runs the workers on this machine; None, if they run elsewhere.

    No setting holds it: a classic session takes it from the environment when it is made, and a
    server of Spark Connect that PySpark has started in this process when it starts a worker.
    """
    if hasattr(spark, "sparkContext"):
        if not str(spark.conf.get("spark.master", "")).startswith("local"):
            return None
        python = getattr(spark.sparkContext, "pythonExec", None)
        return os.environ.get("PYSPARK_PYTHON", "python3") if python is None else str(python)
    if "SPARK_LOCAL_REMOTE" not in os.environ:  # set by PySpark when it starts a server
        return None
    return os.environ.get("PYSPARK_PYTHON") or os.environ.get("PYSPARK_DRIVER_PYTHON") or "python3"


def started_by_spark_submit() -> bool:
    """Tell whether Spark's own scripts have started this process: they set this variable."""
    return "SPARK_ENV_LOADED" in os.environ
