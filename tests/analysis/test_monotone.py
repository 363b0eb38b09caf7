"""Predicates about gaps: numbers that rise or fall from event to event, so that no memory recurs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.fuzz import compare
from tests.analysis.test_regions import refined
from wex.analysis.answers import Answer

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]
N = "stream s (n int) "
DOWN = N + "assume [n >= 0]* assume [n = n[-1] - 1]* "

_atoms = st.sampled_from(
    [
        "n >= n[-1] + 1",
        "n >= n[-1] + 2",
        "n = n[-1] - 1",
        "n = n[-1] + 1",
        "n[-1] - n > 1",
        "n > n[-2] + 1",
        "n <= n[-1]",
        "n >= 0",
        "n > 2",
        "n = 1",
        "n + n[-1] > 2",
        "n % 2 = 0",
    ]
)
_leaves = st.one_of(
    _atoms.map("[{}]".format),
    st.tuples(_atoms, _atoms).map(lambda pair: "[{} and {}]".format(*pair)),
)
_parts = st.one_of(_leaves, _leaves.map("{}+".format), _leaves.map("{}*".format), st.just("any*"))


@st.composite
def gap_texts(draw: st.DrawFn) -> str:
    """Draw the text of a spec about gaps, over all whole numbers."""
    assume = draw(st.sampled_from(["", "", "assume [n >= 0]* ", "assume [n = n[-1] - 1]* "]))
    parts = draw(st.lists(_parts, min_size=1, max_size=3))
    keep = draw(st.sampled_from(["", "", "keep shortest", "keep longest", "keep disjoint"]))
    return f"{N}{assume}window w match {' '.join(parts)} {keep}"


@few
@given(gap_texts())
def test_verdicts_agree_with_every_short_stream(text: str) -> None:
    with wex.limits.raised(effort=60_000):
        compare(text, longest=4, decided=False)


@few
@given(gap_texts())
def test_refined_regions_agree_with_every_short_stream(text: str) -> None:
    with refined(), wex.limits.raised(effort=40_000):
        compare(text, longest=4, decided=False)


@few
@given(gap_texts(), st.booleans())
def test_gaps_and_refinement_agree(text: str, open_: bool) -> None:
    def answer() -> Answer:
        with wex.limits.raised(effort=40_000):
            report = wex.check(wex.parse(text))["w"]
        return report.open if open_ else report.held

    one = answer()
    with refined():
        two = answer()
    if "unknown" not in (one.verdict, two.verdict):
        assert one.verdict == two.verdict
    if one.exact and two.exact:
        assert one.bound == two.bound


def assert_unbounded(answer: Answer) -> None:
    assert answer.verdict == "unbounded"
    for n in (1, 4, 25):
        answer.witness(n)  # the definition finds n starts


RISING = [
    "stream s (x real) window w match [x >= x[-1] + 1]+ [x > 2]",
    N + "window w match [n >= n[-1] + 1]+ [n > 2]",
    N + "window w match [n >= n[-2] + 3]+ [n > 100]",
    N + "window w match [n = n[-1] + 1]* [n = n[-1] - 2]+ [n > 100]",
    "stream s (x int, y int) window w match [x >= y + 3 and y >= x[-1]]+ [x > 50]",
]
FALLING = [
    N + "window w match [n = n[-1] - 1 and n >= 0]+",
    N + "window w match [n < n[-1] - 2]+ [n > 10]",
    DOWN + "window w match any* [n = 0]",
    "stream s (t int, n int) order by t assume [n = n[-1] - 2]* window w match [n > 0]+ [n < 0]",
]


@pytest.mark.parametrize("text", [*RISING, *FALLING])
def test_starts_accumulate_although_no_memory_recurs(text: str) -> None:
    report = wex.check(wex.parse(text))["w"]
    assert_unbounded(report.open)
    assert_unbounded(report.held)


@pytest.mark.parametrize("text", [*RISING[:2], *FALLING])
def test_certificates_need_no_exact_regions(text: str) -> None:
    with refined(), wex.limits.raised(effort=50_000):
        report = wex.check(wex.parse(text))["w"]
    assert report.way == "refinement"
    assert_unbounded(report.open)
    assert_unbounded(report.held)


@pytest.mark.parametrize(
    "text",
    [
        "stream s (a real, b real) window w match [a * b > a[-1] * b[-1]]+",
        N + "assume [n > 2 * n[-1] and n > 0]* window w match [n < 1000]+ [n > 2000]",
    ],
)
def test_what_does_not_rise_by_equal_steps_is_not_certified(text: str) -> None:
    report = wex.check(wex.parse(text))["w"]
    assert report.open.verdict != "unbounded"


def test_doubling_inside_a_range_has_an_exact_bound() -> None:
    # 1, 2, 4, ..., 512: nine of them double the number before. The solver has to solve equations.
    text = N + "assume [0 < n and n < 1000]* window w match [n = 2 * n[-1]]+"
    report = wex.check(wex.parse(text))["w"]
    assert (report.open.bound, report.open.exact, report.way) == (9, True, "refinement")
