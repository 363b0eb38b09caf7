"""Windows with aggregates in their predicates, for the analysis: their automata over events alone.

A predicate with aggregates may be true for one start and false for another at the same event. The
analysis treats it as free: a start is counted as long as *some* truth values of these predicates
keep it alive. So it counts every start that is open on some stream, and perhaps more: its bounds
hold, and are not exact. It uses two things that are sure: `count() <= N` is false in longer windows,
and `ts - first(ts) <= D` in windows that take more time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wex.analysis.lifetimes import DEAD, heaviest
from wex.automata.dfa import DFA
from wex.automata.explore import explore
from wex.automata.preference import DEAD as NO_WAY
from wex.compile.normal_form import NONE, NormalForm
from wex.theory.letters import Letters
from wex.theory.terms import (
    MIRRORED,
    RESULT,
    And,
    Arithmetic,
    Comparison,
    Constant,
    Field,
    Negative,
    Not,
    RunningTest,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from wex.compile.window import CompiledWindow
    from wex.theory.letters import Row
    from wex.theory.terms import Aggregate, Guard, Op, Term

# `not (a op b)` is the same as `a DENIED[op] b`, unless a NULL decides.
DENIED: dict[Op, Op] = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
MOST_EVENTS = 1000  # up to which the length of a window is counted
Sum = dict[Field | None, int]  # the weights of fields, and under None a number
State = tuple[frozenset[int], int]  # the window states a start may be in, and its events so far


@dataclass(frozen=True)
class OwnAutomaton:
    """The automaton of a window over the letters of each start, by preference or not.

    `starts[p]` is its state where a start at prefix state p begins. Its states are those of `form`,
    or of the ordered automaton, in which a start stays until its window is decided.
    """

    compiled: CompiledWindow

    @property
    def prefix(self) -> DFA:
        """Return the prefix automaton."""
        preference = self.compiled.preference
        return self.compiled.form.prefix if preference is None else preference.prefix

    @property
    def starts(self) -> list[int]:
        """Return the state of a start by prefix state, or NONE."""
        preference = self.compiled.preference
        starts = self.compiled.form.starts if preference is None else preference.starts
        return [int(state) for state in starts]

    def step(self, state: int, letter: int) -> int:
        """Return the state after a letter, or DEAD."""
        compiled, preference = self.compiled, self.compiled.preference
        if preference is None:
            after = compiled.form.window.step(state, letter)
            return after if compiled.form.window.live[after] else DEAD
        ways, until = preference.ways, compiled.until
        confirms = until is None or bool(until >> letter & 1)
        left = ways.confirmed if confirms and not compiled.clauses.having else ways.denied
        after = int(ways.table[left[state], ways.classes[letter]])
        return DEAD if after == NO_WAY else after

    def final(self, state: int) -> bool:
        """Tell whether a window may end in a state."""
        preference = self.compiled.preference
        if preference is None:
            return bool(self.compiled.form.window.final[state])
        return bool(preference.ways.accepts[state])

    def moves(self) -> dict[int, dict[int, int]]:
        """Return for each state that a start can be in after an event the letters that lead on."""
        letters = range(len(self.compiled.letters))

        def following(state: int) -> dict[int, int]:
            after = {letter: self.step(state, letter) for letter in letters}
            return {letter: state for letter, state in after.items() if state != DEAD}

        entries = {entry for entry in self.starts if entry != NONE}
        first = {after for entry in entries for after in following(entry).values()}
        moves: dict[int, dict[int, int]] = {}
        pending = sorted(first)
        while pending:
            state = pending.pop()
            if state not in moves:
                moves[state] = following(state)
                pending += moves[state].values()
        return moves


def over_events(compiled: CompiledWindow, *, planned: bool = False) -> CompiledWindow:
    """Return a window over the letters of its guards about events: it keeps at least the same starts.

    With `planned` also those that a plan holds although they can never end, because it does not know
    that `count() <= N` stays false.
    """
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
    until, clauses = compiled.until, compiled.clauses
    return replace(
        compiled,
        letters=letters,
        form=_form(OwnAutomaton(compiled), by_row, planned=planned),
        until=None
        if until is None
        else sum(
            1 << new
            for new, group in enumerate(by_row)
            if any(until >> letter & 1 for letter in group)
        ),
        preference=None,
        # All starts are followed to their ends, whatever `keep` then chooses.
        clauses=clauses if clauses.prefers else replace(clauses, keep="all"),
    )


def replace_letters(dfa: DFA, chosen: Sequence[int]) -> DFA:
    """Return an automaton over some of its letters."""
    return DFA(dfa.classes[list(chosen)].copy(), dfa.table.copy(), dfa.final.copy())


def _form(own: OwnAutomaton, by_row: list[list[int]], *, planned: bool) -> NormalForm:
    """Return the normal form: a start is in all states that some truth values lead to."""
    limits = _longest(own.compiled)
    form, held = _limited(own, by_row, limits)
    if planned and not form.window.live[held].all():
        form, _ = _limited(own, by_row, {})
    return form


def _limited(
    own: OwnAutomaton, by_row: list[list[int]], limits: Mapping[int, int]
) -> tuple[NormalForm, NDArray[np.bool_]]:
    """Return the normal form with limits of some guards, and a mask of the states that a start can be in."""
    compiled = own.compiled
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
            following = {own.step(state, letter) for state in states for letter in possible}
            reached.append((frozenset(following - {DEAD}), after))
        return reached

    entries = {entry for entry in own.starts if entry != NONE}
    initial: list[State] = [(frozenset([entry]), 0) for entry in sorted(entries)]
    dead: State = (frozenset(), 0)
    states, table = explore(initial or [dead], successors)
    numbers = {entry: number for number, entry in enumerate(sorted(entries))}
    starts = [NONE if entry == NONE else numbers[entry] for entry in own.starts]
    form = NormalForm(
        replace_letters(own.prefix, [group[0] for group in by_row]),
        np.array(starts, dtype=np.int32),
        DFA(
            np.arange(len(by_row), dtype=np.int32),
            np.array(table, dtype=np.int32).reshape(len(states), len(by_row)),
            np.array([any(own.final(q) for q in inner) for inner, _ in states], dtype=np.bool_),
        ),
    )
    return form, np.array([bool(inner) for inner, _ in states], dtype=np.bool_)


# --- Sure limits


def _longest(compiled: CompiledWindow) -> dict[int, int]:
    """Return for each guard that limits the length of a window so far up to how many events it can hold."""
    limits: dict[int, int] = {}
    for place, guard in enumerate(compiled.letters.guards):
        if isinstance(guard, RunningTest):
            known = [limit for limit in _lengths(guard) if limit <= MOST_EVENTS]
            if known:
                limits[place] = min(known)
    return limits


def _lengths(test: RunningTest) -> Iterator[int]:
    """Yield the numbers of events that a predicate allows at most: those in `count() <= N`."""
    for op, left, right in _comparisons(test):
        for relation, field, number in ((op, left, right), (MIRRORED[op], right, left)):
            if not isinstance(field, Field) or relation not in ("<", "<=", "="):
                continue
            aggregate = _aggregate(test, field)
            if aggregate is None or aggregate.name != "count" or aggregate.arguments:
                continue
            if aggregate.filter is None and isinstance(number, Constant):
                most = number.value
                if type(most) is int:
                    yield max(most - (relation == "<"), 0) - field.offset


def _comparisons(test: RunningTest) -> Iterator[tuple[Op, Term, Term]]:
    """Yield comparisons that are true wherever a predicate is."""
    parts: Sequence[Guard] = test.test.parts if isinstance(test.test, And) else (test.test,)
    for part in parts:
        match part:
            case Comparison(op, left, right):
                yield op, left, right
            case Not(Comparison(op, left, right)):
                yield DENIED[op], left, right


def _aggregate(test: RunningTest, field: Field) -> Aggregate | None:
    """Return the aggregate of which a field is the result, if it is one."""
    if not field.name.startswith(RESULT):
        return None
    return test.aggregates[int(field.name[len(RESULT) :])]


@dataclass(frozen=True)
class TimeLimit:
    """How long predicates let a start live: by the first order column, and some events more."""

    duration: int
    behind: int


def time_limit(compiled: CompiledWindow) -> TimeLimit | None:
    """Return the time after which a start dies: if it goes on, its window has not taken longer.

    Between two events at which a predicate as `ts - first(ts) <= D` has to hold, there are at most
    `behind` others.
    """
    order = compiled.source.stream.order_by
    if not order or not compiled.clauses.running:
        return None
    limits: dict[int, int] = {}
    for place, guard in enumerate(compiled.letters.guards):
        if isinstance(guard, RunningTest):
            known = list(_durations(guard, order[0].text))
            if known:
                limits[place] = max(min(known), 0)
    if not limits:
        return None
    longest = 0
    moves = OwnAutomaton(compiled).moves()
    numbers = {state: number for number, state in enumerate(moves)}
    unlimited: list[set[int]] = [set() for _ in moves]
    for state, row in moves.items():
        for letter, after in row.items():
            truths = compiled.letters.rows[letter]
            known = [limit for place, limit in limits.items() if truths[place]]
            if known:
                longest = max(longest, min(known))
            else:
                unlimited[numbers[state]].add(numbers[after])
    most = heaviest(unlimited, set(numbers.values()), lambda _: 1)
    return None if not most else TimeLimit(longest, most - 1)


def _durations(test: RunningTest, clock: str) -> Iterator[int]:
    """Yield the D of comparisons `clock - first(clock) <= D`, in any form."""
    for op, left, right in _comparisons(test):
        one, two = _sum(left), _sum(right)
        if one is None or two is None:
            continue
        for relation, plus, minus in ((op, one, two), (MIRRORED[op], two, one)):
            if relation not in ("<", "<=", "="):
                continue
            rest = _difference(plus, minus)
            number = rest.pop(None, 0)
            if _is_elapsed(test, rest, clock):
                yield -number - (relation == "<")


def _is_elapsed(test: RunningTest, weights: Mapping[Field | None, int], clock: str) -> bool:
    """Tell whether a sum of fields is `clock - first(clock)`."""
    by_weight = {weight: field for field, weight in weights.items()}
    if len(weights) != 2 or set(by_weight) != {1, -1}:
        return False
    now, begun = by_weight[1], by_weight[-1]
    if now is None or begun is None or (now.name, now.offset) != (clock, 0):
        return False
    aggregate = _aggregate(test, begun)
    return aggregate is not None and _is_start(aggregate, clock)


def _is_start(aggregate: Aggregate, clock: str) -> bool:
    """Tell whether an aggregate is the time of the first event; times do not fall."""
    match aggregate.arguments:
        case (Field(name, 0),):
            earliest = aggregate.name in ("first", "min") and aggregate.filter is None
            return earliest and name == clock
    return False


def _sum(term: Term) -> Sum | None:
    """Return a term as a sum of fields and, under None, a whole number; None if it is no such sum."""
    match term:
        case Constant(int(number)):
            return {None: number}
        case Field() if term.kind == "whole":
            return {term: 1}
        case Negative(value):
            inner = _sum(value)
            return None if inner is None else _difference({}, inner)
        case Arithmetic("+" | "-" as op, left, right):
            one, two = _sum(left), _sum(right)
            if one is None or two is None:
                return None
            return _difference(one, two if op == "-" else _difference({}, two))
    return None


def _difference(one: Sum, two: Sum) -> Sum:
    """Return the difference of two sums."""
    weights = {part: one.get(part, 0) - two.get(part, 0) for part in {**one, **two}}
    return {part: weight for part, weight in weights.items() if weight}


def _picked(row: Row, places: Sequence[int]) -> Row:
    return tuple(row[place] for place in places)
