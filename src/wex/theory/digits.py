"""Whole numbers as digits, where all that guards ask about them are quotients and remainders.

`hour(ts) = 3` and `floor(ts, 1 day) != floor(ts[-1], 1 day)` are about the hour and the day of a
timestamp. If all atoms about a field are of this kind, the field is replaced by its digits, here the
day, the hour and the rest: `ts = place 2 * day + place 1 * hour + rest`. The atoms then compare digits
only, which the solver decides far faster than it divides.

For `n % 3` and `n // 10`, of which neither divides the other, the digits are `n // 30` and `n % 30`: an
atom is then about a part of a digit, and says which of its values are meant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import gcd, lcm
from typing import TYPE_CHECKING

from wex.spec.types import INT
from wex.theory.evaluate import COMPARE
from wex.theory.terms import (
    MIRRORED,
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
    from collections.abc import Callable, Iterable, Mapping, Sequence

MOST_PLACES = 6
MOST_VALUES = 100  # of a digit of which guards read a part


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
    views_of: dict[str, dict[View, None]] = {}
    unfit: set[str] = set()
    for atom in dict.fromkeys(atom for guard in guards for atom in atoms(guard)):
        # An atom that is left open is not replaced, so its fields must stay.
        plain = isinstance(atom, Comparison) and not is_opaque(atom)
        views = _compared_views(atom) if plain else None  # type: ignore[arg-type]
        if views is None:
            unfit.update(field.name for field in fields(atom))
        for view in views or ():
            views_of.setdefault(view.field.name, {})[view] = None
    found = []
    for name, own_views in views_of.items():
        digits = None if name in unfit else _digits(name, list(own_views))
        if digits is not None:
            found.append(digits)
    return found


def units_of(guards: Sequence[Guard]) -> dict[str, int]:
    """Return the unit of fields of which guards ask for nothing smaller: an hour for `hour(ts)`.

    >>> from wex.spec.types import TIMESTAMP
    >>> days = Arithmetic("//", Field("ts", 0, TIMESTAMP), Constant(24))
    >>> units_of([Comparison("=", Arithmetic("%", days, Constant(7)), Constant(3))])
    {'ts': 24}
    """
    found = {own.name: own for own in digits_of(guards) if own.shift % own.places[1] == 0}
    read = {field.name for guard in guards for field in fields(with_digits(guard, found))}
    return {name: own.places[1] for name, own in found.items() if own.field(0, 0).name not in read}


def _digits(name: str, views: Sequence[View]) -> Digits | None:
    """Return digits of which all views are parts, if there are some."""
    needed = dict.fromkeys(
        (place, view.shift % place)
        for view in views
        for place in (view.unit, view.modulus)
        if place is not None and place > 1
    )
    if not needed:
        return None
    sizes = {place for place, _ in needed}
    for (one, first), (two, second) in combinations(needed, 2):
        if (first - second) % gcd(one, two):  # two beginnings: a digit tells how far they are apart
            sizes.add(gcd(one, two, first - second))
    places = _chain(sorted(sizes - {1}))
    shift = _shift(views, places)
    if shift is None or len(places) > MOST_PLACES:
        return None
    digits = Digits(name, shift, places)
    return digits if all(_parts(view, digits) is not None for view in views) else None


def _chain(sizes: Sequence[int]) -> tuple[int, ...]:
    """Return places, each of which divides the next, with which all sizes can be expressed.

    Sizes of which neither divides the other have one digit: a multiple of what divides all of them,
    up to what all of them divide.

    >>> _chain([3, 10, 60]), _chain([45, 60, 1440])
    ((1, 30, 60), (1, 15, 180, 1440))
    """
    groups: list[list[int]] = []
    for size in sizes:
        groups.append([size])
        while len(groups) > 1 and gcd(*groups[-1]) % lcm(*groups[-2]):
            groups[-2:] = [groups[-2] + groups[-1]]
    return tuple(sorted({1, *(f(*group) for group in groups for f in (gcd, lcm))}))


def _shift(views: Sequence[View], places: Sequence[int]) -> int | None:
    """Return the shift of the digits: that of each view, up to multiples of its modulus or unit.

    The digit below a modulus may begin elsewhere than the view, because it is counted in a circle.
    """
    quotients = {(view.unit, view.shift) for view in views if view.modulus is None}
    known = _congruent((0, 1), sorted(quotients))
    if known is None:
        return None
    for view in views:
        if view.modulus is None:
            continue
        below = max(place for place in places if place < view.modulus)
        aligned = _congruent(known, [(view.modulus, view.shift)])
        known = aligned or _congruent(known, [(below, view.shift)])
        if known is None:
            return None
    return known[0]


def _congruent(known: tuple[int, int], more: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return (number, modulus) of the numbers that have some remainders, as (modulus, remainder).

    >>> _congruent((0, 1), [(4, 3), (6, 5)]), _congruent((1, 2), [(4, 2)])
    ((11, 12), None)
    """
    number, modulus = known
    for size, remainder in more:
        common = gcd(modulus, size)
        if (remainder - number) % common:
            return None
        steps = (remainder - number) // common * pow(modulus // common, -1, size // common)
        number, modulus = number + modulus * steps, lcm(modulus, size)
        number %= modulus
    return number, modulus


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
        one, two = (_known_parts(view, own) for view in views)
        return _lexicographic(atom.op, one, two)
    (view,) = views
    left = isinstance(atom.right, Constant)
    side = atom.right if left else atom.left
    assert isinstance(side, Constant)
    assert isinstance(side.value, int)
    return _with_constant(atom.op if left else MIRRORED[atom.op], view, side.value, own)


def _known_parts(view: View, own: Digits) -> list[Part]:
    parts = _parts(view, own)
    assert parts is not None  # or else the field has no digits
    return parts


@dataclass(frozen=True)
class Part:
    """A digit of a view: `(digit + add) % modulus // divisor`, where the digit has `size` values.

    The size of the largest digit is None; such a digit is taken as it is.
    """

    digit: Field
    size: int | None
    add: int = 0
    modulus: int | None = None
    divisor: int = 1

    @property
    def plain(self) -> bool:
        """Whether it is the digit itself."""
        return not self.add and self.modulus is None and self.divisor == 1

    @property
    def count(self) -> int:
        """How many values it has."""
        assert self.size is not None
        return (self.modulus or self.size) // self.divisor

    def of(self, digit: int) -> int:
        """Return its value for a value of the digit."""
        return (digit + self.add) % (self.modulus or self.size or 1) // self.divisor


def _parts(view: View, own: Digits) -> list[Part] | None:
    """Return the digits of a view, the smallest first; None if it is not made of these digits."""
    places, delta = own.places, view.shift - own.shift
    low = max(index for index, place in enumerate(places) if view.unit % place == 0)
    divisor = view.unit // places[low]
    if view.modulus is None:
        high, delta = len(places), delta % view.unit
        if delta:
            return None
    else:
        high = next(index for index, place in enumerate(places) if place % view.modulus == 0)
        if high <= low or view.modulus % places[high - 1] or delta % places[high - 1]:
            return None
    sizes = [above // place for place, above in pairwise(places)]
    parts = [
        Part(own.field(index, view.field.offset), sizes[index] if index < len(sizes) else None)
        for index in range(low, high)
    ]
    if view.modulus is not None:
        modulus = view.modulus // places[high - 1]
        add = delta // places[high - 1] % modulus
        if add or modulus != sizes[high - 1]:
            parts[-1] = replace(parts[-1], add=add, modulus=modulus)
    if divisor > 1:
        first = parts[0]
        if first.size is None or (first.modulus or first.size) % divisor:
            return None
        parts[0] = replace(first, divisor=divisor)
    if any(not part.plain and part.size is not None and part.size > MOST_VALUES for part in parts):
        return None
    return parts


def _with_constant(op: Op, view: View, number: int, own: Digits) -> Guard:
    """Return the comparison of a view with a number, as one of the view's digits."""
    parts = _known_parts(view, own)
    digit = parts[-1].digit
    true = Comparison("=", digit, digit)  # false of a missing event, as every atom
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
    numbers = []
    for part in parts[:-1]:
        rest, number = divmod(rest, part.count)
        numbers.append(number)
    return _lexicographic(op, parts, [*numbers, rest])


def _lexicographic(op: Op, one: Sequence[Part], two: Sequence[Part | int]) -> Guard:
    """Return the comparison of two numbers by their digits, the smallest first."""
    pairs = list(zip(reversed(one), reversed(two), strict=True))
    same = [_compared("=", left, right) for left, right in pairs]
    if op == "=":
        return _all(same)
    if op == "!=":
        return _any([_compared("!=", left, right) for left, right in pairs])
    strict: Op = "<" if op in ("<", "<=") else ">"
    choices = [
        _all([*same[:index], _compared(strict, left, right)])
        for index, (left, right) in enumerate(pairs)
    ]
    return _any([*choices, _all(same)] if op in ("<=", ">=") else choices)


def _compared(op: Op, one: Part, two: Part | int) -> Guard:
    """Return the comparison of a digit of a view with a number, or with that of another event."""
    if one.plain:
        return Comparison(op, one.digit, Constant(two) if isinstance(two, int) else two.digit)
    if isinstance(two, int):
        number = two
        return _is_among(one, lambda value: bool(COMPARE[op](value, number)))
    other, mirrored = two, MIRRORED[op]
    return _any(
        [
            _all([_compared("=", one, value), _compared(mirrored, other, value)])
            for value in range(one.count)
        ]
    )


def _is_among(part: Part, chosen: Callable[[int], bool]) -> Guard:
    """Return the guard that a digit of a view is one of some values."""
    assert part.size is not None
    ranges: list[tuple[int, int]] = []
    for digit in range(part.size):
        if chosen(part.of(digit)):
            first = ranges.pop()[0] if ranges and ranges[-1][1] == digit - 1 else digit
            ranges.append((first, digit))
    return _any(
        [
            Comparison("=", part.digit, Constant(first))
            if first == last
            else And(
                (
                    Comparison(">=", part.digit, Constant(first)),
                    Comparison("<=", part.digit, Constant(last)),
                )
            )
            for first, last in ranges
        ]
    )


def _all(parts: Sequence[Guard]) -> Guard:
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _any(parts: Sequence[Guard]) -> Guard:
    if not parts:
        return Always(False)
    return parts[0] if len(parts) == 1 else Or(tuple(parts))
