"""`df.transform(windows(spec))`: the columns that count, sorted by stream, through the engine.

The plan travels to the workers as bytes; they load neither grammar nor solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from wex.analysis.warned import refuse_unbounded, warn
from wex.engine.arguments import with_arguments
from wex.engine.bucket import Rules
from wex.engine.running import engine_of
from wex.engine.sweep import Sweep
from wex.errors import WexError
from wex.spark.errors import sent
from wex.spark.naming import quoted
from wex.spark.schemas import arrow_schema, spark_schema
from wex.spec import as_spec
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from pyspark.sql import DataFrame, SparkSession

    from wex.engine.running import Engine
    from wex.spec import SpecLike, tree

ROWS = 1 << 19  # that a worker puts together before it looks for windows


def windows(
    spec: SpecLike,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    *,
    buckets: int = 32,
    late: Literal["drop", "error"] = "drop",
    expire_after: timedelta | None = None,
    max_open: int | None = None,
    allow_unbounded: bool = False,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function for `DataFrame.transform`: from events to the windows of a spec.

    Its columns are those of `wex.find`. What does not fit, a column that is missing or of another
    type, is told before any job starts. The other arguments are for streaming DataFrames: see
    "Endless streams" in the docs.
    """
    written = as_spec(spec)
    filled = with_order(written, partition_by, order_by)
    engine = engine_of(filled)

    def transform(frame: DataFrame) -> DataFrame:
        if not frame.isStreaming:
            warn(written)
            return _mapped(engine, frame, tally=False)
        from wex.spark.streaming import streaming_windows  # noqa: PLC0415

        if not allow_unbounded:
            refuse_unbounded(written)
        rules = rules_of(late, expire_after, max_open, buckets)
        return streaming_windows(filled, engine, frame, rules)

    return transform


def rules_of(
    late: str, expire_after: timedelta | None, max_open: int | None, buckets: int
) -> Rules:
    """Return how endless streams are treated."""
    whole: dict[str, object] = {"buckets": buckets, "max_open": 1 if max_open is None else max_open}
    silence: object = expire_after
    if late not in ("drop", "error"):
        raise WexError("wrong-argument", f"late is {late!r}", "say 'drop' or 'error'")
    for name, value in whole.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            message = f"{name} is {value!r}"
            raise WexError("wrong-argument", message, "give a whole number, 1 or more")
    if silence is not None and not (isinstance(silence, timedelta) and silence > timedelta(0)):
        message = f"expire_after is {silence!r}"
        raise WexError("wrong-argument", message, "give a timedelta longer than nothing")
    silent = None if expire_after is None else expire_after // timedelta(microseconds=1)
    return Rules(late, silent, max_open, buckets)


def with_order(
    spec: SpecLike,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> tree.Spec:
    """Return a spec with its arguments that can run on Spark: one that says an order."""
    filled = with_arguments(spec, partition_by, order_by)
    if not filled.stream.order_by:
        raise WexError(
            "no-order",
            "on Spark rows have no order of their own, and the spec says none",
            "write `order by` in the stream line, or give order_by",
        )
    return filled


def windows_and_tally(engine: Engine, frame: DataFrame) -> DataFrame:
    """Return windows, and among them rows without a name that count events and streams.

    The counts stand in `start_index` and `end_index`: rows are the only way out of a worker.
    """
    return _mapped(engine, frame, tally=True)


def create_view(spark: SparkSession, name: str, spec: SpecLike, source: str) -> None:
    """Make a temporary view of the windows of a spec in a table or view."""
    spark.table(source).transform(windows(spec)).createOrReplaceTempView(name)


def _mapped(engine: Engine, frame: DataFrame, *, tally: bool) -> DataFrame:
    empty = arrow_schema(frame.schema, engine).empty_table()
    result = Sweep(engine).feed(empty)  # raises if the columns do not fit
    stream = engine.stream
    chosen, own = by_position(frame, engine)
    ties = [
        name
        for name, type_ in stream.fields
        if type_ != OTHER and name not in (*stream.partition_by, *stream.order_by)
    ]
    by = [own[name] for name in (*stream.partition_by, *stream.order_by, *ties)]
    keys = [own[name] for name in stream.partition_by]
    together = chosen.repartition(*keys) if keys else chosen.repartition(1)
    ordered = together.sortWithinPartitions(*by)
    return ordered.mapInArrow(
        worker(engine.plan.to_bytes(), list(own), tally=tally), spark_schema(result.schema)
    )


def by_position(frame: DataFrame, engine: Engine) -> tuple[DataFrame, dict[str, str]]:
    """Return the fields of a stream under plain names, and these by their own.

    Spark takes a dot or a backtick in a name for something else when it passes columns to workers.
    """
    names = {name: f"c{at}" for at, (name, _) in enumerate(engine.stream.fields)}
    columns = [F.col(quoted(name)).alias(plain) for name, plain in names.items()]
    return frame.select(*columns), names


def worker(
    plan: bytes, names: list[str], *, tally: bool = False
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that workers run over the batches of a partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from wex.spark.working import found  # noqa: PLC0415  (on the worker)

        named = (each.rename_columns(names) for each in batches)
        with sent():
            yield from found(plan, named, ROWS, tally=tally)

    return run
