"""The paper's automata, with guards as formulas, and their two ways to regular expressions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.compile import letter_words
from wex.compile.ksla import KSLA
from wex.errors import WexError
from wex.spec import tree
from wex.spec.types import REAL, Type
from wex.theory.evaluate import EXACT

FIELDS = {"x": REAL}
UP = tree.Compare((tree.Ref("x"), tree.Ref("x", -1)), (">",))
HIGH = tree.Compare((tree.Ref("x"), tree.Int(2)), (">",))
LOW = tree.Compare((tree.Ref("x"), tree.Int(1)), ("<",))
K = 1

guards = st.sampled_from(
    [UP, HIGH, LOW, tree.Not(UP), tree.And((UP, HIGH)), tree.Bool(True), tree.And((HIGH, LOW))]
)
edges = st.dictionaries(st.tuples(st.integers(0, 2), st.integers(0, 2)), guards, max_size=5)
automata = st.builds(
    lambda delta, final: KSLA(FIELDS, K, 3, frozenset(final), delta),
    edges,
    st.sets(st.integers(0, 2)),
)
values = st.sampled_from([Fraction(0), Fraction(1), Fraction(2), Fraction(3)])
words = st.lists(st.fixed_dictionaries({"x": values}), min_size=K, max_size=6)


def accepted(automaton: KSLA, word: list[dict[str, Fraction]]) -> bool:
    return automaton.accepts(word, numbers=EXACT)


@given(automata, words)
def test_clean_determinise_minimal_keep_the_language(
    automaton: KSLA, word: list[dict[str, Fraction]]
) -> None:
    expected = accepted(automaton, word)
    assert accepted(automaton.clean(), word) == expected
    assert accepted(automaton.determinise(), word) == expected
    assert accepted(automaton.minimise(), word) == expected
    assert accepted(automaton.complement(), word) != expected


@given(automata)
@settings(max_examples=50)
def test_determinised_means_one_state_at_a_time(automaton: KSLA) -> None:
    dfa = automaton.determinise()
    for source in range(dfa.states):
        out = [(t, g) for (s, t), g in dfa.delta.items() if s == source]
        for at, (_, one) in enumerate(out):
            for _, two in out[at + 1 :]:
                both = KSLA(FIELDS, K, 2, frozenset((1,)), {(0, 1): tree.And((one, two))})
                assert not both.clean().delta


@given(automata, automata, words)
def test_union_and_intersection(one: KSLA, two: KSLA, word: list[dict[str, Fraction]]) -> None:
    first, second = accepted(one, word), accepted(two, word)
    assert accepted(one.union(two), word) == (first or second)
    assert accepted(one.intersection(two), word) == (first and second)


@given(automata, automata, words)
def test_concatenation_shares_k_events(
    one: KSLA, two: KSLA, word: list[dict[str, Fraction]]
) -> None:
    split = any(
        accepted(one, word[: cut + K]) and accepted(two, word[cut:])
        for cut in range(len(word) - K + 1)
    )
    assert accepted(one.concatenation(two), word) == split


@given(automata, words)
@settings(max_examples=60)
def test_star_is_zero_or_more(automaton: KSLA, word: list[dict[str, Fraction]]) -> None:
    def repeated(start: int) -> bool:
        return start == len(word) - K or any(
            accepted(automaton, word[start : end + K]) and repeated(end)
            for end in range(start + 1, len(word) - K + 1)
        )

    assert accepted(automaton.star(), word) == repeated(0)
    assert accepted(automaton.star(), word[:K])
    three = automaton.times(1, 2)
    twice = automaton.union(automaton.concatenation(automaton))
    assert accepted(three, word) == accepted(twice, word)


@given(automata, words)
def test_to_a_regular_expression_and_back(automaton: KSLA, word: list[dict[str, Fraction]]) -> None:
    regex = automaton.to_regex()
    again = KSLA.from_regex(regex, FIELDS, K)
    assert accepted(again, word) == accepted(automaton, word)
    assert letter_words.difference(automaton, again) is None


@given(automata)
@settings(max_examples=60)
def test_the_shortest_word_is_one(automaton: KSLA) -> None:
    word = letter_words.shortest(automaton)
    empty = KSLA(FIELDS, K, 1, frozenset(), {})
    assert (word is None) == (letter_words.difference(automaton, empty) is None)


def test_clean_drops_what_can_never_hold() -> None:
    automaton = KSLA(FIELDS, K, 2, frozenset((1,)), {(0, 1): tree.And((HIGH, LOW)), (1, 1): UP})
    assert set(automaton.clean().delta) == {(1, 1)}
    assert automaton.guard(0, 0) == tree.Bool(False)


def test_automata_of_different_theories_do_not_mix() -> None:
    other: dict[str, Type] = {"y": REAL}
    with pytest.raises(WexError, match="different grams"):
        KSLA(FIELDS, 1, 1, frozenset(), {}).union(KSLA(other, 1, 1, frozenset(), {}))


def test_expressions_come_back_readable() -> None:
    up, high = tree.Atom(UP), tree.Atom(HIGH)
    regex = tree.Concat((up, tree.Repeat(tree.Atom(tree.Not(HIGH)), 0, None), high))
    assert KSLA.from_regex(regex, FIELDS, K).to_regex() == regex
    every = tree.Concat((tree.Repeat(tree.Anything(), 0, None), up))
    assert str(KSLA.from_regex(every, FIELDS, K).to_regex()) == "([not x > x[-1]]* [x > x[-1]])+"


def test_predicates_that_mean_the_same_are_one_guard() -> None:
    two = tree.Compare((tree.Ref("x"), tree.Binary("+", tree.Int(1), tree.Int(1))), (">",))
    regex = tree.Concat((tree.Atom(two), tree.Atom(HIGH), tree.Atom(LOW)))
    automaton = KSLA.from_regex(regex, FIELDS, K)
    word = [{"x": Fraction(value)} for value in (0, 3, 3, 0)]
    assert accepted(automaton, word)
    assert accepted(KSLA.from_regex(automaton.to_regex(), FIELDS, K), word)
