"""A translated query has the matches of the query: those of the oracle."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.sql.differential import compared

# A refused query does not count, nor does a NULL that the spec reports as an error.
FINE = {"same", "without labels", "refused", "nulls", "limit"}


@given(st.integers(min_value=0, max_value=2**32))
def test_a_translated_query_has_the_matches_of_the_query(seed: int) -> None:
    outcome = compared(Random(seed))
    assert outcome.kind in FINE, outcome.detail


def test_most_queries_are_translated() -> None:
    kinds = [compared(Random(f"1-{number}")).kind for number in range(40)]
    assert kinds.count("refused") < 20
    assert kinds.count("same") > 5
