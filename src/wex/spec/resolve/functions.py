"""Checks of functions: `floor`, the parts of the clock and the calendar, `like` and `is null`.

The names and arguments of a call are checked here; `abs` and `prev` are older and simpler, and are
checked where types are inferred.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from wex.errors import closest
from wex.spec import patterns, tree
from wex.spec.aggregates import is_aggregate
from wex.spec.types import (
    CALENDAR_PARTS,
    CLOCK_PARTS,
    DATE,
    DURATION,
    INT,
    PREDICATE,
    STRING,
    TIMESTAMP,
    UNITS,
    Type,
    is_zone,
    read_moment,
)
from wex.spec.vocabulary import ALIKE

if TYPE_CHECKING:
    from wex.spec.resolve.type_checker import TypeChecker

BUCKETS = "floor(ts, 10 minutes)"
ZONES = "Europe/Berlin"


def infer_function(checker: TypeChecker, node: tree.Call) -> Type | None:
    """Return the type of a call of one of FUNCTIONS, or None after noting a problem."""
    checker.no_filter(node)
    return FUNCTIONS[node.name.text](checker, node)


# --- floor


def _floor(checker: TypeChecker, node: tree.Call) -> Type | None:
    if not _arity(checker, node, (2, 3), f"write `{BUCKETS}`"):
        return None
    types = [checker.value(arg) for arg in node.args]
    value, known = types[0], [type_ for type_ in types if type_ is not None]
    if value is None or len(known) < len(types):
        return None
    if value not in (TIMESTAMP, DATE, INT):
        message = f"`floor` expects a timestamp, a date or an int, got {_a(value)}"
        hint = f"write `{BUCKETS}` for times, `floor(n, 10)` for ints"
        if value == DURATION:
            hint = "write `gap // 10 minutes` for the number of whole steps in a duration"
        checker.problems.add("wrong-type", node.args[0], message, hint)
        return None
    step, *offset = node.args[1:]
    ok = _step(checker, step, value, "step", f"floor({node.args[0]}, {_example(value)})")
    for arg in offset:
        shown = f"floor({node.args[0]}, {_example(value)}, {_example_offset(value)})"
        ok = _step(checker, arg, value, "offset", shown) and ok
    return value if ok else None


def _example(type_: Type) -> str:
    return {"timestamp": "10 minutes", "date": "1 week"}.get(type_.name, "10")


def _example_offset(type_: Type) -> str:
    return {"timestamp": "5 minutes", "date": "4 days"}.get(type_.name, "5")


def _step(checker: TypeChecker, node: tree.Expr, value: Type, noun: str, shown: str) -> bool:
    """Check the step or the offset of `floor`: a constant, and a step is positive."""
    amount = checker.whole(node) if value == INT else checker.length(node)
    expected = "whole number" if value == INT else "duration"
    if amount is None:
        message = f"the {noun} of `floor` must be a constant {expected}"
        checker.problems.add("wrong-type", node, message, f"write for example `{shown}`")
        return False
    if noun == "step" and amount <= 0:
        message = f"the step of `floor` must be positive, got `{node}`"
        checker.problems.add("wrong-type", node, message, f"write for example `{shown}`")
        return False
    if value == DATE and amount % UNITS["day"]:
        message = f"the {noun} of `floor` of a date must be whole days, got `{node}`"
        checker.problems.add("wrong-type", node, message, f"write for example `{shown}`")
        return False
    return True


# --- Clock and calendar


def _clock(checker: TypeChecker, node: tree.Call) -> Type | None:
    name = node.name.text
    if not _arity(checker, node, (1, 2), f"write `{name}(ts)` or `{name}(ts, '{ZONES}')`"):
        return None
    value, *zone = node.args
    type_ = checker.value(value)
    if type_ is None:
        return None
    if type_ not in (TIMESTAMP, DATE):
        message = f"`{name}` expects a timestamp or a date, got {_a(type_)}"
        hint = f"apply `{name}` to a field of type timestamp"
        if type_ == DURATION and name in CLOCK_PARTS:
            hint = f"for the {name}s in a duration write `gap // 1 {name}`"
        checker.problems.add("wrong-type", value, message, hint)
        return None
    if type_ == DATE and name in CLOCK_PARTS:
        hint = "a date has `year`, `month`, `day` and `weekday`"
        checker.problems.add("wrong-type", value, f"a date has no {name}", hint)
        return None
    return INT if not zone or _zone(checker, node, type_) else None


def _zone(checker: TypeChecker, node: tree.Call, type_: Type) -> bool:
    value, argument = node.args
    zone = checker.constant(argument)
    if not isinstance(zone, tree.Text):
        hint = f"write the name of the zone: `{node.name}({value}, '{ZONES}')`"
        checker.problems.add("wrong-type", argument, "a time zone must be a constant text", hint)
        return False
    if type_ == DATE:
        message, hint = "a date is in no time zone", f"write `{node.name}({value})`"
        checker.problems.add("wrong-type", argument, message, hint)
        return False
    if not is_zone(zone.value):
        checker.problems.add(
            "unknown-option",
            argument,
            f"there is no time zone called '{zone.value}'",
            _zone_hint(zone.value),
        )
        return False
    moment = checker.constant(value)
    if isinstance(moment, tree.Moment):
        read = read_moment(moment.type.text, moment.text)
        if read is not None and getattr(read, "tzinfo", None) is None:
            message = "this timestamp has no time zone, so no other zone can be asked about it"
            hint = f"write `timestamp '{moment.text}+00:00'`, or leave the zone out"
            checker.problems.add("wrong-type", value, message, hint)
            return False
    return True


def _zone_hint(zone: str) -> str:
    """Return a hint with zones of a similar name: `Berlin` is in `Europe/Berlin`."""
    named = sorted(available_timezones())
    inside = [name for name in named if name.rpartition("/")[2].lower() == zone.lower()]
    if inside:
        return f"did you mean '{inside[0]}'?"
    similar = closest(zone, named, ALIKE)
    if similar:
        return f"did you mean '{similar}'?"
    return f"zones have names such as '{ZONES}' and 'UTC'"


# --- Text


def _starts_with(checker: TypeChecker, node: tree.Call) -> Type | None:
    if not _arity(checker, node, (2,), "write `starts_with(name, 'A')`"):
        return None
    value, prefix = node.args
    if not _is_text(checker, value, "`starts_with`"):
        return None
    _constant_text(checker, prefix, "the start", f"starts_with({value}, 'A')")
    return PREDICATE


def check_like(checker: TypeChecker, node: tree.Like) -> None:
    """Check `x like 'A%'`."""
    if not _is_text(checker, node.value, "`like`"):
        return
    pattern = _constant_text(checker, node.pattern, "the pattern", f"{node.value} like 'A%'")
    if pattern is not None and patterns.parts(pattern) is None:
        checker.problems.add(
            "wrong-type",
            node.pattern,
            "a backslash in a pattern must come before `%`, `_` or another backslash",
            r"write `\\` for a backslash, `\%` and `\_` for these characters",
        )


def _is_text(checker: TypeChecker, node: tree.Expr, word: str) -> bool:
    type_ = checker.value(node)
    if type_ is None or type_ == STRING or type_.values:
        return type_ is not None
    message = f"{word} expects a string or an enum, got {_a(type_)}"
    hint = "compare numbers and times with `=`, `<`, `between`"
    checker.problems.add("wrong-type", node, message, hint)
    return False


def _constant_text(checker: TypeChecker, node: tree.Expr, noun: str, shown: str) -> str | None:
    constant = checker.constant(node)
    if isinstance(constant, tree.Text):
        return constant.value
    if checker.value(node) is not None:
        message = f"{noun} must be a constant text, got `{node}`"
        checker.problems.add("wrong-type", node, message, f"write for example `{shown}`")
    return None


# --- NULL


def check_null_test(checker: TypeChecker, node: tree.IsNull) -> None:
    """Check `x is null`: a field or a measure by its name."""
    type_ = checker.infer(node.value)
    if type_ is None:
        return
    value = checker.constant(node.value)
    if isinstance(value, tree.Ref) and type_ != PREDICATE:
        return
    names = list(dict.fromkeys(part for part in tree.walk(value) if isinstance(part, tree.Ref)))
    word = "is not null" if node.negated else "is null"
    shown = f" {'and' if node.negated else 'or'} ".join(f"{name} {word}" for name in names[::-1])
    message = f"`{word}` expects a name, got `{node.value}`"
    hint = f"ask about the values by name: `{shown}`" if names else "a constant is never NULL"
    if isinstance(value, tree.Call) and is_aggregate(value):
        count = tree.Call(tree.Name("count"), value.args[:1], value.filter, value.offset)
        hint = f"an aggregate of nothing is NULL: write `{count} {'>' if node.negated else '='} 0`"
    checker.problems.add("wrong-sort", node.value, message, hint)


def _arity(checker: TypeChecker, node: tree.Call, takes: tuple[int, ...], hint: str) -> bool:
    if len(node.args) in takes:
        return True
    message = f"`{node.name}` takes {' or '.join(map(str, takes))} arguments, got {len(node.args)}"
    checker.problems.add("arguments", node, message, hint)
    return False


def _a(type_: Type) -> str:
    return f"{'an' if type_.name[0] in 'aeio' else 'a'} {type_}"


FUNCTIONS = {
    "floor": _floor,
    "starts_with": _starts_with,
    **dict.fromkeys((*CALENDAR_PARTS, *CLOCK_PARTS), _clock),
}
