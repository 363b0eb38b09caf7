"""Shortest sequences of letters that tell automata apart."""

from wex.automata import dfa
from wex.automata.dfa import Word
from wex.compile.ksla import KSLA, letter_form


def shortest(automaton: KSLA) -> Word | None:
    """Return a shortest accepted sequence of letters, or None if there is none.

    Each letter is possible by itself; whether they can follow one another is not asked.
    """
    return dfa.shortest_word(letter_form(automaton).dfa(automaton))


def difference(first: KSLA, second: KSLA) -> Word | None:
    """Return a shortest sequence of letters that only one of two accepts, or None."""
    form = letter_form(first, second)
    return dfa.shortest_difference(form.dfa(first), form.dfa(second))
