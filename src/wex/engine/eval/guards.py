"""Guards over many events at once.

They are two-valued where they decide about windows, block by block, and three-valued, as in SQL, in
filters of measures and in `having`.

Atoms that differ by a shift only, such as `x[-1] > x` and `x[-2] > x[-1]`, are computed once: a
shifted one is the same array, read from another row on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.data_errors import FaultError, arithmetic_error
from wex.engine.eval.terms import Faults, all_known, compile_comparison, compile_term
from wex.theory.terms import (
    MIRRORED,
    RESULT,
    Always,
    And,
    Comparison,
    Guard,
    IsFirst,
    IsNull,
    Like,
    Not,
    Or,
    Truth,
    fields,
    offsets,
    shifted,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from wex.engine.arrays import Bools
    from wex.engine.eval.terms import Compute, Rows
    from wex.engine.input.batch import BatchView, Block
    from wex.theory.terms import Term

    Decide = Callable[[Block], Bools]
    ColumnAtom = Comparison | Truth | Like | IsNull  # read from columns


class Deciders:
    """The guards that decide about windows, compiled to functions of blocks of rows."""

    def __init__(self) -> None:
        self.reach = 0
        self._atoms: dict[ColumnAtom, _Atom] = {}
        self._asked: dict[tuple[Guard, bool], Decide] = {}

    def decide(self, guard: Guard, first: int, *, pad: bool) -> Decide:
        """Return a function from a block to the rows where a guard holds.

        Positions before `first` are ignored; if `pad`, an atom about missing events is false.
        """
        self.reach = max([self.reach, *(-offset for offset in offsets(guard))])
        column = next((field.name for field in fields(guard)), None)
        decide = self._compiled(guard, first, column, pad=pad)
        number = (len(self._asked), pad)

        def remembered(block: Block) -> Bools:
            if number not in block.cache:
                block.cache[number] = decide(block)
            return block.cache[number]

        return self._asked.setdefault((guard, pad), remembered)

    def _compiled(self, guard: Guard, first: int, column: str | None, *, pad: bool) -> Decide:
        match guard:
            case Always(value):
                return lambda block: np.full(block.size, value)
            case Not(operand):
                inner = self._compiled(operand, first, column, pad=pad)
                return lambda block: ~inner(block)
            case And(parts):
                return self._joined(np.logical_and, parts, first, column, pad=pad)
            case Or(parts):
                return self._joined(np.logical_or, parts, first, column, pad=pad)
            case IsFirst(offset):
                return lambda block: block.mask_of(block.batch.at_position(-offset))
            case Comparison() | Truth() | Like() | IsNull():
                return self._atom(guard, first, column, pad=pad)
        raise TypeError(guard)

    def _joined(
        self,
        function: np.ufunc,
        parts: tuple[Guard, ...],
        first: int,
        column: str | None,
        *,
        pad: bool,
    ) -> Decide:
        decided = [self._compiled(part, first, column, pad=pad) for part in parts]

        def joined(block: Block) -> Bools:
            whole = decided[0](block)
            for part in decided[1:]:
                whole = function(whole, part(block))
            return whole

        return joined

    def _atom(self, guard: ColumnAtom, first: int, column: str | None, *, pad: bool) -> Decide:
        moved, back = canonical(guard)
        atom = self._atoms.setdefault(moved, _Atom(moved))
        depth = atom.depth + back
        atom.use(back, max(first, depth), column)
        if not pad or not depth:
            return lambda block: atom.held(block, back)
        return lambda block: block.without(atom.held(block, back), depth)


class _Atom:
    """An atom whose latest event is the current one, and the shifts with which it is used."""

    def __init__(self, atom: ColumnAtom) -> None:
        self.depth = max((-field.offset for field in fields(atom)), default=0)
        self._compute = _compile_atom(atom)
        self._extra = 0
        self._uses: dict[int, tuple[int, str | None]] = {}

    def use(self, back: int, first: int, column: str | None) -> None:
        """Note a use of the atom `back` rows back, for positions from `first` on."""
        self._extra = max(self._extra, back)
        known = self._uses.get(back)
        if known is None or first < known[0]:
            self._uses[back] = (first, column)

    def held(self, block: Block, back: int) -> Bools:
        """Tell where the atom holds `back` rows back."""
        whole = block.cache.get(self)
        if whole is None:
            faults = Faults()
            whole = self._compute(block, self._extra, faults)
            size = block.size + self._extra
            if not isinstance(whole, np.ndarray) or whole.shape != (size,):
                whole = np.broadcast_to(np.asarray(whole, dtype=np.bool_), (size,))
            if faults.bad is not None:
                self._judge(block, np.broadcast_to(faults.bad, (size,)), faults)
            block.cache[self] = whole
        begin = self._extra - back
        return whole[begin : begin + block.size]

    def _judge(self, block: Block, bad: Bools, faults: Faults) -> None:
        """Raise a FaultError if arithmetic failed at a row where the atom is used."""
        failures: list[tuple[int, str | None, str]] = []
        for back, (first, column) in self._uses.items():
            begin = self._extra - back
            for row in (np.flatnonzero(bad[begin : begin + block.size]) + block.row).tolist():
                stream = block.batch.stream_of(row)
                own = row >= block.batch.begin[stream]
                if own and block.batch.position_of(row) >= first:
                    failures.append((row, column, faults.why(row - block.row + begin)))
                    break
        if failures:
            row, column, why = min(failures, key=lambda failure: failure[0])
            stream = block.batch.stream_of(row)
            key, position = block.batch.key(stream), block.batch.position_of(row)
            raise FaultError(arithmetic_error(why, column, key, position), stream, row)


def _compile_atom(atom: ColumnAtom) -> Compute:
    if isinstance(atom, Comparison):
        return compile_comparison(atom)
    if isinstance(atom, IsNull):
        return lambda rows, extra, _: _is_null(atom, rows, extra)
    field = compile_term(atom.field)
    if isinstance(atom, Like):
        return lambda rows, extra, faults: rows.matching(atom.pattern)[field(rows, extra, faults)]
    return lambda rows, extra, faults: field(rows, extra, faults).astype(np.bool_)


def _is_null(atom: IsNull, rows: Rows, extra: int) -> Bools:
    known = rows.known(atom.field.name, atom.field.offset, extra)
    return np.asarray(False) if known is None else ~known


def canonical(atom: ColumnAtom) -> tuple[ColumnAtom, int]:
    """Return an atom shifted so that its latest event is the current one, and by how many rows.

    Of the two ways to write a comparison, `x > y` and `y < x`, one stands for both.
    """
    shift = max(offsets(atom), default=0)
    moved = shifted(atom, -shift) if shift else atom
    if isinstance(moved, Comparison) and moved.op in (">", ">="):
        moved = Comparison(MIRRORED[moved.op], moved.right, moved.left)
    return moved, -shift


# --- Three-valued


Kleene = tuple["Bools", "Bools | None"]  # where a guard holds, and where that is known


def kleene(
    guard: Guard, rows: BatchView, faults: Faults | None, *, missing_is_false: bool = False
) -> Kleene:
    """Tell where a guard holds of all rows, and where it is known to hold or not.

    Without `faults` to note it in, an atom whose arithmetic has no result is unknown. An atom that
    reads a missing event is unknown, too, or false.
    """

    def inner(part: Guard) -> Kleene:
        return kleene(part, rows, faults, missing_is_false=missing_is_false)

    everywhere = (rows.size,)
    match guard:
        case Always(value):
            return np.full(everywhere, value), None
        case IsFirst(offset):
            held = np.zeros(everywhere, dtype=np.bool_)
            held[rows.batch.at_position(-offset)] = True
            return held, None
        case Not(operand):
            held, known = inner(operand)
            return (~held if known is None else ~held & known), known
        case And(parts) | Or(parts):
            return _joined(list(map(inner, parts)), isinstance(guard, Or))
        case Truth(field):
            known = all_known(guard, rows)
            held = rows.field(field.name, field.offset).astype(np.bool_)
            held = held if known is None else held & known
        case Like(field, pattern):
            known = all_known(guard, rows)
            held = rows.matching(pattern)[rows.field(field.name, field.offset)]
            held = held if known is None else held & known
        case IsNull():
            null = np.broadcast_to(_is_null(guard, rows, 0), everywhere)
            return (null & present(guard, rows) if missing_is_false else null), None
        case Comparison(_, left, right):
            held, known = _compared(guard, left, right, rows, faults)
        case _:
            raise TypeError(guard)
    if missing_is_false and known is not None:
        known = known | ~present(guard, rows)
    return held, known


def present(atom: Guard, rows: BatchView) -> Bools:
    """Tell where an atom reads no missing event: an aggregate before the start is NULL instead."""
    there = np.ones(rows.size, dtype=np.bool_)
    read = [-field.offset for field in fields(atom) if not field.name.startswith(RESULT)]
    there[rows.batch.before_position(max(read, default=0))] = False
    return there


def _joined(parts: list[Kleene], decisive: bool) -> Kleene:
    """Return the conjunction or disjunction of parts: one part that is `decisive` decides alone."""
    all_are_known = all(known is None for _, known in parts)
    held = np.array([held for held, _ in parts])
    if all_are_known:
        together = np.logical_or if decisive else np.logical_and
        return together.reduce(held), None
    knowns = np.array([np.ones_like(held) if known is None else known for held, known in parts])
    decided = (knowns & (held == decisive)).any(axis=0)
    known = decided | knowns.all(axis=0)
    return (decided if decisive else known & ~decided), known


def _compared(
    atom: Comparison, left: Term, right: Term, rows: BatchView, faults: Faults | None
) -> Kleene:
    own = Faults() if faults is None else faults
    values = [compile_term(term)(rows, 0, own) for term in (left, right)]
    held = np.broadcast_to(compile_comparison(atom)(rows, 0, Faults()), (rows.size,))
    known = all_known(atom, rows)
    for value in values:
        missing = np.asarray(value != value)  # noqa: PLR0124  (NaN)
        if missing.any():
            there = np.broadcast_to(~missing, (rows.size,))
            known = there if known is None else known & there
    if faults is None and own.bad is not None:
        there = np.broadcast_to(~own.bad, (rows.size,))
        known = there if known is None else known & there
    return (held if known is None else held & known), known
