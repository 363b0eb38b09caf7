"""Specs made to blow up, through check, find, explain and translate: python -m tests.fuzz.blowups COUNT SEED.

Counts, nesting, many predicates, many pairs, long lookback. Each has to end in a result or a WexError,
with bounded CPU and memory; it is run in a process of its own, which is killed where it does not.
"""

from __future__ import annotations

import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import pyarrow as pa

import wex

SECONDS = 90  # of CPU for one spec, for all four together: none takes half of it alone
MEMORY = 6 << 30  # bytes of address space: Arrow, numba and z3 take some before they begin


def spec_text(choose: random.Random) -> str:
    """Return a spec that is larger than it looks."""
    fields = choose.choice([1, 1, 2, 12])
    names = [f"f{at}" for at in range(fields)]
    types = [choose.choice(["int", "real"]) for _ in names]
    stream = ", ".join(f"{name} {type_}" for name, type_ in zip(names, types, strict=True))

    def atom() -> str:
        name, other = choose.choice(names), choose.choice(names)
        back = choose.choice([0, 0, 1, 2, choose.choice([5, 20])])
        return choose.choice(
            [
                f"{name} > {choose.randint(0, 200)}",
                f"{name} > {other}[-{back}]" if back else f"{name} > {other}",
                f"abs({name} - {other}[-1]) >= {choose.randint(1, 50)}",
                f"{name} + {other}[-1] < 2 * {name}[-1]",
                f"{name} * {other} > {choose.randint(1, 50)}",
            ]
        )

    def bracket() -> str:
        many = choose.choice([1, 1, 1, 3, 12])
        return "[" + choose.choice([" and ", " or "]).join(atom() for _ in range(many)) + "]"

    def counted(inner: str) -> str:
        most = choose.choice([3, 16, 100, 1_000, 100_000])
        return choose.choice(
            [f"({inner}){{{most}}}", f"({inner}){{0,{most}}}", f"({inner})*", f"~({inner})"]
        )

    def regex(depth: int) -> str:
        if depth == 0:
            return choose.choice([bracket(), "any", bracket()])
        one, two = regex(depth - 1), regex(depth - 1)
        form = choose.randint(0, 4)
        if form == 0:
            return counted(one)
        return f"({one}) {choose.choice(['', '', '|', '&'])} ({two})"

    many = choose.choice([0, 0, 0, 30, 200])
    match = (
        " | ".join(f"[f0 > {at}]" for at in range(many)) if many else regex(choose.randint(1, 4))
    )
    clauses = [
        choose.choice(["", f"within {choose.choice([2, 100, 10_000])} events"]),
        choose.choice(["", "keep shortest", "keep longest", "keep disjoint"]),
        choose.choice(["", f"until {bracket()}", f"until {bracket()} or end"]),
    ]
    after = choose.choice(["", f"after {regex(2)} "])
    return f"stream s ({stream})\nwindow w\n  {after}match {match}\n  " + " ".join(clauses)


def attempt(text: str) -> dict[str, str]:
    """Return how each command ends on a spec: "fine", or the code of its error."""
    try:
        spec = wex.parse(text)
    except wex.WexError as error:
        return {"parse": error.code}
    columns = {
        field.name.text: pa.array(
            [1, 5, 60], pa.float64() if str(field.type) == "real" else pa.int64()
        )
        for field in spec.stream.fields
    }
    ways: dict[str, Callable[[], object]] = {
        "check": lambda: str(wex.check(spec)),
        "find": lambda: wex.find(spec, pa.table(columns)),
        "explain": lambda: str(wex.explain(spec)),
        "translate": lambda: str(wex.to_formula(spec)),
    }
    found: dict[str, str] = {}
    for name, way in ways.items():
        began = time.process_time()
        try:
            way()
            found[name] = "fine"
        except wex.WexError as error:
            found[name] = error.code
        found[name] += f" {time.process_time() - began:.1f} s"
    return found


def tried(text: str) -> dict[str, str] | str:
    """Return how a spec ends in a process of its own, or what went wrong with that process."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.blowups", "one"],
        input=text, capture_output=True, text=True, check=False, preexec_fn=limit,
    )  # fmt: skip
    if done.returncode:
        return f"status {done.returncode}: {done.stderr[-600:]}"
    found: dict[str, str] = json.loads(done.stdout)
    return found


def run(count: int, start: int) -> list[str]:
    """Return the specs among so many that do not end well."""
    choose = random.Random(start)
    bad: list[str] = []
    for _ in range(count):
        text = spec_text(choose)
        found = tried(text)
        if isinstance(found, str):
            bad.append(f"{text}\n   {found}")
    return bad


def main(count: int, start: int) -> int:
    bad = run(count, start)
    for each in bad[:10]:
        print("-----\n" + each)  # noqa: T201
    print(f"{count} specs, {len(bad)} faults")  # noqa: T201
    return int(bool(bad))


if __name__ == "__main__":
    if sys.argv[1] == "one":
        print(json.dumps(attempt(sys.stdin.read())))  # noqa: T201
    else:
        sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
