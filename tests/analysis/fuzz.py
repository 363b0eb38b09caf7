"""Compare the analysis with all short streams: python -m tests.analysis.fuzz COUNT SEED."""

from __future__ import annotations

import sys
import time
from collections import Counter

from hypothesis import HealthCheck, Phase, given, seed, settings

import wex
from tests.analysis.small import alphabet, spec_texts, tried
from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.spec import meaning as meaning_of


def compare(
    text: str,
    tally: Counter[str] | None = None,
    longest: int | None = None,
    *,
    decided: bool = True,
) -> None:
    """Compare the verdicts about a spec with all streams up to a length.

    `decided` tells that none of them may be *unknown*.
    """
    meaning = meaning_of(wex.parse(text))
    analysis = Analysis(meaning, 0, Budget())
    found = tried(meaning, 0, longest or (6 if len(alphabet(meaning)) == 3 else 5))
    for name in ("open", "held", "overlap"):
        answer, low = getattr(analysis, name), getattr(found, name)
        if tally is not None:
            tally[f"{name} {answer.verdict}{'' if answer.exact else ' inexact'}"] += 1
        if answer.verdict == "unknown":
            assert not decided, (name, answer.reason)
            continue
        if answer.verdict == "bounded":
            assert low <= answer.bound, (name, low, answer.bound)
            if answer.exact:
                answer.witness(answer.bound)
        else:
            for n in (1, 2, 7, 20):
                answer.witness(n)
    if analysis.held.bound is not None and analysis.open.verdict != "unknown":
        assert analysis.open.bound is not None, "held is bounded, open is not"
        assert analysis.held.bound >= analysis.open.bound, "held < open"


def main(count: int, start: int) -> None:
    tally: Counter[str] = Counter()
    bad: list[str] = []

    @seed(start)
    @settings(max_examples=count, database=None, deadline=None, phases=[Phase.generate],
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(spec_texts())
    def run(text: str) -> None:
        began = time.monotonic()
        try:
            compare(text, tally)
        except Exception as error:  # noqa: BLE001
            bad.append(f"{text}\n   {type(error).__name__}: {error}")
        tally["seconds"] += int(1000 * (time.monotonic() - began))

    run()
    print(dict(tally))  # noqa: T201
    for each in bad[:6]:
        print("-----\n" + each)  # noqa: T201
    print(len(bad), "bad")  # noqa: T201


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
