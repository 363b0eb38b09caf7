"""Events whose repetition makes starts accumulate, as a solver proposes them."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given, settings

import wex
from tests.analysis.test_types import comparing
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import Budget
from wex.analysis.repetition import plus
from wex.analysis.repetition_search import RepetitionSearch
from wex.analysis.verdicts import Analysis
from wex.analysis.witness import table_of
from wex.spec import meaning as meaning_of

few = settings(max_examples=max(10, settings.default.max_examples // 4))  # type: ignore[union-attr]

# What comparisons alone decide, where there are too many orders of values to explore.
ENTANGLED = [
    "stream s (x real, y real, z int) window w match ([x <= x[-1] or z = 0 or z[-1] > y[-2]] [z = 3])+"
    " [y >= z and z >= x[-2] and y > 3]",
    "stream s (x int, y int, z real) window w match (([y > z[-1] or z != x or x <= 1] | [z = 3 and z > x[-1] and"
    " z[-3] < x[-2]]) | ([z > y[-2]])*) [z > 1] [y[-3] = z] [y < x[-3] or x < z[-1] or x <= z[-1]]",
    "stream s (x real, y int) window w match [x <= 3] [x[-1] > x] [y > y[-3]] [y < 3 and y >= x[-2]] ([x < y])?"
    " ([y = x[-1] and y < 3 and x != y[-1]])+",
    "stream s (x int, y real) window w match [y[-3] > x[-2] or x > y or y > x[-2]] [x > 1 and x != x[-2] and"
    " x = y] [x != x[-2]] [y[-2] = 3] [y[-2] > y] ([x = x[-3]])*",
    "stream s (x real, y real, z real) window w match [y <= z[-3]] [x = y or z != x[-1] or y != z[-2]]"
    " ([z <= y and z[-2] <= 0 and y <= x[-1]])+ [x <= x[-3] and z < z[-1]]",
]  # fmt: skip


def search_of(text: str) -> RepetitionSearch:
    return RepetitionSearch(meaning_of(wex.parse(text)), 0, Budget())


@pytest.mark.parametrize("text", ENTANGLED)
def test_what_only_compares_is_decided(text: str) -> None:
    report = wex.check(text)["w"]
    for answer in (report.open, report.held, report.overlap):
        assert answer.verdict == "unbounded"
        answer.witness(5)
    assert wex.find(text, report.overlap.witness(5)).num_rows >= 5


@few
@given(comparing(lookback=3))
def test_repeated_events_agree_with_regions(text: str) -> None:
    search = search_of(text)
    try:
        found = search.open()
    except TooManyError:
        return
    opened = Analysis(search.meaning, 0, Budget()).open
    assert found is None or opened.verdict != "bounded"
    if found is not None:
        for count in (3, search.rounds, 2 * search.rounds):
            assert search.with_open(found, count) is not None


@few
@given(comparing(lookback=2))
def test_windows_of_one_start_agree_with_regions(text: str) -> None:
    search = search_of(text)
    try:
        found = search.reporting()
    except TooManyError:
        return
    if found is not None:
        assert Analysis(search.meaning, 0, Budget()).overlap.verdict != "bounded"
        streams = [
            wex.find(text, table_of(search.meaning, events))
            for events in search.streams_reporting(found, 20)
        ]
        assert max(most_of_one_start(windows) for windows in streams) >= 20


def most_of_one_start(windows: pa.Table) -> int:
    return max(Counter(windows["start_index"].to_pylist()).values())


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match [x < x[-5]] ([x[-5] <= x])* [x < 1] [x != x[-4] or x[-2] = 3 or x = 0]",
        "stream s (x int) window w after [x = 1] match [x > 1]+",
        "stream s (x int) window w after [x = 1] any* [x = 2] match any* until [x = 5]",
    ],
)
def test_one_start_can_have_any_number_of_windows(text: str) -> None:
    assert search_of(text).reporting() is not None
    report = wex.check(text)["w"]
    assert report.overlap.verdict == "unbounded"
    assert (
        most_of_one_start(wex.find(text, report.overlap.witness(30))) >= 30
        or report.open.bound is None
    )


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match [x > x[-1]] [x = 1]",
        "stream s (x int) window w match [x = 1]+ keep shortest",
        "stream s (x int) window w after [x = 1] match [x > 1]+ [x > x[-1]] [x < x[-1] and x[-1] < x[-2]]",
    ],
)
def test_a_start_with_few_windows_is_not_repeated(text: str) -> None:
    assert search_of(text).reporting() is None


@pytest.mark.parametrize(
    ("text", "before", "size"),
    [
        ("stream s (x int) window w match any [x > x[-1]] any*", 0, 2),
        # The prefix asks for something before the rounds, and so does the assumption.
        ("stream s (x int) window w after [x = 7] [x > x[-1]] [x < 5]* match [x = 3] any* [x = 4]", 2, 1),
        ("stream s (x int) assume [x = 1] any [x = x[-1]]* window w match any* [x > 5]", 2, 1),
        ("stream s (x int) window w match [x > x[-1]] any* until [x = 9]", 0, 2),
        ("stream s (x int) window w match any{3} ([x = x[-3] and x != x[-1] and x != x[-2]])+", 0, 3),
    ],
)  # fmt: skip
def test_the_solver_proposes_rounds_and_what_comes_before(
    text: str, before: int, size: int
) -> None:
    search = search_of(text)
    found = search.open()
    assert found is not None
    assert (len(found.before), len(found.events)) == (before, size)
    assert search.with_open(found, 10) is not None


EARLY = "match [not x[-8] = x[-8]] any* [x = 4]"  # begins in the first eight positions only


@pytest.mark.parametrize(
    "text",
    [
        f"stream s (x int) window w {EARLY} or match [x[-8] = 3] any* [x > x[-1]] [x[-1] <= x[-2]]",
        f"stream s (x int, y int) window w {EARLY} or match [x[-8] = 3] any* [x*y > x[-1]*y[-1]]"
        " [x[-1]*y[-1] <= x[-2]*y[-2]] keep shortest",
    ],
)
def test_starts_of_the_first_rounds_prove_nothing(text: str) -> None:
    with suppress(TooManyError):
        assert search_of(text).open() is None
    assert wex.check(text)["w"].open.verdict != "unbounded"


def test_a_tail_ends_the_starts_that_each_round_adds() -> None:
    text = (
        f"stream s (x int) window w {EARLY} or match [x[-8] = 3] any* [x = 4] [x = 7] keep shortest"
    )
    search = search_of(text)
    found = search.open()
    assert found is not None
    for count in (7, 20, 60):
        assert search.with_open(found, count) is not None


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int, y int, z int) window w match [x > 5000000000 and y > 5000000000] any*"
        " [x*y > x[-1]*y[-1]] [x[-1]*y[-1] <= x[-2]*y[-2]] keep shortest",
        "stream s (t date, x int) order by t window w match [x = 3] [max(x) >= x]*"
        " [t - t[-1] = 1 day and x > 2*max(x)] keep shortest",
    ],
)
def test_events_without_a_result_are_not_proposed(text: str) -> None:
    assert wex.check(text)["w"].open.verdict == "unknown"


@pytest.mark.parametrize(
    ("text", "quadratic"),
    [
        ("stream s (x int) window w match [x = 1]{14} [x = 1]* [x = 2]", False),
        ("stream s (x int) window w match [x = 1]{14} [x = 1]*", True),
        ("stream s (x int) window w match [x = 1]* [x = 2]+", False),
        ("stream s (x int) window w match ([x = 1] [x > 1] any)+", True),
    ],
)
def test_growth_is_that_of_settled_starts(text: str, quadratic: bool) -> None:
    search = search_of(text)
    found = search.open()
    assert found is not None
    assert search.is_quadratic(found) == quadratic


@pytest.mark.parametrize(
    "text",
    [
        "stream s (t timestamp, x int) order by t window w match [x > x[-1]] any* [x = 9]",
        "stream s (t timestamp, u int, x int) order by t, u window w match [x > x[-1]] any* [x < u]",
        "stream s (d date, x int) order by d window w after [x = 1] any* match [x > x[-1]] any* [x = 9]",
    ],
)
def test_times_rise_in_the_rounds(text: str) -> None:
    search = search_of(text)
    found = next(search._ending_as_solved())
    assert search.with_open(found, 20) is not None


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match any{5}",
        "stream s (x int) window w match [x > x[-1]] [x = x[-1]]* [x > x[-1]]",
        "stream s (x int) assume any{4} window w match any+",
    ],
)
def test_the_solver_proposes_nothing_where_starts_are_bounded(text: str) -> None:
    assert search_of(text).open() is None
    assert search_of(text).held() is None


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match [x > x[-1]]+ [x < 0]",
        "stream s (x int, y real) window w match [x > x[-2] and y < x[-1]]+ [y > y[-1] and y > x]",
        "stream s (x int) window w match [x > x[-6] and x = 0 or x >= 1 and x < x[-5]] [x[-3] > 0]"
        " [x <= x[-2]] ([x != 3 and x[-6] < x[-3] and x[-2] > 0])+",
    ],
)
def test_numbers_rise_in_the_rounds(text: str) -> None:
    search = search_of(text)
    found = next(search._ending_as_solved())
    assert any(found.steps.values())
    for count in (3, 30):
        assert search.with_open(found, count) is not None


def test_null_does_not_rise() -> None:
    assert plus(None, 3) is None
    text = "stream s (x int) window w match [x is null] any [x > x[-3] or x[-3] is null]* [x < 0]"
    assert wex.check(text)["w"].open.verdict == "unbounded"
    with suppress(TooManyError):
        search_of(text).open()
