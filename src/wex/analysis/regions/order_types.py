"""Order types: how the values that guards still compare are related, for one group of fields.

Two values *meet* if a test compares them. If a new value meets two earlier ones, their relation
decides which outcomes are possible, so these two meet as well (at an earlier event), and so on: the
relation is closed, for all events alike. A *type* is the relation of every two remembered values that
both meet some later value, and their place among the constants which that value meets.

Types are exact. The earlier values that a new value meets all meet each other, so a type has their
complete order, with the constants. In a dense order without ends every place in it can be taken,
whatever the values are: which types can follow depends on the type alone. Values that are only tested
for equality have the same property, because there are always others.

Whole numbers are not dense. But each of those between the constants is a constant itself here, and outside
them the values of a finite stream, with finitely many continuations, can be chosen in hindsight:
their order is finite, so it can be embedded in the whole numbers below and above the constants. Hence
every path is the path of a stream of whole numbers. That is about streams that are chosen freely: after
values that are given, such as 3 and 4, no whole number may be left between. Nothing that has to
hold after *every* stream, such as dropping a start at run time, may rely on it.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cmp_to_key
from itertools import combinations, count, islice, pairwise, permutations
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from wex.analysis.regions.comparisons import constants_in, whole_range
from wex.theory.evaluate import COMPARE
from wex.theory.terms import MIRRORED, Constant, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from wex.analysis.regions.comparisons import Compared, Known
    from wex.theory.evaluate import Value

Slot: TypeAlias = tuple[str, int]  # a field, and the age of the event
Code: TypeAlias = int | None  # a relation or a place; None: an event is missing
Type: TypeAlias = tuple[Code, ...]  # the number of earlier events, then a code for each relation
Outcome: TypeAlias = tuple[Type, int]  # the codes of a new value, and the tests that hold

MOST_ORDERS = 24  # of the fields of an event that are tried
OTHER = -1  # the place of a text that is none of the constants


class OrderTypes:
    """The types of one group: the initial one, and those that can follow a type.

    The values of an event are inserted one after the other, in the order of `names`. A type is
    extended by their codes, and from these and its own codes the next type is chosen.
    """

    def __init__(self, group: Compared) -> None:
        self.group = group
        self.ordered = group.ordered
        self.meets = min(
            (_closed(group, names) for names in _orders(group)),
            key=lambda meets: sum(map(len, meets.values())),
        )
        self.names = tuple(self.meets)
        self.constants = self._constants()
        self.depth = max((age for own in self.meets.values() for _, age in own), default=0)
        self._place_codes()
        self.initial: Type = (0, *(None for _ in range(self.size - 1)))

    def _constants(self) -> dict[str, list[Known]]:
        """Return for each field the constants among which its place has to be known.

        They are those that it meets, and those that a later value meets which meets it, too. Whole
        numbers and their equals have all of them: a number outside the range of all is one of many.
        """
        constants = constants_in(self.group)
        if self.group.whole:
            everything = {value for own in constants.values() for value in own}
            if self.ordered:
                everything |= set(whole_range(self.group))
            constants = dict.fromkeys(constants, everything)
        changed = True
        while changed:
            changed = False
            for name, own in self.meets.items():
                for older, _ in own:
                    if not constants[name] <= constants[older]:
                        constants[older] = constants[older] | constants[name]
                        changed = True
        return {
            name: sorted(own) if self.ordered else sorted(own, key=repr)
            for name, own in constants.items()
        }

    def _place_codes(self) -> None:
        """Give every relation a place in a type, or behind it where values are inserted."""
        pairs: dict[tuple[Slot, Slot], int] = {}
        places: dict[Slot, int] = {}
        for name, own in self.meets.items():
            earlier = [slot for slot in own if slot[1]]
            for newer, older in _pairs(earlier, self.names):
                for by in range(min(newer[1], older[1])):
                    pairs.setdefault((_aged(newer, -by), _aged(older, -by)), 0)
            if self.constants[name]:
                for slot in earlier:
                    for by in range(slot[1]):
                        places.setdefault(_aged(slot, -by), 0)
        old_pairs, old_places = sorted(pairs), sorted(places)
        pairs = {pair: index for index, pair in enumerate(old_pairs, 1)}
        places = {slot: index for index, slot in enumerate(old_places, 1 + len(pairs))}
        index = self.size = 1 + len(pairs) + len(places)
        for name, own in self.meets.items():
            for slot in own:
                pairs[(name, 0), slot] = index
                index += 1
            if self.constants[name]:
                places[name, 0] = index
                index += 1
        self.pairs, self.places = pairs, places
        sources = [pairs[_aged(newer, -1), _aged(older, -1)] for newer, older in old_pairs]
        sources += [places[_aged(slot, -1)] for slot in old_places]
        self._next = _getter(sources)
        self.insertions = [_Insertion(self, name) for name in self.names]

    def extended(self, type_: Type) -> list[Outcome]:
        """Return the type with the codes of each event that can come, and the tests that hold for it."""
        partial: list[Outcome] = [(type_, 0)]
        for insertion in self.insertions:
            partial = [
                (codes + new, bits | more)
                for codes, bits in partial
                for new, more in insertion.outcomes(codes)
            ]
        return partial

    def after(self, extended: Type) -> Type:
        """Return the type after an event."""
        seen = extended[0]
        assert seen is not None
        return (min(seen + 1, self.depth), *self._next(extended))

    def value(
        self, insertion: _Insertion, extended: Type, values: Callable[[Slot], Value]
    ) -> Value:
        """Return a value that has the codes of an insertion, given those that it meets."""
        known: list[tuple[int, Value]] = []  # the relation to a value, and the value
        seen = extended[0]
        assert seen is not None
        for slot in insertion.meets:
            if slot[1] <= seen:
                code = extended[self.pairs[(insertion.name, 0), slot]]
                assert code is not None
                known.append((code, values(slot)))
        constants = self.constants[insertion.name]
        place = extended[self.places[insertion.name, 0]] if constants else None
        for index, constant in enumerate(constants):
            assert place is not None
            code = _sign(place - 2 * index - 1) if self.ordered else int(place != index)
            known.append((code, constant))
        same = next((value for code, value in known if code == 0), None)
        if same is not None:
            return same
        if not self.ordered:
            taken = [value for _, value in known]
            text = self.group.fields[insertion.name].kind == "text"
            others = (f"text{number}" if text else number for number in count())
            return next(other for other in others if other not in taken)
        low = max((Fraction(value) for code, value in known if code > 0), default=None)  # type: ignore[arg-type]
        high = min((Fraction(value) for code, value in known if code < 0), default=None)  # type: ignore[arg-type]
        return between(low, high)


class _Insertion:
    """Inserts the value of one field into the order of the values that it meets."""

    def __init__(self, types: OrderTypes, name: str) -> None:
        self.name = name
        self.types = types
        self.meets = types.meets[name]
        self.constants = types.constants[name]
        self.listed = types.group.listed.get(name)
        self.whole = types.group.fields[name].kind == "whole"
        self._pairs = {
            (newer, older): types.pairs[newer, older]
            for newer, older in _pairs(self.meets, types.names)
        }
        read = [*self._pairs.values()]
        if self.constants:
            read += [types.places[slot] for slot in self.meets]
        self._read = read
        self._key = _getter([0, *read])
        self._known: dict[Type, list[Outcome]] = {}
        # Each test that reads the new value: its number, the operator, and what it is compared with.
        self.tests: list[tuple[int, str, Slot | Known]] = []
        for number, test in types.group.tests.items():
            left, right, op = test.left, test.right, test.op
            assert isinstance(left, Field)
            if isinstance(right, Constant):
                if left.name == name:
                    self.tests.append((number, op, right.value))
                continue
            assert isinstance(right, Field)
            newer, older = (left.name, -left.offset), (right.name, -right.offset)
            if _is_newer(newer, older, types.names):
                if newer[0] == name:
                    self.tests.append((number, op, older))
            elif older[0] == name:
                self.tests.append((number, MIRRORED[op], newer))

    def outcomes(self, codes: Type) -> list[Outcome]:
        """Return the codes that a new value can have, each with the tests that then hold."""
        key = self._key(codes)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = list(self._outcomes(codes))
        return found

    def _outcomes(self, codes: Type) -> Iterator[Outcome]:
        seen = codes[0]
        assert seen is not None
        present = [slot for slot in self.meets if slot[1] <= seen]
        line = self._line(codes, present)
        ordered = self.types.ordered
        spots = (
            range(2 * len(line) + 1) if ordered else [*range(1, 2 * len(line), 2), 2 * len(line)]
        )
        for spot in spots:
            if not self._allowed(spot, line):
                continue
            relations: dict[Slot, int] = {}
            place = 0 if ordered else OTHER
            for rank, members in enumerate(line):
                relation = _sign(spot - 2 * rank - 1) if ordered else int(spot != 2 * rank + 1)
                for member in members:
                    if isinstance(member, tuple):
                        relations[member] = relation
                    elif ordered:
                        place += (relation >= 0) + (relation > 0)
                    elif relation == 0:
                        place = member
            new: list[Code] = [relations.get(slot) for slot in self.meets]
            if self.constants:
                new.append(place)
            yield tuple(new), self._bits(relations, place)

    def _line(self, codes: Type, present: Sequence[Slot]) -> list[list[Slot | int]]:
        """Return the values that the new one meets and its constants, in order; equals together."""

        def relation(one: Slot | int, two: Slot | int) -> int:
            if isinstance(one, int):
                return one - two if isinstance(two, int) else -relation(two, one)
            if isinstance(two, int):
                own = self.types.constants[one[0]].index(self.constants[two])
                place = codes[self.types.places[one]]
                assert place is not None
                return _sign(place - 2 * own - 1) if self.types.ordered else int(place != own)
            if one == two:
                return 0
            code = codes[
                self._pairs[one, two] if (one, two) in self._pairs else self._pairs[two, one]
            ]
            assert code is not None
            return code if (one, two) in self._pairs else -code

        members: list[Slot | int] = [*present, *range(len(self.constants))]
        if self.types.ordered:
            members.sort(key=cmp_to_key(relation))
        line: list[list[Slot | int]] = []
        for member in members:
            same = next((own for own in line if relation(own[0], member) == 0), None)
            if same is None:
                line.append([member])
            else:
                same.append(member)
        return line

    def _allowed(self, spot: int, line: Sequence[Sequence[Slot | int]]) -> bool:
        """Tell whether the field can have a value at a spot: an odd one is that of a member of the line."""
        here = line[spot // 2] if spot % 2 else ()
        constant = next((self.constants[m] for m in here if isinstance(m, int)), None)
        if self.listed is not None:
            return constant is not None and constant in self.listed
        if not self.whole:
            return True
        if constant is not None:
            return Fraction(constant).denominator == 1
        if not self.types.ordered:
            return True
        ranks = [
            2 * rank + 1
            for rank, members in enumerate(line)
            if any(isinstance(member, int) for member in members)
        ]
        return not ranks or spot < ranks[0] or spot > ranks[-1]

    def _bits(self, relations: dict[Slot, int], place: int) -> int:
        bits = 0
        for number, op, other in self.tests:
            if isinstance(other, tuple):
                if other not in relations:
                    continue  # a missing event: the test fails
                relation = relations[other]
            else:
                index = self.constants.index(other)
                relation = (
                    _sign(place - 2 * index - 1) if self.types.ordered else int(place != index)
                )
            if COMPARE[op](relation, 0):
                bits |= 1 << number
        return bits


# --- Which values meet


def _orders(group: Compared) -> Iterator[tuple[str, ...]]:
    """Yield orders in which the values of an event may be inserted."""
    return islice(permutations(sorted(group.fields)), MOST_ORDERS)


def _closed(group: Compared, names: tuple[str, ...]) -> dict[str, list[Slot]]:
    """Return for each field the values before it that it meets; all of these meet each other."""
    meets: dict[str, set[Slot]] = {name: set() for name in names}
    pending: list[tuple[Slot, Slot]] = []
    for test in group.tests.values():
        if isinstance(test.left, Field) and isinstance(test.right, Field):
            sides = [(side.name, -side.offset) for side in (test.left, test.right)]
            pending += _pairs(sides, names)
    while pending:
        (name, age), older = pending.pop()
        slot = _aged(older, -age)
        if slot not in meets[name]:
            pending += (pair for other in meets[name] for pair in _pairs([slot, other], names))
            meets[name].add(slot)
    return {name: sorted(own) for name, own in meets.items()}


def _pairs(slots: Iterable[Slot], names: Sequence[str]) -> Iterator[tuple[Slot, Slot]]:
    """Yield every two of some slots, the newer one first."""
    for one, two in combinations(slots, 2):
        yield (one, two) if _is_newer(one, two, names) else (two, one)


def _is_newer(one: Slot, two: Slot, names: Sequence[str]) -> bool:
    """Tell whether the value of a slot is inserted after that of another one."""
    return (-one[1], names.index(one[0])) > (-two[1], names.index(two[0]))


def _aged(slot: Slot, by: int) -> Slot:
    return slot[0], slot[1] + by


def _getter(indices: Sequence[int]) -> Callable[[Type], Type]:
    """Return the function that selects some codes of a type."""
    if len(indices) > 1:
        return itemgetter(*indices)
    return lambda codes: tuple(codes[index] for index in indices)


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


# --- Values


def between(low: Fraction | None, high: Fraction | None) -> Fraction:
    """Return a simple number above one and below another, where there are any.

    >>> between(Fraction(1), None), between(None, None), between(Fraction(1), Fraction(2))
    (Fraction(2, 1), Fraction(0, 1), Fraction(3, 2))
    """
    if low is None:
        return Fraction(0) if high is None else Fraction(high.__ceil__() - 1)
    above = Fraction(low.__floor__() + 1)
    return above if high is None or above < high else (low + high) / 2


def in_hindsight(
    values: Iterable[Fraction], constants: Sequence[Fraction], unit: int
) -> dict[Fraction, Fraction]:
    """Return a readable number for each value, in the same order; constants stay as they are.

    Below and above the constants, and without any, the numbers are whole, and `unit` apart.

    >>> in_hindsight([Fraction(1, 2), Fraction(-3), Fraction(5, 4)], [Fraction(1)], 1)
    {Fraction(-3, 1): Fraction(-1, 1), Fraction(1, 2): Fraction(0, 1), Fraction(5, 4): Fraction(2, 1)}
    """
    free = sorted(set(values) - set(constants))
    if not constants:
        return {value: Fraction(unit * rank) for rank, value in enumerate(free, 1)}
    low, high = constants[0], constants[-1]
    below = [value for value in free if value < low]
    chosen = {
        value: Fraction(low.__ceil__() - unit * (len(below) - rank))
        for rank, value in enumerate(below)
    }
    for one, two in pairwise(constants):
        inside = [value for value in free if one < value < two]
        step = (two - one) / (len(inside) + 1)
        chosen |= {value: one + step * rank for rank, value in enumerate(inside, 1)}
    above = [value for value in free if value > high]
    chosen |= {
        value: Fraction(high.__floor__() + unit * rank) for rank, value in enumerate(above, 1)
    }
    return chosen
