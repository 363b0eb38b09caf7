"""Letters: the combinations of truth values that the guards of one window can have together.

Automata read letters, which are small whole numbers. Conjunction, disjunction and negation of
guards are operations on sets of letters, represented as bit masks.

`letters_of` finds the letters by `combinations`: guards that share no field are independent, guards
about one field and constants are enumerated directly, and the solver finds the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wex import limits
from wex.theory.evaluate import COMPARE
from wex.theory.terms import (
    MIRRORED,
    Always,
    And,
    Atom,
    Comparison,
    Constant,
    Field,
    Guard,
    IsFirst,
    IsNull,
    Like,
    Not,
    Or,
    Truth,
    atoms,
    fields,
    is_open,
    rounded,
)
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]

Literal: TypeAlias = tuple[int, bool]  # the index of a guard, and whether it holds
Row: TypeAlias = tuple[bool, ...]  # one truth value per guard

_OTHER_TEXT = -1  # the rank of a text that is none of the constants
_LIMITED = "the combinations of predicates in one window"


class TooManyRowsError(Exception):
    """There are more rows than the caller accepts."""


# --- Sets of letters


@dataclass(frozen=True)
class Letters:
    """The letters of some guards: row i has the truth values of the guards at letter i."""

    guards: tuple[Guard, ...]
    rows: tuple[Row, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def everything(self) -> int:
        """Return the set of all letters."""
        return (1 << len(self.rows)) - 1

    @cached_property
    def _index(self) -> dict[Row, int]:
        return {row: letter for letter, row in enumerate(self.rows)}

    def letter(self, truths: Sequence[bool]) -> int:
        """Return the letter of a gram, given the truth values of the guards."""
        return self._index[tuple(truths)]

    def where(self, guard: Guard) -> int:
        """Return the set of letters at which a guard is true."""
        if isinstance(guard, Always):
            return self.everything if guard.value else 0
        return self.true_of[self.guards.index(guard)]

    @cached_property
    def true_of(self) -> list[int]:
        """Return for each guard the set of letters at which it is true."""
        columns = zip(*reversed(self.rows), strict=True)
        return [int("".join("1" if true else "0" for true in column), 2) for column in columns]


def cover(letters: Letters, chosen: int) -> list[list[Literal]]:
    """Return conjunctions of guards that together hold at exactly the chosen letters.

    They may also hold of combinations that no gram has, which makes them shorter.
    """
    everything = letters.everything
    masks = [(everything & ~true, true) for true in letters.true_of]
    cubes: list[tuple[list[Literal], int]] = []  # with the letters at which the conjunction holds
    uncovered = chosen
    while uncovered:
        cube, mask = _cube(masks, uncovered & -uncovered, chosen, everything)
        cubes.append((cube, mask))
        uncovered &= ~mask
    for candidate in list(cubes):
        others = [cube for cube in cubes if cube is not candidate]
        covered = 0
        for _, mask in others:
            covered |= mask
        if others and not chosen & ~covered:
            cubes = others
    return [literals for literals, _ in cubes]


def _cube(
    masks: Sequence[tuple[int, int]], letter: int, chosen: int, everything: int
) -> tuple[list[Literal], int]:
    """Return a short conjunction that holds at a letter and only at chosen ones, and its letters."""
    literals = [(index, bool(true & letter)) for index, (_, true) in enumerate(masks)]
    # Negated guards are tried first: conjunctions without them are easier to read.
    literals.sort(key=lambda literal: (literal[1], -literal[0]))
    # A literal is dropped if the kept ones and the remaining ones suffice without it.
    remaining = [everything]
    for index, holds in reversed(literals):
        remaining.append(remaining[-1] & masks[index][holds])
    mask, kept = everything, []
    for index, holds in literals:
        remaining.pop()
        if mask & remaining[-1] & ~chosen:
            mask &= masks[index][holds]
            kept.append((index, holds))
    return sorted(kept), mask


def guard_of_letters(letters: Letters, chosen: int) -> Guard:
    """Return a short guard that holds at exactly the chosen letters."""
    if chosen == letters.everything:
        return Always(True)
    plain, negated = cover(letters, chosen), cover(letters, letters.everything & ~chosen)
    shorter = sum(map(len, negated)) < sum(map(len, plain))
    guards = letters.guards
    disjunction = Or(
        tuple(
            And(tuple(guards[index] if holds else Not(guards[index]) for index, holds in cube))
            for cube in (negated if shorter else plain)
        )
    )
    return Not(disjunction) if shorter else disjunction


def letters_of(guards: Iterable[Guard], lookback: int, *, pad: bool = False) -> Letters:
    """Return the letters that grams can have at run time.

    No letter is missing: atoms whose arithmetic rounds count as independent, because floats differ
    from the reals, and if `pad`, letters are collected for every number of missing events.
    """
    distinct = tuple(dict.fromkeys(guard for guard in guards if not isinstance(guard, Always)))
    rows: set[Row] = set()
    most = limits.current().letters
    for missing in range(lookback + 1 if pad else 1):
        try:
            rows.update(combinations(distinct, lookback, missing=missing, floating=True, most=most))
        except TooManyRowsError:
            limits.require("letters", most + 1, _LIMITED)
        limits.require("letters", len(rows), _LIMITED)
    return Letters(distinct, tuple(sorted(rows)))


# --- Combinations of truth values


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

    A combination that the solver cannot decide counts as possible; with `exactly`, an
    UndecidedError is raised instead. If there are more than `most` combinations, a TooManyRowsError
    is raised before the first one.
    """
    groups = list(_groups(guards, floating=floating))
    rows_of_groups: list[list[Row]] = []
    count = 1
    for group in groups:
        members = [guards[index] for index in group]
        rows = _rows(members, lookback, missing, floating, most, exactly)
        count *= len(rows)
        if count > most:
            raise TooManyRowsError
        rows_of_groups.append(rows)
    grouped = [index for group in groups for index in group]
    order = sorted(range(len(grouped)), key=grouped.__getitem__)
    for parts in product(*rows_of_groups):
        truths = [value for part in parts for value in part]
        yield tuple(truths[place] for place in order)


def _groups(guards: Sequence[Guard], *, floating: bool) -> Iterator[list[int]]:
    """Yield groups of guards, by index, such that guards of different groups are independent."""
    first_reader: dict[Hashable, int] = {}
    parent = list(range(len(guards)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for index, guard in enumerate(guards):
        for atom in atoms(guard):
            for read in _dependencies(atom, floating=floating):
                parent[root(index)] = root(first_reader.setdefault(read, index))
    groups: dict[int, list[int]] = {}
    for index in range(len(guards)):
        groups.setdefault(root(index), []).append(index)
    yield from groups.values()


def _dependencies(atom: Atom, *, floating: bool) -> list[Hashable]:
    """Return the fields that an atom depends on, or a token of its own if it is independent."""
    if isinstance(atom, IsFirst):
        return [IsFirst]
    alone = is_open(atom, floating=floating) and not isinstance(atom, Like)
    return [atom] if alone else list(fields(atom))


def _rows(
    guards: Sequence[Guard],
    lookback: int,
    missing: int,
    floating: bool,
    most: int,
    exactly: bool,
) -> list[Row]:
    distinct = list(dict.fromkeys(atom for guard in guards for atom in atoms(guard)))
    if not any(is_open(atom, floating=floating) for atom in distinct):
        read = {field for atom in distinct for field in fields(atom)}
        if len(read) <= 1 and all(map(_is_plain, distinct)):
            present = all(-field.offset <= lookback - missing for field in read)
            return _plain_rows(guards, distinct, present=present, floating=floating)
    from wex.theory.solver import UndecidedError, assignments  # noqa: PLC0415  (loads z3)

    rows: list[Row] = []
    try:
        for row in assignments(guards, lookback, missing=missing, floating=floating):
            rows.append(row)
            if len(rows) > most:
                raise TooManyRowsError
    except UndecidedError:
        if exactly:
            raise
        if 2 ** len(guards) > most:
            raise TooManyRowsError from None
        return list(product((False, True), repeat=len(guards)))
    return rows


# --- Combinations for one field and constants


def _is_plain(atom: Atom) -> bool:
    """Tell whether an atom is a bool field, a test for NULL, or compares a field with a constant."""
    match atom:
        case Comparison(_, Field(), Constant()) | Comparison(_, Constant(), Field()):
            return True
        case Truth() | IsNull():
            return True
    return False


def _plain_rows(
    guards: Sequence[Guard], distinct: Sequence[Atom], *, present: bool, floating: bool
) -> list[Row]:
    """Return the rows of guards about one field, whose event is present or missing."""
    truths: dict[Atom, Bools]
    if present and distinct:
        valued = [atom for atom in distinct if not isinstance(atom, IsNull)]
        truths = _truths(valued, floating=floating) if valued else {}
        if len(valued) < len(distinct):  # one case more: the field is NULL
            size = len(next(iter(truths.values()))) if truths else 1
            truths = {atom: np.append(truth, False) for atom, truth in truths.items()}
            null = np.append(np.zeros(size, dtype=np.bool_), True)
            truths |= {atom: null for atom in distinct if isinstance(atom, IsNull)}
    else:
        truths = dict.fromkeys(distinct, np.zeros(1, dtype=np.bool_))
    size = len(next(iter(truths.values()))) if truths else 1
    columns = [_holds(guard, truths, size) for guard in guards]
    table = np.stack(columns, axis=1) if columns else np.zeros((1, 0), dtype=np.bool_)
    return [tuple(map(bool, row)) for row in dict.fromkeys(map(tuple, table.tolist()))]


def _truths(distinct: Sequence[Atom], *, floating: bool) -> dict[Atom, Bools]:
    """Return the truth values of atoms about one field, at one value for each possible case.

    Numbers and texts are represented by ranks: of numbers, the constants have odd ranks, and even
    ranks stand for the numbers between them.
    """
    field = next(field for atom in distinct for field in fields(atom))
    if field.kind == "bool":
        values = np.array([False, True])
        return {atom: _compared(atom, values, bool) for atom in distinct}
    constants = [_constant(atom, floating=floating) for atom in distinct]
    if field.kind == "text":
        texts = list(dict.fromkeys([*field.type.values, *constants]))
        ranks = {text: rank for rank, text in enumerate(texts)}
        listed = [ranks[text] for text in field.type.values]
        values = np.array(listed or [_OTHER_TEXT, *ranks.values()])
        return {atom: _compared(atom, values, ranks.__getitem__) for atom in distinct}
    points = sorted({Fraction(constant) for constant in constants})
    rank_of = {point: 2 * index + 1 for index, point in enumerate(points)}
    values = np.array(
        [
            rank
            for rank in range(2 * len(points) + 1)
            if field.kind == "real" or _has_whole(points, rank)
        ]
    )
    return {
        atom: _compared(
            atom, values, lambda value: rank_of[Fraction(_exact(value, floating=floating))]
        )
        for atom in distinct
    }


def _constant(atom: Atom, *, floating: bool) -> int | Fraction | str | bool:
    assert isinstance(atom, Comparison)
    side = atom.right if isinstance(atom.right, Constant) else atom.left
    assert isinstance(side, Constant)
    return _exact(side.value, floating=floating)


def _exact(value: int | Fraction | str | bool, *, floating: bool) -> int | Fraction | str | bool:
    """Return a constant as it is compared: at run time reals are rounded to floats."""
    return Fraction(rounded(value)) if floating and isinstance(value, Fraction) else value


def _has_whole(points: Sequence[Fraction], rank: int) -> bool:
    """Tell whether there is a whole number at a point (odd ranks), or between two (even ranks)."""
    index = rank // 2
    if rank % 2:
        return points[index].denominator == 1
    if index in (0, len(points)):
        return True
    return points[index - 1].__floor__() + 1 < points[index]


def _compared(atom: Atom, values: NDArray[np.generic], rank: Callable[..., object]) -> Bools:
    match atom:
        case Truth():
            return values.astype(np.bool_)
        case Comparison(op, Field(), Constant(value)):
            return np.asarray(COMPARE[op](values, rank(value)))
        case Comparison(op, Constant(value), Field()):
            return np.asarray(COMPARE[MIRRORED[op]](values, rank(value)))
    raise TypeError(atom)


def _holds(guard: Guard, truths: Mapping[Atom, Bools], size: int) -> Bools:
    match guard:
        case Always(value):
            return np.full(size, value)
        case Not(operand):
            return ~_holds(operand, truths, size)
        case And(parts):
            result = np.ones(size, dtype=np.bool_)
            for part in parts:
                result &= _holds(part, truths, size)
            return result
        case Or(parts):
            result = np.zeros(size, dtype=np.bool_)
            for part in parts:
                result |= _holds(part, truths, size)
            return result
        case Comparison() | Truth() | IsNull():
            return truths[guard]
    raise TypeError(guard)
