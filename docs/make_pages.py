"""Writes what pages show where they are read without the site: `python docs/make_pages.py`.

The tables of windows and the files of recipes stand between comments; a test checks that they are current.
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

from page_text import Part, content_of, rewritten
from recipes import found, plain_table, rows


def pages() -> dict[Path, str]:
    """Return the text of each page, with the parts that are made here."""
    return {
        page: rewritten(page.read_text("utf-8"), lambda part, page=page: text_of(part, page))
        for page in sorted(DOCS.rglob("*.md"))
        if "_build" not in page.parts
    }


def text_of(part: Part, page: Path) -> str:
    """Return the text of a part of a page; that of a picture stays as it is."""
    match part.kind:
        case "recipe":
            return recipe(page.parent, part.arguments[0])
        case "windows":
            spec, data = (file_of(page, name) for name in part.arguments)
            return titled(f"The windows of `{part.arguments[0]}`", found(spec, data))
    return part.text


def recipe(folder: Path, name: str) -> str:
    """Return the spec of a recipe, its windows, and links to its files."""
    spec = (folder / f"{name}.wex").read_text("utf-8")
    windows = rows(folder / f"{name}.windows.csv")
    title = (
        f"The windows in [{name}.csv]({name}.csv), from [{name}.windows.csv]({name}.windows.csv)"
    )
    return f"[{name}.wex]({name}.wex):\n\n```wex\n{spec}```\n\n{titled(title, windows)}"


def titled(title: str, windows: list[list[str]]) -> str:
    """Return a table of windows below its title."""
    told, lines = plain_table(windows)
    return "\n".join([f"{title}: {told}.", "", *lines, "", ""])


def file_of(page: Path, name: str) -> str:
    """Return the content of a file beside a page, or of a block of it."""
    if (page.parent / name).exists():
        return (page.parent / name).read_text("utf-8")
    content = content_of(page.read_text("utf-8"), name)
    assert content is not None, (page, name)
    return content


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, "utf-8")
