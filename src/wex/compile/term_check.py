"""Check the parts of a plan that are read from bytes: plain values, types, terms and guards."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from wex.framing import require
from wex.spec.numbers import MAX_LOOKBACK
from wex.spec.patterns import parts as parts_of
from wex.spec.types import OTHER, Type, is_zone
from wex.theory.evaluate import COMPARE, WHOLE
from wex.theory.terms import (
    Absolute,
    Always,
    And,
    Arithmetic,
    Calendar,
    Comparison,
    Constant,
    Field,
    IsFirst,
    IsNull,
    Like,
    Local,
    Negative,
    Not,
    Or,
    Term,
    Truth,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    Scope = Mapping[str, Type]  # the fields that a term may read

DEPTH = 400  # of nested terms and guards: twice what a spec can have, with all lets expanded
OPERATORS = ("+", "-", "*", "/", "//", "%")


# --- Plain values


def as_tuple(value: object, what: str) -> tuple[object, ...]:
    """Return a tuple."""
    require(isinstance(value, tuple), f"{what}: expected a list, got {type(value).__name__}")
    assert isinstance(value, tuple)
    return value


def as_text(value: object, what: str) -> str:
    """Return a text that can be written as UTF-8."""
    require(isinstance(value, str), f"{what}: expected text, got {type(value).__name__}")
    assert isinstance(value, str)
    value.encode()  # fails for half of a surrogate pair, which no name of a column contains
    return value


def as_texts(value: object, what: str) -> tuple[str, ...]:
    """Return a tuple of texts."""
    return tuple(as_text(item, what) for item in as_tuple(value, what))


def as_whole(value: object, what: str, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`; a bool is not a number."""
    require(type(value) is int and low <= value <= high, f"{what}: out of range")
    assert isinstance(value, int)
    return value


def as_flag(value: object, what: str) -> bool:
    """Return true or false."""
    require(isinstance(value, bool), f"{what}: expected true or false")
    return bool(value)


def check_array(value: object, what: str, dtype: type, dimensions: int) -> None:
    """Check the type and the number of dimensions of an array."""
    fits = isinstance(value, np.ndarray) and value.dtype == dtype and value.ndim == dimensions
    require(fits, f"{what}: expected an array of {dimensions} dimensions of {dtype.__name__}")


# --- Types, terms and guards


def check_type(type_: object) -> Type:
    """Return a type of the language, checked."""
    require(isinstance(type_, Type), "expected a type")
    assert isinstance(type_, Type)
    as_text(type_.name, "the name of a type")
    values = as_texts(type_.values, "the values of an enum")
    require(bool(values) == (type_.name == "enum"), "only an enum has values, at least one")
    if type_.item is not None:
        require(type_.name == "list", "only a list has items")
        require(check_type(type_.item).item is None, "lists are nested")
    return type_


def check_offset(value: object) -> None:
    """Check how far a term looks back."""
    as_whole(value, "an offset", -MAX_LOOKBACK, 0)


def is_number(type_: Type) -> bool:
    """Tell whether values of a type are numbers for the engine."""
    return type_.name in ("int", "real", "timestamp", "date", "duration")


def check_term(term: object, scope: Scope, depth: int) -> None:
    """Check a term of a computation or comparison: a number, a text or a bool."""
    require(depth < DEPTH, "terms are nested too deeply")
    match term:
        case Field(name, offset, type_):
            as_text(name, "a field")
            require(scope.get(name) == type_, "a term reads an unknown field")
            require(
                type_ != OTHER and type_.item is None, "a term reads a field of type other or list"
            )
            check_offset(offset)
        case Constant(value):
            _check_constant(value)
        case Arithmetic(op, left, right):
            require(op in OPERATORS, "an operator is unknown")
            for operand in (left, right):
                _check_number(operand, scope, depth + 1)
            if op in ("//", "%"):
                require(left.kind == "whole", "a quotient is not of whole numbers")
                constant = isinstance(right, Constant) and type(right.value) is int
                require(constant and right != Constant(0), "a divisor is not a whole constant")
        case Negative(value) | Absolute(value):
            _check_number(value, scope, depth + 1)
        case Local(value, zone):
            _check_number(value, scope, depth + 1)
            require(value.kind == "whole", "a time is not a whole number")
            require(is_zone(as_text(zone, "a zone")), "a zone is unknown")
        case Calendar(part, value):
            _check_number(value, scope, depth + 1)
            require(value.kind == "whole", "a day is not a whole number")
            require(part in ("year", "month", "day"), "a part of the calendar is unknown")
        case _:
            require(False, "expected a term")


def _check_constant(value: object) -> None:
    if type(value) is int:
        require(value in WHOLE, "a constant does not fit into 64 bits")
    elif isinstance(value, str):
        as_text(value, "a constant")
    else:
        require(isinstance(value, bool | Fraction), "a constant has an unknown type")


def _check_number(term: object, scope: Scope, depth: int) -> None:
    check_term(term, scope, depth)
    assert isinstance(term, Term)
    require(term.kind in ("whole", "real"), "an operand of arithmetic is not a number")


def check_guard(guard: object, scope: Scope, depth: int) -> None:
    """Check a guard and all below it."""
    require(depth < DEPTH, "guards are nested too deeply")
    match guard:
        case Always(value):
            as_flag(value, "a constant guard")
        case IsFirst(offset):
            check_offset(offset)
        case Not(operand):
            check_guard(operand, scope, depth + 1)
        case And(parts) | Or(parts):
            require(as_tuple(parts, "the parts of a guard"), "a guard has no parts")
            for part in parts:
                check_guard(part, scope, depth + 1)
        case Truth(field):
            require(isinstance(field, Field), "a bare predicate is not a field")
            check_term(field, scope, depth + 1)
            require(field.kind == "bool", "a bare predicate is not a bool")
        case Like(field, pattern):
            require(isinstance(field, Field), "a pattern is not about a field")
            check_term(field, scope, depth + 1)
            require(field.kind == "text", "a pattern is not about a text")
            require(parts_of(as_text(pattern, "a pattern")) is not None, "a pattern is invalid")
        case IsNull(field):
            require(isinstance(field, Field), "a test for NULL is not about a field")
            known = scope.get(as_text(field.name, "a field"))
            require(known == field.type, "a test for NULL reads an unknown field")
            check_offset(field.offset)
        case Comparison(op, left, right):
            require(op in COMPARE, "a comparison is unknown")
            for side in (left, right):
                check_term(side, scope, depth + 1)
            kinds = {"number" if k in ("whole", "real") else k for k in (left.kind, right.kind)}
            require(len(kinds) == 1, "a comparison has sides of different kinds")
            require(kinds == {"number"} or op in ("=", "!="), "only numbers are ordered")
        case _:
            require(False, "expected a guard")
