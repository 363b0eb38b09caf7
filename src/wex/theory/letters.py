"""Letters: what can be true of a gram, as far as the guards of one window can tell.

A letter is a combination of truth values that the guards can have together. Automata then read
letters, which are small whole numbers; `and`, `or`, `not` of guards are operations on sets of
letters, kept as bit masks.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from wex import limits
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
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Letters:
    """The letters of some guards: row i says which guards are true of letter i."""

    guards: tuple[Guard, ...]
    rows: tuple[tuple[bool, ...], ...]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def everything(self) -> int:
        """Return the set of all letters."""
        return (1 << len(self.rows)) - 1

    @cached_property
    def _index(self) -> dict[tuple[bool, ...], int]:
        return {row: letter for letter, row in enumerate(self.rows)}

    def letter(self, truths: Sequence[bool]) -> int:
        """Return the letter of a gram, given which guards hold of it."""
        return self._index[tuple(truths)]

    def where(self, guard: Guard) -> int:
        """Return the set of letters of which one of the guards is true."""
        if isinstance(guard, Always):
            return self.everything if guard.value else 0
        return self.true_of[self.guards.index(guard)]

    @cached_property
    def true_of(self) -> list[int]:
        """Return for each guard the set of letters of which it is true."""
        columns = zip(*reversed(self.rows), strict=True)
        return [int("".join("1" if true else "0" for true in each), 2) for each in columns]


Literal = tuple[int, bool]  # a guard, by number, and whether it holds


def cover(letters: Letters, chosen: int) -> list[list[Literal]]:
    """Return conjunctions of guards that together hold of exactly the chosen letters.

    Combinations of guards that no gram has are left to chance, which makes them shorter.
    """
    everything = letters.everything
    masks = [(everything & ~each, each) for each in letters.true_of]
    cubes: list[tuple[list[Literal], int]] = []  # with the letters of which all literals hold
    left = chosen
    while left:
        letter = left & -left  # the first that is not covered
        cube: list[Literal] = [(at, bool(true & letter)) for at, (_, true) in enumerate(masks)]
        # Negated guards go first: what is left reads better.
        cube.sort(key=lambda each: (each[1], -each[0]))
        # A literal goes if those that stay and those that are still to be asked suffice.
        rest = [everything]
        for at, holds in reversed(cube):
            rest.append(rest[-1] & masks[at][holds])
        stays, found = everything, []
        for literal in cube:
            rest.pop()
            if stays & rest[-1] & ~chosen:
                stays &= masks[literal[0]][literal[1]]
                found.append(literal)
        cubes.append((sorted(found), stays))
        left &= ~stays
    for cube_and_mask in list(cubes):
        others = [each for each in cubes if each is not cube_and_mask]
        covered = 0
        for _, mask in others:
            covered |= mask
        if others and not chosen & ~covered:
            cubes = others
    return [literals for literals, _ in cubes]


def guard_of_letters(letters: Letters, chosen: int) -> Guard:
    """Return a short guard that holds of exactly the chosen letters."""
    if chosen == letters.everything:
        return Always(True)
    plain, negated = cover(letters, chosen), cover(letters, letters.everything & ~chosen)
    shorter = sum(map(len, negated)) < sum(map(len, plain))
    found = Or(
        tuple(
            And(
                tuple(
                    letters.guards[at] if holds else Not(letters.guards[at]) for at, holds in cube
                )
            )
            for cube in (negated if shorter else plain)
        )
    )
    return Not(found) if shorter else found


def letters_of(guards: Iterable[Guard], lookback: int, *, pad: bool = False) -> Letters:
    """Return the letters that grams can have at run time.

    Never too few: atoms whose arithmetic rounds count as independent, because floats leave the
    reals, and under `pad` letters are collected for every number of missing events.
    """
    distinct = tuple(dict.fromkeys(each for each in guards if not isinstance(each, Always)))
    rows: set[tuple[bool, ...]] = set()
    most = limits.current().letters
    for missing in range(lookback + 1 if pad else 1):
        try:
            rows.update(combinations(distinct, lookback, missing=missing, floating=True, most=most))
        except TooManyRowsError:
            limits.require("letters", most + 1, _WHAT)
        limits.require("letters", len(rows), _WHAT)
    return Letters(distinct, tuple(sorted(rows)))


_WHAT = "the combinations of predicates in one window"


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
