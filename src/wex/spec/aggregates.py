"""The aggregates: how many arguments each takes, of which types, and what it gives.

A signature is a function from the types of the arguments to the type of the result, or None if
the aggregate makes no sense of them; `wants` says in words what it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from wex.errors import WexError, did_you_mean
from wex.spec.types import (
    BOOL,
    DATE,
    DURATION,
    INT,
    NUMBERS,
    ORDERED,
    OTHER,
    PREDICATE,
    REAL,
    STRING,
    TIMESTAMP,
    Type,
)
from wex.spec.vocabulary import RESERVED

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Aggregate:
    """What an aggregate takes and gives. `takes` are the numbers of arguments it can have."""

    takes: tuple[int, ...]
    wants: str
    result: Callable[..., Type | None]


def _count(value: Type | None = None) -> Type | None:
    return INT if value != PREDICATE else None


def _sum(value: Type) -> Type | None:
    return value if value in (*NUMBERS, DURATION) else None


def _avg(value: Type) -> Type | None:
    return REAL if value in NUMBERS else DURATION if value == DURATION else None


def _spread(value: Type) -> Type | None:
    return REAL if value in NUMBERS else None


def _extreme(value: Type) -> Type | None:
    return value if value in (*ORDERED, STRING) else None


def _same(value: Type) -> Type | None:
    return value if value != PREDICATE else None


def _collect(value: Type) -> Type | None:
    return Type("list", item=value) if value != PREDICATE else None


def _count_distinct(value: Type) -> Type | None:
    return INT if value not in (OTHER, PREDICATE) else None


def _count_if(condition: Type) -> Type | None:
    return INT if condition in (BOOL, PREDICATE) else None


def _truth(condition: Type) -> Type | None:
    return BOOL if condition in (BOOL, PREDICATE) else None


def _by(value: Type, key: Type) -> Type | None:
    return value if value not in (OTHER, PREDICATE) and _extreme(key) else None


_ANY = "a value"
_ORDERED = "a number, a time, a duration or a string"

AGGREGATES = {
    "count": Aggregate((0, 1), "nothing, or a value whose NULLs are not counted", _count),
    "sum": Aggregate((1,), "a number or a duration", _sum),
    "avg": Aggregate((1,), "a number or a duration", _avg),
    "min": Aggregate((1,), _ORDERED, _extreme),
    "max": Aggregate((1,), _ORDERED, _extreme),
    "first": Aggregate((1,), _ANY, _same),
    "last": Aggregate((1,), _ANY, _same),
    "var": Aggregate((1,), "a number", _spread),
    "stddev": Aggregate((1,), "a number", _spread),
    "collect": Aggregate((1,), _ANY, _collect),
    "count_distinct": Aggregate((1,), "a value that has equality", _count_distinct),
    "count_if": Aggregate((1,), "a predicate", _count_if),
    "some": Aggregate((1,), "a predicate", _truth),
    "every": Aggregate((1,), "a predicate", _truth),
    "min_by": Aggregate((2,), f"a value, and {_ORDERED} to compare by", _by),
    "max_by": Aggregate((2,), f"a value, and {_ORDERED} to compare by", _by),
}

USER_DEFINED: dict[str, Aggregate] = {}  # by name, as `aggregate` registers them


def signature(name: str) -> Aggregate | None:
    """Return what the aggregate of a name takes and gives, if there is one."""
    return AGGREGATES.get(name) or USER_DEFINED.get(name)


SYNONYMS = {
    "mean": "avg", "average": "avg",
    "std": "stddev", "stddev_samp": "stddev", "variance": "var", "var_samp": "var",
    "array_agg": "collect", "collect_list": "collect", "list": "collect",
    "bool_or": "some", "bool_and": "every", "all": "every", "exists": "some",
    "arg_min": "min_by", "arg_max": "max_by", "argmin": "min_by", "argmax": "max_by",
    "any_value": "first", "first_value": "first", "last_value": "last", "countif": "count_if",
}  # fmt: skip


RESULT_TYPES = {each.name: each for each in (BOOL, INT, REAL, STRING, TIMESTAMP, DATE, DURATION)}
MOST_ARGUMENTS = 8
_FUNCTIONS = ("abs", "prev")


@runtime_checkable
class OwnAggregate(Protocol):
    """What a class has to have to be an aggregate; see `aggregate`."""

    result_type: str

    def zero(self) -> Any:
        """Return the state of no events."""

    def add(self, state: Any, event: Any) -> Any:
        """Return the state after one more event."""

    def merge(self, left: Any, right: Any) -> Any:
        """Return the state of the events of one and then of another."""

    def result(self, state: Any) -> Any:
        """Return the value of the aggregate."""


@dataclass(frozen=True)
class Registered:
    """An aggregate of the user's own."""

    made: OwnAggregate
    type: Type


REGISTERED: dict[str, Registered] = {}
Class = TypeVar("Class", bound=type)


class aggregate:  # noqa: N801  (a decorator)
    """Register a class as an aggregate, by the name that specs call it.

    The class has `zero()`, `add(state, event)`, `merge(left, right)`, `result(state)`, and says in
    `result_type` what it gives: bool, int, real, string, timestamp, date or duration. An event is
    the value of the argument, or a tuple if there are several. `merge` joins the states of neighbouring runs of events, in their order, and
    leaves both as they are; None as a result is NULL. Events with a NULL argument are passed over.

    States that are to survive a restart are plain values (numbers, texts, lists, tuples, dicts),
    or the class has `dump(state)` to bytes and `load(content)` back.

    >>> import wex
    >>> @wex.aggregate("product")
    ... class Product:
    ...     result_type = "real"
    ...     def zero(self): return 1.0
    ...     def add(self, state, event): return state * event
    ...     def merge(self, left, right): return left * right
    ...     def result(self, state): return state
    >>> spec = wex.parse("stream s (x real) window w match any{3} measure product(x) as p")
    >>> wex.find(spec, {"x": [2.0, 3.0, 4.0, 5.0]})["p"].to_pylist()
    [24.0, 60.0]
    """

    def __init__(self, name: str) -> None:
        if not str(name).isidentifier() or name in RESERVED:
            raise WexError(
                "aggregate-name", f"{name!r} is no name for an aggregate", "use a plain word"
            )
        if name in _FUNCTIONS or name in AGGREGATES:
            message = f"there is a `{name}` in the language already"
            raise WexError("aggregate-name", message, "choose another name")
        self.name = name

    def __call__(self, class_: Class) -> Class:
        """Register the class, and return it as it is."""
        try:
            made = class_()
        except TypeError as error:
            message = f"the aggregate `{self.name}` cannot be made: {error}"
            raise WexError("aggregate-class", message, "its class takes no arguments") from error
        missing = [
            each
            for each in ("zero", "add", "merge", "result")
            if not callable(getattr(made, each, None))
        ]
        if missing:
            message = f"the aggregate `{self.name}` has no {', '.join(missing)}"
            hint = "it needs zero(), add(state, event), merge(left, right) and result(state)"
            raise WexError("aggregate-class", message, hint)
        written = getattr(made, "result_type", None)
        type_ = RESULT_TYPES.get(written) if isinstance(written, str) else None
        if type_ is None:
            message = f"the aggregate `{self.name}` does not say what it gives"
            hint = did_you_mean(str(written), RESULT_TYPES, "set result_type to one of")
            raise WexError("aggregate-class", message, hint)
        known = REGISTERED.get(self.name)
        if known is not None and known.type != type_:
            message = f"`{self.name}` was registered before, with the result type {known.type}"
            raise WexError("aggregate-name", message, "choose another name")
        REGISTERED[self.name] = Registered(made, type_)
        USER_DEFINED[self.name] = Aggregate(
            tuple(range(1, MOST_ARGUMENTS + 1)), "values of any type but `other`", _result(type_)
        )
        return class_


class _result:  # noqa: N801
    """What an aggregate gives, whatever it is given."""

    def __init__(self, type_: Type) -> None:
        self._type = type_

    def __call__(self, *types: Type) -> Type | None:
        return None if {OTHER, PREDICATE} & set(types) else self._type
