"""`wex run`: find windows with Spark, in a batch job or an endless one."""

from __future__ import annotations

import shutil
import signal
import sys
import time
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from wex.cli import ENGINE_FAILED, FINDING, FINE, INTERRUPTED, MISTAKE
from wex.cli.inputs import check_inputs
from wex.cli.job_paths import check_folder, check_source, check_target, is_local
from wex.cli.terminal import (
    PATH,
    Duration,
    Setting,
    fail,
    read_spec,
    require_spark,
    warn_if_unbounded,
)
from wex.engine.streaming.worker_errors import without_seals
from wex.errors import UnboundedError, WexError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from wex.spark.batch_job import Job
    from wex.spark.dead_letters import BadRowHandling
    from wex.spark.streaming_job import EndlessSettings
    from wex.spec.tree import Spec


@click.command(short_help="Find windows with Spark.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--input", "source", type=PATH, default="", help="File, folder or URL to read.")
@click.option("--output", "target", type=PATH, required=True, help="Folder for the windows.")
@click.option(
    "--input-format", help="Spark's name of the input format.  [default: by the name, else parquet]"
)
@click.option(
    "--output-format",
    help="Spark's name of the output format.  [default: by the name, else parquet]",
)
@click.option(
    "--option",
    "options",
    multiple=True,
    type=Setting(),
    help="Option for Spark's reader. Repeatable.",
)
@click.option(
    "--mode",
    type=click.Choice(["error", "overwrite", "append"]),
    default="error",
    show_default=True,
    help="Action if the output exists.",
)
@click.option("--master", help="URL of the Spark master.  [default: local[*]]")
@click.option(
    "--conf",
    "conf",
    multiple=True,
    type=Setting(),
    help="Setting of the Spark session. Repeatable.",
)
@click.option(
    "--ranges",
    type=click.IntRange(min=1),
    help="Number of tasks that run ranges of time: of one stream without `partition by`, or of keys with very"
    " many rows.  [default: by the size of the input, for one stream]",
)
@click.option(
    "--stream",
    is_flag=True,
    help="Go on from --checkpoint with what has arrived since; with an interval as --trigger, without end.",
)
@click.option(
    "--checkpoint", type=PATH, help="Folder for the progress and state of an endless job."
)
@click.option(
    "--trigger",
    default="available-now",
    show_default=True,
    help="Interval between micro-batches, such as '10 seconds'; available-now processes the backlog and"
    " ends.",
)
@click.option("--watermark", help="Longest delay of an event, such as '10 minutes'.")
@click.option(
    "--late",
    type=click.Choice(["drop", "error"]),
    default="drop",
    show_default=True,
    help="Action for an event behind the watermark.",
)
@click.option(
    "--expire-after",
    type=Duration(),
    help="Drop the state of keys without events for this long, such as '1 hour'.",
)
@click.option(
    "--buckets",
    default=32,
    show_default=True,
    help="Number of buckets that the state is divided into.",
)
@click.option("--max-open", type=int, help="Fail if a stream has more open starts than this.")
@click.option(
    "--allow-unbounded",
    is_flag=True,
    help="Run a spec that can hold an unbounded number of starts.",
)
@click.option(
    "--bad-rows",
    type=click.Choice(["fail", "skip", "divert"]),
    default="fail",
    show_default=True,
    help="Action for a row that cannot be read as an event; divert writes it to --bad-rows-to.",
)
@click.option("--bad-rows-to", help="Folder for bad rows and their errors.")
@click.option("--debug", is_flag=True, help="Print Spark's log, and the traceback of an error.")
def run(  # noqa: PLR0913, PLR0917  (one for each option)
    path: str,
    source: str,
    target: str,
    input_format: str | None,
    output_format: str | None,
    options: tuple[tuple[str, str], ...],
    mode: str,
    master: str | None,
    conf: tuple[tuple[str, str], ...],
    ranges: int | None,
    stream: bool,
    checkpoint: str | None,
    trigger: str,
    watermark: str | None,
    late: str,
    expire_after: timedelta | None,
    buckets: int,
    max_open: int | None,
    allow_unbounded: bool,
    bad_rows: str,
    bad_rows_to: str | None,
    debug: bool,
) -> int:
    """Find the windows of SPEC in --input with Spark, and write them to --output.

    With --stream, input that arrives later is processed, too: a job that is started again continues
    from --checkpoint.
    """
    check_inputs(path, source)
    spec = read_spec(path)
    if not source and not (stream and input_format):
        raise click.UsageError("--input is missing: the file, folder or URL to read")
    if stream and checkpoint is None:
        raise click.UsageError("--stream requires --checkpoint, a folder for progress and state")
    if stream and mode == "overwrite":
        raise click.UsageError("--stream appends to the output; --mode overwrite is not possible")
    if stream and ranges is not None:
        raise click.UsageError("--ranges divides the input of a batch job; --stream has no end")
    if is_local(master, dict(conf)):
        check_source(source, input_format, stream=stream)
        check_target(target, output_format, new=mode == "error" and not stream)
        for folder in (checkpoint if stream else None, bad_rows_to):
            check_folder(folder or "")
    require_spark()
    from wex.engine.streaming.rules import with_order  # noqa: PLC0415
    from wex.spark.dead_letters import bad_row_handling  # noqa: PLC0415  (loads Spark)
    from wex.spark.session import ENDLESS, new_session  # noqa: PLC0415

    with_order(spec)
    handling = bad_row_handling(bad_rows, bad_rows_to)
    if stream and not allow_unbounded and is_refused(spec):
        return FINDING

    terminal = bool(sys.stderr and sys.stderr.isatty())
    settings = {**(ENDLESS if stream else {}), **dict(conf)}
    bar = terminal and not stream
    spark = new_session(master, settings, progress=bar, quiet=not bar and not debug)
    from wex.spark.batch_job import Job  # noqa: PLC0415

    job = Job(source, target, input_format, output_format, dict(options), mode)
    rules = {
        "late": late,
        "expire_after": expire_after,
        "buckets": buckets,
        "max_open": max_open,
        "allow_unbounded": allow_unbounded,
        "bad_rows": bad_rows,
        "bad_rows_to": bad_rows_to,
    }
    if checkpoint is None or not stream:
        return run_batch(spark, spec, job, handling, rules, ranges=ranges, debug=debug)
    from wex.spark.streaming_job import EndlessSettings  # noqa: PLC0415

    endless = EndlessSettings(checkpoint, trigger, watermark)
    return run_endless(spark, spec, job, endless, rules, debug=debug)


def is_refused(spec: Spec) -> bool:
    """Tell whether a spec can hold an unbounded number of starts, and print the reason."""
    from wex.analysis.boundedness_guard import refuse_unbounded  # noqa: PLC0415  (loads the solver)

    try:
        refuse_unbounded(spec, "use --allow-unbounded and monitor the state")
    except UnboundedError as error:
        fail(error)
        return True
    return False


def run_batch(
    spark: SparkSession,
    spec: Spec,
    job: Job,
    handling: BadRowHandling,
    rules: dict[str, Any],
    *,
    ranges: int | None,
    debug: bool,
) -> int:
    """Run a batch job, and print how many windows, events and streams it had."""
    from wex.spark.batch_job import run_job  # noqa: PLC0415
    from wex.spark.session import end_session  # noqa: PLC0415

    start = time.monotonic()
    try:
        summary = run_job(spark, spec, job, handling, ranges)
    except WexError as error:
        if debug:
            click.echo(without_seals(traceback.format_exc()), err=True)
        warn_if_unbounded(spec)  # a possible cause of the failure
        if error.code == "spark-failed":
            fail(error)
            return ENGINE_FAILED
        raise
    finally:
        end_session(spark)
    click.echo(
        f"{counted(summary.windows, 'window')} in {counted(summary.events, 'event')}"
        f" of {counted(summary.streams, 'stream')},"
        f"{bad_row_count(summary.bad, rules['bad_rows'], rules['bad_rows_to'])}"
        f" in {job.target}, {time.monotonic() - start:.1f} s",
        err=True,
    )
    warn_if_unbounded(spec)  # last, as it takes time
    return FINE


def run_endless(
    spark: SparkSession,
    spec: Spec,
    job: Job,
    endless: EndlessSettings,
    rules: dict[str, Any],
    *,
    debug: bool,
) -> int:
    """Run an endless job until it ends or is interrupted, with its counts in a line on a terminal."""
    from wex.spark.session import end_session  # noqa: PLC0415
    from wex.spark.streaming_job import start_stream, watch  # noqa: PLC0415

    live = bool(sys.stderr and sys.stderr.isatty())

    def show(counts: dict[str, int]) -> None:
        if live:  # replaces the line of the micro-batch before
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{_count_line(counts, rules)[:width]}", nl=False, err=True)

    try:
        with stop_signals() as signals:
            query = start_stream(spark, spec, job, endless, **rules)
            total = watch(query, job, endless, show, lambda: bool(signals))
    except WexError as error:
        if debug:
            click.echo(without_seals(traceback.format_exc()), err=True)
        fail(error)
        return ENGINE_FAILED if error.code == "spark-failed" else MISTAKE
    finally:
        end_session(spark)
    counts = _count_line(total, rules) if any(total.values()) else "nothing new"
    click.echo(("\n" if live else "") + f"{counts}, in {job.target}", err=True)
    if signals:
        click.echo("stopped; to continue, start it again with the same --checkpoint", err=True)
    return INTERRUPTED if signals else FINE


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Yield a list that receives the interrupts and requests to terminate.

    They have no other effect: PySpark's handler would break the call to Java that it interrupts.
    """
    received: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _: received.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def bad_row_count(count: int, bad_rows: str, folder: str | None) -> str:
    """Return how many rows were skipped or diverted, as part of a line; empty if none were."""
    if not count:
        return ""
    rows = f" {counted(count, 'bad row')}"
    return f"{rows} diverted to {folder}," if bad_rows == "divert" else f"{rows} skipped,"


def _count_line(counts: dict[str, int], rules: dict[str, Any]) -> str:
    return (
        f"{counted(counts['windows'], 'window')} in {counted(counts['processed'], 'event')}"
        f" of {counted(counts['streams'], 'stream')}, {counts['late']:,} late,"
        f"{bad_row_count(counts['bad'], rules['bad_rows'], rules['bad_rows_to'])}"
        f" {counts['buffered']:,} waiting, {counted(counts['open'], 'start')} open,"
        f" {counted(counts['state_bytes'], 'byte')} of state"
    )
