"""Where the parts of a graph are drawn: layers from left to right, by igraph.

States stand in every second column, labels of arrows in the columns between them: a label is a node
of the layout, so that nothing is drawn over it. An arrow that leads back is laid out as if
it led forward, and one over several columns passes through points of its own. So all lines are between
neighbouring columns. igraph chooses the order and the height of what is in a column; where texts need
more room than it gave, they are moved apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.draw.graph import in_breadth
from wex.draw.svg import ADVANCE, LINE, Box, width_of, wrapped
from wex.plot import require_pictures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.draw.graph import Arrow, Graph, Node

RADIUS = 18.0  # of a state
PADDING = 12.0  # between the border of a node and its text
GUTTER = 30.0  # between columns: the room for curves
GAP = 16.0  # between things in a column
PITCH = 44.0  # of the coordinates that igraph returns
LOOP = 30.0  # the height of a loop above its state
ENTRY = 34.0  # the arrow into the initial state
LINES_OF_LABEL = 4
COLUMNS_OF_LABEL = 28  # characters of a label in a line


@dataclass(frozen=True)
class Place:
    """A node, the label of an arrow, or a point of a line: its centre and its room around it.

    `above` and `below` are how far it extends from the centre, with the loop over a state.
    """

    column: int
    width: float
    above: float
    below: float
    x: float = 0.0
    y: float = 0.0

    @property
    def box(self) -> Box:
        """The rectangle that nothing else is drawn in."""
        return Box(
            self.x - self.width / 2, self.y - self.above, self.width, self.above + self.below
        )


@dataclass(frozen=True)
class Line:
    """An arrow: the places it passes, in its direction, and the lines of its label.

    `label_at` is the place of the label, one of those it passes; for a loop, the state itself.
    """

    arrow: Arrow
    label: tuple[str, ...]
    route: tuple[int, ...]
    label_at: int


@dataclass(frozen=True)
class Layout:
    """The places of all parts of a graph; those of its nodes come first."""

    graph: Graph
    places: tuple[Place, ...]
    lines: tuple[Line, ...]
    columns: tuple[tuple[float, float], ...]  # from where to where each column is
    width: float
    height: float


def layout_of(graph: Graph, label_width: int = COLUMNS_OF_LABEL, *, deep: bool = True) -> Layout:
    """Return a layout of a graph, whose labels have lines of at most so many characters.

    If it is `deep`, layers follow a search in depth, else one in breadth.
    """
    if not graph.nodes:
        return Layout(graph, (), (), (), 0.0, 0.0)
    draft = _Draft(graph, label_width, _layers(graph, deep=deep))
    places = _stacked(draft.places, _heights(draft))
    return _measured(graph, places, draft.lines)


# --- What is to be placed


class _Draft:
    """The places of a graph by columns, and the lines through them; coordinates come later."""

    def __init__(self, graph: Graph, label_width: int, layers: Sequence[int]) -> None:
        loops = {arrow.source: arrow for arrow in graph.arrows if arrow.source == arrow.target}
        self.label_width = label_width
        self.places = [
            self._state(node, 2 * layers[at], loops.get(at)) for at, node in enumerate(graph.nodes)
        ]
        self.links: list[tuple[int, int]] = []
        self.lines = [self._line(arrow) for arrow in graph.arrows]

    def _state(self, node: Node, column: int, loop: Arrow | None) -> Place:
        width, above = node_width(node), RADIUS
        if loop is not None:
            label = self._label(loop)
            width = max(width, _width(label))
            above += LOOP + len(label) * LINE
        return Place(column, width, above, RADIUS)

    def _label(self, arrow: Arrow) -> tuple[str, ...]:
        return tuple(wrapped(arrow.label, self.label_width, LINES_OF_LABEL))

    def _line(self, arrow: Arrow) -> Line:
        """Add the label of an arrow and the points that it passes."""
        label = self._label(arrow)
        if arrow.source == arrow.target:
            return Line(arrow, label, (arrow.source,), arrow.source)
        left, right = sorted(
            (arrow.source, arrow.target), key=lambda state: self.places[state].column
        )
        first, last = self.places[left].column, self.places[right].column
        middle = first + 1 + 2 * ((last - first - 2) // 4)
        route, label_at = [left], -1
        for column in range(first + 1, last):
            if column == middle:
                label_at = len(self.places)
                half = len(label) * LINE / 2
                self.places.append(Place(column, _width(label), half, half))
            else:
                self.places.append(Place(column, 0.0, 1.0, 1.0))
            self.links.append((route[-1], len(self.places) - 1))
            route.append(len(self.places) - 1)
        self.links.append((route[-1], right))
        route.append(right)
        if left != arrow.source:
            route.reverse()
        return Line(arrow, label, tuple(route), label_at)


def node_width(node: Node) -> float:
    """Return how wide a node is drawn: a circle, or a longer shape around its text."""
    return max(2 * RADIUS, width_of(node.label) + 2 * PADDING)


def _width(label: Sequence[str]) -> float:
    return max(map(width_of, label)) + ADVANCE


def _layers(graph: Graph, *, deep: bool) -> list[int]:
    """Return the layer of each node: one more than those of its neighbours that come before it.

    What comes before is decided by a search in depth or in breadth. In depth, no arrow of a graph
    without cycles leads back; in breadth, there are fewer layers.
    """
    order = _in_depth(graph) if deep else in_breadth(graph)
    place = {node: at for at, node in enumerate(order)}
    later: list[list[int]] = [[] for _ in order]
    for arrow in graph.arrows:
        first, last = sorted((arrow.source, arrow.target), key=place.__getitem__)
        later[first].append(last)
    layers = [0] * len(order)
    for node in order:
        for after in later[node]:
            if after != node:
                layers[after] = max(layers[after], layers[node] + 1)
    return layers


def _in_depth(graph: Graph) -> list[int]:
    """Return the nodes, each before those that were found from it (reverse postorder)."""
    successors = graph.successors()
    entered: set[int] = set()
    order: list[int] = []
    for root in range(len(graph.nodes)):
        stack = [] if root in entered else [(root, iter(successors[root]))]
        entered.add(root)
        left: list[int] = []
        while stack:
            node, rest = stack[-1]
            after = next((after for after in rest if after not in entered), None)
            if after is None:
                stack.pop()
                left.append(node)
            else:
                entered.add(after)
                stack.append((after, iter(successors[after])))
        order += reversed(left)
    return order


# --- Coordinates


def _heights(draft: _Draft) -> list[float]:
    """Return the height that igraph gives to each place."""
    require_pictures("igraph")
    import igraph  # noqa: PLC0415  (an extra)

    columns = [place.column for place in draft.places]
    drawn = igraph.Graph(n=len(columns), edges=draft.links, directed=True)
    coordinates = drawn.layout_sugiyama(layers=columns, hgap=1, vgap=1, maxiter=100).coords
    return [float(x) * PITCH for x, _ in coordinates[: len(columns)]]


def _stacked(places: Sequence[Place], heights: Sequence[float]) -> list[Place]:
    """Return the places at their heights, moved apart where they would overlap in their column."""
    placed = [replace(place, y=y) for place, y in zip(places, heights, strict=True)]
    columns: dict[int, list[int]] = {}
    for at, place in enumerate(placed):
        columns.setdefault(place.column, []).append(at)
    for members in columns.values():
        members.sort(key=lambda at: (placed[at].y, at))
        bottom = None
        for at in members:
            place = placed[at]
            if bottom is not None:
                place = replace(place, y=max(place.y, bottom + GAP + place.above))
            placed[at] = place
            bottom = place.y + place.below
        # Half of the moves go up.
        moved = sum(placed[at].y - heights[at] for at in members) / len(members)
        for at in members:
            placed[at] = replace(placed[at], y=placed[at].y - moved)
    return placed


def _measured(graph: Graph, places: Sequence[Place], lines: Sequence[Line]) -> Layout:
    """Return the layout of places with heights: columns as wide as their widest member."""
    count = max(place.column for place in places) + 1
    widths = [0.0] * count
    for place in places:
        widths[place.column] = max(widths[place.column], place.width)
    columns, right = [], ENTRY
    for width in widths:
        columns.append((right, right + width))
        right += width + GUTTER
    top = min(place.box.y for place in places)
    moved = tuple(
        replace(place, x=sum(columns[place.column]) / 2, y=place.y - top) for place in places
    )
    height = max(place.box.bottom for place in moved)
    return Layout(graph, moved, tuple(lines), tuple(columns), right - GUTTER, height)
