"""Drawings of a stream: the values of its events in columns, and spans of events below them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING

from wex.analysis.describe import example_stream, fields_read
from wex.draw import svg
from wex.draw.svg import ADVANCE, LINE, coordinates, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from xml.etree.ElementTree import Element

    import pyarrow as pa

    from wex.analysis.check import WindowReport
    from wex.spec import Meaning

Span = tuple[int, int | None]  # the first and the last event; None: it is still open

MOST_EVENTS = 24
MOST_CHARACTERS = 24  # of a value or a name, in a picture
MARGIN = 14.0
BETWEEN = 2 * ADVANCE  # columns
ROW = LINE + 3.0
LANE = 16.0  # the height of a span

RULES = """
.wex-drawing .wex-rule { stroke: var(--wex-rule); stroke-width: 1; }
.wex-drawing .wex-span { stroke: var(--wex-blue); stroke-width: 4; fill: none; }
.wex-drawing .wex-span-end { fill: var(--wex-blue); }
.wex-drawing .wex-open { stroke: var(--wex-orange); stroke-width: 4; fill: none; }
.wex-drawing .wex-ahead { stroke: var(--wex-orange); stroke-width: 4; stroke-dasharray: 4 3; }
.wex-drawing .wex-open-end { fill: var(--wex-orange); }
"""


@dataclass(frozen=True)
class Timeline:
    """Events as columns of texts, by the names of their fields, and spans of them.

    `more` tells that the stream goes on behind these events.
    """

    columns: tuple[tuple[str, tuple[str, ...]], ...]
    spans: tuple[Span, ...]
    more: bool = False

    @property
    def events(self) -> int:
        """Return the number of events."""
        return len(self.columns[0][1])

    def lines(self) -> list[str]:
        """Return the lines of a drawing of text.

        >>> for line in Timeline((("event", ("0", "1")), ("x", ("1", "30"))), ((0, 1), (1, None))).lines():
        ...     print(line)
        event  0  1
        x      1  30
               ├──┤
                  ├╌▶
        """
        widths = [max(map(len, cells)) for cells in self._cells()]
        head = max(len(name) for name, _ in self.columns)
        lines = [
            f"{name:<{head}}  "
            + "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
            for name, cells in self.columns
        ]
        lines = [line.rstrip() + "  …" * self.more for line in lines]
        lefts = [sum(widths[:column]) + 2 * column for column in range(self.events)]
        for start, end in self.spans:
            width = lefts[self.events - 1 if end is None else end] - lefts[start]
            lines.append(" " * (head + 2 + lefts[start]) + _bar(width, open_end=end is None))
        return lines

    def _cells(self) -> Iterator[tuple[str, ...]]:
        """Yield the texts of each event."""
        yield from zip(*(cells for _, cells in self.columns), strict=True)

    def svg(self, label: str = "a stream of events") -> str:
        """Return the drawing as SVG."""
        return svg.markup(_picture(self, label))


def timeline_of(stream: pa.Table, names: Sequence[str], spans: Sequence[Span]) -> Timeline:
    """Return the drawing of the first events of a stream, with some of its fields.

    A span whose end is None, or is not drawn any more, is open at the last event.
    """
    count = min(stream.num_rows, MOST_EVENTS)
    columns = [("event", tuple(map(str, range(count))))]
    for name in names:
        values = stream.column(name).slice(0, count).to_pylist()
        columns.append((name, tuple(map(value_text, values))))
    drawn = tuple(
        (start, None if end is None or end >= count else end)
        for start, end in spans
        if start < count
    )
    return Timeline(tuple(columns), drawn, stream.num_rows > count)


def held_timeline(
    meaning: Meaning, index: int, window: WindowReport
) -> tuple[str, Timeline] | None:
    """Return a stream on which a window holds starts, with a sentence about it; None: none is known."""
    held = window.held
    example = example_stream(meaning, index, held)
    if example is None:
        return None
    stream, starts = example
    if held.verdict == "unbounded":
        caption = f"for example, {len(starts)} starts held at the end of this stream:"
    elif held.exact:
        caption = f"reached by this stream, with {len(starts)} held at its end:"
    else:
        caption = f"this stream has {len(starts)} held at its end:"
    spans = [(start, None) for start in starts]
    return caption, timeline_of(stream, fields_read(meaning, index), spans)


def value_text(value: object) -> str:
    """Return a value of a stream as a short text.

    >>> value_text(0.1 + 0.2), value_text(datetime(2026, 1, 31, 10, 0, 1, 500_000)), value_text(None)
    ('0.3', '10:00:01.5', 'None')
    """
    if isinstance(value, datetime):
        return value.strftime("%H:%M:%S.%f").rstrip("0").rstrip(".")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)


def _bar(width: int, *, open_end: bool) -> str:
    """Return the bar of a span whose last event is drawn so many characters after its first."""
    if width == 0:
        return "├╌▶" if open_end else "│"
    return "├" + "─" * (width - 1) + ("─╌▶" if open_end else "┤")


# --- As SVG


def _picture(timeline: Timeline, label: str) -> Element:
    rows = [
        (shortened(name, MOST_CHARACTERS), [shortened(cell, MOST_CHARACTERS) for cell in cells])
        for name, cells in timeline.columns
    ]
    head = max(width_of(name) for name, _ in rows) + BETWEEN
    widths = [
        max(map(width_of, cells)) for cells in zip(*(cells for _, cells in rows), strict=True)
    ]
    middles, right = [], MARGIN + head
    for width in widths:
        middles.append(right + width / 2)
        right += width + BETWEEN
    top = MARGIN + ROW * len(rows) + 6
    height = top + LANE * len(timeline.spans) + MARGIN
    tail = 2.5 * BETWEEN  # the room for what is still open
    root = svg.document(right + tail, height, label, RULES)
    for middle in middles:
        svg.element(root, "line", "wex-rule", x1=middle, y1=MARGIN + ROW, x2=middle, y2=height - 8)
    for number, (name, cells) in enumerate(rows):
        _row(root, MARGIN + number * ROW, name, zip(middles, cells, strict=True), first=not number)
        if timeline.more:
            svg.text(root, right, MARGIN + number * ROW + 12, "…", "wex-small")
    for number, (start, end) in enumerate(timeline.spans):
        y = top + LANE * (number + 0.5)
        group = svg.element(root, "g")
        until = f"to {end}" if end is not None else "still open"
        svg.tooltip(group, f"from event {start}, {until}")
        last = middles[-1 if end is None else end]
        _span(group, y, middles[start], last, None if end is not None else right + tail - MARGIN)
    return root


def _row(
    root: Element, y: float, name: str, cells: Iterator[tuple[float, str]], *, first: bool
) -> None:
    """Add a row of texts; a background keeps the rules from crossing them."""
    cls = "wex-small" if first else ""
    svg.text(root, MARGIN, y + 12, name, "wex-small")
    for middle, cell in cells:
        if not first:
            width = width_of(cell) + 4
            svg.element(
                root, "rect", "wex-paper", x=middle - width / 2, y=y, width=width, height=LINE
            )
        svg.text(root, middle, y + 12, cell, cls, anchor="middle")


def _span(group: Element, y: float, first: float, last: float, ahead: float | None) -> None:
    """Add a span: with its end, or with an arrow to where it goes on."""
    kind = "wex-span" if ahead is None else "wex-open"
    svg.element(group, "circle", f"{kind}-end", cx=first, cy=y, r=5)
    if last > first:
        svg.path(group, f"M {coordinates(first, y)} H {coordinates(last)}", kind)
    if ahead is None:
        svg.element(group, "rect", "wex-span-end", x=last - 3, y=y - 6, width=6, height=12)
    else:
        svg.path(group, f"M {coordinates(last, y)} H {coordinates(ahead - 8)}", "wex-ahead")
        tip = coordinates(ahead, y, ahead - 9, y - 5, ahead - 9, y + 5)
        svg.element(group, "polygon", "wex-open-end", points=tip)
