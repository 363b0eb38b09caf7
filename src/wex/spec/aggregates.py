"""The aggregates: how many arguments each takes, of which types, and what it gives.

A signature is a function from the types of the arguments to the type of the result, or None if
the aggregate makes no sense of them; `wants` says in words what it takes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.types import (
    BOOL,
    DURATION,
    INT,
    NUMBERS,
    ORDERED,
    OTHER,
    PREDICATE,
    REAL,
    STRING,
    Type,
)

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

OWN: dict[str, Aggregate] = {}  # those of the user's own, see `wex.spec.own`


def signature(name: str) -> Aggregate | None:
    """Return what the aggregate of a name takes and gives, if there is one."""
    return AGGREGATES.get(name) or OWN.get(name)


SYNONYMS = {
    "mean": "avg", "average": "avg",
    "std": "stddev", "stddev_samp": "stddev", "variance": "var", "var_samp": "var",
    "array_agg": "collect", "collect_list": "collect", "list": "collect",
    "bool_or": "some", "bool_and": "every", "all": "every", "exists": "some",
    "arg_min": "min_by", "arg_max": "max_by", "argmin": "min_by", "argmax": "max_by",
    "any_value": "first", "first_value": "first", "last_value": "last", "countif": "count_if",
}  # fmt: skip
