"""The command `wex`: one module per subcommand; what they share is in `terminal`."""

from __future__ import annotations

import sys

import click

import wex
from wex.cli.check import check
from wex.cli.demo import demo
from wex.cli.terminal import ENGINE_FAILED, INTERRUPTED, MISTAKE, fail


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(wex.__version__, prog_name="wex")
def cli() -> None:
    """Windows with a meaning: write them, check them, run them."""


cli.add_command(check)
cli.add_command(demo)


def main() -> None:
    """Run the command line; a user's mistake ends in a sentence and a status, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # odd terminals
    try:
        sys.exit(cli.main(standalone_mode=False))
    except click.exceptions.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(MISTAKE)
    except wex.WexError as error:
        fail(error)
        sys.exit(MISTAKE)
    except BrokenPipeError:
        sys.stderr.close()  # the reader has gone: nothing more to say, not even at exit
        sys.exit(0)
    except Exception as error:  # noqa: BLE001  (the last line of defence)
        click.echo(f"wex failed: {type(error).__name__}: {error}", err=True)
        click.echo("This is a bug in wex; a report with the spec is welcome.", err=True)
        sys.exit(ENGINE_FAILED)
