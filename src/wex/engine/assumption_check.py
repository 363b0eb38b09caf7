"""Checking that streams are as assumed, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.data_errors import FaultError, assumption_error
from wex.engine.eval.letters import Lettering
from wex.engine.kernels.scans import run_assumptions
from wex.engine.kernels.types import read_only

if TYPE_CHECKING:
    from wex.compile.plan import Plan
    from wex.engine.arrays import Ints
    from wex.engine.input.batch import Batch


class Promised:
    """The promise of a plan: letters by phase, one automaton."""

    def __init__(self, plan: Plan) -> None:
        promise = plan.promise
        assert promise is not None
        self._promise = promise
        readers = [(phase, at, False) for at, phase in enumerate(promise.phases)]
        self._early = Lettering(plan, readers[:-1], coded=False)
        self._late = Lettering(plan, readers[-1:], coded=False)
        width = max(len(row) for row in promise.table)
        self._table = np.zeros((len(promise.table), max(width, 1)), dtype=np.int32)
        for state, row in enumerate(promise.table):
            self._table[state, : len(row)] = row
        self._live = np.array(promise.live, dtype=np.bool_)

    def check(self, batch: Batch, states: Ints) -> Ints:
        """Return the state of each stream after a batch, or raise a DataError where one breaks it."""
        (letters,) = self._late.read(batch)
        phases = len(self._promise.phases) - 1
        if phases and (batch.position < phases).any():
            heads, rows = batch.heads(phases)
            try:
                early = self._early.read(heads)
            except FaultError as fault:
                row = int(rows[fault.row])
                raise FaultError(fault.error, batch.stream_of(row), row) from None
            for position, found in enumerate(early):
                there = heads.at_position(position)
                letters[rows[there]] = found[there]
        first = batch.begin + (self._promise.first - batch.position)
        after, bad = run_assumptions(
            letters.astype(np.int32),
            self._table,
            self._live,
            first,
            batch.begin,
            batch.end,
            read_only(states),
        )
        if bad >= 0:
            stream = batch.stream_of(bad)
            error = assumption_error(self._promise.shown, batch.key(stream), batch.position_of(bad))
            raise FaultError(error, stream, bad)
        return after
