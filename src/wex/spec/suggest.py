"""What a misspelt word was probably meant to be."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


MOST_NAMED = 12  # names in one hint


def closest(word: str, candidates: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the candidate that is most like a word, if one is alike at all.

    >>> closest("prise", ["price", "volume"])
    'price'
    >>> closest("Price", ["price", "volume"])
    'price'
    >>> closest("x", ["price", "volume"]) is None
    True
    """
    names = list(candidates)
    for name in names:
        if name.lower() == word.lower():
            return name
    found = get_close_matches(word, names, n=1, cutoff=cutoff)
    return found[0] if found else None


def did_you_mean(word: str, candidates: Iterable[str], otherwise: str) -> str:
    """Return a hint that names the closest candidate, or all of them.

    >>> did_you_mean("prise", ["price", "volume"], "")
    'did you mean `price`?'
    >>> did_you_mean("x", ["price", "volume"], "the names are")
    'the names are `price`, `volume`'
    """
    names = list(candidates)
    best = closest(word, names)
    if best is not None:
        return f"did you mean `{best}`?"
    shown = ", ".join(f"`{name}`" for name in names[:MOST_NAMED])
    more = len(names) - MOST_NAMED
    return f"{otherwise} {shown}" + (f" and {more} more" if more > 0 else "")
