"""Combinations of truth values: by groups of guards, and by the solver for all guards at once."""

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
    resolved = meaning(parse(f"stream s ({FEW}) window w match {regex}"))
    parts = predicates(resolved.expanded.windows[0].pairs[0])
    return [guard_of(predicate, resolved.fields) for predicate in parts]


@given(st.lists(st.sampled_from(ATOMS), min_size=1, max_size=6), st.booleans(), st.integers(0, 1))
def test_groups_give_what_the_solver_gives(texts: list[str], floating: bool, missing: int) -> None:
    guards = guards_of(texts)
    try:
        by_solver = set(assignments(guards, 1, missing=missing, floating=floating))
    except UndecidedError:
        return
    by_groups = list(combinations(guards, 1, missing=missing, floating=floating, most=5_000))
    assert set(by_groups) == by_solver
    assert len(by_groups) == len(by_solver)


def test_more_combinations_than_accepted_are_an_error() -> None:
    guards = guards_of([f"f0 > {limit}" for limit in range(20)])
    rows = set(combinations(guards, 0, floating=True, most=21))
    assert rows == {(True,) * passed + (False,) * (20 - passed) for passed in range(21)}
    with pytest.raises(TooManyRowsError):
        next(combinations(guards, 0, floating=True, most=20))
