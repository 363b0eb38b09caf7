"""Nondeterministic automata, the paper's constructions on them, and determinisation.

An edge leads from a state to a state and carries a set of letters. State 0 is the initial state,
and no edge leads into it, so that union, concatenation and star can share it: the paper's
constructions are wrong where a loop re-enters the initial state.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata import dfa as automata
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wex.automata.dfa import DFA

Edges = dict[tuple[int, int], int]


@dataclass(frozen=True)
class NFA:
    """States 0 … states-1, the final states, and the set of letters of each edge."""

    letters: int
    states: int
    final: frozenset[int]
    edges: Mapping[tuple[int, int], int]

    def __post_init__(self) -> None:
        assert all(0 <= state < self.states for edge in self.edges for state in edge)
        assert all(target for _, target in self.edges), "an edge into the initial state"
        assert all(0 < mask < 1 << self.letters for mask in self.edges.values())

    @cached_property
    def _out(self) -> dict[int, list[tuple[int, int]]]:
        out: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for (source, target), mask in self.edges.items():
            out[source].append((mask, target))
        return out

    def after(self, states: Iterable[int], letter: int) -> frozenset[int]:
        """Return the states that one letter leads to from some states."""
        return frozenset(
            target
            for state in states
            for mask, target in self._out.get(state, ())
            if mask >> letter & 1
        )

    def accepts(self, word: Iterable[int]) -> bool:
        """Tell whether a word is in the language."""
        states = frozenset((0,))
        for letter in word:
            states = self.after(states, letter)
        return not self.final.isdisjoint(states)


def nfa_of(
    letters: int, states: int, final: Iterable[int], edges: Mapping[tuple[int, int], int]
) -> NFA:
    """Return an automaton; if edges lead into state 0, a copy of it becomes the initial state."""
    kept: Edges = {edge: mask for edge, mask in edges.items() if mask}
    ends = frozenset(final)
    if any(target == 0 for _, target in kept):
        moved = {(a + 1, b + 1): mask for (a, b), mask in kept.items()}
        moved |= {(0, b + 1): mask for (a, b), mask in kept.items() if a == 0}
        ends = frozenset(state + 1 for state in ends) | ({0} if 0 in ends else frozenset())
        return NFA(letters, states + 1, ends, moved)
    return NFA(letters, states, ends, kept)


def symbol(letters: int, mask: int) -> NFA:
    """Return the automaton of one letter out of a set."""
    return nfa_of(letters, 2, [1], {(0, 1): mask})


def empty_word(letters: int) -> NFA:
    """Return the automaton of the empty word."""
    return NFA(letters, 1, frozenset((0,)), {})


def union(first: NFA, second: NFA) -> NFA:
    """Return the automaton of the words in either language; the two share their initial state."""
    shift = first.states - 1
    edges = {**first.edges, **_shifted(second, shift)}
    final = first.final | {_shift(state, shift) for state in second.final}
    return NFA(first.letters, first.states + second.states - 1, final, edges)


def concatenate(first: NFA, second: NFA) -> NFA:
    """Return the automaton of a word of the first language and then one of the second."""
    shift = first.states - 1
    edges: Edges = defaultdict(int, first.edges)
    for (source, target), mask in second.edges.items():
        sources = first.final if source == 0 else (source + shift,)
        for start in sources:
            edges[start, target + shift] |= mask
    final = {state + shift for state in second.final if state}
    if 0 in second.final:  # the second part may be empty
        final |= first.final
    return NFA(first.letters, first.states + second.states - 1, frozenset(final), dict(edges))


def star(body: NFA) -> NFA:
    """Return the automaton of zero or more words of a language."""
    edges: Edges = defaultdict(int, body.edges)
    for (source, target), mask in body.edges.items():
        if source == 0:
            for end in body.final:
                edges[end, target] |= mask
    return NFA(body.letters, body.states, body.final | {0}, dict(edges))


def repeat(body: NFA, low: int, high: int | None) -> NFA:
    """Return the automaton of at least `low` and at most `high` words of a language."""
    once_or_not = NFA(body.letters, body.states, body.final | {0}, body.edges)
    parts = [body] * low
    parts += [star(body)] if high is None else [once_or_not] * (high - low)
    whole = empty_word(body.letters)
    for part in parts:
        whole = concatenate(whole, part)
    return whole


def determinise(nfa: NFA) -> DFA:
    """Return the deterministic automaton of the same language, by the subset construction.

    Parallel edges between two sets of states are merged into one with all their letters; in the
    paper the last edge replaces the others.
    """
    masks = sorted(set(nfa.edges.values()))
    keys = [tuple(mask >> letter & 1 for mask in masks) for letter in range(nfa.letters)]
    numbers: dict[tuple[int, ...], int] = {}
    classes = [numbers.setdefault(key, len(numbers)) for key in keys]
    witness = {cls: letter for letter, cls in reversed(list(enumerate(classes)))}

    def successors(states: frozenset[int]) -> list[frozenset[int]]:
        return [nfa.after(states, witness[cls]) for cls in range(len(numbers))]

    def is_final(states: frozenset[int]) -> bool:
        return not nfa.final.isdisjoint(states)

    return automata.build(classes, frozenset((0,)), successors, is_final)


def nfa_from(dfa: DFA) -> NFA:
    """Return a deterministic automaton as a nondeterministic one, without dead states."""
    class_masks: dict[int, int] = defaultdict(int)
    for letter, cls in enumerate(dfa.classes.tolist()):
        class_masks[cls] |= 1 << letter
    kept = [0, *(state for state in range(1, dfa.states) if dfa.live[state])]
    number = {state: index for index, state in enumerate(kept)}
    edges: Edges = defaultdict(int)
    for state in kept:
        for cls, after in enumerate(dfa.table[state].tolist()):
            if dfa.live[after]:
                edges[number[state], number[after]] |= class_masks[cls]
    final = [number[state] for state in kept if dfa.final[state]]
    return nfa_of(dfa.letters, len(kept), final, edges)


def _shift(state: int, by: int) -> int:
    return state + by if state else 0


def _shifted(nfa: NFA, by: int) -> Edges:
    return {(_shift(a, by), b + by): mask for (a, b), mask in nfa.edges.items()}
