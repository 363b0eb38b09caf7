"""The assumptions of a spec, all of them together, as one automaton.

A stream conforms as long as it can be continued to one that every `assume` accepts. Each `assume`
has a lookback k of its own and reads grams from position k on, so the first positions of a
stream, before all of them read, are phases with letters of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.automata.explore import coreachable, explore
from wex.compile.guards import Reading, guards_of
from wex.theory.letters import Letters, letters_of

if TYPE_CHECKING:
    from wex.automata.dfa import DFA
    from wex.spec import Meaning, tree

State = tuple[int, tuple[int, ...]]  # the phase, and the state of each assumption


@dataclass(frozen=True)
class AssumptionAutomaton:
    """What is checked of every stream: `table[state][letter]`, the letters those of the phase.

    Checking begins at position `first`: that of the first gram, or 0 if no stream conforms at all.
    `phases[p]` are the letters at position p, the last ones from there on; a phase in which no
    assumption reads yet has one letter and nothing to check.
    """

    assumes: tuple[tree.Assume, ...]
    first: int
    phases: tuple[Letters, ...]
    table: tuple[tuple[int, ...], ...]
    live: tuple[bool, ...]


def assumption_automaton(
    meaning: Meaning, *, unchecked: bool = False, only: int | None = None
) -> AssumptionAutomaton | None:
    """Return the assumptions that are checked at run time, or all, or one; None if there are none."""
    checked = [
        (assume, lookback)
        for at, (assume, lookback) in enumerate(
            zip(meaning.expanded.assumes, meaning.assume_lookbacks, strict=True)
        )
        if only in (None, at) and (unchecked or not assume.unchecked)
    ]
    if not checked:
        return None
    lookbacks = [lookback for _, lookback in checked]
    readings = [Reading(guards_of([assume], meaning.fields), k) for assume, k in checked]
    automata = [
        reading.factory.automaton(reading.regex(assume.regex))
        for reading, (assume, _) in zip(readings, checked, strict=True)
    ]
    phases = [
        letters_of(
            [
                g
                for r, k in zip(readings, lookbacks, strict=True)
                if k <= c
                for g in r.guards.values()
            ],
            c,
        )
        for c in range(max(lookbacks) + 1)
    ]
    own = [_own_letters(phase, c, readings, lookbacks) for c, phase in enumerate(phases)]

    def successors(state: State) -> list[State]:
        phase, states = state
        after = min(phase + 1, len(phases) - 1)
        return [(after, _step(automata, states, letters)) for letters in own[phase]]

    start: State = (0, (0,) * len(automata))
    states, table = explore([start], successors)
    final = [all(dfa.final[s] for dfa, s in zip(automata, each, strict=True)) for _, each in states]
    live = coreachable(table, final)
    return AssumptionAutomaton(
        tuple(assume for assume, _ in checked),
        min(lookbacks) if live[0] else 0,
        tuple(phases),
        tuple(map(tuple, table)),
        tuple(live),
    )


def _own_letters(
    phase: Letters, position: int, readings: list[Reading], lookbacks: list[int]
) -> list[list[int | None]]:
    """Return for each letter of a phase the letter that each assumption reads; None: none yet."""
    places = {guard: at for at, guard in enumerate(phase.guards)}
    return [
        [
            reading.letters.letter([row[places[guard]] for guard in reading.letters.guards])
            if lookback <= position
            else None
            for reading, lookback in zip(readings, lookbacks, strict=True)
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
