"""`windows(spec)` on streaming DataFrames: keys are divided into buckets, each with its state.

Rows are packed by bucket into Arrow bytes, so that types survive and Spark moves few rows. A
stateful operator reads and writes the state of a bucket once in each micro-batch (`operator`). Its
windows, Arrow bytes as well, are unpacked into rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812

from wex.engine.sorted_scan import SortedScan
from wex.errors import WexError
from wex.spark.dataframe import metrics_name, with_plain_names
from wex.spark.internals import WATERMARK_DELAY, spark_schema_of
from wex.spark.operator import COUNTS, OUTPUT_SCHEMA, Operator
from wex.spark.packed_rows import PACKED, pack, unpack
from wex.spark.schemas import arrow_schema
from wex.spark.session import ROCKSDB

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from wex.engine.engine import Engine
    from wex.engine.streaming.bucket import Rules
    from wex.spark.dead_letters import DeadLetters
    from wex.spec import tree

BUCKET = "bucket"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
OLDEST = (4, 1)  # version of Spark with the stateful operator and Arrow table functions


def streaming_windows(
    spec: tree.Spec,
    engine: Engine,
    frame: DataFrame,
    rules: Rules,
    letters: DeadLetters | None = None,
) -> DataFrame:
    """Return the windows of a spec in a streaming DataFrame; `engine` is that of the spec."""
    check_version(frame.sparkSession.version)
    delay = _delay(engine, frame)
    _state_store(frame)
    schema = arrow_schema(frame.schema, engine)
    result = SortedScan(engine).feed(schema.empty_table())  # raises if the columns do not fit
    stream = engine.stream
    if delay is None and rules.expire_after is not None:
        message = "silent keys expire by the watermark, and there is none"
        hint = f"say withWatermark({stream.order_by[0]!r}, ...), or --watermark to `wex run`"
        raise WexError("watermark", message, hint)
    fields, plain = with_plain_names(frame, engine)
    keys = [F.col(plain[name]) for name in stream.partition_by]
    rules = rules if keys else replace(rules, buckets=1)
    number = F.pmod(F.xxhash64(*keys), F.lit(rules.buckets)).cast("int") if keys else F.lit(0)
    packed = fields.select("*", number.alias(BUCKET)).mapInArrow(pack(list(plain)), PACKED)
    processed = packed.groupBy(BUCKET).transformWithStateInPandas(
        statefulProcessor=Operator(
            engine.plan.to_bytes(),
            str(spec),
            rules,
            with_watermark=delay is not None,
            rows=engine.rows,
            letters=letters,
        ),
        outputStructType=OUTPUT_SCHEMA,
        outputMode="Append",
        timeMode="None" if delay is None else "EventTime",
    )
    sums = (F.sum(F.col("counts")[at]).alias(name) for at, name in enumerate(COUNTS))
    counted = processed.observe(metrics_name(engine), *sums)
    columns = spark_schema_of(result.schema)
    at_once = all(
        window.until is None and not window.clauses.prefers for window in engine.plan.windows
    )
    if delay is not None and at_once:
        # Every window is found with its last event, so its end keeps the watermark and later
        # operators may use it as event time. With `until` and by preference they are found later.
        columns["window_end"].metadata = {WATERMARK_DELAY: delay}
    return counted.select("packed").mapInArrow(unpack(columns.names), columns)


def check_version(version: str) -> None:
    """Raise a WexError if a version of Spark is too old.

    >>> check_version("4.1.0.dev1")
    """
    numbers = tuple(int(part) for part in version.split(".")[:2])
    if numbers < OLDEST:
        least = ".".join(map(str, OLDEST))
        message = f"streaming windows need Spark {least} or later, and this is {version}"
        raise WexError("spark-version", message, f"pip install 'pyspark>={least}'")


def _delay(engine: Engine, frame: DataFrame) -> int | None:
    """Return the delay of the watermark on the order column; one on another column is an error."""
    first = engine.stream.order_by[0]
    marked = {
        field.name: int(field.metadata[WATERMARK_DELAY])
        for field in frame.schema.fields
        if WATERMARK_DELAY in (field.metadata or {})
    }
    if marked and first not in marked:
        message = f"the watermark is on `{next(iter(marked))}`, and events are ordered by `{first}`"
        raise WexError("watermark", message, f"say withWatermark({first!r}, ...)")
    return marked.get(first)


def _state_store(frame: DataFrame) -> None:
    provider = frame.sparkSession.conf.get(PROVIDER, "")
    if "RocksDB" not in str(provider):
        message = "streaming windows need the RocksDB state store"
        raise WexError("state-store", message, f"spark.conf.set({PROVIDER!r}, {ROCKSDB!r})")
