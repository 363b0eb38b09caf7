"""`wex check`: whether a spec is right, what it says, and what it can do on every stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wex.cli import FINDING, FINE, MISTAKE
from wex.cli.terminal import as_json, out, print_json, read_spec
from wex.errors import WexError, clean
from wex.spec import Meaning, meaning

if TYPE_CHECKING:
    from wex.spec.tree import Window


@click.command()
@click.argument("spec")
@click.option("--json", "json_wanted", is_flag=True, help="Print the result for machines.")
def check(spec: str, json_wanted: bool) -> int:
    """Check SPEC (a file, or - for standard input), and whether what it holds is bounded.

    The status is 1 if the starts that a plan holds can grow without bound.
    """
    try:
        read = read_spec(spec)
        found = meaning(read)
    except WexError as error:
        if not json_wanted:
            raise
        print_json({"spec": spec, "ok": False, **as_json(error)})
        return MISTAKE
    from wex.analysis.check import check as analysed  # noqa: PLC0415  (loads the solver)
    from wex.cli import verdicts  # noqa: PLC0415

    report = analysed(read)
    if json_wanted:
        said = verdicts.as_json(report)
        print_json({"spec": spec, "ok": True, **summary(found), "analysis": said})
    else:
        lines = [f"{spec}: fine", *describe(found), *verdicts.lines(report)]
        out().print("\n".join(map(clean, lines)), markup=False)
    unbounded = any(window.held.verdict == "unbounded" for window in report)
    return FINDING if unbounded else FINE


def summary(found: Meaning) -> dict[str, object]:
    """Return what a spec says, for machines."""
    stream = found.spec.stream
    return {
        "stream": {
            "name": stream.name.text,
            "fields": {name: str(type_) for name, type_ in found.fields.items()},
            "partition_by": [name.text for name in stream.partition_by],
            "order_by": [name.text for name in stream.order_by],
            "nulls": stream.nulls.text if stream.nulls else "error",
        },
        "assumes": [
            {"regex": str(assume.regex), "lookback": lookback, "checked": not assume.unchecked}
            for assume, lookback in zip(found.spec.assumes, found.assume_lookbacks, strict=True)
        ],
        "windows": [
            {
                "name": window.name.text,
                "form": _form(window),
                "pairs": len(window.pairs),
                "lookback": lookback,
                "keep": window.keep.text if window.keep else "all",
                "pad": window.pad,
                "measures": {name: str(type_) for name, type_ in measures.items()},
            }
            for window, lookback, measures in zip(
                found.spec.windows, found.lookbacks, found.measures, strict=True
            )
        ],
    }


def describe(found: Meaning) -> list[str]:
    """Return what a spec says, line by line."""
    stream = found.spec.stream
    keys = ", ".join(name.text for name in stream.partition_by)
    order = ", ".join(name.text for name in stream.order_by)
    fields = ", ".join(f"{name} {type_}" for name, type_ in found.fields.items())
    split = f"one stream per {keys}" if keys else "one stream"
    ordered = f"ordered by {order}" if order else "in the order of the rows"
    lines = [
        f"  stream {stream.name.text}: {fields}",
        f"    {split}, {ordered}",
    ]
    for assume, lookback in zip(found.spec.assumes, found.assume_lookbacks, strict=True):
        checked = "not checked" if assume.unchecked else "checked"
        lines.append(f"  assume {assume.regex}: lookback {lookback}, {checked}")
    for window, lookback, measures in zip(
        found.spec.windows, found.lookbacks, found.measures, strict=True
    ):
        keep = window.keep.text if window.keep else "all"
        clauses = [str(clause) for clause in (window.within, window.until) if clause]
        parts = [_form(window), f"lookback {lookback}", f"keep {keep}", *clauses]
        lines.append(f"  window {window.name.text}: {', '.join(parts)}")
        if measures:
            typed = ", ".join(f"{name} {type_}" for name, type_ in measures.items())
            lines.append(f"    measures {typed}")
    if not found.spec.windows:
        lines.append("  no windows")
    return lines


def _form(window: Window) -> str:
    if window.where:
        return "formula"
    return "regular expressions" if len(window.pairs) == 1 else f"{len(window.pairs)} pairs"
