"""`wex find`: the windows of a spec in files, in this process."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from wex.cli import FINE
from wex.cli.terminal import (
    Setting,
    counted,
    out,
    read_spec,
    reading_progress,
    rows_table,
    warn_if_unbounded,
)
from wex.engine.files.options import in_python, in_shell, text_options
from wex.engine.files.sources import STDIN, refuse_overwriting
from wex.engine.files.writing import check_output, json_lines, write_table
from wex.engine.find import Request, find_in_files
from wex.engine.input.key_filter import keys_in_words
from wex.errors import DataError, clean

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = 20  # rows on a terminal


@click.command()
@click.argument("spec")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("-o", "--output", help="Write the windows to this file instead of showing them.")
@click.option("--json", "json_wanted", is_flag=True, help="Print the windows as lines of JSON.")
@click.option(
    "--where-key",
    "where",
    multiple=True,
    type=Setting(),
    help="Look at one stream: symbol=A; repeatable, one for each key column.",
)
@click.option("--input-format", help="parquet, csv, json (lines) or arrow; else by FILE's name.")
@click.option("--output-format", help="The same for --output.")
@click.option("--delimiter", help="Between the columns of CSV: `;`, `tab`, …  [default: comma]")
@click.option("--quote", help='Around values of CSV that contain it.  [default: "]')
@click.option("--no-header", is_flag=True, help="CSV has the fields of the stream line, in order.")
@click.option(
    "--timestamp-format",
    multiple=True,
    help="As '%d.%m.%Y %H:%M', epoch-s, epoch-ms, epoch-us or iso; repeatable.  [default: iso]",
)
@click.option("--decimal-comma", is_flag=True, help="Numbers in texts are like 1,5.")
@click.option("--null", multiple=True, help="A text that is NULL, beside an empty one; repeatable.")
@click.option(
    "--empty-as-text", is_flag=True, help="An empty field of a string column is not NULL."
)
@click.option("--encoding", help="Of CSV and JSON: utf-16, latin-1, cp1252, …  [default: utf-8]")
def find(  # noqa: PLR0913, PLR0917  (one for each option)
    spec: str,
    files: tuple[str, ...],
    output: str | None,
    json_wanted: bool,
    where: tuple[tuple[str, str], ...],
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
    """Find the windows of SPEC in FILE (Parquet, CSV, JSON lines or Arrow), in this process.

    FILE may be a pattern ('data/*.csv'), a folder, or - for standard input; several are read one
    after the other, .gz, .zst and .bz2 are unpacked. Files whose events are in order may be larger
    than the memory: they are read batch by batch.
    """
    if [spec, *files].count(STDIN) > 1:
        raise click.UsageError("- stands for standard input, which can be read once")
    if output is not None:
        check_output(Path(output), output_format)
        refuse_overwriting(Path(output), [spec, *files])
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
    found = read_spec(spec)
    request = Request(files, input_format, options, keys_in_words(where) or None)
    with _proposals_to_paste(), reading_progress() as progress:
        windows, events = find_in_files(found, request, progress)
    said = f"{counted(windows.num_rows, 'window')} in {counted(events, 'event')}"
    if output is not None:
        write_table(windows, Path(output), output_format)
        click.echo(clean(f"{said}, in {output}"), err=True)
    elif json_wanted:
        for line in json_lines(windows):
            click.echo(line)
    else:
        shown = windows.num_rows if not sys.stdout.isatty() else SHOWN
        out(wide=True).print(rows_table(windows.slice(0, shown)))
        more = f", the first {shown} shown" if windows.num_rows > shown else ""
        click.echo(clean(f"{said}{more}"), err=True)
    warn_if_unbounded(found)  # last: nobody waits for it
    return FINE


@contextmanager
def _proposals_to_paste() -> Iterator[None]:
    """Tell options that an error proposes as they are typed here, not as Python has them."""
    try:
        yield
    except DataError as error:
        if error.options:
            error.hint = str(error.hint).replace(
                in_python(error.options), in_shell(error.options), 1
            )
        raise
