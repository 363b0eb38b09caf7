"""Aggregates of the user's own: registered by name, then written in specs like any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from wex.errors import WexError
from wex.spec import aggregates
from wex.spec.aggregates import AGGREGATES, Aggregate
from wex.spec.suggest import did_you_mean
from wex.spec.types import (
    BOOL,
    DATE,
    DURATION,
    INT,
    OTHER,
    PREDICATE,
    REAL,
    STRING,
    TIMESTAMP,
    Type,
)
from wex.spec.vocabulary import RESERVED

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


OWN: dict[str, Registered] = {}
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
        known = OWN.get(self.name)
        if known is not None and known.type != type_:
            message = f"`{self.name}` was registered before, with the result type {known.type}"
            raise WexError("aggregate-name", message, "choose another name")
        OWN[self.name] = Registered(made, type_)
        aggregates.OWN[self.name] = Aggregate(
            tuple(range(1, MOST_ARGUMENTS + 1)), "values of any type but `other`", _result(type_)
        )
        return class_


class _result:  # noqa: N801
    """What an aggregate gives, whatever it is given."""

    def __init__(self, type_: Type) -> None:
        self._type = type_

    def __call__(self, *types: Type) -> Type | None:
        return None if {OTHER, PREDICATE} & set(types) else self._type
