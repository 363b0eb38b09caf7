"""How many starts there can be at once: contexts with the number of starts in each window state.

More starts in a context can do all that fewer can, so only the greatest vectors are followed.
Where windows clear the starts before them (`keep disjoint`) that is not so, and all are followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.analysis.graphs import cyclic, longest
from wex.analysis.window_tables import DEAD
from wex.automata.explore import Exploration, shortest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Set

    from wex.analysis.counting.single import Place, Starts
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.regions.graph import Budget

Vector = tuple[tuple[int, int], ...]  # window states and how many starts are in each, sorted
Node = tuple[int, Vector]
Triple = tuple[Node, int, int]  # a node, where the new start is, where the old one is


class Vectors:
    """The contexts and vectors that streams reach, in the order of discovery."""

    def __init__(self, numbers: Exploration[Node, Edge], maximal: list[Node]) -> None:
        self._numbers = numbers
        self.maximal = maximal  # the nodes that no other one covers

    @property
    def most(self) -> int:
        """Return the greatest number of starts."""
        return max(map(total, self._numbers.states))

    def path_to(self, node: Node) -> list[Edge]:
        """Return a shortest path to a node."""
        return self._numbers.path_to(self._numbers[node])

    def path_to_count(self, count: int) -> list[Edge]:
        """Return a shortest path to so many starts."""
        return self.path_to(next(node for node in self._numbers.states if total(node) >= count))


def total(node: Node) -> int:
    """Return how many starts there are."""
    return sum(count for _, count in node[1])


def step(starts: Starts, places: Set[Place], node: Node, edge: Edge, *, spawn: bool) -> Vector:
    """Return the vector behind an event, with what begins there or without."""
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
    clipped: bool = False,
) -> Vectors:
    """Return the vectors that streams reach; there are finitely many if starts do not pile up.

    With `clipped` one start in a state stands for any number of them.
    """
    numbers: Exploration[Node, Edge] = Exploration([(0, ())], budget.check_vectors)
    kept: dict[int, list[Vector]] = {0: [()]}  # of each context, those that no other one covers
    for node in numbers:
        if not clears and node[1] not in kept[node[0]]:
            continue  # covered by a vector that came later
        for edge in starts.contexts.edges[node[0]]:
            left = cleared(starts, node, edge) if clears else node
            vector = step(starts, places, left, edge, spawn=True)
            if clipped:
                vector = _support(vector)
            if not clears:
                others = kept.setdefault(edge.to, [])
                budget.check(steps=len(others))
                if any(_covers(other, vector) for other in others):
                    continue
                others[:] = [other for other in others if not _covers(vector, other)]
                others.append(vector)
            numbers.reach((edge.to, vector), edge)
    maximal = [node for node in numbers.states if clears or node[1] in kept[node[0]]]
    return Vectors(numbers, maximal)


def _covers(more: Vector, less: Vector) -> bool:
    counts = dict(more)
    return all(counts.get(state, 0) >= count for state, count in less)


def cleared(starts: Starts, node: Node, edge: Edge) -> Node:
    """Return what is left when an event comes: a window that has ended clears the starts before."""
    if starts.subject.until is None:
        over = any(starts.subject.final[state] for state, _ in node[1])
    else:
        over = any(starts.ends(state, edge) for state, _ in node[1])
    return (node[0], ()) if over else node


# --- Unbounded, where windows clear


@dataclass(frozen=True)
class Pile:
    """A way to a context, a cycle that adds starts whenever it is gone, and where they pile up."""

    stem: tuple[Edge, ...]
    cycle: tuple[Edge, ...]
    states: tuple[int, ...] = ()


def repeated(found: Pile, times: int) -> list[Edge]:
    """Return the way to a cycle, and the cycle so many times."""
    return [*found.stem, *found.cycle * times]


def pile(starts: Starts, places: Set[Place], budget: Budget) -> Pile | None:
    """Return how starts pile up though windows clear them: on a cycle without a window.

    Which states are occupied decides when windows clear; so the cycle has to come back to the
    same occupied states. It adds starts if two of them come into one state on it.
    """
    numbers: Exploration[Node, Edge] = Exploration([(0, ())], budget.check_vectors)
    graph: dict[Node, list[Node]] = {}  # without the edges on which starts are cleared
    for node in numbers:
        graph[node] = []
        for edge in starts.contexts.edges[node[0]]:
            left = cleared(starts, node, edge)
            after = (edge.to, _support(step(starts, places, left, edge, spawn=True)))
            numbers.reach(after, edge)
            if left == node:
                graph[node].append(after)
    circles = cyclic(graph)
    for node in circles:
        cycle = _growing(starts, places, node, circles, budget)
        if cycle is not None:
            return Pile(tuple(numbers.path_to(numbers[node])), tuple(cycle))
    return None


def _support(vector: Vector) -> Vector:
    return tuple((state, 1) for state, _ in vector)


def _growing(
    starts: Starts, places: Set[Place], node: Node, circles: dict[Node, int], budget: Budget
) -> list[Edge] | None:
    """Return a cycle of a node on which a vector grows, if there is one.

    A start is born with the cycle and is where another one stays: as in `Starts.pump`, in the
    graph of the occupied states.
    """

    def onwards(at: Node) -> Iterator[tuple[Edge, Node]]:
        for edge in starts.contexts.edges[at[0]]:
            if cleared(starts, at, edge) == at:
                after = (edge.to, _support(step(starts, places, at, edge, spawn=True)))
                if circles.get(after) == circles[node]:
                    yield edge, after

    def successors(triple: Triple) -> Iterator[tuple[Edge, Triple]]:
        at, new, old = triple
        for edge, after in onwards(at):
            one, two = starts.moved(new, edge), starts.moved(old, edge)
            if DEAD not in (one, two):
                yield edge, (after, one, two)

    for state, _ in node[1]:
        begins: list[tuple[Edge, Triple]] = []
        for edge, after in onwards(node):
            new, old = starts.born(edge), starts.moved(state, edge)
            if DEAD not in (new, old):
                begins.append((edge, (after, new, old)))
        found = shortest(begins, successors, (node, state, state).__eq__, budget.check)
        if found is not None:
            return found[1]
    return None


# --- Windows that share a position


def most_shared(
    starts: Starts,
    vectors: Vectors,
    budget: Budget,
    weigh: Callable[[list[int]], int] = sum,
) -> tuple[int, list[Edge]] | None:
    """Return how many windows can share a position, and a stream where that is so.

    From every vector no more starts are let in; each event then counts the starts that end there.
    `weigh` sums them up. None if there is no greatest number.
    """
    graph: dict[Node, list[tuple[int, Node]]] = {}
    edges: dict[tuple[Node, Node], Edge] = {}
    numbers: Exploration[Node, None] = Exploration(vectors.maximal, budget.check_vectors)
    for node in numbers:
        row: dict[Node, int] = {}
        for edge in starts.contexts.edges[node[0]]:
            ending = [count for state, count in node[1] if starts.ends(state, edge)]
            after = (edge.to, step(starts, starts.alive, node, edge, spawn=False))
            weight = weigh(ending) + _arriving(starts, after, weigh)
            if weight >= row.get(after, 0):
                row[after] = weight
                edges[node, after] = edge
        graph[node] = [(weight, after) for after, weight in row.items()]
        numbers.add(row)
    stop = {node: _stopping(starts, node, weigh) for node in graph}
    value = longest(graph, stop)
    if value is None:
        return None
    totals = [value[node] + _arriving(starts, node, weigh) for node in vectors.maximal]
    best = max(totals)
    first = vectors.maximal[totals.index(best)]
    onwards = shortest(
        [(None, (first, value[first]))],
        lambda here: _heaviest(here, graph, edges, value),
        lambda here: stop[here[0]] >= here[1],
    )
    assert onwards is not None
    return best, [*vectors.path_to(first), *onwards[1]]


def _heaviest(
    here: tuple[Node, int],
    graph: dict[Node, list[tuple[int, Node]]],
    edges: dict[tuple[Node, Node], Edge],
    value: dict[Node, int],
) -> Iterator[tuple[Edge, tuple[Node, int]]]:
    """Yield the steps after which the weight that is still missing can be had."""
    node, missing = here
    for weight, after in graph[node]:
        if weight + value[after] >= missing:
            yield edges[node, after], (after, missing - weight)


def _arriving(starts: Starts, node: Node, weigh: Callable[[list[int]], int]) -> int:
    """Return how many windows end with the event that led here."""
    if starts.subject.until is not None:
        return 0
    return weigh([count for state, count in node[1] if starts.subject.final[state]])


def _stopping(starts: Starts, node: Node, weigh: Callable[[list[int]], int]) -> int:
    """Return how many windows end because the data does."""
    if not starts.subject.clauses.or_end:
        return 0
    return weigh([count for state, count in node[1] if starts.subject.final[state]])
