"""Broken queries: whatever is cut, swapped or inserted, the result is a spec or an error with a place."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.sql.generator import COLUMNS, Generator
from tests.sql.writing import query_text
from wex.sql.reader import DIALECTS

PIECES = [
    "(", ")", "{-", "-}", "{", "}", "'", '"', "`", ",", "|", "*", "+", "?", "^", "$", ".", ";", "--", "/*", "*/", "::", "||",
    " PATTERN ", " DEFINE ", " AS ", " FINAL ", " RUNNING ", " LAST(x, 1) ", " PREV(", " NEXT(x)", " COUNT(*) ", " NULL ", " CASE ",
    " END ", " BETWEEN ", " IN ", " NOT ", " INTERVAL '1' HOUR ", " OVER () ", " SELECT ", " FROM ", " A.*", " U.x ", " 1e9 ", " ? ",
    " SUBSET U = (A) ", " WITHIN INTERVAL '1' DAY ", " ALL ROWS PER MATCH ", " DESC ", "\x00", "é", "\N{SNOWMAN}", "{%", "@x", ":x", "$1",
]  # fmt: skip


def broken(random: Random) -> str:
    """Return a random query with some random damage."""
    text = query_text(Generator(random).query())
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        at, width = random.randrange(len(text)), random.choice([0, 0, 0, 1, 1, 5])
        piece = random.choice([*PIECES, ""])
        if random.random() < 0.5:
            start = random.randrange(len(text))
            piece = text[start : start + random.randint(1, 30)]
        text = text[:at] + piece + text[at + width :]
    return text


@given(st.integers(min_value=0, max_value=2**32), st.sampled_from(sorted(DIALECTS)))
def test_a_broken_query_is_a_spec_or_an_error_with_a_place(seed: int, dialect: str) -> None:
    text = broken(Random(seed))
    try:
        translation = wex.from_sql(text, COLUMNS, dialect=dialect)
    except wex.SpecError as error:
        assert error.line >= 1
        assert error.hint
    else:
        assert wex.parse(str(translation)) == translation.spec
