"""The group of all subcommands, and the exit status for each kind of error."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from typing import TextIO

import click

import wex
from wex.cli import ENGINE_FAILED, FINE, INTERRUPTED, MISTAKE
from wex.cli.terminal import announce_compiling, fail, guarded, hide_pandas
from wex.errors import did_you_mean

COMMANDS = (
    "check",
    "demo",
    "draw",
    "equiv",
    "explain",
    "find",
    "plot",
    "report",
    "run",
    "sql",
    "translate",
)
SPARK_COMMANDS = ("demo", "run", "sql")


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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand to run; if there is none of this name, suggest the most similar."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchOption:
            raise
        except click.UsageError as error:
            help_text = did_you_mean(args[0], COMMANDS, "the commands are")
            raise click.UsageError(f"{error.message} Help: {help_text}", ctx) from None


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(wex.__version__, prog_name="wex")
@click.pass_context
def cli(context: click.Context) -> None:
    """Find windows in streams of events: check specs, compare them, run them here or on Spark."""
    if context.invoked_subcommand not in SPARK_COMMANDS:
        hide_pandas()
    announce_compiling()


def run() -> int:
    """Run the command line and return its exit status."""
    sys.stdout, sys.stderr = guarded(sys.stdout), guarded(sys.stderr)
    try:
        status = _run()
        sys.stdout.flush()
    except OSError as error:  # the disk is full, for example
        _write_line(sys.stderr, f"wex cannot write its output: {error.strerror}")
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
        _write_line(sys.stderr, traceback.format_exc(limit=-3))
        _write_line(sys.stderr, "This is a bug in wex. Please report it, with the spec.")
        return ENGINE_FAILED
    return status if isinstance(status, int) else FINE


def _write_line(stream: TextIO, text: str) -> None:
    try:
        stream.write(f"{text}\n")
    except OSError:
        return  # standard error cannot be written either
