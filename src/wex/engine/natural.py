"""Values as aggregates of the user's own see them: times as Python has them, in UTC."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from wex.errors import WexError
from wex.spec.own import OWN
from wex.spec.types import BOOL, DATE, DURATION, INT, REAL, STRING, TIMESTAMP, Type
from wex.theory.evaluate import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.spec.own import OwnAggregate

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_DAY = date(1970, 1, 1).toordinal()
MICROSECOND = timedelta(microseconds=1)


def natural(value: object, type_: Type) -> object:
    """Return a value, which has times as whole numbers, as Python has it."""
    if value is None or not isinstance(value, int):
        return value
    try:
        if type_ == TIMESTAMP:
            return EPOCH + timedelta(microseconds=value)
        if type_ == DATE:
            return date.fromordinal(FIRST_DAY + value)
        return timedelta(microseconds=value) if type_ == DURATION else value
    except (OverflowError, ValueError) as error:
        message = f"a {type_} lies beyond the times that Python has"
        raise WexError("aggregate-failed", message, "filter such events") from error


_WANTED: dict[Type, tuple[type, ...]] = {
    BOOL: (bool,), INT: (int,), REAL: (float, int), STRING: (str,),
    TIMESTAMP: (datetime,), DATE: (date,), DURATION: (timedelta,),
}  # fmt: skip


def plain_value(value: object, type_: Type, name: str) -> object:
    """Return the result of an aggregate with times as whole numbers."""
    if value is None:
        return None
    fits = isinstance(value, _WANTED[type_])
    if isinstance(value, bool | datetime):  # which are an int and a date, too
        fits = type_ == (BOOL if isinstance(value, bool) else TIMESTAMP)
    if not fits:
        message = f"the aggregate `{name}` says {type_}, and gave a {type(value).__name__}"
        raise WexError("aggregate-failed", message, "mend its result(), or its result_type")
    try:
        return _plain(value, type_)
    except (OverflowError, UnicodeError) as error:
        message = f"the aggregate `{name}` gave a value that does not fit into {type_}"
        raise WexError(
            "aggregate-failed", message, "keep it smaller, or mend its result()"
        ) from error


def _plain(value: object, type_: Type) -> object:
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=UTC)
        return (moment - EPOCH) // MICROSECOND
    if isinstance(value, timedelta):
        return value // MICROSECOND
    if isinstance(value, date):
        return value.toordinal() - FIRST_DAY
    if isinstance(value, str):
        value.encode()
    if type_ == INT and value not in WHOLE:
        raise OverflowError
    return float(value) if type_ == REAL and isinstance(value, int) else value


def own_aggregate(name: str) -> OwnAggregate:
    """Return the registered aggregate of a name; a plan may come from where it was known."""
    if name not in OWN:
        hint = "register it with wex.aggregate in every process that runs the spec"
        raise WexError("unknown-aggregate", f"no aggregate `{name}` is registered here", hint)
    return OWN[name].made


def guarded(name: str, function: Callable[..., object], *args: object) -> object:
    """Return what a method of an aggregate returns; what it raises is told as its failure."""
    try:
        return function(*args)
    except Exception as error:
        message = f"the aggregate `{name}` failed: {type(error).__name__}: {error}"
        raise WexError(
            "aggregate-failed", message, "mend the class, or filter such events"
        ) from error
