"""`wex run`: a spec over anything that Spark reads, windows to anything that Spark writes."""

from __future__ import annotations

import sys
import time
import traceback

import click

from wex.cli import ENGINE_FAILED, FINE
from wex.cli.terminal import fail, read_spec, warn_if_unbounded
from wex.errors import WexError


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


@click.command()
@click.argument("spec")
@click.option("--input", "source", required=True, help="What to read: a file, a folder, a URL.")
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
@click.option("--debug", is_flag=True, help="Show all that Spark says when it fails.")
def run(
    spec: str,
    source: str,
    target: str,
    input_format: str | None,
    output_format: str | None,
    options: tuple[tuple[str, str], ...],
    mode: str,
    master: str | None,
    conf: tuple[tuple[str, str], ...],
    debug: bool,
) -> int:
    """Find the windows of SPEC with Spark, from --input to --output."""
    found = read_spec(spec)
    warn_if_unbounded(found)
    from wex.spark.session import new_session  # noqa: PLC0415  (loads Spark)

    shown = bool(sys.stderr and sys.stderr.isatty())
    spark = new_session(master, dict(conf), progress=shown)
    from wex.spark.jobs import Job, run_job  # noqa: PLC0415

    job = Job(source, target, input_format, output_format, dict(options), mode)
    start = time.monotonic()
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
