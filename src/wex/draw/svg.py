"""SVG as a tree of elements, so that every text in it is escaped.

Pictures are the same on every machine: widths of texts are estimated from the number of characters,
which a monospaced font allows, and not measured. Texts from specs and data lose their control
characters, which XML forbids, and characters that change the direction of writing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from wex.errors import cells, clean
from wex.plot.theme import FONT, colours, with_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.plot.theme import Theme

NAMESPACE = "http://www.w3.org/2000/svg"
FONT_SIZE = 13.0
LINE = 16.0  # height of a line of text
ADVANCE = 0.61 * FONT_SIZE  # width of a character; in common fonts it is 0.55 to 0.605
SMALL = 11.5 / FONT_SIZE  # the size of small texts, as a part of the usual one

# How elements look, by their classes. A picture adds the rules of its own elements.
RULES = f"""
.wex-drawing text {{ font: {FONT_SIZE:g}px {FONT}; fill: var(--wex-ink); white-space: pre; }}
.wex-drawing .wex-small {{ font-size: {FONT_SIZE * SMALL:g}px; fill: var(--wex-muted); }}
.wex-drawing .wex-title {{ font-weight: bold; }}
.wex-drawing .wex-paper {{ fill: var(--wex-paper); }}
""".strip()


@dataclass(frozen=True)
class Box:
    """A rectangle: its left upper corner and its size."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The x-coordinate of the right side."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y-coordinate of the lower side."""
        return self.y + self.height

    def meets(self, other: Box) -> bool:
        """Tell whether two rectangles have more than a side in common.

        >>> Box(0, 0, 2, 2).meets(Box(1, 1, 2, 2)), Box(0, 0, 2, 2).meets(Box(2, 0, 2, 2))
        (True, False)
        """
        beside = self.right <= other.x or other.right <= self.x
        return not beside and self.bottom > other.y and other.bottom > self.y


def element(parent: ET.Element, tag: str, cls: str = "", **attributes: str | float) -> ET.Element:
    """Add an element with a class and attributes, whose names have `_` where XML has `-`."""
    named = {"class": cls} if cls else {}
    for name, value in attributes.items():
        named[name.rstrip("_").replace("_", "-")] = value if isinstance(value, str) else _n(value)
    return ET.SubElement(parent, tag, named)


def text(
    parent: ET.Element, x: float, y: float, written: str, cls: str = "", anchor: str = "start"
) -> ET.Element:
    """Add a line of text whose baseline is at y; `anchor` is `start`, `middle` or `end`."""
    placed = {"text_anchor": anchor} if anchor != "start" else {}
    added = element(parent, "text", cls, x=x, y=y, **placed)
    added.text = clean(written)
    return added


def tooltip(parent: ET.Element, written: str) -> None:
    """Add what a reader sees who points at an element, or hears."""
    element(parent, "title").text = clean(written)


def path(parent: ET.Element, points: str, cls: str) -> ET.Element:
    """Add a line along the commands of a path."""
    return element(parent, "path", cls, d=points)


def coordinates(*values: float) -> str:
    """Return numbers as in the commands of a path, rounded to a tenth of a pixel.

    >>> coordinates(1, 2.25, -0.01)
    '1 2.2 0'
    """
    return " ".join(map(_n, values))


def _n(value: float) -> str:
    return f"{round(value, 1) + 0.0:g}"


def width_of(written: str) -> float:
    """Return about how wide a text is.

    >>> width_of("x > 1") < width_of("価格 > 1")
    True
    """
    return cells(clean(written)) * ADVANCE


def wrapped(written: str, width: int, most: int) -> list[str]:
    """Return a text in lines of at most so many characters, the last of them cut where it is too long.

    Lines begin with `and` and `or`, if there is room for what they join.

    >>> wrapped("price > price[-1] and volume > 0", 20, 2)
    ['price > price[-1]', 'and volume > 0']
    >>> wrapped("a_very_long_name_of_a_field > 0", 10, 2)
    ['a_very_lon', 'g_name_of…']
    """
    clauses = re.split(r" (?=and |or )", " ".join(clean(written).split()))
    whole = max(map(cells, clauses)) <= width
    words = clauses if whole else list(_pieces(" ".join(clauses).split(), width))
    lines = _filled(words, width)
    if len(lines) > most:
        return [*lines[: most - 1], shortened(f"{lines[most - 1]}  ", width)]
    # Lines of about one length are easier to read than a last line of one word.
    narrowest = max(map(cells, words), default=0)
    fewer = (_filled(words, narrow) for narrow in range(narrowest, width))
    return next((even for even in fewer if len(even) == len(lines)), lines)


def _filled(words: Sequence[str], width: int) -> list[str]:
    """Return words in lines, as many in each as there is room for."""
    lines = [""]
    for word in words:
        joined = f"{lines[-1]} {word}".strip()
        if cells(joined) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _pieces(words: Sequence[str], width: int) -> Iterator[str]:
    """Yield words, those that are wider than a line in pieces."""
    for word in words:
        piece = ""
        for char in word:
            if piece and cells(piece + char) > width:
                yield piece
                piece = ""
            piece += char
        yield piece


def shortened(written: str, width: int) -> str:
    """Return a text of at most so many characters, with `…` at its end if it was longer.

    >>> shortened("temperature", 8), shortened("price", 8)
    ('tempera…', 'price')
    """
    if cells(written) <= width:
        return written.rstrip()
    kept = ""
    for char in written:
        if cells(kept + char) >= width:
            break
        kept += char
    return f"{kept.rstrip()}…"


def document(width: float, height: float, label: str, rules: str = "") -> ET.Element:
    """Return an empty picture, with a background; `rules` is the CSS of its own elements."""
    root = ET.Element(
        "svg",
        {
            "xmlns": NAMESPACE,
            "class": "wex-drawing",
            "viewBox": f"0 0 {_n(width)} {_n(height)}",
            "width": _n(width),
            "height": _n(height),
            "role": "img",
            "style": "max-width: 100%; height: auto",
        },
    )
    tooltip(root, label)
    element(root, "style").text = "\n".join((colours(".wex-drawing"), RULES, rules.strip()))
    element(root, "rect", "wex-paper", width=width, height=height, rx=6)
    return root


def markup(root: ET.Element) -> str:
    """Return a picture as text."""
    return ET.tostring(root, encoding="unicode")


def in_theme(svg: str, theme: Theme) -> str:
    """Return a picture in the colours of one theme, for programs that know neither variables nor media.

    >>> picture = markup(document(10, 10, "nothing"))
    >>> "prefers-color-scheme" in picture, "prefers-color-scheme" in in_theme(picture, "dark")
    (True, False)
    """
    before, begin, rest = svg.partition("<style>")
    css, end, after = rest.partition("</style>")
    css = with_values(css.replace(colours(".wex-drawing"), ""), theme)
    return f"{before}{begin}{css}{end}{after}"
