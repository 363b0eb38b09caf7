"""The short form of the fuzzer of saved bytes; `python -m tests.fuzz.states` is the long one."""

from __future__ import annotations

import pytest

from tests.fuzz import states


@pytest.mark.parametrize("seed", range(3))
def test_damaged_bytes_are_refused_or_run(seed: int) -> None:
    outcomes = {states.attempt(number, seed) for number in range(400)}
    assert {"plan: refused", "state: refused", "bucket: refused"} <= outcomes
    assert {"plan: ran", "state: ran", "bucket: ran"} & outcomes


def test_every_kind_of_machine_takes_part() -> None:
    engines = [states.sound(number).engine for number in range(len(states.SPECS))]
    kinds = {window.machine.kind for engine in engines for window in engine.windows}
    assert kinds == {"registers", "configs", "sliding", "moving", "tracked", "preferred"}
