"""Checks of aggregates: their arguments everywhere, and the places where they may stand.

In `measure` an aggregate is taken over a whole window, in a predicate of `match` or `until` over the
window so far. There the engine computes it event by event for each open start, so aggregates that
keep many values cannot stand there.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from wex.errors import closest
from wex.spec.aggregates import AGGREGATES, SYNONYMS, USER_DEFINED, signature
from wex.spec.foreign_words import OTHER_FUNCTIONS
from wex.spec.resolve.label_checks import (
    check_filter,
    check_label_call,
    check_one_label,
    counts_label,
    is_label_call,
)
from wex.spec.resolve.type_checker import with_article
from wex.spec.types import INT, STRING
from wex.spec.vocabulary import ALIKE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.spec import tree
    from wex.spec.resolve.scope import EventTypes
    from wex.spec.types import Type

MAX_NTH = 10_000  # values that `nth` counts: each is kept for each start
MAX_HISTORY = 100  # events that an aggregate in a predicate looks back: each is kept for each start

# Aggregates that a predicate cannot use, and what to write instead.
NOT_SO_FAR = {
    "collect": "compare `first`, `last`, `min`, `max` or `count` instead",
    "count_distinct": "count changes instead: `count_if(x != x[-1])`",
    "var": "compare `max(x) - min(x)`, or use it in `measure` and `having`",
    "stddev": "compare `max(x) - min(x)`, or use it in `measure` and `having`",
    "nth": "compare `first(x)`, `last(x)` or `x[-1]`, or use it in `measure` and `having`",
    "median": "compare `avg(x)`, or use it in `measure` and `having`",
    "percentile": "compare `avg(x)`, or use it in `measure` and `having`",
    "mode": "compare `first(x)`, or use it in `measure` and `having`",
}


class Place(Enum):
    """Where an expression over events stands, and why an aggregate cannot stand there."""

    MATCH = "match", ""
    UNTIL = "until", ""
    LET = "let", ""
    AFTER = (
        "after",
        "the events before a window belong to no window, so there is nothing to aggregate",
    )
    ASSUME = "assume", "an assumption is about streams, not about windows"
    WHERE = "where", "a formula is about positions, and does not read a window from its start"
    RUNS = "runs", "a run is made of neighbouring events, whatever was before them"
    ARGUMENT = "argument", "an aggregate is taken over values of events, not of aggregates"

    @property
    def reason(self) -> str:
        """Return why no aggregate can stand here; empty: it can."""
        return self.value[1]


INSTEAD = {
    Place.AFTER: "use it in `match`: what comes before the window can be the first part of `match`",
    Place.ASSUME: "use lookback: `x - x[-1] < 5`",
    Place.WHERE: "write the window with `match`, or use the aggregate in `measure` and `having`",
    Place.RUNS: "write `match` and `until`, where aggregates may be used",
    Place.ARGUMENT: "name the inner one as a measure, or compare both: `[x > avg(x)]`",
}


def note_misplaced(events: EventTypes, node: tree.Node, shown: str) -> None:
    """Note an aggregate where none can stand."""
    message = f"an aggregate such as `{shown}` is not allowed here: {events.place.reason}"
    events.problems.add("aggregate-here", node, message, INSTEAD[events.place])


def aggregate_so_far(events: EventTypes, node: tree.Call) -> Type | None:
    """Return the type of an aggregate in a predicate or a let."""
    name = node.name.text
    if events.place.reason:
        note_misplaced(events, node, f"{name}(…)")
        return None
    if name in NOT_SO_FAR or name in USER_DEFINED:
        hint = NOT_SO_FAR.get(name, "use it in `measure` and `having`")
        message = f"`{name}` cannot be computed event by event, as a predicate needs it"
        events.problems.add("aggregate-here", node, message, hint)
        return None
    return aggregate_type(events, node)


def aggregate_type(events: EventTypes, node: tree.Call) -> Type | None:
    """Check the arguments and the filter of an aggregate, and return the type of its result."""
    inner = events.at(Place.ARGUMENT)
    aggregate = signature(node.name.text)
    if node.filter is not None and check_filter(events, node.filter):
        inner.predicate(node.filter)
    if aggregate is None:
        message = f"there is no aggregate called `{node.name.text}`"
        hint = _aggregate_hint(node.name.text)
        events.problems.add("unknown-aggregate", node.name, message, hint)
        return None
    if not events.arity(node, aggregate.takes):
        return None
    if counts_label(events, node):
        return INT
    types = [_argument_type(inner, node, at) for at in range(len(node.args))]
    known = [type_ for type_ in types if type_ is not None]
    if len(known) < len(types) or not check_one_label(events, node):
        return None
    result = aggregate.result(*known)
    if result is None:
        shown = " and ".join(map(with_article, known))
        message = f"`{node.name.text}` expects {aggregate.expects}, got {shown}"
        events.problems.add("wrong-type", node, message, _fitting_aggregates(known))
    elif node.name.text in CONSTANT_ARGUMENTS and not _has_constant(events, node):
        return None
    return result


def _argument_type(inner: EventTypes, node: tree.Call, at: int) -> Type | None:
    argument = node.args[at]
    if at == 0 and is_label_call(argument):
        return STRING if check_label_call(inner, node) else None
    return inner.infer(argument)


CONSTANT_ARGUMENTS = {
    "nth": "a constant whole number, not 0: 1 is the first value, -1 the last",
    "percentile": "a constant from 0 to 1: 0.9 is the value that nine out of ten do not exceed",
}


def _has_constant(events: EventTypes, node: tree.Call) -> bool:
    """Check the second argument of an aggregate, if it has to be a constant."""
    name, value, argument = node.name.text, node.args[0], node.args[1]
    if name == "nth":
        number = events.whole(argument)
        fits = number is not None and number != 0
        if number is not None and abs(number) > MAX_NTH:
            message = f"`nth` counts up to {MAX_NTH:,} values, got `{argument}`"
            hint = f"use `collect({value})`, which keeps all values"
            events.problems.add("count-too-large", argument, message, hint)
            return False
    else:
        part = events.number(argument)
        fits = part is not None and 0 <= part <= 1
    if not fits:
        message = f"the second argument of `{name}` is {CONSTANT_ARGUMENTS[name]}"
        example = "2" if name == "nth" else "0.9"
        hint = f"write for example `{name}({value}, {example})`"
        events.problems.add("wrong-type", argument, message, hint)
    return fits


def _fitting_aggregates(types: Sequence[Type]) -> str:
    """Return a hint that names the aggregates of arguments of these types."""
    names = [
        name
        for name, aggregate in AGGREGATES.items()
        if len(types) in aggregate.takes and aggregate.result(*types)
    ]
    shown = " and ".join(map(with_article, types))
    return f"aggregates that take {shown}: {', '.join(names)}" if names else "use other types"


def _aggregate_hint(name: str) -> str:
    """Return a hint for an aggregate that does not exist."""
    if name.lower() in OTHER_FUNCTIONS:
        return OTHER_FUNCTIONS[name.lower()]
    meant = SYNONYMS.get(name.lower()) or closest(name, [*AGGREGATES, *USER_DEFINED], ALIKE)
    return f"did you mean `{meant}`?" if meant else f"the aggregates are {', '.join(AGGREGATES)}"
