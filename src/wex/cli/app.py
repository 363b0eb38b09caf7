"""The subcommands together, and what becomes of errors."""

from __future__ import annotations

import sys
import traceback
from typing import TextIO

import click

import wex
from wex.cli import ENGINE_FAILED, FINE, INTERRUPTED, MISTAKE
from wex.cli.check import check
from wex.cli.demo import demo
from wex.cli.equiv import equiv
from wex.cli.explain import explain
from wex.cli.find import find
from wex.cli.run import run as run_on_spark
from wex.cli.terminal import fail, guarded
from wex.cli.translate import translate


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(wex.__version__, prog_name="wex")
def cli() -> None:
    """Windows with a meaning: write them, check them, run them."""


cli.add_command(check)
cli.add_command(demo)
cli.add_command(equiv)
cli.add_command(explain)
cli.add_command(find)
cli.add_command(run_on_spark)
cli.add_command(translate)


def run() -> int:
    """Run the command line and return its status."""
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)
    try:
        status = _run()
        sys.stdout.flush()
    except OSError as error:  # of the output: a full disk, say
        _say(sys.stderr, f"wex could not write its output: {error.strerror}")
        return ENGINE_FAILED
    return status


def _run() -> int:
    try:
        status = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        return MISTAKE
    except wex.WexError as error:
        fail(error)
        return MISTAKE
    except OSError:
        raise
    except Exception:  # noqa: BLE001  (the last line of defence)
        _say(sys.stderr, traceback.format_exc(limit=-3))
        _say(sys.stderr, "This is a bug in wex; a report with the spec is welcome.")
        return ENGINE_FAILED
    return status if isinstance(status, int) else FINE


def _say(stream: TextIO, text: str) -> None:
    try:
        stream.write(f"{text}\n")
    except OSError:
        return  # nobody can be told
