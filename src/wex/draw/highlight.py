"""Specs in colours: the kinds of tokens that a reader tells apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from wex.spec.vocabulary import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterator

# The kinds of tokens and their patterns, the first that matches; the documentation uses them, too.
TOKENS = (
    ("space", r"\s+"),
    ("comment", r"#.*"),
    ("keyword", rf"\b(?:{'|'.join(sorted(RESERVED))})\b"),
    ("string", r"'(?:[^']|'')*'"),
    ("quoted", r"`[^`]*`"),
    ("number", r"[0-9.]+(?:e[+-]?[0-9]+)?"),
    ("name", r"[^\W\d]\w*"),
    ("operator", r"[-+*/%=<>!|&~?]"),
    ("punctuation", r"[\[\](){},:…]"),
)
TOKEN = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in TOKENS) + "|(?P<other>.)")


def tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a spec, each with its kind.

    >>> [kind for kind, _ in tokens("match [x > 1]") if kind != "space"]
    ['keyword', 'punctuation', 'name', 'operator', 'number', 'punctuation']
    """
    for match in TOKEN.finditer(text):
        yield str(match.lastgroup), match.group()
