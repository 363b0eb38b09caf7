"""Explanations of syntax errors.

The parser stops at a token that it did not expect. The likeliest cause is often not that token but
a misspelt keyword or an open bracket before it. Each function below looks for one such cause;
`EXPLANATIONS` lists them, the likeliest first.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.errors import closest
from wex.spec.foreign_words import advice_about, character_hint
from wex.spec.problems import Span
from wex.spec.vocabulary import (
    AFTER_WORD,
    ALIKE,
    BAD_CHARACTERS,
    CLAUSE_WORDS,
    CLAUSES,
    CLOSES,
    COMPARISONS,
    EXPECTED,
    ITEMS,
    LIMIT_WORDS,
    LOOSELY_ALIKE,
    MARKS,
    OPENS,
    OPERATOR_WORDS,
    OPERATORS,
    OTHER_OPERATORS,
    PREDICATE_WORDS,
    RESERVED,
    WINDOW_CLAUSES,
)

if TYPE_CHECKING:
    from lark import Token

    from wex.spec.problems import Problems

DOUBLE_QUOTED = re.compile(r'"[^"\n]*"')


def name_of(token: Token) -> str:
    """Return the name that a token stands for, without backticks."""
    return token[1:-1].replace("``", "`") if token.type == "QUOTED" else str(token)


def declared_names(tokens: list[Token]) -> frozenset[str]:
    """Return the names that lets and the stream declare, from the tokens alone."""
    names: set[str] = set()
    in_stream = False
    for before, token in itertools.pairwise(tokens):
        in_stream = before.type == "STREAM" or (in_stream and before.type not in ("LET", "WINDOW"))
        if token.type in ("NAME", "QUOTED") and (
            before.type == "LET" or (in_stream and before.type in ("LPAR", "COMMA"))
        ):
            names.add(name_of(token))
    return frozenset(names)


def explain_character(offset: int, before: list[Token], problems: Problems) -> Span:
    """Note a character that begins no token; return the span that the parser should skip."""
    source = problems.source
    char = source.text[offset]
    if char in "'`":
        # The first string with a line break in it is probably the one that was not closed.
        long = (token for token in before if token[0] == char and "\n" in token)
        opened = next((span_of(token).start for token in long), offset)
        noun = "string" if char == "'" else "name"
        problems.add(
            "quote",
            Span(opened, opened + 1),
            f"this {noun} is never closed",
            f"close it with {char}; inside the {noun} write {char}{char} for {char}",
        )
        return Span(offset, len(source.text))  # the rest may be inside or outside the quotes
    span = Span(offset, offset + 1)
    if quoted := DOUBLE_QUOTED.match(source.text, offset):
        span = Span(offset, quoted.end())
    hint = OTHER_OPERATORS.get(source.text[offset : offset + 2]) or BAD_CHARACTERS.get(char)
    hint = hint or character_hint(source.text, offset)
    shown = f"`{char}`" if char.isprintable() else f"U+{ord(char):04X}"
    problems.add(
        "character",
        span,
        f"unexpected character {shown}",
        hint or "remove it; write names with special characters in `backticks`",
    )
    return span


@dataclass(frozen=True)
class Place:
    """The place of a syntax error in an item: at a token, or at the end of the item."""

    item: list[Token]
    seen: list[Token]  # the tokens before the error
    token: Token | None
    expected: frozenset[str]  # the types of tokens that the parser would have accepted
    declared: frozenset[str]  # names


def explain_token(place: Place, problems: Problems) -> None:
    """Note the likeliest cause of a syntax error."""
    if not any(explain(place, problems) for explain in EXPLANATIONS):
        _note_unexpected(place, problems)


def span_of(token: Token) -> Span:
    """Return the place of a token."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _misspelt_before(place: Place, problems: Problems) -> bool:
    """`match ok mesure avg(x) as m`: the misspelt clause was parsed as a name in a regex."""
    kind = place.item[0].type
    if kind not in ("WINDOW", "ASSUME"):
        return False
    depth, in_regex = 0, kind == "ASSUME"
    for token in place.seen[2 if kind == "WINDOW" else 1 :]:
        depth += (token in OPENS) - (token in CLOSES)
        if token in WINDOW_CLAUSES:
            in_regex = token in ("match", "after", "or")
        if token.type == "NAME" and in_regex and not depth and token not in place.declared:
            word = closest(token, CLAUSES[kind], ALIKE)
            if word:
                _note_misspelt(token, word, problems)
                return True
    return False


def _misspelt_here(place: Place, problems: Problems) -> bool:
    """`windw trend`, `window trend mach up`, `MATCH up`, `x > 1 adn y > 2`."""
    kind = place.item[0].type
    inside = kind == "LET" or ("RSQB" in place.expected or "RPAR" in place.expected)
    inside = inside and kind != "STREAM"
    words = [*CLAUSES.get(kind, ITEMS), *(OPERATORS if inside else ())]
    for token in (place.token, *place.seen[-1:]):  # `adn` may have been parsed as a unit
        if token is None or token.type != "NAME" or token in place.declared:
            continue
        word = token.lower() if token.lower() in RESERVED else closest(token, words, ALIKE)
        if word is None and inside:
            word = closest(token, OPERATORS, LOOSELY_ALIKE)
        if word:
            _note_misspelt(token, word, problems)
            return True
    return False


def _note_misspelt(token: Token, word: str, problems: Problems) -> None:
    lower = " (keywords are lower-case)" if token.lower() == word else ""
    problems.add(
        "unknown-clause",
        span_of(token),
        f"`{token}` is neither a keyword nor a declared name",
        f"did you mean `{word}`?{lower}",
    )


def _reserved_word(place: Place, problems: Problems) -> bool:
    """`let match = …`, `order int`, `[order > 1]`: a keyword where a name or a value is expected."""
    token, names = place.token, {"NAME", "QUOTED", "BEGIN", "END", "SET"}
    only_names = "NAME" in place.expected <= names
    value = "NUMBER" in place.expected and "TRUE" in place.expected
    following = place.item[len(place.seen) + 1 :][:1]
    regex = "ANY" in place.expected and (
        place.seen[-1] in ("|", "&", "~", "(") or following == [":"]  # a label
    )
    if token is None or token not in RESERVED or not (only_names or value or regex):
        return False
    if token.type == "ANY":
        message = "expected a predicate or a value, got the regular expression `any`"
        hint = "write `any` without brackets; a `let` cannot name a regular expression"
        problems.add("wrong-sort", span_of(token), message, hint)
        return True
    problems.add(
        "reserved-word",
        span_of(token),
        f"`{token}` is a reserved word",
        f"choose another name, or write a column of this name in backticks: `` `{token}` ``",
    )
    return True


def _empty_brackets(place: Place, problems: Problems) -> bool:
    """`[]`: a predicate or an index is missing."""
    token, before = place.token, place.seen[-1:]
    if token is None or token.type != "RSQB" or not before or before[0].type != "LSQB":
        return False
    problems.add(
        "empty-brackets",
        Span(span_of(before[0]).start, span_of(token).end),
        "empty brackets",
        "in a regular expression write `any` for any event, `()` for the empty sequence;"
        " after a name write how far to look back: `x[-1]`",
    )
    return True


def _brackets(place: Place, problems: Problems) -> bool:
    """Brackets that are never closed, or that match no open one."""
    token = place.token
    opened: list[Token] = []
    for before in place.seen:
        if before in OPENS:
            opened.append(before)
        elif before in CLOSES and opened and opened[-1] == CLOSES[before]:
            opened.pop()
    if token is not None and token in CLOSES and (not opened or opened[-1] != CLOSES[token]):
        message = f"unmatched `{token}`"
        hint = f"remove it, or add the `{CLOSES[token]}` that it closes"
        if opened:
            message = f"expected `{OPENS[opened[-1]]}`, got `{token}`"
            hint = f"close the `{opened[-1]}` first"
        problems.add("bracket", span_of(token), message, hint)
        return True
    if opened and (token is None or token in CLAUSE_WORDS):
        position = f" before `{token}`" if token is not None else ""
        problems.add(
            "bracket",
            span_of(opened[-1]),
            f"this `{opened[-1]}` is never closed",
            f"close it with `{OPENS[opened[-1]]}`{position}",
        )
        return True
    return False


def _open_quote(place: Place, problems: Problems) -> bool:
    """`'abc` on one line and `'x'` on the next: the first string runs into the second."""
    for token in place.seen:
        if token.type in ("STRING", "QUOTED") and "\n" in token:
            start = span_of(token).start
            hint = f"close it with {token[0]} on the same line"
            problems.add(
                "quote", Span(start, start + 1), "this quote is not closed on its line", hint
            )
            return True
    return False


def _grammar_slip(place: Place, problems: Problems) -> bool:
    """`0 < x between 1 and 2`, `(x + 1)[-1]`, `x not > 1`: combinations with a known remedy."""
    token, before = place.token, place.seen[-1] if place.seen else None
    if token is None or before is None:
        return False
    hint = None
    if token.type in ("BETWEEN", "IN") and "EQUAL" in place.expected:
        hint = f"a chain of comparisons cannot contain `{token}`: join the two with `and`"
    elif token.type == "LSQB" and before in CLOSES:
        hint = "only a name can have an index: name the expression with `let`, or use `prev`"
    elif before.type == "NOT" and token in COMPARISONS:
        hint = f"write `not` before the whole comparison: `not x {token} 1`"
    elif token.type in ("RUNS", "SESSIONS") and "MATCH" in place.expected:
        hint = f"`{token}` has no `after`: use `match`, or remove `after`"
    if hint:
        problems.add("syntax", span_of(token), f"unexpected `{token}`", hint)
    return hint is not None


def _foreign_operator(place: Place, problems: Problems) -> bool:
    """`==`, `<>`, `is null`: operators of other languages."""
    token = place.token
    if token is None:
        return False
    hint = OPERATOR_WORDS.get(token.lower()) if token.type == "NAME" else None
    span, text = span_of(token), problems.source.text
    for start in (span.start - 1, span.start):  # the token may be its second character
        shown = text[max(0, start) : start + 2]
        if shown in OTHER_OPERATORS and (shown != "//" or token.type == "FLOOR"):
            hint, span = OTHER_OPERATORS[text[start : start + 2]], Span(start, start + 2)
    if hint is None:
        return False
    shown = text[slice(*span)]
    message = f"`{shown}` is not part of this language"
    problems.add("syntax", span, message if shown != "//" else "unexpected `//`", hint)
    return True


def _foreign_word(place: Place, problems: Problems) -> bool:
    """`count(distinct x)`, `interval '1' hour`, `[a] or [b]`: see foreign_words.py."""
    advice = advice_about(place)
    if advice is None:
        return False
    token, hint = advice
    problems.add("syntax", span_of(token), f"unexpected `{token}`", hint)
    return True


def _bare_predicate(place: Place, problems: Problems) -> bool:
    """`match price > 3`: a predicate without brackets where a regular expression is expected."""
    token = place.token
    if token is None or token not in PREDICATE_WORDS or "ANY" not in place.expected:
        return False
    problems.add(
        "syntax",
        span_of(token),
        f"expected a regular expression, got `{token}`",
        "put predicates in brackets: `[price > 3]`, `[not up]`",
    )
    return True


def _session_limit(place: Place, problems: Problems) -> bool:
    """`sessions gap 30 minutes max 2 hours`: other words for `at most`."""
    token = place.token
    if token is None or token.lower() not in LIMIT_WORDS or "AT_MOST" not in place.expected:
        return False
    hint = "write `at most` and a length: `sessions gap 30 minutes at most 2 hours`"
    problems.add("syntax", span_of(token), f"unexpected `{token}`", hint)
    return True


def _rate_form(place: Place, problems: Problems) -> bool:
    """`assume at most 3 events per second`: what follows `at most` is not a rate."""
    if [token.type for token in place.seen[:2]] != ["ASSUME", "AT_MOST"]:
        return False
    token, before = place.token, place.seen[-1]
    span = Span(span_of(before).end, span_of(before).end) if token is None else span_of(token)
    message = "unexpected end of `assume`" if token is None else f"unexpected `{token}`"
    hint = "write a number of events and a duration: `assume at most 100 events in 1 second`"
    problems.add("syntax", span, message, hint)
    return True


EXPLANATIONS = (
    _session_limit,
    _rate_form,
    _misspelt_before,
    _open_quote,
    _grammar_slip,
    _foreign_word,
    _foreign_operator,
    _misspelt_here,
    _reserved_word,
    _empty_brackets,
    _brackets,
    _bare_predicate,
)


def _note_unexpected(place: Place, problems: Problems) -> None:
    """Note the unexpected token, or the unexpected end, and what was expected instead."""
    if place.token is not None:
        span, message = span_of(place.token), f"unexpected `{place.token}`"
    else:
        end = span_of(place.item[-1]).end
        span, message = Span(end, end + 1), f"unexpected end of `{place.item[0]}`"
    problems.add("syntax", span, message, _expectation(place))


def _expectation(place: Place) -> str:
    """Return a hint that says what the parser expected."""
    seen, expected = place.seen, place.expected
    unfinished = {"WITHIN": 2, "RESUMING": 3}  # words that the parser needs something after
    for back, token in enumerate(reversed(seen[-3:]), 1):
        if back <= unfinished.get(token.type, 0):
            return AFTER_WORD[token.type]
    if seen and seen[-1].type in AFTER_WORD:
        return AFTER_WORD[seen[-1].type]
    if expected == {"LPAR"} and seen[-1] == "]":
        return "remove the brackets; in a formula add the position: `[x > 1](begin)`"
    for group, words in EXPECTED:
        if group <= expected:
            return f"expected {words}"
    marks = [f"`{mark}`" for name, mark in MARKS.items() if name in expected]
    if marks:
        return f"expected {' or '.join(marks)}"
    return "remove it, or begin a new item: `stream`, `let`, `assume` or `window`"
