"""`wex find`: find windows in files, in this process."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wex.cli import FINE
from wex.cli.terminal import (
    PATH,
    WIDE,
    Setting,
    counted,
    deliver,
    read_spec,
    reading_progress,
    warn_if_unbounded,
)
from wex.engine.files.options import in_python, in_shell, text_options
from wex.engine.files.sources import STDIN, refuse_overwriting
from wex.engine.files.writing import check_output
from wex.engine.find import Request, find_in_files
from wex.engine.input.key_filter import parse_keys
from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    "--where-key",
    "where",
    multiple=True,
    type=Setting(),
    help="Read only the streams with this value in a key column, such as symbol=A. Repeatable.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads to use.  [default: all cores, if there is much data]",
)
@click.option(
    "--input-format",
    help="Format of FILE: parquet, csv, json (one object per line) or arrow.  [default: by its name]",
)
@click.option(
    "--output-format", help="Format of the output, as for --input-format.  [default: by its name]"
)
@click.option("--delimiter", help="Character between CSV columns, or `tab`.  [default: ,]")
@click.option("--quote", help='Character around quoted CSV values.  [default: "]')
@click.option(
    "--no-header",
    is_flag=True,
    help="The CSV has no header line; its columns are the fields of the stream, in order.",
)
@click.option(
    "--timestamp-format",
    multiple=True,
    help="Format of timestamps in CSV and JSON: iso, epoch-s, epoch-ms, epoch-us, or a pattern such as"
    " '%d.%m.%Y %H:%M'. Repeatable.  [default: iso]",
)
@click.option(
    "--decimal-comma",
    is_flag=True,
    help="Numbers in CSV and JSON strings have a decimal comma: 1,5.",
)
@click.option(
    "--null",
    multiple=True,
    help="Text that stands for NULL in CSV and JSON, in addition to the empty one. Repeatable.",
)
@click.option(
    "--empty-as-text", is_flag=True, help="Read an empty value of a string column as '', not NULL."
)
@click.option(
    "--encoding", help="Encoding of CSV and JSON, such as utf-16 or cp1252.  [default: utf-8]"
)
def find(  # noqa: PLR0913, PLR0917  (one for each option)
    path: str,
    files: tuple[str, ...],
    output: str | None,
    json_wanted: bool,
    wide: bool,
    rows_wanted: bool,
    where: tuple[tuple[str, str], ...],
    threads: int | None,
    input_format: str | None,
    output_format: str | None,
    delimiter: str | None,
    quote: str | None,
    no_header: bool,
    timestamp_format: tuple[str, ...],
    decimal_comma: bool,
    null: tuple[str, ...],
    empty_as_text: bool,
    encoding: str | None,
) -> int:
    """Find the windows of SPEC in Parquet, CSV, JSON or Arrow files, in this process.

    FILE is a path, a pattern such as 'data/*.csv', a folder, or - for standard input. Several files
    are read one after the other. Files compressed as .gz, .zst, .bz2 or .lz4 are decompressed.

    A file whose events are in order is read in batches, and may be larger than memory.
    """
    if [path, *files].count(STDIN) > 1:
        raise click.UsageError("- stands for standard input, which can be read once only")
    if output is not None:
        check_output(Path(output), output_format)
        refuse_overwriting(Path(output), [path, *files])
    options = text_options(
        delimiter=delimiter,
        quote=quote,
        no_header=no_header,
        timestamp_format=timestamp_format,
        decimal_comma=decimal_comma,
        null=null,
        empty_as_text=empty_as_text,
        encoding=encoding,
    )
    from wex.engine.event_rows import window_count  # noqa: PLC0415  (loads Arrow)

    spec = read_spec(path)
    request = Request(files, input_format, options, parse_keys(where) or None, rows_wanted, threads)
    with _options_of_the_shell(), reading_progress() as progress:
        windows, events = find_in_files(spec, request, progress)
    counts = f"{counted(window_count(windows), 'window')} in {counted(events, 'event')}"
    if rows_wanted:
        counts = f"{counted(windows.num_rows, 'row')} of {counts}"
    deliver(windows, counts, output, output_format, json_wanted=json_wanted, wide=wide)
    warn_if_unbounded(spec, windows)  # last, as it takes time
    return FINE


@contextmanager
def _options_of_the_shell() -> Iterator[None]:
    """Write the options that an error suggests as they are typed in a shell, not as in Python."""
    try:
        yield
    except DataError as error:
        if error.options:
            error.hint = str(error.hint).replace(
                in_python(error.options), in_shell(error.options), 1
            )
        raise
