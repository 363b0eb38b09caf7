"""Events that report no window, seen from the automata alone, one event at a time.

A stream is followed by the values of its last events and by the states in which each window holds
starts, whatever their number. That tells whether an event may report a window; it computes none. More states
than there are do no harm: an event is then run by the engine, which finds nothing to report.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wex.compile.normal_form import NONE
from wex.engine.input.columns import combine_chunks
from wex.engine.machines.choose import Machine
from wex.engine.machines.tables import MachineTables
from wex.engine.measures.user_defined import UserDefined
from wex.engine.state import schema
from wex.spec.types import DATE, INT, REAL, TIMESTAMP
from wex.theory.evaluate import ArithmeticFault, decider
from wex.theory.terms import offsets

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.compile.plan import PlannedLetters
    from wex.engine.engine import Engine
    from wex.engine.input.plain_rows import PlainRows, Row
    from wex.engine.state.state import State
    from wex.engine.window_run import Window
    from wex.theory.evaluate import Value

    Config = tuple[int, frozenset[int]]  # the prefix state, and the window states that hold starts

KINDS = ("registers", "configs", "moving")  # of machines that are followed
MOST_STATES = 64  # of one window that are followed
REMEMBERED = 1 << 12  # steps of a window
ORDERS = (INT, REAL, TIMESTAMP, DATE)  # types of order columns whose values Python orders alike


class UnclearError(Exception):
    """An event that only the engine can judge: a faulty one, or one that is not in order."""


class Followed(NamedTuple):
    """A stream after an event."""

    position: int  # of the next event
    order: tuple[Value, ...] | None  # the order columns of the last event; None: there was none
    events: tuple[Row | None, ...]  # the last ones that guards can look back at, oldest first
    assumption: int
    configs: tuple[Config, ...]


class QuietEvents:
    """Follows streams, to tell which events report no window."""

    def __init__(self, engine: Engine) -> None:
        plan, stream = engine.plan, engine.stream
        self._keys, self._order = stream.partition_by, stream.order_by
        self._never_null, self._never_nan = engine.never_null, engine.never_nan
        self._listed = {
            name: frozenset(type_.values) for name, type_ in engine.fields.items() if type_.values
        }
        self._windows = [_FollowedWindow(window) for window in engine.windows]
        planned = plan.assumptions
        self._assumptions = planned
        self._phases = [] if planned is None else [_Letters(phase) for phase in planned.phases]
        read = [window.letters for window in self._windows] + self._phases
        used = sorted({number for letters in read for number in letters.guards})
        self._decide = [(number, decider(plan.guards[number])) for number in used]
        back = [-offset for number in used for offset in offsets(plan.guards[number])]
        self._reach = max([0, *back])
        self.fresh = Followed(
            0, None, (None,) * self._reach, 0, tuple((0, frozenset[int]()) for _ in self._windows)
        )

    @classmethod
    def of(cls, engine: Engine) -> QuietEvents | None:
        """Return what follows the streams of an engine; None: not all of its windows can be followed."""
        stream, fields = engine.stream, engine.fields
        if engine.rows or engine.rated:
            return None
        if any(fields[name] not in ORDERS for name in stream.order_by):
            return None
        if any(fields[name] == REAL for name in stream.partition_by):
            return None  # -0.0 and 0.0 are one key
        for window in engine.windows:
            machine = window.machine
            if not isinstance(machine, Machine) or machine.kind not in KINDS:
                return None
            # Functions of users are called for each event; they may fail, and be seen to be called.
            if any(isinstance(fold, UserDefined) for fold in window.measuring.folds):
                return None
        return cls(engine)

    def key(self, row: Row) -> tuple[Value, ...]:
        """Return the key of the stream that a row belongs to."""
        return tuple([row[name] for name in self._keys])

    def after(self, stream: Followed, row: Row) -> tuple[Followed, bool]:
        """Return a stream after a further event, and whether that may report a window."""
        order = self._checked_order(stream, row)
        gram, position = (*stream.events, row), stream.position
        try:
            truths = {number: decide(gram, -position) for number, decide in self._decide}
        except ArithmeticFault:
            raise UnclearError from None
        assumption = self._after_assumptions(stream, truths)
        configs, reports = [], False
        for window, config in zip(self._windows, stream.configs, strict=True):
            moved = config
            if position >= window.first:
                moved, own = window.after(config, truths)
                reports |= own
            configs.append(moved)
        events = gram[1:] if self._reach else ()
        return Followed(position + 1, order, events, assumption, tuple(configs)), reports

    def _checked_order(self, stream: Followed, row: Row) -> tuple[Value, ...]:
        """Return the order columns of an event that has no fault of its own."""
        order = tuple([row[name] for name in self._order])
        for value in order:
            if value is None or value != value:  # noqa: PLR0124  (NaN)
                raise UnclearError
        # Of events at the same time all columns decide which is the first.
        if order and stream.order is not None and not order > stream.order:
            raise UnclearError
        for name in self._never_null:
            if row[name] is None:
                raise UnclearError
        for name in self._never_nan:
            value = row[name]
            if value != value:  # noqa: PLR0124
                raise UnclearError
        for name, listed in self._listed.items():
            if row[name] is not None and row[name] not in listed:
                raise UnclearError
        return order

    def _after_assumptions(self, stream: Followed, truths: dict[int, bool]) -> int:
        planned = self._assumptions
        if planned is None:
            return stream.assumption
        letters = self._phases[min(stream.position, len(self._phases) - 1)]
        state = planned.table[stream.assumption][letters.letter(truths)]
        if stream.position >= planned.first and not planned.live[state]:
            raise UnclearError
        return state

    # --- From states

    def of_state(self, state: State, rows: PlainRows) -> Followed:
        """Return the only stream of a state, as it is followed."""
        tail = state.tails.slice(max(0, state.tails.num_rows - max(self._reach, 1)))
        events = rows.rows(tail) if tail.num_rows else []
        if events is None:
            raise UnclearError
        order = tuple([events[-1][name] for name in self._order]) if events else None
        padded = [*[None] * self._reach, *events]
        return Followed(
            int(state.positions[0]),
            order,
            tuple(padded[len(padded) - self._reach :]),
            int(state.numbers(schema.ASSUMPTION)[0]),
            self.configs(state, 0),
        )

    def configs(self, state: State, stream: int) -> tuple[Config, ...]:
        """Return the states in which the windows of a stream hold starts."""
        configs = []
        for at, window in enumerate(self._windows):
            counts = state.counts(schema.held(at))
            end = int(counts[: stream + 1].sum())
            slots = np.empty(0, dtype=np.int64)
            if counts[stream]:
                held = combine_chunks(state.lists[schema.held(at)].column(schema.SLOT))
                slots = np.unique(held.to_numpy()[end - int(counts[stream]) : end])
            number = int(state.numbers(schema.machine_state(at))[stream])
            configs.append(window.config(number, slots.tolist()))
        return tuple(configs)


class _Letters:
    """The letters of a window or of a phase, by the truths of guards."""

    def __init__(self, planned: PlannedLetters) -> None:
        self.guards = planned.guards
        self._numbers = {row: number for number, row in enumerate(planned.rows)}

    def letter(self, truths: dict[int, bool]) -> int:
        letter = self._numbers.get(tuple([truths[number] for number in self.guards]))
        if letter is None:
            raise UnclearError
        return letter


class _FollowedWindow:
    """A window: how an event changes the states that hold starts, and whether it may report."""

    def __init__(self, window: Window) -> None:
        assert isinstance(window.machine, Machine)
        self.first, self.letters = window.first, _Letters(window.letters)
        self._machine = window.machine
        self._tables = MachineTables(window.planned)
        self._waits = window.planned.until is not None
        self._steps: dict[tuple[Config, int], tuple[Config, bool]] = {}

    def after(self, config: Config, truths: dict[int, bool]) -> tuple[Config, bool]:
        letter = self.letters.letter(truths)
        known = self._steps.get((config, letter))
        if known is None:
            if len(self._steps) >= REMEMBERED:
                self._steps.clear()
            known = self._steps[config, letter] = self._step(config, letter)
        return known

    def _step(self, config: Config, letter: int) -> tuple[Config, bool]:
        tables, (prefix, held) = self._tables, config
        class_ = tables.by_letter[letter]
        moved = {int(tables.move[state, class_]) for state in held}
        moved.add(int(tables.born[prefix, class_]))
        moved.discard(NONE)
        if len(moved) > MOST_STATES:
            raise UnclearError
        ending: Iterable[int] = moved
        if self._waits:
            ending = held if tables.until[class_] else ()
        reports = any(tables.final[state] for state in ending)
        lasting = frozenset(state for state in moved if self._waits or tables.lasts[state])
        return (int(tables.prefix[prefix, class_]), lasting), reports

    def config(self, machine_state: int, slots: Iterable[int]) -> Config:
        """Return the config of a stream, from the state of its machine and the slots in use."""
        if self._machine.configs:
            prefix, states, _ = self._machine.configs[machine_state]
            return prefix, frozenset(states[slot] for slot in slots)
        order = self._tables.order
        held = frozenset(int(order[slot]) for slot in islice(slots, MOST_STATES + 1))
        if len(held) > MOST_STATES:
            raise UnclearError
        return machine_state, held
