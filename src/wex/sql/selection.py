"""Queries that are nothing but a MATCH_RECOGNIZE: its table, and the columns that are selected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec.problems import Span
from wex.sql.query import is_name, match_at
from wex.sql.reader import Name, Reader, Token, span_of, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.sql.query import Query


def parsed_query(reader: Reader) -> Query:
    """Return the clauses of a query."""
    tokens = reader.tokens
    starts = [n for n, token in enumerate(tokens) if token.word == "MATCH_RECOGNIZE"]
    if len(starts) != 1:
        span = tokens[starts[1]].span if starts else Span(0, 1)
        message = f"expected one MATCH_RECOGNIZE, found {len(starts)}"
        reader.fail(
            "syntax",
            span,
            message,
            "translate one pattern at a time: FROM table MATCH_RECOGNIZE (…)",
        )
    start = starts[0]
    if start + 1 >= len(tokens) or tokens[start + 1].word != "(":
        reader.fail(
            "syntax",
            tokens[start].span,
            "MATCH_RECOGNIZE has no clauses",
            "write them in parentheses",
        )
    query, end = match_at(reader, start, _table(reader, tokens[:start]))
    alias = _alias(reader, tokens[end + 1 :])
    query.selected = _selected(reader, tokens[:start], alias)
    return query


def _table(reader: Reader, tokens: Sequence[Token]) -> Name:
    """Return the table before MATCH_RECOGNIZE: the last name after FROM."""
    froms = [n for n, token in enumerate(tokens) if token.word == "FROM"]
    named = tokens[froms[-1] + 1 :] if froms else tokens
    dotted = [token for n, token in enumerate(named) if n % 2 == 0]
    good = len(named) % 2 == 1 and all(token.word == "." for token in named[1::2])
    if not good or not all(is_name(token) for token in dotted):
        span = span_of(named) if named else Span(0, 1)
        message = "expected a table before MATCH_RECOGNIZE"
        reader.refuse(
            span,
            message,
            "make a view or a table of anything else: joins, filters and subqueries stay in SQL",
        )
    return Name(named[-1].text, named[-1].span, named[-1].quoted)


def _alias(reader: Reader, tokens: Sequence[Token]) -> str:
    """Return the alias behind MATCH_RECOGNIZE, and refuse everything else that follows."""
    rest = [token for token in tokens if token.word != ";"]
    if rest and rest[0].word == "AS":
        rest = rest[1:]
    if len(rest) > 1 or (
        rest and (not is_name(rest[0]) or rest[0].word in {"WHERE", "ORDER", "LIMIT"})
    ):
        span = span_of(
            rest[1:]
            if is_name(rest[0]) and len(rest) > 1 and rest[0].word not in {"WHERE"}
            else rest
        )
        message = "what follows MATCH_RECOGNIZE is not part of the pattern"
        reader.refuse(span, message, "apply it to the windows that are found: they are a table")
    return Name(rest[0].text, rest[0].span, rest[0].quoted).key if rest else ""


def _selected(
    reader: Reader, tokens: Sequence[Token], alias: str
) -> list[tuple[Name, Name]] | None:
    """Return the columns between SELECT and FROM; None for all."""
    froms = [n for n, token in enumerate(tokens) if token.word == "FROM"]
    if not froms:
        return None
    if tokens[0].word != "SELECT" or len(froms) > 1:
        reader.refuse(
            tokens[0].span,
            "expected SELECT … FROM table MATCH_RECOGNIZE (…)",
            "make views of other queries",
        )
    parts = split(tokens[1 : froms[0]])
    chosen = []
    for part in parts:
        words = [token.word for token in part]
        if words[-1:] == ["*"] and len(words) in {1, 3}:
            return (
                None
                if len(parts) == 1
                else reader.refuse(span_of(part), "`*` beside other columns", "name the columns")
            )
        column = part[2:] if words[1:2] == ["."] else part
        names = [token for token in column if token.word != "AS"]
        qualified = (
            words[1:2] != ["."] or Name(part[0].text, part[0].span, part[0].quoted).key == alias
        )
        if not qualified or len(names) not in {1, 2} or not all(map(is_name, names)):
            span = span_of(part) if part else tokens[0].span
            reader.refuse(
                span,
                "expected a column of the result",
                "compute with the windows that are found: they are a table",
            )
        old, new = names[0], names[-1]
        chosen.append((Name(old.text, old.span, old.quoted), Name(new.text, new.span, new.quoted)))
    return chosen
