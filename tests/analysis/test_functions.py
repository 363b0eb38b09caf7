"""What the analysis decides about functions, patterns and NULL, and what it leaves free."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.fuzz import compare
from tests.theory.guards import guard
from wex.analysis.answers import Verdict
from wex.theory.solver import satisfiable

FIELDS = "n int, m int, ts timestamp, d date, c string, e enum('ab', 'b')"


@pytest.mark.parametrize(
    ("predicate", "possible"),
    [
        ("n % 2 = 0 and n % 4 = 1", False),
        ("n % 2 = 0 and n % 4 = 2", True),
        ("n % 3 < 0", False),
        ("n % -3 > 0", False),
        ("n % -3 = -1 and n // -3 = -1 and n = 2", True),
        ("n // -3 = 2 and n > -6", False),
        ("n // 10 = 2 and n = 20", True),
        ("floor(n, 10, 3) = n and n % 10 != 3", False),
        ("hour(ts) = 24", False),
        ("hour(ts) = 3 and floor(ts, 1 day) = ts", False),
        ("weekday(d) = 1 and weekday(d + 1 day) != 2", False),
        ("floor(d, 1 week, 4 days) = d and weekday(d) != 1", False),
        ("month(ts) = 13", False),
        ("year(ts) = 2025 and year(ts) = 2026", False),
        ("hour(ts, 'Europe/Berlin') = 3 and hour(ts, 'Europe/Berlin') = 4", False),
        ("e like 'a%' and e = 'b'", False),
        ("c like 'A%' and not c like 'A%'", False),
        ("c like 'A%' and c = 'B'", False),
        ("c like 'AB%' and c not like 'A%'", False),
        ("c like 'A%' and c like '%B' and c != 'AB'", True),
        ("starts_with(c, 'A') and c like '_' and c != 'A'", False),
        ("n is null and n > 3", False),
        ("n is null and not n > 3", True),
        # Free: these contradict, and the solver does not know it.
        ("year(ts) = 2026 and ts < timestamp '2025-01-01'", True),
        ("hour(ts, 'UTC') = 3 and hour(ts) = 4", True),
    ],
)
def test_what_the_solver_knows(predicate: str, possible: bool) -> None:
    assert satisfiable(guard(predicate, FIELDS), 0) is possible


@pytest.mark.parametrize(
    "match",
    [
        "[n is null]+ [n > 3]",
        "[n % 2 = 0] any* [n % 3 = 1]",
        "[year(ts) = 2026 and month(ts) = 2] any* [month(ts) = 3]",
        "[hour(ts, 'Europe/Berlin') = 9] any* [hour(ts, 'Europe/Berlin') = 17]",
        "[c like 'A%'] any* [c like '%B' and c not like 'A%']",
    ],
)
def test_an_unbounded_window_has_a_witness(match: str) -> None:
    report = wex.check(f"stream s ({FIELDS}) order by ts window w match {match}")
    answer = report.windows[0].open
    assert answer.verdict is Verdict.UNBOUNDED
    assert answer.witness(3).num_rows >= 3


def test_a_witness_shows_null() -> None:
    report = wex.check("stream s (n int) window w match [n is null] [n is not null]* [n > 3]")
    answer = report.windows[0].open
    assert (answer.bound, answer.exact) == (1, True)
    assert None in answer.witness(1)["n"].to_pylist()


@pytest.mark.parametrize(
    ("one", "two", "holds"),
    [
        ("n % 2 = 0", "n = floor(n, 2)", True),
        ("n % 2 = 0", "n % 4 = 0", False),
        ("c like 'A%'", "starts_with(c, 'A')", True),
        ("c like 'A%'", "c like 'AB%'", False),
        ("c like 'A%' and c like '_'", "c = 'A'", True),
        ("e like 'a%'", "e = 'ab'", True),
        ("n is null or n > 3", "not (n is not null and n <= 3)", True),
        ("n is null or n > 3", "n is null or n >= 3", False),
        ("n > 3", "n is null or n > 3", None),
        ("floor(ts, 1 hour) != floor(ts[-1], 1 hour)", "not floor(ts, 60 min) = floor(ts[-1], 60 min)", False),
        ("floor(ts, 1 hour) != floor(ts[-1], 1 hour)", "not (is_first or floor(ts, 60 min) = floor(ts[-1], 60 min))", True),
    ],
)  # fmt: skip
def test_specs_are_compared(one: str, two: str, holds: bool | None) -> None:
    first, second = (f"stream s ({FIELDS}) window w match [{text}]" for text in (one, two))
    assert wex.equivalent(first, second).holds is holds


SAME = "floor(ts, 10 minutes) = floor(ts[-1], 10 minutes)"
OTHER = "floor(ts, 10 minutes) != floor(ts[-1], 10 minutes)"


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        (f"after any* [{OTHER}] match [{SAME}]+ until [{OTHER}]", ["1", "1", "1"]),
        ("match [hour(ts) = 9] [hour(ts) = 8]*", ["1", "1", "unbounded (linear)"]),
        ("match [hour(ts) >= 9]+ until [hour(ts) < 9]", ["unbounded (linear)"] * 3),
        ("match [weekday(d) <= 5]+ until [weekday(d) > 5] keep longest", ["1", "1", "1"]),
        ("match [n % 4 = 0] [n % 2 = 1]", ["1", "1", "1"]),
        ("match [e like 'a%'] [e not like 'a%']", ["1", "1", "1"]),
    ],
)
def test_quotients_and_remainders_have_exact_answers(window: str, shown: list[str]) -> None:
    fields = "ts timestamp, n int, d date, e enum('ab', 'b')"
    report = wex.check(f"stream s ({fields}) order by ts window w {window}").windows[0]
    assert [str(answer) for answer in (report.open, report.held, report.overlap)] == shown


# --- Laws


def _windows(atoms: list[str]) -> st.SearchStrategy[str]:
    """Return windows of a few events."""
    brackets = st.sampled_from(atoms).flatmap(
        lambda atom: st.sampled_from([f"[{atom}]", f"[not ({atom})]", f"[{atom}]*", f"[{atom}]+"])
    )
    matches = st.lists(brackets, min_size=1, max_size=3).map(" ".join)
    clauses = st.sampled_from(
        ["", "keep shortest", "keep longest", "until [{}]", "within 3 events"]
    )
    return st.builds(
        lambda match, clause, atom: f"window w match {match} {clause.format(atom)}",
        matches,
        clauses,
        st.sampled_from(atoms),
    )


@settings(max_examples=60)
@given(_windows(["ok is null", "ok", "ok[-1] is null", "ok = ok[-1]", "ok != ok[-1]"]))
def test_verdicts_about_null_agree_with_every_short_stream(window: str) -> None:
    compare(f"stream s (ok bool) {window}", longest=5)


RELATIONS = [
    "n // 2 = n[-1] // 2",
    "n % 2 != n[-1] % 2",
    "floor(n, 2, 1) > floor(n[-1], 2, 1)",
    "n % -2 < n[-1]",
    "n % 2 = 0",
]


@settings(max_examples=60)
@given(_windows(RELATIONS))
def test_verdicts_about_quotients_agree_with_every_short_stream(window: str) -> None:
    compare(f"stream s (n int) assume [0 <= n and n <= 2]* {window}", longest=5, decided=False)


@pytest.mark.parametrize(
    ("match", "answers"),
    [
        ("[n % 3 = 0 and n % 4 = n[-1] % 4]{2}", ["2", "2", "2", "0"]),
        ("[n % 6 = 0] [n % 4 = n[-1] % 4] [n // 12 = n[-1] // 12]", ["3", "3", "3", "0"]),
        ("[n % 6 = 1] [n % 4 = 2 and n % 12 = n[-1] % 12]", ["0", "0", "0", "0"]),
        ("[n % 2 = n[-1] % 2]+ until [n % 3 = 0]",
         ["unbounded (linear)", "unbounded (linear)", "unbounded (quadratic)", "1"]),
    ],
)  # fmt: skip
def test_sizes_that_do_not_divide_each_other_have_exact_answers(
    match: str, answers: list[str]
) -> None:
    report = wex.check(f"stream s (n int) window w match {match}")["w"]
    assert list(map(str, report.answers.values())) == answers
