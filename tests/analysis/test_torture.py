"""The analysis against every short stream of random specs, in short; `make torture` runs it for long."""

from __future__ import annotations

import pytest

import wex
from tests.analysis import torture
from tests.analysis.false_findings import is_false
from tests.analysis.oracle import Oracle
from wex.analysis.answers import Finding, Kind


def test_the_analysis_is_right_about_random_specs() -> None:
    assert torture.run(25, 1) == []


def test_the_oracle_notices_what_is_wrong() -> None:
    oracle = Oracle(wex.parse("stream s (ok bool) window w match [ok]{2}"))
    shown = {word: oracle.windows(oracle.stream(word)) for word in oracle.words}
    assert oracle.most_open(shown) == 2
    assert oracle.most_held(oracle.spec) == 1  # what ends with an event is not held after it
    assert oracle.held_or_ended([{"ok": True}, {"ok": True}]) == 2


@pytest.mark.parametrize(
    ("clauses", "held"),
    [
        ("match any+ keep all", 4),  # a start that ends and is held counts once
        ("match any+ keep longest", 1),
        ("match any+ keep disjoint", 1),
        ("match any+ measure count_if(ok) as size having size = 2 keep longest", 4),
        ("match any+ measure count() as size having size = 2 keep longest", 2),
        ("match any+ measure count() as size having size = 1 keep shortest", 1),
        ("match any+ measure count() as size having size = 3 keep shortest", 3),
        ("match any{3} keep disjoint", 1),  # the others lie in the window of the first
        ("match any{3} measure count_if(ok) as size having size > 3 keep disjoint", 3),
        ("match any{3} measure count() as size having size > 3 keep disjoint", 0),
        ("match any{2} until [not ok]", 2),
    ],
)
def test_the_oracle_counts_starts_as_they_are_held(clauses: str, held: int) -> None:
    """Under `having` a plan holds starts that `keep longest` alone would drop."""
    oracle = Oracle(wex.parse(f"stream s (ok bool) window w {clauses}"))
    assert oracle.held_or_ended([{"ok": True}] * 4) == held


@pytest.mark.parametrize(
    "clauses",
    [
        "match ~(()) unpadded keep longest measure count_if(n = 0) as hits having hits = 1",
        "after ~([n = 2]*) match ([n = 2] | ())* until [floor(n, 2, 1) = 1] keep longest "
        "measure count_if(n = 2) as hits having hits <= 2",
    ],
)
def test_the_analysis_is_right_about_growth_under_having(clauses: str) -> None:
    spec = f"stream s (n int) assume [0 <= n and n <= 2]* window w {clauses}"
    assert wex.check(spec)["w"].held.verdict == "unbounded"
    assert torture.faults(spec) == []


SPEC = (
    "stream s (n int) assume [0 <= n and n <= 2]* window w match [n = 0] [n > n[-1]] until [n = 2]"
)


@pytest.mark.parametrize(
    ("kind", "text", "false"),
    [
        (Kind.NEVER_HOLDS_HERE, "`n > n[-1]` can never hold in its place in `match`", True),
        (Kind.NEVER_HOLDS_HERE, "`n = 2` can never hold in its place in `until`", True),
        (Kind.NEVER_HOLDS_HERE, "`n = 0` can never hold in its place in `match`", True),
        (Kind.NEVER_OCCURS, "event 1, `n = 0`, contradicts event 2, `n > n[-1]`", True),
        (Kind.HOPELESS_STARTS, "some starts of `w` can never end in a window", True),
        (Kind.NOT_REACHED, "1 of 5 kinds of events of `w` never occur", True),
        (Kind.NOT_REACHED, "1 of 2 window states of `w` are never reached", True),
        (Kind.NOT_REACHED, "1 of 3 window states of `w` are never reached", False),
    ],
)
def test_the_oracle_notices_false_findings(kind: Kind, text: str, false: bool) -> None:
    oracle = Oracle(wex.parse(SPEC))
    (report,) = wex.check(SPEC)
    shown = {word: oracle.windows(oracle.stream(word)) for word in oracle.words}
    assert is_false(oracle, Finding(kind, text), report, shown) == false


def test_labels_are_ambiguous_only_if_two_ways_label_a_window() -> None:
    ambiguous = "stream s (ok bool) window w match p:(any+) q:(any+)"
    one = "stream s (ok bool) window w match p:([ok]+) q:([not ok]+)"
    assert torture.faults(ambiguous) == torture.faults(one) == []
    oracle, (report,) = Oracle(wex.parse(one)), wex.check(ambiguous)
    assert is_false(oracle, Finding(Kind.AMBIGUOUS_LABELS, ""), report, {})


DOMAIN = "stream s (n int) assume [0 <= n and n <= 2]* "


def test_hopeless_starts_are_looked_for_without_preference() -> None:
    """Without it a reluctant quantifier is an error."""
    spec = DOMAIN + "window w match (~any)*? & [n > n[-1]]+ until [n[-1] = 2] or end keep preferred"
    assert Kind.HOPELESS_STARTS in {finding.kind for finding in wex.check(spec)["w"].findings}
    assert torture.faults(spec) == []


def test_events_contradict_each_other_where_windows_begin() -> None:
    """At the beginning of a stream they do not, but `after` asks for events before them."""
    last = "[x[-2] = x[-1]] [x != x[-1]]"
    spec = f"stream s (x string) window w after [x != x[-1]]* {last} match [x != x[-1]]* {last}"
    found = [finding.kind for finding in wex.check(spec)["w"].findings]
    assert Kind.NEVER_OCCURS in found
    assert torture.faults(spec) == []


def test_a_start_may_have_to_wait_for_all_before_it() -> None:
    """The last of eight open starts has its window once the seven before it have grown too long."""
    spec = DOMAIN + "window w match any{1,8} until [n = n[-1]] keep disjoint"
    found = wex.check(spec)["w"].open
    assert found.exact
    assert found.bound == 8
    assert torture.faults(spec) == []
