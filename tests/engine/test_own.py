"""Aggregates of the user's own: over the same panes, in any order of merging, across restarts."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from wex.reference.find import find_by_definition


@wex.aggregate("spelled")
class Spelled:
    """Joins texts: merging them in another order would be seen."""

    result_type = "string"

    def zero(self) -> str:
        return ""

    def add(self, state: str, event: str) -> str:
        return state + event

    def merge(self, left: str, right: str) -> str:
        return left + right

    def result(self, state: str) -> str | None:
        return state or None


@wex.aggregate("longest_rise")
class LongestRise:
    """The longest run of rising numbers: (first, last, prefix, suffix, best, count)."""

    result_type = "int"

    def zero(self) -> tuple[()]:
        return ()

    def add(self, state: Any, event: int) -> Any:
        return self.merge(state, (event, event, 1, 1, 1, 1))

    def merge(self, left: Any, right: Any) -> Any:
        if not left or not right:
            return left or right
        joins = left[1] < right[0]
        best = max(left[4], right[4], left[3] + right[2] if joins else 0)
        prefix = left[2] + right[2] if joins and left[2] == left[5] else left[2]
        suffix = right[3] + left[3] if joins and right[3] == right[5] else right[3]
        return (left[0], right[1], prefix, suffix, best, left[5] + right[5])

    def result(self, state: Any) -> int | None:
        return state[4] if state else None


@wex.aggregate("weighted")
class Weighted:
    result_type = "real"

    def zero(self) -> list[float]:
        return [0.0, 0.0]

    def add(self, state: list[float], event: tuple[int, int]) -> list[float]:
        return [state[0] + event[0] * event[1], state[1] + event[1]]

    def merge(self, left: list[float], right: list[float]) -> list[float]:
        return [left[0] + right[0], left[1] + right[1]]

    def result(self, state: list[float]) -> float | None:
        return state[0] / state[1] if state[1] else None


SPEC = wex.parse("""
  stream s (n int, m int, t string)
  window w match [n >= 0]+ | [n < 0] any{2}
    measure spelled(t) as text, longest_rise(n) filter [n != 2] as rise, weighted(n, m) + 1 as mean, count() as size
  window v match any* [n = 0] keep longest measure spelled(t) as text
""")
rows = st.lists(
    st.tuples(st.integers(-2, 3), st.integers(0, 2), st.sampled_from([*"abc", None])), max_size=12
)


def table(found: list[tuple[int, int, str | None]]) -> pa.Table:
    n, m, t = zip(*found, strict=True) if found else ((), (), ())
    return pa.table(
        {"n": pa.array(n, pa.int64()), "m": pa.array(m, pa.int64()), "t": pa.array(t, pa.string())}
    )


@given(rows)
def test_they_are_what_adding_one_event_after_the_other_gives(
    found: list[tuple[int, int, str | None]],
) -> None:
    assert wex.find(SPEC, table(found)).equals(find_by_definition(SPEC, table(found)))


@given(rows, st.lists(st.integers(1, 4), min_size=12, max_size=12))
def test_batches_and_restarts_do_not_matter(
    found: list[tuple[int, int, str | None]], sizes: list[int]
) -> None:
    processor, row, parts = wex.Processor(SPEC), 0, []
    for size in sizes:
        parts.append(processor.feed(table(found).slice(row, size)))
        processor = wex.Processor.restore(SPEC, processor.state())
        row += size
    whole = pa.concat_tables([*parts, processor.close()])
    assert whole.to_pylist() == wex.find(SPEC, table(found)).to_pylist()


def test_times_are_pythons() -> None:
    @wex.aggregate("middle")
    class Middle:
        result_type = "timestamp"

        def zero(self) -> list[datetime]:
            return []

        def add(self, state: list[datetime], event: datetime) -> list[datetime]:
            return [*state, event]

        def merge(self, left: list[datetime], right: list[datetime]) -> list[datetime]:
            return left + right

        def result(self, state: list[datetime]) -> datetime:
            return state[0] + (state[-1] - state[0]) / 2

    spec = wex.parse(
        "stream s (t timestamp) order by t window w match any{2} measure middle(t) as m"
    )
    start = datetime(2026, 1, 31, 10)
    found = wex.find(spec, {"t": [start, start + timedelta(hours=1)]})
    assert found["m"].to_pylist() == [start + timedelta(minutes=30)]
    processor = wex.Processor(spec)
    with pytest.raises(wex.WexError, match=r"cannot be kept.*datetime") as caught:
        processor.feed({"t": [start]})
    assert "dump() and load()" in str(caught.value)


def test_states_with_bytes_of_their_own() -> None:
    @wex.aggregate("together")
    class Together:
        result_type = "int"

        def zero(self) -> frozenset[int]:
            return frozenset()

        def add(self, state: frozenset[int], event: int) -> frozenset[int]:
            return state | {event}

        def merge(self, left: frozenset[int], right: frozenset[int]) -> frozenset[int]:
            return left | right

        def result(self, state: frozenset[int]) -> int:
            return len(state)

        def dump(self, state: frozenset[int]) -> bytes:
            return bytes(state)

        def load(self, content: bytes) -> frozenset[int]:
            return frozenset(content)

    spec = wex.parse("stream s (n int) window w match any{3} measure together(n) as k")
    processor = wex.Processor(spec)
    found = [processor.feed({"n": [n]})["k"].to_pylist() for n in (1, 2, 1, 1)]
    assert found == [[], [], [2], [2]]


def test_what_is_wrong_with_a_class() -> None:
    with pytest.raises(wex.WexError, match="lacks the methods zero, add, merge, result"):
        wex.aggregate("mine")(type("Nothing", (), {}))
    for name in ("sum", "abs", "match", "two words", ""):
        with pytest.raises(wex.WexError):
            wex.aggregate(name)
    unsaid = type("Unsaid", (Spelled,), {"result_type": "reel"})
    with pytest.raises(wex.WexError, match="did you mean `real`"):
        wex.aggregate("mine")(unsaid)
    with pytest.raises(wex.WexError, match="already registered"):
        wex.aggregate("spelled")(type("Other", (Spelled,), {"result_type": "int"}))
    with pytest.raises(wex.SpecError, match="no aggregate called `mine`"):
        wex.parse("stream s (n int) window w match any measure mine(n) as m")
    with pytest.raises(wex.SpecError, match="any type except `other`"):
        wex.parse("stream s (v other) window w match any measure spelled(v) as m")


def test_what_a_class_does_wrong() -> None:
    spec = wex.parse("stream s (n int) window w match any measure spelled(n) as m")
    with pytest.raises(wex.WexError, match="`spelled` failed: TypeError"):
        wex.find(spec, {"n": [1]})

    wex.aggregate("liar")(type("Liar", (LongestRise,), {"result": lambda self, state: "one"}))
    spec = wex.parse("stream s (n int) window w match any measure liar(n) as m")
    with pytest.raises(wex.WexError, match="says int, and gave a str"):
        wex.find(spec, {"n": [1]})
