"""The items of a spec, one by one: stream, lets, assumes, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.errors import closest, did_you_mean
from wex.spec import tree
from wex.spec.aggregates import signature
from wex.spec.numbers import MAX_EVENTS, check_count
from wex.spec.resolve.expressions import Expressions
from wex.spec.resolve.formulas import check_formula
from wex.spec.resolve.scope import Events, Scope, aggregate_hint, in_order
from wex.spec.types import (
    BOOL,
    EVENT_UNITS,
    FIELD_TYPE_NAMES,
    FIELD_TYPES,
    NUMBERS,
    OTHER,
    PREDICATE,
    TIMESTAMP,
    TYPE_SYNONYMS,
    Type,
    microseconds,
)
from wex.spec.vocabulary import ALIKE, CLAUSES, KEEP, RESULT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wex.spec.problems import Problems


NULLS = ("error", "skip")


def check_stream(stream: tree.Stream, scope: Scope, problems: Problems) -> None:
    """Check the stream line and enter its fields into the scope."""
    _unique((each.name for each in stream.fields), "field", problems)
    for each in stream.fields:
        scope.fields.setdefault(each.name.text, _field_type(each.type, problems))
    for word, names in (("partition by", stream.partition_by), ("order by", stream.order_by)):
        _unique(names, "column", problems, word)
        for name in names:
            _check_column(word, name, scope, problems)
    for name in stream.partition_by:
        if name.text in RESULT_COLUMNS:
            _note_column_clash(name, "is a column of every result", problems)
    if stream.nulls:
        _check_option(stream.nulls, "nulls", NULLS, problems)


def _field_type(type_: tree.FieldType, problems: Problems) -> Type | None:
    name = type_.name.text
    if name == "enum":
        values = [value.value for value in type_.values]
        if not values:
            hint = "list them: enum('a', 'b')"
            problems.add("unknown-option", type_, "an enum needs its values", hint)
            return None
        _unique(
            (tree.Name(value.value, span=value.span) for value in type_.values), "value", problems
        )
        return Type("enum", tuple(dict.fromkeys(values)))
    if name in FIELD_TYPES:
        if type_.values:
            message = f"the type `{name}` has no list of values"
            problems.add("unknown-option", type_, message, f"write `{name}`, or enum(…)")
        return FIELD_TYPES[name]
    meant = TYPE_SYNONYMS.get(name.lower()) or closest(name, FIELD_TYPE_NAMES, ALIKE)
    hint = f"did you mean `{meant}`?" if meant else f"the types are {', '.join(FIELD_TYPE_NAMES)}"
    problems.add("unknown-option", type_.name, f"there is no type called `{name}`", hint)
    return None


def _check_column(word: str, name: tree.Name, scope: Scope, problems: Problems) -> None:
    if name.text not in scope.fields:
        message = f"`{word}` needs a field of the stream, and `{name.text}` is none"
        hint = did_you_mean(name.text, scope.fields, "the fields are")
        problems.add("unknown-name", name, message, hint)
    elif scope.fields[name.text] == OTHER:
        message = f"`{name.text}` is of type other, which has neither equality nor order"
        problems.add("wrong-type", name, message, f"`{word}` takes any other type")


def check_lets(lets: tuple[tree.Let, ...], scope: Scope, problems: Problems) -> None:
    """Check the lets in an order in which each is known before it is used."""
    for let in lets:
        if let.name.text in scope.fields:
            hint = "choose another name for the let"
            message = f"`{let.name.text}` is a field already"
            problems.add("duplicate-name", let.name, message, hint)
    _unique((let.name for let in lets), "let", problems)
    events = Events(scope, problems)
    scope.lets.update((let.name.text, None) for let in lets)
    for let in in_order(lets, problems):
        scope.lets[let.name.text] = events.infer(let.value)
        scope.values[let.name.text] = let.value
        if let.name.text not in scope.fields and events.is_constant(let.value):
            scope.constants.add(let.name.text)


def check_assume(assume: tree.Assume, scope: Scope, problems: Problems) -> None:
    """Check what is promised of every stream."""
    check_regex(assume.regex, Events(scope, problems), CLAUSES["ASSUME"])


def check_window(
    window: tree.Window, stream: tree.Stream, scope: Scope, problems: Problems
) -> dict[str, Type | None]:
    """Check a window; return its measures and their types."""
    events = Events(scope, problems)
    _check_shape(window, problems)
    for pair in window.pairs:
        if pair.after:
            check_regex(pair.after, events, CLAUSES["WINDOW"])
        check_regex(pair.match, events, CLAUSES["WINDOW"])
    if window.where:
        check_formula(window.where, {}, events)
    if window.until:
        events.predicate(window.until.predicate)
    if window.within:
        _check_within(window.within, stream, events)
    if window.keep:
        _check_option(window.keep, "keep", KEEP, problems)
    measures = _check_measures(window, stream, events)
    if window.having:
        Having(measures, problems).predicate(window.having)
    return measures


def _check_shape(window: tree.Window, problems: Problems) -> None:
    if window.pairs and window.where:
        problems.add(
            "clause-conflict",
            window.where,
            "a window is given by `match` or by `where`, not by both",
            "say all of it in one of the two, or make two windows",
        )
    if not window.pairs and not window.where:
        problems.add(
            "nothing-to-match",
            window.name,
            f"the window `{window.name.text}` says nothing about what it matches",
            "add `match` and a regular expression, or `where` and a formula",
        )


def _check_within(within: tree.Within, stream: tree.Stream, events: Events) -> None:
    problems = events.problems
    if within.unit.text in EVENT_UNITS:
        if (
            check_count(problems, within.amount, MAX_EVENTS, "a number of events", "leave it out")
            < 1
        ):
            hint = "write a whole number from 1 on"
            problems.add("count-not-whole", within.amount, "a window has 1 event or more", hint)
        return
    if not events.unit(within.unit):
        return
    if microseconds(within.amount, within.unit.text) is None:
        hint = "durations are whole microseconds, up to about 292,000 years"
        problems.add("number-out-of-range", within.amount, "there is no such duration", hint)
    types = [events.scope.fields.get(name.text) for name in stream.order_by]
    if len(types) == 1 and types[0] in (TIMESTAMP, None):
        return
    times = [name for name, type_ in events.scope.fields.items() if type_ == TIMESTAMP]
    problems.add(
        "no-order",
        within,
        "a duration is measured on one timestamp column that orders the stream",
        f"add `order by {times[0] if times else 'ts'}` to the stream line"
        if not types
        else "order by one timestamp alone, or count `events`",
    )


def _check_measures(
    window: tree.Window, stream: tree.Stream, events: Events
) -> dict[str, Type | None]:
    _unique((measure.name for measure in window.measures), "measure", events.problems)
    keys = {name.text for name in stream.partition_by}
    found: dict[str, Type | None] = {}
    for measure in window.measures:
        name = measure.name.text
        if name in keys or name in RESULT_COLUMNS:
            what = "is a partition column" if name in keys else "is a column of every result"
            _note_column_clash(measure.name, what, events.problems)
        found.setdefault(name, Measures(events).measure(measure.value))
    return found


def check_windows_together(
    windows: Sequence[tree.Window], measures: Sequence[dict[str, Type | None]], problems: Problems
) -> None:
    """Check what the windows of one spec share: their names, and the columns of the result."""
    _unique((window.name for window in windows), "window", problems)
    first: dict[str, tuple[Type, tree.Window]] = {}
    for window, found in zip(windows, measures, strict=True):
        for measure in window.measures:
            type_ = found.get(measure.name.text)
            if type_ is None:
                continue
            known, where = first.setdefault(measure.name.text, (type_, window))
            if known != type_:
                problems.add(
                    "column-clash",
                    measure.name,
                    f"the measure `{measure.name.text}` is {type_} here and {known} in"
                    f" `{where.name.text}`, and both share one column",
                    "give one of the two another name",
                )


def _note_column_clash(name: tree.Name, why: str, problems: Problems) -> None:
    problems.add("column-clash", name, f"`{name.text}` {why}", "choose another name")


def _check_option(
    option: tree.Name, clause: str, options: Sequence[str], problems: Problems
) -> None:
    if option.text not in options:
        hint = did_you_mean(option.text, options, "there is")
        message = f"`{clause}` has no option `{option.text}`"
        problems.add("unknown-option", option, message, hint)


def _unique(
    names: Iterable[tree.Name], what: str, problems: Problems, clause: str | None = None
) -> None:
    """Note a second thing of one name, or the second mention of a name in a clause."""
    seen: set[str] = set()
    for name in names:
        if name.text in seen:
            message = f"there are two {what}s called `{name.text}`"
            if clause:
                message = f"`{name.text}` stands twice in `{clause}`"
            hint = "remove it, or give it another name"
            problems.add("duplicate-name", name, message, hint)
        seen.add(name.text)


class Measures(Expressions):
    """The values of a window: aggregates of its events, and arithmetic on them."""

    def __init__(self, events: Events) -> None:
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
            "this is a predicate, and a measure is a value",
            "of the events say `some(p)`, `every(p)` or `count_if(p)`; of measures say `having`",
        )
        return None

    def ref(self, node: tree.Ref) -> Type | None:
        type_ = self.events.ref(node)
        if type_ is not None:
            hint = f"say which: `first({node})`, `last({node})`"
            if type_ in NUMBERS:
                hint = f"say which: `last({node})`, `max({node})`, `avg({node})`"
            elif type_ == PREDICATE:
                hint = f"say how often, or whether: `count_if({node})`, `some({node})`, `every({node})`"
            message = f"a window has many values of `{node}`"
            self.problems.add("field-outside-aggregate", node, message, hint)
        return None

    def is_first(self, node: tree.IsFirst) -> Type | None:
        message = "`is_first` is asked of an event, not of a window"
        self.problems.add("wrong-sort", node, message, f"write `some({node})`")
        return None

    def call(self, node: tree.Call) -> Type | None:
        aggregate = signature(node.name.text)
        if node.filter is not None:
            self.events.predicate(node.filter)
        if aggregate is None:
            message = f"there is no aggregate called `{node.name.text}`"
            hint = aggregate_hint(node.name.text)
            self.problems.add("unknown-aggregate", node.name, message, hint)
            return None
        if not self.arity(node, aggregate.takes):
            return None
        types = [self.events.infer(arg) for arg in node.args]
        known = [type_ for type_ in types if type_ is not None]
        if len(known) < len(types):
            return None
        result = aggregate.result(*known)
        if result is None:
            shown = " and ".join(map(str, known))
            hint = f"it takes {aggregate.wants}"
            message = f"`{node.name.text}` makes no sense of {shown}"
            self.problems.add("wrong-type", node, message, hint)
        return result


class Having(Expressions):
    """A predicate over the measures of one window."""

    def __init__(self, measures: Mapping[str, Type | None], problems: Problems) -> None:
        super().__init__(problems)
        self.measures = measures

    def ref(self, node: tree.Ref) -> Type | None:
        if node.offset:
            message = "a window has no window before it to look back at"
            self.problems.add("lookback-here", node, message, f"write `{node.name}`")
            return None
        if node.name in self.measures:
            return self.measures[node.name]
        hint = "name what you need: `measure count() as n having n > 3`"
        if self.measures:
            hint = did_you_mean(node.name, self.measures, "the measures of this window are")
        message = f"this window has no measure called `{node.name}`"
        self.problems.add("unknown-name", node, message, hint)
        return None

    def is_first(self, node: tree.IsFirst) -> Type | None:
        hint = "measure it, `some(is_first) as started`, and name that here"
        self.problems.add("wrong-sort", node, "`is_first` is asked of an event", hint)
        return None

    def call(self, node: tree.Call) -> Type | None:
        name = node.name.text
        if signature(name):
            self.problems.add(
                "aggregate-here",
                node,
                "`having` speaks about measures by their names",
                f"measure it, `measure {node} as m`, and write `m` here",
            )
        else:
            hint = did_you_mean(name, ("abs",), "in `having` there is only")
            message = f"there is no function called `{name}` here"
            self.problems.add("unknown-aggregate", node.name, message, hint)
        return None


def check_regex(regex: tree.Regex, events: Events, clauses: Sequence[str]) -> None:
    """Check the atoms; `clauses` are the words that an unknown name may be a misspelling of."""
    match regex:
        case tree.Atom():
            _check_atom(regex, events)
        case tree.Concat(parts):
            _check_concat(parts, events, clauses)
        case tree.Union(parts) | tree.Intersection(parts):
            for part in parts:
                check_regex(part, events, clauses)
        case tree.Complement(body) | tree.Repeat(body):
            check_regex(body, events, clauses)


def _check_concat(parts: Sequence[tree.Regex], events: Events, clauses: Sequence[str]) -> None:
    skipped: tree.Regex | None = None
    for part, behind in zip(parts, [*parts[1:], None], strict=True):
        named = part.predicate if isinstance(part, tree.Atom) else None
        index = behind.predicate if isinstance(behind, tree.Atom) else None
        if isinstance(named, tree.Ref) and not named.offset and isinstance(index, tree.Int):
            assert behind is not None
            _note_index(named, behind, index.value, events)
            skipped = behind
        elif _misspelt(part, events, clauses):
            return  # what follows would have belonged to that clause
        elif part is not skipped:
            check_regex(part, events, clauses)


def _misspelt(part: tree.Regex, events: Events, clauses: Sequence[str]) -> bool:
    """Note a bare name that is not declared and looks like a clause."""
    if not isinstance(part, tree.Atom) or not isinstance(part.predicate, tree.Ref):
        return False
    name = part.predicate.name
    if name in events.scope or events.problems.full:
        return False
    clause = closest(name, clauses, ALIKE)
    if clause is None:
        return False
    message = f"`{name}` is neither a clause nor a name that is declared"
    events.problems.add("unknown-clause", part, message, f"did you mean `{clause}`?")
    return True


def _note_index(name: tree.Ref, index: tree.Regex, offset: int, events: Events) -> None:
    looked = tree.Ref(name.name, min(offset, -1))
    whole = (
        f"[{looked}]" if events.ref(tree.Ref(name.name)) in (BOOL, PREDICATE) else f"[{looked} > …]"
    )
    events.problems.add(
        "lookback-here",
        index,
        "in a regular expression brackets hold a predicate, not an index",
        f"to look back put the whole into brackets: `{whole}`",
    )


def _check_atom(atom: tree.Atom, events: Events) -> None:
    if not isinstance(atom.predicate, tree.Ref):
        events.predicate(atom.predicate)
        return
    type_ = events.ref(atom.predicate)
    if type_ is not None and type_ not in (BOOL, PREDICATE):
        events.problems.add(
            "wrong-sort",
            atom,
            f"`{atom.predicate}` is a value of type {type_.name}, not a predicate",
            f"say what has to hold of it: `[{atom.predicate} > …]`",
        )
