"""Statements with MATCH_RECOGNIZE among other parts: joins, filters, subqueries, WITH.

A statement is divided into a text without MATCH_RECOGNIZE, in which each of them is a placeholder
`{match0}`, and the matches themselves, the inner ones first. What surrounds them stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex.sql.reader import Name, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.sql.reader import Reader, Token

OPENING, CLOSING = {"(", "[", "{"}, {")", "]", "}"}
BEFORE_RELATION = {"FROM", "JOIN", ",", "LATERAL"}
MOST_MATCHES = 100


@dataclass(frozen=True)
class Match:
    """One MATCH_RECOGNIZE: its place among the tokens, and the query for the rows that it reads.

    The query may have placeholders of earlier matches.
    """

    at: int
    placeholder: str
    table: Name  # of what it reads
    rows: str


@dataclass
class Statement:
    """A statement: its text with placeholders, and the matches in the order in which they are needed."""

    text: str
    matches: list[Match] = field(default_factory=list)


def statement_of(reader: Reader) -> Statement:
    """Return the parts of a statement; without any MATCH_RECOGNIZE it has no matches."""
    return _Divider(reader).statement()


@dataclass(frozen=True)
class _Common:
    """A table of a WITH clause: the tokens of its definition, from its name to its last bracket."""

    start: int
    end: int


@dataclass(frozen=True)
class _With:
    """A WITH clause, with the tokens of the query to which its tables belong."""

    start: int
    end: int
    tables: tuple[_Common, ...]
    recursive: bool


class _Divider:
    """Divides one statement."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.tokens = list(reader.tokens)
        while self.tokens and self.tokens[-1].word == ";":
            self.tokens.pop()
        for token in self.tokens:
            if token.word == ";":
                message = "this is more than one statement"
                reader.fail("syntax", token.span, message, "run them one after the other")
        self.partner = _partners(self.tokens)
        self.withs = list(self._with_clauses())
        self.matches: list[Match] = []
        self.names: dict[int, str] = {}  # of matches, by their token
        places = [at for at in range(len(self.tokens)) if self._is_match(at)]
        if len(places) > MOST_MATCHES:
            message = f"the statement has {len(places)} MATCH_RECOGNIZE, more than {MOST_MATCHES}"
            span = self.tokens[places[MOST_MATCHES]].span
            reader.fail("too-large", span, message, "divide it, with a view for each part")

    def statement(self) -> Statement:
        return Statement(self.text(0, len(self.tokens)), self.matches)

    # --- Texts

    def text(self, start: int, end: int) -> str:
        """Return the text of some tokens, with placeholders for the matches among them."""
        parts, at = [], start
        for match in self._outer_matches(start, end):
            first = self._relation(match)
            if first > at:
                parts.append(self._plain(at, first))
            parts.append(f"{{{self._placeholder(match, first)}}}")
            at = self.partner[match + 1] + 1
        if at < end:
            parts.append(self._plain(at, end))
        return " ".join(parts)

    def _plain(self, start: int, end: int) -> str:
        """Return the text of tokens; braces are doubled, as a placeholder has single ones."""
        span = span_of(self.tokens[start:end])
        text = self.reader.source.text[span.start : span.end]
        return text.replace("{", "{{").replace("}", "}}")

    def _outer_matches(self, start: int, end: int) -> Iterator[int]:
        """Yield the matches among some tokens that are not in what another one reads."""
        found = [at for at in range(start, end) if self._is_match(at)]
        for at in found:
            if not any(self._relation(other) <= at < other for other in found):
                yield at

    def _is_match(self, at: int) -> bool:
        return (
            self.tokens[at].word == "MATCH_RECOGNIZE"
            and at + 1 < len(self.tokens)
            and self.tokens[at + 1].word == "("
        )

    # --- What a match reads

    def _relation(self, match: int) -> int:
        """Return where the table begins that a match reads."""
        at = match
        while at > 0:
            token = self.tokens[at - 1]
            if token.word in CLOSING:
                at = self.partner[at - 1]
                continue
            if token.word in OPENING or token.word in BEFORE_RELATION:
                break
            at -= 1
        if at == match:
            message = "expected a table before MATCH_RECOGNIZE"
            self.reader.refuse(
                self.tokens[match].span, message, "write FROM table MATCH_RECOGNIZE (…)"
            )
        return at

    def _placeholder(self, match: int, first: int) -> str:
        if match not in self.names:
            tables = self.text(first, match)
            common = self._common_tables(match)
            rows = f"{common}SELECT * FROM {tables}"  # noqa: S608  (a part of the statement itself)
            self.names[match] = f"match{len(self.names)}"
            self.matches.append(Match(match, self.names[match], self._table(match), rows))
        return self.names[match]

    def _table(self, match: int) -> Name:
        """Return the last name of what a match reads, or that of its placeholder."""
        last = self.tokens[match - 1]
        if last.quoted or last.text.isidentifier():
            return Name(last.text, last.span, last.quoted)
        return Name(self.names[match], self.tokens[match].span)

    # --- WITH

    def _common_tables(self, at: int) -> str:
        """Return the WITH clause of all tables that a query at a token may name, or nothing."""
        texts = []
        for clause in self.withs:
            if not clause.start <= at < clause.end:
                continue
            for table in clause.tables:
                if table.start <= at < table.end:
                    if clause.recursive:
                        span = self.tokens[at].span
                        message = "MATCH_RECOGNIZE in a recursive query"
                        self.reader.refuse(span, message, "make a table of what it reads first")
                    break
                texts.append(self.text(table.start, table.end))
        return f"WITH {', '.join(texts)} " if texts else ""

    def _with_clauses(self) -> Iterator[_With]:
        """Yield the WITH clauses, the outer ones first."""
        for at, token in enumerate(self.tokens):
            if token.word != "WITH":
                continue
            opened = next(
                (
                    before
                    for before in range(at - 1, -1, -1)
                    if self.tokens[before].word in OPENING and self.partner[before] > at
                ),
                None,
            )
            end = len(self.tokens) if opened is None else self.partner[opened]
            recursive = at + 1 < end and self.tokens[at + 1].word == "RECURSIVE"
            tables = tuple(self._tables_of(at + 1 + recursive, end))
            if tables:  # otherwise another WITH, as in WITH UNMATCHED ROWS
                yield _With(at, end, tables, recursive)

    def _tables_of(self, at: int, end: int) -> Iterator[_Common]:
        """Yield the tables that are defined from a token on: `name [(columns)] AS (query), …`."""
        while at < end:
            start = at
            while at < end and self.tokens[at].word != "AS":
                at = self.partner[at] + 1 if self.tokens[at].word in OPENING else at + 1
                if at - start > 1 and self.tokens[at - 1].word not in CLOSING:
                    return
            at += 1
            while at < end and self.tokens[at].word in {"NOT", "MATERIALIZED"}:
                at += 1
            if at >= end or self.tokens[at].word != "(":
                return
            at = self.partner[at] + 1
            yield _Common(start, at)
            if at >= end or self.tokens[at].word != ",":
                return
            at += 1


def _partners(tokens: Sequence[Token]) -> dict[int, int]:
    """Return for each bracket the one that belongs to it; the reader has checked that there is one."""
    partner: dict[int, int] = {}
    opened: list[int] = []
    for at, token in enumerate(tokens):
        if token.word in OPENING:
            opened.append(at)
        elif token.word in CLOSING:
            partner[at], partner[opened[-1]] = opened[-1], at
            opened.pop()
    return partner
