"""Patterns of `like`: `%` stands for any text, `_` for one character, a backslash escapes them."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Wildcard(Enum):
    """What a pattern leaves open."""

    TEXT = "%"  # any text, also an empty one
    CHARACTER = "_"  # one character


ESCAPE: Final = "\\"
SPECIAL = (*(wildcard.value for wildcard in Wildcard), ESCAPE)


def parts(pattern: str) -> tuple[str | Wildcard, ...] | None:
    r"""Return the characters and wildcards of a pattern, or None if `\` escapes nothing.

    >>> parts("A%")
    ('A', <Wildcard.TEXT: '%'>)
    >>> parts(r"5\%"), parts(r"a\b")
    (('5', '%'), None)
    """
    found: list[str | Wildcard] = []
    characters = iter(pattern)
    for character in characters:
        if character == ESCAPE:
            following = next(characters, "")
            if following not in SPECIAL:
                return None
            found.append(following)
        else:
            found.append(Wildcard(character) if character in "%_" else character)
    return tuple(found)


def exact_pattern(text: str) -> str:
    r"""Return the pattern that only one text matches.

    >>> print(exact_pattern("100%"))
    100\%
    """
    return "".join(f"{ESCAPE}{c}" if c in SPECIAL else c for c in text)


def prefix_pattern(text: str) -> str:
    r"""Return the pattern of all texts that start with a text.

    >>> print(prefix_pattern("100%"))
    100\%%
    """
    return exact_pattern(text) + Wildcard.TEXT.value


def filled(pattern: str, text: str) -> str:
    """Return a text that matches a pattern, with another text in the place of its last `%`.

    >>> filled("A%b_", "x")
    'Axba'
    """
    fillers = {Wildcard.TEXT: "", Wildcard.CHARACTER: "a"}
    written = list(parts(pattern) or ())
    shown = [fillers[part] if isinstance(part, Wildcard) else part for part in written]
    if Wildcard.TEXT in written:
        shown[len(written) - 1 - written[::-1].index(Wildcard.TEXT)] = text
    return "".join(shown)


def matches(text: str, pattern: str) -> bool:
    """Tell whether a text matches a pattern: the definition of `like`.

    >>> matches("Anna", "A%"), matches("Anna", "A_"), matches("", "%")
    (True, False, True)
    """
    # The lengths of the prefixes of the text that the parts so far can match.
    reached = {0}
    for part in parts(pattern) or ():
        if part is Wildcard.TEXT:
            reached = {end for start in reached for end in range(start, len(text) + 1)}
        elif part is Wildcard.CHARACTER:
            reached = {start + 1 for start in reached if start < len(text)}
        else:
            reached = {start + 1 for start in reached if text[start : start + 1] == part}
    return len(text) in reached
