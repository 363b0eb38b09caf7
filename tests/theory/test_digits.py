"""Digits: guards over them say of an event what the guards over its fields say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.theory.guards import guard, of_digits
from wex.theory.digits import digits_of, with_digits
from wex.theory.evaluate import EXACT, holds

HOUR = 3_600_000_000
DAY = 24 * HOUR
FIELDS = "n int, ts timestamp, d date"
_ops = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
_whole = ["n", "n // 6", "n % 6", "n // 2 % 3", "n % 12 // 6", "floor(n, 6)", "n // 6 + 2"]
_shifted = ["(n + 4) % 6", "floor(n, 6, 2)", "(n + 4) // 6", "floor(n, 12, 8)"]
_mixed = [
    "n",
    "n % 4",
    "n // 6",
    "n % 10 // 2",
    "floor(n, 4, 1)",
    "(n + 1) % 6",
    "n // 4 % 3",
    "(n + 5) % 12 // 3",
]
_times = ["hour(ts)", "weekday(ts)", "floor(ts, 1 day)", "floor(ts, 1 hour)", "minute(ts)"]
_numbers = st.integers(-30, 30).map(str)


@st.composite
def predicates(draw: st.DrawFn, terms: list[str]) -> str:
    """Comparisons of one term with a number, or with itself one event earlier."""
    term, op = draw(st.sampled_from(terms)), draw(_ops)
    field = "n" if terms is not _times else "ts"
    before = term.replace(field, f"{field}[-1]") if field == "n" else term.replace("ts", "ts[-1]")
    if draw(st.booleans()):
        return f"{term} {op} {before}"
    if field == "n":
        number = draw(_numbers)
        return f"{number} {op} {term}" if draw(st.booleans()) else f"{term} {op} {number}"
    if "floor" in term:
        return f"{term} {op} timestamp '1970-01-02 03:00'"
    return f"{term} {op} {draw(_numbers)}"


def check(texts: list[str], before: int, now: int) -> None:
    guards = [guard(text, FIELDS) for text in texts]
    digits = {own.name: own for own in digits_of(guards)}
    for own in digits.values():
        events = [of_digits(own, value) for value in (before, now)]
        assert [own.value(event) for event in events] == [before, now]
        for event in events:
            assert all(0 <= event[name] < most for name, most in own.bounds().items())
        for one in guards:
            plain = [{own.name: value} for value in (before, now)]
            rewritten = with_digits(one, digits)
            for gram, written in (
                (plain, events),
                ([None, plain[1]], [None, events[1]]),  # the event before is missing
            ):
                expected = holds(one, gram, numbers=EXACT)
                assert holds(rewritten, written, numbers=EXACT) is expected


numbers = st.integers(-40, 40)


@given(st.lists(predicates(_whole), min_size=1, max_size=3), numbers, numbers)
def test_digits_of_ints(texts: list[str], before: int, now: int) -> None:
    check(texts, before, now)


@given(st.lists(predicates(_shifted), min_size=1, max_size=2), numbers, numbers)
def test_digits_of_shifted_ints(texts: list[str], before: int, now: int) -> None:
    check(texts, before, now)


@given(st.lists(predicates(_mixed), min_size=1, max_size=3), numbers, numbers)
def test_digits_of_sizes_that_do_not_divide_each_other(
    texts: list[str], before: int, now: int
) -> None:
    check(texts, before, now)


times = st.integers(-200, 200).map(lambda step: step * HOUR // 3 - 1)


@given(st.lists(predicates(_times), min_size=1, max_size=3), times, times)
def test_digits_of_times(texts: list[str], before: int, now: int) -> None:
    check(texts, before, now)


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        (["hour(ts) = 3", "floor(ts, 1 day) != floor(ts[-1], 1 day)"], [(1, HOUR, 24 * HOUR)]),
        (["n % 6 = 1", "n >= n[-1]"], [(1, 6)]),
        (["floor(n, 6, 2) = 8", "n // 2 = 3"], [(1, 2, 6)]),
        (["n >= n[-1]"], []),  # nothing to divide
        (["n % 2 = 0", "n % 3 = 0"], [(1, 6)]),  # neither divides the other
        (["n % 3 = 0", "n // 10 > 2", "n % 60 = 1"], [(1, 30, 60)]),
        (["n % 4 = 0", "n // 6 > 2", "n // 24 = 1"], [(1, 2, 12, 24)]),
        (["n % 97 = 0", "n // 10 > 2"], []),  # too many values
        (["weekday(ts) = 1", "floor(ts, 1 week) != floor(ts[-1], 1 week)"], [(1, DAY, 7 * DAY)]),
        (["n % 6 = 1", "n - n[-1] > 3"], []),  # a difference is no digit
        (["floor(n, 6, 2) = 8", "n // 6 = 3"], []),  # two beginnings
        (["n % 6 = 1", "month(ts) = 3"], [(1, 6)]),
    ],
)
def test_which_fields_have_digits(texts: list[str], places: list[tuple[int, ...]]) -> None:
    found = digits_of([guard(text, FIELDS) for text in texts])
    assert [own.places for own in found] == places
