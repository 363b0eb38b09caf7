"""Which patterns a text can match together: found by reading texts through all of them at once."""

from __future__ import annotations

from functools import lru_cache

from wex.spec.patterns import Wildcard, parts

MOST_STATES = 2_000
State = tuple[frozenset[int], ...]  # for each pattern, how many of its parts may have been read


@lru_cache(maxsize=256)
def possible_matches(patterns: tuple[str, ...]) -> dict[tuple[bool, ...], str] | None:
    """Return every combination of patterns that some text matches, each with a shortest such text.

    None if there are too many to find out. Characters that no pattern names are all alike.

    >>> possible_matches(("A%", "%B"))
    {(False, False): '', (True, False): 'A', (False, True): 'B', (True, True): 'AB'}
    """
    written = [parts(pattern) or () for pattern in patterns]
    named = {part for pattern in written for part in pattern if isinstance(part, str)}
    other = next(
        character for character in map(chr, range(ord("a"), 0x10000)) if character not in named
    )
    alphabet = [*sorted(named), other]
    initial = tuple(_skipped(pattern, {0}) for pattern in written)
    texts: dict[State, str] = {initial: ""}
    queue = [initial]
    found: dict[tuple[bool, ...], str] = {}
    for state in queue:
        matches = tuple(
            len(pattern) in reached for pattern, reached in zip(written, state, strict=True)
        )
        found.setdefault(matches, texts[state])
        for character in alphabet:
            after = tuple(
                _read(pattern, reached, character)
                for pattern, reached in zip(written, state, strict=True)
            )
            if after not in texts:
                if len(texts) >= MOST_STATES:
                    return None
                texts[after] = texts[state] + character
                queue.append(after)
    return found


def _skipped(pattern: tuple[str | Wildcard, ...], reached: set[int]) -> frozenset[int]:
    """Return the places that are reached if each `%` may stand for nothing."""
    places = set(reached)
    for place in range(len(pattern)):
        if place in places and pattern[place] is Wildcard.TEXT:
            places.add(place + 1)
    return frozenset(places)


def _read(
    pattern: tuple[str | Wildcard, ...], reached: frozenset[int], character: str
) -> frozenset[int]:
    """Return the places that are reached after one more character."""
    after: set[int] = set()
    for place in reached:
        part = pattern[place] if place < len(pattern) else None
        if part is Wildcard.TEXT:
            after.add(place)
        elif part is Wildcard.CHARACTER or part == character:
            after.add(place + 1)
    return _skipped(pattern, after)
