"""Graph algorithms that the analysis needs: strongly connected components, cycles, longest paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

Node = TypeVar("Node", bound="Hashable")


def components(graph: Mapping[Node, Sequence[Node]]) -> list[list[Node]]:
    """Return the strongly connected components, each before the ones that lead to it (Tarjan).

    >>> components({1: [2], 2: [1, 3], 3: []})
    [[3], [2, 1]]
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    on_stack: set[Node] = set()
    stack: list[Node] = []
    result: list[list[Node]] = []
    for root in graph:
        if root in index:
            continue
        work = [(root, iter(graph[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, rest = work[-1]
            for after in rest:
                if after not in index:
                    index[after] = low[after] = len(index)
                    stack.append(after)
                    on_stack.add(after)
                    work.append((after, iter(graph[after])))
                    break
                if after in on_stack:
                    low[node] = min(low[node], index[after])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while True:
                        member = stack.pop()
                        on_stack.discard(member)
                        component.append(member)
                        if member == node:
                            break
                    result.append(component)
    return result


def cyclic(graph: Mapping[Node, Sequence[Node]]) -> dict[Node, int]:
    """Return the nodes that lie on a cycle, each with the number of its component."""
    component_of: dict[Node, int] = {}
    for number, component in enumerate(components(graph)):
        if len(component) > 1 or component[0] in graph[component[0]]:
            component_of.update(dict.fromkeys(component, number))
    return component_of


class TooManyError(Exception):
    """An exploration has exceeded its budget."""


def greatest_weights(
    graph: Mapping[Node, Sequence[tuple[int, Node]]], stop: Mapping[Node, int]
) -> dict[Node, int] | None:
    """Return the greatest weight of a path from each node: of its edges and of its last node.

    `stop` are the weights of last nodes. None if a cycle has a positive weight.
    """
    plain = {node: [after for _, after in row] for node, row in graph.items()}
    value: dict[Node, int] = {}
    for component in components(plain):
        members = set(component)
        best = 0
        for node in component:
            best = max(best, stop[node])
            for weight, after in graph[node]:
                if after in members and weight:
                    return None
                best = max(best, weight + (0 if after in members else value[after]))
        value.update(dict.fromkeys(component, best))
    return value
