"""The items of a spec, one by one: stream, lets, assumes, windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.spec import tree
from wex.spec.numbers import MAX_EVENTS, check_count
from wex.spec.resolve.events import Events, Scope, in_order
from wex.spec.resolve.formulas import check_formula
from wex.spec.resolve.measures import Having, Measures
from wex.spec.resolve.regexes import check_regex
from wex.spec.suggest import closest, did_you_mean
from wex.spec.types import (
    EVENT_UNITS,
    FIELD_TYPE_NAMES,
    FIELD_TYPES,
    OTHER,
    TIMESTAMP,
    TYPE_SYNONYMS,
    Type,
    microseconds,
)
from wex.spec.vocabulary import ALIKE, CLAUSES, KEEP, RESULT_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
