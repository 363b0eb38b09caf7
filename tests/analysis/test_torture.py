"""The analysis against every short stream of random specs, in short; `make torture` runs it for long."""

from __future__ import annotations

import wex
from tests.analysis import torture
from tests.analysis.oracle import Oracle


def test_the_analysis_is_right_about_random_specs() -> None:
    assert torture.run(25, 1) == []


def test_the_oracle_notices_what_is_wrong() -> None:
    oracle = Oracle(wex.parse("stream s (ok bool) window w match [ok]{2}"))
    shown = {word: oracle.windows(oracle.stream(word)) for word in oracle.words}
    assert oracle.most_open(shown) == 2
    assert oracle.most_held(oracle.spec) == 1  # what ends with an event is not held after it
    assert oracle.held_or_ended([{"ok": True}, {"ok": True}]) == 2
