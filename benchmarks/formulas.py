"""Compiling formulas beside MONA, for growing depth of quantifiers: python -m benchmarks.formulas."""

from __future__ import annotations

import sys
import time

from tests.compile.mona import HERE, MISSING, Oracle, program

import wex
from wex.compile.guards import predicates
from wex.compile.logic import logic_of
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.stages import trace

STREAM = "stream s (a bool, b bool, c bool)"
ROUNDS = 5


def family(depth: int) -> str:
    """Return a formula with so many alternating quantifiers: each finds somebody behind the last."""
    last, opening, closing = "begin", "", 0
    for level in range(1, depth + 1):
        name, guard = f"y{level}", "abc"[level % 3]
        if level % 2:
            opening += f"exists {name}: {last} < {name} and {name} <= end and {guard}({name}) and ("
        else:
            opening += (
                f"forall {name}: {last} < {name} and {name} <= end implies {guard}({name}) or ("
            )
        closing += 1
        last = name
    return f"{opening}a({last}){')' * closing}"


def with_sets(depth: int) -> str:
    """Return the same below two sets."""
    within = "forall z: (z in X implies a(z)) and (z in Y implies z + 1 in X)"
    return f"exists set X: exists set Y: begin in Y and ({within}) and {family(depth)}"


def best(work: object) -> float:
    """Return the least time of some rounds."""
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()  # type: ignore[operator]
        found.append(time.perf_counter() - began)
    return min(found)


def compile_windows(spec: tree.Spec) -> None:
    """Compile the windows of a spec, without the cache of compiled windows."""
    for stage, _ in trace(spec):
        if stage.name == "smaller form":
            return


def measure(formula: str) -> tuple[float, float]:
    """Return the seconds that wex and MONA take to compile a formula."""
    spec = wex.parse(f"{STREAM} window w where {formula}")
    meaning = meaning_of(spec)
    where = meaning.expanded.windows[0].where
    assert where is not None
    names: dict[object, str] = {
        each: f"G{at}" for at, each in enumerate(dict.fromkeys(predicates(where)))
    }
    text = program(logic_of(where), names)
    return best(lambda: compile_windows(spec)), best(lambda: Oracle(text))


def main() -> None:
    """Print the table."""
    if HERE is None:
        sys.stdout.write(f"{MISSING}\n")
        return
    empty = best(lambda: Oracle(program(logic_of(tree.Bool(True)), {})))
    sys.stdout.write(f"MONA's start-up: {1000 * empty:.0f} ms\n")
    sys.stdout.write(
        "| formula | wex ms | MONA ms beyond start-up | ratio to MONA, start-up included |\n|---|---|---|---|\n"
    )
    for kind, make in (("positions", family), ("two sets", with_sets)):
        for depth in range(1, 6):
            own, theirs = measure(make(depth))
            beyond = max(0.0, theirs - empty)
            cells = [
                f"{kind}, depth {depth}",
                f"{1000 * own:.1f}",
                f"{1000 * beyond:.1f}",
                f"{own / theirs:.1f}",
            ]
            sys.stdout.write(f"| {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
