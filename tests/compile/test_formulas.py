"""Formulas compile to the windows that their definition has."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import wex
from tests.strategies import specs, streams
from wex import examples, limits
from wex.reference.streams import Stream
from wex.reference.windows import Definition
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.stages import compile_window
from wex.theory.evaluate import Event

STREAM = "stream s (x int) let up = x > x[-1] let low = x < 2 "


def windows(
    spec: wex.Spec, events: list[Event]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return the windows of the first `window` by its automata, and by the definition."""
    meaning = meaning_of(spec)
    definition = Definition(meaning, 0, Stream((), events, []))
    compiled = compile_window(meaning, 0, as_written=True)
    letters, grams = compiled.letters, definition.grams
    word = [
        letters.letter([grams.holds(guard, position) for guard in letters.guards])
        for position in grams.positions
    ]
    windows = [(grams.first + b, grams.first + e) for b, e in compiled.form.windows(word)]
    return sorted(windows), sorted(definition.w0())


@given(specs.formulas(), st.booleans(), st.integers(0, 2), st.lists(streams.events, max_size=6))
def test_a_formula_is_its_definition(
    formula: tree.Expr, unpadded: bool, lookback: int, events: list[Event]
) -> None:
    window = tree.Window(
        tree.Name("w"), where=formula, unpadded=unpadded, lookback=tree.Int(lookback)
    )
    declared = tuple(map(specs.declared_field, specs.FIELDS))
    lets = tuple(tree.Let(tree.Name(name), value) for name, value in specs.LETS.items())
    stream = tree.Stream(tree.Name("events"), declared)
    spec = tree.Spec(stream, lets, (), (window,))
    try:
        with limits.raised(subsets=33):
            actual, expected = windows(spec, events)
    except (wex.LimitError, wex.DataError):
        assume(False)
    assert actual == expected


def numbers(*values: int) -> list[Event]:
    return [{"x": value} for value in values]


@pytest.mark.parametrize(
    "formula",
    [
        "begin = end",
        "begin + 2 = end and up(begin) and low(end - 1)",
        "up(end + 1) or low(begin)",
        "not up(begin - 2)",
        "low(begin - 1) and end >= begin + 1",
        "exists x: begin < x and x < end and up(x)",
        "forall x: begin <= x and x <= end implies low(x)",
        "forall x: x < begin implies up(x) iff low(x)",
        "exists x: exists y: x + 2 = y and begin <= x and y <= end and up(x) and low(y)",
        "exists set X: begin in X and end in X and forall x: x in X implies (x = end or x + 2 in X)",
        "forall set X: (begin in X and forall x: x in X and x < end implies x + 1 in X) implies end in X",
        "exists set X: not begin in X and forall x: x in X iff low(x)",
        "exists x: forall y: x <= y and low(x)",
        "true",
        "false",
        "begin > end",
        "exists x: exists x: low(x)",
        "begin != end",
    ],
)
def test_known_formulas(formula: str) -> None:
    for extra in ("", "unpadded", "unpadded lookback 2"):
        spec = wex.parse(f"{STREAM} window w where {formula} {extra}")
        for values in ((1, 2, 3, 1, 0, 2), (3, 2, 1, 5, 4, 6), (1, 1), (4,)):
            actual, expected = windows(spec, numbers(*values))
            assert actual == expected, values


def test_the_trend_is_the_same_both_ways() -> None:
    comparison = wex.equivalent(examples.spec("trend"), examples.spec("trend_formula"))
    assert comparison.holds is True


LAWS = [
    ("not exists x: up(x)", "forall x: not up(x)"),
    ("not forall x: up(x)", "exists x: not up(x)"),
    ("exists x: up(x) or low(x)", "(exists x: up(x)) or exists x: low(x)"),
    ("forall x: up(x) and low(x)", "(forall x: up(x)) and forall x: low(x)"),
    ("exists x: low(begin) and up(x)", "low(begin) and exists x: up(x)"),
    ("exists x: exists y: x < y and up(y)", "exists y: exists x: x < y and up(y)"),
    ("not exists set X: forall x: x in X iff up(x)", "false"),
    ("exists x: x = begin + 1 and up(x)", "up(begin + 1)"),
    ("up(begin) iff low(end)", "(up(begin) implies low(end)) and (low(end) implies up(begin))"),
    ("begin < end + 1", "true"),
    ("exists x: forall y: x <= y", "true"),
    ("forall set X: begin in X implies end in X", "begin = end"),
]


@pytest.mark.parametrize(("one", "two"), LAWS)
def test_laws_of_quantifiers(one: str, two: str) -> None:
    texts = [f"{STREAM} window w where {formula} lookback 1" for formula in (one, two)]
    assert wex.equivalent(*map(wex.parse, texts)).holds is True


def test_formulas_run_everywhere() -> None:
    text = f"""{STREAM.replace("x int", "k string, x int")} window w
      where up(begin) and low(end) and forall x: begin < x and x < end implies not low(x)
      until [x >= 0] or end within 4 events keep longest measure count() as n having n > 1"""
    spec = wex.parse(text)
    data: dict[str, Any] = {"k": ["a"] * 8, "x": [0, 3, 5, 1, 4, 0, 6, 1]}
    table = wex.find(spec, data)
    spans = list(zip(table["start_index"].to_pylist(), table["end_index"].to_pylist(), strict=True))
    assert spans == [(1, 3), (4, 5), (6, 7)]
    processor = wex.Processor(spec)
    parts = [
        processor.feed({name: column[row : row + 3] for name, column in data.items()})
        for row in range(0, 8, 3)
    ]
    starts = [
        start for part in [*parts, processor.close()] for start in part["start_index"].to_pylist()
    ]
    assert starts == [1, 4, 6]
    assert wex.check(spec)["w"].held.bound == 3
    assert "where" in str(wex.explain(spec))


def test_depth_four_with_two_sets() -> None:
    formula = (
        "exists set X: exists set Y: forall x: exists y: (x in X implies y in Y and x <= y and up(y))"
        " and (x in Y implies low(x)) and (x in X or x in Y or [x = 3](x))"
    )
    wex.check(wex.parse(f"{STREAM} window w where {formula}"))


def test_a_formula_too_large_names_its_part() -> None:
    names = [f"y{number}" for number in range(14)]
    quantified = " ".join(f"exists {name}:" for name in names)
    parts = " and ".join(f"{a} < {b}" for a, b in pairwise(names))
    around = " or ".join(f"({name} = begin and low({name}))" for name in names)
    spec = wex.parse(f"{STREAM} window w where {quantified} ({parts}) and ({around})")
    with pytest.raises(wex.LimitError) as caught:
        compile_window(meaning_of(spec), 0)
    assert " in `" in caught.value.message
