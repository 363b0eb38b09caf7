"""Makes the pictures of the documentation with WEX itself: `python docs/make_pictures.py`.

They are stored beside the pages, so that they are also seen where the pages are read without being
built. A test checks that they are current.
"""

from __future__ import annotations

from pathlib import Path

import wex
from wex import examples
from wex.draw.notebook import html_of
from wex.draw.timeline import held_timeline
from wex.plot.files import save
from wex.spec import meaning

FOLDER = Path(__file__).parent / "pictures"
CHART = "stocks.svg"
UNBOUNDED = "stream readings (temp real) window hot match [temp > 90] any* [temp < 80]"
SLIDING = "stream readings (temp real) window hour match any{60}"


def pictures() -> dict[str, str]:
    """Return the content of each picture, by the name of its file."""
    trend = examples.spec("trend")
    report = wex.check(UNBOUNDED)
    held = held_timeline(meaning(report.spec), 0, report["hot"])
    assert held is not None
    shown = html_of(wex.check(trend))
    assert shown is not None
    return {
        "trend-automata.svg": wex.draw(trend).svg,
        "trend-regions.svg": wex.draw(trend, "regions").svg,
        "peak-regions.svg": wex.draw(examples.spec("arrhythmia"), "regions").svg,
        "hour-automata.svg": wex.draw(SLIDING).svg,
        "hot-stream.svg": held[1].svg("a stream on which starts are held"),
        "trend-report.html": shown,
    }


def write_charts() -> None:
    """Write the charts that README.md shows; their letters are as wide as the fonts of this machine."""
    chart = wex.plot(examples.spec("stocks"), examples.data("stocks"), key="AAPL")
    save(chart, FOLDER / CHART)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_charts()
    for name, content in pictures().items():
        (FOLDER / name).write_text(f"{content}\n", "utf-8")
