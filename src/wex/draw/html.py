"""HTML for notebooks and reports, made of parts that are escaped."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from wex.errors import clean
from wex.plot.theme import FONT, colours

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROSE = "system-ui, -apple-system, 'Segoe UI', 'Liberation Sans', sans-serif"

# How the parts look, inside an element of the class `wex-html`.
RULES = f"""
.wex-html {{ color: var(--wex-ink); background: var(--wex-paper); font: 14px/1.45 {PROSE}; padding: 10px 14px; border: 1px solid var(--wex-rule); border-radius: 6px; overflow-x: auto; }}
.wex-html pre {{ font: 13px/1.4 {FONT}; color: var(--wex-ink); background: none; border: 0; margin: 6px 0; padding: 0; white-space: pre; overflow-x: auto; }}
.wex-html h4 {{ font: bold 14px {PROSE}; color: var(--wex-ink); margin: 10px 0 4px; }}
.wex-html h4:first-child {{ margin-top: 0; }}
.wex-html p {{ margin: 4px 0; }}
.wex-html .wex-muted {{ color: var(--wex-muted); }}
.wex-html table {{ border-collapse: collapse; margin: 6px 0; border: 0; font-size: 13px; }}
.wex-html table tr, .wex-html table tr:nth-child(even) {{ background: none; }}
.wex-html table td, .wex-html table th {{ padding: 2px 14px 2px 0; text-align: left; vertical-align: top; border: 0; color: var(--wex-ink); white-space: normal; max-width: none; }}
.wex-html table th {{ font-weight: normal; color: var(--wex-muted); }}
.wex-html .wex-badge {{ display: inline-block; font: bold 12px {PROSE}; color: var(--wex-paper); border-radius: 4px; padding: 1px 7px; margin: 0 6px; }}
.wex-html .wex-badge:first-child {{ margin-left: 0; }}
.wex-html .wex-good {{ background: var(--wex-green); }}
.wex-html .wex-bad {{ background: var(--wex-red); }}
.wex-html .wex-unsure {{ background: var(--wex-muted); }}
.wex-html .wex-keyword {{ color: var(--wex-blue); font-weight: bold; }}
.wex-html .wex-string {{ color: var(--wex-green); }}
.wex-html .wex-quoted {{ color: var(--wex-purple); }}
.wex-html .wex-number {{ color: var(--wex-orange); }}
.wex-html .wex-comment {{ color: var(--wex-muted); font-style: italic; }}
""".strip()


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *content: str, cls: str = "") -> Markup:
    """Return an element; what it contains is escaped, unless it is Markup.

    >>> tag("p", "a < b ", tag("b", "&"), cls="wex-muted")
    '<p class="wex-muted">a &lt; b <b>&amp;</b></p>'
    """
    named = f' class="{escape(cls)}"' if cls else ""
    inner = "".join(part if isinstance(part, Markup) else escaped(part) for part in content)
    return Markup(f"<{name}{named}>{inner}</{name}>")


def escaped(text: str) -> str:
    """Return text for HTML, without control characters except line breaks."""
    return "\n".join(escape(clean(line)) for line in text.split("\n"))


def table(rows: Iterable[Sequence[str]]) -> Markup:
    """Return a table whose rows begin with what they are about."""
    return tag(
        "table",
        *(
            tag("tr", tag("th", first), *(tag("td", cell) for cell in rest))
            for first, *rest in rows
        ),
    )


def page_part(*content: str) -> str:
    """Return parts as one element that brings its style along."""
    style = Markup(f"<style>\n{colours('.wex-html')}\n{RULES}\n</style>")
    return tag("div", style, *content, cls="wex-html")
