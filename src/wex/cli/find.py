"""`wex find`: the windows of a spec in a file, in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wex.cli import FINE
from wex.cli.terminal import out, read_spec, rows_table
from wex.engine.files import json_lines, read_table, write_table
from wex.engine.find import find as find_windows
from wex.errors import clean
from wex.spec import meaning

SHOWN = 20  # rows on a terminal


@click.command()
@click.argument("spec")
@click.argument("file")
@click.option("-o", "--output", help="Write the windows to this file instead of showing them.")
@click.option("--input-format", help="parquet, csv, json (lines) or arrow; else by FILE's name.")
@click.option("--output-format", help="The same for --output.")
@click.option("--json", "json_wanted", is_flag=True, help="Print the windows as lines of JSON.")
def find(
    spec: str,
    file: str,
    output: str | None,
    input_format: str | None,
    output_format: str | None,
    json_wanted: bool,
) -> int:
    """Find the windows of SPEC in FILE (Parquet, CSV, JSON lines or Arrow), in this process."""
    found = read_spec(spec)
    data = read_table(Path(file), meaning(found).fields, input_format)
    windows = find_windows(found, data)
    if output is not None:
        write_table(windows, Path(output), output_format)
        click.echo(
            f"{windows.num_rows:,} windows in {data.num_rows:,} events, in {output}", err=True
        )
    elif json_wanted:
        for line in json_lines(windows):
            click.echo(line)
    else:
        shown = windows.num_rows if not sys.stdout.isatty() else SHOWN
        out(wide=True).print(rows_table(windows.slice(0, shown)))
        more = f", the first {shown} shown" if windows.num_rows > shown else ""
        click.echo(
            clean(f"{windows.num_rows:,} windows in {data.num_rows:,} events{more}"), err=True
        )
    return FINE
