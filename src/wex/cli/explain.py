"""`wex explain`: the stages of compiling a spec."""

from __future__ import annotations

import click

from wex.cli import FINE
from wex.cli.terminal import PATH, out, read_spec
from wex.errors import clean


@click.command(short_help="Show how a spec is compiled.")
@click.argument("path", metavar="SPEC", type=PATH)
def explain(path: str) -> int:
    """Show how SPEC is compiled: guards, letters, automata, the plan, and the bounds of each window."""
    spec = read_spec(path)
    from wex.analysis.explain import explain as explanation_of  # noqa: PLC0415  (loads the solver)

    out().print("\n".join(map(clean, explanation_of(spec).lines)), markup=False)
    return FINE
