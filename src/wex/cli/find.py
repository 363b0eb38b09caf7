"""`wex find`: the windows of a spec in a file, in this process."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from wex.cli import FINE
from wex.cli.terminal import out, read_spec, reading_progress, rows_table, warn_if_unbounded
from wex.engine.files import json_lines, write_table
from wex.engine.find import find_in_file
from wex.errors import clean

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
    """Find the windows of SPEC in FILE (Parquet, CSV, JSON lines or Arrow), in this process.

    A file whose events are in order may be larger than the memory: it is read batch by batch.
    """
    found = read_spec(spec)
    warn_if_unbounded(found)
    with reading_progress() as progress:
        windows, events = find_in_file(found, Path(file), input_format, progress)
    if output is not None:
        write_table(windows, Path(output), output_format)
        click.echo(f"{windows.num_rows:,} windows in {events:,} events, in {output}", err=True)
    elif json_wanted:
        for line in json_lines(windows):
            click.echo(line)
    else:
        shown = windows.num_rows if not sys.stdout.isatty() else SHOWN
        out(wide=True).print(rows_table(windows.slice(0, shown)))
        more = f", the first {shown} shown" if windows.num_rows > shown else ""
        click.echo(clean(f"{windows.num_rows:,} windows in {events:,} events{more}"), err=True)
    return FINE
