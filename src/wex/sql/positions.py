"""The rows that a condition can refer to: navigation on the positions of a pattern.

A position is an occurrence of a variable. The ways to match a pattern are paths through the graph
of its positions, so what holds on all paths to a position holds whenever its condition is asked:
that the last `A` is two rows earlier, or that all rows so far are `A`. The graph may have paths
that no match takes, because counts are forgotten; then less is proved, never something wrong.

MEASURES are asked behind the last row, at the position END.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex.sql.pattern import Choice, Concatenation, Pattern, Repeat, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Chosen = Callable[[int], bool]

START = -1  # before the first row
State = tuple[int, int]  # a position, and how many of the rows so far are chosen
FARTHEST = 100  # rows that a condition looks back


@dataclass(frozen=True)
class Back:
    """The row that many rows earlier; if `more_than` is given, NULL unless the match has more rows."""

    rows: int
    more_than: int | None = None


@dataclass(frozen=True)
class FirstRow:
    """The first row of the match."""


@dataclass(frozen=True)
class NoRow:
    """No row: the value is NULL."""


Row = Back | FirstRow | NoRow


@dataclass
class Graph:
    """The positions of a pattern, and which may precede which."""

    variables: list[Variable] = field(default_factory=list)
    before: list[set[int]] = field(default_factory=list)  # by position, END last
    after: list[set[int]] = field(default_factory=list)  # END is not among them
    ends: set[int] = field(default_factory=set)
    shortest: int = 0  # rows of a match at least

    @property
    def end(self) -> int:
        """Return the position behind the last row."""
        return len(self.variables)

    def key(self, position: int) -> str:
        """Return the variable at a position, as SQL compares names; none at END."""
        return self.variables[position].name.key if position < self.end else ""

    def ancestors(self, position: int) -> set[int]:
        """Return the positions of rows that may be earlier than a position's."""
        found: set[int] = set()
        todo = set(self.before[position])
        while todo:
            one = todo.pop()
            if one != START and one not in found:
                found.add(one)
                todo |= self.before[one]
        return found

    def descendants(self, position: int) -> set[int]:
        """Return the positions of rows that may be later than a position's."""
        found: set[int] = set()
        todo = set(self.after[position])
        while todo:
            one = todo.pop()
            if one not in found:
                found.add(one)
                todo |= self.after[one]
        return found

    def fewest_before(self, position: int) -> int:
        """Return how many rows precede a position at least."""
        layer, rows = {position}, 0
        while True:
            layer = {previous for one in layer for previous in self.before[one]}
            if START in layer:
                return rows
            rows += 1

    # --- Which row

    def last(self, position: int, chosen: Chosen, offset: int) -> Row | None:
        """Return the row of LAST(variable, offset), or None if it is not the same on all paths.

        The row of the position itself counts, if it is chosen.
        """
        start = position, int(position != self.end and chosen(position))
        following: dict[State, set[State]] = {}
        hits, todo = set(), {start}
        while todo:
            one, seen = state = todo.pop()
            if seen > offset:
                hits.add(state)
            else:
                earlier = self.before[one] - {START}
                following[state] = {(other, seen + chosen(other)) for other in earlier}
                todo |= following[state] - following.keys() - hits
        if not hits:
            return NoRow()
        found = _lengths(start, following, hits)
        without = {state for state in following if START in self.before[state[0]]}
        longest_without = _longest({start}, following, without)
        if len(found) != 1 or longest_without is None:
            return None
        distance = found.pop()
        fewest = distance + min(self.fewest_before(one) for one, _ in hits)
        return _guarded(distance, fewest, longest_without)

    def first(self, position: int, chosen: Chosen, offset: int) -> Row | None:
        """Return the row of FIRST(variable, offset), or None if it is not the same on all paths."""
        reached = self.ancestors(position) | self._self(position)
        if not any(map(chosen, reached)):
            return NoRow()
        hits, longest_without = self._firsts(position, reached, chosen, offset)
        if longest_without is None:
            return None
        if not hits:
            return NoRow()
        distances = {hit: self._distances(hit, position) for hit in hits}
        different = set().union(*distances.values())
        if len(different) == 1:
            fewest = min(hits.values()) + min(different)
            return _guarded(min(different), fewest, longest_without)
        always_first = offset == 0 and longest_without == -1 and set(hits.values()) == {0}
        heads = {one for one in reached if START in self.before[one]}
        return FirstRow() if always_first and heads == set(hits) else None

    def only(self, position: int, chosen: Chosen) -> Row | None:
        """Return the first row if it is the only one that is chosen, on all paths."""
        reached = self.ancestors(position) | self._self(position)
        if any(chosen(one) and self.before[one] != {START} for one in reached):
            return None
        row = self.first(position, chosen, 0)
        return row if isinstance(row, FirstRow) else None

    def _firsts(
        self, position: int, reached: set[int], chosen: Chosen, offset: int
    ) -> tuple[dict[int, int], int | None]:
        """Return where the row may be, with the fewest rows before it, and the most rows without it.

        The second result is the greatest number of rows before `position` on paths that lack the
        row: -1 if none lacks it, None if there is no greatest number.
        """
        starts = {(one, int(chosen(one))) for one in reached if START in self.before[one]}
        hits: dict[int, int] = {}
        without: dict[State, set[State]] = {}  # with the states that follow
        alive, rows = starts, 0
        while alive:
            following = set()
            for one, seen in alive:
                if seen > offset:
                    hits.setdefault(one, rows)
                elif (one, seen) not in without:
                    after = self.after[one] & reached
                    without[one, seen] = {(later, seen + chosen(later)) for later in after}
                    following |= without[one, seen]
            alive, rows = following, rows + 1
        goals = self.ends if position == self.end else {position}
        longest = _longest(starts, without, {state for state in without if state[0] in goals})
        return (
            hits,
            longest + 1
            if longest is not None and longest >= 0 and position == self.end
            else longest,
        )

    def _self(self, position: int) -> set[int]:
        return {position} if position != self.end else set()

    def _distances(self, start: int, position: int) -> set[int]:
        """Return how many rows lie between two positions; if there are several numbers, two of them."""
        between = self.descendants(start) | {start}
        layer, distances = {position}, set()
        for distance in range(2 * len(self.variables) + 2):
            if start in layer:
                distances.add(distance)
            layer = {previous for one in layer for previous in self.before[one]} & between
            if not layer or len(distances) > 1:
                break
        return distances

    # --- How many rows

    def others(self, position: int, chosen: Chosen) -> int | None:
        """Return how many of the rows before a position are not chosen, if that is a fixed number."""
        reached = self.ancestors(position)
        least = {START: 0}
        most = {START: 0}
        for _ in range(2 * len(reached) + 2):
            changed = False
            for one in [*reached, position]:
                for previous in self.before[one]:
                    if previous not in least:
                        continue
                    # The position itself may precede itself, in a loop.
                    weight = int(previous != START and not chosen(previous))
                    low, high = least[previous] + weight, most[previous] + weight
                    if one not in least or low < least[one] or high > most[one]:
                        least[one] = min(low, least.get(one, low))
                        most[one] = max(high, most.get(one, high))
                        changed = True
            if not changed:
                return least[position] if least[position] == most[position] else None
        return None


def _guarded(distance: int, fewest: int, longest_without: int) -> Row | None:
    """Return a row at a distance, with a guard if some paths do not have it.

    `fewest` is the least number of rows before the position on the paths that have the row,
    `longest_without` the greatest on those that have not, -1 if there are none.
    """
    if distance > FARTHEST:
        return None
    if longest_without < 0:
        return Back(distance)
    return Back(distance, longest_without + 1) if longest_without < fewest else None


def graph_of(pattern: Pattern) -> Graph:
    """Return the graph of a pattern without anchors."""
    graph = Graph()
    _first, ends, _empty = _add(pattern, {START}, graph)
    graph.before.append(set(ends))
    graph.ends = set(ends)
    graph.shortest = _shortest(pattern)
    graph.after = [set() for _ in graph.variables]
    for one in range(graph.end):
        for previous in graph.before[one] - {START}:
            graph.after[previous].add(one)
    return graph


def _reaching(following: dict[State, set[State]], goals: set[State]) -> set[State]:
    """Return the states from which a goal can be reached."""
    before: dict[State, list[State]] = {}
    for one, after in following.items():
        for state in after:
            before.setdefault(state, []).append(one)
    found, todo = set(goals), list(goals)
    while todo:
        for one in before.get(todo.pop(), ()):
            if one not in found:
                found.add(one)
                todo.append(one)
    return found


def _lengths(start: State, following: dict[State, set[State]], goals: set[State]) -> set[int]:
    """Return the lengths of the paths to a goal; if there are several, two of them."""
    useful = _reaching(following, goals)
    alive, lengths = {start} & useful, set()
    for length in range(2 * len(useful) + 1):
        if alive & goals:
            lengths.add(length)
        if not alive or len(lengths) > 1:
            break
        alive = {after for one in alive for after in following.get(one, ())} & useful
    return lengths


def _longest(
    starts: set[State], following: dict[State, set[State]], goals: set[State]
) -> int | None:
    """Return the length of the longest path to a goal, -1 if there is none, None if there is no longest one."""
    useful = _reaching(following, goals)
    edges = {one: following.get(one, set()) & useful for one in useful}
    waiting = dict.fromkeys(useful, 0)
    for after in edges.values():
        for state in after:
            waiting[state] += 1
    length = {one: 0 if one in starts else -1 for one in useful}
    ready = [one for one, count in waiting.items() if not count]
    done = 0
    while ready:
        one = ready.pop()
        done += 1
        for state in edges[one]:
            if length[one] >= 0:
                length[state] = max(length[state], length[one] + 1)
            waiting[state] -= 1
            if not waiting[state]:
                ready.append(state)
    if done < len(useful):  # a cycle
        return None
    return max((length[goal] for goal in goals), default=-1)


def _shortest(pattern: Pattern) -> int:
    """Return how many rows a pattern matches at least."""
    match pattern:
        case Variable():
            return 1
        case Concatenation(parts):
            return sum(map(_shortest, parts))
        case Choice(parts):
            return min(map(_shortest, parts))
        case Repeat(part, least):
            return least * _shortest(part)
    return 0


def _add(pattern: Pattern, entries: Iterable[int], graph: Graph) -> tuple[set[int], set[int], bool]:
    """Add a part that follows some positions; return its first and last positions, and whether it may be empty."""
    match pattern:
        case Variable():
            position = len(graph.variables)
            graph.variables.append(pattern)
            graph.before.append(set(entries))
            return {position}, {position}, False
        case Concatenation(parts):
            return _add_sequence(parts, set(entries), graph)
        case Choice(parts):
            added = [_add(part, entries, graph) for part in parts]
            firsts = {one for first, _, _ in added for one in first}
            lasts = {one for _, last, _ in added for one in last}
            return firsts, lasts, any(empty for _, _, empty in added)
        case Repeat(part, least, most):
            firsts, lasts, empty = _add(part, entries, graph)
            if most != 1:
                for one in firsts:
                    graph.before[one] |= lasts
            return firsts, lasts, empty or least == 0
    return set(), set(), True  # an anchor


def _add_sequence(
    parts: tuple[Pattern, ...], entries: set[int], graph: Graph
) -> tuple[set[int], set[int], bool]:
    firsts: set[int] = set()
    lasts: set[int] = set()
    all_empty = True
    for part in parts:
        first, last, empty = _add(part, entries, graph)
        firsts |= first if all_empty else set()
        lasts = last | lasts if empty else last
        entries = last | entries if empty else last
        all_empty = all_empty and empty
    return firsts, lasts, all_empty
