"""Guards: evaluation, satisfiability, and letters that are never too few."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.strategies import specs, streams
from tests.strategies.specs import FIELDS
from tests.theory.guards import guard, guards_of
from wex.spec import meaning, tree
from wex.stages import compile_window
from wex.theory import solver
from wex.theory.evaluate import (
    EXACT,
    INFINITE,
    NAN,
    OVERFLOW,
    ZERO_BY_ZERO,
    ArithmeticFault,
    Event,
    holds,
    truth,
)
from wex.theory.letters import Letters, cover, guard_of_letters, letters_of
from wex.theory.terms import Always, And, Guard, Not, Or, atoms, offsets


def lookback_of(guards: list[Guard]) -> int:
    return max((-offset for guard in guards for offset in offsets(guard)), default=0)


@given(
    st.lists(specs.predicates, min_size=1, max_size=3),
    st.lists(streams.events, min_size=8, max_size=8),
    st.data(),
)
def test_every_gram_has_a_letter(
    written: list[tree.Expr], word: list[Event], data: st.DataObject
) -> None:
    """Also with arithmetic that rounds, and under `pad`, near the start of the stream."""
    guards = guards_of(written)
    k = lookback_of(guards)
    assume(k < 8)
    position = data.draw(st.integers(0, 7))
    pad = position < k
    letters = letters_of(guards, k, pad=pad)
    gram = [word[index] if index >= 0 else None for index in range(position - k, position + 1)]
    try:
        truths = [holds(guard, gram, first=-position) for guard in letters.guards]
    except ArithmeticFault:
        return
    row = letters.rows[letters.letter(truths)]
    assert list(row) == truths
    for member, true in zip(letters.guards, truths, strict=True):
        assert bool(letters.where(member) >> letters.letter(truths) & 1) == true


@given(specs.predicates)
def test_models_satisfy_their_guard_and_unsatisfiable_means_so(written: tree.Expr) -> None:
    (condition,) = guards_of([written])
    k = lookback_of([condition])
    try:
        gram = solver.model(condition, FIELDS, k)
        opposite = solver.model(Not(condition), FIELDS, k)
    except solver.UndecidedError:
        return
    assert gram is not None or opposite is not None
    for model, expected in ((gram, True), (opposite, False)):
        if model is not None:
            seen = {holds(condition, model, first=first, numbers=EXACT) for first in (None, -k)}
            assert expected in seen
    assert solver.satisfiable(condition, k) == (gram is not None)


@given(specs.predicates, st.lists(streams.events, min_size=8, max_size=8))
def test_what_happens_is_satisfiable(written: tree.Expr, word: list[Event]) -> None:
    (condition,) = guards_of([written])
    k = lookback_of([condition])
    gram = [streams.exact(event) for event in word[7 - k :]]
    try:
        true = holds(condition, gram, numbers=EXACT)
    except ArithmeticFault:
        return
    if true:
        assert solver.satisfiable(condition, k)


TEXTS = ["x > 1", "x > 2", "x = 2", "n > 1", "n in (1, 2)", "n > m", "m > n", "c = 'a'", "c != 'b'"]


def at_letter(composed: Guard, letters: Letters, letter: int) -> bool:
    """Evaluate a combination of the guards of some letters at one of them."""
    match composed:
        case Always(value):
            return value
        case Not(operand) if composed not in letters.guards:
            return not at_letter(operand, letters, letter)
        case And(parts) if composed not in letters.guards:
            return all(at_letter(part, letters, letter) for part in parts)
        case Or(parts) if composed not in letters.guards:
            return any(at_letter(part, letters, letter) for part in parts)
    return letters.rows[letter][letters.guards.index(composed)]


@given(st.lists(st.sampled_from(TEXTS), max_size=5), st.integers(0))
def test_a_set_of_letters_has_a_guard_without_redundant_parts(texts: list[str], mask: int) -> None:
    letters = letters_of(map(guard, texts), 0)
    chosen = mask & letters.everything
    composed = guard_of_letters(letters, chosen)
    truths = [at_letter(composed, letters, letter) for letter in range(len(letters))]
    assert sum(true << letter for letter, true in enumerate(truths)) == chosen

    def covered(cubes: list[list[tuple[int, bool]]]) -> int:
        hits = [
            any(all(row[i] == holds for i, holds in cube) for cube in cubes) for row in letters.rows
        ]
        return sum(hit << letter for letter, hit in enumerate(hits))

    cubes = cover(letters, chosen)
    assert covered(cubes) == chosen
    for index, cube in enumerate(cubes):
        others = cubes[:index] + cubes[index + 1 :]
        assert covered(others) != chosen
        for literal in cube:
            assert covered([[other for other in cube if other != literal]]) & ~chosen


def test_floats_leave_the_reals_and_letters_follow_them() -> None:
    plain, shifted = guard("x > x[-1]"), guard("x + 1 > x[-1] + 1")
    gram: list[Event] = [{"x": 0.0}, {"x": 1e-20}]
    assert holds(plain, gram)
    assert not holds(shifted, gram)
    letters = letters_of([plain, shifted], 1)
    assert len(letters) == 4
    assert letters.rows[letters.letter([True, False])] == (True, False)
    exact = [{"x": streams.exact(event)["x"]} for event in gram]
    assert holds(plain, exact, numbers=EXACT) == holds(shifted, exact, numbers=EXACT)


def test_comparing_floats_is_exact_so_letters_are_few() -> None:
    def rows(*texts: str) -> set[str]:
        letters = letters_of(map(guard, texts), 0)
        return {"".join("01"[true] for true in row) for row in letters.rows}

    assert rows("x > y", "y > x", "x = y") == {"100", "010", "001"}
    assert rows("x > 1", "x > 2", "x > 3") == {"000", "100", "110", "111"}
    assert rows("-x > 1", "abs(x) > 1", "x < -1") == {"000", "010", "111"}


def test_constants_that_round_to_one_float_are_one_at_run_time() -> None:
    one, two = guard("x = 0.1"), guard("x = 0.10000000000000000001")
    assert holds(one, [{"x": 0.1}])
    assert holds(two, [{"x": 0.1}])
    assert (True, True) in letters_of([one, two], 0).rows
    assert not any(all(row) for row in solver.assignments([one, two], 0, floating=False))


def test_under_pad_not_is_not_the_opposite_comparison() -> None:
    below, not_above = guard("x <= x[-1]"), guard("not x > x[-1]")
    first: list[Event | None] = [None, {"x": 1.0}]
    assert not holds(below, first, first=0)
    assert holds(not_above, first, first=0)
    assert len(letters_of([below, not_above], 1)) == 2
    padded = letters_of([below, not_above], 1, pad=True)
    assert padded.rows[padded.letter([False, True])] == (False, True)


def test_is_first_under_pad_is_true_at_the_first_event_only() -> None:
    here, before = guard("is_first"), guard("is_first[-1]")
    rows = set(letters_of([here, before], 2, pad=True).rows)
    assert rows == {(False, False), (True, False), (False, True)}
    assert set(letters_of([here, before], 1).rows) == {(False, False), (False, True)}


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("x > 1 and x < 1", False),
        ("x > 1 and x < 1.000001", True),
        ("n > 1 and n < 2", False),
        ("n > 1 and x < n and x > 1", True),
        ("2 * n = 2 * m + 1", False),
        ("2 * x = 2 * y + 1", True),
        ("x + y > 3 and x < 1 and y < 1", False),
        ("x[-1] > x and x > x[-1]", False),
        ("c = 'a' and c = 'b'", False),
        ("c != 'a' and c != 'b' and c[-1] != c", True),
        ("abs(x) < 0", False),
        ("n in (1, 2, 3) and n not between 0 and 5", False),
        ("x / 2 > 1 and x < 2", False),
        ("true", True),
        ("false", False),
    ],
)
def test_satisfiability_over_the_exact_numbers(text: str, possible: bool) -> None:
    condition = guard(text)
    k = lookback_of([condition])
    assert solver.satisfiable(condition, k) == possible
    fields = meaning(wex.parse("stream s (x real, y real, n int, m int, c string)")).fields
    assert (solver.model(condition, fields, k) is not None) == possible


@pytest.mark.parametrize(
    ("fields", "text", "possible"),
    [
        ("e enum('a', 'b')", "e != 'a' and e != 'b'", False),
        ("e enum('a', 'b'), f enum('b', 'a')", "e != f and e = 'a'", True),
        ("e enum('a', 'b')", "e != e[-1] and e[-1] != e[-2] and e != e[-2]", False),
        ("t timestamp", "t - t[-1] > 1 day and t < t[-1]", False),
        (
            "t timestamp",
            "t > timestamp '2026-01-01' and t < timestamp '2026-01-01 00:00:00.000001'",
            False,
        ),
        ("d date", "d > date '2026-01-01' and d < date '2026-01-02'", False),
        ("d date", "d - d[-1] = 36 hours", False),
        ("d date", "d - d[-1] = 48 hours and d = d[-1] + 2 days", True),
        ("b bool", "b and not b", False),
        ("b bool", "b = b[-1] and b[-1] = b[-2] and b != b[-2]", False),
        ("s string", "s = s[-1] and s[-1] = s[-2] and s != s[-2]", False),
    ],
)
def test_satisfiability_of_every_type(fields: str, text: str, possible: bool) -> None:
    written = guard(text, fields)
    k = lookback_of([written])
    assert solver.satisfiable(written, k) == possible
    types = meaning(wex.parse(f"stream s ({fields})")).fields
    assert (solver.model(written, types, k) is not None) == possible


def test_products_of_fields_cannot_be_decided_and_count_as_possible() -> None:
    condition = guard("x * y < 0 and x > 0 and y > 0")
    assert solver.satisfiable(condition, 0)
    with pytest.raises(solver.UndecidedError):
        solver.model(condition, {}, 0)
    assert len(letters_of([guard("n * m > 0"), guard("n > 0"), guard("m > 0")], 0)) == 8


def test_too_many_letters_are_a_limit_error() -> None:
    fields = ", ".join(f"b{index} bool" for index in range(14))
    atoms_ = " ".join(f"b{index}" for index in range(14))
    resolved = meaning(wex.parse(f"stream s ({fields}) window w match {atoms_}"))
    with pytest.raises(wex.LimitError) as caught:
        compile_window(resolved, 0)
    assert caught.value.limit == "letters"
    assert "wex.limits.raised(letters=" in str(caught.value)


def test_guards_of_other_windows_do_not_multiply() -> None:
    windows = " ".join(f"window w{n} match [x > {n}] [y > {n}]" for n in range(30))
    resolved = meaning(wex.parse(f"stream s (x real, y real) {windows}"))
    assert all(len(compile_window(resolved, index).letters) == 4 for index in range(30))


def test_atoms_are_the_comparisons_as_written() -> None:
    assert len(list(atoms(guard("0 < x <= 9 and n in (1, 2)")))) == 4


@pytest.mark.parametrize(
    ("text", "event", "true"),
    [
        ("n / m > 1", {"n": 1, "m": 0}, True),  # infinite
        ("n / m < 0", {"n": -1, "m": 0}, True),
        ("x > n", {"x": 9007199254740993.0, "n": 9007199254740993}, False),  # compared exactly
        ("x + 0 = n", {"x": 1e16, "n": 10**16}, True),
        ("n - m > 0", {"n": 3, "m": -3}, True),
    ],
)
def test_run_time_arithmetic(text: str, event: Event, true: bool) -> None:
    assert holds(guard(text), [event]) == true


@pytest.mark.parametrize(
    ("text", "event", "why"),
    [
        ("n + m > 0", {"n": 2**63 - 1, "m": 1}, OVERFLOW),
        ("n * m > 0", {"n": 2**62, "m": 2}, OVERFLOW),
        ("-n > 0", {"n": -(2**63)}, OVERFLOW),
        ("abs(n) > 0", {"n": -(2**63)}, OVERFLOW),
        ("n / m > 0", {"n": 0, "m": 0}, ZERO_BY_ZERO),
        ("x - y > 0", {"x": float("inf"), "y": float("inf")}, INFINITE),
        ("x * 2 > 0", {"x": float("nan")}, NAN),
        ("n = 1 or n + m > 0", {"n": 2**63 - 1, "m": 1}, OVERFLOW),
        ("n = 9223372036854775807 or n + m > 0", {"n": 2**63 - 1, "m": 1}, OVERFLOW),
    ],
)
def test_arithmetic_without_a_result_is_a_fault(text: str, event: Event, why: str) -> None:
    with pytest.raises(ArithmeticFault) as caught:
        holds(guard(text), [event])
    assert caught.value.why == why


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x > 0", True),
        ("y > 0", None),
        ("not y > 0", None),
        ("y > 0 and x > 0", None),
        ("y > 0 and x < 0", False),
        ("y > 0 or x > 0", True),
        ("y > 0 or x < 0", None),
        ("n + y > 0", None),
        ("m > 0", None),  # NaN compares like NULL
        ("x > 0 and n > 0", True),
        ("x < 0 or n < 0", False),
    ],
)
def test_null_makes_a_guard_of_a_measure_unknown(text: str, expected: bool | None) -> None:
    event: Event = {"x": 1.0, "y": None, "n": 1, "m": float("nan"), "c": ""}
    fields = "x real, y real, n int, m real, c string"
    assert truth(guard(text, fields), [event]) is expected


def test_texts_chosen_by_the_solver_are_new() -> None:
    condition = guard("c != 'text0' and c != 'text1' and c != 'text2' and c != c[-1]")
    fields = meaning(wex.parse("stream s (c string)")).fields
    gram = solver.model(condition, fields, 1)
    assert gram is not None
    assert holds(condition, gram, numbers=EXACT)
