"""A long differential run: random specs, several random streams each, all ways to run them.

    python -m tests.engine.differential PAIRS SEED [mixed|any]

The definition, `find`, the machine that moves lists, ranges of each stream, a processor that is fed in pieces and restored
between them, one that is fed event by event with open starts set aside, and a bucket under a
watermark that advances: all have to find the same windows, or the same fault. `mixed` are specs that find many windows, `any` combine everything with everything.
The first difference ends the run, with the spec and the events.
"""

from __future__ import annotations

import logging
import sys
from functools import partial
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import wex
from tests.engine.compare import (
    Outcome,
    assert_as_defined,
    assert_same,
    assert_same_arrivals,
    assert_same_streams,
    find_moving,
    outcome,
)
from tests.engine.ways import event_by_event, in_batches, in_pieces, in_ranges
from tests.strategies import streams
from tests.strategies.mixed import mixed_specs, random_streams
from tests.strategies.specs import pair_specs
from wex.reference.find import find_by_definition

STREAMS = 40  # for each spec: compiling it takes longest
KINDS = {
    "mixed": (mixed_specs(), partial(random_streams, count=STREAMS)),
    "any": (pair_specs, partial(streams.random_streams, count=STREAMS)),
}


class Tally:
    """How many pairs there were, and how they ended."""

    def __init__(self) -> None:
        self.specs, self.pairs, self.refused, self.windows = 0, 0, 0, 0

    def __str__(self) -> str:
        return (
            f"{self.pairs:,} pairs of {self.specs:,} specs, {self.windows:,} windows,"
            f" {self.refused:,} streams refused by all"
        )


def compare(spec: wex.Spec, table: pa.Table, chance: Random, tally: Tally) -> None:
    """Check that all ways to run a spec agree about some streams; one that fails is run by itself."""
    tally.specs += 1
    tally.pairs += STREAMS
    expected = outcome(find_by_definition, spec, table)
    if isinstance(expected, wex.DataError):
        for key in pc.unique(table["key"]):
            own = pc.equal(table["key"], key) if key.is_valid else table["key"].is_null()
            alone = outcome(find_by_definition, spec, table.filter(own))
            if isinstance(alone, wex.DataError):
                tally.refused += 1
                _compare(spec, table.filter(own), alone, chance)
                table = table.filter(pc.invert(pc.fill_null(own, False)))
        expected = find_by_definition(spec, table)
    _compare(spec, table, expected, chance)
    tally.windows += expected.num_rows


def _compare(spec: wex.Spec, table: pa.Table, expected: Outcome, chance: Random) -> None:
    """Check that all ways to run a spec on a table agree with the definition."""
    found = outcome(wex.find, spec, table)
    assert_as_defined(found, expected, spec)
    assert_same(outcome(find_moving, spec, table), found)
    assert_same(outcome(in_ranges, spec, table, chance), found)
    assert_same_streams(outcome(in_pieces, spec, table, chance), found, spec, table)
    assert_same_arrivals(outcome(in_batches, spec, table, chance), found, spec)
    for key in chance.sample(keys := pc.unique(table["key"]).to_pylist(), min(2, len(keys))):
        own = table["key"].is_null() if key is None else pc.equal(table["key"], key)
        alone = table.filter(own)
        found = outcome(wex.find, spec, alone)
        assert_same_streams(outcome(event_by_event, spec, alone, chance), found, spec, alone)


def main(pairs: int, number: int, kind: str = "mixed") -> None:
    """Run so many pairs."""
    logging.getLogger("wex").setLevel(logging.ERROR)  # warnings about specs cost an analysis each
    tally = Tally()
    specs, data = KINDS[kind]

    @seed(number)
    @settings(
        max_examples=-(-pairs // STREAMS),
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(specs, st.integers(0, 2**32))
    def run(spec: wex.Spec, start: int) -> None:
        chance = Random(start)
        table = data(chance)
        try:
            compare(spec, table, chance, tally)
        except Exception:
            print(spec, table.to_pylist(), sep="\n", flush=True)  # noqa: T201
            raise

    try:
        run()
    finally:  # also of a run that is interrupted
        print(tally, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
