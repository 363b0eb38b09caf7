"""Chains in which windows end, as in `any{1,50000}`: one list for all of their states."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.compare import assert_same, find_moving
from tests.engine.ways import event_by_event, in_pieces
from wex.engine.engine import engine_of
from wex.engine.kernels.types import Automata
from wex.reference.find import find_by_definition

LONG = [  # not even the configs of these are few
    "match any{1,40}",
    "match [x < 8]{1,40}",
    "match [x < 8]{5,50} keep longest",
    "match any{1,35} until [x = 0]",
    "match [x > 0]{1,35} until [x = 1] or end",
    "after any* [x = 1] match any{1,40} [x = 2]?",
    "match [x > 1]{1,35} ([x = 0] | any any)",
    "match [x > 1] [x < 9]{0,40}",
]
KEEP = ["", "keep longest", "keep shortest", "keep disjoint"]


def spec_of(window: str, keep: str) -> wex.Spec:
    measures = "measure sum(x) as total, first(x) as one"
    clause = "" if "keep" in window else keep
    return wex.parse(f"stream s (x int) window w {window} {clause} {measures}")


def accepting(spec: wex.Spec) -> bool:
    tables = engine_of(spec).windows[0].machine.tables
    return isinstance(tables, Automata) and bool(tables.final[tables.chain_first].any())


@pytest.mark.parametrize("window", ["match any{1,50000} keep longest", "match [x < 8]{1,40}"])
def test_windows_of_any_length_up_to_a_limit_are_a_chain(window: str) -> None:
    assert accepting(spec_of(window, ""))


@given(
    st.sampled_from(LONG),
    st.sampled_from(KEEP),
    st.lists(st.integers(0, 9), max_size=80),
    st.randoms(use_true_random=False),
)
def test_chains_find_what_the_definition_says(
    window: str, keep: str, xs: list[int], chance: Random
) -> None:
    spec, table = spec_of(window, keep), pa.table({"x": pa.array(xs, pa.int64())})
    found = wex.find(spec, table)
    assert_same(found, find_by_definition(spec, table))
    assert_same(find_moving(spec, table), found)
    assert_same(in_pieces(spec, table, chance), found)
    assert_same(event_by_event(spec, table, chance), found)
