"""Check at run time that streams behave as `assume` says, batch by batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.data_errors import FaultError, assumption_error
from wex.engine.eval.letters import Lettering
from wex.engine.kernels.scans import run_assumptions
from wex.engine.kernels.states import run_states
from wex.engine.kernels.types import read_only

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.compile.plan import Plan
    from wex.engine.arrays import Ints
    from wex.engine.input.batch import Batch


class AssumptionCheck:
    """The assumptions of a plan as one automaton, and the readers of its letters.

    The letters of the first positions of a stream, its early phases, are different from those of
    all later ones.
    """

    def __init__(self, plan: Plan) -> None:
        planned = plan.assumptions
        assert planned is not None
        self._planned = planned
        readers = [(phase, first, False) for first, phase in enumerate(planned.phases)]
        self._early = Lettering(plan, readers[:-1], coded=False)
        self._late = Lettering(plan, readers[-1:], coded=False)
        width = max(len(row) for row in planned.table)
        self._table = np.zeros((len(planned.table), max(width, 1)), dtype=np.int32)
        for state, row in enumerate(planned.table):
            self._table[state, : len(row)] = row
        self._live = np.array(planned.live, dtype=np.bool_)

    def check(self, batch: Batch, states: Ints) -> Ints:
        """Return the state of each stream after a batch; an event that breaks the rules is a fault."""
        after, bad = run_assumptions(
            self._letters(batch),
            self._table,
            self._live,
            self._judged(batch),
            batch.begin,
            batch.end,
            read_only(states),
        )
        if bad >= 0:
            stream = batch.stream_of(bad)
            error = assumption_error(self._planned.shown, batch.key(stream), batch.position_of(bad))
            raise FaultError(error, stream, bad)
        return after

    def _judged(self, batch: Batch) -> Ints:
        """Return for each stream the first row that can break the rules."""
        judged: Ints = batch.begin + (self._planned.first - batch.position)
        return judged

    def _letters(self, batch: Batch) -> NDArray[np.int32]:
        (letters,) = self._late.read(batch)
        phases = self.phases
        if phases and (batch.position < phases).any():
            heads, rows = batch.heads(phases)
            try:
                early = self._early.read(heads)
            except FaultError as fault:
                row = int(rows[fault.row])
                raise FaultError(fault.error, batch.stream_of(row), row) from None
            for position, phase_letters in enumerate(early):
                heads_rows = heads.at_position(position)
                letters[rows[heads_rows]] = phase_letters[heads_rows]
        return letters.astype(np.int32)

    # --- One stream from any state, for streams that are divided into ranges

    @property
    def phases(self) -> int:
        """Return the position from which on the letters of all positions are the same."""
        return len(self._planned.phases) - 1

    @property
    def states(self) -> Ints:
        """Return all states."""
        return np.arange(len(self._table))

    def entries(self, position: int) -> Ints:
        """Return the states that a stream can have before the event at a position."""
        table = self._planned.table
        states = {0}
        for _ in range(min(position, self.phases)):
            states = {after for state in states for after in table[state]}
        if position > self.phases:
            pending = list(states)
            while pending:
                new = set(table[pending.pop()]) - states
                states |= new
                pending += new
        return np.array(sorted(states), dtype=np.int64)

    def after(self, batch: Batch, states: Ints, *, stops: bool = False) -> tuple[Ints, int]:
        """Return the state of a single stream after its events for each state before, and the next row.

        It is BROKEN where the events break the rules. With `stops`, the rows end where no two
        other states are left.
        """
        return run_states(
            self._letters(batch),
            np.arange(self._table.shape[1]),
            np.ascontiguousarray(self._table.T),
            self._live,
            int(batch.begin[0]),
            int(batch.end[0]),
            int(self._judged(batch)[0]),
            states,
            stops,
        )
