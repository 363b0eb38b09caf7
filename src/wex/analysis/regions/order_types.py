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

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, count, islice, pairwise, permutations
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from wex.analysis.regions.comparisons import constants_in, ties_matter, whole_range
from wex.automata.explore import Exploration
from wex.theory.evaluate import COMPARE
from wex.theory.terms import MIRRORED, Constant, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from wex.analysis.regions.comparisons import Compared, Known
    from wex.theory.evaluate import Value
    from wex.theory.terms import Comparison

Slot: TypeAlias = tuple[str, int]  # a field, and the age of the event
Code: TypeAlias = int | None  # a relation or a place; None: an event is missing
Type: TypeAlias = tuple[Code, ...]  # the number of earlier events, then a code for each relation
Outcome: TypeAlias = tuple[Type, int]  # the codes of a new value, and the tests that hold

MOST_ORDERS = 24  # of the fields of an event that are tried
OTHER = -1  # the place of a text that is none of the constants


class OrderTypes:
    """The types of one group: the initial one, and those that can follow a type.

    The values of an event are inserted one after the other, in the order of `names`. Each insertion
    adds the codes of its value; a code that no later value needs is dropped at once, so that events
    which differ in nothing else are followed as one. With `most` only types with at most so many
    different values beside the constants are followed: every path of them is still that of a stream.

    Types are numbered in the order of their discovery, in `numbers`; the initial one is 0.
    """

    def __init__(self, group: Compared, most: int | None = None) -> None:
        self.group = group
        self.most = most
        self.ordered = group.ordered
        self.ties = not self.ordered or most is not None or ties_matter(group)
        # Few values need not be those of constants, unless a test asks for them.
        self.at_constants = most is None or any(
            test.op in ("=", "!=") and isinstance(test.right, Constant)
            for test in group.tests.values()
        )
        self.meets = min(
            (_closed(group, names) for names in _orders(group)),
            key=lambda meets: sum(map(len, meets.values())),
        )
        self.names = tuple(self.meets)
        self.constants = self._constants()
        self.depth = max((age for own in self.meets.values() for _, age in own), default=0)
        layouts = [self.layout(count) for count in range(len(self.names) + 1)]
        self.insertions = [
            _Insertion(self, name, before, after, last=name == self.names[-1])
            for name, (before, after) in zip(self.names, pairwise(layouts), strict=True)
        ]
        initial: Type = (0, *(None for _ in range(layouts[0].size - 1)))
        codes = [insertion.numbers for insertion in self.insertions]
        self.numbers = codes[0]
        self.numbers.add([initial])
        self._stages = [*zip(self.insertions, [*codes[1:], self.numbers], strict=True)]

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

    def layout(self, count: int) -> _Layout:
        """Return where the codes are that later values need, after `count` insertions of an event."""
        pairs: set[tuple[Slot, Slot]] = set()
        places: set[Slot] = set()
        done = self.names[:count]
        for name, own in self.meets.items():
            for events in range(name in done, self.depth + 1):  # until a value of the field comes
                slots = [_aged(slot, -events) for slot in own if slot[1] >= events]
                slots = [slot for slot in slots if slot[1] or slot[0] in done]
                pairs.update(_pairs(slots, self.names))
                if self.constants[name]:
                    places.update(slots)
        return _Layout(
            {pair: index for index, pair in enumerate(sorted(pairs), 1)},
            {slot: index for index, slot in enumerate(sorted(places), 1 + len(pairs))},
        )

    def steps(self, number: int) -> list[tuple[int, int]]:
        """Return the tests that hold, and the type afterwards, for each event that can come."""
        partial = {(0, number): None}  # a set with an order
        for insertion, targets in self._stages:
            partial = {
                (bits | more, after): None
                for bits, before in partial
                for more, after in insertion.steps(before, targets)
            }
        return list(partial)

    def ways(self, number: int, bits: int) -> Iterator[tuple[int, tuple[Type, ...]]]:
        """Yield the types after events for which just these tests hold, with the codes of their values."""

        def inserted(codes: Type, done: int) -> Iterator[tuple[int, tuple[Type, ...]]]:
            if done == len(self.insertions):
                if codes in self.numbers:
                    yield self.numbers[codes], ()
                return
            insertion = self.insertions[done]
            for new, more in insertion.outcomes(codes):
                if more == bits & insertion.mask:
                    for after, rest in inserted(insertion.after(codes + new), done + 1):
                        yield after, (new, *rest)

        return inserted(self.numbers.states[number], 0)

    def value(
        self, insertion: _Insertion, seen: int, new: Type, values: Callable[[Slot], Value]
    ) -> Value:
        """Return a value that has the codes of an insertion, given those that it meets."""
        known: list[tuple[int, Value]] = []  # the relation to a value, and the value
        for slot, code in zip(insertion.meets, new, strict=False):
            if slot[1] <= seen:
                assert code is not None
                known.append((code, values(slot)))
        for index, constant in enumerate(self.constants[insertion.name]):
            place = new[-1]
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


@dataclass(frozen=True)
class _Layout:
    """Where the codes of pairs and places are; the first code is the number of earlier events."""

    pairs: Mapping[tuple[Slot, Slot], int]
    places: Mapping[Slot, int]

    @property
    def size(self) -> int:
        return 1 + len(self.pairs) + len(self.places)


class _Insertion:
    """Inserts the value of one field into the order of the values that it meets."""

    def __init__(
        self, types: OrderTypes, name: str, before: _Layout, after: _Layout, *, last: bool
    ) -> None:
        self.name = name
        self.last = last  # of its event
        self.numbers: Exploration[Type, None] = Exploration()
        self._rows: dict[int, list[tuple[int, int]]] = {}
        self.types = types
        self.meets = types.meets[name]
        self.constants = types.constants[name]
        self.listed = types.group.listed.get(name)
        self.whole = types.group.whole and types.group.fields[name].kind == "whole"
        pairs = [before.pairs[pair] for pair in _pairs(self.meets, types.names)]
        read = pairs + [before.places[slot] for slot in self.meets if self.constants]
        self._key = _getter([0, *read])
        self._known: dict[Type, list[Outcome]] = {}
        self._read = _relations(self.meets, self.constants, types, before)
        # Of the codes before and the new ones, those that are kept.
        new = {((name, 0), slot): at for at, slot in enumerate(self.meets, before.size)}
        places = {**before.places, (name, 0): before.size + len(self.meets)}
        codes = {**before.pairs, **new}
        self._kept = _getter(
            [0, *(codes[pair] for pair in after.pairs), *(places[slot] for slot in after.places)]
        )
        self._fits = None if types.most is None else _few_values(after, types.most, int(last))
        # Each test that reads the new value, as a set; where the code of its relation is, or what place
        # among the constants is 0 in it; and the relations for which it holds.
        self._tests: list[tuple[int, int, int | None, list[int]]] = []
        for number, test in types.group.tests.items():
            found = self._test(test)
            if found is not None:
                op, other = found
                at, zero = -1, None
                if isinstance(other, tuple):
                    at = self.meets.index(other)
                else:
                    index = self.constants.index(other)
                    zero = 2 * index + 1 if types.ordered else index
                holding = [relation for relation in (-1, 0, 1) if COMPARE[op](relation, 0)]
                self._tests.append((1 << number, at, zero, holding))
        self.mask = sum(test for test, _, _, _ in self._tests)

    def _test(self, test: Comparison) -> tuple[str, Slot | Known] | None:
        """Return how a test compares the new value, and with what; None if it reads a newer one."""
        left, right, op = test.left, test.right, test.op
        assert isinstance(left, Field)
        if isinstance(right, Constant):
            return (op, right.value) if left.name == self.name else None
        assert isinstance(right, Field)
        newer, older = (left.name, -left.offset), (right.name, -right.offset)
        if not _is_newer(newer, older, self.types.names):
            newer, older, op = older, newer, MIRRORED[op]
        return (op, older) if newer[0] == self.name else None

    def steps(self, number: int, targets: Exploration[Type, None]) -> list[tuple[int, int]]:
        """Return for each value that can come the tests that hold, and the number of the codes kept."""
        row = self._rows.get(number)
        if row is None:
            codes = self.numbers.states[number]
            after = ((bits, self.after(codes + new)) for new, bits in self.outcomes(codes))
            row = self._rows[number] = [
                (bits, targets[kept])
                for bits, kept in after
                if self._fits is None or self._fits(kept)
            ]
        return row

    def after(self, codes: Type) -> Type:
        """Return the codes that are kept of those before the value and its own."""
        kept = self._kept(codes)
        seen = kept[0]
        assert seen is not None
        return (min(seen + 1, self.types.depth), *kept[1:]) if self.last else kept

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
        line = self._line(codes, seen)
        count, ordered = len(self.meets), self.types.ordered
        # The spot of each member of the line is odd; None if it is missing.
        spots: list[int | None] = [None] * (count + len(self.constants))
        for rank, members in enumerate(line):
            for member in members:
                spots[member] = 2 * rank + 1
        known = [at for at in spots[count:] if at is not None]
        ends = 2 * len(line)
        for spot in range(ends + 1) if ordered else (*range(1, ends, 2), ends):
            if not self._allowed(spot, known):
                continue
            if ordered:
                new: list[Code] = [
                    None if at is None else (spot > at) - (spot < at) for at in spots[:count]
                ]
                place = sum((spot >= at) + (spot > at) for at in known)
            else:
                new = [None if at is None else int(spot != at) for at in spots[:count]]
                place = known.index(spot) if spot in known else OTHER
            if known:
                new.append(place)
            bits = 0
            for test, index, zero, holding in self._tests:
                relation = new[index] if zero is None else _sign(place - zero)
                if relation in holding:  # not if an event is missing
                    bits |= test
            yield tuple(new), bits

    def _line(self, codes: Type, seen: int) -> list[list[int]]:
        """Return the values that the new one meets and its constants, in order; equals together.

        They are numbered, the constants last.
        """
        count = len(self.meets)
        line = [[count + index] for index in range(len(self.constants))]
        for member, (_, age) in enumerate(self.meets):
            if age > seen:
                continue
            relations = self._read[member]
            for rank, others in enumerate(line):
                index, times, zero = relations[others[0]]
                relation = times * codes[index] - zero  # type: ignore[operator]
                if relation == 0:
                    others.append(member)
                    break
                if relation < 0 and self.types.ordered:
                    line.insert(rank, [member])
                    break
            else:
                line.append([member])
        return line

    def _allowed(self, spot: int, known: Sequence[int]) -> bool:
        """Tell whether the field can have a value at a spot; `known` are those of its constants."""
        constant = self.constants[known.index(spot)] if spot in known else None
        if self.listed is not None:
            return constant is not None and constant in self.listed
        if spot % 2 and constant is None and not self.types.ties:
            return False
        if not self.whole:
            return constant is None or self.types.at_constants
        if constant is not None:
            return Fraction(constant).denominator == 1
        return not self.types.ordered or not known or not known[0] < spot < known[-1]


def _relations(
    meets: Sequence[Slot], constants: Sequence[Known], types: OrderTypes, layout: _Layout
) -> list[list[tuple[int, int, int]]]:
    """Return for each value how codes tell its relation to the others, and then to constants.

    The relation is a code, times a factor, less a number: the place that is that of the constant.
    """
    rows: list[list[tuple[int, int, int]]] = []
    for one in meets:
        row: list[tuple[int, int, int]] = []
        for two in meets:
            direct = (one, two) in layout.pairs
            index = layout.pairs.get((one, two) if direct else (two, one), 0)
            row.append((index, 1 if direct else -1, 0))
        for constant in constants:
            own = types.constants[one[0]].index(constant)
            row.append((layout.places[one], 1, 2 * own + 1 if types.ordered else own))
        rows.append(row)
    return rows


def _few_values(layout: _Layout, most: int, older: int) -> Callable[[Type], bool]:
    """Return the test whether codes have at most so many different values beside the constants.

    Their slots are `older` than the layout says.
    """
    slots = sorted({slot for pair in layout.pairs for slot in pair} | set(layout.places))
    rows: list[tuple[int, int | None, list[int]]] = []
    for at, slot in enumerate(slots):
        earlier = ((slot, other) for other in slots[:at])
        same = [
            layout.pairs[pair]
            for one, two in earlier
            for pair in ((one, two), (two, one))
            if pair in layout.pairs
        ]
        rows.append((slot[1] + older, layout.places.get(slot), same))

    def fits(codes: Type) -> bool:
        seen, different = codes[0], 0
        for age, place, same in rows:
            if age <= seen:  # type: ignore[operator]
                at_constant = place is not None and codes[place] % 2 == 1  # type: ignore[operator]
                different += not at_constant and not any(codes[index] == 0 for index in same)
        return different <= most

    return fits


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
