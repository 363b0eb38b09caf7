"""The search for a stream where regions are not exact, so that a path may be the path of no stream.

Paths are extended event by event, and the solver is asked whether a stream has such a path. The search
is guided by the graph: the path that can be the shortest one to a goal is extended first.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from wex.analysis.graphs import TooManyError
from wex.automata.explore import Exploration, distances

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from wex.analysis.regions.contexts import Edge
    from wex.analysis.regions.graph import Action, Budget, RegionGraph

Node = TypeVar("Node", bound="Hashable")
Successors = dict[Node, list[tuple["Edge", Node]]]
Paths = dict[Node, tuple["Edge", ...]]
ALIKE = 2  # sequences of actions of one length that lead to the same nodes, and are extended


def paths_of_streams(
    regions: RegionGraph,
    first: Node,
    successors: Callable[[Node], Iterable[tuple[Edge, Node]]],
    is_goal: Callable[[Node], bool],
    budget: Budget,
) -> Iterator[list[Edge]]:
    """Yield paths from a node to goals that are paths of streams, the shortest first.

    Of paths that lead to the same nodes with the same length some are left out; the search ends
    when the budget does.
    """
    try:
        graph = _graph(first, successors, budget)
        distance = _distances(graph, is_goal, budget)
        yield from _guided(regions, first, graph, distance, budget)
    except TooManyError:
        return


def _graph(
    first: Node, successors: Callable[[Node], Iterable[tuple[Edge, Node]]], budget: Budget
) -> Successors[Node]:
    numbers: Exploration[Node, None] = Exploration([first], budget.check)
    graph: Successors[Node] = {}
    for node in numbers:
        graph[node] = list(successors(node))
        budget.check(steps=len(graph[node]))
        numbers.add(after for _, after in graph[node])
    return graph


def _distances(
    graph: Successors[Node], is_goal: Callable[[Node], bool], budget: Budget
) -> dict[Node, int]:
    """Return the least number of events from each node to a goal, where there is one."""
    rows = ((node, [after for _, after in row]) for node, row in graph.items())
    found = distances(rows, filter(is_goal, graph))
    budget.check(steps=len(found))
    return found


def _guided(
    regions: RegionGraph,
    first: Node,
    graph: Successors[Node],
    distance: dict[Node, int],
    budget: Budget,
) -> Iterator[list[Edge]]:
    """Yield paths to nodes with distance 0: the queue is sorted by the length that a path may get.

    A stream depends on the actions alone. So all nodes that the same actions lead to are followed
    together, each with a path to it.
    """
    order = count()
    queue: list[tuple[int, int, int, Paths[Node]]] = []
    extended: Counter[tuple[frozenset[Node], int]] = Counter()

    def push(paths: Paths[Node], length: int) -> None:
        near = {node: path for node, path in paths.items() if node in distance}
        if near:
            estimate = length + min(distance[node] for node in near)
            heappush(queue, (estimate, next(order), length, near))

    push({first: ()}, 0)
    while queue:
        _, _, length, paths = heappop(queue)
        alike = (frozenset(paths), length)
        path = next(iter(paths.values()))
        if extended[alike] >= ALIKE or not regions.possible([edge.step for edge in path]):
            continue
        extended[alike] += 1
        yield from (list(path) for node, path in paths.items() if not distance[node])
        following: defaultdict[Action, Paths[Node]] = defaultdict(dict)
        for node, path in paths.items():
            budget.check(steps=len(graph[node]))
            for edge, after in graph[node]:
                following[edge.step[0]].setdefault(after, (*path, edge))
        for after_all in following.values():
            push(after_all, length + 1)
