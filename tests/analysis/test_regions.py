"""The region graph is what it says: its paths are the words of letters that streams have."""

from __future__ import annotations

import random
from contextlib import contextmanager
from itertools import product
from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.small import FINITE, alphabet, spec_texts
from tests.theory.guards import of_digits
from wex.analysis.regions.graph import SILENT, Budget
from wex.analysis.verdicts import Analysis
from wex.spec import meaning as meaning_of
from wex.theory.evaluate import EXACT, holds
from wex.theory.projection import Formula, Prover
from wex.theory.solver import UndecidedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.graph import Action, RegionGraph
    from wex.analysis.regions.query import Classes, RegionQuery
    from wex.theory.evaluate import Event, Gram

    Word = tuple[Action, ...]

LENGTH = 4
few = settings(max_examples=max(20, settings.default.max_examples // 5))  # type: ignore[union-attr]


@few
@given(spec_texts())
def test_finite_regions(text: str) -> None:
    assert_same_words(text)


@few
@given(spec_texts())
def test_refined_regions(text: str) -> None:
    with refined():
        assert_same_words(text)


@few
@given(spec_texts(), st.randoms(use_true_random=False), st.sampled_from([0.03, 0.3]))
def test_a_solver_that_gives_up(text: str, chance: random.Random, share: float) -> None:
    satisfiable = Prover.satisfiable

    def unsure(prover: Prover, *formulas: Formula) -> bool:
        if chance.random() < share:
            raise UndecidedError
        return satisfiable(prover, *formulas)

    with (
        refined(),
        mock.patch.object(Prover, "satisfiable", unsure),
    ):
        assert_same_words(text)


@contextmanager
def refined() -> Iterator[None]:
    """Find regions by refinement only."""
    contexts = "wex.analysis.regions.contexts."
    with (
        mock.patch(contexts + "finite_regions", return_value=None),
        mock.patch(contexts + "order_regions", return_value=None),
        mock.patch(contexts + "gap_regions", return_value=None),
    ):
        yield


def assert_same_words(text: str) -> None:
    """Every stream is a path. If the graph is exact and all events are tried, there are no others."""
    meaning = meaning_of(wex.parse(text))
    contexts = Analysis(meaning, 0, Budget()).contexts
    assume(contexts.regions.edges[0])  # else no stream conforms
    events = alphabet(meaning)
    readings = (
        read(contexts.query, [events[at] for at in word])
        for word in product(range(len(events)), repeat=LENGTH)
    )
    streams = {reading for reading in readings if reading is not None}
    paths = words(contexts.regions)
    assert streams <= paths
    if contexts.regions.exact and FINITE in text:
        assert streams == paths


def read(query: RegionQuery, events: Sequence[Event]) -> Word | None:
    """Return what all readers read, each by its guards; None if a stream does not conform."""
    word = []
    events = [{**event, **_digits(query, event)} for event in events]
    for at in range(len(events)):
        gram = [events[p] if p >= 0 else None for p in range(at - query.depth, at + 1)]
        readers = [reader[min(at, query.levels - 1)] for reader in query.readers]
        action = [
            SILENT if classes is None else _class(classes, gram, first=-at) for classes in readers
        ]
        if None in action:
            return None
        word.append(tuple(action))
    return tuple(word)  # type: ignore[arg-type]


def _digits(query: RegionQuery, event: Event) -> Event:
    """Return the digits of the fields that are replaced by them."""
    digits: dict[str, int] = {}
    for own in query.digits:
        value = event[own.name]
        assert isinstance(value, int)
        digits |= of_digits(own, value)
    return digits


def _class(classes: Classes, gram: Gram, first: int) -> int | None:
    held = [holds(guard, gram, first=first, numbers=EXACT) for guard in classes]
    assert sum(held) <= 1
    return held.index(True) if any(held) else None


def words(regions: RegionGraph, length: int = LENGTH) -> set[Word]:
    """Return the words of all paths of one length from the initial region on."""
    reached: set[tuple[Word, int]] = {((), 0)}
    for _ in range(length):
        reached = {
            ((*word, action), target)
            for word, region in reached
            for action, target in regions.edges[region]
        }
    return {word for word, _ in reached}
