"""What a person probably meant by a text that does not parse."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.errors import closest
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


QUOTED_TWICE = re.compile(r'"[^"\n]*"')


def name_of(token: Token) -> str:
    """Return the name a token stands for."""
    return token[1:-1].replace("``", "`") if token.type == "QUOTED" else str(token)


def declared_names(tokens: list[Token]) -> frozenset[str]:
    """Return the names that lets and the stream line declare, from the tokens alone."""
    names: set[str] = set()
    in_stream = False
    for before, token in itertools.pairwise(tokens):
        in_stream = before.type == "STREAM" or (in_stream and before.type not in ("LET", "WINDOW"))
        if token.type in ("NAME", "QUOTED") and (
            before.type == "LET" or (in_stream and before.type in ("LPAR", "COMMA"))
        ):
            names.add(name_of(token))
    return frozenset(names)


def explain_character(at: int, before: list[Token], problems: Problems) -> Span:
    """Note a character that begins no token, behind some that do; return what to pass over."""
    source = problems.source
    char = source.text[at]
    if char in "'`":
        # Probably the first one that runs over a line end was never meant to.
        long = (token for token in before if token[0] == char and "\n" in token)
        opened = next((span_of(token).start for token in long), at)
        problems.add(
            "quote",
            Span(opened, opened + 1),
            f"this {'string' if char == chr(39) else 'name'} is never closed",
            f"close it with {char}; one inside is doubled: {char}{char}",
        )
        return Span(at, len(source.text))  # inside and outside cannot be told apart any more
    span = Span(at, at + 1)
    if quoted := QUOTED_TWICE.match(source.text, at):
        span = Span(at, quoted.end())
    hint = OTHER_OPERATORS.get(source.text[at : at + 2]) or BAD_CHARACTERS.get(char)
    shown = f"`{char}`" if char.isprintable() else f"the character U+{ord(char):04X}"
    problems.add(
        "character",
        span,
        f"{shown} has no place in a spec",
        hint or "remove it; names with odd characters stand in `backticks`",
    )
    return span


@dataclass(frozen=True)
class Place:
    """Where an item stops making sense: at a token, or at its end if there is none."""

    item: list[Token]
    seen: list[Token]
    token: Token | None
    expected: frozenset[str]  # what could have stood there
    declared: frozenset[str]


def explain_token(place: Place, problems: Problems) -> None:
    """Note why an item stops making sense, in the likeliest reading."""
    if not any(explain(place, problems) for explain in EXPLANATIONS):
        _plain(place, problems)


def span_of(token: Token) -> Span:
    """Return where a token stands."""
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _misspelt_before(place: Place, problems: Problems) -> bool:
    """`match ok mesure avg(x) as m`: the misspelt clause was read as names in a regex."""
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
    for token in (place.token, *place.seen[-1:]):  # `adn` may have been taken for a unit
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
    lower = " (keywords are written small)" if token.lower() == word else ""
    problems.add(
        "unknown-clause",
        span_of(token),
        f"`{token}` is neither a clause nor a name that is declared",
        f"did you mean `{word}`?{lower}",
    )


def _reserved_word(place: Place, problems: Problems) -> bool:
    """`let match = …`, `order int`, `[order > 1]`: only a name or a value could stand here."""
    token, names = place.token, {"NAME", "QUOTED", "BEGIN", "END", "SET"}
    only_names = "NAME" in place.expected <= names
    value = "NUMBER" in place.expected and "TRUE" in place.expected
    regex = "ANY" in place.expected and place.seen[-1] in ("|", "&", "~", "(")
    if token is None or token not in RESERVED or not (only_names or value or regex):
        return False
    if token.type == "ANY":
        message = "`any` is a regular expression, and a predicate or a value belongs here"
        hint = "for one event whatever it is write `any` without brackets; a `let` cannot name it"
        problems.add("wrong-sort", span_of(token), message, hint)
        return True
    problems.add(
        "reserved-word",
        span_of(token),
        f"`{token}` is a reserved word",
        f"choose another name; a column that is called so is written `` `{token}` ``",
    )
    return True


def _empty_brackets(place: Place, problems: Problems) -> bool:
    """`[]`: no predicate inside."""
    token, before = place.token, place.seen[-1:]
    if token is None or token.type != "RSQB" or not before or before[0].type != "LSQB":
        return False
    problems.add(
        "empty-brackets",
        Span(span_of(before[0]).start, span_of(token).end),
        "these brackets are empty",
        "in a regular expression write `any` for one event whatever it is, `()` for none at all;"
        " behind a name write how far to look back: `x[-1]`",
    )
    return True


def _brackets(place: Place, problems: Problems) -> bool:
    """Brackets that are not closed, close nothing or close another kind."""
    token = place.token
    opened: list[Token] = []
    for each in place.seen:
        if each in OPENS:
            opened.append(each)
        elif each in CLOSES and opened and opened[-1] == CLOSES[each]:
            opened.pop()
    if token is not None and token in CLOSES and (not opened or opened[-1] != CLOSES[token]):
        what = f"closes nothing: `{opened[-1]}` is open" if opened else "closes nothing"
        hint = "remove it, or open it where it belongs"
        problems.add("bracket", span_of(token), f"`{token}` {what}", hint)
        return True
    if opened and (token is None or token in CLAUSE_WORDS):
        before = f" before `{token}`" if token is not None else ""
        problems.add(
            "bracket",
            span_of(opened[-1]),
            f"this `{opened[-1]}` is never closed",
            f"close it with `{OPENS[opened[-1]]}`{before}",
        )
        return True
    return False


def _open_quote(place: Place, problems: Problems) -> bool:
    """`'abc` on one line and `'x'` on the next: the first string runs into the second."""
    for token in place.seen:
        if token.type in ("STRING", "QUOTED") and "\n" in token:
            start = span_of(token).start
            hint = f"close it with {token[0]} on the same line"
            problems.add("quote", Span(start, start + 1), "this is never closed on its line", hint)
            return True
    return False


def _grammar_slip(place: Place, problems: Problems) -> bool:
    """`0 < x between 1 and 2`, `(x + 1)[-1]`, `x not > 1`: each has a plain remedy."""
    token, before = place.token, place.seen[-1] if place.seen else None
    if token is None or before is None:
        return False
    hint = None
    if token.type in ("BETWEEN", "IN") and "EQUAL" in place.expected:
        hint = f"comparisons and `{token}` do not mix in one chain: join them with `and`"
    elif token.type == "LSQB" and before in CLOSES:
        hint = "only a name has an index: give the expression a name with `let`, or use `prev`"
    elif before.type == "NOT" and token in COMPARISONS:
        hint = f"`not` stands before the whole comparison: `not x {token} 1`"
    if hint:
        problems.add("syntax", span_of(token), f"`{token}` cannot stand here", hint)
    return hint is not None


def _foreign_operator(place: Place, problems: Problems) -> bool:
    """`==`, `<>`, `is null`: written as in another language."""
    token = place.token
    if token is None:
        return False
    hint = OPERATOR_WORDS.get(token.lower()) if token.type == "NAME" else None
    span, text = span_of(token), problems.source.text
    for start in (span.start - 1, span.start):  # of an operator of two characters
        if text[max(0, start) : start + 2] in OTHER_OPERATORS:
            hint, span = OTHER_OPERATORS[text[start : start + 2]], Span(start, start + 2)
    if hint is None:
        return False
    shown = text[slice(*span)]
    problems.add("syntax", span, f"`{shown}` is not part of this language", hint)
    return True


def _bare_predicate(place: Place, problems: Problems) -> bool:
    """`match price > 3`: a predicate without brackets where a regular expression stands."""
    token = place.token
    if token is None or token not in PREDICATE_WORDS or "ANY" not in place.expected:
        return False
    problems.add(
        "syntax",
        span_of(token),
        f"`{token}` belongs into a predicate, and a regular expression is read here",
        "put the predicate into brackets: `[price > 3]`, `[not up]`",
    )
    return True


# The readings of a mistake, the likeliest first.
EXPLANATIONS = (
    _misspelt_before,
    _open_quote,
    _grammar_slip,
    _foreign_operator,
    _misspelt_here,
    _reserved_word,
    _empty_brackets,
    _brackets,
    _bare_predicate,
)


def _plain(place: Place, problems: Problems) -> None:
    """Say what was found and what could have stood there."""
    if place.token is not None:
        span, found = span_of(place.token), f"`{place.token}` cannot stand here"
    else:
        end = span_of(place.item[-1]).end
        span, found = Span(end, end + 1), "something is missing here"
    problems.add("syntax", span, found, _wanted(place))


def _wanted(place: Place) -> str:
    """Return a hint that says what could stand in a place."""
    seen, expected = place.seen, place.expected
    if len(seen) > 1 and seen[-2].type == "WITHIN":
        return AFTER_WORD["WITHIN"]
    if seen and seen[-1].type in AFTER_WORD:
        return AFTER_WORD[seen[-1].type]
    if expected == {"LPAR"} and seen[-1] == "]":
        return "leave the brackets out; in a formula say where it holds: `[x > 1](begin)`"
    for group, words in EXPECTED:
        if group <= expected:
            return f"expected {words}"
    marks = [f"`{mark}`" for name, mark in MARKS.items() if name in expected]
    if marks:
        return f"expected {' or '.join(marks)}"
    return "remove it, or begin a new item: `stream`, `let`, `assume` or `window`"
