"""Check that a plan which was read from bytes could have been made from a spec.

Engines trust a plan: its tables become indices in compiled code. So all of it is checked once, when
it is read: types, shapes, ranges, and that its parts fit each other.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import DFA
from wex.automata.preference import DEAD, OrderedAutomaton
from wex.compile.labels import NO_LABEL, LabelForm
from wex.compile.measures import LABEL, PREDICATE_AGGREGATES, Measure
from wex.compile.plan import (
    Plan,
    PlannedAssumptions,
    PlannedLetters,
    PlannedRate,
    PlannedStream,
    PlannedWindow,
)
from wex.compile.preference import PreferenceForm
from wex.compile.term_check import (
    as_flag,
    as_text,
    as_texts,
    as_tuple,
    as_whole,
    check_array,
    check_guard,
    check_offset,
    check_term,
    check_type,
    is_number,
)
from wex.framing import require
from wex.spec.aggregates import AGGREGATES, signature
from wex.spec.numbers import MAX_EVENTS, MAX_LOOKBACK, MAX_RATE
from wex.spec.resolve.aggregate_checks import (
    CONSTANT_ARGUMENTS,
    MAX_HISTORY,
    MAX_NTH,
    NOT_SO_FAR,
)
from wex.spec.resolve.label_checks import AGGREGATES_OF_LABELS
from wex.spec.types import BOOL, FIELD_TYPES, OTHER, PREDICATE, STRING, TIMESTAMP, Type
from wex.spec.vocabulary import ENDS, KEEP, RESULT_COLUMNS
from wex.theory.evaluate import WHOLE
from wex.theory.terms import (
    RESULT,
    Aggregate,
    And,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    Not,
    Or,
    RunningTest,
    Term,
    atoms,
    kind_of,
    offsets,
)
from wex.theory.terms import fields as fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wex.compile.clauses import Clauses

    Scope = Mapping[str, Type]  # the fields that a term may read

MOST_LETTERS = 1 << 16  # kernels have classes of letters in two bytes
MOST_ARGUMENTS = 8
MOST_RUNNING = 16  # predicates with aggregates of one window: each doubles the columns of tables


def check_plan(plan: object) -> None:
    """Raise an UnsoundError if a plan is invalid."""
    require(isinstance(plan, Plan), f"expected a plan, got {type(plan).__name__}")
    assert isinstance(plan, Plan)
    require(isinstance(plan.stream, PlannedStream), "it has no stream")
    fields = _check_stream(plan.stream)
    for guard in as_tuple(plan.guards, "guards"):
        if isinstance(guard, RunningTest):
            _check_running(guard, fields)
        else:
            check_guard(guard, fields, 0)
    require(as_tuple(plan.windows, "windows"), "it has no windows")
    for window in plan.windows:
        require(isinstance(window, PlannedWindow), "expected a window")
        _check_window(window, plan, fields)
    _check_columns(plan)
    if plan.assumptions is not None:
        require(isinstance(plan.assumptions, PlannedAssumptions), "expected assumptions")
        _check_assumptions(plan.assumptions, plan)
    for rate in as_tuple(plan.rates, "rates"):
        _check_rate(rate, plan.stream, fields)


# --- The stream


def _check_stream(stream: PlannedStream) -> Scope:
    fields: dict[str, Type] = {}
    for entry in as_tuple(stream.fields, "fields"):
        pair = as_tuple(entry, "a field")
        require(len(pair) == 2, "a field is not a name and a type")
        name, type_ = as_text(pair[0], "a field"), check_type(pair[1])
        require(name not in fields, "a field is listed twice")
        require(
            type_.name == "enum" or type_ in FIELD_TYPES.values(), "a field has an unknown type"
        )
        fields[name] = type_
    for names in (stream.partition_by, stream.order_by, stream.guarded):
        named = as_texts(names, "a name")
        require(len(set(named)) == len(named), "a name is listed twice")
        for name in named:
            require(
                name in fields and fields[name] != OTHER, "a name is not that of a usable field"
            )
    for name in as_texts(stream.nullable, "a name"):
        require(name in fields, "a name is not that of a field")
    as_flag(stream.skip_nulls, "`nulls skip`")
    for entry in as_tuple(stream.moments, "the timestamps of the spec"):
        pair = as_tuple(entry, "a timestamp of the spec")
        require(len(pair) == 2, "a timestamp of the spec is not a text and a flag")
        as_text(pair[0], "a timestamp of the spec")
        as_flag(pair[1], "a zone")
    return fields


# --- Predicates with aggregates


def _check_running(guard: RunningTest, fields: Scope) -> None:
    """Check a predicate with aggregates: of those that are computed event by event."""
    scope = dict(fields)
    for number, aggregate in enumerate(as_tuple(guard.aggregates, "aggregates")):
        result = _check_aggregate(aggregate, fields)
        assert isinstance(aggregate, Aggregate)
        known = aggregate.name in AGGREGATES and aggregate.name not in NOT_SO_FAR
        require(known and result not in (None, OTHER), "a predicate has an unexpected aggregate")
        assert result is not None
        scope[f"{RESULT}{number}"] = result
    check_guard(guard.test, scope, 0)
    for atom in atoms(guard.test):
        for field in fields_of(atom):
            deepest = MAX_HISTORY if field.name.startswith(RESULT) else MAX_LOOKBACK
            require(-field.offset <= deepest, "an aggregate looks back too far")


# --- Windows


def _check_letters(letters: object, plan: Plan, deepest: int) -> PlannedLetters:
    require(isinstance(letters, PlannedLetters), "expected letters")
    assert isinstance(letters, PlannedLetters)
    for number in as_tuple(letters.guards, "the guards of letters"):
        guard = plan.guards[as_whole(number, "the number of a guard", 0, len(plan.guards) - 1)]
        lookback = max((-offset for offset in offsets(guard)), default=0)
        require(lookback <= deepest, "a guard looks further back than the lookback")
    rows = as_tuple(letters.rows, "the rows of letters")
    require(0 < len(rows) <= MOST_LETTERS, "there are no letters, or too many")
    for row in rows:
        truths = as_tuple(row, "a row of letters")
        require(len(truths) == len(letters.guards), "a row of letters is too short or too long")
        require(all(isinstance(truth, bool) for truth in truths), "a letter is not made of truths")
    require(len(set(rows)) == len(rows), "a letter is listed twice")
    return letters


def _check_dfa(dfa: object, letters: int) -> DFA:
    require(isinstance(dfa, DFA), "expected an automaton")
    assert isinstance(dfa, DFA)
    check_array(dfa.classes, "the classes of an automaton", np.int32, 1)
    check_array(dfa.table, "the table of an automaton", np.int32, 2)
    check_array(dfa.final, "the final states of an automaton", np.bool_, 1)
    states, classes = dfa.table.shape
    require(len(dfa.classes) == letters, "an automaton reads other letters")
    require(
        states > 0 and dfa.final.shape == (states,),
        "an automaton has no states, or not as many final flags",
    )
    require(_within(dfa.table, 0, states), "an automaton leads to an unknown state")
    require(_within(dfa.classes, 0, classes), "an automaton has an unknown class")
    return dfa


def _within(array: np.ndarray, low: int, end: int) -> bool:
    return not array.size or bool(low <= array.min() and array.max() < end)


def _check_window(window: PlannedWindow, plan: Plan, fields: Scope) -> None:
    as_text(window.name, "the name of a window")
    lookback = as_whole(window.lookback, "a lookback", 0, MAX_LOOKBACK)
    as_flag(window.pad, "`pad`")
    letters = len(_check_letters(window.letters, plan, lookback).rows)
    prefix, inside = _check_dfa(window.prefix, letters), _check_dfa(window.window, letters)
    check_array(window.starts, "the beginnings of windows", np.int32, 1)
    require(
        window.starts.shape == (prefix.states,), "there is not one beginning for each prefix state"
    )
    require(_within(window.starts, -1, inside.states), "a window begins in an unknown state")
    if window.until is not None:
        as_whole(window.until, "`until`", 0, (1 << letters) - 1)
    running = [isinstance(plan.guards[at], RunningTest) for at in window.letters.guards]
    require(sum(running) <= MOST_RUNNING, "there are too many predicates with aggregates")
    require(window.clauses.running or not any(running), "a window has unexpected aggregates")
    _check_clauses(window.clauses, plan.stream)
    require(
        (window.preference is not None) == window.clauses.prefers,
        "`keep` and the order of ways do not fit",
    )
    if window.preference is not None:
        _check_preference(window.preference, letters)
    labels: tuple[str, ...] = ()
    if window.labels is not None:
        labels = _check_labels(window.labels, letters)
    if window.clauses.resuming is not None:
        require(window.clauses.resuming[1] in labels, "`resuming` needs a label of the window")
    types: dict[str, Type] = {}
    for measure in as_tuple(window.measures, "measures"):
        checked = _check_measure(measure, fields, labels)
        require(checked.name not in types, "two measures have one name")
        types[checked.name] = checked.type
    if window.having is not None:
        check_guard(window.having, types, 0)
        require(not any(offsets(window.having)), "`having` looks back")
        require(not _asks_first(window.having), "`having` asks about events")


def _check_preference(form: object, letters: int) -> None:
    require(isinstance(form, PreferenceForm), "expected an order of ways")
    assert isinstance(form, PreferenceForm)
    prefix, ways = _check_dfa(form.prefix, letters), form.ways
    require(isinstance(ways, OrderedAutomaton), "expected an ordered automaton")
    check_array(ways.classes, "the classes of an ordered automaton", np.int32, 1)
    check_array(ways.table, "the table of an ordered automaton", np.int32, 2)
    check_array(ways.accepts, "the flags of an ordered automaton", np.bool_, 1)
    states, classes = ways.table.shape
    require(len(ways.classes) == letters, "an ordered automaton reads other letters")
    require(states > 0 and ways.accepts.shape == (states,), "an ordered automaton has no states")
    require(_within(ways.table, 0, states), "an ordered automaton leads to an unknown state")
    require(_within(ways.classes, 0, classes), "an ordered automaton has an unknown class")
    for left in (ways.confirmed, ways.denied):
        check_array(left, "the states after a window", np.int32, 1)
        require(left.shape == (states,), "there is not one state after each window")
        require(_within(left, 0, states), "an unknown state comes after a window")
        require(not ways.accepts[left].any(), "a window is followed by another without an event")
    over = not ways.table[DEAD].any() and not ways.accepts[DEAD]
    require(over, "a start that is decided goes on")
    require(not (ways.confirmed[DEAD] or ways.denied[DEAD]), "a start that is decided goes on")
    check_array(form.starts, "the beginnings of windows", np.int32, 1)
    require(form.starts.shape == (prefix.states,), "there is not one beginning for each state")
    require(_within(form.starts, -1, states), "a window begins in an unknown state")
    begins = form.starts[form.starts >= 0]
    require(not ways.accepts[begins].any(), "a window begins where it ends")


def _check_labels(form: object, letters: int) -> tuple[str, ...]:
    """Check the positions in which windows are parsed, and return the labels."""
    require(isinstance(form, LabelForm), "expected labels")
    assert isinstance(form, LabelForm)
    names = as_texts(form.names, "a label")
    require(names and len(set(names)) == len(names) and all(names), "a label is listed twice")
    prefix = _check_dfa(form.prefix, letters)
    check_array(form.has, "the labels of positions", np.bool_, 2)
    positions = len(form.has)
    require(form.has.shape == (positions, len(names)) and positions > 0, "there are no positions")
    for array in (
        form.entry, form.first_begin, form.begins, form.classes, form.first, form.targets,
        form.innermost,
    ):  # fmt: skip
        check_array(array, "a table of labels", np.int32, 1)
    width = as_whole(form.width, "the number of classes", 1, MOST_LETTERS)
    require(form.entry.shape == (prefix.states,), "there is not one beginning for each state")
    require(_within(form.entry, 0, len(form.first_begin) - 1), "a way has an unknown beginning")
    require(form.classes.shape == (letters,), "labels read other letters")
    require(_within(form.classes, 0, width), "labels have an unknown class")
    require(len(form.first) == positions * width + 1, "there is not one list for each position")
    for first, items in ((form.first_begin, form.begins), (form.first, form.targets)):
        fits = len(first) > 0 and first[0] == 0 and first[-1] == len(items)
        require(fits and bool((np.diff(first) >= 0).all()), "the lists of positions do not fit")
        require(_within(items, 0, positions), "a position is unknown")
    require(form.innermost.shape == (positions,), "there is not one label for each position")
    require(_within(form.innermost, NO_LABEL, len(names)), "a position has an unknown label")
    labelled = form.innermost >= 0
    own = form.has[labelled, form.innermost[labelled]].all()
    require(own and not form.has[~labelled].any(), "the labels of a position do not fit")
    return tuple(names)


def _asks_first(guard: Guard) -> bool:
    match guard:
        case IsFirst():
            return True
        case Not(operand):
            return _asks_first(operand)
        case And(parts) | Or(parts):
            return any(map(_asks_first, parts))
    return False


def _check_clauses(clauses: Clauses, stream: PlannedStream) -> None:
    require(not as_flag(clauses.or_end, "`or end`") or clauses.until, "`or end` needs `until`")
    as_flag(clauses.running, "`running`")
    require(clauses.keep in KEEP, "`keep` has an unknown value")
    as_whole(clauses.sharing, "`sharing`", 0, MAX_EVENTS)
    require(not clauses.sharing or clauses.keep == "leftmost", "`sharing` needs `keep leftmost`")
    if clauses.resuming is not None:
        require(clauses.keep == "leftmost", "`resuming` needs `keep leftmost`")
        require(not clauses.sharing, "two clauses say where the next window begins")
        named = as_tuple(clauses.resuming, "`resuming`")
        require(len(named) == 2, "`resuming` names one label")
        require(named[0] in ENDS, "`resuming` is at the first or last event with a label")
    require(None in (clauses.within_events, clauses.within_time), "there are two `within`")
    if clauses.within_events is not None:
        as_whole(clauses.within_events, "`within`", 1, WHOLE[-1])
    if clauses.within_time is not None:
        as_whole(clauses.within_time, "`within`", 0, WHOLE[-1])
        order = [dict(stream.fields)[name] for name in stream.order_by]
        require(order == [TIMESTAMP], "`within` needs an order by one timestamp")


# --- Measures


def _check_measure(measure: object, fields: Scope, labels: tuple[str, ...]) -> Measure:
    require(isinstance(measure, Measure), "expected a measure")
    assert isinstance(measure, Measure)
    as_text(measure.name, "the name of a measure")
    check_type(measure.type)
    results: dict[str, Type | None] = {}
    for number, aggregate in enumerate(as_tuple(measure.aggregates, "aggregates")):
        results[f"#{number}"] = _check_aggregate(aggregate, fields, labels)
    value = measure.value
    if isinstance(value, Field):
        require(value.name in results, "a measure reads an unknown aggregate")
        known = results[value.name]
        require(known in (None, value.type), "a measure is not of the type of its aggregate")
        require(
            value.type == measure.type and type(value.offset) is int,
            "a measure has an unexpected type",
        )
        require(not value.offset, "a measure looks back")
        check_type(value.type)
        return measure
    scope = {
        name: _own_type(name, value) if type_ is None else type_ for name, type_ in results.items()
    }
    check_term(value, {name: type_ for name, type_ in scope.items() if type_ is not None}, 0)
    plain = isinstance(value, Constant) and measure.type in (BOOL, STRING)
    require(plain or is_number(measure.type), "the result of arithmetic is not a number")
    require(not any(offsets(Comparison("=", value, value))), "a measure looks back")
    require(kind_of(measure.type) == value.kind, "a measure is not of the type of its value")
    return measure


def _own_type(name: str, term: Term) -> Type | None:
    """Return the type that a term gives to an aggregate that this process does not know."""
    return next((field.type for field in fields_of(term) if field.name == name), None)


def _check_aggregate(aggregate: object, fields: Scope, labels: tuple[str, ...] = ()) -> Type | None:
    """Return the type of an aggregate; None for a user-defined one that this process lacks."""
    require(isinstance(aggregate, Aggregate), "expected an aggregate")
    assert isinstance(aggregate, Aggregate)
    name = as_text(aggregate.name, "the name of an aggregate")
    arguments = as_tuple(aggregate.arguments, "the arguments of an aggregate")
    types = [check_type(type_) for type_ in as_tuple(aggregate.types, "the types of arguments")]
    require(len(arguments) == len(types), "there is not one type for each argument")
    require(len(arguments) <= MOST_ARGUMENTS, "an aggregate has too many arguments")
    require(as_text(aggregate.label, "a label") in ("", *labels), "a label is unknown")
    for at, (argument, type_) in enumerate(zip(arguments, types, strict=True)):
        if isinstance(argument, Field) and argument.name == LABEL:
            fits = labels and not at and name in AGGREGATES_OF_LABELS and not aggregate.label
            require(fits and argument.type == type_ == STRING, "an unexpected label is read")
            require(type(argument.offset) is int and not argument.offset, "a label looks back")
        elif name in PREDICATE_AGGREGATES:
            require(type_ == PREDICATE, "an aggregate of predicates has another type")
            check_guard(argument, fields, 0)
        else:
            _check_argument(argument, type_, fields)
    if aggregate.filter is not None:
        check_guard(aggregate.filter, fields, 0)
    known = signature(name)
    if known is None:
        require(arguments and name not in AGGREGATES, "an aggregate has no arguments")
        require(not {OTHER, PREDICATE} & set(types), "an aggregate does not take such arguments")
        return None
    require(len(arguments) in known.takes, "an aggregate has too few or too many arguments")
    result = known.result(*types)
    require(result is not None, "an aggregate does not take such arguments")
    if name in CONSTANT_ARGUMENTS:
        number = arguments[1].value if isinstance(arguments[1], Constant) else None
        low, high = (-MAX_NTH, MAX_NTH) if name == "nth" else (0, 1)
        fits = isinstance(number, int | Fraction) and low <= number <= high
        require(fits and (name != "nth" or number), "an argument is not a constant that fits")
    return result


def _check_argument(argument: object, type_: Type, fields: Scope) -> None:
    require(type_.item is None and type_ != PREDICATE, "an argument has an unexpected type")
    if isinstance(argument, Field):
        known = fields.get(as_text(argument.name, "a field"))
        require(known == argument.type == type_, "an aggregate reads an unknown field")
        check_offset(argument.offset)
        return
    require(is_number(type_) or type_ in (BOOL, STRING), "an argument has an unexpected type")
    check_term(argument, fields, 0)
    assert isinstance(argument, Term)
    require(kind_of(type_) == argument.kind, "an argument is not of its declared type")


def _check_columns(plan: Plan) -> None:
    """Check that the columns of the result have distinct names and one type each."""
    taken = {*RESULT_COLUMNS, *plan.stream.partition_by}
    types: dict[str, Type] = {}
    names = {window.name for window in plan.windows}
    require(len(names) == len(plan.windows), "two windows have one name")
    for window in plan.windows:
        for measure in window.measures:
            require(measure.name not in taken, "a measure has the name of another column")
            same = types.setdefault(measure.name, measure.type) == measure.type
            require(same, "two measures of one name have different types")


# --- Assumptions


def _check_assumptions(assumptions: PlannedAssumptions, plan: Plan) -> None:
    as_texts(assumptions.shown, "an assumption")
    phases = as_tuple(assumptions.phases, "the phases of assumptions")
    require(0 < len(phases) <= MAX_LOOKBACK + 1, "assumptions have no phases, or too many")
    sizes = {
        len(_check_letters(letters, plan, position).rows) for position, letters in enumerate(phases)
    }
    read = (plan.guards[number] for letters in phases for number in letters.guards)  # type: ignore[attr-defined]
    require(not any(isinstance(guard, RunningTest) for guard in read), "assumptions aggregate")
    as_whole(assumptions.first, "the first position of assumptions", 0, len(phases) - 1)
    table = as_tuple(assumptions.table, "the table of assumptions")
    require(table, "assumptions have no states")
    for entry in table:
        row = as_tuple(entry, "a row of assumptions")
        require(len(row) in sizes, "assumptions read other letters")
        for state in row:
            as_whole(state, "a state of assumptions", 0, len(table) - 1)
    require(max(map(len, assumptions.table)) == max(sizes), "assumptions lack letters")
    live = as_tuple(assumptions.live, "the live states of assumptions")
    require(len(live) == len(table), "there is not one live flag for each state of assumptions")
    for flag in live:
        as_flag(flag, "a live state")


def _check_rate(rate: object, stream: PlannedStream, fields: Scope) -> None:
    require(isinstance(rate, PlannedRate), "expected a rate")
    assert isinstance(rate, PlannedRate)
    as_text(rate.shown, "a rate")
    as_whole(rate.events, "the events of a rate", 1, MAX_RATE)
    as_whole(rate.length, "the length of a rate", 1, 2**63 - 1)
    types = [fields[name] for name in stream.order_by]
    require(types == [TIMESTAMP], "a rate needs a stream that is ordered by one timestamp")
