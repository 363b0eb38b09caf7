"""The parser: from the text of a spec to its syntax tree.

The text is split into tokens, and the tokens into items. Every item begins with a keyword that
occurs nowhere else, so a mistake in one item leaves the others readable, and all mistakes can be
reported at once.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, TypeVar

from wex.spec import syntax_errors, tree
from wex.spec.parser_cache import cached_parser
from wex.spec.problems import Source, Span
from wex.spec.tree_builder import TreeBuilder
from wex.spec.vocabulary import CLOSES, OPENS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lark import Lark, Token
    from lark.parsers.lalr_interactive_parser import InteractiveParser

    from wex.spec.problems import Problems

ITEM_WORDS = ("STREAM", "LET", "ASSUME", "WINDOW")
TERMS = frozenset(["NAME", "QUOTED", "STRING", "ANY", "TRUE", "FALSE", "TILDE", "NOT"])
MOST_BAD_CHARACTERS = 10
FIRST_STREAM = "begin with a stream: stream trades (symbol string, ts timestamp, price real)"


@dataclass(frozen=True)
class Draft:
    """The readable part of a text. Without a spec nothing more can be checked."""

    spec: tree.Spec | None
    broken: frozenset[str]  # names of lets that have syntax errors


@cache
def grammar() -> Lark:
    """Return the parser generated from grammar.lark."""
    text = resources.files("wex.spec").joinpath("grammar.lark").read_text("utf-8")
    return cached_parser(text, start="item", lexer="basic", propagate_positions=True)


def read(source: Source, problems: Problems) -> Draft:
    """Return the items of a text that can be parsed, and note the mistakes in the others."""
    tokens = _tokens(source, problems)
    if problems.diagnostics:
        return Draft(None, frozenset())
    if not tokens:
        problems.add(
            "empty-spec",
            Span(0, 0),
            "this spec is empty",
            FIRST_STREAM,
        )
        return Draft(None, frozenset())

    chunks = list(_chunks(tokens))
    if _too_large(chunks, problems):
        return Draft(None, frozenset())
    declared = syntax_errors.declared_names(tokens)
    items: list[tree.Item] = []
    broken: set[str] = set()
    stream_broken = False
    for chunk in chunks:
        item = _read_item(chunk, declared, problems)
        if item is not None:
            items.append(item)
        elif chunk[0].type not in ("LET", "ASSUME", "WINDOW"):
            stream_broken = True  # this was the stream, or was meant to be
        elif chunk[0].type == "LET" and len(chunk) > 1:
            broken.add(syntax_errors.name_of(chunk[1]))
    if stream_broken and not _of(tree.Stream, items):
        return Draft(None, frozenset())  # without the stream every name would be unknown
    return Draft(_assemble(items, source, problems), frozenset(broken))


def _tokens(source: Source, problems: Problems) -> list[Token]:
    """Return the tokens of a text; note and skip characters that begin no token."""
    from lark import UnexpectedCharacters  # noqa: PLC0415

    text = source.text
    while True:
        try:
            return list(grammar().lex(text))
        except UnexpectedCharacters as error:
            assert error.pos_in_stream is not None
            offset = error.pos_in_stream
            before = list(grammar().lex(text[:offset]))
            bad = syntax_errors.explain_character(offset, before, problems)
            if len(problems.diagnostics) >= MOST_BAD_CHARACTERS:
                return []
            text = text[: bad.start] + " " * (bad.end - bad.start) + text[bad.end :]


def _chunks(tokens: list[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each item: a new one begins at every item keyword."""
    begins = [index for index, token in enumerate(tokens) if token.type in ITEM_WORDS]
    borders = [0, *(index for index in begins if index), len(tokens)]
    for begin, end in itertools.pairwise(borders):
        yield tokens[begin:end]


def _too_large(chunks: list[list[Token]], problems: Problems) -> bool:
    """Note the item with which a spec becomes too large, before seconds are spent on parsing it."""
    total = 0
    for chunk in chunks:
        if chunk[0].type == "STREAM":
            continue
        terms = _least_terms(chunk)
        total += terms if chunk[0].type != "LET" else 0
        if max(terms, total) > tree.MAX_TERMS:
            problems.add(
                "too-large",
                syntax_errors.span_of(chunk[0]),
                f"with this item the spec has more than {tree.MAX_TERMS:,} terms",
                "use counts: `any{1000}` is one term",
            )
            return True
    return False


def _least_terms(chunk: list[Token]) -> int:
    """Return a lower bound for the number of terms of an item, from its tokens alone."""
    terms = 0
    before: tuple[str, str] = ("", "")
    for token, following in zip(chunk, [*chunk[1:], ""], strict=True):
        if token.type == "NUMBER":  # unless it is an index or a count
            terms += "[" not in before and "{" not in before and following != "}"
        else:
            terms += token.type in TERMS
        before = (before[1], token)
    return terms


def _read_item(
    chunk: list[Token], declared: frozenset[str], problems: Problems
) -> tree.Item | None:
    """Return the node of one item, or None if it has a syntax error or is nested too deeply."""
    from lark import UnexpectedInput  # noqa: PLC0415

    machine: InteractiveParser = grammar().parse_interactive("", start="item")
    fed = 0
    try:
        for token in chunk:
            machine.feed_token(token)
            fed += 1
        parsed = machine.feed_eof(chunk[-1])  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        unexpected = chunk[fed] if fed < len(chunk) else None
        expected = frozenset(machine.accepts())  # type: ignore[no-untyped-call]
        place = syntax_errors.Place(chunk, chunk[:fed], unexpected, expected, declared)
        syntax_errors.explain_token(place, problems)
        return None
    item = TreeBuilder(problems).build(parsed)
    deep = tree.deeper_than(tree.MAX_DEPTH, item) or _deep_bracket(chunk)
    if deep is not None:
        problems.add(
            "too-deep",
            deep,
            f"this is nested more than {tree.MAX_DEPTH} levels deep",
            "remove brackets, or name inner parts with `let`",
        )
        return None
    return item


def _deep_bracket(chunk: list[Token]) -> Span | None:
    """Return the first bracket that is nested too deeply, including redundant brackets."""
    depth = 0
    for token in chunk:
        depth += (token in OPENS) - (token in CLOSES)
        if depth > tree.MAX_DEPTH:
            return syntax_errors.span_of(token)
    return None


def _assemble(items: list[tree.Item], source: Source, problems: Problems) -> tree.Spec | None:
    streams = _of(tree.Stream, items)
    if len(streams) != 1:
        problems.add(
            "stream-count",
            streams[1].name if streams else Span(0, 0),
            "expected one `stream`, found a second one" if streams else "this spec has no `stream`",
            "put every stream in a spec of its own" if streams else FIRST_STREAM,
        )
        return None
    return tree.Spec(
        streams[0],
        _of(tree.Let, items),
        _of(tree.Assume, items),
        _of(tree.Window, items),
        _of(tree.Rate, items),
        span=Span(0, len(source.text)),
        source=source,
    )


Kind = TypeVar("Kind", tree.Stream, tree.Let, tree.Assume, tree.Window, tree.Rate)


def _of(kind: type[Kind], items: list[tree.Item]) -> tuple[Kind, ...]:
    return tuple(item for item in items if isinstance(item, kind))
