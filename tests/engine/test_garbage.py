"""What a batch has made is freed with it: nothing large waits for Python's collection of garbage.

A job of many batches would hold the columns of many of them, as few objects are made for a batch.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from random import Random

import numpy as np
import pyarrow as pa
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.engine.compare import outcome
from tests.engine.ways import in_batches, in_pieces, in_ranges
from tests.strategies import fewer, mixed, streams
from tests.strategies.mixed import mixed_specs
from tests.strategies.specs import pair_specs
from wex.engine.engine import engine_of
from wex.engine.input.prepare import PreparedInput
from wex.engine.sorted_scan import SortedScan

LARGE = (np.ndarray, pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray, pa.Buffer)


def garbage_of(run: Callable[[], object]) -> list[object]:
    """Return the columns that only the collection of garbage would free after a run."""
    gc.collect()
    gc.freeze()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        run()
        gc.collect()
        found = {id(one): one for one in gc.garbage}
        held = [*found.values(), *gc.get_referents(*found.values())]
        return [one for one in held if isinstance(one, LARGE)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.unfreeze()


def scanned(spec: wex.Spec, table: pa.Table, chance: Random) -> None:
    scan = SortedScan(engine_of(spec))
    table = PreparedInput(engine_of(spec), table).table
    cut = chance.randrange(table.num_rows)
    scan.feed(table.slice(0, cut))
    scan.feed(table.slice(cut))
    scan.close()


def found(spec: wex.Spec, table: pa.Table, chance: Random) -> None:
    wex.find(spec, table)


@fewer(4)
@given(
    st.one_of(
        st.tuples(mixed_specs(), st.just(mixed.random_streams)),
        st.tuples(pair_specs, st.just(streams.random_streams)),
    ),
    st.integers(0, 2**32),
    st.sampled_from([found, scanned, in_batches, in_pieces, in_ranges]),
)
def test_nothing_large_becomes_garbage(
    drawn: tuple[wex.Spec, Callable[[Random, int], pa.Table]],
    start: int,
    run: Callable[[wex.Spec, pa.Table, Random], object],
) -> None:
    spec, some_streams = drawn
    table = some_streams(Random(start), 10)
    # The first run compiles kernels. Errors hold the frames in which they arose, with all that was there.
    assume(not isinstance(outcome(run, spec, table, Random(start)), wex.WexError))
    assert not garbage_of(lambda: run(spec, table, Random(start)))
