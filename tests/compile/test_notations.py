"""Regular expressions to formulas and back: the windows stay the same."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import FINITE, regexes
from tests.strategies.formulas import closed
from wex import examples

# A formula has no aggregates, so this one stays a regular expression.
BOTH_WAYS = [name for name in examples.names() if name not in ("unpaid", "turn")]
few = settings(max_examples=max(10, settings.default.max_examples // 4))  # type: ignore[union-attr]


@few
@given(
    st.one_of(st.none(), regexes(finite=True)),
    regexes(finite=True),
    st.sampled_from(["", "unpadded"]),
)
def test_a_formula_for_regular_expressions(after: str | None, match: str, unpadded: str) -> None:
    before = f"after {after} " if after is not None else ""
    spec = wex.parse(f"{FINITE} window w {before}match {match} {unpadded}")
    try:
        there = wex.to_formula(spec)
        assert wex.parse(str(there)) == there
        assert wex.equivalent(spec, there).holds is True
    except wex.LimitError:
        assume(False)


@few
@given(closed(), st.sampled_from(["", "unpadded", "unpadded lookback 2"]))
def test_regular_expressions_for_a_formula(formula: str, clause: str) -> None:
    spec = wex.parse(f"{FINITE} window w where {formula} {clause}")
    there = wex.to_regex(spec)
    assert wex.parse(str(there)) == there
    assert wex.equivalent(spec, there).holds is True
    again = wex.to_formula(there)
    try:
        assert wex.equivalent(spec, again).holds is True
    except wex.LimitError:
        assume(False)


@pytest.mark.parametrize("name", BOTH_WAYS)
def test_every_example_both_ways(name: str) -> None:
    spec = examples.spec(name)
    for other in (wex.to_regex(spec), wex.to_formula(spec)):
        assert wex.parse(str(other)) == other
        assert wex.equivalent(spec, other).holds is True


def test_the_page_shows_what_comes_out() -> None:
    page = (Path(__file__).parents[2] / "docs" / "notations.md").read_text(encoding="utf-8")
    for name in BOTH_WAYS:
        for spec in (wex.to_regex(examples.spec(name)), wex.to_formula(examples.spec(name))):
            (window,) = spec.windows
            said = [f"where {window.where}"] if window.where else map(str, window.pairs)
            assert all(each in page for each in said)


def test_the_trend_reads_well() -> None:
    there = wex.to_formula(examples.spec("trend"))
    assert str(there.windows[0].where) == (
        "down2(begin - 1) and up(begin) and down2(end) and begin < end"
        " and forall y: begin < y and y < end implies [not down2](y)"
    )
    (back,) = wex.to_regex(there).windows
    assert [str(pair) for pair in back.pairs] == ["after any* down2\n  match up [not down2]* down2"]


def test_lookback_is_said_where_the_text_gives_less() -> None:
    spec = wex.parse("stream s (x real) window w where begin = end and ([x > x[-2]](end) or true)")
    assert wex.to_regex(spec).windows[0].lookback is not None


def test_what_accepts_nothing() -> None:
    spec = wex.parse("stream s (x real) window w where begin > end")
    assert wex.equivalent(spec, wex.to_regex(spec)).holds is True


@pytest.mark.parametrize(
    "match", ["(([x > 1] any) | [x > 2]{9}){0,1000}", "((([x > 1]){16}){0,1000})*"]
)
def test_a_formula_that_is_nested_too_deeply_is_an_error(match: str) -> None:
    spec = wex.parse(f"stream s (x real) window w match {match}")
    with pytest.raises(wex.WexError) as caught:
        wex.to_formula(spec)
    assert caught.value.code == "formula-depth"
