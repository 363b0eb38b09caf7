"""Specs that mix windows of all kinds: every way to run them finds what the definition says.

These are the short forms of `python -m tests.engine.differential`.
"""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine import differential
from tests.strategies import fewer
from tests.strategies.mixed import mixed_specs, random_streams
from wex.engine.engine import engine_of


@fewer(4)  # each is a spec with many streams
@given(mixed_specs(), st.integers(0, 2**32), st.integers(1, 12))
def test_every_way_to_run_finds_the_same(spec: wex.Spec, seed: int, streams: int) -> None:
    chance = Random(seed)
    differential.compare(spec, random_streams(chance, streams), chance, differential.Tally())


def test_specs_that_combine_everything() -> None:
    differential.main(320, 1, "any")


def test_the_specs_have_windows_of_every_kind() -> None:
    """Keep the law above honest: its specs run on many machines, and most of them find windows."""
    kinds, seen = Counter[str](), Counter[str]()

    @fewer(4)
    @given(mixed_specs(most=2), st.integers(0, 2**32))
    def look(spec: wex.Spec, seed: int) -> None:
        seen["specs"] += 1
        kinds.update(window.machine.kind for window in engine_of(spec).windows)
        try:
            seen["with windows"] += wex.find(spec, random_streams(Random(seed), 6)).num_rows > 0
        except wex.DataError:
            seen["with faults"] += 1

    look()
    assert {"tracked", "preferred", "configs"} <= set(kinds)
    assert seen["with windows"] > seen["specs"] / 2
