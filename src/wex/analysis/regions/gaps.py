"""Region graphs of gaps: a region is what a path says about differences of the numbers in memory.

Predicates compare a number, or the difference of two, with a constant. Such constraints are closed
under projection, so the memories after a path are a matrix of bounds, and a path is that of a stream
if and only if no matrix on it contradicts itself: values are chosen in hindsight. No solver is needed.

Bounds beyond a largest one are forgotten, so that there are finitely many. For *gap orders* nothing is
lost by it: if all constraints between two numbers say that one exceeds the other by at least a gap
that is not negative, only the constants limit a sum of gaps (Revesz). Otherwise a second graph is made, in
which such bounds are strengthened instead: one number is then further from the other than any constant says. Its
paths are paths of streams, so both graphs are exact if they have the same words.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import ceil, floor, lcm
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError
from wex.analysis.regions.graph import quotient
from wex.analysis.regions.solved import SolvedGraph
from wex.automata.explore import Exploration
from wex.theory import terms
from wex.theory.sums import NEGATED, difference_of
from wex.theory.terms import Comparison, Constant, Field, IsFirst, Truth, atoms

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wex.analysis.regions.graph import Action, Budget, Step
    from wex.analysis.regions.query import RegionQuery
    from wex.theory.sums import Difference, Relation
    from wex.theory.terms import Atom, Guard, Op

SHARE = 0.3  # of the work for an answer
PER_REGION = 10  # how many more matrices there may be than regions of other graphs
FREE = 1 << 62  # the bound of a difference that has none
FAR = -FREE  # the bound of a difference that is below every number
NOUGHT = 1  # the bound "at most 0"

Bound = int  # twice a number, plus 1 for "at most", 0 for "less than"
Row = list[Bound]
Matrix = list[Row]  # [i][j] bounds value i less value j; value 0 is the number 0
Slot = tuple[str, int]  # a field and its age
Limit = tuple[int, int, Bound]  # value i less value j is bounded
Node = tuple[int, tuple[bool, ...], tuple[tuple[Bound, ...], ...]]  # level, flags, matrix


def _sum(one: Bound, two: Bound) -> Bound:
    if FREE in (one, two):
        return FREE
    if FAR in (one, two):
        return FAR
    return one + two - (one & 1 | two & 1)


def _close(matrix: Matrix) -> None:
    """Make every bound the least that follows from all of them."""
    size = range(len(matrix))
    for via in size:
        for one in size:
            first = matrix[one][via]
            if first != FREE:
                row, other = matrix[one], matrix[via]
                for two in size:
                    bound = _sum(first, other[two])
                    row[two] = min(bound, row[two])


def _narrowed(matrix: Matrix, limit: Limit) -> Matrix | None:
    """Return a closed matrix with one more bound, or None if it contradicts itself."""
    one, two, bound = limit
    if matrix[one][two] <= bound:
        return matrix
    if _sum(matrix[two][one], bound) < NOUGHT:
        return None
    found = []
    for row in matrix:
        here = _sum(row[one], bound)
        found.append(
            row
            if here == FREE
            else [min(own, _sum(here, more)) for own, more in zip(row, matrix[two], strict=True)]
        )
    return found


class _OpenError(Exception):
    """It depends on an atom what is read."""

    def __init__(self, atom: Guard) -> None:
        self.atom = atom


Cases = tuple[tuple[bool, tuple[Limit, ...]], ...]  # of a truth value: what bounds it means


class GapRegions(SolvedGraph):
    """The matrices that paths lead to; those with the same continuations are merged."""

    method = "gaps"

    def __init__(
        self, query: RegionQuery, budget: Budget, known: dict[Atom, Difference], times: int
    ) -> None:
        super().__init__(query, budget)
        self.known = known
        self.scale = lcm(*(own.limit.denominator for own in known.values()))
        kinds = {name: Field(name, 0, query.fields[name]).kind for name in self.ages}
        self.numbers = [name for name, kind in kinds.items() if kind in ("whole", "real")]
        self.flags = [name for name, kind in kinds.items() if kind == "bool"]
        self.whole = {name for name, kind in kinds.items() if kind == "whole"}
        self._measure(times)
        self.slots = [self._slots(level) for level in range(query.levels)]
        self.cases = [self._cases_at(level) for level in range(query.levels)]
        self.forgot = False  # whether a bound beyond the largest one was forgotten
        self.ordered = True  # whether all constraints are gap orders
        self.least: dict[str, Bound] = {}  # bounds what the number before an event exceeds it by
        self.strengthens = False
        rows, levels = self._explore()
        self._merge(rows, levels)
        lossless = self.ordered or not self.forgot or self._has_streams(rows, levels)
        self.exact = query.exact and lossless

    # --- Constraints

    def _measure(self, times: int) -> None:
        """Set the largest bounds that are remembered, of numbers and of differences.

        Gap orders need no more than the range of the constants; others may need so many times the
        largest gap.
        """
        single = [own.limit for own in self.known.values() if own.right is None]
        single += [Fraction(end) for most in self.query.bounds.values() for end in (0, most)]
        gaps = [abs(own.limit) for own in self.known.values() if own.right is not None]
        low, high = min(single, default=Fraction(0)), max(single, default=Fraction(0))
        more = 1
        if times:
            more += ceil(high - low + times * max([Fraction(0), *gaps]))
        self.widest = (ceil(high - low) + more) * self.scale
        self.range = (floor(low) - more) * self.scale, (ceil(high) + more) * self.scale

    def _slots(self, level: int) -> list[Slot]:
        """Return the numbers of a gram at a level: those in memory first, then those of the event."""
        memory = [
            (name, age)
            for name in self.numbers
            for age in range(1, min(self.ages[name], level) + 1)
        ]
        return [*memory, *((name, 0) for name in self.numbers)]

    def _cases_at(self, level: int) -> dict[Guard, Cases]:
        """Return for each atom the cases in which it is true or false at a level."""
        index = {slot: number for number, slot in enumerate(self.slots[level], 1)}
        cases: dict[Guard, Cases] = {}
        for atom, own in self.known.items():
            sides = [side for side in (own.left, own.right) if side is not None]
            # Also of fields that cancel each other out: a comparison that reads a missing event is false.
            if any(-field.offset > level for field in terms.fields(atom)):
                cases[atom] = ((False, ()),)
                continue
            left, right = (
                0 if side is None else index[side.name, -side.offset]
                for side in (own.left, own.right)
            )
            whole = all(side.name in self.whole for side in sides)
            cases[atom] = tuple(
                (true, limits)
                for true in (True, False)
                for limits in self._cases(
                    own.op if true else NEGATED[own.op], left, right, own.limit, whole=whole
                )
            )
        return cases

    def _cases(
        self, op: Relation, left: int, right: int, limit: Fraction, *, whole: bool
    ) -> list[tuple[Limit, ...]]:
        """Return the cases in which a comparison holds, each as bounds."""

        def bound(number: Fraction, *, strict: bool) -> Bound:
            if whole:
                number, strict = Fraction(ceil(number) - 1 if strict else floor(number)), False
            return 2 * int(number * self.scale) + (not strict)

        match op:
            case "<" | "<=":
                return [((left, right, bound(limit, strict=op == "<")),)]
            case ">" | ">=":
                return [((right, left, bound(-limit, strict=op == ">")),)]
            case "=":
                most, least = bound(limit, strict=False), bound(-limit, strict=False)
                return [((left, right, most), (right, left, least))]
        return [
            *self._cases("<", left, right, limit, whole=whole),
            *self._cases(">", left, right, limit, whole=whole),
        ]

    # --- The graph

    def _explore(self) -> tuple[list[list[Step]], list[int]]:
        """Return the steps and the levels of all nodes that paths lead to."""
        initial: Node = (0, (), ((NOUGHT,),))
        most = PER_REGION * self.budget.regions
        numbers: Exploration[Node, None] = Exploration([initial])
        rows: list[list[Step]] = []
        for node in numbers:
            if len(numbers) > most:
                self.budget.give_up()
                raise TooManyError
            steps: dict[Step, None] = {}
            for action, after in self._steps(node):
                steps[action, numbers[after]] = None
            rows.append(list(steps))
        return rows, [level for level, _, _ in numbers.states]

    def _merge(self, rows: Sequence[Sequence[Step]], levels: Sequence[int]) -> None:
        """Set the graph, in which nodes with the same continuations are one region."""
        order: dict[int, int] = {}
        blocks = [order.setdefault(block, len(order)) for block in quotient(rows, levels)]
        self.edges = [[] for _ in order]
        self.level = [0] * len(order)
        for number, row in enumerate(rows):
            self.edges[blocks[number]] = sorted({(action, blocks[to]) for action, to in row})
            self.level[blocks[number]] = levels[number]

    def _has_streams(self, rows: Sequence[Sequence[Step]], levels: Sequence[int]) -> bool:
        """Tell whether the graph in which bounds are strengthened has the same words."""
        self.strengthens = True
        try:
            others, their_levels = self._explore()
        except TooManyError:
            return False
        first = len(rows)
        moved = [[(action, to + first) for action, to in row] for row in others]
        blocks = quotient([*rows, *moved], [*levels, *their_levels])
        return blocks[0] == blocks[first]

    def _steps(self, node: Node) -> Iterator[tuple[Action, Node]]:
        """Yield the action and the node after it for each case of an event."""
        level, past, memory = node
        whole = self._extended(memory)
        for flags in self._flags(level, past):
            for action, matrix in self._cells(level, flags, whole, {}):
                after = self._after(level, flags, matrix, memory)
                if after is not None:
                    yield action, after

    def _extended(self, memory: Sequence[Sequence[Bound]]) -> Matrix:
        """Return a matrix with the numbers of a new event, of which only the domain is known."""
        new = len(self.numbers)
        size = len(memory) + new
        matrix = [[*row, *[FREE] * new] for row in memory]
        matrix += [[FREE] * size for _ in range(new)]
        for index in range(len(memory), size):
            matrix[index][index] = NOUGHT
        for offset, name in enumerate(self.numbers):
            if (most := self.query.bounds.get(name)) is not None:
                index = len(memory) + offset
                matrix[index][0], matrix[0][index] = 2 * (most - 1) * self.scale + 1, NOUGHT
        _close(matrix)
        return matrix

    def _flags(self, level: int, past: tuple[bool, ...]) -> Iterator[dict[Slot, bool]]:
        """Yield the flags of a gram: those in memory, with all values of those of the event."""
        slots = [
            (name, age) for name in self.flags for age in range(1, min(self.ages[name], level) + 1)
        ]
        known = dict(zip(slots, past, strict=True))
        for bits in range(1 << len(self.flags)):
            own = {(name, 0): bool(bits >> at & 1) for at, name in enumerate(self.flags)}
            yield {**known, **own}

    def _cells(
        self,
        level: int,
        flags: Mapping[Slot, bool],
        matrix: Matrix,
        truth: Mapping[Guard, bool],
    ) -> Iterator[tuple[Action, Matrix]]:
        """Yield what can be read, with the matrix of each case; only atoms that matter make cases."""
        self.budget.check(share=SHARE)

        def true(atom: Guard) -> bool:
            if isinstance(atom, Truth):
                return flags.get((atom.field.name, -atom.field.offset), False)
            if atom not in truth:
                raise _OpenError(atom)
            return truth[atom]

        try:
            action = self.query.action(level, true)
        except _OpenError as error:
            for holds, limits in self.cases[level][error.atom]:
                narrow: Matrix | None = matrix
                for limit in limits:
                    narrow = narrow and _narrowed(narrow, limit)
                if narrow is not None:
                    yield from self._cells(level, flags, narrow, {**truth, error.atom: holds})
            return
        if action is not None:
            yield action, matrix

    def _after(
        self,
        level: int,
        flags: dict[Slot, bool],
        matrix: Matrix,
        memory: Sequence[Sequence[Bound]],
    ) -> Node | None:
        """Return the node after an event, or None if strengthened bounds contradict each other."""
        if not self.strengthens:
            self._note(level, matrix, memory)
        top = min(level + 1, self.query.levels - 1)
        slots = {slot: number for number, slot in enumerate(self.slots[level], 1)}
        kept = [0, *(slots[name, age - 1] for name, age in self.slots[top] if age)]
        after = [[matrix[one][two] for two in kept] for one in kept]
        if self._limited(after):
            _close(after)
            if any(after[index][index] < NOUGHT for index in range(len(after))):
                return None
        past = tuple(
            flags[name, age - 1]
            for name in self.flags
            for age in range(1, min(self.ages[name], top) + 1)
        )
        return top, past, tuple(map(tuple, after))

    def _note(self, level: int, matrix: Matrix, memory: Sequence[Sequence[Bound]]) -> None:
        size = len(memory)
        # If not every memory allows this event, streams on one path may differ in what can follow.
        if any(tuple(matrix[index][:size]) != tuple(memory[index]) for index in range(size)):
            self.uniform = False
        # All bounds between numbers of a closed matrix that are not gap orders.
        if any(
            NOUGHT < bound < FREE and one and two
            for one, row in enumerate(matrix)
            for two, bound in enumerate(row)
            if _sum(row[0], matrix[0][two]) != bound
        ):
            self.ordered = False
        slots = {slot: number for number, slot in enumerate(self.slots[level], 1)}
        for name in self.numbers:
            if (name, 1) in slots:
                bound = matrix[slots[name, 1]][slots[name, 0]]
                self.least[name] = max(bound, self.least.get(name, bound))

    def _limited(self, matrix: Matrix) -> bool:
        """Forget the bounds beyond the largest ones, or strengthen them; tell whether there were any."""
        low, high = self.range
        changed = False
        for one, row in enumerate(matrix):
            for two, bound in enumerate(row):
                least, most = -self.widest, self.widest
                if not two:
                    least, most = low, high
                elif not one:
                    least, most = -high, -low
                if one == two or bound in (FREE, FAR) or 2 * least <= bound <= 2 * most + 1:
                    continue
                if self.strengthens:
                    row[two] = 2 * most + 1 if bound > 2 * most else FAR
                else:
                    row[two] = FREE if bound > 2 * most else 2 * least + 1
                changed = True
        self.forgot = self.forgot or (changed and not self.strengthens)
        return changed

    def remembered(self) -> Iterator[Guard]:
        """Yield comparisons of the numbers in memory, as far as they need no arithmetic."""
        types = self.query.fields
        relations: tuple[Op, ...] = ("<", "=")
        memory = {
            name: [Field(name, -age, types[name]) for age in range(deepest)]
            for name, deepest in self.ages.items()
        }
        for name in self.flags:
            yield from map(Truth, memory[name])
        limits = sorted({own.limit for own in self.known.values() if own.right is None})
        numbers = [field for name in self.numbers for field in memory[name]]
        for field in numbers:
            whole = field.name in self.whole
            for limit in limits:
                if not whole or limit.denominator == 1:
                    constant = Constant(int(limit) if whole else limit)
                    yield from (Comparison(op, field, constant) for op in relations)
        for newer, older in combinations(numbers, 2):
            if newer.kind == older.kind:
                yield from (Comparison(op, newer, older) for op in relations)

    def least_gap(self, name: str) -> int | None:
        """Return the least rise of a field from one event to the next, if it has one."""
        bound = self.least.get(name, FREE)
        return None if bound == FREE else -(bound // 2) // self.scale


def gap_regions(query: RegionQuery, budget: Budget) -> GapRegions | None:
    """Return the region graph of a query if its guards are about differences, and it is small."""
    known: dict[Atom, Difference] = {}
    for atom in dict.fromkeys(atom for guard in query.guards() for atom in atoms(guard)):
        if isinstance(atom, Truth | IsFirst):
            continue
        own = difference_of(atom) if isinstance(atom, Comparison) else None
        if own is None or _mixes(own):
            return None
        known[atom] = own
    if not known:
        return None
    done = budget.done
    found: GapRegions | None = None
    for times in (0, 1, query.depth + 1):
        try:
            found = GapRegions(query, budget, known, times)
        except TooManyError:
            budget.restore(done)
            return found
        if found.exact:
            break
    return found


def _mixes(own: Difference) -> bool:
    """Tell whether a whole number is compared with a real one."""
    return own.left is not None and own.right is not None and own.left.kind != own.right.kind
