"""Reports of the static analysis, as lines of text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.answers import Kind
from wex.draw.timeline import held_timeline
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer, Finding
    from wex.analysis.check import Report, WindowReport
    from wex.spec import Meaning


# Colours on a terminal. Words say the same: nothing is told by colour alone.
STYLES = {
    r"(?m): fine$": "green",
    r": BOUNDED\b": "bold green",
    r": UNBOUNDED\b": "bold red",
    r": UNKNOWN\b": "bold yellow",
    r"(?m)with `[^`]*` it holds at most [^;\n]*$": "green",
    r"(?m)^ +note:": "yellow",
    r"[├┤│─╌▶]+": "cyan",
}


def lines(report: Report) -> Iterator[str]:
    """Yield the lines of a report."""
    meaning = meaning_of(report.spec)
    for index, window in enumerate(report):
        yield ""
        yield from _window(meaning, index, window)
    for finding in report.findings:
        yield f"  note: {finding}"
    if report.size_in_words is not None:
        yield f"  {report.size_in_words}"


def _window(meaning: Meaning, index: int, window: WindowReport) -> Iterator[str]:
    remedies = [str(finding) for finding in window.findings if finding.kind is Kind.REMEDY]
    verdict = f"{window.held.verdict.upper()}, {window.sentence}"
    yield f"  {window.name}: {'; '.join((verdict, *remedies))}"
    drawing = held_timeline(meaning, index, window)
    if drawing is not None:
        caption, timeline = drawing
        yield f"    {caption}"
        yield from (f"      {line}".rstrip() for line in timeline.lines())
    for name, answer in window.answers.items():
        yield f"    {name:<8} {answer!s:<20} {answer.reason}"
    if window.labels_in_words is not None:
        told, why = window.labels_in_words
        yield f"    labels   {told:<20} {why}"
    yield from (f"    {sentence}" for sentence in window.keeps_in_words)
    for finding in window.findings:
        if finding.kind is not Kind.REMEDY:
            yield f"    note: {finding}"
    unit = "region" if window.regions == 1 else "regions"
    yield f"    ({window.regions} {unit}, by {window.way})"


def _labels(window: WindowReport) -> dict[str, object]:
    """Return whether labels are unambiguous, for JSON; nothing for a window without labels."""
    labels = window.labels
    if labels is None:
        return {}
    return {"labels": {"unambiguous": labels.holds, "reason": labels.reason}}


def as_json(report: Report) -> dict[str, object]:
    """Return a report as a value for JSON."""
    return {
        "windows": {
            window.name: {
                **{name: _answer(answer) for name, answer in window.answers.items()},
                **_labels(window),
                "keeps": [{"aggregate": name, "events": most} for name, most in window.keeps],
                "findings": list(map(_finding, window.findings)),
                "regions": window.regions,
                "way": window.way,
                "seconds": round(window.seconds, 3),
            }
            for window in report
        },
        "findings": list(map(_finding, report.findings)),
        "state_bytes": report.state_bytes,
        "event_bytes": report.event_bytes,
        "seconds": round(report.seconds, 3),
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {"kind": finding.kind, "text": finding.text}


def _answer(answer: Answer) -> dict[str, object]:
    return {
        "verdict": answer.verdict,
        "bound": answer.bound,
        "exact": answer.exact,
        "growth": answer.growth,
        "reason": answer.reason,
    }
