"""Terms over many events at once: arithmetic as IEEE 754 and 64 bits have it, and where it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from wex.engine.eval.zones import local
from wex.theory.evaluate import (
    COMPARE,
    CYCLE_DAYS,
    CYCLE_YEARS,
    FLOATING,
    INFINITE,
    NAN,
    OVERFLOW,
    ZERO_BY_ZERO,
)
from wex.theory.terms import (
    MIRRORED,
    Absolute,
    Arithmetic,
    Calendar,
    Constant,
    Field,
    Guard,
    Local,
    Negative,
    Term,
    fields,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.theory.terms import Comparison, Op

Array = Any  # a numpy array, or a number that stands for one of equal numbers

LEAST = -(2**63)
UNKNOWN = "unknown"  # of events that came in an earlier batch it is not kept why they failed


class Rows(Protocol):
    """Where terms find their fields: a block of rows, or the results of aggregates."""

    def field(self, name: str, offset: int, extra: int) -> NDArray[np.generic]:
        """Return a field, for `extra` rows before the first one too."""

    def known(self, name: str, offset: int, extra: int = 0) -> NDArray[np.bool_] | None:
        """Tell where a field is there and not NULL; None: everywhere."""

    def matching(self, pattern: str) -> NDArray[np.bool_]:
        """Tell for the number of each text whether it matches a pattern; the last is for NULL."""

    def code(self, text: str) -> int:
        """Return the number that stands for a text."""


class Faults:
    """Where arithmetic had no result, and why."""

    def __init__(self) -> None:
        self._noted: list[tuple[NDArray[np.bool_], str]] = []

    @property
    def bad(self) -> NDArray[np.bool_] | None:
        """Tell where arithmetic had no result; None: it had one everywhere."""
        if not self._noted:
            return None
        whole = self._noted[0][0]
        for bad, _ in self._noted[1:]:
            whole = whole | bad
        return whole

    def why(self, row: int) -> str:
        """Return why there is no result for a row."""
        return next((why for bad, why in self._noted if (bad[row] if bad.ndim else bad)), UNKNOWN)

    def note(self, bad: Array, why: str, term: Term, rows: Rows, extra: int = 0) -> None:
        """Note where arithmetic failed, ignoring rows with a NULL operand."""
        if not np.any(bad):
            return
        known = all_known(term, rows, extra)
        self.add(bad if known is None else bad & known, why)

    def add(self, bad: Array, why: str) -> None:
        """Note where there is no result, and why."""
        if np.any(bad):
            self._noted.append((np.asarray(bad), why))

    def include(self, faults: Faults, where: NDArray[np.bool_] | None) -> None:
        """Note what others have noted, in some of the rows; None: in all."""
        for bad, why in faults._noted:
            self.add(bad if where is None else bad & where, why)


Compute = Callable[[Rows, int, Faults], Array]


def all_known(term: Term | Guard, rows: Rows, extra: int = 0) -> NDArray[np.bool_] | None:
    """Tell where all fields of a term are known; None: everywhere."""
    all_fields: NDArray[np.bool_] | None = None
    for name, offset in {(field.name, field.offset) for field in fields(term)}:
        known = rows.known(name, offset, extra)
        if known is not None:
            all_fields = known if all_fields is None else all_fields & known
    return all_fields


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
        case Local(value, zone):
            return _local(term, compile_term(value), zone)
        case Calendar(part, value):
            return _calendar(part, compile_term(value))
    raise TypeError(term)


def _signed(term: Term, inner: Compute, change: np.ufunc) -> Compute:
    whole = term.kind == "whole"

    def compute(rows: Rows, extra: int, faults: Faults) -> Array:
        value = inner(rows, extra, faults)
        if whole:
            faults.note(value == LEAST, OVERFLOW, term, rows, extra)
        with np.errstate(all="ignore"):
            return change(value)

    return compute


def _arithmetic(term: Arithmetic, op: str, left: Compute, right: Compute) -> Compute:
    function, real = _UFUNC[op], term.kind == "real"

    def compute(rows: Rows, extra: int, faults: Faults) -> Array:
        one, two = left(rows, extra, faults), right(rows, extra, faults)
        with np.errstate(all="ignore"):
            if real:
                first, second = np.asarray(one, np.float64), np.asarray(two, np.float64)
                result = function(first, second)
                bad = np.isnan(result)
                if bad.any():
                    _note_nan(faults, bad, (op, first, second), term, rows, extra)
            else:
                result = function(one, two)
                faults.note(_overflows(op, one, two, result), OVERFLOW, term, rows, extra)
        return result

    return compute


def _note_nan(
    faults: Faults,
    bad: Array,
    computed: tuple[str, Array, Array],
    term: Term,
    rows: Rows,
    extra: int,
) -> None:
    """Note where a result is not a number: because of a NaN, of 0 / 0, or of infinities."""
    op, one, two = computed
    nan = np.isnan(one) | np.isnan(two)
    zeros = (one == 0) & (two == 0) & (op == "/")
    for where, why in ((nan, NAN), (zeros, ZERO_BY_ZERO), (~(nan | zeros), INFINITE)):
        faults.note(bad & where, why, term, rows, extra)


_UFUNC = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
}


def _overflows(op: str, left: Array, right: Array, result: Array) -> NDArray[np.bool_]:
    """Tell where a result of whole numbers has wrapped around 64 bits."""
    a, b, r = (np.asarray(values, dtype=np.int64) for values in (left, right, result))
    if op == "+":
        return np.asarray(((a ^ r) & (b ^ r)) < 0)
    if op == "-":
        return np.asarray(((a ^ b) & (a ^ r)) < 0)
    if op == "//":
        return np.asarray((a == LEAST) & (b == -1))
    if op == "%":
        return np.asarray(False)
    back = np.floor_divide(r, np.where(b == 0, 1, b))
    wrong = (b != 0) & (back != a)
    return np.asarray(wrong | ((a == LEAST) & (b == -1)) | ((b == LEAST) & (a == -1)))


# --- Clock and calendar


def _local(term: Local, inner: Compute, zone: str) -> Compute:
    """Return what the clocks of a zone show, in microseconds."""

    def compute(rows: Rows, extra: int, faults: Faults) -> Array:
        moments = np.asarray(inner(rows, extra, faults), np.int64)
        shown = local(moments, zone)
        faults.note(_overflows("+", moments, shown - moments, shown), OVERFLOW, term, rows, extra)
        return shown

    return compute


def _calendar(part: str, inner: Compute) -> Compute:
    """Return the year, the month or the day of the month of days after 1970-01-01."""

    def compute(rows: Rows, extra: int, faults: Faults) -> Array:
        days = np.asarray(inner(rows, extra, faults), np.int64)
        # Whole cycles of 400 years apart, so that numpy does not overflow.
        cycles, rest = np.divmod(days, CYCLE_DAYS)
        dates = rest.astype("datetime64[D]")
        months = dates.astype("datetime64[M]")
        if part == "day":
            return (dates - months).astype(np.int64) + 1
        months_since = months.astype(np.int64)
        if part == "month":
            return months_since % 12 + 1
        return months_since // 12 + 1970 + cycles * CYCLE_YEARS

    return compute


# --- Comparing


def compile_comparison(atom: Comparison) -> Compute:
    """Return a function from rows to where a comparison holds."""
    left, right = compile_term(atom.left), compile_term(atom.right)
    compare = _compare(atom.op, atom.left.kind, atom.right.kind)
    return lambda rows, extra, faults: compare(
        left(rows, extra, faults), right(rows, extra, faults)
    )


def _compare(op: Op, left: str, right: str) -> Callable[[Array, Array], Array]:
    """Compare exactly, also a whole number with a real: 2^53 + 1 is no float."""
    if (left, right) == ("whole", "real"):
        return lambda one, two: _compare_mixed(op, one, two)
    if (left, right) == ("real", "whole"):
        return lambda one, two: _compare_mixed(MIRRORED[op], two, one)
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
