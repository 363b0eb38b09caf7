"""What the guards of a query compare: which values meet, now or at a later event.

Every atom is about a newest event. Shifted so that this event is the current one, it is a *test*: a
guard that reads `x[-1] > x[-3]` reads the outcome that the test `x > x[-2]` had one event earlier.
So only tests need values, and only tests of the current event; of earlier ones, outcomes are remembered.

Fields that a test reads together belong to one *group*. If no test of a group relates two events, its
events are of a few kinds. Otherwise its values have to be compared only, and `order_types.py` says
which of their relations have to be remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

from wex.spec.types import BOOL
from wex.theory import terms
from wex.theory.letters import TooManyRowsError, combinations
from wex.theory.projection import WIDTH
from wex.theory.solver import UndecidedError
from wex.theory.terms import Comparison, Constant, Field, IsFirst, Truth, atoms

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    from wex.analysis.regions.query import RegionQuery
    from wex.theory.letters import Row
    from wex.theory.terms import Atom, Guard

    Known = int | Fraction | str | bool

MOST_KINDS = 64  # of the events of one group


@dataclass(frozen=True)
class Tests:
    """The tests of a query, and for each atom of a guard its test and the age of its newest event."""

    tests: tuple[Atom, ...]
    moved: Mapping[Atom, tuple[int, int]]
    deepest: tuple[int, ...]  # of each test: the greatest age at which a guard reads its outcome


@dataclass(frozen=True)
class Kinds:
    """A group whose tests read one event each: its kinds of events are the rows of outcomes."""

    tests: tuple[int, ...]
    rows: tuple[Row, ...]

    def bits(self, row: Row) -> int:
        """Return the tests that hold for a kind of events, as a set."""
        return sum(1 << test for test, true in zip(self.tests, row, strict=True) if true)


@dataclass(frozen=True)
class Compared:
    """A group whose values are only compared, with each other and with constants.

    `listed` has the values of the fields that have only these. If the group is `dense`, there is a value between
    any two, also where fields are whole numbers.
    """

    tests: Mapping[int, Comparison]
    fields: Mapping[str, Field]
    listed: Mapping[str, tuple[Known, ...]]
    dense: bool = False

    @property
    def key(self) -> Hashable:
        """Return what decides about the types of the group."""
        return tuple(self.tests.items()), tuple(self.listed.items()), self.dense

    @property
    def ordered(self) -> bool:
        """Tell whether the values have an order; else they are equal or not, and nothing more."""
        return any(test.op not in ("=", "!=") for test in self.tests.values())

    @property
    def whole(self) -> bool:
        """Tell whether some of the fields have whole numbers only."""
        return not self.dense and any(field.kind == "whole" for field in self.fields.values())


def tests_of(query: RegionQuery) -> Tests:
    """Return the tests of all guards of a query."""
    tests: dict[Atom, int] = {}
    moved: dict[Atom, tuple[int, int]] = {}
    deepest: list[int] = []
    for atom in dict.fromkeys(atom for guard in query.guards() for atom in atoms(guard)):
        if isinstance(atom, IsFirst):
            continue
        age = min((-field.offset for field in terms.fields(atom)), default=0)
        test = tests.setdefault(terms.shifted(atom, age), len(tests))
        deepest += [0] * (len(tests) - len(deepest))
        deepest[test] = max(deepest[test], age)
        moved[atom] = (test, age)
    return Tests(tuple(tests), moved, tuple(deepest))


def groups_of(
    tests: Tests, query: RegionQuery, free: Collection[int] = ()
) -> list[Kinds | Compared] | None:
    """Return the groups of tests that share fields; None if one of them needs more than comparisons.

    A test that is `free` has any outcome at any event, as if it read a field of its own.
    """
    groups: list[tuple[set[str], list[int]]] = []
    found: list[Kinds | Compared] = []
    for number, test in enumerate(tests.tests):
        if number in free:
            continue
        truth = _of_itself(test)
        if truth is not None:
            found.append(Kinds((number,), ((truth,),)))
            continue
        names, members = {field.name for field in terms.fields(test)}, [number]
        for group in [group for group in groups if group[0] & names]:
            groups.remove(group)
            names, members = names | group[0], members + group[1]
        groups.append((names, members))
    for _, members in groups:
        own = {number: tests.tests[number] for number in sorted(members)}
        alone = all(field.offset == 0 for test in own.values() for field in terms.fields(test))
        one = _kinds(own, query) if alone else _compared(own, query)
        if one is None:
            return None
        found.append(one)
    return found + [Kinds((number,), ((False,), (True,))) for number in free]


def _of_itself(test: Atom) -> bool | None:
    """Return the outcome of a comparison of a field with itself, or None for other tests."""
    if isinstance(test, Comparison) and isinstance(test.left, Field) and test.left == test.right:
        return test.op in ("=", "<=", ">=")
    return None


def _kinds(own: Mapping[int, Atom], query: RegionQuery) -> Kinds | None:
    """Return the kinds of events of a group, if the solver knows which of them exist."""
    for test in own.values():
        linear = isinstance(test, Comparison | Truth) and not terms.is_open(test, floating=False)
        if not linear or terms.is_opaque(test):
            return None
    marks: list[Guard] = [*own.values()]
    bounded = any(
        field.name in query.bounds for test in own.values() for field in terms.fields(test)
    )
    if bounded:
        marks.append(query.in_bounds())
    try:
        rows = list(combinations(marks, 0, floating=False, most=2 * MOST_KINDS, exactly=True))
    except (TooManyRowsError, UndecidedError):
        return None
    rows = [row[: len(own)] for row in rows if not bounded or row[-1]]
    return Kinds(tuple(own), tuple(sorted(rows))) if len(rows) <= MOST_KINDS else None


def _compared(own: Mapping[int, Atom], query: RegionQuery) -> Compared | None:
    """Return a group whose tests only compare, or None if some test does more."""
    tests: dict[int, Comparison] = {}
    for number, test in own.items():
        if isinstance(test, Truth):
            test = Comparison("=", test.field, Constant(True))  # noqa: PLW2901
        if not isinstance(test, Comparison):
            return None
        sides = (test.left, test.right)
        if not all(isinstance(side, Field | Constant) for side in sides):
            return None
        if all(isinstance(side, Constant) for side in sides):
            return None
        if isinstance(test.left, Constant):
            test = Comparison(terms.MIRRORED[test.op], test.right, test.left)  # noqa: PLW2901
        tests[number] = test
    fields = {
        field.name: Field(field.name, 0, field.type)
        for test in tests.values()
        for field in terms.fields(test)
    }
    kinds = {"number" if f.kind in ("whole", "real") else f.kind for f in fields.values()}
    if len(kinds) != 1:
        return None
    if "number" not in kinds and any(test.op not in ("=", "!=") for test in tests.values()):
        return None
    listed: dict[str, tuple[Known, ...]] = {}
    many = False  # too many whole numbers lie between constants, or in bounds, to list them
    for name, field in fields.items():
        if field.type == BOOL:
            listed[name] = (False, True)
        elif field.type.values:
            listed[name] = field.type.values
        elif query.bounds.get(name, WIDTH + 1) <= WIDTH:
            listed[name] = tuple(range(query.bounds[name]))
        elif name in query.bounds:
            many = True
    group = Compared(tests, fields, listed)
    if group.whole and group.ordered:
        numbers = whole_range(group)
        many = many or numbers.stop - numbers.start > WIDTH  # `len` fails for very long ranges
    if many and not query.loose:
        return None
    return replace(group, dense=many)


def constants_in(group: Compared) -> dict[str, set[Known]]:
    """Return for each field of a group the constants that it is compared with, and its listed values."""
    constants: dict[str, set[Known]] = {
        name: set(group.listed.get(name, ())) for name in group.fields
    }
    for test in group.tests.values():
        if isinstance(test.right, Constant):
            assert isinstance(test.left, Field)
            constants[test.left.name].add(test.right.value)
    return constants


def whole_range(group: Compared) -> range:
    """Return the whole numbers from the least to the greatest constant of a group.

    A constant that is not whole separates the whole numbers next to it.
    """
    numbers = [Fraction(value) for own in constants_in(group).values() for value in own]
    if not numbers:
        return range(0)
    return range(min(numbers).__floor__(), max(numbers).__ceil__() + 1)


def ties_matter(group: Compared) -> bool:
    """Tell whether values that are equal, though to no constant, have to be told from others.

    A test that is not about equality puts one of two equal values below the other: `x > y` is false
    for them, as it is if x is below y. If no cycle of tests puts a value below itself, these directions
    belong to an order of all values of a stream and of its continuations. If every value is moved a
    little along this order, equal ones part, and no test has another outcome: streams without
    such ties have the words of all streams.

    All events have the same tests, so a cycle of values is a closed walk of fields whose steps in
    time add up to 0. There is none if, among fields that reach each other, all closed walks lead
    forwards or all lead backwards.

    >>> from wex.spec.types import REAL
    >>> x, before = Field("x", 0, REAL), Field("x", -1, REAL)
    >>> rising = {0: Comparison(">", x, before), 1: Comparison(">", x, Field("x", -2, REAL))}
    >>> ties_matter(Compared(rising, {"x": x}, {}))
    False
    >>> ties_matter(Compared({**rising, 2: Comparison("<", x, before)}, {"x": x}, {}))
    True
    """
    steps: list[tuple[str, str, int]] = []  # the lower field, the higher one, and how much later
    for test in group.tests.values():
        if isinstance(test.left, Field) and isinstance(test.right, Field):
            if test.op in ("=", "!="):
                return True
            pair = (test.left, test.right)
            low, high = pair if test.op in (">", "<=") else pair[::-1]
            steps.append((low.name, high.name, high.offset - low.offset))
    forwards = _least_walks(steps)
    backwards = _least_walks([(low, high, -later) for low, high, later in steps])
    for name in group.fields:
        component = [
            other for other in group.fields if {(name, other), (other, name)} <= forwards.keys()
        ]
        if not any(
            all(least[other, other] > 0 for other in component) for least in (forwards, backwards)
        ):
            return True
    return False


def _least_walks(steps: Iterable[tuple[str, str, int]]) -> dict[tuple[str, str], int]:
    """Return how late a walk from a field to another one ends at least; not above 0 on a cycle that goes back."""
    least: dict[tuple[str, str], int] = {}
    for low, high, later in steps:
        least[low, high] = min(later, least.get((low, high), later))
    names = sorted({name for pair in least for name in pair})
    for middle, low, high in product(names, repeat=3):  # Floyd and Warshall
        if (low, middle) in least and (middle, high) in least:
            walk = least[low, middle] + least[middle, high]
            least[low, high] = min(walk, least.get((low, high), walk))
    return least
