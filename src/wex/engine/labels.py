"""The labels of events in the windows that a batch reports.

A window is parsed when it has been found. So all its events have to be there: a stream keeps its events
from the oldest open start on, if measures depend on labels (`Engine.events_kept`), or if the next window
may begin at one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.input.columns import spans
from wex.engine.kernels.labels import (
    WORD,
    LabelTables,
    Onward,
    own_bits_kernel,
    parse_windows,
    prefix_states,
)
from wex.engine.kernels.programs import program_kernel
from wex.engine.kernels.types import read_only
from wex.engine.program_data import ProgramData
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.machines.labels import LabelMachine
    from wex.engine.window_run import WindowRun

MOST_EVENTS = 1 << 22  # of windows that are parsed together; a longer window is alone


@dataclass(frozen=True, eq=False)
class ParsedWindows:
    """The events of some windows, window by window, and the position in which each is read.

    Window w has the events `first[w]` … `first[w + 1] - 1`; `rows` are their rows in the batch.
    """

    machine: LabelMachine
    first: Ints
    rows: Ints
    read_in: NDArray[np.int32]

    def having(self, label: str) -> Bools:
        """Tell which events have a label."""
        form = self.machine.form
        has: Bools = form.has[:, form.names.index(label)][self.read_in]
        return has

    def innermost(self) -> pa.Array:
        """Return the innermost label of each event; NULL without one."""
        form = self.machine.form
        numbers = form.innermost[self.read_in]
        return pa.array(form.names, pa.string()).take(pa.array(numbers, mask=numbers < 0))


class LabelRun:
    """Parses the windows that one window of a plan finds in a batch."""

    def __init__(self, run: WindowRun, codes: NDArray[np.generic], state: Ints) -> None:
        """`state` has the states of the automaton for prefixes, before `Engine.oldest_whole`."""
        assert run.window.labels is not None
        # The run itself has these labels: objects that hold each other are freed late.
        self.engine, self.window, self.batch = run.engine, run.window, run.batch
        self.rows, self.carried = run.rows, run.carried
        self.codes, self.state = codes, state
        self.machine: LabelMachine = run.window.labels

    def parsed(self, streams: Ints, starts: Ints, ends: Ints) -> ParsedWindows:
        """Return the events of windows from and to some rows, with the positions in which they are read."""
        sizes = ends - starts + 1
        first = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=first[1:])
        read_in = np.zeros(int(first[-1]), dtype=np.int32)
        entries = np.zeros(len(sizes), dtype=np.int32)
        if self.machine.depends_on_prefix:
            entries = self.machine.form.entry[self.states_before(streams, starts)]
        words = -(-self.machine.form.positions // WORD)
        alive = np.empty((int(sizes.max(initial=0)) + 1, words), dtype=np.uint64)
        own = self._own_bits(starts, sizes, len(read_in))
        parse_windows(
            read_only(self.codes), read_only(own), self.machine.tables, read_only(starts),
            read_only(sizes), read_only(entries), alive, read_in,
        )  # fmt: skip
        return ParsedWindows(self.machine, first, spans(starts, ends + 1), read_in)

    def _own_bits(self, starts: Ints, sizes: Ints, count: int) -> NDArray[np.int32]:
        """Return the truth values of predicates with aggregates for all events of some windows."""
        own = self.window.machine.own
        if own is None:
            return np.empty(0, dtype=np.int32)
        bits = np.empty(count, dtype=np.int32)
        kernel = program_kernel(own.program.source, own_bits_kernel)
        arguments = (read_only(starts), read_only(sizes), self._columns, own.program.initial, bits)
        while kernel(*arguments) is None:
            pass  # it is worth being compiled
        return bits

    @cached_property
    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        own = self.window.machine.own
        assert own is not None
        return ProgramData(own.program, self.rows, self.carried).columns()

    def onward(self, label: str, longest: int, *, first: bool) -> Onward:
        """Return how to go on at a label of a window of at most `longest` events."""
        form = self.machine.form
        entries = np.empty(0, dtype=np.int32)
        if self.machine.depends_on_prefix:
            entries = form.entry[self._prefix_states[0]]
        own = self.window.machine.own
        return Onward(
            True,
            first,
            read_only(form.has[:, form.names.index(label)]),
            self.machine.tables,
            read_only(entries),
            np.empty(0 if own is None else longest, dtype=np.int32),
            np.empty((longest + 1, -(-form.positions // WORD)), dtype=np.uint64),
            np.empty(longest, dtype=np.int32),
        )

    # --- The events before a window

    def states_before(self, streams: Ints, rows: Ints) -> Ints:
        """Return the states of the automaton for prefixes before rows of some streams."""
        before, after = self._prefix_states
        batch = self.batch
        inside = rows < batch.end[streams]
        states: Ints = np.where(inside, before[np.where(inside, rows, 0)], after[streams])
        return states

    @cached_property
    def _prefix_states(self) -> tuple[NDArray[np.int32], Ints]:
        """Return the states before each row, and those after the last row of each stream."""
        batch, window = self.batch, self.window
        begin = np.maximum(
            self.engine.oldest_whole(batch), batch.begin + window.first - batch.position
        )
        before = np.zeros(batch.rows + 1, dtype=np.int32)
        after = self.state.copy()
        prefix_states(
            read_only(self.codes), self.machine.before, read_only(self.machine.form.prefix.table),
            read_only(np.minimum(begin, batch.end)), read_only(batch.end), after, before,
        )  # fmt: skip
        return before, after


def nowhere() -> Onward:
    """Return what a window has that does not go on at a label."""
    numbers = np.empty(0, dtype=np.int32)
    none = read_only(numbers)
    tables = LabelTables(read_only(np.empty((0, 0), np.uint16)), 0, none, none, none, none)
    has, alive = read_only(np.empty(0, np.bool_)), np.empty((0, 0), np.uint64)
    return Onward(False, False, has, tables, none, numbers, alive, numbers)


def blocks(sizes: Ints) -> Iterator[slice]:
    """Yield ranges of windows that are small enough to be parsed together, at least one."""
    total = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        limit = (int(total[begin - 1]) if begin else 0) + MOST_EVENTS
        end = max(begin + 1, int(np.searchsorted(total, limit, side="right")))
        yield slice(begin, end)
        begin = end
    if not len(sizes):
        yield slice(0, 0)


def event_labels(run: WindowRun, streams: Ints, starts: Ints, ends: Ints) -> pa.Array:
    """Return the innermost label of each event of found windows, window by window; NULL without one.

    `starts` and `ends` are positions in the streams, as those of `FoundWindows`. The events have to
    be in the batch that the run is about.
    """
    shift = (run.batch.begin - run.batch.position)[streams]
    if run.labels is None:
        return pa.nulls(int((ends - starts + 1).sum()), pa.string())
    return run.labels.parsed(streams, starts + shift, ends + shift).innermost()
