"""Guards that only compare fields with each other and with constants, as one program for a kernel.

Most guards are such. All others, and columns with NULL, are evaluated step by step (`eval/guards`); so are
few rows, for which nothing need be compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.arrays import empty
from wex.engine.eval.guards import canonical
from wex.engine.kernels import comparing as kernel
from wex.engine.kernels.types import read_only
from wex.theory.evaluate import FLOATING, WHOLE
from wex.theory.terms import MIRRORED, Always, And, Comparison, Constant, Field, Not, Or, fields

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.input.batch import Batch
    from wex.theory.terms import Guard, Term

LEAST = 1 << 14  # rows
LINE = 64  # bytes: the codes of each reader begin where a line of the cache does
COLUMNS = 4  # of each kind; a tuple of another length would be another kernel
OPS = {
    "=": kernel.EQUAL,
    "!=": kernel.UNEQUAL,
    "<": kernel.LESS,
    "<=": kernel.LESS_EQUAL,
    ">": kernel.GREATER,
    ">=": kernel.GREATER_EQUAL,
}


class NotPlainError(Exception):
    """A guard does more than compare fields, or has too many of them."""


class Comparing:
    """The guards of some readers, each with the guards in the order of the bits of its code."""

    def __init__(self, readers: Sequence[tuple[Sequence[Guard], bool]]) -> None:
        """Take the guards of each reader, and whether it pads; NotPlainError: this is not for them."""
        self._names: dict[str, list[str]] = {"real": [], "whole": []}
        self._atoms: dict[Comparison, list[int]] = {}
        self._constants: list[float | int] = []
        self._steps: list[tuple[int, int, int, int, int]] = []
        self._slots: dict[tuple[Guard, bool], int] = {}
        self._readers = len(readers)
        for number, (guards, pad) in enumerate(readers):
            if not guards:
                raise NotPlainError
            for place, guard in enumerate(reversed(guards)):
                what = kernel.NEXT if place else kernel.FIRST
                self._steps.append((what, number, self._slot(guard, pad=pad), 0, 0))

    def _slot(self, guard: Guard, *, pad: bool) -> int:
        """Return where the truth of a guard is when the steps so far have been made."""
        if (guard, pad) in self._slots:
            return self._slots[guard, pad]
        one = two = depth = 0
        match guard:
            case Always(value):
                what = kernel.TRUE if value else kernel.FALSE
            case Not(operand):
                what, one = kernel.NOT, self._slot(operand, pad=pad)
            case And((only,)) | Or((only,)):
                return self._slot(only, pad=pad)
            case And((*others, last)) if others:
                what, two = kernel.AND, self._slot(last, pad=pad)
                one = self._slot(And(tuple(others)), pad=pad)
            case Or((*others, last)) if others:
                what, two = kernel.OR, self._slot(last, pad=pad)
                one = self._slot(Or(tuple(others)), pad=pad)
            case Comparison():
                moved, two = canonical(guard)
                assert isinstance(moved, Comparison)
                what, one = kernel.LITERAL, self._atom(moved, two)
                depth = max((-field.offset for field in fields(guard)), default=0) if pad else 0
                if depth > kernel.MOST_DEEP:
                    raise NotPlainError
            case _:
                raise NotPlainError
        slot = self._slots[guard, pad] = len(self._slots)
        self._steps.append((what, slot, one, two, depth))
        return slot

    def _atom(self, atom: Comparison, back: int) -> int:
        """Return the number of an atom, which is needed so many rows back."""
        if atom not in self._atoms:
            left, op, right = atom.left, atom.op, atom.right
            if isinstance(left, Constant):
                left, op, right = right, MIRRORED[op], left
            if not isinstance(left, Field) or left.kind not in self._names:
                raise NotPlainError
            second, offset, constant = -1, 0, _constant(left.kind, right)
            if isinstance(right, Field) and right.kind == left.kind:
                second, offset = self._column(right), right.offset
            elif constant is None:
                raise NotPlainError
            real = int(left.kind == "real")
            row = [real, OPS[op], self._column(left), left.offset, second, offset, 0]
            self._atoms[atom] = row
            self._constants.append(constant or 0)
        self._atoms[atom][6] = max(self._atoms[atom][6], back)
        return list(self._atoms).index(atom)

    def _column(self, field: Field) -> int:
        names = self._names[field.kind]
        if field.name not in names:
            if len(names) == COLUMNS:
                raise NotPlainError
            names.append(field.name)
        return names.index(field.name)

    def read(self, batch: Batch, floats: Sequence[str], row: int) -> NDArray[np.uint8] | None:
        """Return the codes by reader and row, not yet filled before `row`.

        None: the columns have NULL, or NaN in one of `floats`, and have to be read step by step.
        """
        # Those that may not be NaN come first.
        reals = [*floats, *(name for name in self._names["real"] if name not in floats)]
        if batch.rows < LEAST or len(reals) > COLUMNS:
            return None
        columns = {name: batch.array(name) for name in (*reals, *self._names["whole"])}
        if any(batch.known(name) is not None for name in columns):
            return None
        atoms = np.array(list(self._atoms.values()), dtype=np.int64).reshape(-1, 7)
        places = np.array([reals.index(name) for name in self._names["real"]], dtype=np.int64)
        for at in (2, 4):
            of_real = (atoms[:, 0] == 1) & (atoms[:, at] >= 0)
            atoms[of_real, at] = places[atoms[of_real, at]]
        width = -(-batch.rows // LINE) * LINE
        codes: NDArray[np.uint8] = empty(self._readers * width, np.uint8)
        codes = codes.reshape(self._readers, width)
        filled = kernel.run_comparing(
            _filled([columns[name] for name in reals], np.float64),
            _filled([columns[name] for name in self._names["whole"]], np.int64),
            len(floats),
            read_only(atoms),
            read_only(np.array([float(value) for value in self._constants], dtype=np.float64)),
            read_only(self._whole_constants),
            read_only(np.array(self._steps, dtype=np.int64).reshape(-1, 5)),
            len(self._slots),
            read_only(batch.first),
            read_only(batch.origin),
            read_only(batch.end),
            row,
            batch.rows,
            codes,
        )
        return codes[:, : batch.rows] if filled else None

    @property
    def _whole_constants(self) -> Ints:
        whole = [value if isinstance(value, int) else 0 for value in self._constants]
        return np.array(whole, dtype=np.int64)


def _constant(kind: str, term: Term) -> float | int | None:
    """Return a number as values of a kind are compared with it; None: it is none, or would be rounded."""
    if not isinstance(term, Constant) or term.kind not in ("real", "whole"):
        return None
    value = FLOATING.constant(term.value)  # type: ignore[arg-type]
    if kind == "whole":
        return value if term.kind == "whole" and value in WHOLE else None
    if term.kind == "whole" and int(float(value)) != value:
        return None
    return float(value)


def _filled(columns: Sequence[NDArray[np.generic]], dtype: type) -> tuple[NDArray[Any], ...]:
    """Return as many columns as the kernel takes."""
    own: list[NDArray[Any]] = [column.astype(dtype, copy=False) for column in columns]
    own += [np.empty(0, dtype=dtype)] * (COLUMNS - len(own))
    return tuple(map(read_only, own))
