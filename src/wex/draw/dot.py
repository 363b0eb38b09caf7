r"""Drawings as DOT, the language of Graphviz, for programs that lay out graphs themselves.

>>> from wex.draw.graph import Arrow, Graph, Node
>>> from wex.draw.panels import Panel
>>> loop = Graph((Node("0", initial=True, final=True),), (Arrow(0, 0, 'x = "a"'),))
>>> print(dot_of([[Panel("w", "1 state", loop)]]))
digraph wex {
  rankdir=LR;
  node [shape=circle, fontname="monospace"];
  edge [fontname="monospace"];
  subgraph cluster_0 {
    label="w\n1 state";
    p0_start [shape=point, label=""];
    p0_0 [label="0", shape=doublecircle];
    p0_start -> p0_0;
    p0_0 -> p0_0 [label="x = \"a\""];
  }
}
<BLANKLINE>
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.errors import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.draw.graph import Node
    from wex.draw.panels import Panel


def dot_of(panels: Sequence[Sequence[Panel]]) -> str:
    """Return all states and arrows of some panels: DOT has no summary."""
    lines = [
        "digraph wex {",
        "  rankdir=LR;",
        '  node [shape=circle, fontname="monospace"];',
        '  edge [fontname="monospace"];',
    ]
    for number, panel in enumerate(panel for group in panels for panel in group):
        lines += [f"  subgraph cluster_{number} {{"]
        lines += [f"    {line}" for line in _panel(panel, f"p{number}")]
        lines += ["  }"]
    return "\n".join([*lines, "}", ""])


def _panel(panel: Panel, prefix: str) -> Iterator[str]:
    head = [panel.title, panel.subtitle, *(f"{name}: {meant}" for name, meant in panel.names)]
    lines = "\\n".join(map(_escaped, head))
    yield f'label="{lines}";'
    for at, node in enumerate(panel.graph.nodes):
        if node.initial:
            yield f'{prefix}_start [shape=point, label=""];'
        yield f"{prefix}_{at} [{', '.join(_attributes(node))}];"
        if node.initial:
            yield f"{prefix}_start -> {prefix}_{at};"
    for arrow in panel.graph.arrows:
        label = _quoted(arrow.label)
        yield f"{prefix}_{arrow.source} -> {prefix}_{arrow.target} [label={label}];"


def _attributes(node: Node) -> Iterator[str]:
    yield f"label={_quoted(node.label)}"
    if node.final:
        yield "shape=doublecircle"
    if node.dead:
        yield "style=dashed"
    if node.note:
        yield f"tooltip={_quoted(node.note)}"


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    r"""Return a text for a string of DOT, in which a backslash would begin an escape such as `\n`."""
    return clean(text).replace("\\", "\\\\").replace('"', '\\"')
