"""Settings of the documentation."""

from __future__ import annotations

from pygments.lexer import RegexLexer, words
from pygments.lexers.special import TextLexer
from pygments.lexers.sql import SqlLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

import wex
from wex.spec.vocabulary import RESERVED


class WexLexer(RegexLexer):
    """Colours for specs."""

    name = "wex"
    aliases = ("wex", "wex-wrong")
    tokens = {  # noqa: RUF012
        "root": [
            (r"\s+", Text),
            (r"#.*", Comment),
            (words(sorted(RESERVED), prefix=r"\b", suffix=r"\b"), Keyword),
            (r"'(?:[^']|'')*'", String),
            (r"`[^`]*`", Name.Variable),
            (r"[0-9.]+(?:e[+-]?[0-9]+)?", Number),
            (r"[^\W\d]\w*", Name),
            (r"[-+*/%=<>!|&~?]", Operator),
            (r"[\[\](){},:…]", Punctuation),
        ]
    }


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
exclude_patterns = ["_build"]
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
