"""Automata over letters obey the laws of regular languages, by independent oracles."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest
from automata.fa.dfa import DFA as OtherDFA
from hypothesis import given

import wex
from tests.strategies import letters
from tests.strategies.letters import Plain
from wex.automata import dfa, nfa
from wex.automata.dfa import DFA
from wex.automata.eliminate import expression_of
from wex.automata.expressions import Concat, Epsilon, Expression, Repeat, Symbol, Union
from wex.automata.minimise import minimise
from wex.automata.regex import Regex, RegexFactory

SHORT = [word for size in range(5) for word in product(range(letters.LETTERS), repeat=size)]


def other(automaton: DFA) -> OtherDFA:
    """Say the same to the library automata-lib."""
    return OtherDFA(
        states=set(range(automaton.states)),
        input_symbols=set(letters.NAMES),
        transitions={
            state: {name: automaton.step(state, at) for at, name in enumerate(letters.NAMES)}
            for state in range(automaton.states)
        },
        initial_state=0,
        final_states={state for state in range(automaton.states) if automaton.final[state]},
    )


def same(first: DFA, second: DFA) -> bool:
    return dfa.shortest_difference(first, second) is None


@given(letters.regular, letters.words)
def test_membership_agrees_with_re(plain: Plain, word: tuple[int, ...]) -> None:
    expected = re.fullmatch(letters.pattern(plain), letters.spelt(word)) is not None
    assert letters.automaton(plain).accepts(word) == expected


@given(letters.regular)
def test_all_short_words_agree_with_re(plain: Plain) -> None:
    automaton, pattern = letters.automaton(plain), re.compile(letters.pattern(plain))
    for word in SHORT:
        assert automaton.accepts(word) == (pattern.fullmatch(letters.spelt(word)) is not None)


@given(letters.extended, letters.extended, letters.words)
def test_and_or_not_mean_what_they_say(one: Plain, two: Plain, word: tuple[int, ...]) -> None:
    first, second = letters.automaton(one), letters.automaton(two)
    both = letters.automaton(Plain("and", parts=(one, two)))
    either = letters.automaton(Plain("union", parts=(one, two)))
    neither = letters.automaton(Plain("not", parts=(Plain("union", parts=(one, two)),)))
    assert both.accepts(word) == (first.accepts(word) and second.accepts(word))
    assert either.accepts(word) == (first.accepts(word) or second.accepts(word))
    assert neither.accepts(word) == (not first.accepts(word) and not second.accepts(word))


@given(letters.extended, letters.extended)
def test_equivalence_agrees_with_automata_lib(one: Plain, two: Plain) -> None:
    first, second = letters.automaton(one), letters.automaton(two)
    found = dfa.shortest_difference(first, second)
    assert (found is None) == (other(first) == other(second))
    if found is not None:
        assert first.accepts(found) != second.accepts(found)
        shorter = [word for word in SHORT if len(word) < len(found)]
        assert all(first.accepts(word) == second.accepts(word) for word in shorter)


@given(letters.extended)
def test_emptiness_agrees_with_automata_lib(plain: Plain) -> None:
    automaton = letters.automaton(plain)
    shortest = dfa.shortest_word(automaton)
    assert (shortest is None) == other(automaton).isempty()
    assert dfa.is_empty(automaton) == (shortest is None)
    if shortest is not None:
        assert automaton.accepts(shortest)
        assert len(shortest) == other(automaton).minimum_word_length()


@given(letters.extended)
def test_minimal_means_minimal(plain: Plain) -> None:
    automaton = letters.automaton(plain)
    assert automaton.states == len(other(automaton).minify(retain_names=False).states)
    assert same(automaton, minimise(automaton))


@given(letters.regular)
def test_the_papers_constructions_agree_with_derivatives(plain: Plain) -> None:
    automaton, built = letters.automaton(plain), letters.paper(plain)
    determinised = nfa.determinise(built)
    assert same(automaton, determinised)
    assert minimise(determinised).states == automaton.states
    for word in SHORT:
        assert built.accepts(word) == automaton.accepts(word)


@given(letters.extended)
def test_there_and_back_again_keeps_the_language(plain: Plain) -> None:
    automaton = letters.automaton(plain)
    shop = letters.workshop()
    expression = expression_of(automaton)
    again = shop.nothing if expression is None else derivable(expression, shop)
    assert same(automaton, shop.automaton(again))
    assert same(automaton, nfa.determinise(nfa.nfa_from(automaton)))


def derivable(node: Expression, shop: RegexFactory) -> Regex:
    match node:
        case Epsilon():
            return shop.empty
        case Symbol(mask):
            return shop.symbol(mask)
        case Concat(parts):
            return shop.concat([derivable(part, shop) for part in parts])
        case Union(parts):
            return shop.union([derivable(part, shop) for part in parts])
        case Repeat(body, low, high):
            return shop.repeat(derivable(body, shop), low, high)
    raise TypeError(node)


@given(letters.extended, letters.extended, letters.extended)
def test_boolean_laws(one: Plain, two: Plain, three: Plain) -> None:
    a, b, c = map(letters.automaton, (one, two, three))
    cup, cap, non = dfa.union, dfa.intersection, dfa.complement
    assert same(non(non(a)), a)
    assert same(non(cup(a, b)), cap(non(a), non(b)))
    assert same(cap(a, cup(b, c)), cup(cap(a, b), cap(a, c)))
    assert same(cup(a, cap(a, b)), a)
    assert same(dfa.difference(a, b), cap(a, non(b)))
    assert dfa.is_empty(cap(a, non(a)))
    assert dfa.is_empty(non(cup(a, non(a))))


@given(letters.extended)
def test_live_states_are_those_that_can_still_accept(plain: Plain) -> None:
    automaton = letters.automaton(plain)
    for state in range(automaton.states):
        moved = DFA(automaton.classes, automaton.table, automaton.final)
        reach = any(moved.final[moved.run(word, state)] for word in SHORT)
        if reach:
            assert automaton.live[state]
    if automaton.states <= 5:  # every state is at most 4 letters away
        for state in range(automaton.states):
            reach = any(automaton.final[automaton.run(word, state)] for word in SHORT)
            assert automaton.live[state] == reach


def test_a_hundred_thousand_events_compile() -> None:
    shop = RegexFactory(1, [1])
    automaton = shop.automaton(shop.repeat(shop.symbol(1), 100_000, 100_000))
    assert automaton.states == 100_002
    assert automaton.accepts([0] * 100_000)
    assert not automaton.accepts([0] * 99_999)


def test_an_automaton_that_explodes_is_a_limit_error() -> None:
    shop = RegexFactory(2, [1, 3])
    regex = shop.concat([shop.everything, shop.symbol(1), shop.repeat(shop.symbol(3), 20, 20)])
    with wex.limits.raised(states=1_000), pytest.raises(wex.LimitError) as caught:
        shop.automaton(regex)
    assert caught.value.limit == "states"


def test_values_cannot_be_changed() -> None:
    automaton = letters.automaton(Plain("symbol", 1))
    with pytest.raises(ValueError, match="read-only"):
        automaton.table[0, 0] = 1
    assert automaton.table.dtype == np.int32


@pytest.mark.parametrize(
    ("parts", "states"),
    [([(7, 0, None), (1, 0, 20_000), (2, 1, 1)], 2), ([(1, 0, 2_000), (3, 0, 2_000)], 4_002)],
)
def test_counts_that_touch_are_joined(
    parts: list[tuple[int, int, int | None]], states: int
) -> None:
    shop = RegexFactory(3, [1, 2, 3, 7])
    made = [shop.repeat(shop.symbol(letters_), low, high) for letters_, low, high in parts]
    assert shop.automaton(shop.concat(made)).states == states


def test_work_without_end_is_a_limit_error() -> None:
    shop = RegexFactory(2, [1, 3])
    with wex.limits.raised(work=20_000):
        shop = RegexFactory(2, [1, 3])
        one, two = shop.symbol(1), shop.repeat(shop.symbol(1), 2, 2)
        with pytest.raises(wex.LimitError) as caught:
            shop.automaton(shop.repeat(shop.union([one, two]), 5_000, 5_000))
    assert caught.value.limit == "work"
