"""Reports of the static analysis, as lines of text and as JSON."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from wex.analysis.answers import Kind
from wex.analysis.describe import fields_read
from wex.analysis.witness import events_of, held_starts
from wex.errors import WexError
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from wex.analysis.answers import Answer, Finding
    from wex.analysis.check import Report, WindowReport
    from wex.spec import Meaning


DRAWN_UNBOUNDED = 3  # starts in the drawing of a window without a bound
DRAWN_MOST = 8  # starts in any other drawing
DRAWN_EVENTS = 24
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
    size = report.state_bytes
    if size is not None and report.windows:
        more = report.event_bytes
        values = f", and {more:,} per event of an open window for the values kept" if more else ""
        yield f"  a stream takes about {size:,} bytes of state at most{values}"


def _window(meaning: Meaning, index: int, window: WindowReport) -> Iterator[str]:
    held = window.held
    bound = {
        "bounded": f"{held} starts held at once"
        if held.bound != 1
        else f"{held} start held at once",
        "unbounded": "the starts held can grow without bound",
        "unknown": "whether the starts held are bounded is not known",
    }[held.verdict]
    remedies = [str(finding) for finding in window.findings if finding.kind is Kind.REMEDY]
    yield f"  {window.name}: {'; '.join((f'{held.verdict.upper()}, {bound}', *remedies))}"
    yield from (f"    {line}".rstrip() for line in _drawing(meaning, index, window))
    for name, answer in window.answers.items():
        yield f"    {name:<8} {answer!s:<20} {answer.reason}"
    if window.labels is not None:
        told = {True: "unambiguous", False: "ambiguous", None: "unknown"}[window.labels.holds]
        why = "the preferred way decides" if told == "ambiguous" else window.labels.reason
        yield f"    labels   {told:<20} {why}"
    for aggregate, most in window.keeps:
        events = "each event" if most is None else f"at most {most:,} events"
        yield f"    {aggregate} keeps a value of {events} since the oldest start that is held"
    for finding in window.findings:
        if finding.kind is not Kind.REMEDY:
            yield f"    note: {finding}"
    unit = "region" if window.regions == 1 else "regions"
    yield f"    ({window.regions} {unit}, by {window.way})"


def _drawing(meaning: Meaning, index: int, window: WindowReport) -> Iterator[str]:
    """Yield the lines of a drawing of a stream on which the window holds starts."""
    held = window.held
    wanted = DRAWN_UNBOUNDED if held.bound is None else min(held.bound, DRAWN_MOST)
    if not wanted or held.verdict == "unknown":
        return
    try:
        stream = held.witness(wanted)
    except WexError:
        return
    starts = held_starts(meaning, index, events_of(meaning, stream))
    if held.verdict == "unbounded":
        yield f"for example, {len(starts)} starts held at the end of this stream:"
    else:
        yield f"reached by this stream, with {len(starts)} held at its end:"
    yield from (
        f"  {line}"
        for line in timeline(stream, fields_read(meaning, index), [(b, None) for b in starts])
    )


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


def timeline(
    stream: pa.Table, names: Sequence[str], spans: Sequence[tuple[int, int | None]]
) -> list[str]:
    """Return the lines of a drawing: the fields of each event, and below them spans of events.

    A span whose end is None is still open at the last event.

    >>> import pyarrow as pa
    >>> for line in timeline(pa.table({"x": [1, 2, 30]}), ["x"], [(0, 1), (1, None)]):
    ...     print(line)
    event  0  1  2
    x      1  2  30
           ├──┤
              ├───╌▶
    """
    count = min(stream.num_rows, DRAWN_EVENTS)
    rows = {"event": [str(position) for position in range(count)]}
    for name in names:
        values = stream.column(name).slice(0, count).to_pylist()
        rows[name] = [_text(value) for value in values]
    widths = [max(len(cells[column]) for cells in rows.values()) for column in range(count)]
    head = max(map(len, rows))
    more = "  …" if stream.num_rows > count else ""
    lines = [
        f"{name:<{head}}  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in rows.items()
    ]
    lines = [line.rstrip() + more for line in lines]
    lefts = [sum(widths[:column]) + 2 * column for column in range(count)]
    for start, end in spans:
        if start < count:
            open_end = end is None or end >= count
            width = lefts[count - 1 if end is None or open_end else end] - lefts[start]
            lines.append(" " * (head + 2 + lefts[start]) + _span(width, open_end=open_end))
    return lines


def _span(width: int, *, open_end: bool) -> str:
    """Return the bar of a span whose last event is drawn so many characters after its first."""
    if width == 0:
        return "├╌▶" if open_end else "│"
    return "├" + "─" * (width - 1) + ("─╌▶" if open_end else "┤")


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
