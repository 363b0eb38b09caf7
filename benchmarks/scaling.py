"""How cost grows: `python -m benchmarks.scaling` prints the table of docs/scaling.md, with `plot` it draws the picture.

The picture is drawn from the table on the page, so that both say the same. Cost is CPU time: of this
process, and on Spark of all processes. The colours are readable on light and on dark pages.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import wex
from benchmarks.engine import LONG, MEASURED, OPEN
from benchmarks.peers.flink_worker import cpu_seconds
from benchmarks.spark import SPEC, _done, _write
from wex.spark import windows
from wex.spark.session import new_session

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "scaling.md", DOCS / "scaling.svg"
EVENTS = 4_000_000
ROUNDS = 3
KEYED = MEASURED.replace(
    "(price real)", "(key int, ts int, price real) partition by key order by ts"
)
LOOKBACK = "stream s (x real) window w match [x > x[-K]]+ [x < x[-K]] keep disjoint"


@dataclass(frozen=True)
class Line:
    """One quantity that grows, with the CPU seconds of each of its sizes."""

    name: str
    sizes: tuple[float, ...]
    costs: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The power of the size with which the cost grows: 0 is not at all, 1 in proportion."""
        return float(np.polyfit(np.log(self.sizes), np.log(self.costs), 1)[0])


def lines() -> Iterator[Line]:
    """Measure all quantities."""
    walk = 100 + np.cumsum(np.random.default_rng(1).standard_normal(10 * EVENTS))
    trend = wex.parse(MEASURED)
    yield _line(
        "events",
        [10**5, 10**6, 10**7, 4 * 10**7],
        lambda size: _find(trend, pa.table({"price": walk[:size]})),
    )
    keyed = wex.parse(KEYED)
    yield _line(
        "keys",
        [1, 10**2, 10**4, 10**6],
        lambda size: _find(keyed, _keys(walk[:EVENTS], size)),
    )
    opened = wex.parse(OPEN)
    yield _line(
        "open windows", [1, 10**2, 10**4, 10**6], lambda size: _find(opened, _ending_every(size))
    )
    yield _line(
        "events of a window",
        [10, 10**2, 10**3, 10**4, 10**5],
        lambda size: _find(
            wex.parse(LONG.replace("N", str(size))), pa.table({"x": walk[: EVENTS // 2]})
        ),
    )
    yield _line(
        "lookback",
        [1, 2, 4, 8, 16, 32],
        lambda size: _find(
            wex.parse(LOOKBACK.replace("K", str(size))), pa.table({"x": walk[:EVENTS]})
        ),
    )
    yield _partitions()


def _line(name: str, sizes: list[int], job: Callable[[int], Callable[[], object]]) -> Line:
    costs = []
    for size in sizes:
        work = job(size)
        work()
        costs.append(min(_cpu(work, time.process_time) for _ in range(ROUNDS)))
    return Line(name, tuple(sizes), tuple(costs))


def _cpu(work: Callable[[], object], clock: Callable[[], float]) -> float:
    before = clock()
    work()
    return clock() - before


def _find(spec: wex.Spec, table: pa.Table) -> Callable[[], object]:
    return lambda: wex.find(spec, table)


def _keys(walk: np.ndarray, count: int) -> pa.Table:
    keys = np.random.default_rng(count).integers(0, count, len(walk))
    return pa.table({"key": keys, "ts": np.arange(len(walk)), "price": walk})


def _ending_every(size: int) -> pa.Table:
    x = np.zeros(EVENTS // 2)
    x[size::size] = 1
    return pa.table({"x": x})


def _partitions() -> Line:
    """Measure a job on Spark with more and more partitions, which adaptive execution leaves alone."""
    sizes, costs = (2, 8, 32, 128), []
    with tempfile.TemporaryDirectory() as folder:
        path = str(_write(Path(folder), 1_000, EVENTS))
        settings = {"spark.sql.adaptive.enabled": "false"}
        spark = new_session("local[2]", settings, progress=False)

        def job() -> None:
            _done(spark.read.parquet(path).transform(windows(SPEC)))

        for size in sizes:
            spark.conf.set("spark.sql.shuffle.partitions", str(size))
            job()
            costs.append(min(_cpu(job, cpu_seconds) for _ in range(ROUNDS)))
        spark.stop()
    return Line("partitions on Spark", sizes, tuple(costs))


# --- The table


def table(measured: list[Line]) -> str:
    """Return lines as the rows of a table."""
    return "\n".join(
        f"| {line.name} | {_numbers(line.sizes, ',.0f')} | {_numbers(line.costs, '.3g')} | {line.slope:.2f} |"
        for line in measured
    )


def _numbers(values: tuple[float, ...], form: str) -> str:
    return " · ".join(f"{value:{form}}" for value in values)


def lines_of_page() -> list[Line]:
    """Return the lines that the page has."""
    found = []
    for row in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 4 and "·" in cells[1]:
            sizes, costs = (
                tuple(float(value.replace(",", "")) for value in cell.split("·"))
                for cell in cells[1:3]
            )
            found.append(Line(cells[0], sizes, costs))
    return found


# --- The picture: a panel for each line, both axes by powers of ten

WIDTH, HEIGHT = 230, 160
LEFT, TOP, RIGHT, BOTTOM = 46, 28, 14, 30
COLOUR, TEXT, GRID = "#3b82f6", "#808080", "#80808055"


def drawn() -> str:
    """Return the picture of the page's table."""
    panels = lines_of_page()
    size = f"0 0 {3 * WIDTH} {math.ceil(len(panels) / 3) * HEIGHT}"
    font = 'font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" {font}>',
        "<title>CPU seconds over the size of a job, on logarithmic scales</title>",
    ]
    for number, line in enumerate(panels):
        right, down = number % 3 * WIDTH, number // 3 * HEIGHT
        parts.append(f'<g transform="translate({right} {down})">{_panel(line)}</g>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(line: Line) -> str:
    across = _Axis.over(line.sizes, LEFT + 10, WIDTH - RIGHT - 10)
    up = _Axis.over(line.costs, HEIGHT - BOTTOM, TOP)
    parts = [_text(LEFT, TOP - 12, f"{line.name}: slope {line.slope:.2f}", "start")]
    for power in range(up.least, up.most + 1):
        y = up.place(10.0**power)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{GRID}"/>')
        parts.append(_text(LEFT - 4, y + 4, f"{10.0**power:g} s", "end"))
    every = 1 if across.most - across.least < 6 else 2
    parts += [
        _text(across.place(10.0**power), HEIGHT - BOTTOM + 14, _short(power), "middle")
        for power in range(across.least, across.most + 1, every)
    ]
    places = [
        (across.place(size), up.place(cost))
        for size, cost in zip(line.sizes, line.costs, strict=True)
    ]
    path = " ".join(f"{x},{y}" for x, y in places)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{COLOUR}"/>')
    parts += [f'<circle cx="{x}" cy="{y}" r="3.5" fill="{COLOUR}"/>' for x, y in places]
    return "\n".join(parts)


def _short(power: int) -> str:
    """Return a power of ten in few characters: 10 M, so that labels do not meet."""
    letter = ("", " k", " M", " G", " T")[power // 3]
    return f"{10 ** (power % 3)}{letter}"


@dataclass(frozen=True)
class _Axis:
    """Powers of ten between two places."""

    least: int
    most: int
    low: float
    high: float

    @staticmethod
    def over(values: tuple[float, ...], low: float, high: float) -> _Axis:
        least = math.floor(math.log10(min(values)))
        return _Axis(least, max(least + 1, math.ceil(math.log10(max(values)))), low, high)

    def place(self, value: float) -> float:
        share = (math.log10(value) - self.least) / (self.most - self.least)
        return round(self.low + share * (self.high - self.low), 1)


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{TEXT}" text-anchor="{anchor}">{words}</text>'


if __name__ == "__main__":
    if sys.argv[1:] == ["plot"]:
        PICTURE.write_text(drawn(), encoding="utf-8")
    else:
        print(table(list(lines())))
