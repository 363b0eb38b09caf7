"""Settings of the documentation."""

from __future__ import annotations

from pygments.lexer import RegexLexer
from pygments.lexers.special import TextLexer
from pygments.lexers.sql import SqlLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

import wex
from wex.draw.highlight import TOKENS

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


project = "WEX"
author = "the WEX developers"
version = release = wex.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = f"WEX {release}"
exclude_patterns = ["_build", "tour.ipynb"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"


def setup(app: object) -> None:
    """Register the lexers."""
    app.add_lexer("wex", WexLexer)  # type: ignore[attr-defined]
    app.add_lexer("wex-wrong", WexLexer)  # type: ignore[attr-defined]
    app.add_lexer("sql", PatternLexer)  # type: ignore[attr-defined]
    app.add_lexer("epl", PatternLexer)  # type: ignore[attr-defined]
    app.add_lexer("csv", TextLexer)  # type: ignore[attr-defined]


myst_heading_anchors = 3  # headings that links point to
