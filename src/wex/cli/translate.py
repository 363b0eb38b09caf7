"""`wex translate`: the same windows in the other notation."""

from __future__ import annotations

import click

from wex.cli import FINE
from wex.cli.terminal import read_spec


@click.command(short_help="Print a spec in the other notation.")
@click.argument("path", metavar="SPEC")
@click.option(
    "--to",
    "notation",
    type=click.Choice(["regex", "formula"]),
    required=True,
    help="Notation of the windows that are printed.",
)
def translate(path: str, notation: str) -> int:
    """Print SPEC with all windows written as regular expressions, or all as formulas."""
    spec = read_spec(path)
    from wex.api import to_formula, to_regex  # noqa: PLC0415  (load the solver)

    click.echo(str(to_regex(spec) if notation == "regex" else to_formula(spec)), nl=False)
    return FINE
