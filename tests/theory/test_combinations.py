"""Truth values that guards can have together: in groups, and all at once by the solver."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wex.compile.guards import predicates
from wex.spec import meaning, parse
from wex.theory.letters import TooManyRowsError, combinations
from wex.theory.solver import UndecidedError, assignments
from wex.theory.terms import Guard
from wex.theory.translate import guard_of

FEW = "f0 int, f1 int, x real, name string, side enum('a', 'b', 'c'), ok bool"
ATOMS = [
    "f0 > 3", "f0 >= 3", "f0 < 4", "3.5 > f0", "f0 = 3", "f0 != 4", "f1 > 3", "f0 > f1", "f0[-1] > 3",
    "x > 0.1", "x >= 0.1", "0.3 = x", "x < 1e300", "name = 'a'", "name != 'b'", "side = 'a'", "side != 'c'",
    "ok", "not ok", "ok = true", "x + 0.1 > 3", "is_first", "f0 > 3 and f1 > 3", "f0 > 2 or name = 'c'",
]  # fmt: skip


def guards_of(texts: list[str]) -> list[Guard]:
    regex = " ".join(f"[{text}]" for text in texts)
    found = meaning(parse(f"stream s ({FEW}) window w match {regex}"))
    parts = predicates(found.expanded.windows[0].pairs[0])
    return [guard_of(each, found.fields) for each in parts]


@given(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=6), st.booleans(), st.integers(0, 1))
def test_groups_give_what_the_solver_gives(texts: list[str], floating: bool, missing: int) -> None:
    guards = guards_of(texts)
    try:
        whole = set(assignments(guards, 1, missing=missing, floating=floating))
    except UndecidedError:
        return
    found = list(combinations(guards, 1, missing=missing, floating=floating, most=5_000))
    assert set(found) == whole
    assert len(found) == len(whole)


def test_more_than_are_asked_for() -> None:
    guards = guards_of([f"f0 > {at}" for at in range(20)])
    assert len(list(combinations(guards, 0, floating=True, most=21))) == 21
    with pytest.raises(TooManyRowsError):
        next(combinations(guards, 0, floating=True, most=20))
