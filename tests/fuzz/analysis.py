"""Random specs through `check`: python -m tests.fuzz.analysis COUNT SEED.

Each has to end in a report or a WexError, within SECONDS of CPU, and what it proves has to be true of
the engine: a processor that is fed event by event never holds more starts than the bound, and no
more starts are open than are held.
"""

from __future__ import annotations

import random
import sys
import time
import traceback
from contextlib import suppress
from math import inf

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import spec_texts
from tests.strategies import specs, streams
from wex.analysis.answers import Kind
from wex.analysis.check import Report
from wex.engine.engine import engine_of
from wex.engine.running_streams import RunningStreams
from wex.spec import tree
from wex.stages import plan_of
from wex.theory.evaluate import Event
from wex.theory.terms import atoms, is_open

SECONDS = 20.0  # of CPU for one spec, in a long run

random_specs = st.one_of(specs.specs().map(str), specs.specs().map(str), spec_texts())


def faults(text: str, events: list[Event], most: float = inf) -> list[str]:
    """Return what is wrong with the analysis of a spec: nothing, if all is well.

    It may take at most so many seconds of CPU.
    """
    began = time.process_time()
    spec = report = None
    with suppress(wex.WexError):
        spec = wex.parse(text)
        report = wex.check(spec)
    seconds = time.process_time() - began
    found = [f"{seconds:.1f} s of CPU"] if seconds > most else []
    if spec is None or report is None:
        return found
    for window in report:
        held, opened = window.held.bound, window.open.bound
        if held is not None and (opened is None or opened > held):
            found.append(f"{window.name}: {window.open} open, {window.held} held")
    names = {field.name.text for field in spec.stream.fields}
    # An assumption that nothing meets fails only where its first gram is.
    met = not any(each.kind is Kind.NO_STREAM_CONFORMS for each in report.findings)
    if met and events and set(events[0]) == names and _is_exact(spec):
        found += _held_too_many(spec, report, events)
    return found


def _is_exact(spec: tree.Spec) -> bool:
    """Tell whether what is proved counts for every stream that a processor takes.

    Floats round, and nobody checks an `assume` that says so.
    """
    trusted = [assume.unchecked for assume in spec.assumes]
    checked = not any([*trusted, *(rate.unchecked for rate in spec.rates)])
    known = (atom for guard in plan_of(spec).guards for atom in atoms(guard))
    return checked and not any(is_open(atom, floating=True) for atom in known)


def _held_too_many(spec: tree.Spec, report: Report, events: list[Event]) -> list[str]:
    running = RunningStreams(engine_of(spec))
    found: dict[str, str] = {}
    for event in events:
        try:
            running.feed(streams.table([event]))
        except wex.DataError:
            break
        state = running.everything()
        for at, window in enumerate(report):
            counts = state.counts(f"held.{at}")
            most = int(counts.max(initial=0))
            if window.held.bound is not None and most > window.held.bound:
                found[window.name] = f"{window.name}: proved {window.held} held, there are {most}"
    return list(found.values())


def run(count: int, start: int, most: float = inf) -> list[str]:
    """Return the faults of so many random specs, each in at most so many seconds of CPU."""
    bad: list[str] = []
    choose = random.Random(start)

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(random_specs, st.lists(streams.events, max_size=12))
    def one(text: str, events: list[Event]) -> None:
        choose.shuffle(events)
        try:
            bad.extend(f"{text}\n   {fault}" for fault in faults(text, _sorted(events), most))
        except Exception:  # noqa: BLE001
            bad.append(f"{text}\n{traceback.format_exc()}")

    one()
    return bad


def _sorted(events: list[Event]) -> list[Event]:
    """Return events in an order that most specs take."""
    return sorted(events, key=lambda event: str(event["ts"]))


def main(count: int, start: int) -> int:
    bad = run(count, start, SECONDS)
    for each in bad[:10]:
        print("-----\n" + each)  # noqa: T201
    print(f"{count} specs, {len(bad)} faults")  # noqa: T201
    return int(bool(bad))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
