"""Settings of the documentation."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pygments.lexer import RegexLexer
from pygments.lexers.special import TextLexer
from pygments.lexers.sql import SqlLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

import wex
from wex.draw.highlight import TOKENS

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

from page_text import for_the_site
from pictures import Drawing, Plot
from recipes import Recipe, Windows

if TYPE_CHECKING:
    from sphinx.application import Sphinx

KINDS = {
    "space": Text,
    "comment": Comment,
    "keyword": Keyword,
    "string": String,
    "quoted": Name.Variable,
    "number": Number,
    "name": Name,
    "operator": Operator,
    "punctuation": Punctuation,
}


class WexLexer(RegexLexer):
    """Colours for specs."""

    name = "wex"
    aliases = ("wex", "wex-wrong")
    tokens = {"root": [(pattern, KINDS[kind]) for kind, pattern in TOKENS]}  # noqa: RUF012


class PatternLexer(SqlLexer):
    """Colours for SQL with row patterns, and for Esper's EPL."""

    name = "sql with patterns"
    tokens = {  # noqa: RUF012
        **SqlLexer.tokens,
        "root": [(r"[][{}$^?#\\…]", Punctuation), *SqlLexer.tokens["root"]],
    }


logging.getLogger("wex").setLevel(logging.ERROR)  # unbounded windows are shown on purpose

project = "WEX"
author = "the WEX developers"
copyright = "2026 the WEX developers, Apache License 2.0"  # noqa: A001
version = release = wex.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"WEX {release}"
exclude_patterns = ["_build", "_extensions", "tour.ipynb"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/logo-light.svg"
html_theme_options = {
    "light_logo": "logo-light.svg",
    "dark_logo": "logo-dark.svg",
    "light_css_variables": {"color-brand-primary": "#0072b2", "color-brand-content": "#00609a"},
    "dark_css_variables": {"color-brand-primary": "#56b4e9", "color-brand-content": "#56b4e9"},
}
myst_enable_extensions = ["deflist"]
autodoc_typehints = "signature"
napoleon_google_docstring = False
autodoc_member_order = "bysource"


def setup(app: Sphinx) -> None:
    """Register lexers and directives, and how pages are read."""
    for name, lexer in (
        ("wex", WexLexer),
        ("wex-wrong", WexLexer),
        ("sql", PatternLexer),
        ("epl", PatternLexer),
        ("csv", TextLexer),
    ):
        app.add_lexer(name, lexer)
    app.add_directive("recipe", Recipe)
    app.add_directive("windows", Windows)
    app.add_directive("plot", Plot)
    app.add_directive("drawing", Drawing)
    app.connect("source-read", read_page)


def read_page(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Show the directives of a page in place of what is read without the site."""
    source[0] = for_the_site(source[0])


myst_heading_anchors = 3  # headings that links point to
