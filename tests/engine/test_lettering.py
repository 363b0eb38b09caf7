"""Letters from columns are the letters of the grams, for every window and every stream."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wex
from tests.engine.tables import batch_of
from tests.strategies import specs, streams
from wex.compile.plan import PlannedLetters
from wex.engine.eval.letters import Lettering
from wex.engine.machines.tables import CODED
from wex.reference.streams import Stream
from wex.reference.windows import Grams
from wex.spec import tree
from wex.spec.types import INT
from wex.stages import plan_of
from wex.theory.evaluate import Event
from wex.theory.terms import Guard


@given(
    specs.specs(running=False),
    st.lists(st.lists(streams.events, min_size=1, max_size=5), min_size=1, max_size=4),
)
def test_letters_from_columns_are_those_of_the_grams(
    spec: tree.Spec, words: list[list[Event]]
) -> None:
    if any(window.where for window in spec.windows):
        return
    plan = plan_of(spec)
    batch = batch_of(
        streams.table([event for word in words for event in word]), [len(word) for word in words]
    )
    for window in plan.windows:
        first = 0 if window.pad else window.lookback
        reader = (window.letters, first, window.pad)
        try:
            expected = [
                letter
                for word in words
                for letter in by_grams(plan.guards, window.letters, word, window.lookback, first)
            ]
        except wex.DataError as error:
            with pytest.raises(wex.DataError) as caught:
                Lettering(plan, [reader], coded=False).read(batch)
            assert caught.value.code == error.code == "arithmetic"
        else:
            (letters,) = Lettering(plan, [reader], coded=False).read(batch)
            (codes,) = Lettering(plan, [reader], coded=True).read(batch)
            for letter, code, right in zip(letters.tolist(), codes.tolist(), expected, strict=True):
                assert right in (-1, letter)
                truths = window.letters.rows[letter]
                if right >= 0 and len(truths) <= CODED:
                    assert code == sum(true << bit for bit, true in enumerate(truths))


def by_grams(
    guards: tuple[Guard, ...],
    letters: PlannedLetters,
    word: list[Event],
    lookback: int,
    first: int,
) -> Iterator[int]:
    grams = Grams(Stream((), word, []), lookback, pad=True)
    for position in range(len(word)):
        if position < first:
            yield -1
        else:
            truths = tuple(grams.holds(guards[number], position) for number in letters.guards)
            yield letters.rows.index(truths)


def test_many_guards_are_looked_up_in_groups() -> None:
    regex = " ".join(f"[n = {at}]" for at in range(20))
    plan = plan_of(wex.parse(f"stream s (n int) window w match {regex}"))
    (window,) = plan.windows
    batch = batch_of(pa.table({"n": list(range(21))}), [21], {"n": INT})
    (letters,) = Lettering(plan, [(window.letters, 0, False)], coded=True).read(batch)
    *found, other = letters.tolist()
    assert [window.letters.rows[letter].index(True) for letter in found] == list(range(20))
    assert not any(window.letters.rows[other])
