"""What a chart draws of one stream: its values, windows and depth, thinned, as plain rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wex.errors import clean, counted
from wex.plot import thinning
from wex.plot.thinning import SEVERAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.plot.streams import StreamWindows

Rows = list[dict[str, Any]]

MOST_WINDOWS = 500  # that are drawn one by one
MOST_LANES = 40
MOST_VALUES = 8  # of a strip that have a colour of their own
NULL, SEVERAL_VALUES, OTHERS = "NULL", "several values", "other values"


@dataclass(frozen=True)
class Counts:
    """How much there is of a stream, and how much of it is drawn."""

    events: int
    events_drawn: int
    windows: int
    windows_drawn: int
    infinite: int = 0  # values that no axis has a place for

    def __str__(self) -> str:
        events = counted(self.events, "event")
        if self.events_drawn < self.events:
            events += f", {self.events_drawn:,} drawn"
        windows = counted(self.windows, "window")
        if self.windows_drawn < self.windows:
            windows += f", the {self.windows_drawn:,} longest drawn"
        more = f"; {counted(self.infinite, 'infinite value')} not drawn" if self.infinite else ""
        return f"{events}; {windows}{more}"


class Panel:
    """One stream and one of its fields, in `columns` columns of pixels."""

    def __init__(self, seen: StreamWindows, stream: int, field: str | None, columns: int) -> None:
        self.seen, self.field, self.width = seen, field, columns
        # Texts are drawn without control characters: they end the process in which vl-convert is.
        self.names = [clean(name) for name in seen.names]
        self.first, self.end = int(seen.batch.first[stream]), int(seen.batch.end[stream])
        self.rows = slice(self.first, self.end)
        self.places = seen.places(self.rows)
        self.columns = thinning.pixel_columns(self.places, columns)
        self.most = 2 * columns
        own = np.flatnonzero(seen.owners == stream)
        self.window_count = len(own)
        lengths = (
            self.places[seen.ends[own] - self.first] - self.places[seen.starts[own] - self.first]
        )
        drawn = own[thinning.longest(lengths, MOST_WINDOWS)]
        lanes = thinning.lanes(seen.starts[drawn], seen.ends[drawn])
        self.own, self.drawn, self.lanes = own, drawn[lanes < MOST_LANES], lanes[lanes < MOST_LANES]

    def on_axis(self, places: NDArray[np.generic]) -> list[float]:
        """Return places as Vega reads them: times in milliseconds."""
        shown = places.astype(np.float64)
        times: list[float] = (shown / 1000 if self.seen.is_time else shown).tolist()
        return times

    def domain(self) -> list[float]:
        """Return the first and last place."""
        return self.on_axis(self.places[[0, -1]])

    # --- The stream

    def stream_rows(self) -> tuple[Rows, Counts]:
        """Return the values that are drawn, and how many."""
        if self.field is None:
            kept = thinning.extremes(np.zeros(len(self.places)), self.columns)
            return [{"x": x} for x in self.on_axis(self.places[kept])], self._counts(len(kept))
        if self.seen.is_number(self.field):
            return self._line(self.field)
        return self._strip(self.field)

    def _counts(self, events: int, infinite: int = 0) -> Counts:
        every = self.end - self.first
        return Counts(every, events, self.window_count, len(self.drawn), infinite)

    def _line(self, field: str) -> tuple[Rows, Counts]:
        values = self.seen.numbers(field, self.rows)
        infinite = int(np.isinf(values).sum())
        values = np.where(np.isinf(values), np.nan, values)
        kept = np.arange(len(values))
        if len(values) > self.most:
            kept = thinning.extremes(values, self.columns)
        rows: Rows = [
            {"x": x, "y": None if y != y else y, "n": n}  # noqa: PLR0124  (NaN)
            for x, y, n in zip(
                self.on_axis(self.places[kept]), values[kept].tolist(), kept.tolist(), strict=True
            )
        ]
        return rows, self._counts(len(kept), infinite)

    def _strip(self, field: str) -> tuple[Rows, Counts]:
        codes, texts = self.seen.codes(field, self.rows)
        parts = thinning.strip(codes, self.columns, self.most)
        counts = np.bincount(codes[codes >= 0], minlength=len(texts))
        common = set(np.argsort(-counts, kind="stable")[:MOST_VALUES].tolist())

        def shown(code: int) -> str:
            if code < 0:
                return SEVERAL_VALUES if code == SEVERAL else NULL
            return clean(texts[code]) if len(texts) <= MOST_VALUES or code in common else OTHERS

        rows: Rows = [
            {"x": x, "x2": x2, "y": shown(code)}
            for x, x2, code in zip(
                self.on_axis(self.places[parts.first]),
                self.on_axis(self.places[parts.last]),
                parts.codes.tolist(),
                strict=True,
            )
        ]
        mixed = parts.codes == SEVERAL
        hidden = int((parts.last - parts.first + 1)[mixed].sum())
        return rows, self._counts(self.end - self.first - hidden)

    # --- Windows

    def window_rows(self) -> Rows:
        """Return the windows that are drawn one by one."""
        seen = self.seen
        starts, ends = seen.starts[self.drawn] - self.first, seen.ends[self.drawn] - self.first
        return [
            {"x": x, "x2": x2, "w": self.names[name], "lane": lane, "b": b, "e": e}
            for x, x2, name, lane, b, e in zip(
                self.on_axis(self.places[starts]),
                self.on_axis(self.places[ends]),
                seen.name_numbers[self.drawn].tolist(),
                self.lanes.tolist(),
                starts.tolist(),
                ends.tolist(),
                strict=True,
            )
        ]

    def depth_rows(self) -> Rows:
        """Return for each window of the spec the steps of its depth: all, or the extremes of columns."""
        rows: Rows = []
        for number, name in enumerate(self.names):
            own = self.own[self.seen.name_numbers[self.own] == number]
            x, depths = self.depth(own)
            rows += [
                {"x": place, "d": depth, "w": name}
                for place, depth in zip(self.on_axis(x), depths.tolist(), strict=True)
            ]
        return rows

    def depth(self, own: Ints) -> tuple[NDArray[np.generic], Ints]:
        """Return the steps of the number of windows, from the first event to the last."""
        last = len(self.places) - 1
        positions, depths = thinning.depth_steps(
            self.seen.starts[own] - self.first, self.seen.ends[own] - self.first
        )
        if not len(positions) or positions[0]:
            positions, depths = np.append(0, positions), np.append(0, depths)
        positions, depths = np.append(positions, last), np.append(depths, depths[-1])
        if len(positions) > self.most:
            kept = thinning.extremes(depths.astype(np.float64), self.columns[positions])
            positions, depths = positions[kept], depths[kept]
        return self.places[positions], depths
