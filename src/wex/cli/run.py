"""`wex run`: a spec over anything that Spark reads, windows to anything that Spark writes."""

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
from wex.cli.terminal import (
    Duration,
    Setting,
    counted,
    fail,
    read_spec,
    require_spark,
    warn_if_unbounded,
)
from wex.errors import UnboundedError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import timedelta

    from pyspark.sql import SparkSession

    from wex.spark.batch_job import Job
    from wex.spark.streaming_job import Endless
    from wex.spec.tree import Spec


@click.command()
@click.argument("spec")
@click.option("--input", "source", default="", help="What to read: a file, a folder, a URL.")
@click.option("--output", "target", required=True, help="Where to write the windows: a folder.")
@click.option("--input-format", help="As Spark names it; else by the ending, else parquet.")
@click.option("--output-format", help="The same for --output.")
@click.option(
    "--option", "options", multiple=True, type=Setting(), help="For Spark's reader; repeatable."
)
@click.option(
    "--mode",
    type=click.Choice(["error", "overwrite", "append"]),
    default="error",
    show_default=True,
    help="What to do if the output exists.",
)
@click.option("--master", help="Where Spark runs.  [default: local[*]]")
@click.option(
    "--conf", "conf", multiple=True, type=Setting(), help="For the Spark session; repeatable."
)
@click.option("--stream", is_flag=True, help="Go on as more comes: an endless job.")
@click.option("--checkpoint", help="Where an endless job remembers what it has done: a folder.")
@click.option(
    "--trigger",
    default="available-now",
    show_default=True,
    help="When it looks for more: available-now (and then it ends), or '10 seconds'.",
)
@click.option("--watermark", help="How late an event may come, as '10 minutes'.")
@click.option(
    "--late",
    type=click.Choice(["drop", "error"]),
    default="drop",
    show_default=True,
    help="What to do with later ones.",
)
@click.option("--expire-after", type=Duration(), help="Forget keys silent for so long: '1 hour'.")
@click.option("--buckets", default=32, show_default=True, help="Pieces of state.")
@click.option("--max-open", type=int, help="The most starts that a stream may have open.")
@click.option("--allow-unbounded", is_flag=True, help="Run though what is held may grow.")
@click.option(
    "--bad-rows",
    type=click.Choice(["fail", "skip", "divert"]),
    default="fail",
    show_default=True,
    help="What to do with rows that cannot be events; divert: put them into --bad-rows-to.",
)
@click.option("--bad-rows-to", help="Where bad rows are put, with what is wrong: a folder.")
@click.option("--debug", is_flag=True, help="Show all that Spark says when it fails.")
def run(  # noqa: PLR0913, PLR0917  (one for each option)
    spec: str,
    source: str,
    target: str,
    input_format: str | None,
    output_format: str | None,
    options: tuple[tuple[str, str], ...],
    mode: str,
    master: str | None,
    conf: tuple[tuple[str, str], ...],
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
    """Find the windows of SPEC with Spark, from --input to --output."""
    found = read_spec(spec)
    if not source and not (stream and input_format):
        raise click.UsageError("say what to read: --input")
    if stream and checkpoint is None:
        raise click.UsageError("--stream needs --checkpoint: a folder to go on from")
    if stream and mode == "overwrite":
        raise click.UsageError("--stream appends to the output, it does not overwrite")
    require_spark()
    from wex.engine.streaming.rules import with_order  # noqa: PLC0415
    from wex.spark.dead_letters import bad_row_handling  # noqa: PLC0415
    from wex.spark.session import ENDLESS, end_session, new_session  # noqa: PLC0415

    with_order(found)
    apart = bad_row_handling(bad_rows, bad_rows_to)
    if stream and not allow_unbounded and refused(found):
        return FINDING

    shown = bool(sys.stderr and sys.stderr.isatty())
    settings = {**(ENDLESS if stream else {}), **dict(conf)}
    bar = shown and not stream
    spark = new_session(master, settings, progress=bar, quiet=not bar and not debug)
    from wex.spark.batch_job import Job, run_job  # noqa: PLC0415

    job = Job(source, target, input_format, output_format, dict(options), mode)
    start = time.monotonic()
    if stream:
        from wex.spark.streaming_job import Endless  # noqa: PLC0415

        assert checkpoint is not None
        endless = Endless(checkpoint, trigger, watermark)
        rules = {
            "late": late,
            "expire_after": expire_after,
            "buckets": buckets,
            "max_open": max_open,
            "allow_unbounded": allow_unbounded,
            "bad_rows": bad_rows,
            "bad_rows_to": bad_rows_to,
        }
        return run_endless(spark, found, job, endless, rules, debug=debug)
    try:
        summary = run_job(spark, found, job, apart)
    except WexError as error:
        if debug:
            traceback.print_exc()
        warn_if_unbounded(found)  # it may be why
        if error.code == "spark-failed":
            fail(error)
            return ENGINE_FAILED
        raise
    finally:
        end_session(spark)
    click.echo(
        f"{counted(summary.windows, 'window')} in {counted(summary.events, 'event')}"
        f" of {counted(summary.streams, 'stream')},"
        f"{put_aside(summary.bad, bad_rows, bad_rows_to)}"
        f" in {target}, {time.monotonic() - start:.1f} s",
        err=True,
    )
    warn_if_unbounded(found)  # last: the job does not wait for it
    return FINE


def refused(spec: Spec) -> bool:
    """Tell whether what a spec holds can grow without bound, and say why it is not run."""
    from wex.analysis.boundedness_guard import refuse_unbounded  # noqa: PLC0415  (loads the solver)

    try:
        refuse_unbounded(spec)
    except UnboundedError as error:
        hint = "bound it (see `wex check`), or say --allow-unbounded and watch the state"
        fail(UnboundedError(error.code, error.message, hint))
        return True
    return False


def run_endless(
    spark: SparkSession,
    spec: Spec,
    job: Job,
    endless: Endless,
    rules: dict[str, Any],
    *,
    debug: bool,
) -> int:
    """Run an endless job until it ends or is interrupted, and say what it does."""
    from wex.spark.session import end_session  # noqa: PLC0415
    from wex.spark.streaming_job import start_stream, watched  # noqa: PLC0415

    live = bool(sys.stderr and sys.stderr.isatty())

    def told(counts: dict[str, int]) -> None:
        if live:  # in one line, whatever was there before
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{_shown(counts, rules)[:width]}", nl=False, err=True)

    try:
        with asked_to_stop() as asked:
            query = start_stream(spark, spec, job, endless, **rules)
            total = watched(query, job, endless, told, lambda: bool(asked))
    except WexError as error:
        if debug:
            traceback.print_exc()
        fail(error)
        return ENGINE_FAILED if error.code == "spark-failed" else MISTAKE
    finally:
        end_session(spark)
    said = _shown(total, rules) if any(total.values()) else "nothing new"
    click.echo(("\n" if live else "") + f"{said}, in {job.target}", err=True)
    if asked:
        click.echo("stopped; start it again with the same --checkpoint to go on", err=True)
    return INTERRUPTED if asked else FINE


@contextmanager
def asked_to_stop() -> Iterator[list[int]]:
    """Note signals that ask to stop, and do nothing else.

    PySpark's own handler would break whatever call to Java it interrupts.
    """
    asked: list[int] = []
    chosen = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(each, lambda number, _: asked.append(number)) for each in chosen]
    try:
        yield asked
    finally:
        for each, handler in zip(chosen, before, strict=True):
            signal.signal(each, handler)


def put_aside(count: int, bad_rows: str, folder: str | None) -> str:
    """Return what became of bad rows, as part of a line; nothing, if there were none."""
    if not count:
        return ""
    rows = f" {counted(count, 'bad row')}"
    return f"{rows} diverted to {folder}," if bad_rows == "divert" else f"{rows} skipped,"


def _shown(counts: dict[str, int], rules: dict[str, Any]) -> str:
    return (
        f"{counted(counts['processed'], 'event')} of {counted(counts['streams'], 'stream')},"
        f" {counts['late']:,} late,"
        f"{put_aside(counts['bad'], rules['bad_rows'], rules['bad_rows_to'])}"
        f" {counts['buffered']:,} waiting, {counted(counts['open'], 'start')} open,"
        f" {counted(counts['state_bytes'], 'byte')} of state"
    )
