"""Witnesses are streams that can be run: they conform, are in order, and reach the number asked for."""

from __future__ import annotations

import pytest
import z3

import wex
from wex import examples
from wex.theory.solver import own_context, work_of

NUMBERS = [1, 2, 3, 5, 8, 13, 20]


@pytest.mark.parametrize(
    "text",
    [
        "stream s (x enum('a', 'b')) window w match [x = 'a']* [x = 'b']",
        "stream s (x real) assume [0 < x and x < 10]* window w match [x > x[-1]]+",
        "stream s (k string, t timestamp, x real) partition by k order by t window w match [x > x[-1]]+",
        "stream s (t timestamp, x real) order by t window w match [t - t[-1] < 5 minutes]+",
        "stream s (x real) window w after () match any+",
    ],
)
def test_unbounded_means_any_number(text: str) -> None:
    spec = wex.parse(text)
    report = wex.check(spec)["w"]
    for n in NUMBERS:
        stream = report.overlap.witness(n)
        found = wex.find(spec, stream).to_pylist()
        spans = [(row["start_index"], row["end_index"]) for row in found]
        shared = [sum(b <= p <= e for b, e in spans) for p in range(stream.num_rows)]
        assert max(shared) >= n
    if report.open.verdict == "unbounded":
        for n in NUMBERS:
            assert report.open.witness(n).num_rows >= n


def test_numbers_are_easy_to_read() -> None:
    report = wex.check(examples.spec("trend"))["trend"]
    assert report.overlap.witness(1)["price"].to_pylist() == [4, 3, 2, 3, 2, 1]


def test_no_more_than_there_can_be() -> None:
    answer = wex.check(wex.parse("stream s (x real) window w match any{3}"))["w"].open
    assert answer.witness(0).num_rows == 0
    assert answer.witness(3).num_rows == 3
    for wrong in (4, -1):
        with pytest.raises(wex.WexError) as caught:
            answer.witness(wrong)
        assert caught.value.code == "no-witness"


def test_every_type_has_values() -> None:
    spec = wex.parse("""
      stream s (k string, t timestamp, d date, n int, x real, u string, side enum('a', 'b'), ok bool, v other)
        partition by k order by t, d
      window w match [u = u[-1] and side != side[-1] and n > n[-1] and not ok] [d - d[-1] > 1 day and t - t[-1] = 5 seconds]
    """)
    stream = wex.check(spec)["w"].overlap.witness(1)
    assert wex.find(spec, stream).num_rows >= 1


def test_easy_questions_about_events_take_little_work() -> None:
    """Counted by z3: its tactics, which write the numbers of events as bits, take a hundred times as much."""
    spec = "stream s (ok bool, x int) window w match [x = 0] any* [ok] | any* [x = 5] keep disjoint"
    held = wex.check(spec)["w"].held
    with own_context() as context:
        solver = z3.Solver(ctx=context)
        before = work_of(solver)
        assert held.witness(2).num_rows >= 2
        assert work_of(solver) - before < 20_000
