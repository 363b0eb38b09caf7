"""What the static analysis says, in lines for a person and in JSON for machines."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

from wex.analysis.describe import fields_read
from wex.analysis.witness import events_of, held_starts
from wex.errors import WexError
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

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


MOST = 24  # events that are drawn


def timeline(
    stream: pa.Table, names: Sequence[str], spans: Sequence[tuple[int, int | None]]
) -> list[str]:
    """Return the lines of a drawing: the fields of each event, and spans of events below them.

    A span without an end goes on behind the last event.

    >>> import pyarrow as pa
    >>> for line in timeline(pa.table({"x": [1, 2, 30]}), ["x"], [(0, 1), (1, None)]):
    ...     print(line)
    event  0  1  2
    x      1  2  30
           ├──┤
              ├───╌▶
    """
    count = min(stream.num_rows, MOST)
    rows = {"event": [str(at) for at in range(count)]}
    for name in names:
        rows[name] = [_shown(value) for value in stream.column(name).slice(0, count).to_pylist()]
    widths = [max(len(cells[at]) for cells in rows.values()) for at in range(count)]
    head = max(map(len, rows))
    more = "  …" if stream.num_rows > count else ""
    lines = [
        f"{name:<{head}}  "
        + "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in rows.items()
    ]
    lines = [line.rstrip() + more for line in lines]
    begins = [sum(widths[:at]) + 2 * at for at in range(count + 1)]
    for begin, end in spans:
        if begin >= count:
            continue
        last = count - 1 if end is None or end >= count else end
        width = begins[last] - begins[begin]
        bar = "├" + "─" * max(0, width - 1)
        open_ended = end is None or end >= count
        bar += ("─╌▶" if width else "╌▶") if open_ended else ("┤" if width else "")
        lines.append(" " * (head + 2 + begins[begin]) + (bar if width or open_ended else "│"))
    return lines


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)
