"""`wex report`: a page about a spec and its windows in some files."""

from __future__ import annotations

from pathlib import Path

import click

from wex.cli import FINE
from wex.cli.inputs import Reading, check_inputs, input_options, options_of_the_shell
from wex.cli.terminal import PATH, read_spec, reading_progress
from wex.engine.files.reading import read_table
from wex.engine.files.sources import refuse_overwriting
from wex.engine.find import events_in_files
from wex.engine.input.key_filter import KeyFilter
from wex.errors import clean, counted
from wex.spec import meaning


@click.command(short_help="Write a page about a spec and its windows.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.argument("files", metavar="[FILE...]", nargs=-1, type=PATH)
@click.option(
    "--input",
    "inputs",
    metavar="FILE",
    multiple=True,
    type=PATH,
    help="The events: the same as FILE. Repeatable.",
)
@click.option(
    "-o", "--output", type=PATH, required=True, help="The page: a file that ends in .html."
)
@click.option(
    "--windows",
    "windows_found",
    metavar="FILE",
    multiple=True,
    help="Windows that were found before, such as the output of `wex run`, instead of finding them."
    " Repeatable.",
)
@input_options
def report(
    path: str,
    files: tuple[str, ...],
    inputs: tuple[str, ...],
    output: str,
    windows_found: tuple[str, ...],
    reading: Reading,
) -> int:
    """Write a page about SPEC and its windows in files: one file of HTML that needs no network.

    FILE is a path, a pattern or a folder, as for `wex find`; it may also be given by --input.

    It has the streams with their windows, a table of windows, why each of them opened and closed, the
    distribution of lengths, gaps and measures, the automata, and what is proved of the spec.
    """
    from wex.plot.streams import window_fields  # noqa: PLC0415  (loads the engine)
    from wex.report.page import check_suffix  # noqa: PLC0415  (loads the engine)
    from wex.report.page import report as write  # noqa: PLC0415

    files += inputs
    if not files:
        raise click.UsageError("FILE is missing: the events, as for `wex find`")
    check_inputs(path, *files, *windows_found)
    check_suffix(output)
    refuse_overwriting(Path(output), [path, *files, *windows_found])
    spec = read_spec(path)
    with options_of_the_shell(), reading_progress() as progress:
        events = events_in_files(spec, reading.request(files), progress)
        windows = None
        if windows_found:
            windows = read_table(windows_found, window_fields(spec))
            windows = KeyFilter(spec, meaning(spec).fields, reading.where_key).rows(windows)
    seen = write(spec, events, output, windows=windows)
    size = Path(output).stat().st_size / 1e6
    counts = f"{counted(seen.windows.num_rows, 'window')} in {counted(seen.batch.rows, 'event')}"
    click.echo(clean(f"{counts}, in {output} ({size:.1f} MB)"), err=True)
    return FINE
