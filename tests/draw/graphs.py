"""Random graphs, and specs whose names and values try to break a drawing."""

from __future__ import annotations

from hypothesis import strategies as st

from wex.draw.graph import Graph, Node, arrows_of

# Markup, quotes, escapes, control characters, directions of writing, wide and combining characters.
HOSTILE = (
    "</svg><script>alert('x')</script> \"&amp;\\n\\ \x07\x00\u202e\u05d0\u05d1 価格 e\u0301 \ud800"
)
NAME = '</text><script>alert(1)</script>\u202e\u05d0 "q" & \\ 価格' + "very_long_" * 12
HOSTILE_SPEC = f"""
stream s (`{NAME}` real, `</title>` string)
window `{NAME}`
  after any* [`{NAME}` > 1]
  match [`</title>` = '</style><b>\x07"\\'] [`{NAME}` < 0]+
"""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Return a graph of up to 30 states with any arrows and labels."""
    count = draw(st.integers(1, 30))
    states = st.integers(0, count - 1)
    final = draw(st.sets(states, max_size=4))
    pairs = draw(st.sets(st.tuples(states, states), max_size=60))
    labels = {pair: draw(st.text(min_size=1, max_size=60)) for pair in pairs}
    nodes = tuple(Node(str(at), initial=at == 0, final=at in final) for at in range(count))
    return Graph(nodes, arrows_of(labels)).with_dead_marked()
