"""Terms over many events at once: arithmetic as IEEE 754 and 64 bits have it, and where it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wex.theory.evaluate import COMPARE, FLOATING
from wex.theory.terms import Absolute, Arithmetic, Constant, Field, Guard, Negative, Term, fields

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.theory.terms import Comparison

Array = Any  # a numpy array, or a number that stands for one of equal numbers

LEAST = -(2**63)
NOT_A_NUMBER, TOO_LARGE = "is not a number", "does not fit into 64 bits"


class Rows(Protocol):
    """Where terms find their fields: a block of rows, or the results of aggregates."""

    def field(self, name: str, offset: int, extra: int) -> NDArray[np.generic]:
        """Return a field, for `extra` rows before the first one too."""

    def known(self, name: str, offset: int) -> NDArray[np.bool_] | None:
        """Tell where a field is there and not NULL; None: everywhere."""

    def code(self, text: str) -> int:
        """Return the number that stands for a text."""


class Faults:
    """Where arithmetic had no result, and why."""

    def __init__(self) -> None:
        self.bad: NDArray[np.bool_] | None = None
        self.why = ""

    def note(self, bad: Array, why: str, term: Term, rows: Rows) -> None:
        """Note where a result is missing, except for want of an operand."""
        if not np.any(bad):
            return
        known = all_known(term, rows)
        if known is not None:
            bad = bad & known
        if np.any(bad):
            self.bad = np.asarray(bad) if self.bad is None else self.bad | bad
            self.why = self.why or why


Compute = Callable[[Rows, int, Faults], Array]


def all_known(term: Term | Guard, rows: Rows) -> NDArray[np.bool_] | None:
    """Tell where all fields of a term are known; None: everywhere."""
    found: NDArray[np.bool_] | None = None
    for name, offset in {(field.name, field.offset) for field in fields(term)}:
        known = rows.known(name, offset)
        if known is not None:
            found = known if found is None else found & known
    return found


def compile_term(term: Term) -> Compute:
    """Return a function from rows to the values of a term."""
    match term:
        case Field(name, offset):
            return lambda rows, extra, _: rows.field(name, offset, extra)
        case Constant(str(text)):
            return lambda rows, _extra, _faults: rows.code(text)
        case Constant(value):
            number = value if isinstance(value, bool) else np.asarray(FLOATING.constant(value))  # type: ignore[arg-type]
            return lambda _rows, _extra, _faults: number
        case Negative(value):
            return _signed(term, compile_term(value), np.negative)
        case Absolute(value):
            return _signed(term, compile_term(value), np.abs)
        case Arithmetic(op, left, right):
            return _arithmetic(term, op, compile_term(left), compile_term(right))
    raise TypeError(term)


def _signed(term: Term, inner: Compute, change: np.ufunc) -> Compute:
    whole = term.kind == "whole"

    def compute(rows: Rows, extra: int, faults: Faults) -> Array:
        value = inner(rows, extra, faults)
        if whole:
            faults.note(value == LEAST, TOO_LARGE, term, rows)
        with np.errstate(all="ignore"):
            return change(value)

    return compute


def _arithmetic(term: Arithmetic, op: str, left: Compute, right: Compute) -> Compute:
    function, real = _UFUNC[op], term.kind == "real"

    def compute(rows: Rows, extra: int, faults: Faults) -> Array:
        one, two = left(rows, extra, faults), right(rows, extra, faults)
        with np.errstate(all="ignore"):
            if real:
                result = function(np.asarray(one, np.float64), np.asarray(two, np.float64))
                faults.note(np.isnan(result), NOT_A_NUMBER, term, rows)
            else:
                result = function(one, two)
                faults.note(_overflows(op, one, two, result), TOO_LARGE, term, rows)
        return result

    return compute


_UFUNC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}


def _overflows(op: str, left: Array, right: Array, result: Array) -> NDArray[np.bool_]:
    """Tell where a result of whole numbers has wrapped around 64 bits."""
    a, b, r = (np.asarray(each, dtype=np.int64) for each in (left, right, result))
    if op == "+":
        return np.asarray(((a ^ r) & (b ^ r)) < 0)
    if op == "-":
        return np.asarray(((a ^ b) & (a ^ r)) < 0)
    back = np.floor_divide(r, np.where(b == 0, 1, b))
    wrong = (b != 0) & (back != a)
    return np.asarray(wrong | ((a == LEAST) & (b == -1)) | ((b == LEAST) & (a == -1)))


# --- Comparing


def compile_comparison(atom: Comparison) -> Compute:
    """Return a function from rows to where a comparison holds."""
    left, right = compile_term(atom.left), compile_term(atom.right)
    compare = _compare(atom.op, atom.left.kind, atom.right.kind)
    return lambda rows, extra, faults: compare(
        left(rows, extra, faults), right(rows, extra, faults)
    )


_MIRROR = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare(op: str, left: str, right: str) -> Callable[[Array, Array], Array]:
    """Compare exactly, also a whole number with a real: 2^53 + 1 is no float."""
    if (left, right) == ("whole", "real"):
        return lambda one, two: _compare_mixed(op, one, two)
    if (left, right) == ("real", "whole"):
        return lambda one, two: _compare_mixed(_MIRROR[op], two, one)
    return COMPARE[op]


def _compare_mixed(op: str, whole: Array, real: Array) -> NDArray[np.bool_]:
    """Compare whole numbers with reals without rounding the whole ones.

    Against a float only its whole part counts, and below or above 64 bits the answer is plain.
    """
    number, n = np.asarray(real, dtype=np.float64), np.asarray(whole, dtype=np.int64)
    floor = np.floor(number)
    fits = (floor >= LEAST) & (floor < 2.0**63)
    part = np.where(fits, floor, 0.0).astype(np.int64)
    fraction = number != floor
    below = np.where(fits, (n < part) | ((n == part) & fraction), floor > 0)
    equal = fits & (n == part) & ~fraction
    answers = {
        "=": equal,
        "!=": ~equal,
        "<": below,
        "<=": below | equal,
        ">": ~(below | equal),
        ">=": ~below,
    }
    return np.asarray(answers[op], dtype=np.bool_)
