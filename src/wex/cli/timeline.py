"""A small stream as a timeline: one column for each event, one line for each start or window."""

from __future__ import annotations

from datetime import date, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

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
