"""Directives that show windows as a table, and the files of a recipe.

`{windows} SPEC DATA` runs a spec. `{recipe} NAME` shows a recipe: its spec, a plot, its windows and its data. The files `NAME.wex`, `NAME.csv` and `NAME.windows.csv` lie beside the page, and can be downloaded from it.
"""

from __future__ import annotations

import csv
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pictures import NamedFiles, events_of

import wex
from wex.engine.files.writing import write_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from docutils import nodes

DATA_ROWS = 6  # of the data that a page shows
WINDOW_ROWS = 12
TIME = re.compile(r"\d{4}-\d\d-\d\d(T|$)")  # a timestamp or a date
BREAK = "\u200b"  # a line of a heading may end here
HIDDEN = ("window_name", "start_index", "end_index")  # the same, or told by the times


class Recipe(NamedFiles):
    """Show a recipe."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the nodes of the recipe: spec, plot, windows, data."""
        name = self.arguments[0]
        folder = Path(self.env.doc2path(self.env.docname)).parent
        windows, data = rows(folder / f"{name}.windows.csv"), rows(folder / f"{name}.csv")
        for path in folder.glob(f"{name}.*"):
            self.env.note_dependency(str(path))
        text = [
            *included(f"{name}.wex", "wex"),
            *(f"```{{plot}} {name}.wex {name}.csv", "```", ""),
            *table(windows, f"{{download}}`{name}.windows.csv`"),
            *included(f"{name}.csv", "csv", len(data) - 1),
        ]
        return self.parsed(text)


class Windows(NamedFiles):
    """Show the windows of a spec in some data, both files or blocks of the page."""

    required_arguments = 2

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        spec, data = map(self.content_of, self.arguments)
        return self.parsed(table(found(spec, data), f"The windows of `{self.arguments[0]}`"))


def found(spec: str, data: str) -> list[list[str]]:
    """Return the windows of a spec in the text of a CSV file, as rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "windows.csv"
        write_table(wex.find(spec, events_of(spec, data)), path)
        return rows(path)


def rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, with its header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def included(name: str, language: str, lines: int = 0) -> list[str]:
    """Return the text that shows a file, or its first lines, under its name."""
    cut = lines > DATA_ROWS + 2
    more = f", {DATA_ROWS} of {lines:,} rows" if cut else ""
    shown = [f":lines: 1-{DATA_ROWS + 1}"] if cut else []
    options = [f":language: {language}", f":caption: '{{download}}`{name}`{more}'", *shown]
    return [f"```{{literalinclude}} {name}", *options, "```", ""]


def table(windows: list[list[str]], title: str) -> list[str]:
    """Return the directive of a table of windows, with its title above it."""
    told, (header, *body) = plain_table(windows)
    header = header.replace("_", f"_{BREAK}")
    return [f"~~~{{table}} {title}: {told}", ":class: windows", "", header, *body, "~~~", ""]


def plain_table(windows: list[list[str]]) -> tuple[str, list[str]]:
    """Return how many windows there are, and when, and a table of their keys, times and measures."""
    header, *body = windows
    many = len(body) > WINDOW_ROWS + 2
    columns = list(zip(*(body[:WINDOW_ROWS] if many else body), strict=True))
    shown = [i for i, column in enumerate(header) if column not in HIDDEN]
    times = [text for i in shown for text in columns[i] if TIME.match(text)]
    days, years = {text[:10] for text in times}, {text[:4] for text in times}
    count = "1 window" if len(body) == 1 else f"{len(body)} windows"
    more = f"the first {WINDOW_ROWS} of {count}" if many else count
    begin, when = 0, ""  # of a time what is the same in all is told once
    if len(days) == 1:
        begin, when = 11, f", on {times[0][:10]}"
    elif len(years) == 1:
        begin, when = 5, f", in {times[0][:4]}"
    end = 19 if any(text[16:19] not in ("", ":00") for text in times) else 16
    cells = [[shortened(text, begin, end) for text in columns[i]] for i in shown]
    rule = line("---:" if all(map(is_number, column)) else "---" for column in cells)
    rows_shown = (line(row) for row in zip(*cells, strict=True))
    return f"{more}{when}", [line(header[i] for i in shown), rule, *rows_shown]


def line(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def shortened(text: str, begin: int, end: int) -> str:
    """Return a value as people write it: of a time the characters from `begin` to `end`, a short number."""
    if TIME.match(text):
        return text[begin:end].replace("T", " ")
    return f"{float(text):.6g}" if is_number(text) else text


def is_number(text: str) -> bool:
    """Tell whether a value is a number."""
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None
