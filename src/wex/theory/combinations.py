"""Which truth values guards can have together: the rows of a table with a column for each guard.

Guards that read no field in common are independent, so they are looked at in groups. A group about
one field that is only compared with constants needs no solver: between two neighbouring constants
every value says the same.
"""

from __future__ import annotations

import operator
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wex.theory.terms import (
    Always,
    And,
    Atom,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    Not,
    Or,
    Truth,
    atoms,
    fields,
    is_open,
    rounded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

Row: TypeAlias = tuple[bool, ...]

_OPERATORS: dict[str, Callable[..., Bools]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
OTHER = -1  # the rank of a text that is none of the constants


class TooManyRowsError(Exception):
    """There are more rows than were asked for."""


def combinations(
    guards: Sequence[Guard],
    lookback: int,
    *,
    missing: int = 0,
    floating: bool,
    most: int,
    exactly: bool = False,
) -> Iterator[Row]:
    """Yield every combination of truth values that the guards can have together.

    Never too few: what the solver cannot decide counts as possible; `exactly`: an UndecidedError is
    raised instead. If there are more than `most`, TooManyRowsError is raised before the first one.
    """
    groups = list(_groups(guards, floating=floating))
    found: list[list[Row]] = []
    count = 1
    for group in groups:
        rows = _rows([guards[at] for at in group], lookback, missing, floating, most, exactly)
        count *= len(rows)
        if count > most:
            raise TooManyRowsError
        found.append(rows)
    places = [at for group in groups for at in group]
    order = sorted(range(len(places)), key=places.__getitem__)
    for parts in product(*found):
        flat = [value for part in parts for value in part]
        yield tuple(flat[at] for at in order)


def _groups(guards: Sequence[Guard], *, floating: bool) -> Iterator[list[int]]:
    """Yield the numbers of guards that share what they read, together, in their order."""
    owner: dict[Hashable, int] = {}
    parent = list(range(len(guards)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for at, guard in enumerate(guards):
        for atom in atoms(guard):
            for read in _read(atom, floating=floating):
                parent[root(at)] = root(owner.setdefault(read, at))
    groups: dict[int, list[int]] = {}
    for at in range(len(guards)):
        groups.setdefault(root(at), []).append(at)
    yield from groups.values()


def _read(atom: Atom, *, floating: bool) -> list[Hashable]:
    """Return what the truth of an atom depends on."""
    if isinstance(atom, IsFirst):
        return [IsFirst]
    return [atom] if is_open(atom, floating=floating) else list(fields(atom))


def _rows(
    guards: Sequence[Guard],
    lookback: int,
    missing: int,
    floating: bool,
    most: int,
    exactly: bool,
) -> list[Row]:
    known = list(dict.fromkeys(atom for guard in guards for atom in atoms(guard)))
    if not any(is_open(atom, floating=floating) for atom in known):
        about = {field for atom in known for field in fields(atom)}
        if len(about) <= 1 and all(map(_is_plain, known)):
            there = all(-field.offset <= lookback - missing for field in about)
            return _plain_rows(guards, known, there=there, floating=floating)
    from wex.theory.solver import UndecidedError, assignments  # noqa: PLC0415  (loads z3)

    found: list[Row] = []
    try:
        for row in assignments(guards, lookback, missing=missing, floating=floating):
            found.append(row)
            if len(found) > most:
                raise TooManyRowsError
    except UndecidedError:
        if exactly:
            raise
        if 2 ** len(guards) > most:
            raise TooManyRowsError from None
        return list(product((False, True), repeat=len(guards)))
    return found


# --- One field and constants


def _is_plain(atom: Atom) -> bool:
    """Tell whether an atom compares a field with a constant, or is a bool field."""
    match atom:
        case Truth() | Comparison(_, Field(), Constant()) | Comparison(_, Constant(), Field()):
            return True
    return False


def _plain_rows(
    guards: Sequence[Guard], known: Sequence[Atom], *, there: bool, floating: bool
) -> list[Row]:
    """Return the rows of guards about one field; `there`: the event it belongs to is not missing."""
    truths: dict[Atom, Bools]
    if there and known:
        truths = _truths(known, floating=floating)
    else:
        truths = dict.fromkeys(known, np.zeros(1, dtype=np.bool_))
    size = len(next(iter(truths.values()))) if truths else 1
    columns = [_holds(guard, truths, size) for guard in guards]
    table = np.stack(columns, axis=1) if columns else np.zeros((1, 0), dtype=np.bool_)
    return [tuple(map(bool, row)) for row in dict.fromkeys(map(tuple, table.tolist()))]


def _truths(known: Sequence[Atom], *, floating: bool) -> dict[Atom, Bools]:
    """Return where atoms about one field hold, at a value for each thing that can be the case."""
    field = next(field for atom in known for field in fields(atom))
    if field.kind == "bool":
        values = np.array([False, True])
        return {atom: _compared(atom, values, bool) for atom in known}
    constants = [_constant(atom, floating=floating) for atom in known]
    if field.kind == "text":
        texts = list(dict.fromkeys([*field.type.values, *constants]))
        ranks = {text: rank for rank, text in enumerate(texts)}
        listed = [ranks[text] for text in field.type.values]
        values = np.array(listed or [OTHER, *ranks.values()])
        return {atom: _compared(atom, values, ranks.__getitem__) for atom in known}
    points = sorted({Fraction(each) for each in constants})
    place = {point: 2 * at + 1 for at, point in enumerate(points)}
    values = np.array(
        [
            rank
            for rank in range(2 * len(points) + 1)
            if field.kind == "real" or _has_whole(points, rank)
        ]
    )
    return {
        atom: _compared(
            atom, values, lambda value: place[Fraction(_exact(value, floating=floating))]
        )
        for atom in known
    }


def _constant(atom: Atom, *, floating: bool) -> int | Fraction | str | bool:
    assert isinstance(atom, Comparison)
    side = atom.right if isinstance(atom.right, Constant) else atom.left
    assert isinstance(side, Constant)
    return _exact(side.value, floating=floating)


def _exact(value: int | Fraction | str | bool, *, floating: bool) -> int | Fraction | str | bool:
    """Return the constant that a value is compared with: at run time reals are rounded."""
    return Fraction(rounded(value)) if floating and isinstance(value, Fraction) else value


def _has_whole(points: Sequence[Fraction], rank: int) -> bool:
    """Tell whether there is a whole number at a point (odd ranks), or between two (even ones)."""
    at = rank // 2
    if rank % 2:
        return points[at].denominator == 1
    if at in (0, len(points)):
        return True
    return points[at - 1].__floor__() + 1 < points[at]


def _compared(atom: Atom, values: NDArray[np.generic], rank: Callable[..., object]) -> Bools:
    match atom:
        case Truth():
            return values.astype(np.bool_)
        case Comparison(op, Field(), Constant(value)):
            return _OPERATORS[op](values, rank(value))
        case Comparison(op, Constant(value), Field()):
            return _OPERATORS[_SWAPPED.get(op, op)](values, rank(value))
    raise TypeError(atom)


def _holds(guard: Guard, truths: Mapping[Atom, Bools], size: int) -> Bools:
    match guard:
        case Always(value):
            return np.full(size, value)
        case Not(operand):
            return ~_holds(operand, truths, size)
        case And(parts):
            found = np.ones(size, dtype=np.bool_)
            for part in parts:
                found &= _holds(part, truths, size)
            return found
        case Or(parts):
            found = np.zeros(size, dtype=np.bool_)
            for part in parts:
                found |= _holds(part, truths, size)
            return found
        case Comparison() | Truth():
            return truths[guard]
    raise TypeError(guard)
