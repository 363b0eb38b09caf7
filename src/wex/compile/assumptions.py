"""The assumptions of a spec as one automaton.

A stream conforms as long as some continuation of it is accepted by every `assume`. An `assume` with
lookback k reads grams from position k on. So the first positions of a stream, where not all of them
read yet, are *phases*, each with its own letters.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from wex.automata.explore import coreachable, explore
from wex.compile.guards import Alphabet, guards_of
from wex.theory.letters import Letters, letters_of

if TYPE_CHECKING:
    from wex.automata.dfa import DFA
    from wex.spec import Meaning, tree
    from wex.spec.types import Type

State = tuple[int, tuple[int, ...]]  # the phase and the states of the assumptions


@dataclass(frozen=True)
class AssumptionAutomaton:
    """The automaton of assumptions: `table[state][letter]`, over the letters of the phase.

    `phases[p]` are the letters at position p; the last phase goes on for ever. A phase in which no
    assumption reads yet has one letter. A stream violates the assumptions where a state is not
    `live`; checking begins at position `first`: that of the first gram, or 0 if no stream conforms.
    """

    assumes: tuple[tree.Assume, ...]
    first: int
    phases: tuple[Letters, ...]
    table: tuple[tuple[int, ...], ...]
    live: tuple[bool, ...]


def assumption_automaton(
    meaning: Meaning, *, unchecked: bool = False, only: int | None = None
) -> AssumptionAutomaton | None:
    """Return the automaton of the assumptions of a spec, or None if there are none.

    With `unchecked` it includes those that are not checked at run time; `only` is the number of one
    assumption that is taken alone.
    """
    checked = tuple(
        (assume, lookback)
        for number, (assume, lookback) in enumerate(
            zip(meaning.expanded.assumes, meaning.assume_lookbacks, strict=True)
        )
        if only in (None, number) and (unchecked or not assume.unchecked)
    )
    return _automaton(checked, tuple(meaning.fields.items())) if checked else None


@lru_cache(maxsize=64)  # each window asks for it many times, and so does each stream that is tried
def _automaton(
    checked: tuple[tuple[tree.Assume, int], ...], fields: tuple[tuple[str, Type], ...]
) -> AssumptionAutomaton:
    """Return the automaton of some assumptions with their lookbacks."""
    lookbacks = [lookback for _, lookback in checked]
    alphabets = [Alphabet(guards_of([assume], dict(fields)), k) for assume, k in checked]
    automata = [
        alphabet.factory.automaton(alphabet.regex(assume.regex))
        for alphabet, (assume, _) in zip(alphabets, checked, strict=True)
    ]
    phases = [
        letters_of(
            [
                guard
                for alphabet, lookback in zip(alphabets, lookbacks, strict=True)
                if lookback <= position
                for guard in alphabet.guards.values()
            ],
            position,
        )
        for position in range(max(lookbacks) + 1)
    ]
    read = [
        _letters_read(phase, position, alphabets, lookbacks)
        for position, phase in enumerate(phases)
    ]

    def successors(state: State) -> list[State]:
        phase, states = state
        after = min(phase + 1, len(phases) - 1)
        return [(after, _step(automata, states, letters)) for letters in read[phase]]

    start: State = (0, (0,) * len(automata))
    states, table = explore([start], successors)
    final = [
        all(dfa.final[part] for dfa, part in zip(automata, parts, strict=True))
        for _, parts in states
    ]
    live = coreachable(table, final)
    return AssumptionAutomaton(
        tuple(assume for assume, _ in checked),
        min(lookbacks) if live[0] else 0,
        tuple(phases),
        tuple(map(tuple, table)),
        tuple(live),
    )


def _letters_read(
    phase: Letters, position: int, alphabets: list[Alphabet], lookbacks: list[int]
) -> list[list[int | None]]:
    """Return for each letter of a phase the letter that each assumption reads, or None: not yet."""
    places = {guard: place for place, guard in enumerate(phase.guards)}
    return [
        [
            alphabet.letters.letter([row[places[guard]] for guard in alphabet.letters.guards])
            if lookback <= position
            else None
            for alphabet, lookback in zip(alphabets, lookbacks, strict=True)
        ]
        for row in phase.rows
    ]


def _step(
    automata: list[DFA], states: tuple[int, ...], letters: list[int | None]
) -> tuple[int, ...]:
    return tuple(
        state if letter is None else dfa.step(state, letter)
        for dfa, state, letter in zip(automata, states, letters, strict=True)
    )
