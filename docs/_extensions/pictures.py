"""Directives for pictures that the tool itself makes while the site is built.

`{plot} SPEC DATA` is what `wex plot` draws, and `{drawing} SPEC` what `wex draw` does. The files lie beside the page
or are blocks of it that are named by a comment, `<!-- file: NAME -->`.
"""

from __future__ import annotations

import hashlib
import html
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from page_text import content_of
from sphinx.util.docutils import SphinxDirective

import wex
from wex.engine.files.reading import read_table
from wex.plot.files import save
from wex.report.page import graph_box
from wex.spec import meaning

if TYPE_CHECKING:
    import pyarrow as pa

WIDTHS = {"wide": 620, "narrow": 290}  # of a plot, in pixels and without its axis
FOLDER = "_build/pictures"
CODE = Path(wex.__file__).parent / "plot"


class NamedFiles(SphinxDirective):
    """A directive whose arguments are files beside the page or blocks of it."""

    required_arguments = 1

    def content_of(self, name: str) -> str:
        """Return the content of a file beside the page, or of a block of the page."""
        page = Path(self.env.doc2path(self.env.docname))
        file = page.parent / name
        if file.exists():
            self.env.note_dependency(str(file))
            return file.read_text("utf-8")
        block = content_of(page.read_text("utf-8"), name)
        if block is None:
            raise self.error(f"there is no file {name} beside this page, and no block in it")
        return block

    def parsed(self, lines: list[str]) -> list[nodes.Node]:
        """Return the nodes of some lines of Markdown."""
        box = nodes.container()
        self.state.nested_parse(StringList(lines, self.arguments[0]), 0, box)
        return list(box.children)


def events_of(spec: str, data: str) -> pa.Table:
    """Return the events in the text of a CSV file, with the types of a spec."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
        file.write(data)
        file.flush()
        return read_table(Path(file.name), meaning(wex.parse(spec)).fields)


class Plot(NamedFiles):
    """A plot of data with its windows, for wide and for narrow screens."""

    required_arguments = 2
    option_spec = {"field": directives.unchanged, "alt": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Return the pictures, of which the style sheet shows one."""
        spec, data = map(self.content_of, self.arguments)
        text = self.options.get("alt", f"the data of {self.arguments[1]}, with the windows in it")
        shown = "".join(
            f'<div class="plot {name}" role="img" aria-label="{html.escape(text)}">{self.plotted(spec, data, width)}</div>'
            for name, width in WIDTHS.items()
        )
        return [nodes.raw("", shown, format="html")]

    def plotted(self, spec: str, data: str, width: int) -> str:
        """Return a plot as SVG, which is made unless there is one of the same content."""
        code = "".join(path.read_text("utf-8") for path in sorted(CODE.rglob("*.py")))
        field = self.options.get("field")
        content = repr((spec, data, width, field, code)).encode()
        stem = Path(self.arguments[0]).stem
        digest = hashlib.sha256(content).hexdigest()[:12]
        target = Path(self.env.srcdir) / FOLDER / f"{stem}-{digest}.svg"
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            chart = wex.plot(wex.parse(spec), events_of(spec, data), width=width, field=field)
            save(chart, target)
        # The clip paths of all plots of a page need names of their own.
        return re.sub(r'("|#)(clip\d+)(?=["\)])', rf"\1\2-{digest}", target.read_text("utf-8"))


class Drawing(NamedFiles):
    """The automata of a spec, or its region graph, in the colours of the page."""

    option_spec = {"what": directives.unchanged, "window": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Return the drawing as a part of the page."""
        spec = wex.parse(self.content_of(self.arguments[0]))
        what, window = self.options.get("what", "automata"), self.options.get("window")
        shown = "".join(graph_box(part.svg) for part in wex.draw(spec, what, window).parts)
        return [nodes.raw("", f'<div class="drawing">{shown}</div>', format="html")]
