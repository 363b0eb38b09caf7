"""Laws of the analysis, on random specs over few values, where every short stream can be tried."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest import mock

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import wex
from tests.analysis.fuzz import compare
from tests.analysis.small import alphabet, spec_texts, tried
from tests.analysis.test_regions import refined
from wex.reference.assumptions import Assumptions
from wex.reference.streams import Stream
from wex.spec import meaning as meaning_of
from wex.spec import tree
from wex.theory.projection import Formula, Prover
from wex.theory.solver import UndecidedError

few = settings(max_examples=max(10, settings.default.max_examples // 10))  # type: ignore[union-attr]


@few
@given(spec_texts() | spec_texts(alternating=True))
def test_verdicts_agree_with_every_short_stream(text: str) -> None:
    compare(text, longest=4)


@few
@given(spec_texts())
def test_the_arithmetic_of_long_lives_agrees_with_every_short_stream(text: str) -> None:
    with mock.patch("wex.analysis.window_tables.LONG", 0):
        compare(text, longest=4)


@few
@given(spec_texts(having=True))
def test_having_agrees_with_every_short_stream(text: str) -> None:
    compare(text, longest=4, decided=False)


@few
@given(spec_texts())
def test_refined_regions_agree_with_every_short_stream(text: str) -> None:
    with refined():
        compare(text, longest=4, decided=False)


@few
@given(spec_texts(preference=True))
def test_preference_agrees_with_every_short_stream(text: str) -> None:
    compare(text, longest=4, decided=False)


@few
@given(spec_texts(preference=True, having=True))
def test_preference_and_having_agree_with_every_short_stream(text: str) -> None:
    compare(text, longest=4, decided=False)


@few
@given(spec_texts(preference=True, windows=2))
def test_equivalence_by_preference_agrees_with_every_short_stream(text: str) -> None:
    spec = wex.parse(text)
    meaning = meaning_of(spec)
    first, second = (
        replace(spec, windows=(replace(window, name=tree.Name("w")),)) for window in spec.windows
    )
    windows = [tried(meaning, at, 4).windows for at in (0, 1)]
    same, narrow = wex.equivalent(first, second), wex.includes(first, second)
    if same.holds:
        assert windows[0] == windows[1]
    if narrow.holds:
        assert all(windows[0][word] >= windows[1][word] for word in windows[0])
    if same.holds is False:
        assert same.witness is not None
        shown = [wex.find(spec, same.witness).to_pylist() for spec in (first, second)]
        assert shown[0] != shown[1]


@few
@given(spec_texts(), st.randoms(use_true_random=False))
def test_a_solver_that_gives_up_proves_nothing_wrong(text: str, chance: random.Random) -> None:
    satisfiable = Prover.satisfiable

    def unsure(prover: Prover, *formulas: Formula) -> bool:
        if chance.random() < 0.1:
            raise UndecidedError
        return satisfiable(prover, *formulas)

    with (
        refined(),
        mock.patch.object(Prover, "satisfiable", unsure),
    ):
        compare(text, longest=4, decided=False)


@few
@given(spec_texts(windows=2))
def test_equivalence_agrees_with_every_short_stream(text: str) -> None:
    spec = wex.parse(text)
    meaning = meaning_of(spec)
    first, second = (
        replace(spec, windows=(replace(window, name=tree.Name("w")),)) for window in spec.windows
    )
    windows = [tried(meaning, at, 4).windows for at in (0, 1)]
    found = wex.equivalent(first, second)
    assert found.holds is not None
    if found.holds:
        assert windows[0] == windows[1]
    else:
        assert found.window is not None
        assert found.witness is not None
        _, start, end = found.window
        both = [_has(spec, found.witness, start, end) for spec in (first, second)]
        assert both[0] != both[1]
        shortest = min(
            (len(word) for word in windows[0] if windows[0][word] != windows[1][word]), default=5
        )
        assert found.witness.num_rows <= shortest
    narrow = wex.includes(first, second)
    included = all(windows[0][word] >= windows[1][word] for word in windows[0])
    assert narrow.holds is not None
    assert included or narrow.holds is False


def _has(spec: wex.Spec, stream: pa.Table, start: int, end: int) -> bool:
    rows = wex.find(spec, stream).to_pylist()
    return (start, end) in [(row["start_index"], row["end_index"]) for row in rows]


@few
@given(spec_texts() | spec_texts(preference=True))
def test_the_engine_never_holds_more(text: str) -> None:
    spec = wex.parse(text)
    meaning = meaning_of(spec)
    held = wex.check(spec)["w0"].held
    events = _long_stream(meaning)
    if held.bound is None or not events:
        return
    processor = wex.Processor(spec)
    for begin in range(0, len(events), 7):
        part = events[begin : begin + 7]
        processor.feed({name: [event[name] for event in part] for name in part[0]})
        assert processor.held() <= held.bound


@few
@given(spec_texts())
def test_the_engine_holds_as_many_as_the_witness_shows(text: str) -> None:
    """A start counts up to the event at which it ends, and is gone after it with those that it clears."""
    spec = wex.parse(text)
    held = wex.check(spec)["w0"].held
    if not held.exact or not held.bound:
        return
    stream = held.witness(held.bound)
    processor, before, least, most = wex.Processor(spec), 0, 0, 0
    for at in range(stream.num_rows):
        windows = processor.feed(stream.slice(at, 1))
        after = processor.held()
        least = max(least, after)
        most = max(most, before + 1 if windows.num_rows else after)
        before = after
    assert least <= held.bound <= most


@few
@given(
    spec_texts()
    | spec_texts(having=True)
    | spec_texts(preference=True)
    | spec_texts(preference=True, having=True)
)
def test_the_engine_never_decides_later(text: str) -> None:
    spec = wex.parse(text)
    meaning = meaning_of(spec)
    delay = wex.check(spec)["w0"].delay
    if delay.bound is not None:
        for at, ends in enumerate(_reports(spec, _long_stream(meaning))):
            assert all(at - end <= delay.bound for end in ends)
    if delay.bound and delay.exact:
        events = delay.witness(delay.bound).to_pylist()
        assert len(events) - 1 - delay.bound in _reports(spec, events)[-1]


@few
@given(spec_texts() | spec_texts(preference=True))
def test_no_event_after_the_delay_changes_the_answer(text: str) -> None:
    """So many events after the end of a window, all continuations of a stream have it, or none has."""
    spec = wex.parse(text)
    delay = wex.check(spec)["w0"].delay
    if delay.bound is None:
        return
    windows = tried(meaning_of(spec), 0, 4).windows
    for word, found in windows.items():
        for size in range(len(word)):
            decided = {(b, e) for b, e in found if e + delay.bound < size}
            assert decided == {(b, e) for b, e in windows[word[:size]] if e + delay.bound < size}


@few
@given(spec_texts(preference=True))
def test_the_engine_waits_and_holds_as_long_as_the_analysis_says(text: str) -> None:
    spec = wex.parse(text)
    report = wex.check(spec)["w0"]
    if report.held.growth is not None:
        processor = wex.Processor(spec)
        processor.feed(report.held.witness(9))
        assert processor.held() >= 9
    if report.delay.growth is not None:
        events = report.delay.witness(9).to_pylist()
        early = {end for ends in _reports(spec, events) for end in ends}
        late = {row["end_index"] for row in wex.find(spec, report.delay.witness(9)).to_pylist()}
        assert any(end + 9 < len(events) for end in late - early)


def _reports(spec: wex.Spec, events: list[dict[str, object]]) -> list[list[int]]:
    """Return the ends of the windows that each event decides."""
    processor = wex.Processor(spec)
    return [
        processor.feed({name: [value] for name, value in event.items()})["end_index"].to_pylist()
        for event in events
    ]


def _long_stream(meaning: wex.spec.Meaning) -> list[dict[str, object]]:
    """Return a stream that conforms, as long as one goes."""
    choose = random.Random(len(str(meaning.spec)))
    events, assumptions = alphabet(meaning), Assumptions(meaning, unchecked=True)
    found: list[dict[str, object]] = []
    for _ in range(120):
        for event in choose.sample(events, len(events)):
            try:
                assumptions.check(Stream((), [*found, event], []))  # type: ignore[list-item]
            except wex.DataError:
                continue
            found.append(dict(event))
            break
        else:
            break
    return found
