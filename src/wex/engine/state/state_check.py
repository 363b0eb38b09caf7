"""Check that a state read from bytes is one that the engine could have written.

Compiled code uses the numbers of a state as indices, without a check: states of automata, slots,
counts, panes. So they are checked once, when a state is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.compile.normal_form import NONE
from wex.engine.input.columns import arrow_type, combine_chunks, empty_table
from wex.engine.input.schemas import held_columns, no_events, runnable_schema
from wex.engine.input.sorting import equal_rows
from wex.engine.kernels.preferred import DEAD
from wex.engine.kernels.registers import SLOTS
from wex.engine.kernels.types import Automata, Configs, Preferred, Registers, Sliding
from wex.engine.machines.choose import Machine
from wex.engine.machines.tracked import Tracked
from wex.engine.state import schema
from wex.engine.state.state import FRAME, State, from_bytes
from wex.framing import require
from wex.spec.types import OTHER, REAL, TIMESTAMP, Type

if TYPE_CHECKING:
    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.machines.tracked import TrackedMachine
    from wex.engine.window_run import Window


MOST_EVENTS = 1 << 62  # of one stream: positions and their differences stay within 64 bits


def read_state(content: bytes, engine: Engine) -> State:
    """Return the state in some bytes; anything wrong with them is a StateError."""
    state = _with_closing(from_bytes(content, engine.fingerprint), engine)
    with FRAME.reading():
        check_state(state, engine)
    return state


def _with_closing(state: State, engine: Engine) -> State:
    """Return a state with the column of closing times, which earlier versions did not write."""
    lists = dict(state.lists)
    for at, window in enumerate(engine.windows):
        held = lists.get(schema.held(at))
        if held is None or not held.num_columns or window.closing is None:
            continue
        if schema.CLOSES not in held.column_names:
            times = np.full(held.num_rows, schema.NOT_ASKED, dtype=np.int64)
            lists[schema.held(at)] = held.append_column(schema.CLOSES, pa.array(times))
    return State(state.streams, lists)


def check_state(state: State, engine: Engine) -> None:
    """Raise an UnsoundError unless an engine can go on from a state."""
    lists = schema.list_names(len(engine.windows), rated=engine.rated)
    require(list(state.lists) == lists, "its lists are not those of the windows")
    expected = engine.fresh(0, empty_table(_declared(engine))).streams
    require(state.streams.column_names == expected.column_names, "its streams have other columns")
    for name in expected.column_names:
        if not name.startswith(schema.KEY):
            _whole_numbers(state.streams.column(name), name)
    positions = state.positions
    _within(positions, 0, MOST_EVENTS, "a position")
    for name in lists:
        _check_counts(state, name)
    kept = state.tail_counts
    least = np.minimum(positions, engine.tail)
    require((kept >= least).all() and (kept <= positions).all(), "last events are missing")
    require(engine.keeping or (kept == least).all(), "there are too many last events")
    require(engine.stream.partition_by or state.size <= 1, "it has several streams without a key")
    _check_tails(state, engine)
    _check_assumption(state.numbers(schema.ASSUMPTION), positions, engine)
    if engine.rated:
        _check_rates(state, engine)
    events = _declared(engine)
    if kept.any():
        events = runnable_schema(state.tails.schema, engine.fields)
    for at, window in enumerate(engine.windows):
        _check_window(state, at, window, engine, events)
    _check_kept_events(state, engine)


def _declared(engine: Engine) -> pa.Schema:
    return pa.schema([(name, arrow_type(type_)) for name, type_ in engine.stream.fields])


def _whole_numbers(column: pa.ChunkedArray, what: str) -> None:
    require(column.type == pa.int64() and not column.null_count, f"`{what}` is not a whole number")


def _within(numbers: Ints, low: Ints | int, end: Ints | int, what: str) -> None:
    require(((numbers >= low) & (numbers < end)).all(), f"{what} is out of range")


def _check_counts(state: State, name: str) -> None:
    table, counts = state.lists[name], state.counts(name)
    require(table.num_columns or not table.num_rows, f"`{name}` has rows without columns")
    _within(counts, 0, table.num_rows + 1, f"a count of `{name}`")
    # No sum of such counts leaves 64 bits before there are more streams than memory holds.
    require(int(counts.sum()) == table.num_rows, f"the counts of `{name}` do not fit its rows")


# --- The last events


def _check_tails(state: State, engine: Engine) -> None:
    tails = state.tails
    if not tails.num_columns:
        return
    require(tails.column_names == list(engine.fields), "last events have other columns")
    owners = pa.array(np.repeat(np.arange(state.size), state.tail_counts))
    for name, type_ in engine.fields.items():
        column = tails.column(name)
        require(_stands_for(column.type, type_), f"`{name}` has another type")
        needed = name in engine.guarded or name in engine.stream.order_by
        if needed:
            require(not column.null_count or name in engine.nullable, f"`{name}` has no value")
            nan = type_ == REAL and pc.any(pc.is_nan(column)).as_py()
            require(not nan, f"`{name}` is not a number")
        if type_.values:
            listed = pc.is_in(column, value_set=pa.array([*type_.values, None], pa.string()))
            require(pc.all(listed).as_py() is not False, f"`{name}` is not in the enum")
        if name in engine.stream.partition_by:
            keys = state.streams.column(schema.key(name))
            if pa.types.is_null(column.type):
                require(keys.null_count == len(keys), f"the key `{name}` has a value")
                column = column.cast(keys.type)
            require(keys.type == column.type, f"the key `{name}` has another type")
            require(equal_rows(keys.take(owners), column).all(), "an event is of another stream")


def _stands_for(given: pa.DataType, type_: Type) -> bool:
    """Tell whether an Arrow type fits a field; a column of NULLs may have no type yet."""
    if type_ == OTHER:
        return True
    if type_ == TIMESTAMP:
        return bool(
            pa.types.is_null(given) or (pa.types.is_timestamp(given) and given.unit == "us")
        )
    return bool(given == arrow_type(type_))


def _check_assumption(states: Ints, positions: Ints, engine: Engine) -> None:
    most = len(engine.plan.assumptions.table) if engine.plan.assumptions else 1
    _within(states, 0, most, "a state of the assumptions")
    require(
        not states[positions == 0].any(), "a stream without events has a state of the assumptions"
    )


def _check_rates(state: State, engine: Engine) -> None:
    """Check the times of the last events: those of a rate, ascending, up to the last event."""
    table, counts = state.lists[schema.RATES], state.counts(schema.RATES)
    most = np.minimum(state.positions, engine.conformity_check.most_times)
    require(((counts <= most) & ((counts > 0) == (most > 0))).all(), "it has other times of events")
    if not table.num_columns:
        return
    require(table.column_names == [schema.TIME], "the times of events have other columns")
    _whole_numbers(table.column(schema.TIME), schema.TIME)
    times = table.column(schema.TIME).to_numpy()
    owners = np.repeat(np.arange(state.size), counts)
    within = owners[1:] == owners[:-1]
    require((times[1:] >= times[:-1])[within].all(), "the times of events are not in order")


# --- The starts that are open


def _check_window(state: State, at: int, window: Window, engine: Engine, events: pa.Schema) -> None:
    positions, states = state.positions, state.numbers(schema.machine_state(at))
    held, counts = state.lists[schema.held(at)], state.counts(schema.held(at))
    last = state.numbers(schema.last_end(at))
    _within(last, -1, positions.clip(min=1), "the end of a window")
    _within(states, 0, _state_count(window.machine), "a state of an automaton")
    young = positions == 0
    require(
        not states[young].any() and not counts[young].any() and (last[young] == -1).all(),
        "a stream without events has windows",
    )
    if isinstance(window.machine.tables, Registers) and window.machine.clauses.limit < 0:
        occupied = np.bitwise_count(window.machine.tables.occupied[states])
        require((occupied <= counts).all(), "an open start is missing")
    if not held.num_columns:
        return
    columns = held_columns(engine, at, events)
    require(sorted(held.column_names) == sorted(columns), "open starts have other columns")
    for name, type_ in columns.items():
        require(held.column(name).type == type_, f"`{name}` of open starts has another type")
    for name in schema.HELD_NUMBERS:
        _whole_numbers(held.column(name), name)
    owners = np.repeat(np.arange(state.size), counts)
    starts = held.column(schema.POSITION).to_numpy()
    ends = positions[owners]
    _within(starts, window.first, ends, "an open start")
    following = np.append(starts[1:], 0)[: len(starts)]
    followed = np.append(owners[1:] == owners[:-1], False)[: len(starts)]
    sizes = np.where(followed, following, ends) - starts
    require((sizes > 0).all(), "open starts are not in their order")
    _check_clock(held, starts, window, engine)
    _check_slots(
        window.machine, held.column(schema.SLOT).to_numpy(), states, owners, ends - 1 - starts
    )
    for name in window.register_types():
        require(not held.column(name).null_count, "a register of an open start has no value")
    if window.closing is not None:
        _whole_numbers(held.column(schema.CLOSES), schema.CLOSES)
    if window.planned.clauses.prefers:
        _check_candidates(held, owners, starts, ends)
    _check_folds(held, sizes, window, events, engine)


def _check_kept_events(state: State, engine: Engine) -> None:
    """Check that all events of open windows are kept, for their rows or for measures with labels."""
    needed = np.minimum(state.positions, engine.events_kept(state))
    # A start that has expired since may have left more of them.
    require((state.tail_counts >= needed).all(), "events of open windows are missing")
    for at in engine.with_prefix:
        labels = engine.windows[at].labels
        assert labels is not None
        states = state.numbers(schema.prefix_state(at))
        _within(states, 0, labels.form.prefix.states, "a state of an automaton")
        require(not states[state.positions == 0].any(), "a stream without events has a prefix")


def _check_candidates(held: pa.Table, owners: Ints, starts: Ints, ends: Ints) -> None:
    """Check the candidates of starts: a pane begins where each of them ends."""
    _whole_numbers(held.column(schema.CANDIDATE), schema.CANDIDATE)
    candidates = held.column(schema.CANDIDATE).to_numpy()
    slots = held.column(schema.SLOT).to_numpy()
    there = candidates >= 0
    require((candidates >= -1).all(), "a candidate is out of range")
    require(not there[slots == schema.BORDER].any(), "a border of panes has a candidate")
    require(there[slots == DEAD].all(), "a start that waits has no candidate")
    _within(candidates[there], starts[there], ends[there], "a candidate")
    if schema.CANDIDATE_TIME in held.column_names:
        known = held.column(schema.CANDIDATE_TIME).is_valid().to_numpy()
        require((known == there).all(), "a candidate has no time, or a time has no candidate")
    needed = there & (candidates + 1 < ends)
    places = set(zip(owners.tolist(), starts.tolist(), strict=True))
    wanted = zip(owners[needed].tolist(), (candidates[needed] + 1).tolist(), strict=True)
    require(places.issuperset(wanted), "no pane begins where a candidate ends")


def _state_count(machine: Machine | TrackedMachine) -> int:
    tables = machine.tables
    if isinstance(tables, Registers):
        return len(tables.occupied)
    return len(tables.final) if isinstance(tables, Configs) else len(tables.prefix)


def _check_clock(held: pa.Table, starts: Ints, window: Window, engine: Engine) -> None:
    clock = held.column(schema.CLOCK).to_numpy()
    expected = np.zeros_like(starts)
    if engine.stream.order_by:
        require(not held.column(schema.TIME).null_count, "an open start has no time")
    if window.planned.clauses.within_events is not None:
        expected = starts
    elif window.planned.clauses.within_time is not None:
        expected = combine_chunks(held.column(schema.TIME)).view(pa.int64()).to_numpy()
    require((clock == expected).all(), "the clock of an open start is wrong")


def _check_slots(
    machine: Machine | TrackedMachine, slots: Ints, states: Ints, owners: Ints, ages: Ints
) -> None:
    """Check the slots of open starts: of their config, or states of the window automaton."""
    match machine.tables:
        case Registers(occupied=occupied):
            _within(slots, 0, SLOTS, "a slot")
            there = _slots_in_use(machine)[states[owners]] >> slots & 1
            require(there.all(), "an open start is in a slot that is empty")
            different = np.unique(owners * (SLOTS + 1) + slots)
            require(len(different) == len(slots), "two open starts are in one slot")
            if machine.clauses.limit < 0:
                # Earlier versions held dominated starts, too. They go with the next event of their stream.
                needed = owners[(occupied[states[owners]] >> slots & 1).astype(np.bool_)]
                found = np.bincount(needed, minlength=len(states))
                require(
                    (np.bitwise_count(occupied[states]) == found).all(), "an open start is missing"
                )
        case Configs(final=final):
            _within(slots, 0, final.shape[1], "a slot")
        case Sliding(size=size):
            _within(slots, 0, size, "a slot")
            require((slots == ages).all(), "a slot is wrong")
        case Automata(move=table) | Tracked(moves=table):
            _within(slots, 0, len(table), "a state of the window automaton")
        case Preferred(move=move):
            _within(slots, schema.BORDER, len(move), "a state of the window automaton")


def _slots_in_use(machine: Machine | TrackedMachine) -> Ints:
    """Return by config a bit for each slot in use, also of those whose starts are not held."""
    assert isinstance(machine, Machine)
    bits = [
        sum(1 << slot for slot, state in enumerate(slots) if state != NONE)
        for _, slots, _ in machine.configs
    ]
    return np.array(bits, dtype=np.int64)


def _check_folds(
    held: pa.Table, sizes: Ints, window: Window, events: pa.Schema, engine: Engine
) -> None:
    rows = no_events(engine, events)
    for at, fold in enumerate(window.measuring.folds):
        if at in window.measuring.labelled:
            continue  # computed from the events themselves
        parts = {
            name: combine_chunks(held.column(schema.part(at, name))) for name in fold.types_of(rows)
        }
        fold.check(parts, sizes)
        require(
            not held.column(schema.part(at, schema.FAILED)).null_count,
            "a pane does not say whether arithmetic failed in it",
        )
