"""Why a window opened and closed: the runs of its automata, event by event.

The automata are those that `wex.automata` returns and `wex.draw` draws: for each pair, the prefix
automaton reads the stream up to a window, the window automaton reads from its first event on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.compile.guards import as_written, deciding_parts, guards_of
from wex.compile.planning import plan_windows
from wex.compile.to_predicate import names_of_lets, with_lets
from wex.compile.window import PerWindow
from wex.engine.eval.letters import Lettering
from wex.engine.input.batch import BatchView
from wex.engine.kernels.labels import own_bits_kernel, prefix_states
from wex.engine.kernels.programs import program_kernel
from wex.engine.kernels.types import read_only
from wex.engine.machines.own_letters import own_letters
from wex.engine.program_data import ProgramData
from wex.spec import meaning as meaning_of
from wex.stages import compile_window
from wex.theory.terms import RunningTest
from wex.threads import cached_property

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.automata.dfa import DFA
    from wex.compile.plan import Plan, PlannedWindow
    from wex.compile.window import CompiledWindow
    from wex.engine.arrays import Ints
    from wex.engine.machines.own_letters import OwnLetters
    from wex.plot.streams import StreamWindows
    from wex.spec import Meaning

BEFORE, AFTER = 4, 3  # events that are shown around a window
HALF = 20  # events that are shown of a long window at its start, and at its end
OUTSIDE, DEAD = -1, -2  # instead of a state: the automaton does not read, or cannot accept any more


@dataclass(frozen=True, eq=False)
class Predicates:
    """The predicates of a window: as written, in full, and which of them depend on the start."""

    shown: tuple[str, ...]
    full: tuple[str, ...]
    own: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Run:
    """The events around a window: rows, letters, and states of both automata.

    `prefix` has the states before each event, `window` those after it. `pair` is the pair of automata
    that accepts the window; None: there is none, so the window is not one of this spec and data.
    """

    rows: Ints
    letters: Ints
    prefix: Ints
    window: Ints
    pair: int | None


class WindowRuns:
    """The runs of the automata of one window of a spec over all events."""

    def __init__(
        self, seen: StreamWindows, meaning: Meaning, compiled: CompiledWindow, plan: Plan, at: int
    ) -> None:
        self._seen = seen
        self._never_null = frozenset(plan.stream.guarded) - frozenset(plan.stream.nullable)
        planned: PlannedWindow = plan.windows[at]
        self.predicates = _predicates(meaning, compiled)
        self.truths = compiled.letters.rows
        self.pairs = [(prefix, window) for prefix, window in compiled.form.pairs()]
        self._own: OwnLetters | None = own_letters(planned, plan)
        shared = planned.letters if self._own is None else self._own.shared
        first = 0 if planned.pad else planned.lookback
        reader = [(shared, first, planned.pad)]
        # Without aggregates codes are letters; with them, what the table of own letters begins with.
        lettering = Lettering(plan, reader, coded=self._own is not None)
        self._codes = lettering.read(seen.batch)[0].astype(np.int32)
        self._before = [self._prefix_run(prefix, first) for prefix, _ in self.pairs]
        self.shown = [
            (_shown_states(prefix), _shown_states(window)) for prefix, window in self.pairs
        ]

    def _classes(self, dfa: DFA) -> NDArray[np.uint16]:
        by_letter = dfa.classes.tolist()
        if self._own is not None:
            return read_only(self._own.classes(by_letter))
        return read_only(np.array(by_letter, dtype=np.uint16)[:, np.newaxis])

    def _prefix_run(self, prefix: DFA, first: int) -> NDArray[np.int32]:
        """Return the state of a prefix automaton before each row."""
        batch = self._seen.batch
        before = np.zeros(batch.rows, dtype=np.int32)
        prefix_states(
            read_only(self._codes), self._classes(prefix), read_only(prefix.table),
            read_only(np.minimum(batch.first + first, batch.end)), read_only(batch.end),
            np.zeros(len(batch.first), dtype=np.int64), before,
        )  # fmt: skip
        return before

    def run(self, stream: int, start: int, end: int) -> Run:
        """Return the run around the window from one row to another."""
        batch = self._seen.batch
        low, high = int(batch.first[stream]), int(batch.end[stream])
        last = min(end + 1 + AFTER, high)
        letters = self._letters(start, last)
        pair, states = self._accepting(start, end, letters)
        rows = _near(max(start - BEFORE, low), start, end, last)
        inside = rows >= start
        own = np.where(inside, letters[np.maximum(rows - start, 0)], self._shared(rows))
        if pair is None:
            nowhere = np.full(len(rows), OUTSIDE)
            return Run(rows, own, nowhere, nowhere, None)
        of_prefix, of_window = self.shown[pair]
        after = of_window[states[np.maximum(rows - start, 0)]]
        prefix = of_prefix[self._before[pair][rows]]
        return Run(rows, own, prefix, np.where(inside, after, OUTSIDE), pair)

    def _accepting(self, start: int, end: int, letters: Ints) -> tuple[int | None, Ints]:
        """Return the pair that accepts a window, and the states of its window automaton after events."""
        for number, (prefix, window) in enumerate(self.pairs):
            if prefix.final[self._before[number][start]]:
                states = _states_after(window, letters)
                if window.final[states[end - start]]:
                    return number, states
        return None, np.zeros(len(letters), dtype=np.int64)

    def _shared(self, rows: Ints) -> Ints:
        """Return the letters of events outside a window, where no aggregate has a value."""
        codes = self._codes[rows]
        if self._own is None:
            return codes.astype(np.int64)
        shared: Ints = self._by_parts[codes, 0].astype(np.int64)
        return shared

    def _letters(self, start: int, end: int) -> Ints:
        """Return the letters of the rows from `start` on for a window that begins there."""
        codes = self._codes[start:end]
        if self._own is None:
            return codes.astype(np.int64)
        program = self._own.program
        bits = np.empty(end - start, dtype=np.int32)
        kernel = program_kernel(program.source, own_bits_kernel)
        begin, size = np.array([start]), np.array([end - start])
        arguments = (read_only(begin), read_only(size), self._columns, program.initial, bits)
        while kernel(*arguments) is None:
            pass  # it is worth being compiled
        letters: Ints = self._by_parts[codes, bits].astype(np.int64)
        return letters

    @cached_property
    def _by_parts(self) -> NDArray[np.uint16]:
        """Return the letters by the code of their shared part and the bits of their own one."""
        assert self._own is not None
        return self._own.classes(range(len(self.truths)))

    @cached_property
    def _columns(self) -> tuple[NDArray[np.generic], ...]:
        assert self._own is not None
        rows = BatchView(self._seen.batch, self._never_null)
        return ProgramData(self._own.program, rows, pa.table({})).columns()


def _states_after(dfa: DFA, letters: Ints) -> Ints:
    """Return the states of an automaton after each letter."""
    count = len(letters)
    before, state = np.zeros(count + 1, dtype=np.int32), np.zeros(1, dtype=np.int64)
    classes = read_only(dfa.classes.astype(np.uint16)[:, np.newaxis])
    begin, end = read_only(np.zeros(1, dtype=np.int64)), read_only(np.array([count]))
    codes = read_only(letters.astype(np.int32))
    prefix_states(codes, classes, read_only(dfa.table), begin, end, state, before)
    before[count] = state[0]
    return before[1:].astype(np.int64)


def _near(low: int, start: int, end: int, high: int) -> Ints:
    """Return the rows that are shown of a window: all, or those around its start and its end."""
    if end - start < 2 * HALF:
        return np.arange(low, high)
    return np.concatenate([np.arange(low, start + HALF), np.arange(end - HALF + 1, high)])


def _shown_states(dfa: DFA) -> Ints:
    """Return the numbers of states in drawings, which leave out dead states."""
    kept = [0, *(state for state in range(1, dfa.states) if dfa.live[state])]
    numbers = np.full(dfa.states, DEAD, dtype=np.int64)
    numbers[kept] = np.arange(len(kept))
    return numbers


def _predicates(meaning: Meaning, compiled: CompiledWindow) -> Predicates:
    written = as_written(guards_of(deciding_parts(compiled.window), meaning.fields))
    full = [written[guard] for guard in compiled.letters.guards]
    names = names_of_lets(meaning)
    return Predicates(
        tuple(str(with_lets(predicate, names)) for predicate in full),
        tuple(map(str, full)),
        tuple(isinstance(guard, RunningTest) for guard in compiled.letters.guards),
    )


def runs_of(seen: StreamWindows) -> list[WindowRuns]:
    """Return the runs of all windows of a spec."""
    meaning = meaning_of(seen.spec)
    count = len(meaning.expanded.windows)
    compiled = [compile_window(meaning, at, as_written=True) for at in range(count)]
    plan = plan_windows(PerWindow(meaning, tuple(compiled)))
    return [WindowRuns(seen, meaning, each, plan, at) for at, each in enumerate(compiled)]
