"""The subcommands together, and what becomes of errors."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import TextIO

import click

import wex
from wex.cli import ENGINE_FAILED, FINE, INTERRUPTED, MISTAKE
from wex.cli.terminal import announce_compiling, fail, guarded, hide_pandas

COMMANDS = ("check", "demo", "equiv", "explain", "find", "run", "translate")
SPARK_COMMANDS = ("demo", "run")


class LazyGroup(click.Group):
    """A group that imports the module of a subcommand when the subcommand is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names of all subcommands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return the subcommand of this name, which is a function of the same name in its module."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"wex.cli.{cmd_name}"), cmd_name)
        return command


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(wex.__version__, prog_name="wex")
@click.pass_context
def cli(context: click.Context) -> None:
    """Windows with a meaning: write them, check them, run them."""
    if context.invoked_subcommand not in SPARK_COMMANDS:
        hide_pandas()
    announce_compiling()


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
