"""What the static analysis says, in lines for a person and in JSON for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.describe import fields_read
from wex.analysis.replay import held_starts
from wex.analysis.witness import events_of
from wex.cli.timeline import timeline
from wex.errors import WexError
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer
    from wex.analysis.check import Report, WindowReport
    from wex.spec import Meaning

DRAWN = 3  # starts in a drawing of what has no bound
MOST_DRAWN = 8


def lines(report: Report) -> Iterator[str]:
    """Yield what a report says, line by line."""
    meaning = meaning_of(report.spec)
    for at, window in enumerate(report):
        yield ""
        yield from _window(meaning, at, window)
    for finding in report.findings:
        yield f"  note: {finding}"
    size = report.state_bytes
    if size is not None and report.windows:
        yield f"  a stream takes about {size:,} bytes of state at most"


def _window(meaning: Meaning, at: int, window: WindowReport) -> Iterator[str]:
    held = window.held
    says = {
        "bounded": f"{held} starts held at once"
        if held.bound != 1
        else f"{held} start held at once",
        "unbounded": "the starts held can grow without bound",
        "unknown": "whether the starts held are bounded is not known",
    }[held.verdict]
    yield f"  {window.name}: {held.verdict.upper()}, {says}"
    for name, answer in window.answers.items():
        yield f"    {name:<8} {answer!s:<20} {answer.reason}"
    for finding in window.findings:
        yield f"    note: {finding}"
    yield from (f"    {line}".rstrip() for line in _drawing(meaning, at, window))
    unit = "region" if window.regions == 1 else "regions"
    yield f"    ({window.regions} {unit}, by {window.way})"


def _drawing(meaning: Meaning, at: int, window: WindowReport) -> Iterator[str]:
    """Yield a stream on which starts are held."""
    held = window.held
    wanted = DRAWN if held.bound is None else min(held.bound, MOST_DRAWN)
    if not wanted or held.verdict == "unknown":
        return
    try:
        stream = held.witness(wanted)
    except WexError:
        return
    starts = held_starts(meaning, at, events_of(meaning, stream))
    if held.verdict == "unbounded":
        yield f"for example, {len(starts)} starts held at the end of this stream:"
    else:
        yield f"reached by this stream, with {len(starts)} held at its end:"
    yield from (
        f"  {line}"
        for line in timeline(stream, fields_read(meaning, at), [(b, None) for b in starts])
    )


def as_json(report: Report) -> dict[str, object]:
    """Return a report for machines."""
    return {
        "windows": {
            window.name: {
                **{name: _answer(answer) for name, answer in window.answers.items()},
                "findings": list(window.findings),
                "regions": window.regions,
                "way": window.way,
                "seconds": round(window.seconds, 3),
            }
            for window in report
        },
        "findings": list(report.findings),
        "state_bytes": report.state_bytes,
        "seconds": round(report.seconds, 3),
    }


def _answer(answer: Answer) -> dict[str, object]:
    return {
        "verdict": answer.verdict,
        "bound": answer.bound,
        "exact": answer.exact,
        "growth": answer.growth,
        "reason": answer.reason,
    }
