"""Graphs to be drawn: nodes with marks, arrows with labels, and a summary of graphs too large to read.

A summary keeps the shape: states that reach each other become one node, and, where that is not
enough, all but the states nearest to the first one, and the final ones if they are few, become one node
that says how many they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from wex.analysis.graphs import components
from wex.automata.explore import backwards, explore

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

LEAST_NODES = 4  # of a summary, if there are so many states
FEW_FINAL = 2  # final states that a summary keeps, however far they are


@dataclass(frozen=True)
class Node:
    """A state, or several in one: its text, its explanation, and its marks."""

    label: str
    note: str = ""
    initial: bool = False
    final: bool = False
    dead: bool = False  # no final state can be reached from it
    states: int = 1


@dataclass(frozen=True)
class Arrow:
    """An arrow between two nodes, given by their numbers; there is one for each pair at most."""

    source: int
    target: int
    label: str


@dataclass(frozen=True)
class Graph:
    """What is drawn: node 0 is the initial one; `noun` is what a node stands for."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
    noun: str = "state"

    def successors(self) -> list[list[int]]:
        """Return the nodes that arrows lead to, for each node, in the order of arrows."""
        after: list[list[int]] = [[] for _ in self.nodes]
        for arrow in self.arrows:
            after[arrow.source].append(arrow.target)
        return after

    def dead(self) -> frozenset[int]:
        """Return the nodes from which no final node can be reached."""
        final = [at for at, node in enumerate(self.nodes) if node.final]
        alive = backwards(enumerate(self.successors()), final)
        return frozenset(range(len(self.nodes))) - alive

    def with_dead_marked(self) -> Graph:
        """Return the graph with its dead nodes marked."""
        dead = self.dead()
        nodes = tuple(replace(node, dead=at in dead) for at, node in enumerate(self.nodes))
        return replace(self, nodes=nodes)


def summaries(graph: Graph, most: int) -> Iterator[Graph]:
    """Yield graphs of at most so many nodes, then of fewer and fewer: the graph, or what stands for it.

    >>> chain = Graph(
    ...     tuple(Node(str(at), final=at == 9) for at in range(10)),
    ...     tuple(Arrow(at, at + 1, "any") for at in range(9)),
    ... )
    >>> [node.label for node in next(summaries(chain, 5)).nodes]
    ['0', '1', '2', '… 6 more states', '9']
    """
    merged, order = graph, None
    for count in range(max(2, min(most, len(graph.nodes))), 1, -1):
        if order is None and len(graph.nodes) > count:
            merged = _without_cycles(graph)
            if len(merged.nodes) < LEAST_NODES:
                merged = graph  # most states are in one component: its beginning says more
            order = in_breadth(merged)
        yield merged if order is None or len(merged.nodes) <= count else _near(merged, order, count)


def in_breadth(graph: Graph) -> list[int]:
    """Return the nodes in the order of a search in breadth, and then those that it does not reach."""
    order, _ = explore([0], graph.successors().__getitem__)
    return order + sorted(set(range(len(graph.nodes))).difference(order))


def _without_cycles(graph: Graph) -> Graph:
    """Return the graph with one node for the states that reach each other."""
    groups = components(dict(enumerate(graph.successors())))
    group_of = {state: at for at, group in enumerate(groups) for state in group}
    members = [group_of[state] for state in range(len(graph.nodes))]
    return _merged(graph, members, f"{{}} {graph.noun}s", "they reach each other")


def _near(graph: Graph, order: Sequence[int], most: int) -> Graph:
    """Return the graph of the first nodes in an order, with one node for the rest."""
    final = [at for at in order if graph.nodes[at].final]
    ends = final if len(final) <= FEW_FINAL else []
    kept = set(ends[: max(0, most - 2)])
    near = (at for at in order if at not in kept)
    kept.update(list(islice(near, max(1, most - 1 - len(kept)))))
    groups = [at if at in kept else -1 for at in range(len(graph.nodes))]
    return _merged(graph, groups, f"… {{}} more {graph.noun}s", "they are farther away")


def _merged(graph: Graph, groups: Sequence[Hashable], wording: str, note: str) -> Graph:
    """Return the graph with one node for each group, in the order of their first nodes."""
    numbers = {group: at for at, group in enumerate(dict.fromkeys(groups))}
    members: list[list[Node]] = [[] for _ in numbers]
    for group, node in zip(groups, graph.nodes, strict=True):
        members[numbers[group]].append(node)
    labels: dict[tuple[int, int], list[str]] = {}
    for arrow in graph.arrows:
        pair = numbers[groups[arrow.source]], numbers[groups[arrow.target]]
        labels.setdefault(pair, []).append(arrow.label)
    arrows = tuple(
        Arrow(*pair, _label(each))
        for pair, each in labels.items()
        if pair[0] != pair[1] or len(members[pair[0]]) == 1
    )
    return Graph(tuple(_one_of(nodes, wording, note) for nodes in members), arrows, graph.noun)


def _one_of(nodes: Sequence[Node], wording: str, note: str) -> Node:
    if len(nodes) == 1:
        return nodes[0]
    states = sum(node.states for node in nodes)
    return Node(
        wording.format(f"{states:,}"),
        note,
        initial=any(node.initial for node in nodes),
        final=any(node.final for node in nodes),
        dead=all(node.dead for node in nodes),
        states=states,
    )


def _label(labels: Iterable[str]) -> str:
    different = list(dict.fromkeys(labels))
    return different[0] if len(different) == 1 else f"{len(different):,} predicates"


def arrows_of(labels: Mapping[tuple[int, int], str]) -> tuple[Arrow, ...]:
    """Return arrows in the order of their nodes."""
    return tuple(Arrow(*pair, labels[pair]) for pair in sorted(labels))
