"""The oracle by examples, whose results are worked out by hand from the standard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sql import oracle as o

A, B, C = o.Var("A"), o.Var("B"), o.Var("C")


def rows(text: str) -> list[o.Row]:
    return [{"t": t, "x": None if x == "-" else int(x)} for t, x in enumerate(text)]


def spans(query: o.Query, text: str) -> list[tuple[int, int]]:
    return [(start, end) for start, end, _ in o.matches(query, rows(text))]


def x_is(value: int) -> Any:
    return o.Cmp("=", o.Col("x"), o.Lit(value))


ONE = {"A": x_is(1), "B": x_is(2)}


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        (o.Rep(A, 1, None, False), "11211", [(0, 1), (3, 4)]),
        (o.Rep(A, 1, None, True), "112", [(0, 0), (1, 1)]),
        (o.Seq((A, o.Rep(C, 0, None, False), B)), "1212", [(0, 3)]),
        (o.Seq((A, o.Rep(C, 0, None, True), B)), "1212", [(0, 1), (2, 3)]),
        (o.Alt((A, o.Seq((A, B)))), "12", [(0, 0)]),
        (o.Alt((o.Seq((A, B)), A)), "121", [(0, 1), (2, 2)]),
        (o.Permute((A, B)), "1221", [(0, 1), (2, 3)]),
        (o.Seq((o.Anchor("^"), A)), "111", [(0, 0)]),
        (o.Seq((A, o.Anchor("$"))), "111", [(2, 2)]),
        (o.Rep(A, 2, 3, False), "111111", [(0, 2), (3, 5)]),
        (o.Rep(A, 2, 3, True), "11111", [(0, 1), (2, 3)]),
    ],
)
def test_preference(pattern: Any, text: str, expected: list[tuple[int, int]]) -> None:
    assert spans(o.Query(pattern, ONE), text) == expected


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        (("past", None), [(0, 2)]),
        (("next", None), [(0, 2), (1, 3), (2, 4)]),
        (("last", "C"), [(0, 2), (2, 4)]),
        (("first", "B"), [(0, 2), (1, 3), (2, 4)]),
    ],
)
def test_skipping(skip: tuple[str, str | None], expected: list[tuple[int, int]]) -> None:
    assert spans(o.Query(o.Seq((A, B, C)), {}, skip=skip), "11111") == expected


def test_skipping_to_the_first_row_fails() -> None:
    with pytest.raises(o.SkipError):
        spans(o.Query(o.Seq((A, B)), {}, skip=("first", "A")), "11")


def test_conditions_see_the_match_so_far_and_measures_all_of_it() -> None:
    rising = o.Cmp(">", o.Col("x"), o.Agg("AVG", None, "x"))
    query = o.Query(
        o.Seq((A, o.Rep(B, 1, None, False))),
        {"B": rising},
        {"n": o.Agg("COUNT", "B", None), "first": o.Col("x", "B", "FIRST"), "c": o.Classifier()},
    )
    assert o.matches(query, rows("1232")) == [(0, 2, {"n": 2, "first": 2, "c": "B"})]


def test_unknown_is_not_true_and_neither_is_its_negation() -> None:
    above = o.Cmp(">", o.Col("x"), o.Lit(1))
    for condition in (above, o.Not(above), o.Cmp("=", o.Col("x"), o.Lit(None))):
        assert spans(o.Query(A, {"A": condition}), "-") == []
    assert spans(o.Query(A, {"A": o.IsNull(o.Col("x", shift=1), False)}), "11-1") == [
        (0, 0),
        (3, 3),
    ]
