"""`df.transform(windows(spec))`: the columns that count, sorted by stream, through the engine.

The plan travels to the workers as bytes; they load neither grammar nor solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812

from wex.analysis.boundedness_guard import refuse_unbounded, warn
from wex.engine.engine import engine_of
from wex.engine.input.bad_rows import CORRUPT
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.rules import rules_of, with_order
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.spark.dead_letters import Aside, aside, new_run
from wex.spark.internals import spark_schema_of
from wex.spark.schemas import arrow_schema, quoted
from wex.spark.session import check_workers
from wex.spec import as_spec
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    from pyspark.sql import DataFrame, Observation, SparkSession

    from wex.engine.engine import Engine
    from wex.engine.input.bad_rows import BadRows
    from wex.spark.dead_letters import Letter
    from wex.spec import SpecLike

METRICS = "wex:"  # before the names of windows: under that counts are observed
PARTITION = "partition"
PARTITIONS = "spark.sql.shuffle.partitions"
ROWS = 1 << 19  # that a worker puts together before it looks for windows


def windows(  # noqa: PLR0913  (each a choice of its own)
    spec: SpecLike,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    *,
    buckets: int = 32,
    late: Literal["drop", "error"] = "drop",
    expire_after: timedelta | None = None,
    max_open: int | None = None,
    allow_unbounded: bool = False,
    bad_rows: BadRows = "fail",
    bad_rows_to: str | PathLike[str] | None = None,
    observation: Observation | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function for `DataFrame.transform`: from events to the windows of a spec.

    Its columns are those of `wex.find`. What does not fit, a column that is missing or of another
    type, is told before any job starts. A row that cannot be an event fails the job, is skipped, or
    is diverted to the folder `bad_rows_to`. In a batch job an `observation` gets the counts of
    `events`, `streams`, `windows` and `bad` rows. The other arguments are for streaming DataFrames:
    see "Running it for months" in the docs.
    """
    written = as_spec(spec)
    filled = with_order(written, partition_by, order_by)
    engine = engine_of(filled)
    apart = aside(bad_rows, bad_rows_to)

    def transform(frame: DataFrame) -> DataFrame:
        check_workers(frame.sparkSession)
        if not frame.isStreaming:
            warn(written)
            if apart.letters is not None:
                apart.letters.refuse_used()
            if observation is None and apart.choice == "fail":
                return _mapped(engine, frame, tally=False)
            name = observation or METRICS + "+".join(each.name for each in engine.plan.windows)
            return counted(windows_and_tally(engine, frame, apart, new_run()), name)
        from wex.spark.streaming import streaming_windows  # noqa: PLC0415

        if not allow_unbounded:
            refuse_unbounded(written)
        rules = rules_of(late, expire_after, max_open, buckets, apart.choice)
        return streaming_windows(filled, engine, frame, rules, apart.letters)

    return transform


def windows_and_tally(
    engine: Engine, frame: DataFrame, apart: Aside | None = None, run: str = ""
) -> DataFrame:
    """Return windows, and among them rows without a name that count: see `counted`.

    Rows are the only way out of a worker. `run` is the name of the files for bad rows.
    """
    return _mapped(engine, frame, tally=True, apart=apart, run=run)


def counted(tallied: DataFrame, name: Observation | str) -> DataFrame:
    """Return windows without the rows that count, which are observed under a name."""
    no_name, first, second = F.col("window_name").isNull(), F.col("start_index"), F.col("end_index")
    observed = tallied.observe(
        name,
        F.sum(F.when(no_name & second.isNotNull(), first)).alias("events"),
        F.sum(F.when(no_name, second)).alias("streams"),
        F.count("window_name").alias("windows"),
        F.sum(F.when(no_name & second.isNull(), first)).alias("bad"),
    )
    return observed.where(F.col("window_name").isNotNull())


def create_view(spark: SparkSession, name: str, spec: SpecLike, source: str) -> None:
    """Make a temporary view of the windows of a spec in a table or view."""
    spark.table(source).transform(windows(spec)).createOrReplaceTempView(name)


def _mapped(
    engine: Engine, frame: DataFrame, *, tally: bool, apart: Aside | None = None, run: str = ""
) -> DataFrame:
    empty = arrow_schema(frame.schema, engine).empty_table()
    result = SortedScan(engine).feed(empty)  # raises if the columns do not fit
    stream, apart = engine.stream, apart or Aside()
    chosen, own = by_position(frame, engine)
    ties = [
        name
        for name, type_ in stream.fields
        if type_ != OTHER and name not in (*stream.partition_by, *stream.order_by)
    ]
    by = [own[name] for name in (*stream.partition_by, *stream.order_by, *ties)]
    keys = [own[name] for name in stream.partition_by]
    if apart.folder is None:
        together = chosen.repartition(*keys) if keys else chosen.repartition(1)
    else:
        # Files are named for the rows in them: how many partitions there are must not depend on
        # how a job is run, and neither must their numbers.
        count = int(frame.sparkSession.conf.get(PARTITIONS, "200") or 200) if keys else 1
        number = F.pmod(F.hash(*keys), F.lit(count)) if keys else F.lit(0)
        chosen = chosen.select("*", number.alias(PARTITION))
        together = chosen.repartition(count, *keys) if keys else chosen.repartition(1)
    ordered = together.sortWithinPartitions(*by)
    function = worker(engine.plan.to_bytes(), list(own), tally=tally, apart=apart, run=run)
    return ordered.mapInArrow(function, spark_schema_of(result.schema))


def by_position(frame: DataFrame, engine: Engine) -> tuple[DataFrame, dict[str, str]]:
    """Return the fields of a stream under plain names, and these by their own.

    Spark takes a dot or a backtick in a name for something else when it passes columns to workers.
    A column that says which rows could not be read comes along.
    """
    fields = [name for name, _ in engine.stream.fields]
    if CORRUPT in frame.columns and CORRUPT not in fields:
        fields.append(CORRUPT)
    names = {name: f"c{at}" for at, name in enumerate(fields)}
    columns = [F.col(quoted(name)).alias(plain) for name, plain in names.items()]
    return frame.select(*columns), names


def worker(
    plan: bytes, names: list[str], *, tally: bool = False, apart: Aside | None = None, run: str = ""
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that workers run over the batches of a partition."""
    secret, choice = SECRET, "fail" if apart is None else apart.choice
    letters = None if apart is None else apart.letters

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from wex.spark.worker import found  # noqa: PLC0415  (on the worker)

        number = 0

        def named() -> Iterator[pa.RecordBatch]:
            nonlocal number
            for each in batches:
                batch = each
                if letters is not None and each.num_rows:
                    number = each.column(len(names))[0].as_py()
                if letters is not None:
                    batch = pa.RecordBatch.from_arrays(each.columns[: len(names)], names=names)
                yield batch.rename_columns(names)

        def letter() -> Letter:
            assert letters is not None
            return letters.letter(f"{run}-{number:05d}")

        with sealed_errors(secret):
            yield from found(plan, named(), ROWS, tally=tally, bad_rows=choice, letter=letter)

    return work
