"""Regions of gaps: every stream is a path, and in an exact graph every path is that of a stream."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from unittest import mock

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.test_regions import read
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.contexts import Contexts
from wex.analysis.regions.gaps import GapRegions, gap_regions
from wex.analysis.regions.graph import Action, Budget, Step
from wex.analysis.regions.query import RegionQuery
from wex.analysis.verdicts import Analysis
from wex.reference.find import find_by_definition
from wex.spec import meaning as meaning_of

few = settings(max_examples=max(20, settings.default.max_examples // 5))  # type: ignore[union-attr]
FIELDS = "stream s (n int, m int, x real, ok bool) "
_atoms = st.sampled_from(
    [
        "n >= n[-1] + 1",
        "n > n[-1] + 2",
        "n = n[-1] - 1",
        "n != n[-2]",
        "n <= n[-2] + 1",
        "n > 2",
        "n = 0",
        "2 * n < 3",
        "m >= n + 2",
        "m < n[-1]",
        "m[-1] = m",
        "x >= x[-1] + 1.5",
        "x < x[-1]",
        "2 * x <= 1",
        "3 * (x - x[-2]) != 1",
        "ok",
        "ok[-1] and n > 0",
        "is_first",
    ]
)
_leaves = st.one_of(
    _atoms.map("[{}]".format),
    _atoms.map("[not ({})]".format),
    st.tuples(_atoms, _atoms).map(lambda pair: "[{} and {}]".format(*pair)),
)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Draw the text of a spec about differences."""
    assume = draw(st.sampled_from(["", "", "assume [n >= 0]* ", "assume [n = n[-1] + 1]* "]))
    parts = draw(st.lists(_leaves, min_size=1, max_size=3))
    return f"{FIELDS}{assume}window w match {' '.join(parts)}"


def gaps_of(text: str) -> Contexts | None:
    """Return contexts whose regions are those of gaps, exact or not, if there are such."""

    def only_gaps(query: RegionQuery, budget: Budget) -> GapRegions:
        found = gap_regions(query, budget)
        if found is None:
            raise TooManyError
        return found

    contexts = "wex.analysis.regions.contexts."
    with (
        mock.patch(contexts + "finite_regions", return_value=None),
        mock.patch(contexts + "order_regions", return_value=None),
        mock.patch(contexts + "arithmetic_regions", only_gaps),
    ):
        found = Analysis(meaning_of(wex.parse(text)), 0, Budget()).contexts
    return found if isinstance(found.regions, GapRegions) else None


_events = st.fixed_dictionaries(
    {
        "n": st.integers(-2, 4),
        "m": st.integers(-2, 4),
        "x": st.sampled_from([Fraction(number, 12) for number in (-24, 0, 4, 6, 10, 18, 42)]),
        "ok": st.booleans(),
    }
)


def after(contexts: Contexts, word: tuple[Action, ...]) -> set[int]:
    reached = {0}
    for own in word:
        edges = contexts.regions.edges
        reached = {to for region in reached for action, to in edges[region] if action == own}
    return reached


@few
@given(texts(), st.lists(st.lists(_events, min_size=1, max_size=6), min_size=1, max_size=20))
def test_every_stream_is_a_path(text: str, streams: list[list[dict[str, object]]]) -> None:
    contexts = gaps_of(text)
    assume(contexts)
    assert contexts is not None
    for events in streams:
        word = read(contexts.query, events)  # type: ignore[arg-type]
        if word is not None:
            assert after(contexts, word)


def walk(contexts: Contexts, chance: random.Random, region: int, length: int) -> list[Step]:
    path: list[Step] = []
    for _ in range(length):
        if not contexts.regions.edges[region]:
            break
        path.append(chance.choice(contexts.regions.edges[region]))
        region = path[-1][1]
    return path


@few
@given(texts(), st.randoms(use_true_random=False))
def test_every_path_of_an_exact_graph_is_that_of_a_stream(text: str, chance: random.Random) -> None:
    contexts = gaps_of(text)
    assume(contexts and contexts.regions.exact)
    assert contexts is not None
    regions = contexts.regions
    for _ in range(5):
        path = walk(contexts, chance, 0, chance.randint(1, 12))
        found = regions.streams(path, ())
        assert found is not None
        assert read(contexts.query, found[0]) == tuple(action for action, _ in path)
        if regions.uniform and path:
            branches = [walk(contexts, chance, path[-1][1], 3) for _ in range(3)]
            assert regions.streams(path, branches) is not None


@pytest.mark.parametrize(
    ("text", "exact"),
    [
        ("stream s (n int) assume [n >= n[-1] + 3]* window w match [n < 20]+", True),
        ("stream s (x real) assume [x >= x[-2] + 0.5]* window w match [x < 0]+ [x > 7]", True),
        (
            "stream s (n int, m int) assume [n >= m + 2 and m > n[-1]]* window w match [n < 9]+",
            True,
        ),
        ("stream s (n int) assume [n <= n[-1] - 1]* window w match any* [n = 0]", True),
        # These are no gap orders, but what is forgotten makes no difference.
        ("stream s (n int) assume [n <= n[-1] + 1]* window w match [n > 3]+", True),
        ("stream s (n int) window w match [n > n[-1]]+ [n > n[-1] + 1 and n > 5]", True),
        ("stream s (x real) window w match [x >= x[-1] + 1]+ [x > 2]", True),
        # A counter comes back after as many steps as it went: that is forgotten.
        (
            "stream s (n int) assume [n = 0] any* assume [n = n[-1] + 1 or n = n[-1] - 1]* "
            "window w match [n = 0] any* [n = 5]",
            False,
        ),
    ],
)
def test_where_nothing_is_lost_gaps_are_exact(text: str, exact: bool) -> None:
    found = gaps_of(text)
    assert found is not None
    assert found.regions.exact == exact


def test_the_bound_of_a_gap_order() -> None:
    text = "stream s (n int) assume [n >= n[-1] + 3]* window w match [0 <= n and n < 20]+"
    report = wex.check(wex.parse(text))["w"]
    assert report.way == "gaps"
    assert (report.open.bound, report.open.exact) == (7, True)
    assert report.overlap.bound == 16


def test_continuations_that_no_stream_has_together() -> None:
    # The first start has a window only if n begins with 11, the second only if it begins with 12.
    text = (
        "stream s (n int) assume [n >= 0]* assume [n = n[-1] - 1]* "
        "window w after () match any{2} [n = 9] or after any match any{2} [n = 9]"
    )
    report = wex.check(wex.parse(text))["w"]
    assert (report.way, str(report.open)) == ("gaps", "at most 2")
    for first in range(9, 15):
        assert wex.find(text, {"n": list(range(first, -1, -1))}).num_rows <= 1


@pytest.mark.parametrize(
    "window",
    [
        "match [x[-1] >= x[-1]] [x[-1] <= x[-2]]",
        "match [x[-1] < x[-1] + 5] [x[-1] < x[-2]]",
        "match [not (x[-2] + x > x[-1] + x[-2])] [x[-1] > x[-2]]",
        "match [not x[-1] = x[-1]] [x - x[-1] <= 1]",
    ],
)
def test_a_field_that_cancels_out_may_still_be_missing(window: str) -> None:
    """A comparison that reads a missing event is false, whatever its sides would be otherwise."""
    spec = wex.parse(f"stream s (x int) window w {window}")
    streams = [list(x) for size in range(5) for x in product([0, 1, 2], repeat=size)]
    found = 0
    for x in streams:
        data = {"x": pa.array(x, pa.int64())}
        expected = find_by_definition(spec, data)
        assert (
            wex.find(spec, data)
            .select(["start_index", "end_index"])
            .equals(expected.select(["start_index", "end_index"]))
        )
        found += expected.num_rows
    assert found
    assert wex.is_empty(spec).holds is False
