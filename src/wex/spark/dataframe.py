"""`df.transform(windows(spec))`: the columns that a spec reads, sorted by stream, through the engine.

The plan travels to the workers as bytes; they load neither grammar nor solver.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Literal, get_args

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DecimalType, StringType

from wex.analysis.boundedness_guard import refuse_unbounded, warn
from wex.engine.engine import engine_of
from wex.engine.event_rows import EVENT_INDEX, endless_rows_engine, rows_engine
from wex.engine.input.bad_rows import CORRUPT
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.rules import rules_of, with_order
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.errors import WexError
from wex.spark import packed_shuffle
from wex.spark.dead_letters import BadRowHandling, DeadLetterFile, bad_row_handling, new_run
from wex.spark.internals import partitioned_by, spark_schema_of
from wex.spark.packed_shuffle import shuffle_partitions, shuffled
from wex.spark.ranges import check_ranges, ranged_windows, tasks_for
from wex.spark.schemas import arrow_schema, quoted, to_arrow
from wex.spark.session import check_workers
from wex.spec import as_spec
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from os import PathLike

    from pyspark.sql import Column, DataFrame, Observation, SparkSession

    from wex.engine.engine import Engine
    from wex.engine.input.bad_rows import BadRows
    from wex.spec import SpecLike
    from wex.spec.tree import Spec

Shuffle = Literal["packed", "rows"]
METRICS = "wex:"  # prefix of the names under which counts are observed
PARTITION = "partition"
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
    shuffle: Shuffle = "packed",
    ranges: int | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """Return a function for `DataFrame.transform`: from events to the windows of a spec.

    The columns are those of `wex.find`. With `rows`, there is a row for every event of every window:
    with all columns of the DataFrame or, of a streaming one, the fields of the spec, and without
    `row_index`, as rows of a DataFrame have no place. A column that is missing or of another type
    is an error before any job starts. A row that cannot be an event fails the job, is skipped, or is diverted
    to the folder `bad_rows_to`. In a batch job an `observation` gets the counts of `events`,
    `streams`, `windows` and `bad` rows. The other arguments are for streaming DataFrames: see
    "Running it for months" in the docs.

    Streams of a batch may be divided into `ranges` of time, run by so many tasks: one stream without
    `partition by`, else keys that are too large for one task. Three small jobs then run at once to find
    the ranges. If `ranges` is not given, a large stream without `partition by` is divided.

    The `shuffle` of a batch job is *packed*: rows travel as Arrow data, sorted by WEX. With "rows",
    Spark moves and sorts the rows themselves.
    """
    written = as_spec(spec)
    filled = with_order(written, partition_by, order_by)
    engine = engine_of(filled)
    handling = bad_row_handling(bad_rows, bad_rows_to)
    if shuffle not in get_args(Shuffle):
        message = f"shuffle must be 'packed' or 'rows', got {shuffle!r}"
        raise WexError("wrong-argument", message, "choose one of the two")
    check_ranges(ranges)

    def transform(frame: DataFrame) -> DataFrame:
        check_workers(frame.sparkSession)
        if not frame.isStreaming:
            warn(written)
            if handling.letters is not None:
                handling.letters.refuse_used()
            runs = rows_engine(filled, _columns(frame)) if rows else engine
            if observation is None and handling.choice == "fail":
                return found_windows(runs, frame, shuffle=shuffle, ranges=ranges)
            tallied = found_windows(
                runs,
                frame,
                tally=True,
                handling=handling,
                run=new_run(),
                shuffle=shuffle,
                ranges=ranges,
            )
            return counted(tallied, observation or metrics_name(engine), rows=rows)
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


def selected_windows(spec: Spec, frame: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Return some columns of the windows of a DataFrame, so that no others leave the workers of a batch job.

    Spark cannot see that nobody reads a column that a worker returns.
    """
    if frame.isStreaming:
        return frame.transform(windows(spec)).select(*map(quoted, columns))
    check_workers(frame.sparkSession)
    warn(spec)
    return found_windows(engine_of(spec), frame, columns=columns)


def create_view(
    spark: SparkSession, name: str, spec: SpecLike, source: str, *, rows: bool = False
) -> None:
    """Create a temporary view of the windows of a spec in a table or view, or of their rows."""
    # Not divided into ranges: these are found in the data of now, which may change before a query.
    found = windows(spec, rows=rows, ranges=1)
    spark.table(source).transform(found).createOrReplaceTempView(name)


def found_windows(
    engine: Engine,
    frame: DataFrame,
    *,
    tally: bool = False,
    handling: BadRowHandling | None = None,
    run: str = "",
    shuffle: Shuffle = "packed",
    ranges: int | None = None,
    columns: Sequence[str] | None = None,
) -> DataFrame:
    """Return the windows of a batch DataFrame, or some of their columns; events that do not fit are an error.

    With `tally`, there are rows without a window among them that hold counts, as rows are the only
    output of a worker: see `counted`. `run` is a prefix of the names of files of bad rows.
    """
    schema = arrow_schema(frame.schema, engine)
    result = SortedScan(engine).feed(schema.empty_table())
    returned_columns = list(columns or result.column_names)
    stream, handling = engine.stream, handling or BadRowHandling()
    chosen, plain = with_plain_names(frame, engine)
    looks = handling.choice != "fail" or CORRUPT in plain
    tasks = tasks_for(engine, chosen, plain, ranges, bad_rows=looks)
    if tasks > 1:
        divided = ranged_windows(engine, chosen, plain, result.schema, tasks, tally=tally)
        if divided is not None:
            return divided.select(*map(quoted, returned_columns))
    run_on_workers = WorkerFunctions(
        engine.plan.to_bytes(), list(plain), engine.rows, returned_columns, tally, handling, run
    )
    returned = spark_schema_of(result.select(returned_columns).schema)
    keys = [plain[name] for name in stream.partition_by]
    in_place = handling.folder is None and _are_together(chosen, keys)
    if shuffle == "packed" and not in_place:
        types = to_arrow(chosen.schema)
        blobs = shuffled(chosen, engine, list(plain))
        function = run_on_workers.over_blobs(pa.schema(zip(plain, types.types, strict=True)))
        return blobs.mapInArrow(function, returned)
    ties = [
        name
        for name, type_ in stream.fields
        if type_ != OTHER and name not in (*stream.partition_by, *stream.order_by)
    ]
    order = [plain[name] for name in (*stream.partition_by, *stream.order_by, *ties)]
    by = [_by_value(chosen, key) for key in keys]
    if in_place:
        partitioned = chosen
    elif handling.folder is None:
        partitioned = chosen.repartition(*by) if keys else chosen.repartition(1)
    else:
        # A task that runs again must write the same file again, so the number of partitions and
        # the number of each, which is part of the name, must not depend on how a job is run.
        count = shuffle_partitions(frame.sparkSession) if keys else 1
        number = F.pmod(F.hash(*by), F.lit(count)) if keys else F.lit(0)
        chosen = chosen.select("*", number.alias(PARTITION))
        partitioned = chosen.repartition(count, *by) if keys else chosen.repartition(1)
    ordered = partitioned.sortWithinPartitions(*order)
    return ordered.mapInArrow(run_on_workers.over_rows(), returned)


def _are_together(chosen: DataFrame, keys: list[str]) -> bool:
    """Tell whether somebody has partitioned rows such that those of a key are in one partition.

    Different decimals may be one key, and texts that a collation calls equal are different keys.
    """
    for key in keys:
        type_ = chosen.schema[key].dataType
        if isinstance(type_, DecimalType):
            return False
        if isinstance(type_, StringType) and type_ != StringType():
            return False
    together = partitioned_by(chosen)
    return together is not None and together <= set(keys)


def _by_value(chosen: DataFrame, name: str) -> Column:
    """Return a key column to partition by: a decimal is the real that is nearest to it."""
    column = F.col(name)
    is_decimal = isinstance(chosen.schema[name].dataType, DecimalType)
    return column.cast("double") if is_decimal else column


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


Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class WorkerFunctions:
    """What workers need to find the windows of a partition, and the functions that do it."""

    plan: bytes
    names: list[str]
    rows: bool
    columns: list[str]  # of the result
    tally: bool
    handling: BadRowHandling
    run: str

    def over_rows(self) -> Callable[[Batches], Batches]:
        """Return the function for partitions of rows, sorted by stream."""
        names, numbered, found = self.names, self.handling.folder is not None, self._found()

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from wex.spark.worker import joined  # noqa: PLC0415  (on the worker)

            number = 0

            def named() -> Iterator[pa.RecordBatch]:
                nonlocal number
                for batch in batches:
                    if numbered and batch.num_rows:
                        number = batch.column(len(names))[0].as_py()
                    yield pa.RecordBatch.from_arrays(batch.columns[: len(names)], names=names)

            yield from found(joined(named(), BATCH_ROWS), lambda: number)

        return work

    def over_blobs(self, schema: pa.Schema) -> Callable[[Batches], Batches]:
        """Return the function for partitions of packed rows with a schema, sorted by bucket."""
        plan, rows, found = self.plan, self.rows, self._found()
        memory = packed_shuffle.MEMORY

        def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from wex.spark.packed_shuffle import buckets  # noqa: PLC0415  (on the worker)
            from wex.spark.worker import engine_of_plan  # noqa: PLC0415

            engine = engine_of_plan(plan, rows=rows)
            for label, tables in buckets(batches, engine, schema, memory):
                yield from found(tables, partial(int, label))

        return work

    def _found(self) -> Callable[[Iterator[pa.Table], Callable[[], int]], Batches]:
        """Return the function that finds windows in sorted rows; the number names a file of bad rows."""
        plan, rows, tally, run, columns = self.plan, self.rows, self.tally, self.run, self.columns
        secret, choice, letters = SECRET, self.handling.choice, self.handling.letters

        def found(tables: Iterator[pa.Table], number: Callable[[], int]) -> Batches:
            from wex.spark.worker import engine_of_plan, partition_windows  # noqa: PLC0415

            def new_file() -> DeadLetterFile:
                assert letters is not None
                return letters.new_file(f"{run}-{number():05d}")

            with sealed_errors(secret):
                for batch in partition_windows(
                    engine_of_plan(plan, rows=rows),
                    tables,
                    tally=tally,
                    bad_rows=choice,
                    new_file=new_file,
                ):
                    yield batch.select(columns)

        return found
