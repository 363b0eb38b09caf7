"""Drawings of graphs as SVG: panels, each with a title, a graph and an explanation of its marks."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING

from wex.draw import arrows, svg
from wex.draw.graph import summaries
from wex.draw.layout import ENTRY, RADIUS, layout_of, node_width
from wex.draw.svg import LINE, SMALL, coordinates, shortened, width_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from xml.etree.ElementTree import Element

    from wex.draw.graph import Graph, Node
    from wex.draw.layout import Layout, Place

MARGIN = 16.0
ACROSS = 40.0  # between panels in a row
WIDE = 1040.0  # the width of a page
WIDEST = 1400.0  # a graph that is wider is summarised, so that its text is not too small on a page
MOST_NODES = 14
MOST_ARROWS = 30
LABEL_WIDTHS = (28, 18, 12)  # characters in a line: the first with which a drawing is not too wide
LONGEST_NAMED = 120  # characters of a predicate below the graph
RING = 4.0  # between the rings of a final state

RULES = """
.wex-drawing .wex-state { fill: var(--wex-state); stroke: var(--wex-blue); stroke-width: 1.5; }
.wex-drawing .wex-ring { fill: none; stroke: var(--wex-blue); stroke-width: 1.5; }
.wex-drawing .wex-dead { fill: var(--wex-dead); stroke: var(--wex-muted); stroke-dasharray: 4 3; }
.wex-drawing .wex-edge { fill: none; stroke: var(--wex-edge); stroke-width: 1.3; }
.wex-drawing .wex-head { fill: var(--wex-edge); }
.wex-drawing .wex-entry { fill: none; stroke: var(--wex-blue); stroke-width: 2; }
.wex-drawing .wex-entry-head { fill: var(--wex-blue); }
"""


@dataclass(frozen=True)
class Panel:
    """A graph with its title, a line below the title, and what its marks and names mean.

    `meaning` explains the marks `start`, `final` and `dead`, `names` those that labels use.
    """

    title: str
    subtitle: str
    graph: Graph
    meaning: Mapping[str, str] = field(default_factory=dict)
    names: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PlacedPanel:
    """A panel with the layout of its graph, or of a summary of it."""

    panel: Panel
    layout: Layout
    legend: tuple[tuple[str, str], ...]  # marks, and what they mean here

    @property
    def head(self) -> float:
        """The height of the lines above the graph."""
        return 2 * LINE + 10.0

    @property
    def width(self) -> float:
        """The width of everything in the panel."""
        texts = [width_of(self.panel.title), SMALL * width_of(self.panel.subtitle)]
        texts += [30.0 + SMALL * width_of(meaning) for _, meaning in self.legend]
        texts += [30.0 + SMALL * width_of(_cut(predicate)) for _, predicate in self.panel.names]
        return max(self.layout.width, *texts)

    @property
    def height(self) -> float:
        """The height of everything in the panel."""
        lines = len(self.legend) + len(self.panel.names)
        return self.head + self.layout.height + (10.0 + LINE * lines if lines else 0.0)


def placed(panel: Panel) -> PlacedPanel:
    """Return a panel with a layout that can be read: of its graph, or of a summary of it."""
    layout = _readable(panel.graph)
    nodes = layout.graph.nodes
    marks = {
        "start": any(node.initial for node in nodes),
        "final": any(node.final for node in nodes),
        "dead": any(node.dead for node in nodes),
    }
    legend = [
        (mark, panel.meaning[mark]) for mark in marks if marks[mark] and mark in panel.meaning
    ]
    return PlacedPanel(panel, layout, tuple(legend))


def _readable(graph: Graph) -> Layout:
    """Return a layout that is not too wide: of the graph, or of the largest summary that fits."""
    for drawn in summaries(graph, MOST_NODES):
        if len(drawn.arrows) <= MOST_ARROWS:
            layout = _narrow(drawn)
            if layout.width <= (WIDEST if drawn is graph else WIDE):
                return layout
    return _narrow(drawn)  # two nodes with very long texts


def _narrow(graph: Graph) -> Layout:
    """Return the first layout that fits into a page, or the narrowest."""
    layouts = []
    for label_width, deep in product(LABEL_WIDTHS, (True, False)):
        layouts.append(layout_of(graph, label_width, deep=deep))
        if layouts[-1].width <= WIDE:
            return layouts[-1]
    return min(layouts, key=lambda layout: layout.width)


def picture(panels: Sequence[Sequence[Panel]], label: str) -> str:
    """Return the SVG of groups of panels; those of a group are beside each other if they fit."""
    rows = [row for group in panels for row in _rows([placed(panel) for panel in group])]
    widths = [sum(each.width for each in row) + ACROSS * (len(row) - 1) for row in rows]
    height = MARGIN + sum(max(each.height for each in row) + MARGIN for row in rows)
    root = svg.document(max(widths, default=0.0) + 2 * MARGIN, height, label, RULES)
    y = MARGIN
    for row in rows:
        x = MARGIN
        for each in row:
            _draw(root, each, x, y)
            x += each.width + ACROSS
        y += max(each.height for each in row) + MARGIN
    return svg.markup(root)


def _rows(panels: Sequence[PlacedPanel]) -> Iterator[list[PlacedPanel]]:
    row: list[PlacedPanel] = []
    width = 0.0
    for each in panels:
        if row and width + ACROSS + each.width > WIDE:
            yield row
            row, width = [], 0.0
        row.append(each)
        width += each.width + ACROSS
    if row:
        yield row


# --- One panel


def _draw(parent: Element, each: PlacedPanel, x: float, y: float) -> None:
    group = svg.element(parent, "g", transform=f"translate({coordinates(x, y)})")
    svg.text(group, 0, LINE - 3, each.panel.title, "wex-title")
    svg.text(group, 0, 2 * LINE - 3, each.panel.subtitle, "wex-small")
    inner = svg.element(group, "g", transform=f"translate({coordinates(0, each.head)})")
    arrows.draw(inner, each.layout)
    for place, node in zip(each.layout.places, each.layout.graph.nodes, strict=False):
        _node(inner, place, node, each.layout.graph.noun)
    _legend(group, each)


def _node(parent: Element, place: Place, node: Node, noun: str) -> None:
    group = svg.element(parent, "g")
    svg.tooltip(group, _spoken(node, noun))
    half = node_width(node) / 2
    _outline(group, place, half, "wex-state wex-dead" if node.dead else "wex-state")
    if node.final:
        _outline(group, place, half, "wex-ring", RING)
    svg.text(group, place.x, place.y + 4.5, node.label, anchor="middle")
    if node.initial:
        arrows.entry(group, place.x - half, place.y, ENTRY - 4)


def _spoken(node: Node, noun: str) -> str:
    """Return what a node is, in words."""
    marks = {"initial": node.initial, "final": node.final, "dead": node.dead, node.note: node.note}
    name = f"{noun} {node.label}" if node.label.isdigit() else node.label
    return ", ".join([name, *(mark for mark, true in marks.items() if true)])


def _outline(parent: Element, place: Place, half: float, cls: str, inset: float = 0.0) -> None:
    """Add a circle, or a longer shape for a longer text."""
    svg.element(
        parent,
        "rect",
        cls,
        x=place.x - half + inset,
        y=place.y - RADIUS + inset,
        width=2 * (half - inset),
        height=2 * (RADIUS - inset),
        rx=RADIUS - inset,
    )


def _legend(parent: Element, each: PlacedPanel) -> None:
    y = each.head + each.layout.height + 10.0 + LINE / 2
    for mark, meaning in each.legend:
        if mark == "start":
            arrows.entry(parent, 22, y, 20)
        else:
            cls = "wex-state wex-dead" if mark == "dead" else "wex-state"
            svg.element(parent, "circle", cls, cx=12, cy=y, r=6)
            if mark == "final":
                svg.element(parent, "circle", "wex-ring", cx=12, cy=y, r=3)
        svg.text(parent, 30, y + 4, meaning, "wex-small")
        y += LINE
    for name, predicate in each.panel.names:
        group = svg.element(parent, "g")
        svg.tooltip(group, predicate)
        svg.text(group, 12, y + 4, name, anchor="middle")
        svg.text(group, 30, y + 4, _cut(predicate), "wex-small")
        y += LINE


def _cut(predicate: str) -> str:
    return shortened(predicate, LONGEST_NAMED)
