"""From text to the syntax tree.

Tokens first, then item by item: every item begins with a word that occurs nowhere else, so a
mistake in one item leaves the others readable, and all mistakes can be told at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

from wex.spec import syntax_errors as mistakes
from wex.spec import tree
from wex.spec.parser_cache import kept_parser
from wex.spec.problems import Source, Span
from wex.spec.tree_builder import Building
from wex.spec.vocabulary import CLOSES, OPENS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lark import Lark, Token
    from lark.parsers.lalr_interactive_parser import InteractiveParser

    from wex.spec.problems import Problems

ITEM_WORDS = ("STREAM", "LET", "ASSUME", "WINDOW")
TERMS = frozenset(["NAME", "QUOTED", "STRING", "ANY", "TRUE", "FALSE", "TILDE", "NOT"])
MOST_BAD_CHARACTERS = 10


@dataclass(frozen=True)
class Draft:
    """What could be read; without a spec nothing more can be checked."""

    spec: tree.Spec | None
    broken: frozenset[str]  # names that lets with mistakes would have declared


@cache
def grammar() -> Lark:
    """Return the parser generated from grammar.lark."""
    text = resources.files("wex.spec").joinpath("grammar.lark").read_text("utf-8")
    return kept_parser(text, start="item", lexer="basic", propagate_positions=True)


def read(source: Source, problems: Problems) -> Draft:
    """Read a spec as far as it goes, and note what is wrong with the rest."""
    tokens = _tokens(source, problems)
    if problems.found:
        return Draft(None, frozenset())
    if not tokens:
        problems.add(
            "empty-spec",
            Span(0, 0),
            "this spec is empty",
            "begin with the stream: stream trades (symbol string, ts timestamp, price real)",
        )
        return Draft(None, frozenset())

    chunks = list(_chunks(tokens))
    if _too_large(chunks, problems):
        return Draft(None, frozenset())
    declared = mistakes.declared_names(tokens)
    items: list[tree.Item] = []
    broken: set[str] = set()
    stream_found = True
    for chunk in chunks:
        item = _read_item(chunk, declared, problems)
        if item is not None:
            items.append(item)
        elif chunk[0].type not in ("LET", "ASSUME", "WINDOW"):
            stream_found = False  # this was it, or was meant to be
        elif chunk[0].type == "LET" and len(chunk) > 1:
            broken.add(mistakes.name_of(chunk[1]))
    if not stream_found and not _of(tree.Stream, items):
        return Draft(None, frozenset())  # without the stream every name would be unknown
    return Draft(_assemble(items, source, problems), frozenset(broken))


def _tokens(source: Source, problems: Problems) -> list[Token]:
    """Return the tokens of a text; characters that begin none are noted and passed over."""
    from lark import UnexpectedCharacters  # noqa: PLC0415

    text = source.text
    while True:
        try:
            return list(grammar().lex(text))
        except UnexpectedCharacters as error:
            assert error.pos_in_stream is not None
            at = error.pos_in_stream
            bad = mistakes.explain_character(at, list(grammar().lex(text[:at])), problems)
            if len(problems.found) >= MOST_BAD_CHARACTERS:
                return []
            text = text[: bad.start] + " " * (bad.end - bad.start) + text[bad.end :]


def _chunks(tokens: list[Token]) -> Iterator[list[Token]]:
    """Cut the tokens in front of every word that begins an item."""
    begins = [index for index, token in enumerate(tokens) if token.type in ITEM_WORDS]
    borders = [0, *(index for index in begins if index), len(tokens)]
    for begin, end in itertools.pairwise(borders):
        yield tokens[begin:end]


def _too_large(chunks: list[list[Token]], problems: Problems) -> bool:
    """Note the item with which a spec is too large, before seconds are spent on its syntax."""
    total = 0
    for chunk in chunks:
        if chunk[0].type == "STREAM":
            continue
        terms = _least_terms(chunk)
        total += terms if chunk[0].type != "LET" else 0
        if max(terms, total) > tree.MAX_TERMS:
            problems.add(
                "too-large",
                mistakes.span_of(chunk[0]),
                f"the spec has more than {tree.MAX_TERMS:,} terms here",
                "say it with fewer: counts such as `any{1000}` are one term",
            )
            return True
    return False


def _least_terms(chunk: list[Token]) -> int:
    """Return how many terms an item has at least, as far as its tokens tell."""
    found = 0
    ends = [*chunk[1:], ""]
    before: tuple[str, str] = ("", "")
    for token, following in zip(chunk, ends, strict=True):
        if token.type == "NUMBER":  # neither an index nor a count
            found += "[" not in before and "{" not in before and following != "}"
        else:
            found += token.type in TERMS
        before = (before[1], token)
    return found


def _read_item(
    chunk: list[Token], declared: frozenset[str], problems: Problems
) -> tree.Item | None:
    """Return the node of one item, or None when it has a mistake that hides what it says."""
    from lark import UnexpectedInput  # noqa: PLC0415

    machine: InteractiveParser = grammar().parse_interactive("", start="item")
    fed = 0
    try:
        for token in chunk:
            machine.feed_token(token)
            fed += 1
        recognised = machine.feed_eof(chunk[-1])  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        at = chunk[fed] if fed < len(chunk) else None
        expected = frozenset(machine.accepts())  # type: ignore[no-untyped-call]
        place = mistakes.Place(chunk, chunk[:fed], at, expected, declared)
        mistakes.explain_token(place, problems)
        return None
    item = Building(problems).build(recognised)
    deep = tree.deeper_than(tree.MAX_DEPTH, item) or _deep_bracket(chunk)
    if deep is not None:
        problems.add(
            "too-deep",
            deep,
            f"expressions are nested more than {tree.MAX_DEPTH} levels deep here",
            "take brackets away, or name inner parts with `let`",
        )
        return None
    return item


def _deep_bracket(chunk: list[Token]) -> Span | None:
    """Return where brackets are nested too deeply, be they needed or not."""
    depth = 0
    for token in chunk:
        depth += (token in OPENS) - (token in CLOSES)
        if depth > tree.MAX_DEPTH:
            return mistakes.span_of(token)
    return None


def _assemble(items: list[tree.Item], source: Source, problems: Problems) -> tree.Spec | None:
    streams = _of(tree.Stream, items)
    if len(streams) != 1:
        where = streams[1].name if streams else Span(0, 0)
        problems.add(
            "stream-count",
            where,
            "a spec speaks about one stream" if streams else "this spec has no `stream`",
            "put other streams into specs of their own"
            if streams
            else "begin with the stream: stream trades (symbol string, ts timestamp, price real)",
        )
        return None
    return tree.Spec(
        streams[0],
        _of(tree.Let, items),
        _of(tree.Assume, items),
        _of(tree.Window, items),
        span=Span(0, len(source.text)),
        source=source,
    )


Kind = TypeVar("Kind", tree.Stream, tree.Let, tree.Assume, tree.Window)


def _of(kind: type[Kind], items: list[tree.Item]) -> tuple[Kind, ...]:
    return tuple(item for item in items if isinstance(item, kind))
