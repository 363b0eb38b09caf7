"""Whether streams conform to the assumptions of a spec: the automaton of `assume R`, and rates.

A rate, `assume at most N events in DURATION`, needs the times of the last N events of each stream. Those
that no event to come can be near are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.assumption_check import AssumptionCheck
from wex.engine.data_errors import FaultError, assumption_error
from wex.engine.input.columns import spans
from wex.engine.state import schema

if TYPE_CHECKING:
    from wex.compile.plan import Plan
    from wex.engine.arrays import Bools, Ints
    from wex.engine.input.batch import Batch
    from wex.engine.state.state import State

NO_TIMES = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Conformity:
    """How far streams have conformed: states of the automaton, and the times of their last events.

    `times` are those of all streams, one after the other; each stream has `counts` of them.
    """

    states: Ints
    counts: Ints
    times: Ints

    @classmethod
    def of_state(cls, state: State) -> Conformity:
        """Return the part of a state that is about assumptions."""
        states, table = state.numbers(schema.ASSUMPTION), state.lists.get(schema.RATES)
        if table is None or not table.num_columns:
            return cls(states, np.zeros_like(states), NO_TIMES)
        return cls(states, state.counts(schema.RATES), table.column(schema.TIME).to_numpy())

    @classmethod
    def fresh(cls, count: int) -> Conformity:
        """Return the conformity of new streams."""
        none = np.zeros(count, dtype=np.int64)
        return cls(none, none, NO_TIMES)

    def part(self, low: int, high: int) -> Conformity:
        """Return that of adjacent streams."""
        ends = np.append(0, np.cumsum(self.counts))
        return Conformity(
            self.states[low:high], self.counts[low:high], self.times[ends[low] : ends[high]]
        )

    def take(self, streams: Ints, fresh: Bools) -> Conformity:
        """Return that of some streams, each as often as it is named; `fresh` ones begin anew."""
        ends = np.cumsum(self.counts)
        counts = np.where(fresh, 0, self.counts[streams])
        begins = (ends - self.counts)[streams]
        times = self.times[spans(begins, begins + counts)]
        return Conformity(np.where(fresh, 0, self.states[streams]), counts, times)

    def columns(self) -> dict[str, pa.Array]:
        """Return the columns of the next state that are about the automaton."""
        return {schema.ASSUMPTION: pa.array(self.states)}

    def rate_columns(self) -> tuple[dict[str, pa.Array], pa.Table]:
        """Return the column and the list of the next state that are about rates."""
        counted = {schema.count(schema.RATES): pa.array(self.counts)}
        return counted, pa.table({schema.TIME: pa.array(self.times)})


class ConformityCheck:
    """The check of all assumptions of a plan, batch by batch."""

    def __init__(self, plan: Plan) -> None:
        self._automaton = AssumptionCheck(plan) if plan.assumptions else None
        self._rates = plan.rates
        self._clock = plan.stream.order_by[0] if plan.rates else ""
        self.most_times = max((rate.events for rate in plan.rates), default=0)
        self._longest = max((rate.length for rate in plan.rates), default=0)

    def check(self, batch: Batch, before: Conformity) -> Conformity:
        """Return how far streams conform after a batch; an event that breaks the rules is a fault."""
        after = before
        if self._automaton is not None:
            after = replace(after, states=self._automaton.check(batch, before.states))
        return self._timed(batch, after) if self._rates else after

    # --- The automaton alone, from any state

    @property
    def phases(self) -> int:
        """Return the position from which on the letters of all positions are the same."""
        return 0 if self._automaton is None else self._automaton.phases

    def after(self, batch: Batch, *, stops: bool = False) -> tuple[Ints, int]:
        """Return the states of a stream after a batch, from all that it can have before, and the next row.

        See `AssumptionCheck.after`.
        """
        if self._automaton is None:
            return np.zeros(1, dtype=np.int64), int(batch.begin[0])
        before = self._automaton.entries(int(batch.position[0]))
        return self._automaton.after(batch, before, stops=stops)

    def passage(self, batch: Batch) -> Ints:
        """Return the state of a stream after a batch for each state before; those that break are BROKEN."""
        if self._automaton is None:
            return np.zeros(1, dtype=np.int64)
        return self._automaton.after(batch, self._automaton.states)[0]

    def _timed(self, batch: Batch, before: Conformity) -> Conformity:
        """Return the conformity after a batch with the times of the last events."""
        sizes = batch.end - batch.begin
        total = before.counts + sizes
        ends = np.cumsum(total)
        begins = ends - total
        times = np.empty(int(total.sum()), dtype=np.int64)
        times[spans(begins, begins + before.counts)] = before.times
        rows, places = spans(batch.begin, batch.end), spans(begins + before.counts, ends)
        times[places] = batch.array(self._clock)[rows]
        bad: list[tuple[int, int]] = []  # the first row that exceeds each rate
        for number, rate in enumerate(self._rates):
            known = places - rate.events >= np.repeat(begins, sizes)
            near = _near(times, places[known], places[known] - rate.events, rate.length)
            if near.any():
                bad.append((int(rows[known][np.argmax(near)]), number))
        if bad:
            row, number = min(bad)
            stream = batch.stream_of(row)
            shown = (self._rates[number].shown,)
            error = assumption_error(shown, batch.key(stream), batch.position_of(row))
            raise FaultError(error, stream, row)
        last = np.repeat(ends, total)
        places = np.arange(len(times))
        kept = _near(times, last - 1, places, self._longest) & (places >= last - self.most_times)
        streams = np.repeat(np.arange(len(total)), total)
        counts = np.bincount(streams[kept], minlength=len(total))
        return Conformity(before.states, counts, times[kept])


def _near(times: Ints, later: Ints, earlier: Ints, length: int) -> Bools:
    """Tell which events are less than a length after earlier ones; their difference is never negative."""
    gaps = (times[later] - times[earlier]).view(np.uint64)  # it may not fit into 63 bits
    near: Bools = gaps < np.uint64(length)
    return near
