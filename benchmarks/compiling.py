"""How long it takes from the text of a spec to its automata, z3 loaded."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import wex
from benchmarks.measure import Row, ratio
from wex import examples
from wex.compile.assumptions import assumption_automaton
from wex.spec import meaning
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ten guards over three fields, shared by five windows.
FIVE_WINDOWS = """
stream s (ts timestamp, x real, y real) order by ts
let g0 = x > x[-1]         let g1 = x < x[-1]        let g2 = y > y[-1]      let g3 = y < y[-1]
let g4 = x > y             let g5 = x > 10           let g6 = y > 10         let g7 = x[-1] > x[-2]
let g8 = ts - ts[-1] > 5 minutes                     let g9 = y[-1] > y[-2]
window a after any* g1 match g0 [not g1]* g1
window b match g2+ g3{2,} until [g8]
window c match [g4 and g5] [g6 or g7]* [g9]
window d match (g0 | g2)+ & ~(any* g8 any*)
window e match g7 g9 any* [g5 and g6] within 100 events
"""


def rows() -> Iterator[Row]:
    trend = examples.text("trend")
    _compile(trend)  # z3 is loaded, the grammar made
    for name, text in (("the trend", trend), ("ten guards in five windows", FIVE_WINDOWS)):
        yield Row(
            f"parse and compile {name}",
            "wait 50 ms",
            ratio(partial(_compile, text), lambda: time.sleep(0.05)),
            goal=1 if text is trend else None,
        )


def _compile(text: str) -> None:
    found = meaning(wex.parse(text))
    for at in range(len(found.expanded.windows)):
        compile_window(found, at)
    assumption_automaton(found)
