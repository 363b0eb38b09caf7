"""The tokens of a SQL text, its expressions as trees of sqlglot, and errors with their places.

sqlglot knows the quotes, comments and literals of each dialect. It is an optional dependency: only
modules of this package import it, and they are imported when a query is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError, TokenError

from wex import limits
from wex.errors import SpecError, WexError, did_you_mean
from wex.spec.problems import CODES, Source, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

# The dialects, and the one of sqlglot whose tokens each of them has. Flink writes names in
# backticks and strings as the standard does, which of those dialects only SQLite reads.
DIALECTS = {
    "standard": "",
    "flink": "sqlite",
    "trino": "trino",
    "oracle": "oracle",
    "snowflake": "snowflake",
    "databricks": "databricks",
    "spark": "spark",
}
DEEPEST = 24  # nesting: sqlglot's parser takes some 20 Python frames for a parenthesis
DEEPEST_TREE = 100  # chains of AND and OR count once
MOST_TOKENS = 50_000
_OPEN = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """A token: its text without quotes, its kind, and its place; `raw` is sqlglot's."""

    text: str
    kind: str
    span: Span
    raw: Any

    @property
    def word(self) -> str:
        """Return the text in upper case if it is a bare word or symbol, else nothing."""
        return "" if self.quoted or self.kind == "STRING" else self.text.upper()

    @property
    def quoted(self) -> bool:
        """Tell whether this is a name in quotes."""
        return self.kind == "IDENTIFIER"


@dataclass(frozen=True)
class Name:
    """A name in a query; without quotes its case does not matter."""

    text: str
    span: Span
    quoted: bool = False

    @property
    def key(self) -> str:
        """Return the name as SQL compares it."""
        return self.text if self.quoted else self.text.upper()


class Reader:
    """A SQL text with its tokens."""

    def __init__(self, text: str, dialect: str, name: str) -> None:
        self.source = Source(text, name)
        self.dialect = dialect
        self.tokens = self._tokenized(_dialect(dialect))
        self._check_brackets()

    # --- Errors

    def fail(self, code: str, span: Span, message: str, hint: str) -> NoReturn:
        """Raise a SpecError that points at a place in the query."""
        assert code in CODES, code
        raise SpecError([self.source.diagnostic(span, code, message, hint)])

    def refuse(self, span: Span, message: str, hint: str) -> NoReturn:
        """Raise the error for a part of the query that WEX cannot say."""
        self.fail("sql", span, message, hint)

    # --- Tokens

    def _tokenized(self, dialect: Dialect) -> list[Token]:

        text = self.source.text
        limits.require("spec_bytes", len(text), f"the size of {self.source.name} in characters")
        try:
            raws = dialect.tokenize(text)
        except (TokenError, RecursionError):
            span = Span(_unclosed(text), len(text))
            self.fail(
                "quote",
                span,
                "this text cannot be divided into tokens",
                "close every quote and comment",
            )
        if len(raws) > MOST_TOKENS:
            message = f"the query has {len(raws):,} tokens, more than {MOST_TOKENS:,}"
            self.fail("too-large", Span(0, 1), message, "translate a smaller query")
        return [
            Token(raw.text, raw.token_type.name, Span(raw.start, raw.end + 1), raw) for raw in raws
        ]

    def _check_brackets(self) -> None:
        """Check that brackets match and are not nested too deeply."""
        opened: list[Token] = []
        for token in self.tokens:
            if token.word in _OPEN:
                opened.append(token)
                if len(opened) > DEEPEST:
                    message = f"brackets are nested more than {DEEPEST} deep"
                    self.fail("too-deep", token.span, message, "write a simpler expression")
            elif token.word in _OPEN.values():
                if not opened or _OPEN[opened[-1].word] != token.word:
                    message = f"`{token.word}` closes nothing"
                    self.fail("bracket", token.span, message, "open it, or remove it")
                opened.pop()
        if opened:
            message = f"`{opened[-1].word}` is never closed"
            self.fail(
                "bracket", opened[-1].span, message, f"close it with `{_OPEN[opened[-1].word]}`"
            )

    def closed(self, span: Span) -> Span:
        """Return a place that is extended to the brackets that it opens."""
        depth = 0
        for token in self.tokens:
            if token.span.start < span.start:
                continue
            if token.span.start >= span.end and (depth <= 0 and token.word != "("):
                break
            depth += (token.word in _OPEN) - (token.word in _OPEN.values())
            if token.span.start >= span.end:
                span = Span(span.start, token.span.end)
                if depth <= 0:
                    break
        return span

    # --- Expressions

    def expression(self, tokens: Sequence[Token]) -> exp.Expr:
        """Return the tree of an expression, which is all of some tokens.

        The tokens are those of the dialect, but functions are read as the standard's: Spark's own
        LAST(x, 1) ignores NULL, and its parser drops the 1 of a row pattern.
        """
        _check_operators(self, tokens)
        span = span_of(tokens)
        try:
            raws = [token.raw for token in tokens]
            parser = _dialect("standard").parser()
            parsed = parser.parse_into(exp.Condition, raws, self.source.text)
        except (
            SqlglotError,
            RecursionError,
            ValueError,
            KeyError,
            AttributeError,
            TypeError,
            IndexError,
        ):
            parsed = []
        if len(parsed) != 1 or parsed[0] is None:
            self.fail(
                "syntax",
                span,
                "this is not an expression of SQL",
                "look for a missing operator, comma or parenthesis",
            )
        tree: exp.Expr = parsed[0]
        for node in tree.walk():
            self._check_options(node, span)
        if _depth(tree) > DEEPEST_TREE:
            message = f"operators are nested more than {DEEPEST_TREE} deep"
            self.fail("too-deep", span, message, "write a simpler expression")
        return tree

    def _check_options(self, node: exp.Expr, span: Span) -> None:
        """Refuse options of a node that the translation would overlook, such as IGNORE NULLS."""
        known = _OPTIONS.get(type(node))
        given = {key for key, value in node.args.items() if value not in (None, False, [])}
        if known is not None and given - known:
            place = place_of(node, span)
            message = (
                f"this has an option that WEX does not know: {', '.join(sorted(given - known))}"
            )
            self.refuse(place, message, "leave it out")


def _options(*names: str) -> frozenset[str]:
    return frozenset(names)


_ONE, _TWO = _options("this"), _options("this", "expression")
_OPTIONS: dict[type[exp.Expr], frozenset[str]] = {
    exp.Column: _options("this", "table", "db", "catalog"),
    exp.Anonymous: _options("this", "expressions"),
    exp.Like: _options("this", "expression", "negate"),
    exp.Between: _options("this", "low", "high"),
    exp.In: _options("this", "expressions", "query"),
    exp.Case: _options("this", "ifs", "default"),
    exp.If: _options("this", "true", "false"),
    exp.Coalesce: _options("this", "expressions", "is_nvl", "is_null"),
    exp.Cast: _options("this", "to", "_type"),
    exp.Interval: _options("this", "unit"),
    exp.Count: _options("this", "big_int"),
    exp.Distinct: _options("expressions"),
    exp.Div: _options("this", "expression", "typed", "safe"),
    **dict.fromkeys(
        (exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Abs, exp.Neg, exp.Not, exp.Paren), _ONE
    ),
    **dict.fromkeys((exp.Stddev, exp.StddevSamp, exp.Variance, exp.Median), _ONE),
    **dict.fromkeys((exp.Year, exp.Month, exp.Day, exp.Hour, exp.Minute, exp.ArrayAgg), _ONE),
    **dict.fromkeys((exp.First, exp.Last, exp.Add, exp.Sub, exp.Mul, exp.Mod), _TWO),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _TWO),
    **dict.fromkeys((exp.Is, exp.Escape, exp.Extract, exp.NullSafeEQ, exp.NullSafeNEQ), _TWO),
}


def _check_operators(reader: Reader, tokens: Sequence[Token]) -> None:
    """Check that no row of signs or NOTs, nor nested CASEs, is too deep for sqlglot's parser."""
    signs = cases = 0
    for token in tokens:
        signs = signs + 1 if token.word in {"-", "+", "NOT", "~"} else 0
        cases += {"CASE": 1, "END": -1}.get(token.word, 0)
        if max(signs, cases) > DEEPEST:
            message = f"operators are nested more than {DEEPEST} deep"
            reader.fail("too-deep", token.span, message, "write a simpler expression")


def _depth(tree: exp.Expr) -> int:
    """Return how deep a tree is, without recursion; a chain of one connector is one level."""
    deepest, todo = 0, [(tree, 1)]
    while todo:
        node, depth = todo.pop()
        deepest = max(deepest, depth)
        for child in node.iter_expressions():
            chained = isinstance(node, exp.Connector) and type(child) is type(node)
            todo.append((child, depth if chained else depth + 1))
    return deepest


def span_of(tokens: Sequence[Token]) -> Span:
    """Return the place of some tokens."""
    return Span(tokens[0].span.start, tokens[-1].span.end)


def place_of(node: exp.Expr, otherwise: Span) -> Span:
    """Return the place of a tree: from the first to the last token that sqlglot has kept."""
    starts, ends = [], []
    for part in node.walk():
        if "start" in part.meta:
            starts.append(part.meta["start"])
            ends.append(part.meta["end"] + 1)
    return Span(min(starts), max(ends)) if starts else otherwise


def split(tokens: Sequence[Token], separator: str = ",") -> list[list[Token]]:
    """Return the parts of some tokens between separators outside of brackets."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.word in _OPEN) - (token.word in _OPEN.values())
        if depth == 0 and token.word == separator:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def known_dialect(dialect: str) -> str:
    """Return the name of a dialect, or raise a WexError if there is none of this name."""
    name = str(dialect).lower()
    if name not in DIALECTS:
        hint = did_you_mean(str(dialect), DIALECTS, "the dialects are")
        raise WexError("unknown-dialect", f"there is no dialect called `{dialect}`", hint)
    return name


def _dialect(name: str) -> Dialect:
    return Dialect.get_or_raise(DIALECTS[name] or None)


def _unclosed(text: str) -> int:
    """Return where the last quote or comment begins, one of which is never closed."""
    return max(0, *(text.rfind(sign) for sign in ("'", '"', "`", "/*")))
