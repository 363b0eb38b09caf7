"""`wex demo`: the example specs, checked and printed, and run on real data."""

from __future__ import annotations

import click

from wex import examples
from wex.cli.check import describe
from wex.cli.terminal import out, rows_table
from wex.engine.find import find
from wex.spec import meaning

SHOWN = 5  # rows of each result


@click.command()
def demo() -> None:
    """Check and print the example specs, and run those that come with real data."""
    console = out()
    for name in examples.names():
        console.rule(name, align="left")
        console.print(examples.text(name).strip(), markup=False)
        lines = ["", *describe(meaning(examples.spec(name))), ""]
        console.print("\n".join(lines), style="dim", markup=False)
    for name in examples.with_data():
        console.rule(f"{name}, on real data", align="left")
        console.print(examples.text(name).strip(), markup=False)
        data = examples.data(name)
        windows = find(examples.spec(name), data)
        title = f"\n{windows.num_rows} windows in {data.num_rows} events, the first {SHOWN}:"
        if windows.num_rows <= SHOWN:
            title = f"\n{windows.num_rows} windows in {data.num_rows} events:"
        windows = windows.drop_columns(["window_name", "start_index", "end_index"])
        console.print(title)
        console.print(rows_table(windows.slice(0, SHOWN)))
    total = len(examples.names()) + len(examples.with_data())
    console.print(f"{total} specs, all of them fine.")
