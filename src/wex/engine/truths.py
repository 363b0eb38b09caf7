"""Guards over whole columns: where in a sorted table each guard holds, without a step per event.

The streams of a table lie one behind the other. Looking back is shifting a column; what a shift
brings in from the stream before counts as missing. Atoms that differ by a shift only, such as
`x[-1] > x` and `x[-2] > x[-1]`, are computed once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from wex.spec.types import DATE, OTHER, TIMESTAMP, Type
from wex.theory.evaluate import COMPARE, FLOATING
from wex.theory.terms import (
    Absolute,
    Always,
    And,
    Arithmetic,
    Atom,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    Negative,
    Not,
    Or,
    Term,
    Truth,
    atoms,
    fields,
    offsets,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Piece = TypeVar("Piece", bound=Term | Guard)

LEAST, MOST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Fault:
    """Rows whose arithmetic has no result, and why."""

    why: str
    rows: NDArray[np.int64]


class Truths:
    """The truth of guards at every row of a sorted table; `starts` are the first rows of streams."""

    def __init__(
        self, table: pa.Table, stream_fields: Mapping[str, Type], starts: NDArray[np.int64]
    ) -> None:
        self.rows = table.num_rows
        self.starts = starts
        self._columns = _Columns(table, stream_fields)
        self._atoms: dict[Atom, tuple[NDArray[np.bool_], list[Fault]]] = {}
        self._shifted: dict[tuple[Atom, int], NDArray[np.bool_]] = {}

    @cached_property
    def positions(self) -> NDArray[np.int64]:
        """Return for each row its position in its stream."""
        lengths = np.diff(np.append(self.starts, self.rows))
        return np.arange(self.rows) - np.repeat(self.starts, lengths)

    def of(self, guard: Guard) -> NDArray[np.bool_]:
        """Return at which rows a guard holds; atoms about missing events do not."""
        match guard:
            case Always(value):
                return np.full(self.rows, value)
            case Not(operand):
                return ~self.of(operand)
            case And(parts):
                return _joined(np.logical_and, [self.of(part) for part in parts])
            case Or(parts):
                return _joined(np.logical_or, [self.of(part) for part in parts])
            case IsFirst(offset):
                return np.asarray(self.positions == -offset)
            case Comparison() | Truth():
                return self._atom(guard)
        raise TypeError(guard)

    def faults(self, guard: Guard) -> list[Fault]:
        """Return the rows at which arithmetic of a guard has no result."""
        found: list[Fault] = []
        for atom in atoms(guard):
            if isinstance(atom, IsFirst):
                continue
            moved, shift = _canonical(atom)
            for fault in self._computed(moved)[1]:
                rows = fault.rows - shift
                inside = rows < self.rows
                rows = rows[inside & (self.positions[np.minimum(rows, self.rows - 1)] >= -shift)]
                found.append(Fault(fault.why, rows))
        return found

    # --- Atoms

    def _atom(self, atom: Comparison | Truth) -> NDArray[np.bool_]:
        moved, shift = _canonical(atom)
        if (moved, shift) not in self._shifted:
            held = self._computed(moved)[0]
            self._shifted[moved, shift] = self._back(held, shift) if shift else held
        return self._shifted[moved, shift]

    def _computed(self, atom: Comparison | Truth) -> tuple[NDArray[np.bool_], list[Fault]]:
        if atom not in self._atoms:
            self._atoms[atom] = self._compute(atom)
        return self._atoms[atom]

    def _compute(self, atom: Comparison | Truth) -> tuple[NDArray[np.bool_], list[Fault]]:
        faults: list[Fault] = []
        missing = self.missing(max((-field.offset for field in fields(atom)), default=0))
        if isinstance(atom, Truth):
            held = self._field(atom.field).astype(np.bool_)
        else:
            left, right = (self._term(each, faults) for each in (atom.left, atom.right))
            held = self._compare(atom, left, right)
        if len(missing):
            held = held.copy()
            held[missing] = False
            faults = [Fault(each.why, np.setdiff1d(each.rows, missing)) for each in faults]
        return held, [each for each in faults if len(each.rows)]

    def _compare(self, atom: Comparison, left: object, right: object) -> NDArray[np.bool_]:
        """Compare exactly, also a whole number with a real: 2^53 + 1 is no float."""
        kinds = (atom.left.kind, atom.right.kind)
        if kinds == ("whole", "real"):
            held = _compare_mixed(atom.op, np.asarray(left), np.asarray(right))
        elif kinds == ("real", "whole"):
            held = _compare_mixed(_MIRROR[atom.op], np.asarray(right), np.asarray(left))
        else:
            held = COMPARE[atom.op](left, right)  # type: ignore[assignment]
        return np.broadcast_to(np.asarray(held, dtype=np.bool_), (self.rows,))

    def missing(self, lookback: int) -> NDArray[np.int64]:
        """Return the rows that have no event so far back in their stream."""
        if not lookback or not self.rows:
            return np.empty(0, dtype=np.int64)
        if len(self.starts) == 1:
            return np.arange(min(lookback, self.rows))
        near = (self.starts[:, None] + np.arange(lookback)).ravel()
        near = near[near < self.rows]
        return np.unique(near[self.positions[near] < lookback])

    def _back(self, column: NDArray[np.bool_], shift: int) -> NDArray[np.bool_]:
        moved = np.zeros(self.rows, dtype=np.bool_)
        moved[-shift:] = column[:shift]
        moved[self.missing(-shift)] = False
        return moved

    # --- Values

    def _field(self, field: Field) -> NDArray[np.generic]:
        column = self._columns[field.name]
        if not field.offset:
            return column
        moved = np.empty_like(column)
        moved[-field.offset :] = column[: field.offset]
        moved[: -field.offset] = column[:1]
        return moved

    def _term(self, term: Term, faults: list[Fault]) -> object:
        match term:
            case Field():
                return self._field(term)
            case Constant(str(text)):
                return self._columns.code(text)
            case Constant(bool(value)):
                return value
            case Constant(value):
                assert not isinstance(value, str)
                return np.asarray(FLOATING.constant(value))
            case Negative(value):
                inner = np.asarray(self._term(value, faults))
                self._note(faults, term, inner == LEAST, "does not fit into 64 bits")
                return _quietly(np.negative, inner)
            case Absolute(value):
                inner = np.asarray(self._term(value, faults))
                self._note(faults, term, inner == LEAST, "does not fit into 64 bits")
                return _quietly(np.abs, inner)
            case Arithmetic(op, left, right):
                one, two = (np.asarray(self._term(each, faults)) for each in (left, right))
                return self._calculate(term, op, one, two, faults)
        raise TypeError(term)

    def _note(self, faults: list[Fault], term: Term, bad: NDArray[np.bool_], why: str) -> None:
        if term.kind == "whole" or why == "is not a number":
            rows = np.flatnonzero(np.broadcast_to(bad, (self.rows,)))
            if len(rows):
                faults.append(Fault(why, rows))

    def _calculate(
        self,
        term: Arithmetic,
        op: str,
        left: NDArray[np.generic],
        right: NDArray[np.generic],
        faults: list[Fault],
    ) -> NDArray[np.generic]:
        if term.kind == "real":
            result = _quietly(_UFUNC[op], left.astype(np.float64), right.astype(np.float64))
            self._note(faults, term, np.isnan(result), "is not a number")
            return result
        result = _quietly(_UFUNC[op], left, right)
        self._note(faults, term, _overflows(op, left, right, result), "does not fit into 64 bits")
        return result


_UFUNC = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}
_MIRROR = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _joined(function: np.ufunc, parts: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return the parts joined one after the other: faster than reducing them as a matrix."""
    whole = parts[0]
    for part in parts[1:]:
        whole = function(whole, part)
    return whole


def _quietly(function: np.ufunc, *args: NDArray[np.generic]) -> NDArray[np.generic]:
    with np.errstate(all="ignore"):
        found: NDArray[np.generic] = function(*args)
        return found


def _overflows(
    op: str, left: NDArray[np.generic], right: NDArray[np.generic], result: NDArray[np.generic]
) -> NDArray[np.bool_]:
    """Tell where a result of whole numbers has wrapped around 64 bits."""
    a, b, r = (each.astype(np.int64) for each in (left, right, result))
    if op == "+":
        return np.asarray(((a ^ r) & (b ^ r)) < 0)
    if op == "-":
        return np.asarray(((a ^ b) & (a ^ r)) < 0)
    with np.errstate(all="ignore"):
        back = np.floor_divide(r, np.where(b == 0, 1, b))
        wrong = (b != 0) & (back != a)
    return np.asarray(wrong | ((a == LEAST) & (b == -1)) | ((b == LEAST) & (a == -1)))


def _compare_mixed(
    op: str, whole: NDArray[np.generic], real: NDArray[np.generic]
) -> NDArray[np.bool_]:
    """Compare whole numbers with reals without rounding the whole ones.

    Against a float only its whole part counts, and below or above 64 bits the answer is plain.
    """
    number = real.astype(np.float64)
    floor = np.floor(number)
    fits = (floor >= LEAST) & (floor < 2.0**63)
    part = np.where(fits, floor, 0.0).astype(np.int64)
    fraction = number != floor
    n = whole.astype(np.int64)
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


def _canonical(atom: Comparison | Truth) -> tuple[Comparison | Truth, int]:
    """Return an atom moved so that its latest event is the current one, and by how much."""
    shift = max(offsets(atom), default=0)
    return (_moved(atom, -shift), shift) if shift else (atom, 0)


def _moved(piece: Piece, by: int) -> Piece:
    match piece:
        case Field():
            return replace(piece, offset=piece.offset + by)
        case Arithmetic() | Comparison():
            return replace(piece, left=_moved(piece.left, by), right=_moved(piece.right, by))
        case Negative() | Absolute():
            return replace(piece, value=_moved(piece.value, by))
        case Truth():
            return replace(piece, field=_moved(piece.field, by))
    return piece


class _Columns(dict[str, "NDArray[np.generic]"]):
    """The columns as numpy arrays; texts as numbers of one dictionary for all of them."""

    def __init__(self, table: pa.Table, stream_fields: Mapping[str, Type]) -> None:
        super().__init__()
        texts = [name for name, type_ in stream_fields.items() if type_.name in ("string", "enum")]
        self._codes = self._encode(table, texts)
        for name, type_ in stream_fields.items():
            if type_ != OTHER and name not in texts:
                self[name] = _numpy(table.column(name), type_)

    def _encode(self, table: pa.Table, names: Sequence[str]) -> dict[str, int]:
        if not names:
            return {}
        chunks = [chunk for name in names for chunk in table.column(name).chunks]
        encoded = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        for at, name in enumerate(names):
            self[name] = codes[at * table.num_rows : (at + 1) * table.num_rows]
        return {text: code for code, text in enumerate(encoded.dictionary.to_pylist())}

    def code(self, text: str) -> int:
        """Return the number of a text; of one that does not occur, a number that does not, either."""
        return self._codes.setdefault(text, len(self._codes))


def _numpy(column: pa.ChunkedArray, type_: Type) -> NDArray[np.generic]:
    if type_ == TIMESTAMP:
        column = column.cast(pa.int64())
    elif type_ == DATE:
        column = column.cast(pa.int32()).cast(pa.int64())
    if column.null_count:
        plain = {"bool": False, "real": float("nan")}
        column = column.fill_null(plain.get(type_.name, 0))
    found: NDArray[np.generic] = column.to_numpy()
    return found
