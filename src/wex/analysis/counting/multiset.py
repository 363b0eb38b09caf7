"""Starts counted as multisets: a context, and a vector of how many starts are in each window state.

More starts in a context can do all that fewer can, so only the maximal vectors are explored.
With `keep disjoint`, where a window clears the starts before it, that does not hold: then all
vectors are explored. Where the states do not tell whether `within` lets the window be, both are followed: it
clears the starts, or the starts that would end are too old, and only they are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.graphs import cyclic, greatest_weights
from wex.analysis.lifetimes import DEAD
from wex.automata.explore import Exploration, shortest

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from wex.analysis.counting.single import Place, Starts
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.regions.graph import Budget

PER_STEP = 16  # states of a vector that are moved in a step of work
Vector = tuple[tuple[int, int], ...]  # (window state, number of starts in it), sorted
VectorNode = tuple[int, Vector]  # a context and a vector
Triple = tuple[VectorNode, int, int]  # a node, the state of a new start, the state of an old one
# By node edges, the vectors that are left before them, and the nodes that follow; none on which starts are cleared.
Growth = dict[VectorNode, list[tuple["Edge", Vector, VectorNode]]]
Weigh = Callable[[list[int]], int]  # sums the numbers of starts that end together


class Vectors:
    """The contexts and vectors that streams reach, in the order of discovery."""

    def __init__(
        self,
        numbers: Exploration[VectorNode, Edge],
        maximal: list[VectorNode],
        total: Callable[[VectorNode], int],
    ) -> None:
        self._numbers = numbers
        self.maximal = maximal  # the nodes that no other node covers
        self._total = total

    @property
    def most(self) -> int:
        """Return the greatest number of starts."""
        return max(map(self._total, self._numbers.states))

    def path_to(self, node: VectorNode) -> list[Edge]:
        """Return a shortest path to a node."""
        return self._numbers.path_to(self._numbers[node])

    def paths_to_count(self, count: int) -> Iterator[list[Edge]]:
        """Yield paths to nodes with at least so many starts, the shortest first."""
        return (self.path_to(node) for node in self._numbers.states if self._total(node) >= count)


def vector_after(
    starts: Starts, places: Set[Place], node: VectorNode, edge: Edge, *, spawn: bool
) -> Vector:
    """Return the vector after an event; with `spawn` including the start that begins there."""
    counts: dict[int, int] = {}
    for state, count in node[1]:
        after = starts.moved(state, edge)
        if after != DEAD and (edge.to, after) in places:
            counts[after] = counts.get(after, 0) + count
    new = starts.born(edge)
    if spawn and new != DEAD and (edge.to, new) in places:
        counts[new] = counts.get(new, 0) + 1
    return tuple(sorted(counts.items()))


def vectors_of(
    starts: Starts,
    places: Set[Place],
    budget: Budget,
    *,
    clears: bool = False,
    aged: bool = False,
    clipped: bool = False,
) -> Vectors:
    """Return the vectors that streams reach: finitely many if no cycle adds starts.

    A window `clears` the others; if they are `aged`, starts in final states may be too old for one. With
    `clipped` one start in a state stands for any number of them.
    """
    numbers: Exploration[VectorNode, Edge] = Exploration([(0, ())], budget.check_vectors)
    maximal: dict[int, list[Vector]] = {0: [()]}  # by context
    for node in numbers:
        if not clears and node[1] not in maximal[node[0]]:
            continue  # a vector that was found later covers it
        for edge in starts.contexts.edges[node[0]]:
            for left in _left(starts, node, edge, aged=aged) if clears else [node]:
                vector = vector_after(starts, places, left, edge, spawn=True)
                work = 1 + len(vector) // PER_STEP
                budget.check(steps=work)
                if clipped:
                    vector = _support(vector)
                if (edge.to, vector) in numbers:
                    continue
                if not clears:
                    others = maximal.setdefault(edge.to, [])
                    budget.check(steps=work * len(others))
                    if any(_covers(other, vector) for other in others):
                        continue
                    others[:] = [other for other in others if not _covers(vector, other)]
                    others.append(vector)
                numbers.reach((edge.to, vector), edge)
    kept = [node for node in numbers.states if clears or node[1] in maximal[node[0]]]
    alone = clears and starts.window.until is None

    def total(node: VectorNode) -> int:
        """Return the number of starts in a node: a window that clears the others is alone."""
        going = sum(count for state, count in node[1] if not (alone and starts.window.final[state]))
        ends = alone and any(starts.window.final[state] for state, _ in node[1])
        return max(1, going if aged else 0) if ends else going

    return Vectors(numbers, kept, total)


def _covers(more: Vector, less: Vector) -> bool:
    counts = dict(more)
    return all(counts.get(state, 0) >= count for state, count in less)


def _left(starts: Starts, node: VectorNode, edge: Edge, *, aged: bool) -> list[VectorNode]:
    """Return what may be left of a node before an event: nothing if a window that has ended clears it.

    If starts are `aged`, those that would end may be too old instead.
    """
    context, vector = node
    going = tuple((state, count) for state, count in vector if not starts.clears([state], edge))
    if going == vector:
        return [node]
    return [(context, ()), (context, going)] if aged and going else [(context, ())]


# --- Unbounded numbers of starts


@dataclass(frozen=True)
class GrowingCycle:
    """A path to a context, and a cycle there that adds a start each time it is traversed.

    `states` are the window states in which the starts accumulate, as far as they are known.
    """

    stem: tuple[Edge, ...]
    edges: tuple[Edge, ...]
    states: tuple[int, ...] = ()

    def path(self, times: int) -> list[Edge]:
        """Return the path that traverses the cycle so many times."""
        return [*self.stem, *self.edges * times]


def growing_cycle(
    starts: Starts,
    places: Set[Place],
    budget: Budget,
    *,
    aged: bool = False,
    same_moment: bool = False,
) -> GrowingCycle | None:
    """Return a cycle that adds starts although windows clear them, if there is one.

    No window ends on such a cycle, and with `same_moment` it takes no time. The occupied states decide when
    windows end, so the cycle has to come back to the same occupied states; it adds starts if two of them
    enter one state on it. If starts are `aged`, those in final states may be too old: the cycle may need more
    time than there is.
    """
    numbers: Exploration[VectorNode, Edge] = Exploration([(0, ())], budget.check_vectors)
    graph: Growth = {}
    for node in numbers:
        graph[node] = []
        for edge in starts.contexts.edges[node[0]]:
            for left in _left(starts, node, edge, aged=aged):
                vector = vector_after(starts, places, left, edge, spawn=True)
                budget.check(steps=1 + len(vector) // PER_STEP)
                after = (edge.to, _support(vector))
                numbers.reach(after, edge)
                if (left[1] or not node[1]) and (edge.same_moment or not same_moment):
                    graph[node].append((edge, left[1], after))
    component_of = cyclic({node: [after for _, _, after in row] for node, row in graph.items()})
    for node in component_of:
        cycle = _cycle_at(starts, node, graph, component_of, budget)
        if cycle is not None:
            return GrowingCycle(tuple(numbers.path_to(numbers[node])), tuple(cycle))
    return None


def _support(vector: Vector) -> Vector:
    return tuple((state, 1) for state, _ in vector)


def _cycle_at(
    starts: Starts,
    node: VectorNode,
    graph: Growth,
    component_of: dict[VectorNode, int],
    budget: Budget,
) -> list[Edge] | None:
    """Return a cycle through a node that adds starts, if there is one.

    A start begins on the cycle and ends up in the state of another one, as in `Starts.pumps`; here
    in the graph of occupied states.
    """

    def edges_of(source: VectorNode) -> Iterator[tuple[Edge, Set[int], VectorNode]]:
        for edge, left, after in graph[source]:
            budget.check()
            if component_of.get(after) == component_of[node]:
                yield edge, dict(left).keys(), after

    def successors(triple: Triple) -> Iterator[tuple[Edge, Triple]]:
        source, new, old = triple
        for edge, left, after in edges_of(source):
            new_after, old_after = starts.moved(new, edge), starts.moved(old, edge)
            if new in left and old in left and DEAD not in (new_after, old_after):
                yield edge, (after, new_after, old_after)

    for state, _ in node[1]:
        first: list[tuple[Edge, Triple]] = []
        for edge, left, after in edges_of(node):
            new, old = starts.born(edge), starts.moved(state, edge)
            if state in left and DEAD not in (new, old):
                first.append((edge, (after, new, old)))
        cycle = shortest(first, successors, (node, state, state).__eq__)
        if cycle is not None:
            return cycle[1]
    return None


# --- Windows that share a position


def most_shared(
    starts: Starts,
    vectors: Vectors,
    budget: Budget,
    weigh: Weigh = sum,
) -> tuple[int, list[Edge]] | None:
    """Return how many windows can share a position, and a path of a stream where that many do.

    Each maximal vector is continued without new starts. An edge weighs as many windows as end
    there: `weigh` sums the numbers of starts that end. None if there is no greatest number.
    """
    graph: dict[VectorNode, list[tuple[int, VectorNode]]] = {}
    edges: dict[tuple[VectorNode, VectorNode], Edge] = {}
    numbers: Exploration[VectorNode, None] = Exploration(vectors.maximal, budget.check_vectors)
    for node in numbers:
        row: dict[VectorNode, int] = {}
        work = 1 + len(node[1]) // PER_STEP
        for edge in starts.contexts.edges[node[0]]:
            budget.check(steps=work)
            ending = [count for state, count in node[1] if starts.ends(state, edge)]
            after = (edge.to, vector_after(starts, starts.alive, node, edge, spawn=False))
            weight = weigh(ending) + _ending_at(starts, after, weigh)
            if weight >= row.get(after, 0):
                row[after] = weight
                edges[node, after] = edge
        graph[node] = [(weight, after) for after, weight in row.items()]
        numbers.add(row)
    at_end = {node: _ending_with_data(starts, node, weigh) for node in graph}
    value = greatest_weights(graph, at_end)
    if value is None:
        return None
    totals = [value[node] + _ending_at(starts, node, weigh) for node in vectors.maximal]
    best = max(totals)
    first = vectors.maximal[totals.index(best)]

    def heaviest_steps(
        target: tuple[VectorNode, int],
    ) -> Iterator[tuple[Edge, tuple[VectorNode, int]]]:
        """Yield the steps after which the missing weight can still be reached."""
        node, missing = target
        for weight, after in graph[node]:
            if weight + value[after] >= missing:
                yield edges[node, after], (after, missing - weight)

    path = shortest(
        [(None, (first, value[first]))],
        heaviest_steps,
        lambda target: at_end[target[0]] >= target[1],
    )
    assert path is not None
    return best, [*vectors.path_to(first), *path[1]]


def _ending_at(starts: Starts, node: VectorNode, weigh: Weigh) -> int:
    """Return how many windows end with the event that led to a node."""
    return 0 if starts.window.until is not None else _accepting(starts, node, weigh)


def _ending_with_data(starts: Starts, node: VectorNode, weigh: Weigh) -> int:
    """Return how many windows end because the data ends: `until … or end`."""
    return _accepting(starts, node, weigh) if starts.window.clauses.or_end else 0


def _accepting(starts: Starts, node: VectorNode, weigh: Weigh) -> int:
    return weigh([count for state, count in node[1] if starts.window.final[state]])
