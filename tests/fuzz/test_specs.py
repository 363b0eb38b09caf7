"""The fuzzers of specs, in short; `make fuzz` runs them for long."""

from __future__ import annotations

import pytest

from tests.fuzz import analysis, blowups


def test_random_specs_are_analysed() -> None:
    assert analysis.run(25, 1) == []


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x int) window w match any{0,20000} [x > 5] keep shortest",
        "stream s (x int, y int) window w match ([x > y[-1]]{2,9} | [y > x[-2]]{3,7}){2,6} until [x = 3] or end",
        "stream s (x int) window w match ~(~(any* [x > 1]) & ~(any* [x < 9] any{4})) within 100 events keep disjoint",
        f"stream s (x real) window w match {' '.join(f'[x > {at}]?' for at in range(40))}",
    ],
)
def test_large_specs_end(text: str) -> None:
    found = blowups.tried(text)
    assert isinstance(found, dict), found
