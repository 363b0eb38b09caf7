"""`wex explain`: every stage from the text of a window to what runs."""

from __future__ import annotations

import click

from wex.cli import FINE
from wex.cli.terminal import out, read_spec
from wex.errors import clean


@click.command()
@click.argument("spec")
def explain(spec: str) -> int:
    """Show what becomes of SPEC: guards, letters, automata, the plan, what is known of it."""
    read = read_spec(spec)
    from wex.analysis.explain import explain as explained  # noqa: PLC0415  (loads the solver)

    out().print("\n".join(map(clean, explained(read).lines)), markup=False)
    return FINE
