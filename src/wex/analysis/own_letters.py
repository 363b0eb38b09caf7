"""Windows with aggregates in their predicates, for the analysis: their automata over events alone.

A predicate with aggregates may be true for one start and false for another at the same event. The
analysis treats it as free: a start is counted as long as *some* truth values of these predicates
keep it alive. So it counts every start that is open on some stream, and perhaps more: its bounds
hold, and are not exact. It uses one thing that is sure: `count() <= N` is false in longer windows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import DFA
from wex.automata.explore import explore
from wex.compile.normal_form import NONE, NormalForm
from wex.theory.letters import Letters
from wex.theory.terms import (
    MIRRORED,
    RESULT,
    And,
    Comparison,
    Constant,
    Field,
    RunningTest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.compile.window import CompiledWindow
    from wex.theory.letters import Row
    from wex.theory.terms import Guard

MOST_EVENTS = 1000  # up to which the length of a window is counted
State = tuple[frozenset[int], int]  # the window states a start may be in, and its events so far


def over_events(compiled: CompiledWindow) -> CompiledWindow:
    """Return a window over the letters of its guards about events: it keeps at least the same starts."""
    guards = compiled.letters.guards
    own = [place for place, guard in enumerate(guards) if isinstance(guard, RunningTest)]
    if not own:
        return compiled
    shared = [place for place in range(len(guards)) if place not in own]
    rows = tuple(dict.fromkeys(_picked(row, shared) for row in compiled.letters.rows))
    letters = Letters(tuple(guards[place] for place in shared), rows)
    by_row: list[list[int]] = [[] for _ in rows]  # the letters that each of the new ones stands for
    for letter, row in enumerate(compiled.letters.rows):
        by_row[letters.letter(_picked(row, shared))].append(letter)
    representative = [group[0] for group in by_row]
    prefix = compiled.form.prefix
    until, clauses = compiled.until, compiled.clauses
    return replace(
        compiled,
        letters=letters,
        form=_form(compiled, by_row, replace_letters(prefix, representative)),
        until=None
        if until is None
        else sum(
            1 << new
            for new, group in enumerate(by_row)
            if any(until >> letter & 1 for letter in group)
        ),
        # All starts are followed to their ends, whatever `keep` then chooses. By preference a start
        # is held no longer than that, but under `keep leftmost` it may wait for an earlier one.
        clauses=clauses if clauses.prefers else replace(clauses, keep="all"),
        preference=None,
    )


def replace_letters(dfa: DFA, chosen: Sequence[int]) -> DFA:
    """Return an automaton over some of its letters."""
    return DFA(dfa.classes[list(chosen)].copy(), dfa.table.copy(), dfa.final.copy())


def _form(compiled: CompiledWindow, by_row: list[list[int]], prefix: DFA) -> NormalForm:
    """Return the normal form: a start is in all states that some truth values lead to."""
    window, limits = compiled.form.window, _longest(compiled)
    most = max(limits.values(), default=0)

    def successors(state: State) -> list[State]:
        states, age = state
        after = min(age + 1, most + 1)
        reached = []
        for group in by_row:
            possible = [
                letter
                for letter in group
                if not any(
                    after > limit and compiled.letters.rows[letter][place]
                    for place, limit in limits.items()
                )
            ]
            following = (window.step(state, letter) for state in states for letter in possible)
            reached.append((frozenset(q for q in following if window.live[q]), after))
        return reached

    entries = {int(entry) for entry in compiled.form.starts if entry != NONE}
    initial: list[State] = [(frozenset([entry]), 0) for entry in sorted(entries)]
    dead: State = (frozenset(), 0)
    states, table = explore(initial or [dead], successors)
    numbers = {entry: number for number, entry in enumerate(sorted(entries))}
    starts = [NONE if entry == NONE else numbers[int(entry)] for entry in compiled.form.starts]
    return NormalForm(
        prefix,
        np.array(starts, dtype=np.int32),
        DFA(
            np.arange(len(by_row), dtype=np.int32),
            np.array(table, dtype=np.int32).reshape(len(states), len(by_row)),
            np.array([any(window.final[q] for q in inner) for inner, _ in states], dtype=np.bool_),
        ),
    )


def _longest(compiled: CompiledWindow) -> dict[int, int]:
    """Return for each guard that limits the length of a window so far up to how many events it can hold."""
    limits: dict[int, int] = {}
    for place, guard in enumerate(compiled.letters.guards):
        if isinstance(guard, RunningTest):
            known = [limit for limit in _lengths(guard) if limit <= MOST_EVENTS]
            if known:
                limits[place] = min(known)
    return limits


def _lengths(test: RunningTest) -> list[int]:
    """Return the numbers of events that a predicate allows at most: those in `count() <= N`."""
    parts: Sequence[Guard] = test.test.parts if isinstance(test.test, And) else (test.test,)
    lengths = []
    for part in parts:
        match part:
            case Comparison(op, Field() as field, Constant(int(number))):
                pass
            case Comparison(mirrored, Constant(int(number)), Field() as field):
                op = MIRRORED[mirrored]
            case _:
                continue
        if not field.name.startswith(RESULT):
            continue
        aggregate = test.aggregates[int(field.name[len(RESULT) :])]
        counts = aggregate.name == "count" and not aggregate.arguments and aggregate.filter is None
        if counts and op in ("<", "<=", "="):
            lengths.append(max(number - (op == "<"), 0) - field.offset)
    return lengths


def _picked(row: Row, places: Sequence[int]) -> Row:
    return tuple(row[place] for place in places)
