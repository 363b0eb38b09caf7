"""The arrows of a drawing: curves between columns, loops above their states, and their labels."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING

from wex.draw import svg
from wex.draw.layout import GUTTER, LOOP, RADIUS, node_width
from wex.draw.svg import LINE, coordinates

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from xml.etree.ElementTree import Element

    from wex.draw.layout import Layout, Line, Place

HEAD = 7.0  # the length of an arrow head
PORTS = 9.0  # between the arrows on one side of a state
LOOP_FOOT = 9.0  # from the middle of a state to where its loop touches it


def draw(parent: Element, layout: Layout) -> None:
    """Add all arrows of a layout."""
    ports = _ports(layout)
    for number, line in enumerate(layout.lines):
        group = svg.element(parent, "g")
        source, target = (layout.graph.nodes[at] for at in (line.arrow.source, line.arrow.target))
        svg.tooltip(group, f"{source.label} → {target.label}: {line.arrow.label}")
        if len(line.route) == 1:
            _loop(group, layout.places[line.route[0]], line.label)
        else:
            offsets = ports[number, line.route[0]], ports[number, line.route[-1]]
            _arrow(group, layout, line, offsets)


def entry(parent: Element, x: float, y: float, length: float) -> None:
    """Add the arrow into an initial state, which ends at a point."""
    svg.path(parent, f"M {coordinates(x - length, y)} H {coordinates(x - HEAD)}", "wex-entry")
    _head(parent, x, y, (1, 0), "wex-entry-head")


def _ports(layout: Layout) -> dict[tuple[int, int], float]:
    """Return how far from the middle of a state each line touches it, by the line and the state."""
    sides: dict[tuple[int, bool], list[tuple[float, int]]] = {}
    for number, line in enumerate(layout.lines):
        if len(line.route) > 1:
            for state, beside in (line.route[:2], line.route[:-3:-1]):
                right = layout.places[beside].column > layout.places[state].column
                sides.setdefault((state, right), []).append((layout.places[beside].y, number))
    ports = {}
    for (state, _), touching in sides.items():
        step = min(PORTS, 1.5 * RADIUS / len(touching))
        for place, (_, number) in enumerate(sorted(touching)):
            ports[number, state] = step * (place - (len(touching) - 1) / 2)
    return ports


def _arrow(group: Element, layout: Layout, line: Line, offsets: tuple[float, float]) -> None:
    """Add a line through its places, with the head at its end and the label on its way."""
    first, last = layout.places[line.route[0]], layout.places[line.route[-1]]
    direction = 1 if last.x > first.x else -1
    tip = last.x - direction * _reach(layout, line.arrow.target, offsets[1])
    start = first.x + direction * _reach(layout, line.arrow.source, offsets[0])
    commands = _commands(layout, line, (start, tip - direction * (HEAD - 1)), offsets)
    svg.path(group, " ".join(commands), "wex-edge")
    _head(group, tip, last.y + offsets[1], (direction, 0), "wex-head")
    label = layout.places[line.label_at]
    _lines_of_text(group, label.x, label.y - label.above, line.label)


def _commands(
    layout: Layout, line: Line, ends: tuple[float, float], offsets: tuple[float, float]
) -> Iterator[str]:
    """Yield the commands of a path: straight through a column, a curve to the next one."""
    places = [layout.places[at] for at in line.route]
    heights = [place.y for place in places]
    heights[0] += offsets[0]
    heights[-1] += offsets[1]
    direction = 1 if ends[1] > ends[0] else -1
    _, right = layout.columns[places[0].column][::direction]
    yield f"M {coordinates(ends[0], heights[0])} H {coordinates(right)}"
    for number in range(1, len(places)):
        place, y = places[number], heights[number]
        near, far = layout.columns[place.column][::direction]
        middle = near - direction * GUTTER / 2
        bend = coordinates(middle, heights[number - 1], middle, y, near, y)
        yield f"C {bend}"
        if number == len(places) - 1:
            yield f"H {coordinates(ends[1])}"
        elif line.route[number] == line.label_at:
            half = direction * place.width / 2
            yield f"H {coordinates(place.x - half)} M {coordinates(place.x + half, y)}"
            yield f"H {coordinates(far)}"
        else:
            yield f"H {coordinates(far)}"


def _reach(layout: Layout, state: int, offset: float) -> float:
    """Return how far the border of a node is from its middle, at some height above or below it."""
    half = node_width(layout.graph.nodes[state]) / 2
    return half - RADIUS + sqrt(RADIUS**2 - offset**2)


def _loop(group: Element, place: Place, label: Sequence[str]) -> None:
    """Add a loop above a state, with its label above the loop."""
    foot = place.y - sqrt(RADIUS**2 - LOOP_FOOT**2)
    top = place.y - RADIUS - LOOP
    left, right = place.x - LOOP_FOOT, place.x + LOOP_FOOT
    wide = 16.0
    bend = coordinates(left - wide, top, right + wide, top, right + 1, foot - HEAD)
    svg.path(group, f"M {coordinates(left, foot)} C {bend}", "wex-edge")
    _head(group, right, foot, (-0.2, 1), "wex-head")
    _lines_of_text(group, place.x, top - len(label) * LINE + 6, label)


def _head(parent: Element, x: float, y: float, direction: tuple[float, float], cls: str) -> None:
    """Add an arrow head whose tip is at a point."""
    dx, dy = direction
    back_x, back_y = x - HEAD * dx, y - HEAD * dy
    side = HEAD / 2
    points = coordinates(
        x, y, back_x - side * dy, back_y + side * dx, back_x + side * dy, back_y - side * dx
    )
    svg.element(parent, "polygon", cls, points=points)


def _lines_of_text(parent: Element, x: float, top: float, lines: Sequence[str]) -> None:
    for number, line in enumerate(lines):
        svg.text(parent, x, top + number * LINE + 12, line, anchor="middle")
