"""`wex equiv`: compare two specs; if their windows differ, show a stream on which they do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wex.cli import FINDING, FINE
from wex.cli.terminal import PATH, out, print_json, read_spec, working
from wex.errors import clean

if TYPE_CHECKING:
    from wex.analysis.compare import SpecComparison


@click.command(short_help="Compare the windows of two specs.")
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@click.option("--json", "json_wanted", is_flag=True, help="Print the result as JSON.")
def equiv(a: str, b: str, json_wanted: bool) -> int:
    """Tell whether the specs A and B have the same windows on every stream.

    If not, print a stream on which they differ. The exit status is 0 if they are equivalent, else 1.
    """
    from wex.analysis.compare import equivalent  # noqa: PLC0415  (loads the solver)

    first, second = read_spec(a), read_spec(b)
    with working("comparing on all streams …"):
        comparison = equivalent(first, second)
    if json_wanted:
        print_json(_as_json(comparison))
    else:
        out().print("\n".join(map(clean, _lines(comparison))), markup=False)
    return FINE if comparison.holds else FINDING


def _lines(comparison: SpecComparison) -> list[str]:
    from wex.draw.timeline import timeline_of  # noqa: PLC0415

    verdict = {True: "equivalent", False: "not equivalent", None: "unknown"}[comparison.holds]
    lines = [f"{verdict}: {comparison.reason}"]
    if comparison.witness is not None and comparison.window is not None:
        columns = comparison.witness.column_names
        drawing = timeline_of(comparison.witness, columns, [comparison.window[1:]])
        lines += ["", *drawing.lines()]
    return lines


def _as_json(comparison: SpecComparison) -> dict[str, object]:
    window = witness = None
    if comparison.window is not None:
        names = ("window_name", "start_index", "end_index")
        window = dict(zip(names, comparison.window, strict=True))
    if comparison.witness is not None:
        columns = comparison.witness.to_pydict()
        witness = {name: list(map(_json_value, values)) for name, values in columns.items()}
    return {
        "holds": comparison.holds,
        "reason": comparison.reason,
        "window": window,
        "witness": witness,
    }


def _json_value(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | None) else str(value)
