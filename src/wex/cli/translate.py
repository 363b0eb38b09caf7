"""`wex translate`: a spec with the same windows in the other notation."""

from __future__ import annotations

import click

from wex.cli import FINE
from wex.cli.terminal import read_spec


@click.command()
@click.argument("spec")
@click.option(
    "--to", "target", type=click.Choice(["regex", "formula"]), required=True, help="The notation."
)
def translate(spec: str, target: str) -> int:
    """Print SPEC with its windows given by regular expressions, or by formulas."""
    read = read_spec(spec)
    from wex.api import to_formula, to_regex  # noqa: PLC0415

    click.echo(str(to_regex(read) if target == "regex" else to_formula(read)), nl=False)
    return FINE
