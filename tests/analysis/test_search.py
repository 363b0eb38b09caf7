"""The search for streams where regions are not exact."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import given, settings

import wex
from tests.analysis.small import spec_texts, tried
from tests.analysis.test_regions import refined
from wex.analysis.compare import SpecComparison
from wex.analysis.regions.graph import Budget
from wex.spec import meaning as meaning_of
from wex.spec import tree

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]
DOWN = "stream s (n int) assume [n >= 0]* assume [n = n[-1] - 1]* "


@contextmanager
def hardly_refined() -> Iterator[None]:
    """Give the refinement up at once: then regions are not exact, and most paths are those of no stream."""
    with (
        refined(),
        mock.patch.object(Budget, "current", lambda times=1.0: Budget(1, int(200_000 * times))),
    ):
        yield


def windows_of(spec: wex.Spec, found: SpecComparison) -> set[tuple[int, int]]:
    assert found.witness is not None
    rows = wex.find(spec, found.witness).to_pylist()
    return {(row["start_index"], row["end_index"]) for row in rows}


@few
@given(spec_texts(windows=2))
def test_a_short_difference_is_found_without_regions(text: str) -> None:
    spec = wex.parse(text)
    meaning = meaning_of(spec)
    first, second = (
        replace(spec, windows=(replace(window, name=tree.Name("w")),)) for window in spec.windows
    )
    windows = [tried(meaning, at, 3).windows for at in (0, 1)]
    with hardly_refined():
        found = wex.equivalent(first, second)
    if windows[0] != windows[1]:
        assert found.holds is False
    if found.holds is False:
        assert found.window is not None
        inside = [found.window[1:] in windows_of(own, found) for own in (first, second)]
        assert inside[0] != inside[1]


@few
@given(spec_texts())
def test_a_short_window_is_found_without_regions(text: str) -> None:
    spec = wex.parse(text)
    some = any(tried(meaning_of(spec), 0, 3).windows.values())
    with hardly_refined():
        found = wex.is_empty(spec)
    if some:
        assert found.holds is False
    if found.holds is False:
        assert found.window is not None
        assert found.window[1:] in windows_of(spec, found)


@pytest.mark.parametrize(
    ("text", "field", "values"),
    [
        (DOWN + "window w match any* [n = 0]", "n", [0]),
        (DOWN + "window w match [n = 30] any* [n = 0]", "n", list(range(30, -1, -1))),
        (
            "stream s (n int) assume [n = 2 * n[-1]]* window w match [n = 3] any* [n = 384]",
            "n",
            [3, 6, 12, 24, 48, 96, 192, 384],
        ),
        (
            "stream s (a int, b int) assume [a = a[-1] + b[-1] and b = a[-1]]* "
            "window w match [a = 1 and b = 1] any* [a > 20]",
            "a",
            [1, 2, 3, 5, 8, 13, 21],
        ),
    ],
)
def test_the_only_way_to_a_window_is_found(text: str, field: str, values: list[int]) -> None:
    found = wex.is_empty(wex.parse(text))
    assert found.holds is False
    assert found.witness is not None
    assert found.witness[field].to_pylist() == values


def test_inclusion_finds_the_only_stream_that_refutes_it() -> None:
    wide, narrow = (DOWN + f"window w match [n = 12] any* {end}" for end in ("[n = 0]", "any"))
    found = wex.includes(wide, narrow)
    assert found.holds is False
    assert found.side == "second"
