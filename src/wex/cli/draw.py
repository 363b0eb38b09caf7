"""`wex draw`: a drawing of the automata of a spec, or of its regions."""

from __future__ import annotations

from pathlib import Path

import click

from wex.cli import FINE
from wex.cli.terminal import PATH, read_spec
from wex.errors import clean


@click.command(short_help="Draw the automata of a spec.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.option(
    "--what",
    type=click.Choice(["automata", "regions"]),
    default="automata",
    show_default=True,
    help="Draw the automata, or the regions that the analysis distinguishes.",
)
@click.option("--window", metavar="NAME", help="Draw this window only.")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File that ends in .svg, .dot or .png, or - to print SVG.  [default: SPEC.automata.svg]",
)
def draw(path: str, what: str, window: str | None, output: str | None) -> int:
    """Draw the prefix and window automata of SPEC, or the graph of its regions."""
    spec = read_spec(path)
    from wex.draw.drawing import draw as drawing_of  # noqa: PLC0415
    from wex.draw.drawing import suffix_of  # noqa: PLC0415  (loads the solver)

    if output is None:
        output = "-" if path == "-" else f"{Path(path).stem}.{what}.svg"
    if output != "-":
        suffix_of(output)  # an error, before anything is computed
    drawing = drawing_of(spec, what, window)
    if output == "-":
        click.echo(drawing.svg)
        return FINE
    drawing.save(output)
    click.echo(clean(f"drawn in {output}"), err=True)
    return FINE
