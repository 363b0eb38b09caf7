"""The normal form has each window once, and exactly those of the pairs and of the definition."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import letters, specs, streams
from tests.strategies.letters import Plain
from wex.compile.normal_form import NONE, pair_automata
from wex.errors import DataError
from wex.reference.streams import Stream
from wex.reference.windows import Definition, Grams
from wex.spec import meaning, tree
from wex.stages import compile_window
from wex.theory.evaluate import Event

pairs = st.lists(st.tuples(letters.extended, letters.extended), min_size=1, max_size=3)


@given(pairs, letters.words)
def test_the_windows_of_the_normal_form_are_those_of_the_pairs(
    written: list[tuple[Plain, Plain]], word: tuple[int, ...]
) -> None:
    shop = letters.workshop()
    form = pair_automata(
        shop, [(letters.regex(one, shop), letters.regex(two, shop)) for one, two in written]
    ).normal_form()
    automata = [(letters.automaton(one), letters.automaton(two)) for one, two in written]
    expected = {
        (b, e)
        for b in range(len(word))
        for e in range(b, len(word))
        if any(one.accepts(word[:b]) and two.accepts(word[b : e + 1]) for one, two in automata)
    }
    windows = form.windows(word)
    assert set(windows) == expected
    assert len(windows) == len(expected)


@given(pairs)
def test_starts_that_can_never_end_are_no_starts(written: list[tuple[Plain, Plain]]) -> None:
    shop = letters.workshop()
    form = pair_automata(
        shop, [(letters.regex(one, shop), letters.regex(two, shop)) for one, two in written]
    ).normal_form()
    for start in form.starts:
        assert start == NONE or form.window.live[start]


@given(specs.specs(running=False), st.lists(streams.events, max_size=7))
def test_the_normal_form_agrees_with_the_definition(spec: tree.Spec, events: list[Event]) -> None:
    """W0 by letters and automata, against W0 read off the definition."""
    resolved = meaning(spec)
    resolved = replace(resolved, runs=(None,) * len(resolved.runs))  # as they are expanded
    stream = Stream(("a",), events, list(range(len(events))))
    for number, window in enumerate(resolved.expanded.windows):
        if window.where:
            continue
        try:
            definition = Definition(resolved, number, stream)
        except DataError:
            continue  # arithmetic without a result, noted by both
        compiled = compile_window(resolved, number)
        grams = Grams(stream, compiled.lookback, pad=not window.unpadded)
        word = [
            compiled.letters.letter([grams.holds(guard, p) for guard in compiled.letters.guards])
            for p in grams.positions
        ]
        shifted = {(b + grams.first, e + grams.first) for b, e in compiled.form.windows(word)}
        assert shifted == definition.w0()
