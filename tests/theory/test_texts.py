"""Patterns that a text can match together."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from wex.spec.patterns import matches
from wex.theory.texts import possible_matches

written = st.lists(st.sampled_from(["a", "b", "%", "_", r"\%"]), max_size=4).map("".join)


@given(st.lists(written, min_size=1, max_size=3))
def test_exactly_the_combinations_of_texts_are_found(patterns: list[str]) -> None:
    possible = possible_matches(tuple(patterns))
    assert possible is not None
    for row, text in possible.items():
        assert tuple(matches(text, pattern) for pattern in patterns) == row
    for length in range(5):
        for characters in product("ab%c", repeat=length):
            text = "".join(characters)
            assert tuple(matches(text, pattern) for pattern in patterns) in possible


def test_too_many_combinations_are_not_explored() -> None:
    assert possible_matches(tuple(f"%a{'_' * length}b%" for length in range(4, 16))) is None
