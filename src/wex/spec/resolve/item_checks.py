"""Checks of the items of a spec: the stream, lets, assumptions and windows.

Each check notes its problems. Formulas have a module of their own, formula_checks.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.errors import closest, did_you_mean
from wex.spec import tree
from wex.spec.aggregates import is_aggregate, signature
from wex.spec.numbers import MAX_EVENTS, check_count
from wex.spec.resolve.aggregate_checks import Place, aggregate_type
from wex.spec.resolve.formula_checks import check_formula
from wex.spec.resolve.label_checks import (
    check_labels,
    check_no_labels,
    is_label_call,
    note_label_as_value,
    note_label_call,
)
from wex.spec.resolve.preference_checks import check_no_reluctance, check_preference
from wex.spec.resolve.runs import check_runs
from wex.spec.resolve.scope import EventTypes, Scope, check_ordered_by_time, in_order
from wex.spec.resolve.type_checker import DURATION_RANGE, TypeChecker
from wex.spec.types import (
    BOOL,
    EVENT_UNITS,
    FIELD_TYPE_NAMES,
    FIELD_TYPES,
    FUNCTION_NAMES,
    NUMBERS,
    OTHER,
    PREDICATE,
    TYPE_SYNONYMS,
    Type,
    microseconds,
)
from wex.spec.vocabulary import ALIKE, CLAUSES, KEEP, RESULT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from wex.spec.problems import Problems

NULLS = ("error", "skip")
HAVING_FUNCTIONS = tuple(name for name in FUNCTION_NAMES if name not in ("prev", "lag"))


def check_stream(stream: tree.Stream, scope: Scope, problems: Problems) -> None:
    """Check the stream and add its fields to the scope."""
    _check_unique((field.name for field in stream.fields), "field", problems)
    for field in stream.fields:
        scope.fields.setdefault(field.name.text, _field_type(field.type, problems))
    for clause, columns in (("partition by", stream.partition_by), ("order by", stream.order_by)):
        _check_listed_once(columns, clause, problems)
        for column in columns:
            _check_column(clause, column, scope, problems)
    for name in stream.partition_by:
        if name.text in RESULT_COLUMNS:
            _note_column_clash(name, "is already a column of every result", problems)
    if stream.nulls:
        _check_option(stream.nulls, "nulls", NULLS, problems)


def _field_type(type_: tree.FieldType, problems: Problems) -> Type | None:
    name = type_.name.text
    if name == "enum":
        values = [value.value for value in type_.values]
        if not values:
            hint = "write for example enum('a', 'b')"
            problems.add("unknown-option", type_, "expected the values of the enum", hint)
            return None
        _check_unique(
            (tree.Name(value.value, span=value.span) for value in type_.values), "value", problems
        )
        return Type("enum", tuple(dict.fromkeys(values)))
    if name in FIELD_TYPES:
        if type_.values:
            message = f"type `{name}` takes no list of values"
            problems.add("unknown-option", type_, message, f"write `{name}`, or use enum(…)")
        return FIELD_TYPES[name]
    meant = TYPE_SYNONYMS.get(name.lower()) or closest(name, FIELD_TYPE_NAMES, ALIKE)
    hint = f"did you mean `{meant}`?" if meant else f"the types are {', '.join(FIELD_TYPE_NAMES)}"
    problems.add("unknown-option", type_.name, f"there is no type called `{name}`", hint)
    return None


def _check_column(clause: str, column: tree.Name, scope: Scope, problems: Problems) -> None:
    if column.text not in scope.fields:
        message = f"`{clause}` expects a field of the stream, got `{column.text}`"
        hint = did_you_mean(column.text, scope.fields, "the fields are")
        problems.add("unknown-name", column, message, hint)
    elif scope.fields[column.text] == OTHER:
        message = f"`{column.text}` is of type other, which has neither equality nor order"
        hint = f"use a column of another type in `{clause}`"
        problems.add("wrong-type", column, message, hint)


def check_lets(lets: tuple[tree.Let, ...], scope: Scope, problems: Problems) -> None:
    """Check the lets, each after those it uses, and add them to the scope."""
    for let in lets:
        if let.name.text in scope.fields:
            hint = "choose another name for the let"
            message = f"`{let.name.text}` is already a field"
            problems.add("duplicate-name", let.name, message, hint)
    _check_unique((let.name for let in lets), "let", problems)
    events = EventTypes(scope, problems, Place.LET)
    scope.lets.update((let.name.text, None) for let in lets)
    for let in in_order(lets, problems):
        scope.lets[let.name.text] = events.infer(let.value)
        scope.values[let.name.text] = let.value
        if any(
            is_aggregate(part) or (isinstance(part, tree.Ref) and part.name in scope.running)
            for part in tree.walk(let.value)
        ):
            scope.running.add(let.name.text)
        if let.name.text not in scope.fields and events.is_constant(let.value):
            scope.constants.add(let.name.text)


def check_assume(assume: tree.Assume, scope: Scope, problems: Problems) -> None:
    """Check an assumption."""
    check_regex(assume.regex, EventTypes(scope, problems, Place.ASSUME), CLAUSES["ASSUME"])
    check_no_reluctance(assume.regex, "`assume` chooses no window", problems)
    check_no_labels(assume.regex, "an assumption is about streams, not about windows", problems)


def check_window(
    window: tree.Window, stream: tree.Stream, scope: Scope, problems: Problems
) -> dict[str, Type | None]:
    """Check a window and return its measures with their types."""
    events = EventTypes(scope, problems, Place.MATCH)
    means_having = window.where is not None and _means_having(window, scope)
    if means_having:
        _note_having(window, problems)
    else:
        _check_shape(window, problems)
    for pair in window.pairs:
        if pair.after:
            check_regex(pair.after, events.at(Place.AFTER), CLAUSES["WINDOW"])
        check_regex(pair.match, events, CLAUSES["WINDOW"])
    if window.runs:
        check_runs(window, stream, events)
    if window.where and not means_having:
        check_formula(window.where, {}, events.at(Place.WHERE))
    if window.until:
        events.at(Place.UNTIL).predicate(window.until.predicate)
    if window.within:
        _check_within(window.within, stream, events)
    if window.keep:
        _check_option(window.keep, "keep", KEEP, problems)
    labels = check_labels(window, scope, problems)
    check_preference(window, labels, problems)
    measures = _check_measures(window, stream, events.with_labels(labels))
    if window.having:
        HavingTypes(measures, problems).predicate(window.having)
    return measures


def _means_having(window: tree.Window, scope: Scope) -> bool:
    """Tell whether `where` is about measures, as in SQL: it has no positions, but measures."""
    assert window.where is not None
    names = tree.texts(measure.name for measure in window.measures)
    parts = list(tree.walk(window.where))
    if any(isinstance(part, tree.Mark | tree.Quantified | tree.Holds) for part in parts):
        return False
    return any(
        is_aggregate(part)
        or (isinstance(part, tree.Ref) and part.name in names and part.name not in scope)
        for part in parts
    )


def _note_having(window: tree.Window, problems: Problems) -> None:
    assert window.where is not None
    *_, aggregate = [
        None,
        *filter(is_aggregate, tree.walk(window.where)),
    ]  # the last part comes first
    hint = f"write `having {window.where}`"
    if aggregate is not None:
        hint = f"name the aggregate and use `having`: `measure {aggregate} as m having m > …`"
    message = "`where` takes a formula over positions; windows are chosen by measures with `having`"
    problems.add("wrong-sort", window.where, message, hint)


def _check_shape(window: tree.Window, problems: Problems) -> None:
    if window.pairs and window.where:
        problems.add(
            "clause-conflict",
            window.where,
            "a window has either `match` or `where`, not both",
            "use one of the two, or write two windows",
        )
    if not window.pairs and not window.where and not window.runs:
        problems.add(
            "nothing-to-match",
            window.name,
            f"window `{window.name.text}` has no `match`, `where`, `runs` or `sessions`",
            "add `match` with a regular expression, `where` with a formula, or `runs of` a value",
        )


def _check_within(within: tree.Within, stream: tree.Stream, events: EventTypes) -> None:
    problems = events.problems
    if within.unit.text in EVENT_UNITS:
        hint = "remove `within`: no window is that long"
        count = check_count(problems, within.amount, MAX_EVENTS, "the number of events", hint)
        if count < 1:
            message, hint = "the number of events must be at least 1", "write `within 1 event`"
            problems.add("count-not-whole", within.amount, message, hint)
        return
    if not events.unit(within.unit):
        return
    if microseconds(within.amount, within.unit.text) is None:
        problems.add("number-out-of-range", within.amount, "duration out of range", DURATION_RANGE)
    check_ordered_by_time(events, stream, within, "a duration", ", or use `within … events`")


def _check_measures(
    window: tree.Window, stream: tree.Stream, events: EventTypes
) -> dict[str, Type | None]:
    _check_unique((measure.name for measure in window.measures), "measure", events.problems)
    keys = tree.texts(stream.partition_by)
    types: dict[str, Type | None] = {}
    for measure in window.measures:
        name = measure.name.text
        if name in keys or name in RESULT_COLUMNS:
            why = (
                "is already a partition column"
                if name in keys
                else "is already a column of every result"
            )
            _note_column_clash(measure.name, why, events.problems)
        types.setdefault(name, MeasureTypes(events).measure(measure.value))
    return types


def check_windows_together(
    windows: Sequence[tree.Window], measures: Sequence[dict[str, Type | None]], problems: Problems
) -> None:
    """Check that names of windows are unique, and that measures of one name have one type."""
    _check_unique((window.name for window in windows), "window", problems)
    first: dict[str, tuple[Type, tree.Window]] = {}
    for window, types in zip(windows, measures, strict=True):
        for measure in window.measures:
            type_ = types.get(measure.name.text)
            if type_ is None:
                continue
            first_type, first_window = first.setdefault(measure.name.text, (type_, window))
            if first_type != type_:
                problems.add(
                    "column-clash",
                    measure.name,
                    f"measure `{measure.name.text}` has type {type_} here and type {first_type}"
                    f" in window `{first_window.name.text}`, but both fill one column",
                    "rename one of the two",
                )


def _note_column_clash(name: tree.Name, why: str, problems: Problems) -> None:
    problems.add("column-clash", name, f"`{name.text}` {why}", "choose another name")


def _check_option(
    option: tree.Name, clause: str, options: Sequence[str], problems: Problems
) -> None:
    if option.text not in options:
        hint = did_you_mean(option.text, options, "the options are")
        message = f"`{clause}` has no option `{option.text}`"
        problems.add("unknown-option", option, message, hint)


def _check_unique(names: Iterable[tree.Name], noun: str, problems: Problems) -> None:
    for name in _repeated(names):
        message = f"there are two {noun}s called `{name.text}`"
        problems.add("duplicate-name", name, message, "remove or rename one of the two")


def _check_listed_once(columns: Iterable[tree.Name], clause: str, problems: Problems) -> None:
    for column in _repeated(columns):
        message = f"`{clause}` lists `{column.text}` twice"
        problems.add("duplicate-name", column, message, "remove one of the two")


def _repeated(names: Iterable[tree.Name]) -> Iterator[tree.Name]:
    """Yield every name that has occurred before."""
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            yield name
        seen.add(name.text)


# --- Regular expressions


def check_regex(regex: tree.Regex, events: EventTypes, clauses: Sequence[str]) -> None:
    """Check the atoms; an undeclared name may be a misspelling of one of the `clauses`."""
    match regex:
        case tree.Atom():
            _check_atom(regex, events)
        case tree.Concat(parts):
            _check_concat(parts, events, clauses)
        case tree.Union(parts) | tree.Intersection(parts):
            for part in parts:
                check_regex(part, events, clauses)
        case tree.Complement(body) | tree.Repeat(body) | tree.Labelled(_, body):
            check_regex(body, events, clauses)


def _check_concat(parts: Sequence[tree.Regex], events: EventTypes, clauses: Sequence[str]) -> None:
    skipped: tree.Regex | None = None
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        name = part.predicate if isinstance(part, tree.Atom) else None
        index = following.predicate if isinstance(following, tree.Atom) else None
        if isinstance(name, tree.Ref) and not name.offset and isinstance(index, tree.Int):
            assert following is not None
            _note_index(name, following, index.value, events)
            skipped = following
        elif _misspelt(part, events, clauses):
            return  # the remaining parts were meant to belong to that clause
        elif part is not skipped:
            check_regex(part, events, clauses)


def _misspelt(part: tree.Regex, events: EventTypes, clauses: Sequence[str]) -> bool:
    """Note an undeclared bare name that looks like a clause."""
    if not isinstance(part, tree.Atom) or not isinstance(part.predicate, tree.Ref):
        return False
    name = part.predicate.name
    if name in events.scope or events.problems.full:
        return False
    clause = closest(name, clauses, ALIKE)
    if clause is None:
        return False
    message = f"`{name}` is neither a keyword nor a declared name"
    events.problems.add("unknown-clause", part, message, f"did you mean `{clause}`?")
    return True


def _note_index(name: tree.Ref, index: tree.Regex, offset: int, events: EventTypes) -> None:
    predicate = str(tree.Ref(name.name, min(offset, -1)))
    if events.ref(tree.Ref(name.name)) not in (BOOL, PREDICATE):
        predicate += " > …"
    events.problems.add(
        "lookback-here",
        index,
        "expected a predicate in brackets, got an index",
        f"to look back put the whole predicate in brackets: `[{predicate}]`",
    )


def _check_atom(atom: tree.Atom, events: EventTypes) -> None:
    if not isinstance(atom.predicate, tree.Ref):
        events.predicate(atom.predicate)
        return
    type_ = events.ref(atom.predicate)
    if type_ is not None and type_ not in (BOOL, PREDICATE):
        events.problems.add(
            "wrong-sort",
            atom,
            f"expected a predicate, got `{atom.predicate}` of type {type_.name}",
            f"compare it: `[{atom.predicate} > …]`",
        )


# --- Measures and `having`


class MeasureTypes(TypeChecker):
    """Types of measures: aggregates of the events of a window, and arithmetic on them."""

    def __init__(self, events: EventTypes) -> None:
        super().__init__(events.problems)
        self.events = events

    def measure(self, node: tree.Expr) -> Type | None:
        """Return the type of a measure."""
        type_ = self.infer(node)
        if type_ != PREDICATE:
            return type_
        self.problems.add(
            "wrong-sort",
            node,
            "expected a value, got a predicate",
            "use `some(p)`, `every(p)` or `count_if(p)`; to filter windows use `having`",
        )
        return None

    def ref(self, node: tree.Ref) -> Type | None:
        scope = self.events.scope
        if not node.label and node.name in (self.events.labels or ()) and node.name not in scope:
            note_label_as_value(self.events, node)
            return None
        if node.name in scope.running and not node.label:
            if node.offset:
                message = f"`{node}`: a measure is taken over the whole window, at its end"
                self.problems.add("lookback-here", node, message, f"write `{node.name}`")
                return None
            return self.infer(scope.values[node.name])
        type_ = self.events.ref(node)
        if type_ is not None:
            aggregates = ["first", "last"]
            if type_ in NUMBERS:
                aggregates = ["last", "max", "avg"]
            elif type_ == PREDICATE:
                aggregates = ["count_if", "some", "every"]
            self.problems.add(
                "field-outside-aggregate",
                node,
                f"`{node}` has one value per event, and a measure has one per window",
                "use an aggregate: " + ", ".join(f"`{name}({node})`" for name in aggregates),
            )
        return None

    def is_first(self, node: tree.IsFirst) -> Type | None:
        message = f"`{node}` has one value per event, and a measure has one per window"
        self.problems.add("wrong-sort", node, message, f"use an aggregate: `some({node})`")
        return None

    def call(self, node: tree.Call) -> Type | None:
        if node.offset:
            message = f"`{node}`: a measure is taken over the whole window, at its end"
            hint = f"write `{replace(node, offset=0)}`; in `match` and `until` aggregates can have an index"
            self.problems.add("lookback-here", node, message, hint)
            return None
        if is_label_call(node):
            note_label_call(self.problems, node)
            return None
        return aggregate_type(self.events, node)


class HavingTypes(TypeChecker):
    """Types of `having`: a predicate over the measures of one window."""

    def __init__(self, measures: Mapping[str, Type | None], problems: Problems) -> None:
        super().__init__(problems)
        self.measures = measures

    def ref(self, node: tree.Ref) -> Type | None:
        if node.label:
            hint = f"name it with `measure last({node}) as m` and write `m` here"
            self.problems.add("label-here", node, "`having` takes measures by name", hint)
            return None
        if node.offset:
            message = "`having` cannot look back"
            self.problems.add("lookback-here", node, message, f"write `{node.name}`")
            return None
        if node.name in self.measures:
            return self.measures[node.name]
        hint = "define it with `measure`: `measure count() as n having n > 3`"
        if self.measures:
            hint = did_you_mean(node.name, self.measures, "the measures of this window are")
        message = f"this window has no measure called `{node.name}`"
        self.problems.add("unknown-name", node, message, hint)
        return None

    def is_first(self, node: tree.IsFirst) -> Type | None:
        hint = "name it with `measure some(is_first) as started` and write `started` here"
        self.problems.add("wrong-sort", node, "`having` takes measures by name", hint)
        return None

    def call(self, node: tree.Call) -> Type | None:
        name = node.name.text
        if signature(name):
            self.problems.add(
                "aggregate-here",
                node,
                "`having` takes measures by name, not aggregates",
                f"name it with `measure {node} as m` and write `m` here",
            )
        else:
            hint = did_you_mean(name, HAVING_FUNCTIONS, "the functions in `having` are")
            message = f"`having` has no function `{name}`"
            self.problems.add("unknown-aggregate", node.name, message, hint)
        return None
