"""`df.transform(windows(spec))`: the columns that a spec reads, sorted by stream, through the engine.

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
from wex.engine.event_rows import EVENT_INDEX, endless_rows_engine, rows_engine
from wex.engine.input.bad_rows import CORRUPT
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.rules import rules_of, with_order
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.spark.dead_letters import BadRowHandling, bad_row_handling, new_run
from wex.spark.internals import spark_schema_of
from wex.spark.ranges import check_ranges, ranged_windows
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
    from wex.spark.dead_letters import DeadLetterFile
    from wex.spec import SpecLike

METRICS = "wex:"  # prefix of the names under which counts are observed
PARTITION = "partition"
PARTITIONS = "spark.sql.shuffle.partitions"
BATCH_ROWS = 1 << 19  # rows that a worker joins before it looks for windows


def windows(  # noqa: PLR0913  (each a choice of its own)
    spec: SpecLike,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    *,
    rows: bool = False,
    buckets: int = 32,
    late: Literal["drop", "error"] = "drop",
    expire_after: timedelta | None = None,
    max_open: int | None = None,
    allow_unbounded: bool = False,
    bad_rows: BadRows = "fail",
    bad_rows_to: str | PathLike[str] | None = None,
    observation: Observation | None = None,
    ranges: int = 1,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function for `DataFrame.transform`: from events to the windows of a spec.

    The columns are those of `wex.find`. With `rows`, there is a row for every event of every window:
    with all columns of the DataFrame or, of a streaming one, the fields of the spec, and without
    `row_index`, as rows of a DataFrame have no place. A column that is missing or of another type
    is an error before any job starts. A row that cannot be an event fails the job, is skipped, or is diverted
    to the folder `bad_rows_to`. In a batch job an `observation` gets the counts of `events`,
    `streams`, `windows` and `bad` rows. Without `partition by`, a batch is divided into at least so many
    `ranges` of time, each a task: four small jobs run at once to find them. The other arguments are for streaming DataFrames: see
    "Running it for months" in the docs.
    """
    written = as_spec(spec)
    filled = with_order(written, partition_by, order_by)
    engine = engine_of(filled)
    handling = bad_row_handling(bad_rows, bad_rows_to)
    check_ranges(ranges)

    def transform(frame: DataFrame) -> DataFrame:
        check_workers(frame.sparkSession)
        if not frame.isStreaming:
            warn(written)
            if handling.letters is not None:
                handling.letters.refuse_used()
            runs = rows_engine(filled, _columns(frame)) if rows else engine
            if observation is None and handling.choice == "fail":
                return _mapped(runs, frame, tally=False, ranges=ranges)
            return counted(
                windows_and_tally(runs, frame, handling, new_run(), ranges=ranges),
                observation or metrics_name(engine),
                rows=rows,
            )
        from wex.spark.streaming import streaming_windows  # noqa: PLC0415

        if not allow_unbounded:
            refuse_unbounded(written)
        rules = rules_of(late, expire_after, max_open, buckets, handling.choice)
        runs = endless_rows_engine(filled) if rows else engine
        return streaming_windows(filled, runs, frame, rules, handling.letters)

    return transform


def _columns(frame: DataFrame) -> tuple[str, ...]:
    """Return the columns of a DataFrame, without the one that marks unreadable rows."""
    return tuple(name for name in frame.columns if name != CORRUPT)


def metrics_name(engine: Engine) -> str:
    """Return the name under which the counts of a spec are observed."""
    return METRICS + "+".join(window.name for window in engine.plan.windows)


def windows_and_tally(
    engine: Engine,
    frame: DataFrame,
    handling: BadRowHandling | None = None,
    run: str = "",
    *,
    ranges: int = 1,
) -> DataFrame:
    """Return windows, and among them rows without a window that hold counts: see `counted`.

    Rows are the only output of a worker. `run` is a prefix of the names of files of bad rows.
    """
    return _mapped(engine, frame, tally=True, handling=handling, run=run, ranges=ranges)


def counted(tallied: DataFrame, name: Observation | str, *, rows: bool = False) -> DataFrame:
    """Return windows without the rows that hold counts, which are observed under a name.

    With `rows`, a window is counted at its first event.
    """
    is_window = F.col("window_name").isNotNull()
    if rows:
        is_window &= F.col(EVENT_INDEX) == F.col("start_index")
    no_name, first, second = F.col("window_name").isNull(), F.col("start_index"), F.col("end_index")
    observed = tallied.observe(
        name,
        F.sum(F.when(no_name & second.isNotNull(), first)).alias("events"),
        F.sum(F.when(no_name, second)).alias("streams"),
        F.count(F.when(is_window, 1)).alias("windows"),
        F.sum(F.when(no_name & second.isNull(), first)).alias("bad"),
    )
    return observed.where(F.col("window_name").isNotNull())


def create_view(
    spark: SparkSession, name: str, spec: SpecLike, source: str, *, rows: bool = False
) -> None:
    """Create a temporary view of the windows of a spec in a table or view, or of their rows."""
    spark.table(source).transform(windows(spec, rows=rows)).createOrReplaceTempView(name)


def _mapped(
    engine: Engine,
    frame: DataFrame,
    *,
    tally: bool,
    handling: BadRowHandling | None = None,
    run: str = "",
    ranges: int = 1,
) -> DataFrame:
    """Return the windows of a batch DataFrame; columns that do not fit are an error."""
    schema = arrow_schema(frame.schema, engine)
    result = SortedScan(engine).feed(schema.empty_table())
    stream, handling = engine.stream, handling or BadRowHandling()
    chosen, plain = with_plain_names(frame, engine)
    if (
        ranges > 1
        and not stream.partition_by
        and handling.choice == "fail"
        and CORRUPT not in plain
    ):
        divided = ranged_windows(engine, chosen, plain, result.schema, ranges, tally=tally)
        if divided is not None:
            return divided
    ties = [
        name
        for name, type_ in stream.fields
        if type_ != OTHER and name not in (*stream.partition_by, *stream.order_by)
    ]
    order = [plain[name] for name in (*stream.partition_by, *stream.order_by, *ties)]
    keys = [plain[name] for name in stream.partition_by]
    if handling.folder is None:
        partitioned = chosen.repartition(*keys) if keys else chosen.repartition(1)
    else:
        # A task that runs again must write the same file again, so the number of partitions and
        # the number of each, which is part of the name, must not depend on how a job is run.
        count = int(frame.sparkSession.conf.get(PARTITIONS, "200") or 200) if keys else 1
        number = F.pmod(F.hash(*keys), F.lit(count)) if keys else F.lit(0)
        chosen = chosen.select("*", number.alias(PARTITION))
        partitioned = chosen.repartition(count, *keys) if keys else chosen.repartition(1)
    ordered = partitioned.sortWithinPartitions(*order)
    function = worker_function(
        engine.plan.to_bytes(),
        list(plain),
        rows=engine.rows,
        tally=tally,
        handling=handling,
        run=run,
    )
    return ordered.mapInArrow(function, spark_schema_of(result.schema))


def with_plain_names(frame: DataFrame, engine: Engine) -> tuple[DataFrame, dict[str, str]]:
    """Return the fields of a stream under the names c0, c1, …, and these names by field.

    Spark misreads a dot or a backtick in a name when it passes columns to workers. The column that
    marks unreadable rows is kept, if there is one.
    """
    fields = [name for name, _ in engine.stream.fields]
    if CORRUPT in frame.columns and CORRUPT not in fields:
        fields.append(CORRUPT)
    names = {name: f"c{index}" for index, name in enumerate(fields)}
    columns = [F.col(quoted(name)).alias(plain) for name, plain in names.items()]
    return frame.select(*columns), names


def worker_function(
    plan: bytes,
    names: list[str],
    *,
    rows: bool = False,
    tally: bool = False,
    handling: BadRowHandling | None = None,
    run: str = "",
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that workers run over the batches of a partition."""
    secret, choice = SECRET, "fail" if handling is None else handling.choice
    letters = None if handling is None else handling.letters

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from wex.spark.worker import engine_of_plan, partition_windows  # noqa: PLC0415  (on the worker)

        number = 0

        def named() -> Iterator[pa.RecordBatch]:
            nonlocal number
            for batch in batches:
                if letters is not None and batch.num_rows:
                    number = batch.column(len(names))[0].as_py()
                yield pa.RecordBatch.from_arrays(batch.columns[: len(names)], names=names)

        def new_file() -> DeadLetterFile:
            assert letters is not None
            return letters.new_file(f"{run}-{number:05d}")

        with sealed_errors(secret):
            yield from partition_windows(
                engine_of_plan(plan, rows=rows),
                named(),
                BATCH_ROWS,
                tally=tally,
                bad_rows=choice,
                new_file=new_file,
            )

    return work
