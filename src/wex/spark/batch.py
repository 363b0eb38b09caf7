"""`df.transform(windows(spec))`: the columns that count, sorted by stream, through the engine.

The plan travels to the workers as bytes; they load neither grammar nor solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.analysis.warned import warn
from wex.engine.arguments import with_arguments
from wex.engine.running import engine_of
from wex.engine.sweep import Sweep
from wex.errors import WexError
from wex.spark.errors import sent
from wex.spark.schemas import arrow_schema, spark_schema
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from wex.engine.running import Engine
    from wex.spec import tree

ROWS = 1 << 19  # that a worker puts together before it looks for windows


def windows(
    spec: tree.Spec,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function for `DataFrame.transform`: from events to the windows of a spec.

    Its columns are those of `wex.find`. What does not fit, a column that is missing or of another
    type, is told before any job starts.
    """
    engine = engine_for(spec, partition_by, order_by)
    warn(spec)

    def transform(frame: DataFrame) -> DataFrame:
        return _mapped(engine, frame, tally=False)

    return transform


def engine_for(
    spec: tree.Spec,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> Engine:
    """Return the engine of a spec that can run on Spark: one that says an order."""
    filled = with_arguments(spec, partition_by, order_by)
    if not filled.stream.order_by:
        raise WexError(
            "no-order",
            "on Spark rows have no order of their own, and the spec says none",
            "write `order by` in the stream line, or give order_by",
        )
    return engine_of(filled)


def windows_and_tally(engine: Engine, frame: DataFrame) -> DataFrame:
    """Return windows, and among them rows without a name that count events and streams.

    The counts stand in `start_index` and `end_index`: rows are the only way out of a worker.
    """
    return _mapped(engine, frame, tally=True)


def create_view(spark: SparkSession, name: str, spec: tree.Spec, source: str) -> None:
    """Make a temporary view of the windows of a spec in a table or view."""
    spark.table(source).transform(windows(spec)).createOrReplaceTempView(name)


def _mapped(engine: Engine, frame: DataFrame, *, tally: bool) -> DataFrame:
    if frame.isStreaming:
        message = "windows on streaming DataFrames are not there yet"
        raise WexError("streaming", message, "use a batch DataFrame, or wex.Processor")
    empty = arrow_schema(frame.schema, engine).empty_table()
    result = Sweep(engine).feed(empty)  # raises if the columns do not fit
    stream = engine.stream
    ties = [
        name
        for name, type_ in stream.fields
        if type_ != OTHER and name not in (*stream.partition_by, *stream.order_by)
    ]
    chosen = frame.select(*(quoted(name) for name, _ in stream.fields))
    by = [quoted(name) for name in (*stream.partition_by, *stream.order_by, *ties)]
    keys = [quoted(name) for name in stream.partition_by]
    together = chosen.repartition(*keys) if keys else chosen.repartition(1)
    ordered = together.sortWithinPartitions(*by)
    return ordered.mapInArrow(
        worker(engine.plan.to_bytes(), tally=tally), spark_schema(result.schema)
    )


def quoted(name: str) -> str:
    """Return a column name as Spark's expressions read it."""
    return f"`{name.replace('`', '``')}`"


def worker(
    plan: bytes, *, tally: bool = False
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that workers run over the batches of a partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from wex.spark.working import found  # noqa: PLC0415  (on the worker)

        with sent():
            yield from found(plan, batches, ROWS, tally=tally)

    return run
