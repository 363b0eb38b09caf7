"""Thinning keeps what can be seen: extremes of each column of pixels, windows, depth."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wex.plot import thinning
from wex.plot.thinning import PER_COLUMN, SEVERAL

VALUES = st.lists(st.one_of(st.floats(-1e6, 1e6), st.just(float("nan"))), min_size=1, max_size=200)
SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=60)


@given(VALUES, st.integers(1, 40), st.randoms(use_true_random=False))
def test_each_column_keeps_its_ends_and_extremes(
    values: list[float], count: int, random: object
) -> None:
    places = np.sort(np.array([random.randrange(1000) for _ in values]))  # type: ignore[attr-defined]
    numbers = np.array(values)
    columns = thinning.pixel_columns(places, count)
    kept = thinning.extremes(numbers, columns)
    assert (np.diff(columns) >= 0).all()
    assert columns.max() < count
    for column in np.unique(columns):
        rows = np.flatnonzero(columns == column)
        own = kept[(kept >= rows[0]) & (kept <= rows[-1])]
        assert len(own) <= PER_COLUMN
        assert rows[0] in own
        assert rows[-1] in own
        assert np.isnan(numbers[own]).any() == np.isnan(numbers[rows]).any()
        if not np.isnan(numbers[rows]).all():
            assert np.nanmin(numbers[own]) == np.nanmin(numbers[rows])
            assert np.nanmax(numbers[own]) == np.nanmax(numbers[rows])


@given(SPANS)
def test_depth_is_the_number_of_windows_around_each_event(spans: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = starts + np.array([size for _, size in spans], dtype=np.int64)
    positions, depths = thinning.depth_steps(starts, ends)
    for event in range(80):
        here, behind = np.searchsorted(positions, [event, event + 1])
        around = depths[max(here - 1, 0) : behind] if here else depths[:behind]
        assert around.max(initial=0) == ((starts <= event) & (event <= ends)).sum()
        after = depths[behind - 1] if behind else 0  # up to the next event
        assert after == ((starts <= event) & (event < ends)).sum()


@given(SPANS)
def test_windows_of_one_lane_share_no_event(spans: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in spans], dtype=np.int64)
    ends = starts + np.array([size for _, size in spans], dtype=np.int64)
    lanes = thinning.lanes(starts, ends)
    deepest = max([0, *thinning.depth_steps(starts, ends)[1].tolist()])
    assert lanes.max(initial=-1) + 1 == deepest
    for lane in set(lanes.tolist()):
        own = np.flatnonzero(lanes == lane)
        order = own[np.argsort(starts[own], kind="stable")]
        assert (ends[order][:-1] < starts[order][1:]).all()


@given(st.lists(st.integers(0, 9), max_size=50), st.integers(1, 20))
def test_no_window_that_is_left_out_is_longer_than_one_that_is_drawn(
    lengths: list[int], most: int
) -> None:
    sizes = np.array(lengths, dtype=np.int64)
    drawn = thinning.longest(sizes, most)
    assert len(drawn) == len(set(drawn.tolist())) == min(most, len(sizes))
    others = np.setdiff1d(np.arange(len(sizes)), drawn)
    assert sizes[others].max(initial=-1) <= sizes[drawn].min(initial=99)


@given(st.lists(st.integers(-1, 3), min_size=1, max_size=80), st.integers(1, 20), st.integers(1, 9))
def test_a_strip_covers_every_event_and_says_where_values_differ(
    values: list[int], most: int, count: int
) -> None:
    codes = np.array(values)
    parts = thinning.strip(codes, thinning.pixel_columns(np.arange(len(codes)), count), most)
    assert parts.first[0] == 0
    assert parts.last[-1] == len(codes) - 1
    assert (parts.first[1:] == parts.last[:-1] + 1).all()
    assert len(parts.first) <= max(most, count)
    for first, last, code in zip(parts.first, parts.last, parts.codes, strict=True):
        own = set(codes[first : last + 1].tolist())
        assert own == {code} if code != SEVERAL else len(own) > 1
    if len(parts.first) <= most:  # no part covers a column without events
        columns = thinning.pixel_columns(np.arange(len(codes)), count)
        for first, last in zip(parts.first, parts.last, strict=True):
            assert (np.diff(columns[first : last + 1]) <= 1).all()
