"""Guards over columns agree with guards event by event, also where arithmetic has no result."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import wex
from tests.engine.tables import batch_of
from tests.strategies import specs, streams
from tests.theory.guards import guard, guards_of
from wex.engine.eval.guards import Deciders, kleene
from wex.engine.eval.terms import Faults
from wex.engine.input.batch import Batch, BatchView
from wex.spec import tree
from wex.spec.types import INT, REAL
from wex.theory.evaluate import ArithmeticFault, Event, holds
from wex.theory.terms import Guard, offsets

lengths = st.lists(st.integers(1, 5), min_size=1, max_size=4)
# Numbers near the borders of 64 bits and of what a float holds exactly, too.
wholes = st.sampled_from([0, 1, -1, 2, 2**53, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(2**62)])
reals = st.sampled_from(
    [0.0, -0.0, 1.5, float(2**53), 2.0**63, -(2.0**63), 1e300, float("inf"), -1e300]
)


@given(specs.predicates, lengths, st.data())
def test_columns_agree_with_events(
    written: tree.Expr, counts: list[int], data: st.DataObject
) -> None:
    words = [data.draw(st.lists(streams.events, min_size=n, max_size=n)) for n in counts]
    extreme = st.fixed_dictionaries(
        {"n": wholes, "m": wholes, "end": wholes, "x": reals, "y": reals}
    )
    if data.draw(st.booleans()):
        words = [[{**event, **data.draw(extreme)} for event in word] for word in words]
    check(written, words)


def check(written: tree.Expr, words: list[list[Event]]) -> None:
    (found,) = guards_of([written])
    k = max((-offset for offset in offsets(found)), default=0)
    events = [event for word in words for event in word]
    batch = batch_of(streams.table(events), [len(word) for word in words])
    held = two_valued(found, batch)
    known, faults = three_valued(found, batch)
    position_of = batch.positions
    first_fault = None
    for row, position in enumerate(position_of):
        word = events[row - position : row + 1]
        gram = [word[at] if at >= 0 else None for at in range(position - k, position + 1)]
        try:
            expected = holds(found, gram, first=-int(position))
        except ArithmeticFault:
            first_fault = row if first_fault is None else first_fault
            assert faults is not None
            assert faults[row]
        else:
            if held is not None:
                assert held[row] == expected
            assert faults is None or not faults[row]
            if position >= k:
                assert known[row] == expected
    assert (held is None) == (first_fault is not None)


def two_valued(found: Guard, batch: Batch) -> list[bool] | None:
    """Return where a guard holds under `pad`, or None if its arithmetic fails."""
    deciders = Deciders()
    decide = deciders.decide(found, 0, pad=True)
    try:
        parts = [decide(block) for block in batch.blocks(deciders.reach)]
    except wex.DataError as error:
        assert error.code == "arithmetic"
        return None
    return [bool(each) for part in parts for each in part]


def three_valued(found: Guard, batch: Batch) -> tuple[NDArray[np.bool_], NDArray[np.bool_] | None]:
    faults = Faults()
    held, _ = kleene(found, BatchView(batch), faults)
    bad = None if faults.bad is None else np.broadcast_to(faults.bad, (batch.rows,))
    return held, bad


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
@given(n=wholes, x=reals)
def test_whole_numbers_and_reals_compare_exactly(op: str, n: int, x: float) -> None:
    batch = batch_of(pa.table({"n": [n], "x": [x]}), [1], {"n": INT, "x": REAL})
    for text in (f"n {op} x", f"x {op} n"):
        assert two_valued(guard(text), batch) == [holds(guard(text), [{"n": n, "x": x}])]


def test_atoms_that_differ_by_a_shift_are_computed_once() -> None:
    deciders = Deciders()
    deciders.decide(guard("x[-2] > x[-1] and x[-1] > x", "x real"), 0, pad=False)
    assert len(deciders._atoms) == 1
