"""Our automata of formulas against MONA's, on the product of both."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.compile.mona import HERE, MISSING, Oracle, disagreement, program
from tests.strategies.formulas import closed
from wex.compile.guards import deciding_parts, predicates
from wex.compile.logic import logic_of
from wex.spec import meaning as meaning_of
from wex.stages import compile_window

pytestmark = pytest.mark.skipif(HERE is None, reason=MISSING)
few = settings(max_examples=max(20, settings.default.max_examples // 2))  # type: ignore[union-attr]
STREAM = "stream s (x enum('a', 'b'), ok bool)"


def agree(formula: str) -> None:
    spec = wex.parse(f"{STREAM} window w where {formula} lookback 1")
    meaning = meaning_of(spec)
    compiled = compile_window(meaning, 0, as_written=True)
    where = meaning.expanded.windows[0].where
    assert where is not None
    written = list(
        dict.fromkeys(each for part in deciding_parts(compiled.window) for each in predicates(part))
    )
    names: dict[object, str] = {each: f"G{at}" for at, each in enumerate(written)}
    assert len(written) == len(compiled.letters.guards)
    oracle = Oracle(program(logic_of(where), names))
    assert disagreement(compiled, oracle, list(names.values())) is None


@few
@given(closed())
def test_random_formulas(formula: str) -> None:
    agree(formula)


_sets = st.sampled_from(["begin in X", "end in Y", "y in X", "z in Y", "y + 1 in X", "z - 1 in Y"])


@few
@given(closed(), st.lists(_sets, min_size=1, max_size=3), st.sampled_from(["exists", "forall"]))
def test_random_formulas_with_sets(formula: str, members: list[str], second: str) -> None:
    quantified, _, body = formula.rpartition(": ")
    joined = " and ".join(members)
    agree(f"exists set X: {second} set Y: {quantified}: ({body}) iff ({joined})")


@pytest.mark.parametrize(
    "formula",
    [
        "begin = end",
        "ok(begin - 1) and not ok(end + 1)",
        "exists set X: begin in X and end in X and forall y: y in X implies (y = end or y + 2 in X)",
        "forall y: forall z: y < z and ok(y) and ok(z) implies exists u: y < u and u < z and [x = 'a'](u)",
    ],
)
def test_known_formulas(formula: str) -> None:
    agree(formula)
