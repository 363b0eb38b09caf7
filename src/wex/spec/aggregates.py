"""Aggregates: the signatures of the built-in ones, and the registry of those defined by users.

A signature is a function from the types of the arguments to the type of the result, or None if the
aggregate does not take these types. `wex.aggregate` registers a class as a user-defined aggregate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from wex.errors import WexError, did_you_mean
from wex.spec import tree
from wex.spec.types import (
    BOOL,
    DATE,
    DURATION,
    FUNCTION_NAMES,
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


# --- Built-in aggregates


@dataclass(frozen=True)
class Aggregate:
    """The signature of an aggregate. `takes` are the possible numbers of arguments."""

    takes: tuple[int, ...]
    expects: str  # the arguments in words, for errors
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


def _nth(value: Type, number: Type) -> Type | None:
    return value if value != PREDICATE and number == INT else None


def _middle(value: Type, part: Type = REAL) -> Type | None:
    return _avg(value) if part in NUMBERS else None


def _mode(value: Type) -> Type | None:
    return value if value not in (OTHER, PREDICATE) else None


def _by(value: Type, key: Type) -> Type | None:
    return value if value not in (OTHER, PREDICATE) and _extreme(key) else None


_ANY = "a value"
_ORDERED = "a number, a time, a duration or a string"

AGGREGATES = {
    "count": Aggregate((0, 1), "no argument or a value", _count),
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
    "min_by": Aggregate((2,), f"a value and {_ORDERED}", _by),
    "max_by": Aggregate((2,), f"a value and {_ORDERED}", _by),
    "nth": Aggregate((2,), "a value and a whole number", _nth),
    "median": Aggregate((1,), "a number or a duration", _middle),
    "percentile": Aggregate((2,), "a number or a duration, and a number from 0 to 1", _middle),
    "mode": Aggregate((1,), "a value that has equality", _mode),
}

# Those that keep a value of each event of a window until it ends.
KEEPING_VALUES = ("collect", "count_distinct", "median", "percentile", "mode")

# Names that other systems use for these aggregates.
SYNONYMS = {
    "mean": "avg", "average": "avg",
    "std": "stddev", "stddev_samp": "stddev", "variance": "var", "var_samp": "var",
    "array_agg": "collect", "collect_list": "collect", "list": "collect",
    "bool_or": "some", "bool_and": "every", "all": "every", "exists": "some",
    "arg_min": "min_by", "arg_max": "max_by", "argmin": "min_by", "argmax": "max_by",
    "any_value": "first", "first_value": "first", "last_value": "last", "countif": "count_if",
    "nth_value": "nth", "quantile": "percentile", "percentile_cont": "percentile", "quantile_cont": "percentile",
    "percentile_approx": "percentile", "approx_percentile": "percentile", "most_frequent": "mode",
}  # fmt: skip


def is_aggregate(node: tree.Node) -> bool:
    """Tell whether a node is a call of an aggregate.

    >>> is_aggregate(tree.Call(tree.Name("max"), (tree.Ref("x"),)))
    True
    >>> is_aggregate(tree.Call(tree.Name("abs"), (tree.Ref("x"),)))
    False
    """
    return isinstance(node, tree.Call) and signature(node.name.text) is not None


def uses_aggregates(node: tree.Node) -> bool:
    """Tell whether there is an aggregate in a node, whose lets are expanded."""
    return any(map(is_aggregate, tree.walk(node)))


# --- User-defined aggregates

RESULT_TYPES = {type_.name: type_ for type_ in (BOOL, INT, REAL, STRING, TIMESTAMP, DATE, DURATION)}
MOST_ARGUMENTS = 8
_METHODS = ("zero", "add", "merge", "result")


@runtime_checkable
class UserDefinedAggregate(Protocol):
    """The interface of a user-defined aggregate; see `aggregate`."""

    result_type: str

    def zero(self) -> Any:
        """Return the state of no events."""

    def add(self, state: Any, event: Any) -> Any:
        """Return the state after one more event."""

    def merge(self, left: Any, right: Any) -> Any:
        """Return the state of the events of `left` followed by those of `right`."""

    def result(self, state: Any) -> Any:
        """Return the value of the aggregate."""


@dataclass(frozen=True)
class Registration:
    """A user-defined aggregate: an instance of its class, and the type of its result."""

    instance: UserDefinedAggregate
    type: Type


REGISTRATIONS: dict[str, Registration] = {}
USER_DEFINED: dict[str, Aggregate] = {}  # the signatures of those in REGISTRATIONS
Class = TypeVar("Class", bound=type)


def signature(name: str) -> Aggregate | None:
    """Return the signature of the aggregate with a name, if there is one."""
    return AGGREGATES.get(name) or USER_DEFINED.get(name)


class aggregate:  # noqa: N801  (a decorator)
    """Register a class as an aggregate, under the name that specs use.

    The class has the methods `zero()`, `add(state, event)`, `merge(left, right)` and
    `result(state)`, and an attribute `result_type`: bool, int, real, string, timestamp, date or
    duration. An event is the value of the argument, or a tuple if there are several arguments.
    `merge` joins the states of two adjacent runs of events, in their order, and must not change
    either of them. A result of None is NULL. Events with a NULL argument are skipped.

    To survive a restart, states must be plain values (numbers, strings, lists, tuples, dicts), or
    the class must have `dump(state)`, which returns bytes, and `load(content)`, which reads them.

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
            message = f"expected a plain word as the name of an aggregate, got {name!r}"
            raise WexError("aggregate-name", message, "use letters, digits and underscores")
        if name in FUNCTION_NAMES or name in AGGREGATES:
            message = f"`{name}` is already a function of the language"
            raise WexError("aggregate-name", message, "choose another name")
        self.name = name

    def __call__(self, class_: Class) -> Class:
        """Register the class and return it unchanged."""
        instance = self._instance(class_)
        type_ = self._result_type(instance)
        registered = REGISTRATIONS.get(self.name)
        if registered is not None and registered.type != type_:
            message = f"`{self.name}` is already registered with the result type {registered.type}"
            raise WexError("aggregate-name", message, "choose another name")
        REGISTRATIONS[self.name] = Registration(instance, type_)
        USER_DEFINED[self.name] = Aggregate(
            tuple(range(1, MOST_ARGUMENTS + 1)),
            "values of any type except `other`",
            partial(_user_defined, type_),
        )
        return class_

    def _instance(self, class_: type) -> UserDefinedAggregate:
        try:
            instance = class_()
        except TypeError as error:
            message = f"the class of aggregate `{self.name}` cannot be instantiated: {error}"
            hint = "its constructor must take no arguments"
            raise WexError("aggregate-class", message, hint) from error
        missing = [name for name in _METHODS if not callable(getattr(instance, name, None))]
        if missing:
            message = f"aggregate `{self.name}` lacks the methods {', '.join(missing)}"
            hint = "define zero(), add(state, event), merge(left, right) and result(state)"
            raise WexError("aggregate-class", message, hint)
        checked: UserDefinedAggregate = instance
        return checked

    def _result_type(self, instance: UserDefinedAggregate) -> Type:
        name = getattr(instance, "result_type", None)
        type_ = RESULT_TYPES.get(name) if isinstance(name, str) else None
        if type_ is None:
            message = f"aggregate `{self.name}` needs a valid result_type, got {name!r}"
            hint = did_you_mean(str(name), RESULT_TYPES, "set result_type to one of")
            raise WexError("aggregate-class", message, hint)
        return type_


def _user_defined(result: Type, *types: Type) -> Type | None:
    return None if {OTHER, PREDICATE} & set(types) else result
