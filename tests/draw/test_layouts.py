"""Layouts and summaries of graphs: nothing overlaps, and nothing is lost."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings

from tests.draw.graphs import graphs
from wex import examples
from wex.draw.graph import Graph, Node, arrows_of, summaries
from wex.draw.layout import Layout, layout_of
from wex.draw.panels import MOST_ARROWS, MOST_NODES, WIDE, WIDEST, Panel, placed
from wex.draw.subjects import of_automata, of_regions
from wex.draw.svg import Box, width_of

EXAMPLES = [*examples.names(), *examples.with_data()]


def assert_nothing_overlaps(layout: Layout) -> None:
    """Check that no place meets another, not even where the lines through its column are drawn."""
    strips = []
    for place in layout.places:
        left, right = layout.columns[place.column]
        assert left - 0.01 <= place.box.x
        assert place.box.right <= right + 0.01
        assert place.box.y >= -0.01
        assert place.box.bottom <= layout.height + 0.01
        strips.append(Box(left, place.box.y, right - left, place.box.height))
    assert not [pair for pair in combinations(strips, 2) if pair[0].meets(pair[1])]
    for (_, right), (left, _) in pairwise(layout.columns):
        assert right < left  # curves have room
    for line in layout.lines:
        label = layout.places[line.label_at]
        assert max(map(width_of, line.label)) <= label.width
        columns = [layout.places[at].column for at in line.route]
        steps = {after - before for before, after in pairwise(columns)}
        assert steps <= {1} or steps <= {-1}


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize("subject", [of_automata, of_regions])
def test_nothing_overlaps_in_the_drawings_of_the_examples(name, subject) -> None:  # type: ignore[no-untyped-def]
    for group in subject(examples.spec(name)):
        for panel in group:
            assert_nothing_overlaps(placed(panel).layout)


@settings(max_examples=60)
@given(graphs())
def test_nothing_overlaps_in_any_layout(graph: Graph) -> None:
    for deep in (True, False):
        assert_nothing_overlaps(layout_of(graph, deep=deep))


@given(graphs())
def test_a_summary_is_small_and_has_all_states_marks_and_ways(graph: Graph) -> None:
    counts = range(max(2, min(12, len(graph.nodes))), 1, -1)
    for most, drawn in zip(counts, summaries(graph, 12), strict=True):
        assert len(drawn.nodes) <= most
        assert sum(node.states for node in drawn.nodes) == len(graph.nodes)
        assert [node.initial for node in drawn.nodes].count(True) == 1
        assert any(n.final for n in drawn.nodes) == any(n.final for n in graph.nodes)
        assert all(node.dead for node in drawn.nodes) == all(node.dead for node in graph.nodes)
        assert len({(arrow.source, arrow.target) for arrow in drawn.arrows}) == len(drawn.arrows)


def test_dead_states_are_those_from_which_no_final_one_can_be_reached() -> None:
    nodes = tuple(Node(str(at), initial=at == 0, final=at == 1) for at in range(4))
    pairs = {(0, 1): "a", (0, 2): "b", (2, 2): "c", (3, 0): "d"}
    graph = Graph(nodes, arrows_of(pairs)).with_dead_marked()
    assert [node.dead for node in graph.nodes] == [False, False, True, False]


@settings(max_examples=40)
@given(graphs())
def test_a_drawing_has_a_readable_size(graph: Graph) -> None:
    """A graph of two nodes may have long texts; every other drawing fits."""
    layout = placed(Panel("w", "", graph)).layout
    assert len(layout.graph.nodes) <= MOST_NODES
    if len(layout.graph.nodes) > 2:
        assert len(layout.graph.arrows) <= MOST_ARROWS
        assert layout.width <= (WIDEST if layout.graph is graph else WIDE)
