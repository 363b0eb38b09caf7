"""`wex plot`: draw the events of files with their windows."""

from __future__ import annotations

from pathlib import Path

import click

from wex.cli import FINE
from wex.cli.inputs import Reading, check_inputs, input_options, options_of_the_shell
from wex.cli.terminal import PATH, read_spec, reading_progress
from wex.engine.files.sources import refuse_overwriting
from wex.engine.find import events_in_files
from wex.errors import clean
from wex.plot.files import check_suffix, save


@click.command(short_help="Draw streams with their windows.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=PATH)
@click.option(
    "-o",
    "--output",
    type=PATH,
    required=True,
    help="The picture: a file that ends in .svg, .png, .html or .json.",
)
@click.option(
    "--field",
    help="The field to draw.  [default: the first number, or else text, that predicates read]",
)
@click.option("--width", type=int, default=800, show_default=True, help="Width in pixels.")
@input_options
def plot(
    path: str, files: tuple[str, ...], output: str, field: str | None, width: int, reading: Reading
) -> int:
    """Draw the events of files, with the windows of SPEC over them and their overlap below.

    FILE is read as `wex find` reads it. Without --where-key, the streams with most windows are drawn,
    at most four. A .json file has the chart as Vega-Lite.
    """
    check_inputs(path, *files)
    check_suffix(output)
    refuse_overwriting(Path(output), [path, *files])
    from wex.plot import require_pictures  # noqa: PLC0415

    require_pictures("altair", "vl_convert")
    from wex.plot.chart import plot as chart_of  # noqa: PLC0415  (loads the engine)

    spec = read_spec(path)
    with options_of_the_shell(), reading_progress() as progress:
        events = events_in_files(spec, reading.request(files), progress)
    chart = chart_of(spec, events, field=field, width=width)
    save(chart, output)
    for line in chart_counts(chart.to_dict()):
        click.echo(clean(line), err=True)
    click.echo(clean(f"in {output}"), err=True)
    return FINE


def chart_counts(specification: dict[str, object]) -> list[str]:
    """Return what the titles of a chart say of its streams: how much there is, how much is drawn."""
    views = specification["vconcat"]
    assert isinstance(views, list)
    titles = [view["title"] for view in views if "subtitle" in view.get("title", {})]
    return [f"{title['text']}: {title['subtitle']}" for title in titles]
