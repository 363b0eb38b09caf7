"""The plot of time over lookback in the docs: python -m benchmarks.lookback_plot.

It is drawn from the table in docs/analysis.md, which `python -m benchmarks.verdicts lookback` prints. The
colours are readable on light and on dark pages.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "analysis.md", DOCS / "lookback.svg"
WIDTH, HEIGHT = 230, 150  # of one panel, with its margins
LEFT, TOP, RIGHT, BOTTOM = 44, 28, 12, 26
LEAST, MOST = -2, 1  # powers of ten of a second
MOST_K = 6
BEFORE, AFTER, TEXT, LINE = "#d97706", "#3b82f6", "#808080", "#80808055"


@dataclass(frozen=True)
class Point:
    """A verdict: the lookback, the seconds that it took, and whether it is known."""

    k: int
    seconds: float
    known: bool


def points() -> dict[str, tuple[list[Point], list[Point]]]:
    """Return the points of each spec of the table: by refinement, and by order types."""
    found: dict[str, tuple[list[Point], list[Point]]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and cells[1].isdigit():
            for cell, row in zip(cells[2:], found.setdefault(cells[0], ([], [])), strict=True):
                seconds = re.search(r"([\d.]+) s$", cell)
                assert seconds is not None
                row.append(Point(int(cells[1]), float(seconds[1]), "unknown" not in cell))
    return found


def drawn() -> str:
    """Return the picture: a panel for each spec."""
    panels = points()
    rows = math.ceil(len(panels) / 3)
    size = f"0 0 {3 * WIDTH} {rows * HEIGHT + 24}"
    font = 'font-family="sans-serif" font-size="11"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" {font}>',
        "<title>Seconds of CPU over lookback k, by refinement and by order types</title>",
    ]
    for number, (name, lines) in enumerate(panels.items()):
        right, down = number % 3 * WIDTH, number // 3 * HEIGHT
        parts.append(f'<g transform="translate({right} {down})">{_panel(name, lines)}</g>')
    parts.append(_legend(rows * HEIGHT + 12))
    return "\n".join([*parts, "</svg>", ""])


def _panel(name: str, lines: tuple[list[Point], list[Point]]) -> str:
    parts = [_text(LEFT, TOP - 10, name, "start")]
    for power in range(LEAST, MOST + 1):
        y = _y(10.0**power)
        parts.append(f'<path d="M{LEFT} {y}H{WIDTH - RIGHT}" stroke="{LINE}"/>')
        parts.append(_text(LEFT - 4, y + 4, f"{10.0**power:g} s", "end"))
    parts += [_text(_x(k), HEIGHT - BOTTOM + 14, f"k = {k}" if k == 1 else str(k), "middle")
              for k in range(1, MOST_K + 1)]  # fmt: skip
    for colour, row in zip((BEFORE, AFTER), lines, strict=True):
        path = " ".join(f"{_x(point.k)},{_y(point.seconds)}" for point in row)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}"/>')
        parts += [_dot(_x(point.k), _y(point.seconds), colour, known=point.known) for point in row]
    return "\n".join(parts)


def _legend(y: int) -> str:
    parts: list[str] = []
    entries = [
        (LEFT, BEFORE, True, "by refinement alone"),
        (LEFT + 150, AFTER, True, "by order types"),
        (LEFT + 270, BEFORE, False, "unknown"),
    ]
    for x, colour, known, words in entries:
        parts += [_dot(x, y, colour, known=known), _text(x + 9, y + 4, words, "start")]
    return "\n".join(parts)


def _dot(x: float, y: float, colour: str, *, known: bool) -> str:
    fill = colour if known else "none"
    return f'<circle cx="{x}" cy="{y}" r="3.5" fill="{fill}" stroke="{colour}"/>'


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" fill="{TEXT}" text-anchor="{anchor}">{words}</text>'


def _x(k: int) -> float:
    return round(LEFT + 12 + (k - 1) * (WIDTH - LEFT - RIGHT - 24) / (MOST_K - 1), 1)


def _y(seconds: float) -> float:
    share = (math.log10(max(seconds, 10.0**LEAST)) - LEAST) / (MOST - LEAST)
    return round(HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM), 1)


if __name__ == "__main__":
    PICTURE.write_text(drawn(), encoding="utf-8")
