"""`wex run --stream`: an endless job, what it does in a live line, and how it is stopped."""

from __future__ import annotations

import shutil
import signal
import sys
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from wex.cli import ENGINE_FAILED, FINE, INTERRUPTED, MISTAKE
from wex.cli.terminal import counted, fail
from wex.errors import UnboundedError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from wex.spark.endless import Endless
    from wex.spark.jobs import Job
    from wex.spec.tree import Spec


def refused(spec: Spec) -> bool:
    """Tell whether what a spec holds can grow without bound, and say why it is not run."""
    from wex.analysis.warned import refuse_unbounded  # noqa: PLC0415  (loads the solver)

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
    from wex.spark.endless import start_stream, watched  # noqa: PLC0415
    from wex.spark.session import end_session  # noqa: PLC0415

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
