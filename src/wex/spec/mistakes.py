"""What a person probably meant by a text that does not parse."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.source import Span
from wex.spec.suggest import closest
from wex.spec.vocabulary import (
    AFTER_WORD,
    ALIKE,
    BAD_CHARACTERS,
    CLAUSES,
    CLOSES,
    COMPARISONS,
    EXPECTED,
    INSIDE_BRACKETS,
    ITEMS,
    MARKS,
    OPENS,
    OPERATOR_WORDS,
    OTHER_OPERATORS,
    PREDICATE_WORDS,
    RESERVED,
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


def explain_character(at: int, problems: Problems) -> Span:
    """Note a character that begins no token; return what to pass over."""
    source = problems.source
    char = source.text[at]
    if char in "'`":
        opened = _long_quote(source.text, char, at)
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


def _long_quote(text: str, quote: str, at: int) -> int:
    """Return where the open quote probably is: the last that runs over a line end, or this one."""
    start = -1
    found = at
    for index, char in enumerate(text[:at]):
        if char != quote:
            continue
        if start < 0:
            start = index
        else:
            if "\n" in text[start:index]:
                found = start
            start = -1
    return found


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


def _span(token: Token) -> Span:
    assert token.start_pos is not None
    assert token.end_pos is not None
    return Span(token.start_pos, token.end_pos)


def _misspelt_before(place: Place, problems: Problems) -> bool:
    """`match ok mesure avg(x) as m`: the misspelt clause was read as names in a regex."""
    kind = place.item[0].type
    if kind not in ("WINDOW", "ASSUME"):
        return False
    depth = 0
    for token in place.seen[2 if kind == "WINDOW" else 1 :]:
        depth += (token in OPENS) - (token in CLOSES)
        if token.type == "NAME" and not depth and token not in place.declared:
            word = closest(token, CLAUSES[kind], ALIKE)
            if word:
                _note_misspelt(token, word, problems)
                return True
    return False


def _misspelt_here(place: Place, problems: Problems) -> bool:
    """`windw trend`, `window trend mach up`, `MATCH up`."""
    token = place.token
    if token is None or token.type != "NAME":
        return False
    word = token.lower() if token.lower() in RESERVED else None
    word = word or closest(token, CLAUSES.get(place.item[0].type, ITEMS), ALIKE)
    if word:
        _note_misspelt(token, word, problems)
    return word is not None


def _note_misspelt(token: Token, word: str, problems: Problems) -> None:
    lower = " (keywords are written small)" if token.lower() == word else ""
    problems.add(
        "unknown-clause",
        _span(token),
        f"`{token}` is neither a clause nor a name that is declared",
        f"did you mean `{word}`?{lower}",
    )


def _reserved_word(place: Place, problems: Problems) -> bool:
    """`let match = …`, `order int`: only a name could stand here."""
    token, names = place.token, {"NAME", "QUOTED", "BEGIN", "END", "SET"}
    only_names = "NAME" in place.expected <= names
    in_value = bool(place.seen) and place.seen[-1] in COMPARISONS
    if token is None or token not in RESERVED or not (only_names or in_value):
        return False
    if token.type == "ANY":
        message = "`any` is a regular expression, and a `let` names a predicate or a value"
        problems.add("wrong-sort", _span(token), message, "write regular expressions out")
        return True
    problems.add(
        "reserved-word",
        _span(token),
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
        Span(_span(before[0]).start, _span(token).end),
        "these brackets hold no predicate",
        "write `any` for one event whatever it is, `()` for none at all",
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
        problems.add("bracket", _span(token), f"`{token}` {what}", hint)
        return True
    if opened and (token is None or token in RESERVED - INSIDE_BRACKETS):
        before = f" before `{token}`" if token is not None else ""
        problems.add(
            "bracket",
            _span(opened[-1]),
            f"this `{opened[-1]}` is never closed",
            f"close it with `{OPENS[opened[-1]]}`{before}",
        )
        return True
    return False


def _foreign_operator(place: Place, problems: Problems) -> bool:
    """`==`, `<>`, `is null`: written as in another language."""
    token = place.token
    if token is None:
        return False
    hint = OPERATOR_WORDS.get(token.lower()) if token.type == "NAME" else None
    span, text = _span(token), problems.source.text
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
        _span(token),
        f"`{token}` belongs into a predicate, and a regular expression is read here",
        "put the predicate into brackets: `[price > 3]`, `[not up]`",
    )
    return True


# The readings of a mistake, the likeliest first.
EXPLANATIONS = (
    _misspelt_before,
    _misspelt_here,
    _reserved_word,
    _empty_brackets,
    _brackets,
    _foreign_operator,
    _bare_predicate,
)


def _plain(place: Place, problems: Problems) -> None:
    """Say what was found and what could have stood there."""
    if place.token is not None:
        span, found = _span(place.token), f"`{place.token}` cannot stand here"
    else:
        end = _span(place.item[-1]).end
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
