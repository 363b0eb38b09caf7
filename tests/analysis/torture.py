"""The analysis against every short stream of random specs: python -m tests.analysis.torture COUNT SEED.

The oracles share no code with the analysis. What windows a stream has, and with them which starts are
open, says the definition in `wex.reference`; how many starts are held says a processor. No bound may
be exceeded by a short stream, every exact bound and every growth has to be shown by its witness,
and every finding has to be true of all short streams.
"""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import wex
from tests.analysis.false_findings import false_labels, is_false
from tests.analysis.oracle import Oracle
from tests.analysis.small import dividing, spec_texts
from tests.analysis.test_types import comparing
from tests.strategies.specs import labelled_pairs
from wex.errors import LimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.analysis.oracle import Windows
    from wex.analysis.answers import Answer
    from wex.theory.evaluate import Event

GROWN = 4  # what the witness of an unbounded number has to reach
MOST_WITNESSED = 12  # a larger bound is not replayed
PER_NOTE = 100  # specs of a long run


@st.composite
def labelled(draw: st.DrawFn) -> str:
    """Draw the text of a spec whose window has labels."""
    spec = wex.parse(draw(spec_texts(preference=draw(st.booleans()))))
    (window,) = spec.windows
    if window.pairs:
        window = replace(window, pairs=draw(labelled_pairs(window.pairs)))
    return str(replace(spec, windows=(window,), source=None))


random_specs = st.one_of(
    spec_texts(),
    spec_texts(having=True),
    spec_texts(preference=True),
    spec_texts(running=True),
    spec_texts(alternating=True),
    comparing(lookback=3),
    dividing(),
    labelled(),
)


def faults(text: str, tally: Counter[str] | None = None) -> list[str]:
    """Return what is wrong with the analysis of a spec with one window: nothing, if all is well."""
    oracle = Oracle(wex.parse(text))
    everything = wex.check(oracle.spec)
    (report,), findings = everything.windows, everything.findings
    shown = {word: oracle.windows(oracle.stream(word)) for word in oracle.words}
    overlaps = [_shared(windows, len(word)) for word, windows in shown.items()]
    reached = {
        "open": oracle.most_open(shown),
        "held": oracle.most_held(oracle.spec),
        "overlap": max(overlaps, default=0),
    }
    found: list[str] = []
    for name, low in reached.items():
        answer = report.answers[name]
        if tally is not None:
            tally[f"{name} {answer.verdict}{' exact' if answer.exact else ''}"] += 1
        if answer.bound is not None and low > answer.bound:
            found.append(f"{name}: {answer} is proved, a stream has {low}")
        found += _of_witness(oracle, name, answer)
    if false_labels(oracle, report):
        found.append(f"labels are ambiguous: {report.labels}")
    for finding in (*report.findings, *findings):
        if is_false(oracle, finding, report, shown):
            found.append(f"not true: {finding}")
        if tally is not None:
            tally[f"finding {finding.kind}"] += 1
    return found


def _shared(windows: Windows, length: int) -> int:
    """Return how many windows share one position at most."""
    return max((sum(b <= at <= e for b, e in windows) for at in range(length)), default=0)


def _of_witness(oracle: Oracle, name: str, answer: Answer) -> Iterator[str]:
    """Yield what is wrong with the witness of an exact bound, or of growth."""
    if answer.exact and answer.bound is not None and answer.bound <= MOST_WITNESSED:
        n = answer.bound
    elif answer.verdict == "unbounded":
        n = GROWN
    else:
        return
    events: list[Event] = list(answer.witness(n).to_pylist())
    if not oracle.conforms(events):
        yield f"{name}: the witness of {n} does not conform"
        return
    if name == "open" and not oracle.whole:
        return  # other values than a few may be needed to go on
    if name == "open":
        seen = oracle.open_at_end(events, n, periodic=True)
    elif name == "held":
        seen = oracle.held_or_ended(events)
    else:
        seen = _shared(oracle.windows(events), len(events))
    if seen < n:
        yield f"{name}: the witness of {n} has {seen}: {events}"


def run(
    count: int,
    start: int,
    tally: Counter[str] | None = None,
    note: Callable[[int, list[str]], None] = lambda _done, _new: None,
) -> list[str]:
    """Return the faults of so many random specs; `note` is told of each spec and its faults."""
    bad: list[str] = []
    done = 0

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(random_specs)
    def one(text: str) -> None:
        nonlocal done
        new: list[str] = []
        try:
            new = [f"{text}\n   {fault}" for fault in faults(text, tally)]
        except LimitError:
            pass  # the definition tries every set of positions
        except Exception:  # noqa: BLE001
            new = [f"{text}\n{traceback.format_exc()}"]
        done += 1
        bad.extend(new)
        note(done, new)

    one()
    return bad


def _show(done: int, new: list[str]) -> None:
    for fault in new:
        print("-----\n" + fault, flush=True)  # noqa: T201
    if done % PER_NOTE == 0:
        print(f"{done} specs so far", flush=True)  # noqa: T201


def main(count: int, start: int) -> int:
    tally: Counter[str] = Counter()
    bad = run(count, start, tally, _show)
    for what, times in sorted(tally.items()):
        print(f"{times:>6}  {what}")  # noqa: T201
    print(f"{count} specs, {len(bad)} faults")  # noqa: T201
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
