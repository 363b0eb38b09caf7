"""Makes the pictures of the documentation with WEX itself: `python docs/make_pictures.py`.

They are stored beside the pages, so that they are also seen where the pages are read without being
built. A test checks that they are current.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import wex
from wex import examples
from wex.draw.notebook import html_of
from wex.draw.timeline import held_timeline
from wex.plot.files import save
from wex.spec import meaning

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))
sys.path.insert(0, str(Path(__file__).parent))

from make_pages import file_of
from page_text import Part, parts_of
from pictures import WIDTHS, events_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import altair as alt

DOCS = Path(__file__).parent
FOLDER = DOCS / "pictures"
CHART = "stocks.svg"
UNBOUNDED = "stream readings (temp real) window hot match [temp > 90] any* [temp < 80]"


def pictures() -> dict[str, str]:
    """Return the content of each picture, by the name of its file."""
    report = wex.check(UNBOUNDED)
    held = held_timeline(meaning(report.spec), 0, report["hot"])
    assert held is not None
    shown = html_of(wex.check(examples.spec("trend")))
    assert shown is not None
    return {
        "hot-stream.svg": held[1].svg("a stream on which starts are held"),
        "trend-report.html": shown,
        **{
            name: wex.draw(
                file_of(page, part.arguments[0]), part.options.get("what", "automata")
            ).svg
            for name, page, part in shown_by("drawing")
        },
    }


def charts() -> dict[str, alt.VConcatChart]:
    """Return the charts that README.md and pages show, by the names of their files."""
    shown = {CHART: wex.plot(examples.spec("stocks"), examples.data("stocks"), key="AAPL")}
    for name, page, part in shown_by("plot"):
        spec, data = (file_of(page, argument) for argument in part.arguments)
        shown[name] = wex.plot(spec, events_of(spec, data), width=WIDTHS["wide"])
    return shown


def shown_by(kind: str) -> Iterator[tuple[str, Path, Part]]:
    """Yield the parts of pages that show a picture of a kind, with its file and the page."""
    for page in sorted(DOCS.glob("*.md")):
        for part in parts_of(page.read_text("utf-8")):
            if part.kind == kind and part.picture is not None:
                yield Path(part.picture).name, page, part


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, chart in charts().items():  # letters are as wide as the fonts of this machine
        save(chart, FOLDER / name)
    for name, content in pictures().items():
        (FOLDER / name).write_text(f"{content}\n", "utf-8")
