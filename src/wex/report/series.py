"""What the charts of a report draw: for each stream the values of its fields and the depth of windows.

A stream is thinned by columns of pixels, as in a chart, and once more by columns of equally many
events, so that parts with many events in a short time can be zoomed into.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wex.plot import thinning
from wex.plot.panels import Panel
from wex.report.columns import Columns, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Floats, Ints
    from wex.plot.streams import StreamWindows

Json = dict[str, Any]

MOST_STREAMS = 200
MOST_FIELDS = 6
LEAST_COLUMNS, MOST_COLUMNS = 40, 4000


def series_of(seen: StreamWindows, points: int, run_rows: Ints) -> Json:
    """Return the series of the streams with most windows, of about so many points in all.

    `run_rows` are rows that are drawn in any case.
    """
    streams = seen.busiest(MOST_STREAMS)
    fields: list[str | None] = [*seen.plain_fields()[:MOST_FIELDS]] or [None]
    lines = len(streams) * (len(fields) + len(seen.names))
    columns = min(MOST_COLUMNS, max(LEAST_COLUMNS, points // (thinning.PER_COLUMN * lines)))
    series = Series(seen, fields, columns)
    described = [
        {"key": list(key), **series.add(int(stream), run_rows)}
        for stream, key in zip(streams, seen.key_texts(streams), strict=True)
    ]
    return {
        **series.packed(),
        "fields": [
            {
                "name": name or seen.axis,
                "kind": "ticks" if name is None else "line" if seen.is_number(name) else "strip",
                "type": "" if name is None else seen.fields[name].name,
            }
            for name in fields
        ],
        "streams": described,
    }


class Series:
    """The series of streams one behind the other: lines, strips and depths."""

    def __init__(self, seen: StreamWindows, fields: list[str | None], columns: int) -> None:
        """Without a field, only the places of events are drawn: its name is None."""
        self._seen, self._fields, self._columns = seen, fields, columns
        names = ("x", "y", "strip_x", "strip_end", "strip_code", "depth_x", "depth")
        self._arrays: dict[str, list[NDArray[Any]]] = {name: [] for name in names}

    def packed(self) -> Json:
        """Return the series of all streams that were added."""
        columns = Columns()
        for name, arrays in self._arrays.items():
            columns.put(name, np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64))
        return columns.packed()

    def _append(self, **arrays: NDArray[Any]) -> None:
        for name, array in arrays.items():
            self._arrays[name].append(array)

    def add(self, stream: int, run_rows: Ints) -> Json:
        """Add a stream; return how long each of its series is, and the texts of its strips."""
        panel = Panel(self._seen, stream, None, self._columns)
        low, high = np.searchsorted(run_rows, (panel.first, panel.end))
        kept = run_rows[low:high] - panel.first
        sizes, texts = zip(*(self._field(panel, name, kept) for name in self._fields), strict=True)
        return {
            "stream": stream,
            "windows": panel.window_count,
            "events": panel.end - panel.first,
            "first": float(panel.places[0]),
            "last": float(panel.places[-1]),
            "sizes": sizes,
            "texts": texts,
            "depths": [self._depth(panel, number) for number in range(len(self._seen.names))],
        }

    def _field(self, panel: Panel, name: str | None, kept: Ints) -> tuple[int, list[str] | None]:
        if name is None:
            return self._line(panel, np.zeros(panel.end - panel.first), kept), None
        if self._seen.is_number(name):
            return self._line(panel, self._seen.numbers(name, panel.rows), kept), None
        return self._strip(panel, name)

    def _line(self, panel: Panel, values: Floats, kept: Ints) -> int:
        count = len(values)
        rows = np.arange(count)
        if count > panel.most:
            drawable = np.where(np.isinf(values), np.nan, values)
            evenly = rows * self._columns // count
            by_place = thinning.extremes(drawable, panel.columns)
            by_event = thinning.extremes(drawable, evenly)
            rows = np.unique(np.concatenate([by_place, by_event, kept]))
        self._append(x=panel.places[rows], y=values[rows])
        return len(rows)

    def _strip(self, panel: Panel, name: str) -> tuple[int, list[str]]:
        codes, texts = self._seen.codes(name, panel.rows)
        parts = thinning.strip(codes, panel.columns, panel.most)
        used = np.unique(parts.codes[parts.codes >= 0])
        renumbered = np.where(parts.codes < 0, parts.codes, np.searchsorted(used, parts.codes))
        first, last = panel.places[parts.first], panel.places[parts.last]
        self._append(strip_x=first, strip_end=last, strip_code=renumbered)
        return len(renumbered), [shortened(texts[code]) for code in used]

    def _depth(self, panel: Panel, number: int) -> int:
        own = panel.own[self._seen.name_numbers[panel.own] == number]
        places, depths = panel.depth(own)
        self._append(depth_x=places, depth=depths)
        return len(depths)
