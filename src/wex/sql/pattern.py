"""The PATTERN of a query: its tree, its parser, and the forms that WEX needs of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import permutations
from math import factorial
from typing import TYPE_CHECKING

from wex.sql.reader import Name, Reader, Token, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.spec.problems import Span

MOST_PERMUTED = 5  # 120 orders
LARGEST_COUNT = 1_000
MOST_VARIABLES = 100  # occurrences, permutations written out


@dataclass(frozen=True)
class Pattern:
    """A part of a pattern."""


@dataclass(frozen=True)
class Variable(Pattern):
    """One row that satisfies the definition of a variable."""

    name: Name
    excluded: bool = False


@dataclass(frozen=True)
class Concatenation(Pattern):
    """Parts one after the other; none is the empty sequence."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Choice(Pattern):
    """One of several parts, the first preferred."""

    parts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Repeat(Pattern):
    """A part, repeated; `most` is None without an upper bound."""

    part: Pattern
    least: int
    most: int | None
    reluctant: bool
    span: Span


@dataclass(frozen=True)
class Anchor(Pattern):
    """`^` or `$`."""

    sign: str
    span: Span


def parsed_pattern(reader: Reader, tokens: Sequence[Token]) -> Pattern:
    """Return the tree of a pattern."""
    parser = _Parser(reader, tokens)
    tree = parser.choice()
    if parser.next is not None:
        parser.unexpected()
    parser.check_size(_size(tree), span_of(tokens))
    return tree


class _Parser:
    """A parser by recursive descent. The reader has checked that brackets are not too deep."""

    def __init__(self, reader: Reader, tokens: Sequence[Token]) -> None:
        self.reader = reader
        self.tokens = list(_characters(tokens))
        self.whole = span_of(tokens)
        self.at = 0
        self.excluded = False

    @property
    def next(self) -> Token | None:
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def sign(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place].word if place < len(self.tokens) else ""

    def take(self) -> Token:
        if self.next is None:
            message = "the pattern ends too early"
            self.reader.fail(
                "syntax",
                self.tokens[-1].span if self.tokens else self.whole,
                message,
                "complete it",
            )
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, sign: str) -> Token:
        if self.sign() != sign:
            self.unexpected()
        return self.take()

    def unexpected(self) -> None:
        token = self.take()
        message = f"unexpected `{token.text}` in the pattern"
        hint = "a pattern has variables, ( ) | * + ? {m,n} ^ $ PERMUTE(…) and {- … -}"
        self.reader.fail("syntax", token.span, message, hint)

    def choice(self) -> Pattern:
        parts = [self.sequence()]
        while self.sign() == "|":
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def sequence(self) -> Pattern:
        parts = []
        while self.next is not None and self.sign() not in {"|", ")", ",", "-"}:
            parts.append(self.repeat())
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def repeat(self) -> Pattern:
        start = self.next
        part = self.primary()
        assert start is not None
        while (bounds := self.bounds()) is not None:
            reluctant = self.sign() == "?"
            if reluctant:
                self.take()
            span = span_of([start, self.tokens[self.at - 1]])
            if isinstance(part, Anchor | Repeat):
                message = "a quantifier cannot follow another one, nor an anchor"
                self.reader.fail("syntax", span, message, "put the part in parentheses")
            part = Repeat(part, *bounds, reluctant, span)
        return part

    def bounds(self) -> tuple[int, int | None] | None:
        signs: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if self.sign() in signs:
            return signs[self.take().word]
        if self.sign() != "{" or self.sign(1) == "-":
            return None
        start = self.take()
        least, most = self.number(), None
        if self.sign() == ",":
            self.take()
            most = self.number()
        else:
            most = least
        end = self.expect("}")
        if (
            (least is None and most is None)
            or (most is not None and most < (least or 0))
            or most == 0
        ):
            message = "these counts cannot be met" if most is not None else "a count is missing"
            self.reader.fail(
                "counts-reversed", span_of([start, end]), message, "write {2}, {2,}, {,5} or {2,5}"
            )
        return least or 0, most

    def number(self) -> int | None:
        if self.next is None or not self.next.text.isascii() or not self.next.text.isdigit():
            return None
        token = self.take()
        value = int(token.text) if len(token.text) < 6 else LARGEST_COUNT + 1
        if value > LARGEST_COUNT:
            message = f"{token.text} is more than {LARGEST_COUNT:,}"
            self.reader.fail("count-too-large", token.span, message, "use a smaller count")
        return value

    def primary(self) -> Pattern:
        token = self.take()
        if token.word in {"^", "$"}:
            return Anchor(token.word, token.span)
        if token.word == "(":
            inner = self.choice()
            self.expect(")")
            return Concatenation((inner,)) if isinstance(inner, Repeat) else inner
        if token.word == "{" and self.sign() == "-":
            return self.exclusion()
        if token.word == "PERMUTE" and self.sign() == "(":
            return self.permutation(token)
        if not token.quoted and not re.fullmatch(r"[^\W\d][\w$]*", token.text):
            self.at -= 1
            self.unexpected()
        return Variable(Name(token.text, token.span, token.quoted), self.excluded)

    def exclusion(self) -> Pattern:
        self.expect("-")
        outer, self.excluded = self.excluded, True
        inner = self.choice()
        self.excluded = outer
        self.expect("-")
        self.expect("}")
        return Concatenation((inner,)) if isinstance(inner, Repeat) else inner

    def permutation(self, start: Token) -> Pattern:
        self.expect("(")
        parts = [self.choice()]
        while self.sign() == ",":
            self.take()
            parts.append(self.choice())
        end = self.expect(")")
        if len(parts) > MOST_PERMUTED:
            message = f"PERMUTE of {len(parts)} parts stands for more than 120 orders"
            hint = f"permute at most {MOST_PERMUTED} parts"
            self.reader.fail("too-large", span_of([start, end]), message, hint)
        self.check_size(factorial(len(parts)) * sum(map(_size, parts)), span_of([start, end]))
        return Choice(tuple(Concatenation(order) for order in permutations(parts)))

    def check_size(self, size: int, span: Span) -> None:
        """Check how many variables a part has, permutations written out."""
        if size > MOST_VARIABLES:
            message = (
                f"this has {size:,} variables, permutations written out, more than {MOST_VARIABLES}"
            )
            self.reader.fail("too-large", span, message, "write a smaller pattern")


def _characters(tokens: Sequence[Token]) -> Iterator[Token]:
    """Return the tokens with operators of two characters, such as `||` and `??`, divided."""
    for token in tokens:
        if token.quoted or len(token.text) == 1 or re.match(r"\w", token.text):
            yield from _words(token)
        else:
            for place in range(token.span.start, token.span.end):
                text = token.text[place - token.span.start : place - token.span.start + 1]
                yield Token(
                    text, token.kind, token.span._replace(start=place, end=place + 1), token.raw
                )


def _words(token: Token) -> Iterator[Token]:
    """Return a token, or its parts if `$` or `?` was read as part of a word: `A$`."""
    text = token.text
    if token.quoted or not text.endswith("$") or len(text) == 1:
        yield token
        return
    end = token.span.end
    yield Token(text[:-1], token.kind, token.span._replace(end=end - 1), token.raw)
    yield Token("$", token.kind, token.span._replace(start=end - 1), token.raw)


def variables(pattern: Pattern) -> Iterator[Variable]:
    """Return the occurrences of variables from left to right."""
    match pattern:
        case Variable():
            yield pattern
        case Concatenation(parts) | Choice(parts):
            for part in parts:
                yield from variables(part)
        case Repeat(part):
            yield from variables(part)


def _size(pattern: Pattern) -> int:
    """Return the number of occurrences of variables."""
    return sum(1 for _ in variables(pattern))


def is_nullable(pattern: Pattern) -> bool:
    """Tell whether a pattern matches the empty sequence."""
    match pattern:
        case Concatenation(parts):
            return all(map(is_nullable, parts))
        case Choice(parts):
            return any(map(is_nullable, parts))
        case Repeat(part, least):
            return least == 0 or is_nullable(part)
    return isinstance(pattern, Anchor)


def peeled(pattern: Pattern) -> Pattern:
    """Return the same pattern with the first iteration of every loop written by itself.

    The first row of a loop may need another condition than the later ones, such as one that reads
    the row before it. The ways to match and their preference stay the same.
    """
    match pattern:
        case Concatenation(parts):
            return Concatenation(tuple(map(peeled, parts)))
        case Choice(parts):
            return Choice(tuple(map(peeled, parts)))
        case Repeat(part, least, most, reluctant, span) if most != 1 and not is_nullable(part):
            rest = Repeat(
                part, max(least - 1, 0), None if most is None else most - 1, reluctant, span
            )
            unrolled = Concatenation((peeled(part), rest))
            return unrolled if least else Repeat(unrolled, 0, 1, reluctant, span)
        case Repeat(part, least, most, reluctant, span):
            return Repeat(peeled(part), least, most, reluctant, span)
    return pattern
