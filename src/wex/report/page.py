"""`wex.report`: one file of HTML about a spec and its windows in some data, without network."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from wex.analysis.check import check
from wex.compile.automaton_pairs import pairs_of
from wex.compile.to_predicate import names_of_lets
from wex.draw.html import RULES, escaped, tag
from wex.draw.notebook import highlighted, report_parts
from wex.engine.files.sources import no_file_error
from wex.errors import WexError
from wex.plot.files import script_safe
from wex.plot.streams import found
from wex.plot.theme import colours
from wex.report.content import content_of
from wex.spec import meaning as meaning_of
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from wex.engine.input.columns import Data
    from wex.plot.streams import StreamWindows
    from wex.report.content import Room
    from wex.spec import SpecLike

SUFFIXES = (".html", ".htm")
WIDEST_SCALED = 600.0  # pixels: a wider drawing is too small to read at the width of a phone


def report(
    spec: SpecLike,
    data: Data,
    path: str | PathLike[str],
    *,
    windows: Data | None = None,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
) -> StreamWindows:
    """Write a report to a file, and return the events and windows that it is about."""
    check_suffix(path)
    seen = found(spec, data, partition_by, order_by, windows)
    text = page_of(seen, given=windows is not None)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise no_file_error(str(path), error, "give a path that can be written") from error
    return seen


def check_suffix(path: str | PathLike[str]) -> None:
    """Raise a WexError unless the name of a report ends as that of a page."""
    if Path(path).suffix.lower() not in SUFFIXES:
        message = f"{path}: a report is a page of HTML"
        raise WexError("unknown-format", message, "give the file a name that ends in .html")


def page_of(seen: StreamWindows, *, given: bool = False, room: Room | None = None) -> str:
    """Return the report as text; `given` tells that its windows were found elsewhere."""
    checked = check(seen.spec)
    content = content_of(seen, [window.overlap for window in checked], room)
    script = asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = "\n".join((colours(".wex-page"), colours(".wex-html"), RULES, asset("page.css")))
    names = ", ".join(seen.names)
    parts = {
        "digest": digest,
        "title": escaped(f"{seen.spec.stream.name.text}: {names}"),
        "style": style,
        "automata": automata(seen),
        "verdict": "".join(report_parts(checked)),
        "spec": highlighted(seen.spec),
        "data": script_safe({**content, "given": given}),
        "script": script,
    }
    # In one pass: what a part contains is not a place for another one.
    return re.sub("@([a-z]+)@", lambda place: parts[place[1]], asset("page.html"))


def asset(name: str) -> str:
    """Return a file of this package."""
    return (files("wex.report") / name).read_text("utf-8")


def graph_box(picture: str) -> str:
    """Return a drawing in a box; one that would be too small on a narrow page scrolls there."""
    width = re.search(r'\bwidth="([\d.]+)"', picture)
    wide = width is not None and float(width[1]) > WIDEST_SCALED
    return f'<div class="graph{" large" if wide else ""}" tabindex="0">{picture}</div>'


def automata(seen: StreamWindows) -> str:
    """Return drawings of the automata of each window; as text, if igraph is not installed."""
    meaning = meaning_of(seen.spec)
    if find_spec("igraph") is not None:
        from wex.draw.drawing import draw  # noqa: PLC0415  (it needs igraph)

        drawings = (draw(seen.spec, window=name) for name in seen.names)
        return "".join(
            f'<div class="picture">{"".join(graph_box(part.svg) for part in drawing.parts)}</div>'
            for drawing in drawings
        )
    names = names_of_lets(meaning)
    lines = [
        line
        for at in range(len(seen.names))
        for pair in pairs_of(compile_window(meaning, at, as_written=True), names)
        for line in (seen.names[at], *pair.lines())
    ]
    return tag("pre", "\n".join(lines))
