"""`wex check`: errors in a spec, a summary of it, and bounds that hold on every stream."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click
from rich.text import Text

from wex.cli import FINDING, FINE, MISTAKE
from wex.cli.terminal import PATH, as_json, out, print_json, read_spec, working
from wex.errors import WexError, clean
from wex.spec import Meaning, meaning

if TYPE_CHECKING:
    from wex.spec.tree import Window


@click.command(short_help="Check a spec, and how much it can hold.")
@click.argument("path", metavar="SPEC", type=PATH)
@click.option("--json", "json_wanted", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--effort",
    type=click.IntRange(min=1),
    metavar="N",
    help="Steps that the analysis may take for each answer (usually 200000).",
)
def check(path: str, json_wanted: bool, effort: int | None) -> int:
    """Check the spec in the file SPEC, or on standard input if SPEC is -.

    Print a summary of the spec and, for each window, how many starts can be open or held at once,
    how many windows can overlap, and how many events after its end a window is reported, on any stream:
    a bound, "unbounded", or "unknown" if the analysis cannot decide, or not with this effort.

    The exit status is 1 if a window can hold an unbounded number of starts, 2 if the spec has errors.
    """
    try:
        spec = read_spec(path)
        resolved = meaning(spec)
    except WexError as error:
        if not json_wanted:
            raise
        print_json({"spec": path, "ok": False, **as_json(error)})
        return MISTAKE
    from wex.analysis.check import check as analyse  # noqa: PLC0415  (loads the solver)
    from wex.cli import verdicts  # noqa: PLC0415

    with working("analysing what the spec can hold on any stream …"):
        report = analyse(spec, effort)
    if json_wanted:
        analysis = verdicts.as_json(report)
        print_json({"spec": path, "ok": True, **summary(resolved), "analysis": analysis})
    else:
        lines = [f"{path}: fine", *describe(resolved), *verdicts.lines(report)]
        text = Text("\n".join(map(clean, lines)))
        for pattern, style in verdicts.STYLES.items():
            text.highlight_regex(pattern, style)
        out().print(text)
    unbounded = any(window.held.verdict == "unbounded" for window in report)
    return FINDING if unbounded else FINE


def summary(resolved: Meaning) -> dict[str, object]:
    """Return the stream, assumptions and windows of a spec, for JSON."""
    stream = resolved.spec.stream
    return {
        "stream": {
            "name": stream.name.text,
            "fields": {name: str(type_) for name, type_ in resolved.fields.items()},
            "partition_by": [name.text for name in stream.partition_by],
            "order_by": [name.text for name in stream.order_by],
            "nulls": stream.nulls.text if stream.nulls else "error",
        },
        "assumes": [
            {"regex": str(assume.regex), "lookback": lookback, "checked": not assume.unchecked}
            for assume, lookback in zip(
                resolved.spec.assumes, resolved.assume_lookbacks, strict=True
            )
        ],
        "rates": [
            {
                "events": rate.events.value,
                "duration": str(rate.duration),
                "checked": not rate.unchecked,
            }
            for rate in resolved.spec.rates
        ],
        "windows": [
            {
                "name": window.name.text,
                "form": "runs" if window.runs else _form(window),
                "pairs": len(window.pairs),
                "runs": str(window.runs) if window.runs else None,
                "lookback": lookback,
                "keep": _keep(window),
                "unpadded": window.unpadded,
                "until": str(window.until) if window.until else None,
                "within": str(window.within) if window.within else None,
                "having": str(window.having) if window.having else None,
                "measures": {name: str(type_) for name, type_ in measures.items()},
            }
            for window, lookback, measures in zip(
                resolved.spec.windows, resolved.lookbacks, resolved.measures, strict=True
            )
        ],
    }


def describe(resolved: Meaning) -> list[str]:
    """Return the stream, assumptions and windows of a spec, as lines of text."""
    stream = resolved.spec.stream
    keys = ", ".join(name.text for name in stream.partition_by)
    order = ", ".join(name.text for name in stream.order_by)
    fields = ", ".join(f"{name} {type_}" for name, type_ in resolved.fields.items())
    split = f"one stream per {keys}" if keys else "one stream"
    ordered = f"ordered by {order}" if order else "in the order of the rows"
    lines = [
        f"  stream {stream.name.text}: {fields}",
        f"    {split}, {ordered}",
    ]
    for assume, lookback in zip(resolved.spec.assumes, resolved.assume_lookbacks, strict=True):
        checked = "not checked" if assume.unchecked else "checked"
        lines.append(f"  assume {assume.regex}: lookback {lookback}, {checked}")
    for rate in resolved.spec.rates:
        written = str(replace(rate, unchecked=False))
        lines.append(f"  {written}: {'not checked' if rate.unchecked else 'checked'}")
    for window, lookback, measures in zip(
        resolved.spec.windows, resolved.lookbacks, resolved.measures, strict=True
    ):
        keep = _keep(window)
        clauses = [str(clause) for clause in (window.within, window.until) if clause]
        clauses += ["unpadded"] * window.unpadded
        clauses += [f"having {window.having}"] if window.having else []
        parts = [_form(window), f"lookback {lookback}", f"keep {keep}", *clauses]
        lines.append(f"  window {window.name.text}: {', '.join(parts)}")
        if measures:
            typed = ", ".join(f"{name} {type_}" for name, type_ in measures.items())
            lines.append(f"    measures {typed}")
    if not resolved.spec.windows:
        lines.append("  no windows")
    return lines


def _keep(window: Window) -> str:
    keep = window.keep.text if window.keep else "all"
    return f"{keep} {window.next_start}" if window.next_start else keep


def _form(window: Window) -> str:
    if window.where:
        return "formula"
    if window.runs:
        return str(window.runs)
    return "regular expressions" if len(window.pairs) == 1 else f"{len(window.pairs)} pairs"
