"""Everything public from many threads at once, each result compared with that of one thread.

`python -m tests.threaded 200 8` runs that many specs on so many threads. It is run as a process of
its own, because what it looks for ends the process.
"""

from __future__ import annotations

import gc
import itertools
import logging
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import wex
from wex.engine import engine as running

STREAM = "stream s (x int, y real, ok bool, c enum('a', 'b'))"
REGEXES = (
    "[x > {n}]+ [y < {n}.5]",
    "ok+ ([c = 'a'] | [y > {n}])",
    "[x > x[-1]] [x >= {n}]*",
    "any* [c = 'b' and not ok] [x = {n}]",
    "[y > {n} or ok] ~([x = {n}]*)",
    "[x >= {n}] ([c = 'b'] | ok any)",
    "[y = {n}] any{{0,3}} ok",
)
CLAUSES = ("keep longest", "within 3 events", "until [not ok] or end", "keep disjoint", "")
DATA: dict[str, list[Any]] = {
    "x": [at * 7 % 11 - 4 for at in range(24)],
    "y": [at * 5 % 13 - 6.5 for at in range(24)],
    "ok": [at % 3 > 0 for at in range(24)],
    "c": ["ab"[at * at % 5 % 2] for at in range(24)],
}
Later = Callable[[Callable[[], object]], object]  # calls a function, perhaps in another thread


def texts(count: int) -> list[str]:
    """Return specs that differ."""
    combinations = itertools.product(range(count), REGEXES, CLAUSES)
    return [
        f"{STREAM} window w match {regex.format(n=n)} {clause} measure sum(x) as m"
        for n, regex, clause in itertools.islice(combinations, count)
    ]


def checked(spec: wex.Spec, later: Later) -> list[object]:
    """Return the verdicts, and that there is a stream for one of them."""
    answers = wex.check(spec)["w"].answers
    found: list[object] = [(each.verdict, each.bound, each.exact) for each in answers.values()]
    return [*found, later(lambda: answers["held"].witness(1).num_rows > 0)]


def compared(spec: wex.Spec, later: Later) -> list[object]:
    """Return how a spec compares with another one."""
    other = wex.parse(str(spec).replace("match ", "match ok | "))
    return [wex.equivalent(spec, other).holds]


def explained(spec: wex.Spec, later: Later) -> list[object]:
    """Return the stages of a spec, but for the verdicts."""
    return [line for line in str(wex.explain(spec)).splitlines() if "states" in line]


def rewritten(spec: wex.Spec, later: Later) -> list[object]:
    """Return a spec in both notations."""
    return [str(wex.to_regex(wex.to_formula(spec)))]


def processed(spec: wex.Spec, later: Later) -> list[object]:
    """Return the windows of a spec batch by batch, continued elsewhere."""
    processor = wex.Processor(spec)
    windows = processor.feed({name: column[:9] for name, column in DATA.items()}).to_pylist()
    saved = processor.state()
    rest = {name: column[9:] for name, column in DATA.items()}
    found = later(lambda: wex.Processor.restore(spec, saved).feed(rest).to_pylist())
    return [windows, found, wex.is_empty(spec).holds]


ASK = (checked, processed, rewritten, compared, processed, rewritten, checked, explained, processed)


def asked(number: int, text: str, later: Later) -> list[object]:
    """Return the windows of a spec, and one of the other things that can be asked."""
    spec = wex.parse(text)
    ask = ASK[number % len(ASK)]
    return [str(spec), wex.find(spec, DATA).to_pylist(), *ask(spec, later)]


def run(specs: list[str], threads: int) -> list[list[object]]:
    """Return what is said of specs, asked on so many threads, and in part on others."""
    with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(2) as others:
        tasks = [
            pool.submit(asked, number, text, lambda function: others.submit(function).result())
            for number, text in enumerate(specs)
        ]
        return [task.result() for task in tasks]


def main(count: int, threads: int) -> None:
    """Compare many threads with one."""
    logging.disable(logging.WARNING)
    gc.set_threshold(500)  # often: what one thread drops is collected in another
    sys.setswitchinterval(0.0005)
    specs = texts(count)
    many = run(specs, threads)
    running.engine_of.cache_clear()
    one = [asked(number, text, lambda function: function()) for number, text in enumerate(specs)]
    for text, first, second in zip(specs, one, many, strict=True):
        assert first == second, (text, first, second)
    sys.stdout.write(f"{count} specs on {threads} threads\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
