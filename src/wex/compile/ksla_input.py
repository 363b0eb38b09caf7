"""What users give to a k-SLA: fields, a lookback, and words of events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from wex.errors import DataError, WexError
from wex.spec import tree
from wex.spec.aggregates import uses_aggregates
from wex.theory.evaluate import ArithmeticFault, holds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wex.spec.types import Type
    from wex.theory.evaluate import Event, Numbers, Value
    from wex.theory.terms import Guard

    Word = Sequence[Mapping[str, Value | datetime | date]]
    Fields = Mapping[str, str | Type] | Mapping[str, str] | Mapping[str, Type]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def stream_line(fields: Fields) -> str:
    """Return the stream line of some fields, as text."""
    given: object = fields
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        message = f"the fields of an automaton are a dict of names and types, not {fields!r}"
        raise WexError("wrong-argument", message, "give them as {'x': 'real'}")
    columns = ", ".join(f"{tree.Name(name)} {type_}" for name, type_ in fields.items())
    return f"stream s ({columns})"


def lookback_of(given: int | None, least: int) -> int:
    """Return the lookback that was asked for, if it is deep enough, or the least one."""
    if given is not None and given < least:
        message = f"lookback {given} is not enough: the predicates look back {least}"
        raise WexError("wrong-argument", message, f"give {least} or more")
    return least if given is None else given


def refuse_aggregates(nodes: Iterable[tree.Node]) -> None:
    """Raise an error if a predicate has aggregates."""
    if any(map(uses_aggregates, nodes)):
        message = "a predicate with aggregates is true of a start and an event, not of a gram"
        hint = "leave the aggregates out: the automata of the paper do not have them"
        raise WexError("automaton-aggregate", message, hint)


def numbered(event: Mapping[str, Value | datetime | date]) -> Event:
    """Return an event with times as numbers: microseconds or days since 1970."""
    return {name: _value(value) for name, value in event.items()}


def _value(value: Value | datetime | date) -> Value:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // timedelta(microseconds=1)
    return (value - EPOCH.date()).days if isinstance(value, date) else value


def holds_at(guard: Guard, gram: Sequence[Event | None], position: int, numbers: Numbers) -> bool:
    """Tell whether a guard holds of the gram at a position; what is wrong with it is a DataError."""
    try:
        return holds(guard, gram, first=-position, numbers=numbers)
    except ArithmeticFault as fault:
        message = f"arithmetic in a guard has no result ({fault.why})"
        raise DataError("arithmetic", message, "check the values", position=position) from fault
    except KeyError as error:
        (name,) = error.args
        message = f"the event has no field `{name}`"
        hint = "give every event the fields that the guards read"
        raise DataError("missing-column", message, hint, column=name, position=position) from None
