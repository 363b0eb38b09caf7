"""The paper's automata: k-symbolic lookback automata, with guards as formulas.

A reader of the paper's section 2 finds its operations here under their names. They are computed
on the *letter form*, where a guard is a set of letters and a k-SLA an ordinary automaton: seen as
a sequence of grams, k-concatenation is concatenation, and a word of length k the empty sequence.
Where the paper's constructions need repair (docs/paper.md), these are the repaired ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata import dfa as deterministic
from wex.automata import nfa as nondeterministic
from wex.automata.eliminate import expression_of
from wex.automata.minimise import minimise
from wex.automata.nfa import NFA
from wex.compile.guards import Alphabet, as_written, guards_of
from wex.compile.to_predicate import predicate_of, regex_of
from wex.spec import tree
from wex.theory.evaluate import FLOATING, Event, Numbers, holds
from wex.theory.letters import Letters, letters_of
from wex.theory.translate import guard_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.automata.dfa import DFA, Word
    from wex.spec.types import Type

FALSE = tree.Bool(False)


@dataclass(frozen=True)
class KSLA:
    """A k-symbolic lookback automaton: states 0 … states-1, 0 the initial one.

    `delta` has the guard from a state to a state; the guard of a missing edge is false.
    """

    fields: Mapping[str, Type]
    lookback: int
    states: int
    final: frozenset[int]
    delta: Mapping[tuple[int, int], tree.Expr]

    def guard(self, source: int, target: int) -> tree.Expr:
        """Return the guard from a state to a state."""
        return self.delta.get((source, target), FALSE)


def runs(
    automaton: KSLA, word: Sequence[Event], numbers: Numbers = FLOATING
) -> list[frozenset[int]]:
    """Return the states that runs can be in before the first gram and after each: n - k + 1 sets."""
    reached = [frozenset((0,))]
    k = automaton.lookback
    guards = {
        edge: guard_of(predicate, automaton.fields) for edge, predicate in automaton.delta.items()
    }
    for position in range(k, len(word)):
        gram = word[position - k : position + 1]
        after = {
            target
            for (source, target), guard in guards.items()
            if source in reached[-1] and holds(guard, gram, first=-position, numbers=numbers)
        }
        reached.append(frozenset(after))
    return reached


def accepts(automaton: KSLA, word: Sequence[Event], numbers: Numbers = FLOATING) -> bool:
    """Tell whether a word of at least k events is accepted."""
    if len(word) < automaton.lookback:
        return False
    return not automaton.final.isdisjoint(runs(automaton, word, numbers)[-1])


# --- The letter form


@dataclass(frozen=True)
class LetterForm:
    """Automata over shared letters; `predicates` are the guards of the letters as written."""

    fields: Mapping[str, Type]
    lookback: int
    predicates: tuple[tree.Expr, ...]
    letters: Letters

    def nfa(self, automaton: KSLA) -> NFA:
        """Return an automaton with sets of letters instead of guards."""
        edges = {
            edge: self.letters.where(guard_of(predicate, self.fields))
            for edge, predicate in automaton.delta.items()
        }
        return nondeterministic.nfa_of(len(self.letters), automaton.states, automaton.final, edges)

    def ksla(self, automaton: NFA | DFA) -> KSLA:
        """Return an automaton with guards instead of sets of letters, without dead states."""
        nfa = automaton if isinstance(automaton, NFA) else nondeterministic.nfa_from(automaton)
        delta = {
            edge: predicate_of(self.letters, self.predicates, mask)
            for edge, mask in nfa.edges.items()
        }
        return KSLA(self.fields, self.lookback, nfa.states, nfa.final, delta)


def letter_form(*automata: KSLA) -> LetterForm:
    """Return the letters in which several automata of one theory can be read together."""
    first = automata[0]
    if any((other.lookback, other.fields) != (first.lookback, first.fields) for other in automata):
        raise ValueError("automata over different fields or lookbacks")
    guards = {
        predicate: guard_of(predicate, first.fields)
        for automaton in automata
        for predicate in automaton.delta.values()
        if not isinstance(predicate, tree.Bool)
    }
    written = as_written(guards)
    letters = letters_of(written, first.lookback)
    return LetterForm(first.fields, first.lookback, tuple(written.values()), letters)


# --- The operations of section 2


def clean(automaton: KSLA) -> KSLA:
    """Return the automaton without transitions whose guards can never hold."""
    from wex.theory.solver import satisfiable  # noqa: PLC0415  (loads z3)

    delta = {
        edge: predicate
        for edge, predicate in automaton.delta.items()
        if satisfiable(guard_of(predicate, automaton.fields), automaton.lookback)
    }
    return KSLA(automaton.fields, automaton.lookback, automaton.states, automaton.final, delta)


def determinise(automaton: KSLA) -> KSLA:
    """Return a deterministic automaton of the same language."""
    form = letter_form(automaton)
    return _complete(form, nondeterministic.determinise(form.nfa(automaton)))


def minimal(automaton: KSLA) -> KSLA:
    """Return the smallest deterministic automaton of the same language."""
    form = letter_form(automaton)
    return _complete(form, minimise(nondeterministic.determinise(form.nfa(automaton))))


def complement(automaton: KSLA) -> KSLA:
    """Return an automaton of every sequence of grams that is not accepted, the empty one too."""
    form = letter_form(automaton)
    dfa = nondeterministic.determinise(form.nfa(automaton))
    return _complete(form, deterministic.complement(dfa))


def intersection(first: KSLA, second: KSLA) -> KSLA:
    """Return an automaton of what both accept."""
    form = letter_form(first, second)
    one, two = (nondeterministic.determinise(form.nfa(operand)) for operand in (first, second))
    return form.ksla(deterministic.intersection(one, two))


def union(first: KSLA, second: KSLA) -> KSLA:
    """Return an automaton of what either accepts."""
    form = letter_form(first, second)
    return form.ksla(nondeterministic.union(form.nfa(first), form.nfa(second)))


def concatenate(first: KSLA, second: KSLA) -> KSLA:
    """Return an automaton of the k-concatenation."""
    form = letter_form(first, second)
    return form.ksla(nondeterministic.concatenate(form.nfa(first), form.nfa(second)))


def star(automaton: KSLA) -> KSLA:
    """Return an automaton of zero or more k-concatenations."""
    form = letter_form(automaton)
    return form.ksla(nondeterministic.star(form.nfa(automaton)))


def repeat(automaton: KSLA, low: int, high: int | None) -> KSLA:
    """Return an automaton of at least `low` and at most `high` k-concatenations."""
    form = letter_form(automaton)
    return form.ksla(nondeterministic.repeat(form.nfa(automaton), low, high))


def shortest(automaton: KSLA) -> Word | None:
    """Return a shortest accepted sequence of letters, or None if nothing is accepted."""
    form = letter_form(automaton)
    return deterministic.shortest_word(nondeterministic.determinise(form.nfa(automaton)))


def difference(first: KSLA, second: KSLA) -> Word | None:
    """Return a shortest sequence of letters that only one of two accepts, or None."""
    form = letter_form(first, second)
    one, two = (nondeterministic.determinise(form.nfa(operand)) for operand in (first, second))
    return deterministic.shortest_difference(one, two)


# --- Symbolic regular expressions, both ways


def from_regex(regex: tree.Regex, fields: Mapping[str, Type], lookback: int) -> KSLA:
    """Return the smallest automaton of a regular expression, by derivatives."""
    alphabet = Alphabet(guards_of([regex], fields), lookback)
    written = as_written(alphabet.guards)
    predicates = tuple(written[guard] for guard in alphabet.letters.guards)
    form = LetterForm(fields, lookback, predicates, alphabet.letters)
    return form.ksla(alphabet.factory.automaton(alphabet.regex(regex)))


def to_regex(automaton: KSLA) -> tree.Regex:
    """Return a regular expression of the same language, by eliminating states."""
    form = letter_form(automaton)
    return regex_of(expression_of(form.nfa(automaton)), form.letters, form.predicates)


def _complete(form: LetterForm, dfa: DFA) -> KSLA:
    """Return a deterministic automaton with its dead states, so that it stays complete."""
    masks: dict[tuple[int, int], int] = {}
    for state, row in enumerate(dfa.table.tolist()):
        for letter, cls in enumerate(dfa.classes.tolist()):
            edge = (state, row[cls])
            masks[edge] = masks.get(edge, 0) | 1 << letter
    delta = {
        edge: predicate_of(form.letters, form.predicates, mask) for edge, mask in masks.items()
    }
    final = frozenset(state for state in range(dfa.states) if dfa.final[state])
    return KSLA(form.fields, form.lookback, dfa.states, final, delta)
