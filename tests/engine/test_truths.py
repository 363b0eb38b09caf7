"""Guards over columns agree with guards event by event, also where arithmetic has no result."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import specs, streams
from tests.strategies.specs import FIELDS
from tests.theory.test_letters import guard, guards_of
from wex.engine.truths import Truths
from wex.spec import tree
from wex.spec.types import INT, REAL
from wex.theory.evaluate import ArithmeticFault, Event, holds
from wex.theory.terms import offsets

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
    table = streams.table([event for word in words for event in word])
    starts = np.cumsum([0, *(len(word) for word in words[:-1])]).astype(np.int64)
    truths = Truths(table, FIELDS, starts)
    held = truths.of(found)
    faulty = {int(row) for fault in truths.faults(found) for row in fault.rows}
    for start, word in zip(starts, words, strict=True):
        for position in range(len(word)):
            gram = [word[at] if at >= 0 else None for at in range(position - k, position + 1)]
            row = int(start) + position
            try:
                expected = holds(found, gram, first=-position)
            except ArithmeticFault:
                assert row in faulty
            else:
                assert row not in faulty
                assert held[row] == expected


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
@given(n=wholes, x=reals)
def test_whole_numbers_and_reals_compare_exactly(op: str, n: int, x: float) -> None:
    import pyarrow as pa  # noqa: PLC0415

    truths = Truths(pa.table({"n": [n], "x": [x]}), {"n": INT, "x": REAL}, np.array([0]))
    for text in (f"n {op} x", f"x {op} n"):
        assert truths.of(guard(text))[0] == holds(guard(text), [{"n": n, "x": x}])


def test_atoms_that_differ_by_a_shift_are_computed_once() -> None:
    truths = Truths(streams.table([]), FIELDS, np.array([], dtype=np.int64))
    truths.of(guard("x[-2] > x[-1] and x[-1] > x", "x real"))
    assert len(truths._atoms) == 1
