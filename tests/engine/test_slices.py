"""Batches in slices, where `keep` has to choose among many windows: the same windows, the same errors."""

from __future__ import annotations

from random import Random
from unittest.mock import patch

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, outcome
from tests.engine.ways import in_pieces
from wex.engine.machines import room
from wex.engine.machines.room import TooManyWindowsError
from wex.reference.find import find_by_definition

MATCHES = [
    "match any+",
    "match [x > 1]+ [x < 7]",
    "match any+ until [x = 4] or end",
    "match any{1,20} within 9 events",
    "match [count() < 9]+",
]
KEEP = ["keep shortest", "keep longest", "keep disjoint"]
HAVING = ["m > 6", "m - n < 0", "n = 3", "(m - 9) / (n - 2) > 0"]


def spec_of(match: str, keep: str, having: str) -> wex.Spec:
    window = f"window w {match} {keep} measure max(x) as m, count() as n, sum(x) as total"
    return wex.parse(f"stream s (k int, x int) partition by k {window} having {having}")


@given(
    st.builds(spec_of, *map(st.sampled_from, (MATCHES, KEEP, HAVING))),
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9)), max_size=50),
    st.randoms(use_true_random=False),
)
def test_slices_change_nothing(
    spec: wex.Spec, events: list[tuple[int, int]], chance: Random
) -> None:
    k, x = ([event[at] for event in events] for at in (0, 1))
    table = pa.table({"k": pa.array(k, pa.int64()), "x": pa.array(x, pa.int64())})
    expected = outcome(find_by_definition, spec, table)
    rows = outcome(lambda: wex.find(spec, table, rows=True))
    with patch.object(room, "MOST_LATE", chance.choice([0, 5])):
        assert_same(outcome(wex.find, spec, table), expected)
        assert_same(outcome(lambda: wex.find(spec, table, rows=True)), rows)
        if isinstance(expected, pa.Table):
            pieces = in_pieces(spec, table, chance)
            assert pieces.num_rows == expected.num_rows


def test_too_many_windows_make_slices() -> None:
    spec = spec_of("match any+", "keep disjoint", "m > 6")
    table = {"k": [1] * 100, "x": [1, 2, 3, 9, 5] * 20}
    with (
        patch.object(room, "MOST_LATE", 0),
        patch("wex.engine.slices._stream_in_slices", side_effect=TooManyWindowsError),
    ):
        try:
            wex.find(spec, table)
        except TooManyWindowsError:
            return
    raise AssertionError
