"""Windows that the watermark reports: those that no event to come can change, whatever it is.

A session ends when its key is silent for long enough. The next event of the key would show it, and
so does the watermark, as every event to come is later (`machines/closing`). For each open start
the state has the first watermark that proves its window. The report leaves the streams as they are: the
next event finds the same windows again, and those that are marked as reported are left out.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.eval.guards import kleene
from wex.engine.input.batch import Batch, BatchView
from wex.engine.input.columns import spans
from wex.engine.running_streams import ended
from wex.engine.state import schema
from wex.engine.state.state import State
from wex.theory.terms import RESULT, Field, with_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.engine import Engine
    from wex.engine.machines.closing import Closing, Proof
    from wex.engine.window_run import Window
    from wex.theory.terms import Guard, RunningTest

FAR = 2**58  # microseconds: later than the year 9999


def with_closing_times(engine: Engine, state: State) -> State:
    """Return a state in which each open start has the watermark that reports its window."""
    for number, window in enumerate(engine.windows):
        held = state.lists[schema.held(number)]
        if window.closing is None or not held.num_rows:
            continue
        closes = held.column(schema.CLOSES).to_numpy()
        owners = _owners(state, number)
        # The starts of a stream are asked for together, as one may wait for another.
        fresh = np.isin(owners, owners[closes == schema.NOT_ASKED])
        if fresh.any():
            times = closes.copy()
            times[fresh] = _closing_times(engine, state, number, np.flatnonzero(fresh))
            state = _with_times(state, number, times)
    return state


def next_closing(engine: Engine, state: State) -> int | None:
    """Return the first watermark that reports a window; None: none does."""
    times = [
        int(pending.min())
        for number, window in enumerate(engine.windows)
        if window.closing is not None and len(pending := _pending(state, number))
    ]
    return min(times, default=None)


def report_closed(engine: Engine, state: State, watermark: int) -> tuple[pa.Table | None, State]:
    """Return the windows that a watermark reports, and a state in which they are marked."""
    due: dict[int, Bools] = {}
    streams = np.zeros(state.size, dtype=np.bool_)
    for number, window in enumerate(engine.windows):
        if window.closing is not None and state.lists[schema.held(number)].num_rows:
            times = _times(state, number)
            due[number] = (times != schema.REPORTED) & (times <= watermark)
            streams[_owners(state, number)[due[number]]] = True
    if not streams.any():
        return None, state
    asked = state
    for number in range(len(engine.windows)):
        # The end of a stream reports every window that waits; here only those that are due.
        rows = state.lists[schema.held(number)].num_rows
        times = np.full(rows, schema.REPORTED, dtype=np.int64)
        if number in due:
            times[due[number]] = schema.NOT_ASKED
        asked = _with_times(asked, number, times)
        if number in due:
            state = _with_times(
                state, number, np.where(due[number], schema.REPORTED, _times(state, number))
            )
    table, _ = engine.run(*ended(engine, asked.take(np.flatnonzero(streams))), last=True)
    return table, state


# --- The times of a state


def _owners(state: State, number: int) -> Ints:
    """Return the streams of the open starts of a window."""
    return np.repeat(np.arange(state.size), state.counts(schema.held(number)))


def _times(state: State, number: int) -> Ints:
    times: Ints = state.lists[schema.held(number)].column(schema.CLOSES).to_numpy()
    return times


def _pending(state: State, number: int) -> Ints:
    """Return the watermarks that are to report windows."""
    if not state.lists[schema.held(number)].num_rows:
        return np.empty(0, dtype=np.int64)
    times = _times(state, number)
    return times[(times > schema.NOT_ASKED) & (times < schema.NEVER)]


def _with_times(state: State, number: int, times: Ints) -> State:
    name = schema.held(number)
    held = state.lists[name]
    if not held.num_columns:
        return state
    if schema.CLOSES in held.column_names:
        held = held.drop_columns(schema.CLOSES)
    held = held.append_column(schema.CLOSES, pa.array(times))
    return State(state.streams, {**state.lists, name: held})


# --- The first watermark that proves a window


def _closing_times(engine: Engine, state: State, number: int, starts: Ints) -> Ints:
    """Return for some starts of a window, whole streams of them, the watermarks that report them."""
    window = engine.windows[number]
    closing = window.closing
    assert closing is not None
    held = state.lists[schema.held(number)].take(pa.array(starts))
    owners = _owners(state, number)[starts]
    slots = held.column(schema.SLOT).to_numpy()
    real = slots != schema.BORDER
    final = window.machine.is_final(state.numbers(schema.machine_state(number))[owners], slots)
    asked = np.flatnonzero(real if closing.clauses.prefers else final)
    times = np.full(len(starts), schema.NEVER, dtype=np.int64)
    if len(asked):
        following = _NextEvents(engine, state, owners[asked], held.take(pa.array(asked)), window)
        clock = held.column(schema.CLOCK).to_numpy()[asked]
        limit = closing.clauses.within_time

        def proved(watermarks: Ints) -> Bools:
            expired = np.zeros(len(asked), dtype=np.bool_)
            if limit is not None:
                expired = watermarks - clock >= limit
            possible, which = following.possible_letters(closing, watermarks)
            certain = np.zeros(len(asked), dtype=np.bool_)
            for at, letters in enumerate(possible):
                some = which == at
                certain[some] = closing.certain(
                    letters, final[asked][some], slots[asked][some], expired[some]
                )
            return certain

        times[asked] = _first(proved, following.last_times)
    if closing.in_order:
        times[asked] = _not_before_earlier(times[asked], owners[asked])
    return times


def _first(proved: Callable[[Ints], Bools], since: Ints) -> Ints:
    """Return the first watermarks that prove something, or NEVER: what is proved stays so."""
    low = np.maximum(since, schema.NOT_ASKED + 1)
    high = np.maximum(low, FAR)
    ever = proved(high)
    while (low < high).any():
        middle = low + (high - low) // 2
        there = proved(middle)
        high = np.where(there, middle, high)
        low = np.where(there, low, np.minimum(middle + 1, high))
    return np.where(ever, high, schema.NEVER)


def _not_before_earlier(times: Ints, owners: Ints) -> Ints:
    """Return times such that no start of a stream comes before an earlier one."""
    falls = np.flatnonzero((owners[1:] == owners[:-1]) & (times[1:] < times[:-1]))
    result = times.copy()
    for stream in np.unique(owners[falls]).tolist():
        own = slice(*np.searchsorted(owners, [stream, stream + 1]).tolist())
        result[own] = np.maximum.accumulate(times[own])
    return result


class _NextEvents:
    """For each of some starts the next event of its stream, of which only the time is known."""

    def __init__(
        self, engine: Engine, state: State, owners: Ints, held: pa.Table, window: Window
    ) -> None:
        # The starts of a stream are one question, unless the answer depends on the start.
        self._starts = np.arange(len(owners))
        clauses = window.planned.clauses
        if not (clauses.running or clauses.prefers):
            owners, self._starts = np.unique(owners, return_inverse=True)
        ends = np.cumsum(state.tail_counts)
        # More events may be kept for labels than the next event can look back at.
        counts = np.minimum(state.tail_counts, engine.tail)
        first, end = (ends - counts)[owners], ends[owners]
        # The next event is a copy of the last one: only its time is read.
        rows = spans(first, end + 1)
        sizes = end + 1 - first
        self._at = np.cumsum(sizes) - 1
        rows[self._at] = end - 1
        table = state.tails.take(pa.array(rows))
        batch = Batch(
            table,
            engine.fields,
            engine.stream.partition_by,
            self._at + 1 - sizes,
            self._at,
            self._at + 1,
            state.positions[owners],
        )
        self._view = _TimedView(batch, engine.stream.order_by[0], self._at)
        self._machine, self._held = window.machine, held
        times: Ints = batch.array(engine.stream.order_by[0])  # type: ignore[assignment]
        self._last = times[self._at]
        self._renamed: dict[Proof, Guard] = {}

    @property
    def last_times(self) -> Ints:
        """Return the time of the last event of each start's stream."""
        times: Ints = self._last[self._starts]
        return times

    def possible_letters(self, closing: Closing, watermarks: Ints) -> tuple[list[int], Ints]:
        """Return sets of letters, and for each start the number of the set that its next event has one of."""
        following = np.empty(len(self._at), dtype=np.int64)
        following[self._starts] = watermarks + 1
        self._view.set_times(following)
        patterns = np.zeros(len(self._at), dtype=np.int64)
        for bit, one in enumerate(closing.proofs):
            guard = self._guard(one)
            true, _ = kleene(guard, self._view, None, missing_is_false=True)
            patterns |= true[self._at].astype(np.int64) << bit
        different, which = np.unique(patterns, return_inverse=True)
        sets = [
            closing.possible(bool(pattern >> bit & 1) for bit in range(len(closing.proofs)))
            for pattern in different.tolist()
        ]
        return sets, which[self._starts]

    def _guard(self, one: Proof) -> Guard:
        """Return the guard of a proof; results of aggregates become columns of the starts."""
        if one.test is None:
            return one.guard
        if one not in self._renamed:
            self._renamed[one] = with_fields(one.guard, partial(self._column, one.test))
        return self._renamed[one]

    def _column(self, test: RunningTest, field: Field) -> Field:
        """Return the column to read a field from: results of aggregates are in registers."""
        if not field.name.startswith(RESULT):
            return field
        assert self._machine.own is not None
        program = self._machine.own.program
        aggregate = test.aggregates[int(field.name[len(RESULT) :])]
        value, known = program.remembered[aggregate, -field.offset]
        column = self._held.column(schema.register(value))
        if program.registers[value] == "text":
            texts = [self._view.code(text or "") for text in column.to_pylist()]
            values: NDArray[np.generic] = np.array(texts, dtype=np.int64)
        else:
            values = column.to_numpy()
        there = self._held.column(schema.register(known)).to_numpy() == 1
        name = f"{RESULT}{value}"
        self._view.add(name, values, there)
        return Field(name, 0, field.type)


class _TimedView(BatchView):
    """A batch whose last event of each stream has a time to be set, and results of aggregates."""

    def __init__(self, batch: Batch, clock: str, at: Ints) -> None:
        super().__init__(batch)
        self._clock, self._at = clock, at
        self._columns: dict[str, NDArray[np.generic]] = {}
        self._known: dict[str, Bools] = {}

    def set_times(self, times: Ints) -> None:
        """Set the times of the last events."""
        column = self.batch.array(self._clock).copy()
        column[self._at] = times
        self._columns[self._clock] = column

    def add(self, name: str, values: NDArray[np.generic], known: Bools) -> None:
        """Add a column of the last events."""
        column = np.zeros(self.size, dtype=values.dtype)
        column[self._at] = values
        there = np.zeros(self.size, dtype=np.bool_)
        there[self._at] = known
        self._columns[name], self._known[name] = column, there

    def field(self, name: str, offset: int, extra: int = 0) -> NDArray[np.generic]:
        """Return a column `offset` rows back."""
        if offset or name not in self._columns:
            return super().field(name, offset, extra)
        return self._columns[name]

    def known(self, name: str, offset: int, extra: int = 0) -> Bools | None:
        """Return where a column is known; None: everywhere."""
        return self._known[name] if name in self._known else super().known(name, offset, extra)
