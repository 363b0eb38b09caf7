"""Regressions: errors that a review found."""

from __future__ import annotations

import pyarrow as pa
import pytest

import wex

T = "stream s (t timestamp, x real) order by t "


@pytest.mark.parametrize(
    "clauses",
    [
        "within 1 hour keep shortest",
        "within 1 hour keep longest",
        "measure sum(x) as s having s > 0 keep disjoint",
    ],
)
def test_more_windows_are_not_more_after_keep(clauses: str) -> None:
    wide = wex.parse(T + f"window w match any+ {clauses}")
    narrow = wex.parse(T + f"window w match any{{2}} {clauses}")
    assert wex.includes(wide, narrow).holds is not True


def test_ties_are_broken_by_null_first() -> None:
    spec = wex.parse(
        "stream s (t int, ok bool, x real) order by t window w match [t = t[-1] and x < x[-1]]{2}"
    )
    data = {"t": [0, 0, 0], "ok": [None, False, True], "x": [3.0, 2.0, 1.0]}
    assert wex.find(spec, data).num_rows == 1
    found = wex.is_empty(spec)
    assert found.holds is False
    assert found.witness is not None
    assert wex.find(spec, found.witness).num_rows == 1
    assert wex.is_empty(wex.parse(str(spec).replace("{2}", "{3}"))).holds is True


def test_having_bounds_what_would_pile_up() -> None:
    text = "window w match [x * x[-1] > 1]+ measure sum(x * x) as s having s < 50"
    assert wex.check(wex.parse("stream s (x real) " + text))["w"].open.verdict == "unknown"


def test_growth_of_what_is_certified() -> None:
    fast = "stream s (x real) window w match [x * x[-1] > 1]+ [x * x[-1] < -1]+"
    assert wex.check(wex.parse(fast))["w"].overlap.growth == "quadratic"
    slow = fast.removesuffix("+") + " or after () match any+"
    assert wex.check(wex.parse(slow))["w"].overlap.growth == "linear"


def test_specs_that_skip_other_events_are_not_compared() -> None:
    stream = "stream s (x real, y real) nulls skip window w match "
    one, two = stream + "[x > 0]{2}", stream + "[x > 0 and (y > 0 or y <= 0)]{2}"
    assert wex.equivalent(wex.parse(one), wex.parse(two)).holds is None


def test_division_by_zero_is_not_exact() -> None:
    spec = wex.parse("stream s (x real, y real) window w match [x = 1 and y = 0 and x / y = 5]{2}")
    assert not wex.check(spec)["w"].open.exact


@pytest.mark.parametrize(
    "text",
    [
        "stream s (k enum('a', 'b'), x real) partition by k window w match [k = k[-1] and x > x[-1]] [x < 0]",
        "stream s (x int) window w match [x > 2000000000000000000]{2}",
        "stream s (t timestamp) order by t window w match [t - timestamp '2020-01-01 00:00:00' < 1 day]{2}",
        "stream s (t timestamp, u timestamp) order by t window w match [t < timestamp '2020-01-01 00:00:00' and u < t]{2}",
    ],
)
def test_what_is_exact_has_a_witness(text: str) -> None:
    for answer in wex.check(wex.parse(text))["w"].answers.values():
        assert answer.exact
        assert answer.bound is not None
        answer.witness(answer.bound)


def test_within_bounds_what_is_too_large_to_explore() -> None:
    long = "stream s (x real) window w match any+ within 4000 events keep longest"
    assert wex.check(wex.parse(long))["w"].held.bound == 4000
    short = "stream s (x real) window w match any* [x > 1] within 100000 events keep shortest"
    assert wex.check(wex.parse(short))["w"].overlap.bound == 100_000


def test_time_is_short() -> None:
    spec = wex.parse(T + "window w match [x > 1]+ [x < 0 and t > t[-1]] within 10 milliseconds")
    assert wex.check(spec)["w"].open.verdict == "unbounded"


def test_times_that_do_not_fit_into_a_calendar() -> None:
    spec = wex.parse(T + "window w match [t - t[-1] > 4000000 days] [x > 1]")
    assert wex.check(spec)["w"].open.verdict == "bounded"


def test_formulas_are_compared() -> None:
    one = wex.parse("stream s (x real) window w where begin = end")
    assert wex.equivalent(one, wex.parse("stream s (x real) window w match any")).holds is True


def test_a_promise_that_no_stream_keeps_is_broken_by_the_first_event() -> None:
    text = "stream s (x enum('a', 'b')) assume [x = x[-1]] & [x = 'a'] any window w match [x = 'a']"
    assert wex.check(text)["w"].open.bound == 0
    with pytest.raises(wex.DataError) as caught:
        wex.find(text, {"x": ["a"]})
    assert (caught.value.code, caught.value.position) == ("assumption", 0)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("stream s (`\1x` bool, x int) window w match [x is null and not `\1x`]",
         {"\1x": False, "x": None}),
        ("stream s (`null x` bool, x int) window w match [x is null and not `null x`]",
         {"null x": False, "x": None}),
        ("stream s (`\x020 n` int, n int) window w match [n % 2 = 0 and `\x020 n` = 1]",
         {"\x020 n": 1, "n": 4}),
        ("stream s (`digit 0 n` int, n int) window w match [n % 2 = 0 and `digit 0 n` = 1]",
         {"digit 0 n": 1, "n": 4}),
        ("stream s (`a\0b` int, `a\0c` int) window w match [`a\0b` > `a\0c` and not `a\0c` > `a\0b`[-1]]",
         {"a\0b": 2, "a\0c": 1}),
    ],
)  # fmt: skip
def test_no_column_has_the_name_of_a_symbol_of_the_solver(
    text: str, event: dict[str, object]
) -> None:
    assert wex.find(text, {name: pa.array([value]) for name, value in event.items()}).num_rows == 1
    answer = wex.check(text)["w"].overlap
    assert (answer.bound, answer.exact) == (1, True)
    assert wex.find(text, answer.witness(1)).num_rows == 1


def test_an_order_column_is_not_listed_value_by_value() -> None:
    # Whether a whole number has few values was found out by listing them, for seconds.
    report = wex.check("stream s (t int) order by t window w match [t > 5]")["w"]
    assert [str(answer) for answer in report.answers.values()] == ["1", "1", "1", "0"]
    assert report.regions == 3
