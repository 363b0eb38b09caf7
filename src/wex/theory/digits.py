"""Whole numbers as digits, where all that guards ask about them are quotients and remainders.

`hour(ts) = 3` and `floor(ts, 1 day) != floor(ts[-1], 1 day)` are about the hour and the day of a
timestamp. If all atoms about a field are of this kind, the field is replaced by its digits, here the
day, the hour and the rest: `ts = place 2 * day + place 1 * hour + rest`. The atoms then compare digits
only, which the solver decides far faster than it divides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from wex.spec.types import INT
from wex.theory.terms import (
    Always,
    And,
    Arithmetic,
    Comparison,
    Constant,
    Field,
    Guard,
    Not,
    Op,
    Or,
    Symbol,
    Term,
    atoms,
    fields,
    is_opaque,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

MOST_PLACES = 6


@dataclass(frozen=True)
class View:
    """A part of a field: `factor * ((x + shift) % modulus // unit) + add`; None: no modulus."""

    field: Field
    unit: int = 1
    modulus: int | None = None
    shift: int = 0
    factor: int = 1
    add: int = 0


def _view(term: Term) -> View | None:
    """Return a term as a part of a field, if it is one."""
    match term:
        case Field() if term.kind == "whole":
            return View(term)
        case Arithmetic("-", Field() as field, Arithmetic("%", inner, Constant(int(step)))):
            moved = _view(inner)  # floor(x, step, offset)
            plain = moved is not None and moved == View(field, add=moved.add)
            if moved is None or not plain or step <= 0:
                return None
            return View(field, step, None, moved.add, step, -moved.add)
        case Arithmetic("+" | "-" as op, left, Constant(int(number))):
            view = _view(left)
            sign = 1 if op == "+" else -1
            return None if view is None else _replaced(view, add=view.add + sign * number)
        case Arithmetic("//" | "%" as op, left, Constant(int(divisor))) if divisor > 0:
            view = _view(left)
            return None if view is None else _divided(op, view, divisor)
    return None


def _replaced(view: View, *, add: int) -> View:
    return View(view.field, view.unit, view.modulus, view.shift, view.factor, add)


def _divided(op: str, view: View, divisor: int) -> View | None:
    if view.factor != 1:
        return None
    if view.add:  # it becomes part of the shift
        if view.modulus is not None:
            return None
        view = View(view.field, view.unit, None, view.shift + view.add * view.unit)
    larger = view.unit * divisor
    if view.modulus is not None and view.modulus % larger:
        return None
    if op == "//":
        return View(view.field, larger, view.modulus, view.shift)
    return View(view.field, view.unit, larger, view.shift)


# --- Places


@dataclass(frozen=True)
class Digits:
    """The digits of a field: of `x + shift`, with these places, the smallest first, which is 1."""

    name: str
    shift: int
    places: tuple[int, ...]

    def field(self, index: int, offset: int) -> Field:
        """Return a digit as a field of its own."""
        return Field(Symbol(f"digit {index} {self.name}"), offset, INT)

    def bounds(self) -> dict[str, int]:
        """Return how many values each digit has; the largest has no bound."""
        pairs = enumerate(pairwise(self.places))
        return {self.field(index, 0).name: above // own for index, (own, above) in pairs}

    def value(self, event: Mapping[str, object]) -> int | None:
        """Return the value of the field in an event that has its digits; None if it has none."""
        values = [event.get(self.field(index, 0).name) for index in range(len(self.places))]
        whole = [value if isinstance(value, int) else 0 for value in values]
        if all(value is None for value in values):
            return None
        return sum(p * value for p, value in zip(self.places, whole, strict=True)) - self.shift


def digits_of(guards: Iterable[Guard]) -> list[Digits]:
    """Return the fields that can be replaced by their digits in all of some guards."""
    needed: dict[str, dict[int, int]] = {}  # field → place → shift
    unfit: set[str] = set()
    for atom in dict.fromkeys(atom for guard in guards for atom in atoms(guard)):
        if not isinstance(atom, Comparison) or is_opaque(atom):
            # An atom that is left open is not replaced, so its fields must stay.
            unfit.update(field.name for field in fields(atom))
            continue
        views = _compared_views(atom)
        if views is None:
            unfit.update(field.name for field in fields(atom))
            continue
        for view in views:
            shifts = needed.setdefault(view.field.name, {})
            for place in (view.unit, view.modulus):
                if place is not None and place > 1:
                    shift = view.shift % place
                    if shifts.setdefault(place, shift) != shift:
                        unfit.add(view.field.name)
    found = []
    for name, shifts in needed.items():
        places = (1, *sorted(shifts))
        chain = all(above % own == 0 for own, above in pairwise(places))
        if not shifts or name in unfit or not chain or len(places) > MOST_PLACES:
            continue
        shift = shifts[places[-1]]
        if all(shift % place == own for place, own in shifts.items()):
            found.append(Digits(name, shift, places))
    return found


def _compared_views(atom: Comparison) -> list[View] | None:
    """Return the views that an atom compares with each other or with a constant; None: it does not."""
    one, two = _view(atom.left), _view(atom.right)
    if one is not None and two is not None:
        alike = View(one.field, two.unit, two.modulus, two.shift, two.factor, two.add)
        return [one, two] if one.field.name == two.field.name and alike == one else None
    for view, side in ((one, atom.right), (two, atom.left)):
        if view is not None and isinstance(side, Constant) and type(side.value) is int:
            return [view]
    return None


# --- Guards over digits


def with_digits(guard: Guard, digits: Mapping[str, Digits]) -> Guard:
    """Return a guard in which comparisons of some fields are comparisons of their digits."""
    match guard:
        case Not(operand):
            return Not(with_digits(operand, digits))
        case And(parts):
            return And(tuple(with_digits(part, digits) for part in parts))
        case Or(parts):
            return Or(tuple(with_digits(part, digits) for part in parts))
        case Comparison():
            views = _compared_views(guard)
            if views and views[0].field.name in digits:
                return _replaced_atom(guard, views, digits[views[0].field.name])
    return guard


def _replaced_atom(atom: Comparison, views: Sequence[View], own: Digits) -> Guard:
    if len(views) == 2:
        one, two = (_parts(view, own) for view in views)
        return _lexicographic(atom.op, one, two)
    (view,) = views
    left = isinstance(atom.right, Constant)
    side = atom.right if left else atom.left
    assert isinstance(side, Constant)
    assert isinstance(side.value, int)
    mirrored: dict[Op, Op] = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
    return _with_constant(atom.op if left else mirrored[atom.op], view, side.value, own)


def _parts(view: View, own: Digits) -> list[Term]:
    """Return the digits of a view, the smallest first."""
    low = own.places.index(view.unit)
    high = len(own.places) if view.modulus is None else own.places.index(view.modulus)
    return [own.field(index, view.field.offset) for index in range(low, high)]


def _with_constant(op: Op, view: View, number: int, own: Digits) -> Guard:
    """Return the comparison of a view with a number, as one of the view's digits."""
    parts = _parts(view, own)
    true = Comparison("=", parts[-1], parts[-1])  # false of a missing event, as every atom
    rest, exact = number - view.add, True
    if view.factor != 1:
        rest, remainder = divmod(rest, view.factor)
        exact = not remainder
        if not exact:
            if op in ("=", "!="):
                return Always(False) if op == "=" else true
            op = "<=" if op in ("<", "<=") else ">"
    if view.modulus is None:  # a quotient of x + shift instead of one of x
        rest += (own.shift - view.shift) // view.unit
    else:
        count = view.modulus // view.unit
        if not 0 <= rest < count:
            above = rest >= count
            holds = {"=": False, "!=": True}.get(op, above == (op in ("<", "<=")))
            return true if holds else Always(False)
    low = own.places.index(view.unit)
    numbers: list[Term] = []
    for index in range(low, low + len(parts)):
        last = index == low + len(parts) - 1
        count = 0 if last else own.places[index + 1] // own.places[index]
        numbers.append(Constant(rest if last else rest % count))
        rest = rest if last else rest // count
    return _lexicographic(op, parts, numbers)


def _lexicographic(op: Op, one: Sequence[Term], two: Sequence[Term]) -> Guard:
    """Return the comparison of two numbers by their digits, the smallest first."""
    pairs = list(zip(reversed(one), reversed(two), strict=True))
    same = [Comparison("=", left, right) for left, right in pairs]
    if op == "=":
        return _all(same)
    if op == "!=":
        return Or(tuple(Comparison("!=", left, right) for left, right in pairs))
    strict: Op = "<" if op in ("<", "<=") else ">"
    choices = [
        _all([*same[:index], Comparison(strict, left, right)])
        for index, (left, right) in enumerate(pairs)
    ]
    return Or((*choices, _all(same))) if op in ("<=", ">=") else Or(tuple(choices))


def _all(parts: Sequence[Guard]) -> Guard:
    return parts[0] if len(parts) == 1 else And(tuple(parts))
