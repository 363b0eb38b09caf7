"""Witnesses: concrete streams that show a verdict, checked by replaying them by the definition."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from wex import limits
from wex.analysis.counting.ordered import HeldOrder
from wex.analysis.rates import SECOND, Rates
from wex.analysis.regions.query import assumptions_of
from wex.analysis.window_tables import without_clauses
from wex.automata.explore import events_ahead
from wex.automata.preference import DEAD as NO_WAY
from wex.compile.guards import moments
from wex.compile.normal_form import NONE
from wex.compile.stream_order import unranked
from wex.engine.engine import Engine
from wex.engine.input.columns import conform
from wex.engine.input.sorting import sort
from wex.engine.kernels.compiled import interpreted
from wex.engine.running_streams import RunningStreams
from wex.errors import DataError, LimitError
from wex.reference.running import holds_so_far
from wex.reference.streams import Stream, streams
from wex.reference.windows import Definition, Grams
from wex.spec.types import BOOL, DATE, INT, OTHER, REAL, STRING, TIMESTAMP
from wex.stages import compile_window, plan_of
from wex.theory.terms import (
    Absolute,
    Arithmetic,
    Calendar,
    Comparison,
    Constant,
    Field,
    Local,
    Negative,
    NullFlag,
    RunningTest,
    atoms,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.regions.query import RegionQuery
    from wex.compile.assumptions import AssumptionAutomaton
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning, tree
    from wex.spec.types import Type
    from wex.theory.evaluate import Event, Value
    from wex.theory.letters import Letters
    from wex.theory.terms import Term


EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SUBSETS = 256  # sets of positions that the definition tries; with more, the engine replays
NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
OFFSETS = {
    TIMESTAMP: (NEW_YEAR - EPOCH) // timedelta(microseconds=1),
    DATE: (NEW_YEAR - EPOCH).days,
}


def concrete_streams(
    contexts: Contexts, path: Sequence[Edge], branches: Sequence[Sequence[Edge]] = ()
) -> tuple[list[Event], list[list[Event]]] | None:
    """Return events with all fields along a path and along continuations of it, or None."""
    streams = contexts.regions.streams(
        [edge.step for edge in path], [[edge.step for edge in branch] for branch in branches]
    )
    if streams is None:
        return None
    main, tails = streams
    query = contexts.query
    return (
        complete_events(query, main),
        [complete_events(query, tail, len(main)) for tail in tails],
    )


def complete_events(query: RegionQuery, events: Sequence[Event], first: int = 0) -> list[Event]:
    """Return events with a value for every field; `first` is the position of the first event."""
    shift = _shifts(query)
    return [_filled(event, index, query, shift) for index, event in enumerate(events, first)]


def _shifts(query: RegionQuery) -> dict[str, int]:
    """Return the offset that moves each time field to this century, if it changes no guard."""
    shifts: dict[str, int] = {}
    for type_, offset in OFFSETS.items():
        moved = [name for name, field_type in query.fields.items() if field_type == type_]
        weights = [
            (_weight(atom.left, moved), _weight(atom.right, moved))
            for guard in query.guards()
            for atom in atoms(guard)
            if isinstance(atom, Comparison)
        ]
        if all(one is not None and one == two for one, two in weights):
            shifts.update(dict.fromkeys(moved, offset))
    return shifts


def _weight(term: Term, moved: Sequence[str]) -> int | None:
    """Return how often the offset of the moved fields is added to a value; None: it is not linear."""
    match term:
        case Field(name):
            return int(name in moved)
        case Constant():
            return 0
        case Arithmetic("+" | "-" as op, left, right):
            one, two = _weight(left, moved), _weight(right, moved)
            if one is None or two is None:
                return None
            return one + two if op == "+" else one - two
        case Negative(value):
            inner = _weight(value, moved)
            return None if inner is None else -inner
        case Absolute(value) | Local(value) | Calendar(_, value):
            return 0 if _weight(value, moved) == 0 else None
        case Arithmetic(_, left, right):
            return 0 if _weight(left, moved) == _weight(right, moved) == 0 else None
    raise TypeError(term)


def _filled(
    event: Event, index: int, query: RegionQuery, shift: Mapping[str, int]
) -> dict[str, Value]:
    """Return an event with a value for every field."""
    filled: dict[str, Value] = {}
    whole = {own.name: own.value(event) for own in query.digits}
    for name, type_ in query.declared.items():
        value = event.get(name)
        if whole.get(name) is not None:
            filled[name] = whole[name]
            continue
        if event.get(NullFlag(name)):
            filled[name] = None
            continue
        if name in event and name in query.ranks:
            value = unranked(value, query.declared[name])
        elif value is None:
            value = filler(type_, index if name in query.rising else 0, query.rates.pace)
        elif isinstance(value, Fraction):
            value = rounded(value)
        elif name in shift:
            assert isinstance(value, int)
            value += shift[name]
        filled[name] = value
    return filled


def filler(type_: Type, index: int, pace: int = SECOND) -> Value:
    """Return a value for a field that no guard reads; times are `pace` microseconds apart."""
    if type_ == TIMESTAMP:
        return OFFSETS[TIMESTAMP] + index * pace
    if type_ == DATE:
        return OFFSETS[DATE] + index
    if type_.values:
        return type_.values[0]
    fillers: dict[Type, Value] = {
        BOOL: False, INT: index, REAL: float(index), STRING: f"a{index:04d}" if index else "a",
        OTHER: 0,
    }  # fmt: skip
    return fillers.get(type_)


def table_of(meaning: Meaning, events: Sequence[Event]) -> pa.Table:
    """Return events as a table, the input of `wex.find`."""
    types = {BOOL: pa.bool_(), INT: pa.int64(), REAL: pa.float64(), STRING: pa.string()}
    columns: dict[str, pa.Array] = {}
    zone = "UTC" if any(zoned for _, zoned in moments(meaning)) else None
    for name, type_ in meaning.fields.items():
        values = [event[name] for event in events]
        if type_ == TIMESTAMP:
            columns[name] = pa.array(values, pa.int64()).cast(pa.timestamp("us", zone))
        elif type_ == DATE:
            columns[name] = pa.array(values, pa.int32()).cast(pa.date32())
        elif type_ == REAL:
            floats = [None if value is None else float(value) for value in values]
            columns[name] = pa.array(floats, pa.float64())
        elif type_ == OTHER:
            columns[name] = pa.array([None if value is None else 0 for value in values], pa.int64())
        else:
            columns[name] = pa.array(values, types.get(type_, pa.string()))
    return pa.table(columns)


def events_of(meaning: Meaning, table: pa.Table) -> list[Event]:
    """Return the events of the first stream of a table."""
    keys = [name.text for name in meaning.spec.stream.partition_by]
    table = conform(table, meaning.fields, keys)
    parts = list(streams(table, keys, meaning.fields, frozenset(), skip_nulls=False))
    return parts[0].events if parts else []


def replayed_windows(
    meaning: Meaning, index: int, events: Sequence[Event]
) -> list[tuple[int, int]] | None:
    """Return start and end of the matches of a window in a stream, by the definition.

    None if the events are not one stream in order that conforms to every assumption.
    """
    stream = conforming_stream(meaning, events)
    if stream is None:
        return None
    try:
        with limits.raised(subsets=SUBSETS):
            windows = Definition(meaning, index, stream).windows()
            return [(window.start, window.end) for window in windows]
    except DataError:
        return None
    except LimitError:  # the definition tries every set of positions; the engine does not
        streams = _stream_of_window(meaning, index)
        rows = [*streams.feed(table_of(meaning, events)).to_pylist(), *streams.close().to_pylist()]
        return [(row["start_index"], row["end_index"]) for row in rows]


def conforming_stream(meaning: Meaning, events: Sequence[Event]) -> Stream | None:
    """Return events as a stream, or None if they are not in order or violate an assumption.

    Or if no data can have them: numbers beyond 64 bits, NULL in a column of `order by`.
    """
    spec = meaning.spec.stream
    keys = [name.text for name in spec.partition_by]
    order = [name.text for name in spec.order_by]
    try:
        table = conform(table_of(meaning, events), meaning.fields, keys)
        ordered = sort(table, keys, order, meaning.fields)
    except (OverflowError, pa.ArrowInvalid, DataError):
        return None
    if not ordered.equals(table):
        return None
    parts = list(streams(table, keys, meaning.fields, frozenset(), skip_nulls=False))
    if len(parts) > 1:
        return None
    stream = parts[0] if parts else Stream((), [], [])
    assumption = assumptions_of(meaning)
    try:
        conforms = assumption is None or _conforms(assumption, stream)
        conforms = conforms and Rates.of([meaning]).conform(stream.events)
    except DataError:
        return None
    return stream if conforms else None


def _conforms(automaton: AssumptionAutomaton, stream: Stream) -> bool:
    """Tell whether a stream conforms to all assumptions, by their automaton, which is fast."""
    state = 0
    for position in range(len(stream.events)):
        phase = min(position, len(automaton.phases) - 1)
        grams, letters = Grams(stream, phase), automaton.phases[phase]
        truths = [grams.holds(guard, position) for guard in letters.guards]
        state = automaton.table[state][letters.letter(truths)]
        if not automaton.live[state]:
            return False
    return True


def open_starts(
    meaning: Meaning, index: int, events: list[Event], continuations: Sequence[list[Event]]
) -> set[int]:
    """Return the starts at the end of a stream that have a window in some continuation."""
    last = len(events) - 1
    starts: set[int] = set()
    for continuation in continuations:
        windows = replayed_windows(meaning, index, [*events, *continuation])
        starts |= {start for start, end in windows or [] if start <= last <= end}
    return starts


def held_starts(meaning: Meaning, index: int, events: Sequence[Event]) -> list[int]:
    """Return the starts that a plan holds at the first event where it holds most.

    A start is held while its automaton can still accept, including the event at which it ends.
    """
    compiled = compile_window(meaning, index, least=True)
    clauses = compiled.clauses
    if compiled.preference is not None:
        return _undecided_starts(meaning, compiled, events)
    form, letters = compiled.form, compiled.letters
    keep = clauses.early_keep
    grams = Grams(Stream((), list(events), []), compiled.lookback, pad=not compiled.window.unpadded)
    in_time = _age_check(meaning, compiled, events, form.window.table, form.window.final)
    order = HeldOrder.of(without_clauses(compiled)) if clauses.single else None
    starts: dict[int, int] = {}
    prefix = 0
    most: list[int] = []

    def ended(own: Mapping[int, int]) -> set[int]:
        """Return the starts that windows ending now remove."""
        ending = {
            start
            for start, state in starts.items()
            if form.window.final[state]
            and (compiled.until is None or compiled.until >> own[start] & 1)
        }
        if keep == "disjoint":
            return set(starts) if ending else set()
        return ending if keep == "shortest" else set()

    for position in grams.positions:
        own = own_letters(letters, grams, position, [*starts, position])
        for start in ended(own):
            del starts[start]
        if form.starts[prefix] != NONE:
            starts[position] = int(form.starts[prefix])
        prefix = form.prefix.step(prefix, own[position])
        starts = {start: form.window.step(state, own[start]) for start, state in starts.items()}
        starts = {
            start: state
            for start, state in starts.items()
            if form.window.live[state] and in_time(start, position, state)
        }
        if order is not None:  # of two starts in one state the plan holds the earlier one
            starts = _winning(starts, order)
        held = list(starts)
        if keep == "disjoint" and compiled.until is None:  # a window takes all other starts with it
            held = next(([one] for one in held if form.window.final[starts[one]]), held)
        most = max(most, held, key=len)
    return most


def _winning(starts: dict[int, int], order: HeldOrder) -> dict[int, int]:
    """Return the starts that may win against all earlier ones, with their states."""
    first = {state: start for start, state in reversed(starts.items())}
    states = (state for start, state in starts.items() if first[state] == start)
    return {first[state]: state for state in order.left(tuple(states))}


def held_by_engine(meaning: Meaning, index: int, events: Sequence[Event]) -> int | None:
    """Return how many starts the engine holds at the end of a stream; None if it does not conform."""
    run = run_alone(meaning, index, events)
    return None if run is None else run[0].held()


def ends_reported_last(meaning: Meaning, index: int, events: Sequence[Event]) -> list[int]:
    """Return the ends of the windows that the engine reports with the last event of a stream."""
    run = run_alone(meaning, index, events)
    return [] if run is None else run[1]["end_index"].to_pylist()


def run_alone(
    meaning: Meaning, index: int, events: Sequence[Event]
) -> tuple[RunningStreams, pa.Table] | None:
    """Run one window over some events; return its stream, and the windows that the last event reports.

    None if they are not one stream that conforms, or a predicate has no result in 64 bits.
    """
    if conforming_stream(meaning, events) is None:
        return None
    streams, table = _stream_of_window(meaning, index), table_of(meaning, events)
    try:
        with interpreted():
            streams.feed(table.slice(0, len(events) - 1))
            return streams, streams.feed(table.slice(len(events) - 1))
    except DataError:
        return None


def _stream_of_window(meaning: Meaning, index: int) -> RunningStreams:
    """Return a new stream for one window of a spec."""
    return RunningStreams(_engine_of_window(meaning.spec, index))


@lru_cache(maxsize=16)  # a search for a witness tries many streams
def _engine_of_window(spec: tree.Spec, index: int) -> Engine:
    """Return the engine of one window of a spec; which fields may be NULL is up to all of them."""
    plan = plan_of(spec)
    return Engine(replace(plan, windows=(plan.windows[index],)))


def own_letters(
    letters: Letters, grams: Grams, position: int, starts: Sequence[int]
) -> dict[int, int]:
    """Return the letter that each start reads at a position: predicates with aggregates are its own."""
    shared = {
        guard: grams.holds(guard, position)
        for guard in letters.guards
        if not isinstance(guard, RunningTest)
    }
    if len(shared) == len(set(letters.guards)):
        return dict.fromkeys(starts, letters.letter([shared[guard] for guard in letters.guards]))
    return {
        start: letters.letter(
            [
                holds_so_far(guard, grams, position, start)
                if isinstance(guard, RunningTest)
                else shared[guard]
                for guard in letters.guards
            ]
        )
        for start in starts
    }


def _undecided_starts(
    meaning: Meaning, compiled: CompiledWindow, events: Sequence[Event]
) -> list[int]:
    """Return the starts that a plan holds by preference, at the first event where it holds most.

    A start is held while a better way than its candidate is left, including the event at which it is
    decided. What `having` denies is not asked, and starts that `keep leftmost` skips are included.
    """
    clauses, letters, form = compiled.clauses, compiled.letters, compiled.preference
    assert form is not None
    ways = form.ways
    grams = Grams(Stream((), list(events), []), compiled.lookback, pad=not compiled.window.unpadded)
    in_time = _age_check(meaning, compiled, events, ways.table, ways.accepts)
    starts: dict[int, int] = {}
    prefix = 0
    most: list[int] = []
    for position in grams.positions:
        own = own_letters(letters, grams, position, [*starts, position])
        for start, state in starts.items():
            confirms = compiled.until is None or bool(compiled.until >> own[start] & 1)
            left = ways.confirmed if confirms and not clauses.having else ways.denied
            starts[start] = int(left[state])
        if form.starts[prefix] != NONE:
            starts[position] = int(form.starts[prefix])
        prefix = form.prefix.step(prefix, own[position])
        starts = {
            start: after
            for start, state in starts.items()
            if (after := int(ways.table[state, ways.classes[own[start]]])) != NO_WAY
            and in_time(start, position, after)
        }
        most = max(most, list(starts), key=len)
    return most


def _age_check(
    meaning: Meaning,
    compiled: CompiledWindow,
    events: Sequence[Event],
    table: NDArray[np.int32],
    final: NDArray[np.bool_],
) -> Callable[[int, int, int], bool]:
    """Return whether `within` lets a start, after a position and in a state, have a window.

    Where events are counted, enough of them have to be left to reach a final state.
    """
    limit = compiled.clauses.limit
    clock, ahead = list(range(len(events))), [0] * len(table)
    if compiled.clauses.within_time is not None:
        name = meaning.spec.stream.order_by[0].text
        clock = [int(event[name]) for event in events]  # type: ignore[arg-type]
    elif limit is not None:
        ahead = events_ahead(table.tolist(), final.tolist(), later=False)

    def in_time(start: int, position: int, state: int) -> bool:
        return limit is None or clock[position] - clock[start] + ahead[state] <= limit

    return in_time
