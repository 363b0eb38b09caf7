"""`wex run`: a spec over anything that Spark reads, windows to anything that Spark writes."""

from __future__ import annotations

import shutil
import sys
import time
import traceback
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from wex.cli import ENGINE_FAILED, FINDING, FINE, INTERRUPTED, MISTAKE
from wex.cli.terminal import fail, read_spec, warn_if_unbounded
from wex.errors import WexError
from wex.spec.types import UNITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wex.spark.endless import Endless
    from wex.spark.jobs import Job
    from wex.spec.tree import Spec


class Setting(click.ParamType[tuple[str, str]]):
    """A setting, written `name=value`."""

    name = "name=value"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """Return name and value."""
        name, equals, rest = str(value).partition("=")
        if not name or not equals:
            self.fail(f"{value!r} is not of the form name=value", param, ctx)
        return name, rest


class Duration(click.ParamType[timedelta]):
    """A time as specs write it: `20 seconds`, `1 hour`."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        """Return the time."""
        number, _, unit = str(value).partition(" ")
        if not number.isdigit() or unit not in UNITS:
            self.fail(f"{value!r} is not like '20 seconds' or '1 hour'", param, ctx)
        return timedelta(microseconds=int(number) * UNITS[unit])


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
    if not stream:
        warn_if_unbounded(found)
    from wex.spark.session import ENDLESS, new_session  # noqa: PLC0415  (loads Spark)

    shown = bool(sys.stderr and sys.stderr.isatty())
    settings = {**(ENDLESS if stream else {}), **dict(conf)}
    spark = new_session(master, settings, progress=shown and not stream)
    from wex.spark.jobs import Job, run_job  # noqa: PLC0415

    job = Job(source, target, input_format, output_format, dict(options), mode)
    start = time.monotonic()
    if stream:
        from wex.spark.endless import Endless  # noqa: PLC0415

        assert checkpoint is not None
        endless = Endless(checkpoint, trigger, watermark)
        rules = {
            "late": late,
            "expire_after": expire_after,
            "buckets": buckets,
            "max_open": max_open,
            "allow_unbounded": allow_unbounded,
        }
        return _endless(spark, found, job, endless, rules, debug=debug)
    try:
        summary = run_job(spark, found, job)
    except WexError as error:
        if debug:
            traceback.print_exc()
        if error.code == "spark-failed":
            fail(error)
            return ENGINE_FAILED
        raise
    finally:
        spark.stop()
    click.echo(
        f"{summary.windows:,} windows in {summary.events:,} events of {summary.streams:,} streams,"
        f" in {target}, {time.monotonic() - start:.1f} s",
        err=True,
    )
    return FINE


def _endless(
    spark: SparkSession,
    spec: Spec,
    job: Job,
    endless: Endless,
    rules: dict[str, Any],
    *,
    debug: bool,
) -> int:
    """Run an endless job until it ends or is interrupted, and say what it does."""
    from wex.spark.endless import start_stream, watched  # noqa: PLC0415

    live = bool(sys.stderr and sys.stderr.isatty())

    def told(counts: dict[str, int]) -> None:
        if live:  # in one line, whatever was there before
            width = shutil.get_terminal_size().columns - 1
            click.echo(f"\r\x1b[K{_shown(counts)[:width]}", nl=False, err=True)

    query = None
    try:
        query = start_stream(spark, spec, job, endless, **rules)
        total = watched(query, job, told)
    except KeyboardInterrupt:
        if query is not None:
            query.stop()  # what was begun is done again at the next start, once
        click.echo("\nstopped; start it again with the same --checkpoint to go on", err=True)
        return INTERRUPTED
    except WexError as error:
        if debug:
            traceback.print_exc()
        fail(error)
        refused = error.code == "unbounded"
        return FINDING if refused else ENGINE_FAILED if error.code == "spark-failed" else MISTAKE
    finally:
        spark.stop()
    click.echo(("\n" if live else "") + f"{_shown(total)}, in {job.target}", err=True)
    return FINE


def _shown(counts: dict[str, int]) -> str:
    return (
        f"{counts['processed']:,} events of {counts['streams']:,} streams, {counts['late']:,} late,"
        f" {counts['buffered']:,} waiting, {counts['open']:,} starts open, {counts['state_bytes']:,} bytes of state"
    )
