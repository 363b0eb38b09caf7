"""A long differential run: random specs, several random streams each, the engine against the definition.

    python -m tests.engine.differential PAIRS SEED

Each pair is run by `find`, by the machine that moves lists, and by a processor that is fed in pieces
and restored between them. The first difference ends the run, with the spec and the events.
"""

from __future__ import annotations

import logging
import random
import sys

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import wex
from tests.engine.compare import (
    assert_as_defined,
    assert_same,
    assert_same_streams,
    find_moving,
    outcome,
)
from tests.strategies import streams
from tests.strategies.specs import pair_specs
from wex.engine.engine import engine_of
from wex.engine.input.prepare import PreparedInput
from wex.reference.find import find_by_definition
from wex.spec import tree
from wex.theory.evaluate import Event

STREAMS = 8  # for each spec: compiling it takes longest
some = st.lists(streams.events, max_size=12) | st.lists(streams.gappy_events, max_size=12)


class Tally:
    """How many pairs there were, and how they ended."""

    def __init__(self) -> None:
        self.pairs, self.refused, self.windows = 0, 0, 0


def compare(spec: tree.Spec, events: list[Event], tally: Tally) -> None:
    """Check that all ways to run a spec on some events agree."""
    table = streams.table(events)
    tally.pairs += 1
    expected = outcome(find_by_definition, spec, table)
    if isinstance(expected, wex.DataError):
        tally.refused += 1
    else:
        tally.windows += expected.num_rows
    found = outcome(wex.find, spec, table)
    assert_as_defined(found, expected, spec)
    assert_same(outcome(find_moving, spec, table), found)
    assert_same_streams(outcome(_in_pieces, spec, table), found, spec, table)


def _in_pieces(spec: tree.Spec, table: pa.Table) -> pa.Table:
    ordered = PreparedInput(engine_of(spec), table).table.sort_by([("ts", "ascending")])
    processor, parts, row = wex.Processor(spec), [], 0
    chance = random.Random(table.num_rows)
    while row < ordered.num_rows:
        size = chance.randint(1, 4)
        parts.append(processor.feed(ordered.slice(row, size)))
        processor = wex.Processor.restore(spec, processor.state())
        row += size
    return pa.concat_tables([*parts, processor.close()]).combine_chunks()


def main(pairs: int, number: int) -> None:
    """Run so many pairs."""
    logging.getLogger("wex").setLevel(logging.ERROR)  # warnings about specs cost an analysis each
    tally = Tally()

    @seed(number)
    @settings(
        max_examples=pairs // STREAMS,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(pair_specs, st.lists(some, min_size=STREAMS, max_size=STREAMS))
    def run(spec: tree.Spec, words: list[list[Event]]) -> None:
        for events in words:
            try:
                compare(spec, events, tally)
            except Exception:
                print(spec, events, sep="\n", flush=True)  # noqa: T201
                raise

    run()
    print(  # noqa: T201
        f"{tally.pairs:,} pairs, {tally.windows:,} windows, {tally.refused:,} streams refused by all"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
