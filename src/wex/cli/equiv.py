"""`wex equiv`: whether two specs have the same windows, and if not, a stream that tells them apart."""

from __future__ import annotations

import click

from wex.cli import FINDING, FINE
from wex.cli.terminal import out, print_json, read_spec
from wex.cli.verdicts import timeline
from wex.errors import clean


@click.command()
@click.argument("a")
@click.argument("b")
@click.option("--json", "json_wanted", is_flag=True, help="Print the result for machines.")
def equiv(a: str, b: str, json_wanted: bool) -> int:
    """Tell whether the specs A and B have the same windows on every stream."""
    from wex.analysis.compare import equivalent  # noqa: PLC0415  (loads the solver)

    found = equivalent(read_spec(a), read_spec(b))
    if json_wanted:
        window = None
        if found.window is not None:
            name, start, end = found.window
            window = {"window_name": name, "start_index": start, "end_index": end}
        stream = None if found.witness is None else found.witness.to_pydict()
        shown = None if stream is None else {k: list(map(_plain, v)) for k, v in stream.items()}
        print_json(
            {"holds": found.holds, "reason": found.reason, "window": window, "witness": shown}
        )
    else:
        verdict = {True: "equivalent", False: "not equivalent", None: "unknown"}[found.holds]
        lines = [f"{verdict}: {found.reason}"]
        if found.witness is not None and found.window is not None:
            names = found.witness.column_names
            lines += ["", *timeline(found.witness, names, [found.window[1:]])]
        out().print("\n".join(map(clean, lines)), markup=False)
    return FINE if found.holds else FINDING


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | float | str | None) else str(value)
