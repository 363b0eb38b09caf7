"""`wex demo`: the example specs, parsed, checked and printed."""

from __future__ import annotations

import click

from wex import examples
from wex.cli.check import describe
from wex.cli.terminal import out
from wex.spec import meaning, parse


@click.command()
def demo() -> None:
    """Parse, check and print the example specs."""
    console = out()
    for name in examples.names():
        text = examples.text(name)
        spec = parse(text, f"{name}.wex")
        console.rule(name, align="left")
        console.print(text.strip(), markup=False)
        console.print("\n".join(["", *describe(meaning(spec)), ""]), style="dim", markup=False)
    console.print(f"{len(examples.names())} specs, all of them fine.")
