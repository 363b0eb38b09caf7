"""`wex find`: find windows in files, in this process."""

from __future__ import annotations

from pathlib import Path

import click

from wex.cli import FINE
from wex.cli.inputs import Reading, check_inputs, input_options, options_of_the_shell
from wex.cli.terminal import (
    PATH,
    WIDE,
    deliver,
    read_spec,
    reading_progress,
    warn_if_unbounded,
)
from wex.engine.files.sources import refuse_overwriting
from wex.engine.files.writing import check_output
from wex.engine.find import find_in_files
from wex.errors import counted


@click.command(short_help="Find windows in files.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option(
    "-o", "--output", type=PATH, help="Write the windows to this file instead of printing them."
)
@click.option(
    "--json", "json_wanted", is_flag=True, help="Print the windows as JSON, one object per line."
)
@WIDE
@click.option(
    "--rows",
    "rows_wanted",
    is_flag=True,
    help="Give a row for every event of every window, with the fields of the event.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads to use.  [default: all cores, if there is much data]",
)
@click.option(
    "--output-format", help="Format of the output, as for --input-format.  [default: by its name]"
)
@input_options
def find(
    path: str,
    files: tuple[str, ...],
    output: str | None,
    json_wanted: bool,
    wide: bool,
    rows_wanted: bool,
    threads: int | None,
    output_format: str | None,
    reading: Reading,
) -> int:
    """Find the windows of SPEC in Parquet, CSV, JSON or Arrow files, in this process.

    FILE is a path, a pattern such as 'data/*.csv', a folder, or - for standard input. Several files
    are read one after the other. Files compressed as .gz, .zst, .bz2 or .lz4 are decompressed.

    A file whose events are in order is read in batches, and may be larger than memory.
    """
    check_inputs(path, *files)
    if output is not None:
        check_output(Path(output), output_format)
        refuse_overwriting(Path(output), [path, *files])
    from wex.engine.event_rows import window_count  # noqa: PLC0415  (loads Arrow)

    spec = read_spec(path)
    request = reading.request(files, rows=rows_wanted, threads=threads)
    with options_of_the_shell(), reading_progress() as progress:
        windows, events = find_in_files(spec, request, progress)
    counts = f"{counted(window_count(windows), 'window')} in {counted(events, 'event')}"
    if rows_wanted:
        counts = f"{counted(windows.num_rows, 'row')} of {counts}"
    deliver(windows, counts, output, output_format, json_wanted=json_wanted, wide=wide)
    warn_if_unbounded(spec, windows)  # last, as it takes time
    return FINE
