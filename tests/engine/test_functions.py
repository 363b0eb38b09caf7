"""Functions of clock, calendar and text: the engine and the definition agree, and both are right."""

from __future__ import annotations

import calendar
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from wex.engine.eval.zones import local
from wex.engine.input.batch import TextCodes
from wex.reference.find import find_by_definition
from wex.spec import patterns
from wex.theory.evaluate import ArithmeticFault, value_of
from wex.theory.terms import Calendar, Constant, Local

PARTS = ("year", "month", "day", "weekday", "hour", "minute", "second")
ZONES = ("Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

moments = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(
    lambda m: m.replace(tzinfo=UTC)
)
counts = st.integers(-(2**63), 2**63 - 1)


def measured(expression: str, type_: str, values: pa.Array) -> list[object]:
    """Return the values of an expression over x, which the engine and the definition agree on."""
    spec = wex.parse(f"stream s (x {type_}) window w match any measure first({expression}) as v")
    table = wex.find(spec, {"x": values})
    assert table.equals(find_by_definition(spec, {"x": values}))
    results: list[object] = table["v"].to_pylist()
    return results


@given(st.lists(moments, min_size=1, max_size=5), st.sampled_from(PARTS))
def test_parts_are_those_of_python(found: list[datetime], part: str) -> None:
    values = measured(f"{part}(x)", "timestamp", pa.array(found, pa.timestamp("us", "UTC")))
    whole = [m.isoweekday() if part == "weekday" else getattr(m, part) for m in found]
    assert values == whole


@given(st.lists(moments, min_size=1, max_size=5), st.sampled_from(PARTS), st.sampled_from(ZONES))
def test_parts_in_a_zone_are_those_of_python(found: list[datetime], part: str, zone: str) -> None:
    values = measured(
        f"{part}(x, '{zone}')", "timestamp", pa.array(found, pa.timestamp("us", "UTC"))
    )
    there = [m.astimezone(ZoneInfo(zone)) for m in found]
    assert values == [m.isoweekday() if part == "weekday" else getattr(m, part) for m in there]


@given(st.lists(counts, max_size=5), st.sampled_from(ZONES))
def test_clocks_of_a_zone_at_any_time(found: list[int], zone: str) -> None:
    values = local(np.array(found, dtype=np.int64), zone).tolist()
    for count, value in zip(found, values, strict=True):
        try:
            assert value_of(Local(Constant(count), zone), []) == value
        except ArithmeticFault:
            assert abs(value - count) > 2**63  # it has wrapped around 64 bits


@pytest.mark.parametrize("zone", ZONES)
def test_clocks_change_at_the_same_microsecond(zone: str) -> None:
    hours = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=n) for n in range(366 * 24)]
    offsets = [hour.astimezone(ZoneInfo(zone)).utcoffset() for hour in hours]
    changes = [
        h for h, one, two in zip(hours[1:], offsets, offsets[1:], strict=False) if one != two
    ]
    assert bool(changes) == (zone not in ("UTC", "Asia/Kathmandu"))
    for change in changes:
        near = [(change - EPOCH) // timedelta(microseconds=1) + step for step in range(-2, 2)]
        assert local(np.array(near), zone).tolist() == [
            value_of(Local(Constant(count), zone), []) for count in near
        ]


def date_of(days: int) -> list[int]:
    """Return year, month and day of the month of a day after 1970-01-01, by the definition."""
    values = [value_of(Calendar(part, Constant(days)), []) for part in ("year", "month", "day")]
    return [value for value in values if isinstance(value, int)]


@given(counts.map(lambda count: count // 86_400_000_000))
def test_the_calendar_at_any_time(days: int) -> None:
    year, month, day = date_of(days)
    assert 1 <= month <= 12
    assert 1 <= day <= calendar.monthrange(2000 + year % 400, month)[1]
    following = [[year, month, day + 1], [year, month + 1, 1], [year + 1, 1, 1]]
    assert date_of(days + 1) in following


@given(
    st.lists(st.integers(-100, 100) | counts, min_size=1, max_size=5),
    st.sampled_from([-7, -1, 1, 2, 10, 2**40]),
)
def test_quotients_and_remainders_are_those_of_python(found: list[int], by: int) -> None:
    values = pa.array(found, pa.int64())
    assert measured(f"x % {by}", "int", values) == [x % by for x in found]
    if by != -1 or -(2**63) not in found:
        assert measured(f"x // {by}", "int", values) == [x // by for x in found]


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5), st.integers(-90, 90))
def test_floor_is_the_beginning_of_a_bucket(found: list[int], offset: int) -> None:
    for x, begin in zip(
        found, measured(f"floor(x, 7, {offset})", "int", pa.array(found)), strict=True
    ):
        assert isinstance(begin, int)
        assert begin <= x < begin + 7
        assert (begin - offset) % 7 == 0


def test_weeks_begin_where_the_offset_says() -> None:
    days = pa.array([datetime(2026, 1, 26) + timedelta(days=n) for n in range(14)]).cast(
        pa.date32()
    )
    mondays = measured("weekday(floor(x, 1 week, 4 days))", "date", days)
    assert mondays == [1] * 14
    assert measured("weekday(floor(x, 1 week))", "date", days) == [4] * 14


# --- Patterns

texts = st.text(st.sampled_from("ab%_\\.*\n[]é"), max_size=5)
written = st.lists(st.sampled_from(["a", "b", "%", "_", r"\%", r"\_", r"\\", ".", "*", "\n", "["]))


@given(st.lists(texts, min_size=1), written.map("".join))
def test_the_engine_matches_patterns_as_the_definition_does(found: list[str], pattern: str) -> None:
    codes = TextCodes({"x": pa.chunked_array([pa.array([*found, None])])})
    held = codes.matching(pattern)[codes.columns["x"]]
    assert held.tolist() == [*(patterns.matches(text, pattern) for text in found), False]


@given(st.lists(texts, min_size=1), texts)
def test_a_text_starts_with_its_start(found: list[str], start: str) -> None:
    pattern = patterns.prefix_pattern(start)
    assert [patterns.matches(t, pattern) for t in found] == [t.startswith(start) for t in found]
    assert pc.starts_with(pa.array(found), start).to_pylist() == [
        patterns.matches(text, pattern) for text in found
    ]


@given(written.map("".join), texts)
def test_a_filled_pattern_matches(pattern: str, text: str) -> None:
    assert patterns.matches(patterns.filled(pattern, text), pattern)


# --- Errors in data


def test_a_zone_needs_timestamps_with_a_zone() -> None:
    spec = "stream s (ts timestamp) window w match [hour(ts, 'Europe/Berlin') = 3]"
    with pytest.raises(wex.DataError) as caught:
        wex.find(spec, {"ts": [datetime(2026, 1, 31)]})
    assert caught.value.code == "zones-mixed"
    assert "`hour(ts)`" in str(caught.value)


@pytest.mark.parametrize("expression", ["x // -1 = 0", "floor(x, 1000) = 0", "floor(x, 7, 3) = 0"])
def test_what_64_bits_cannot_hold_is_an_error(expression: str) -> None:
    spec = f"stream s (x int) window w match [{expression}]"
    for run in (wex.find, find_by_definition):
        with pytest.raises(wex.DataError) as caught:
            run(wex.parse(spec), {"x": [-(2**63)]})
        assert caught.value.code == "arithmetic"
