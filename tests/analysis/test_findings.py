"""Findings of the analysis beside its verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import spec_texts
from tests.analysis.test_regions import refined
from wex.analysis.answers import Kind
from wex.analysis.regions.graph import Budget

X = "stream s (x real) "
few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (X + "window w match [x > 1 and x < 0] | any", "`x > 1 and x < 0` can never hold"),
        (
            X + "let up = x > x[-1] window w match up any* up [x[-1] < x[-2]]",
            "event 2, `x > x[-1]`, contradicts event 3, `x[-1] < x[-2]`",
        ),
        (
            X + "window w match [false] any",
            "the window `w` can never occur: it has no start, or its expression matches nothing",
        ),
        (X + "assume [false] any window w match any", "no stream meets `assume [false] any`"),
        (X + "assume any* window w match any", "`assume any*` excludes no stream"),
        (
            X + "assume [x > 0] any* assume [x < 0] any* window w match any",
            "no stream meets all assumptions together",
        ),
        (
            X + "window w match [x > 1] [x[-1] > 0] | [x < 1] [x[-1] > 2]",
            "some starts of `w` can never end in a window: they are dropped once events show it",
        ),
        ("stream s (t int) order by t window w match [t < t[-1]]+", "`t < t[-1]` can never hold"),
        (
            X + "assume [x > 0]* window w match [x > 0] | [x < 0] any",
            "2 of 3 kinds of events of `w` never occur",
        ),
        (X + "let up = x > x[-1] window w match any", "no window or assumption uses the let `up`"),
        (
            X + "let d = x - x[-1] let up = d > 0 let half = x / 2 window w match [half > 0]",
            "no window or assumption uses the lets `d`, `up`",
        ),
    ],
)
def test_findings(text: str, said: str) -> None:
    assert said in str(wex.check(wex.parse(text)))


def test_nothing_is_odd_about_a_good_spec() -> None:
    report = wex.check(wex.parse(X + "window w match [x > x[-1]]{3}"))
    assert report.findings == report["w"].findings == ()
    for used in (
        "assume [d > 0]* window w match any",
        "let up = d > 0 window w where up(begin)",
        "window w match any measure max(d) as top",
        "window w runs of d",
        "window w match any until [d > 0]",
    ):
        text = f"{X} let d = x - x[-1] {used}"
        assert not [one for one in wex.check(text).findings if one.kind is Kind.UNUSED_LET], used


@pytest.mark.parametrize(
    "text",
    [
        # A window of one event has no count() above 5, so no such start is ever held.
        X + "window w match [x > 1 and count() > 5] [x[-1] < 0] | [x < 0]",
        # A window of one event is denied, but its start is not held after that event.
        "stream s (ok bool) window w match [ok] | [not ok] any+ [ok] measure count() as n having n > 1 keep disjoint",
        "stream s (n int) assume [n >= 0]* assume [n = n[-1] - 1]* window w match any* [n = 0]",
        "stream s (a real, b real) window w match [a * b > a[-1] * b[-1]] [a * b > a[-2] * b[-2]]",
        "stream s (x int, y int) assume [y = y[-1] + x]* window w match [x > 0] any* [y < 0]",
    ],
)
def test_starts_are_not_called_hopeless_without_proof(text: str) -> None:
    report = wex.check(wex.parse(text))["w"]
    assert Kind.HOPELESS_STARTS not in [finding.kind for finding in report.findings]


@contextmanager
def budget_of(regions: int) -> Iterator[None]:
    """Find regions by refinement, and give it up after a few of them."""
    budget = Budget(regions)
    with refined(), mock.patch.object(Budget, "current", return_value=budget):
        yield


@few
@given(spec_texts(), st.integers(1, 6))
def test_what_is_said_with_few_regions_is_true(text: str, regions: int) -> None:
    spec = wex.parse(text)
    every = wex.check(spec)  # by kinds of events, which is exact
    with budget_of(regions):
        some = wex.check(spec)
    known = {Kind.HOPELESS_STARTS, Kind.NEVER_OCCURS, Kind.NEVER_HOLDS, Kind.ONLY_AT_FIRST}
    few_kinds, all_kinds = (
        Counter(finding.kind for finding in report["w0"].findings if finding.kind in known)
        for report in (some, every)
    )
    assert few_kinds <= all_kinds
