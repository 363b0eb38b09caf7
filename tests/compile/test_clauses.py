"""The rules about clauses, read off the definition of `keep`, `within` and `having`."""

from __future__ import annotations

import pytest

import wex
from wex.compile.clauses import Clauses, clauses_of

STREAM = "stream s (t timestamp, x int) order by t window w match any+"


def clauses(text: str) -> Clauses:
    return clauses_of(wex.parse(f"{STREAM} {text}").windows[0])


RULES = (
    "oldest_wins",
    "cuts",
    "ends_after_first",
    "single",
    "keeps_late",
    "drops_starts_late",
    "prefers",
    "conditional",
)


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("", set()),
        ("keep shortest", {"ends_after_first"}),
        ("keep longest", {"oldest_wins", "single"}),
        ("keep disjoint", {"oldest_wins", "cuts", "single"}),
        ("within 3 events keep longest", {"oldest_wins"}),
        ("within 0 seconds keep disjoint", {"oldest_wins", "cuts"}),
        ("keep preferred", {"prefers"}),
        ("keep leftmost sharing 1 event", {"prefers"}),
        ("keep preferred until [x > 1]", {"prefers", "conditional"}),
        (
            "keep leftmost measure count() as n having n > 1",
            {"prefers", "conditional", "drops_starts_late"},
        ),
        ("measure count() as n having n > 1", {"conditional"}),
        ("keep longest measure count() as n having n > 1", {"keeps_late", "conditional"}),
        (
            "keep shortest measure count() as n having n > 1",
            {"keeps_late", "drops_starts_late", "conditional"},
        ),
        (
            "keep disjoint measure count() as n having n > 1",
            {"keeps_late", "drops_starts_late", "conditional"},
        ),
    ],
)
def test_the_rules_that_follow_from_the_clauses(text: str, rules: set[str]) -> None:
    parsed = clauses(text)
    assert {name for name in RULES if getattr(parsed, name)} == rules


@pytest.mark.parametrize(
    ("text", "limit"),
    [("", None), ("within 3 events", 2), ("within 1 event", 0), ("within 2 seconds", 2_000_000)],
)
def test_the_limit_is_the_distance_between_the_ends_of_a_window(
    text: str, limit: int | None
) -> None:
    assert clauses(text).limit == limit
