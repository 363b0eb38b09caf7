"""The clauses of a MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex.sql.pattern import Pattern, parsed_pattern, variables
from wex.sql.reader import Name, Reader, Token, span_of, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from wex.spec.problems import Span


@dataclass(frozen=True)
class Expression:
    """An expression of the query, with its place; `final` are the places of functions after FINAL."""

    tree: exp.Expr
    span: Span
    running: frozenset[int] = frozenset()
    final: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Measure:
    """A measure and the name of its column."""

    value: Expression
    name: Name


@dataclass(frozen=True)
class Skip:
    """AFTER MATCH SKIP: `past`, `next`, `first` or `last`, the last two with a variable."""

    to: str
    span: Span
    variable: Name | None = None


@dataclass
class Query:
    """A query: the table, the clauses of MATCH_RECOGNIZE, and the columns that are selected."""

    table: Name
    pattern: Pattern
    pattern_span: Span
    partition: list[Name] = field(default_factory=list)
    order: list[Name] = field(default_factory=list)
    measures: list[Measure] = field(default_factory=list)
    all_rows: bool = False
    skip: Skip | None = None
    within: Expression | None = None
    subsets: dict[str, tuple[Name, tuple[Name, ...]]] = field(default_factory=dict)
    definitions: dict[str, tuple[Name, Expression]] = field(default_factory=dict)
    selected: list[tuple[Name, Name]] | None = None  # columns and their new names; None for `*`


CLAUSES = (
    "PARTITION",
    "ORDER",
    "MEASURES",
    "ONE",
    "ALL",
    "AFTER",
    "INITIAL",
    "SEEK",
    "PATTERN",
    "WITHIN",
    "SUBSET",
    "DEFINE",
)


def match_at(reader: Reader, start: int, table: Name) -> tuple[Query, int]:
    """Return the clauses of the MATCH_RECOGNIZE at a token, and where it is closed."""
    tokens = reader.tokens
    end = _closing(tokens, start + 1)
    clauses = _Clauses(reader, tokens[start + 2 : end], tokens[start].span)
    return clauses.query(table), end


def _closing(tokens: Sequence[Token], start: int) -> int:
    """Return where the bracket at `start` is closed; the reader has checked that it is."""
    depth = 0
    for n in range(start, len(tokens)):
        depth += (tokens[n].word in {"(", "[", "{"}) - (tokens[n].word in {")", "]", "}"})
        if depth == 0:
            return n
    raise AssertionError(start)


def is_name(token: Token) -> bool:
    """Tell whether a token can be a name."""
    return token.quoted or (token.text.replace("$", "_").isidentifier() and token.kind != "STRING")


class _Clauses:
    """Reads the clauses, in the order of the standard."""

    def __init__(self, reader: Reader, tokens: Sequence[Token], span: Span) -> None:
        self.reader = reader
        self.tokens = list(tokens)
        self.whole = span
        self.at = 0

    def query(self, table: Name) -> Query:
        partition = self.names("PARTITION", "BY")
        order = self.ordering()
        measures = self.measures()
        all_rows = self.rows_per_match()
        skip = self.skip()
        pattern, span = self.pattern()
        query = Query(table, pattern, span, partition, order, measures, all_rows, skip)
        if self.take("WITHIN"):
            query.within = self.expression(self.until(("SUBSET", "DEFINE")))
        if self.take("SUBSET"):
            self.subsets(query)
        if self.take("DEFINE"):
            self.definitions(query)
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            message = f"unexpected `{token.text}` in MATCH_RECOGNIZE"
            hint = "the order is PARTITION BY, ORDER BY, MEASURES, … PER MATCH, AFTER MATCH, PATTERN, WITHIN, SUBSET, DEFINE"
            self.reader.fail("syntax", token.span, message, hint)
        self.check(query)
        return query

    # --- Tokens

    def words(self, count: int) -> tuple[str, ...]:
        return tuple(token.word for token in self.tokens[self.at : self.at + count])

    def take(self, *words: str) -> bool:
        """Step over some words, if they come next; `PARTITION BY` may be one token."""
        for count in range(1, len(words) + 1):
            text = " ".join(" ".join(self.words(count)).split())
            if text == " ".join(words):
                self.at += count
                return True
        return False

    def until(self, ends: Sequence[str]) -> list[Token]:
        """Return the tokens up to the next clause of the given ones, outside of brackets."""
        start, depth = self.at, 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            depth += (token.word in {"(", "[", "{"}) - (token.word in {")", "]", "}"})
            if (
                depth == 0
                and token.word.partition(" ")[0].partition("\n")[0] in ends
                and self.begins_clause()
            ):
                break
            self.at += 1
        if self.at == start:
            before = self.tokens[start - 1].span if start else self.whole
            self.reader.fail(
                "syntax", before, "this clause is empty", "complete it or leave it out"
            )
        return self.tokens[start : self.at]

    def begins_clause(self) -> bool:
        """Tell whether the next word begins a clause, and is not a column of that name."""
        following = self.tokens[self.at + 1].word if self.at + 1 < len(self.tokens) else ""
        word = self.tokens[self.at].word
        previous = self.tokens[self.at - 1].word if self.at else ""
        if previous in {".", ",", "AS", "("} or following in {".", ",", "="}:
            return False
        needed = {
            "ORDER": {"BY"},
            "ONE": {"ROW"},
            "ALL": {"ROWS"},
            "AFTER": {"MATCH"},
            "PATTERN": {"("},
        }
        return following in needed.get(word, {following})

    # --- Clauses

    def names(self, *words: str) -> list[Name]:
        if not self.take(*words):
            return []
        found = []
        for part in split(self.until(CLAUSES[1:])):
            if len(part) != 1 or not is_name(part[0]):
                span = span_of(part) if part else self.whole
                self.reader.refuse(
                    span,
                    "streams are divided and ordered by columns only",
                    "compute the column before",
                )
            found.append(Name(part[0].text, part[0].span, part[0].quoted))
        return found

    def ordering(self) -> list[Name]:
        if not self.take("ORDER", "BY"):
            return []
        found = []
        for part in split(self.until(CLAUSES[2:])):
            words = [token.word for token in part[1:]]
            if "DESC" in words:
                hint = "order by a column that grows, such as a negated one"
                self.reader.refuse(span_of(part), "a stream has one direction: ascending", hint)
            if (
                not part
                or not is_name(part[0])
                or not set(words) <= {"ASC", "NULLS", "FIRST", "LAST"}
            ):
                span = span_of(part) if part else self.whole
                self.reader.refuse(
                    span, "streams are ordered by columns only", "compute the column before"
                )
            found.append(Name(part[0].text, part[0].span, part[0].quoted))
        return found

    def measures(self) -> list[Measure]:
        if not self.take("MEASURES"):
            return []
        found = []
        for part in split(self.until(CLAUSES[3:])):
            if len(part) < 2 or not is_name(part[-1]):
                span = span_of(part) if part else self.whole
                self.reader.fail(
                    "syntax", span, "a measure needs a name", "write: LAST(a.price) AS price"
                )
            name = Name(part[-1].text, part[-1].span, part[-1].quoted)
            value = part[:-2] if part[-2].word == "AS" else part[:-1]
            if not value:
                self.reader.fail(
                    "syntax",
                    span_of(part),
                    "a measure needs a value",
                    "write: LAST(a.price) AS price",
                )
            found.append(Measure(self.expression(value), name))
        return found

    def rows_per_match(self) -> bool:
        if self.take("ONE", "ROW", "PER", "MATCH"):
            return False
        if not self.take("ALL", "ROWS", "PER", "MATCH"):
            return False
        if self.words(3) == ("WITH", "UNMATCHED", "ROWS"):
            hint = "leave it out, and join the rows of the windows with the table"
            span = span_of(self.tokens[self.at : self.at + 3])
            self.reader.refuse(span, "rows outside of all windows are not part of a result", hint)
        # No match is empty, so both of these mean the same.
        _ = self.take("SHOW", "EMPTY", "MATCHES") or self.take("OMIT", "EMPTY", "MATCHES")
        return True

    def skip(self) -> Skip | None:
        start = self.at
        if not self.take("AFTER", "MATCH", "SKIP"):
            return None
        variable = None
        if self.take("PAST", "LAST", "ROW"):
            to = "past"
        elif self.take("TO", "NEXT", "ROW"):
            to = "next"
        elif self.take("TO"):
            to = "first" if self.take("FIRST") else "last"
            _ = to == "last" and self.take("LAST")
            if self.at < len(self.tokens) and is_name(self.tokens[self.at]):
                token = self.tokens[self.at]
                variable = Name(token.text, token.span, token.quoted)
                self.at += 1
        else:
            to = ""
        span = span_of(self.tokens[start : self.at])
        if to in {"", "first", "last"} and variable is None:
            hint = "write PAST LAST ROW, TO NEXT ROW, TO FIRST a or TO LAST a"
            self.reader.fail("syntax", span, "AFTER MATCH SKIP is incomplete", hint)
        return Skip(to, span, variable)

    def pattern(self) -> tuple[Pattern, Span]:
        for word in ("INITIAL", "SEEK"):
            if self.words(1) == (word,):
                span = self.tokens[self.at].span
                self.reader.refuse(span, f"{word} belongs to patterns in WINDOW", "leave it out")
        if not self.take("PATTERN") or self.words(1) != ("(",):
            token = self.tokens[self.at] if self.at < len(self.tokens) else None
            found = f", found `{token.text}`" if token else ""
            span = token.span if token else self.whole
            self.reader.fail(
                "syntax", span, f"expected PATTERN (…){found}", "write: PATTERN (a b+ c)"
            )
        end = _closing(self.tokens, self.at)
        inner = self.tokens[self.at + 1 : end]
        span = span_of(self.tokens[self.at : end + 1])
        self.at = end + 1
        if not inner:
            self.reader.refuse(
                span,
                "an empty pattern matches no rows, and a window has at least one",
                "name a variable",
            )
        return parsed_pattern(self.reader, inner), span

    def subsets(self, query: Query) -> None:
        for part in split(self.until(("DEFINE",))):
            words = [token.word for token in part]
            members = part[3:-1]
            if (
                len(part) < 5
                or words[1:3] != ["=", "("]
                or words[-1] != ")"
                or not all(map(is_name, members[::2]))
            ):
                self.reader.fail(
                    "syntax",
                    span_of(part) if part else self.whole,
                    "expected a subset",
                    "write: SUBSET u = (a, b)",
                )
            name = Name(part[0].text, part[0].span, part[0].quoted)
            query.subsets[name.key] = (
                name,
                tuple(Name(one.text, one.span, one.quoted) for one in members[::2]),
            )

    def definitions(self, query: Query) -> None:
        for part in split(self.until(())):
            if len(part) < 3 or not is_name(part[0]) or part[1].word != "AS":
                span = span_of(part) if part else self.whole
                self.reader.fail(
                    "syntax",
                    span,
                    "expected a definition",
                    "write: DEFINE up AS price > PREV(price)",
                )
            name = Name(part[0].text, part[0].span, part[0].quoted)
            if name.key in query.definitions:
                self.reader.fail(
                    "duplicate-name",
                    name.span,
                    f"`{name.text}` is defined twice",
                    "join the conditions with AND",
                )
            query.definitions[name.key] = (name, self.expression(part[2:]))

    def expression(self, tokens: Sequence[Token]) -> Expression:
        """Return an expression; RUNNING and FINAL, which sqlglot does not know, are noted apart."""
        kept: list[Token] = []
        noted: dict[str, set[int]] = {"RUNNING": set(), "FINAL": set()}
        for n, token in enumerate(tokens):
            calls = n + 2 < len(tokens) and tokens[n + 2].word == "("
            if token.word in noted and calls and is_name(tokens[n + 1]):
                noted[token.word].add(tokens[n + 1].span.start)
            else:
                kept.append(token)
        tree = self.reader.expression(kept)
        return Expression(
            tree, span_of(tokens), frozenset(noted["RUNNING"]), frozenset(noted["FINAL"])
        )

    # --- Names

    def check(self, query: Query) -> None:
        """Check that definitions and subsets are about variables of the pattern."""
        keys = {one.name.key for one in variables(query.pattern)}
        self.check_case([one.name for one in variables(query.pattern)])
        for name, members in query.subsets.values():
            if name.key in keys:
                self.reader.fail(
                    "duplicate-name",
                    name.span,
                    f"`{name.text}` is a variable, too",
                    "rename the subset",
                )
            for member in members:
                self.known(member, keys)
        for name, _ in query.definitions.values():
            self.known(name, keys)
        if query.skip and query.skip.variable:
            self.known(query.skip.variable, keys | set(query.subsets))

    def check_case(self, names: Sequence[Name]) -> None:
        """Refuse variables that differ in case only where that makes them different."""
        spelled: dict[str, str] = {}
        for name in names:
            first = spelled.setdefault(name.key, name.text)
            if self.reader.dialect == "flink" and first != name.text:
                message = f"`{first}` and `{name.text}` are two variables in Flink"
                self.reader.refuse(name.span, message, "give them names that differ in letters")

    def known(self, name: Name, keys: set[str]) -> None:
        if name.key not in keys:
            message = f"`{name.text}` is not a variable of the pattern"
            self.reader.fail(
                "unknown-name", name.span, message, "the variables are those of PATTERN"
            )
