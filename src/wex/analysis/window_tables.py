"""One window as the analysis sees it: its automata by classes of grams, and its clauses.

Clauses that only change the automata are worked into them: `keep shortest` ends a start with its
first window, `within N events` and a `having` about the count of events count them in the states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wex.automata.dfa import common_classes
from wex.automata.explore import coreachable, explore
from wex.compile.normal_form import NONE
from wex.spec import tree
from wex.stages import compile_window
from wex.theory.evaluate import truth
from wex.theory.letters import guard_of_letters
from wex.theory.terms import Comparison, Constant, Field, Guard, atoms
from wex.theory.translate import guard_of
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence, Set

    from wex.analysis.counting.single import Starts
    from wex.analysis.regions.contexts import Edge
    from wex.compile.clauses import Clauses
    from wex.compile.window import CompiledWindow
    from wex.spec import Meaning
    from wex.theory.terms import Guard


DEAD = -1


@dataclass(frozen=True)
class Tables:
    """`moves[state][class]` is the next state; `starts[prefix state]` where a start begins."""

    moves: list[tuple[int, ...]]
    final: tuple[bool, ...]
    starts: tuple[int, ...]


@dataclass(frozen=True)
class Lengths:
    """Which lengths a window may have; from `enough` on all are alike."""

    enough: int
    allowed: Callable[[int], bool]
    most: int | None  # events: no longer one is followed


def ends_after_first(tables: Tables, until: Sequence[bool] | None) -> Tables:
    """Return tables in which a start is gone with its first window, as `keep shortest` has it."""
    # A window has an event at least: where starts begin, none has ended yet.
    begins = sorted(set(tables.starts) - {DEAD})
    fresh = {each: len(tables.moves) + at for at, each in enumerate(begins)}
    moves = [*tables.moves, *(tables.moves[each] for each in fresh)]
    final = tables.final + (False,) * len(fresh)
    rows = [
        tuple(
            DEAD if final[state] and (until is None or until[cls]) else after
            for cls, after in enumerate(row)
        )
        for state, row in enumerate(moves)
    ]
    return Tables(rows, final, tuple(fresh.get(each, DEAD) for each in tables.starts))


def counting(tables: Tables, lengths: Lengths, *, planned: bool) -> Tables:
    """Return tables that count the events of a window in the states.

    A plan drops what has become too long, and looks no further ahead (`planned`).
    """
    dead = (DEAD, 0)

    def successors(state: tuple[int, int]) -> list[tuple[int, int]]:
        at, count = state
        if at == DEAD or count == lengths.most:
            return [dead] * len(tables.moves[0])
        after = min(count + 1, lengths.enough)
        return [(each, after) if each != DEAD else dead for each in tables.moves[at]]

    begins = [(each, 0) for each in dict.fromkeys(tables.starts) if each != DEAD]
    states, table = explore(begins or [dead], successors)
    final = [at != DEAD and tables.final[at] and lengths.allowed(count) for at, count in states]
    live = coreachable(table, final)
    if planned:
        live = [at != DEAD for at, _ in states]
    numbers = {state: number for number, state in enumerate(states)}

    def number(state: int) -> int:
        found = DEAD if state == DEAD else numbers[state, 0]
        return found if found == DEAD or live[found] else DEAD

    rows = [tuple(after if live[after] else DEAD for after in row) for row in table]
    return Tables(rows, tuple(final), tuple(map(number, tables.starts)))


def lengths_of_having(meaning: Meaning, at: int) -> Lengths | None:
    """Return which lengths `having` lets pass, if it compares nothing but the count of events."""
    window = meaning.expanded.windows[at]
    if window.having is None:
        return None
    counts = {
        each.name.text
        for each in window.measures
        if isinstance(each.value, tree.Call)
        and each.value.name.text == "count"
        and not each.value.args
        and not each.value.filter
    }
    having = guard_of(window.having, meaning.measures[at])
    numbers = [0]
    for atom in atoms(having):
        match atom:
            case Comparison(_, Field(name), Constant(int() as value)) | Comparison(
                _, Constant(int() as value), Field(name)
            ) if name in counts:
                numbers.append(value)
            case _:
                return None
    return Lengths(max(numbers) + 1, lambda n: _holds(having, counts, n), None)


def _holds(having: Guard, counts: set[str], length: int) -> bool:
    return bool(truth(having, [dict.fromkeys(counts, length)]))


MOST_LEVELS = 2_000_000  # states, level by level


def heaviest(
    successors: Sequence[Set[int]], first: Set[int], weight: Callable[[int], int]
) -> int | None:
    """Return the greatest weight of a start's path through the automaton; None if it has a cycle.

    >>> heaviest([{1}, {2}, set()], {1}, lambda state: 1)
    2
    """
    ahead = _weights_ahead(successors, first, weight)
    return None if ahead is None else max(map(ahead.__getitem__, first), default=0)


def shared_at_most(
    successors: Sequence[Set[int]], first: Set[int], final: Sequence[bool]
) -> int | None:
    """Return a bound on the windows that share a position; None if a cycle or too much work.

    A start that began i events ago has no more windows left than the best state that a start can
    be in after i events.

    >>> shared_at_most([{1}, {2}, set()], {1}, [False, True, True])
    3
    """
    left = _weights_ahead(successors, first, lambda state: int(final[state]))
    if left is None:
        return None
    total = work = 0
    level = first
    while level:
        work += len(level)
        if work > MOST_LEVELS:
            return None
        total += max(left[state] for state in level)
        level = {after for state in level for after in successors[state]}
    return total


def _weights_ahead(
    successors: Sequence[Set[int]], first: Set[int], weight: Callable[[int], int]
) -> dict[int, int] | None:
    """Return the greatest weight of a path from each state, its own included; None if there is a cycle."""
    ahead: dict[int, int] = {}
    entered: set[int] = set()
    stack = list(first)
    while stack:
        state = stack[-1]
        if state not in ahead:
            waiting = [after for after in successors[state] if after not in ahead]
            if waiting:
                if state in entered:
                    return None  # a cycle leads back here
                entered.add(state)
                stack.extend(waiting)
                continue
            best = max(map(ahead.__getitem__, successors[state]), default=0)
            ahead[state] = weight(state) + best
        stack.pop()
    return ahead


@dataclass(frozen=True)
class Steady:
    """One event, again and again: each begins a start, and all of them live as long.

    `states` are the window states of such a start, event by event, until it dies.
    """

    stem: tuple[Edge, ...]
    edge: Edge
    states: tuple[int, ...]

    def path(self, events: int) -> list[Edge]:
        """Return the way with so many of the events."""
        return [*self.stem, *[self.edge] * events]

    def shared(self, final: Sequence[bool], events: int) -> int:
        """Return how many windows share the position in the middle of so many events."""
        middle = events // 2
        return sum(
            max(0, min(middle, events - 1 - age) - max(0, middle - age) + 1)
            for age, state in enumerate(self.states)
            if final[state]
        )


def steady(starts: Starts) -> Iterator[Steady]:
    """Yield the events that can come again and again, each with the life of a start.

    Only for automata without a cycle: there every start dies.
    """
    contexts = starts.contexts
    for context, row in enumerate(contexts.edges):
        for edge in row:
            if edge.to != context:
                continue
            states = []
            state = starts.born(edge)
            while state != DEAD:
                states.append(state)
                state = starts.moved(state, edge)
            if states:
                yield Steady(tuple(contexts.path_to(context)), edge, tuple(states))


LONG = 200  # events: the starts of a longer life are not told apart one by one
MOST_COUNTED = 20_000  # states of a window automaton that counts events


@dataclass(frozen=True)
class AnalysedWindow:
    """A window: tables by state and class, -1 for dead.

    `first` is the position of its first gram. `counted` tells that `within N events` is part of
    the table; otherwise it only limits what is found.
    """

    name: str
    first: int
    lookback: int
    masks: tuple[int, ...]  # the letters of each class
    compiled: CompiledWindow
    prefix: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    window: tuple[tuple[int, ...], ...]
    final: tuple[bool, ...]
    until: tuple[bool, ...] | None
    clauses: Clauses
    counted: bool

    @cached_property
    def classes(self) -> tuple[Guard, ...]:
        """Return a guard for each class of grams."""
        return tuple(guard_of_letters(self.compiled.letters, mask) for mask in self.masks)

    @cached_property
    def successors(self) -> list[Set[int]]:
        """Return the states that can follow each window state."""
        return [set(row) - {DEAD} for row in self.window]

    @cached_property
    def first_states(self) -> Set[int]:
        """Return the window states that a start can be in behind its first event."""
        entries = set(self.starts) - {DEAD}
        return {after for entry in entries for after in self.successors[entry]}

    @cached_property
    def longest_life(self) -> int | None:
        """Return how many events a start can be held for; None: there is no bound."""
        return heaviest(self.successors, self.first_states, lambda _: 1)

    @property
    def long_lived(self) -> bool:
        """Tell whether starts live for long, but not for ever: then they are not told apart."""
        return self.longest_life is not None and self.longest_life > LONG

    @cached_property
    def most_windows(self) -> int | None:
        """Return how many windows a start can have; None: there is no bound."""
        return heaviest(self.successors, self.first_states, lambda state: int(self.final[state]))

    @property
    def in_order(self) -> bool:
        """Tell whether which starts are kept depends on the others: on their order."""
        return self.clauses.oldest_wins

    @property
    def faithful(self) -> bool:
        """Tell whether the tables say all that the clauses do."""
        clauses = self.clauses
        counted = clauses.within_events is None or self.counted
        return counted and clauses.within_time is None and not clauses.having


def analysed_window(
    meaning: Meaning, at: int, *, planned: bool = False, plain: bool = False
) -> AnalysedWindow:
    """Return a window of a spec.

    `planned`: as a plan runs it, which never looks ahead; `plain`: without `within` and `keep`.
    """
    compiled = compile_window(meaning, at)
    window, form = compiled.window, compiled.form
    letters = len(compiled.letters)
    follows = [
        compiled.until is not None and bool(compiled.until >> each & 1) for each in range(letters)
    ]
    by_letter, own = common_classes(
        form.prefix.classes.tolist(), form.window.classes.tolist(), follows
    )
    masks = [0] * len(own)
    for letter, cls in enumerate(by_letter):
        masks[cls] |= 1 << letter
    until = tuple(bool(flag) for _, _, flag in own) if window.until else None
    clauses = compiled.clauses
    if plain:
        clauses = replace(clauses, keep="all", within_events=None)
    inside = form.window.table[:, [cls for _, cls, _ in own]]
    tables = Tables(
        [tuple(row) for row in np.where(form.window.live[inside], inside, DEAD).tolist()],
        tuple(map(bool, form.window.final)),
        tuple(int(each) if each != NONE else DEAD for each in form.starts),
    )
    lengths = _lengths(meaning, at, clauses, planned=planned, plain=plain)
    counted = lengths is not None and lengths.enough * len(tables.moves) <= MOST_COUNTED
    if lengths is not None and counted:
        tables = counting(tables, lengths, planned=planned)
        if not planned and lengths_of_having(meaning, at) is not None and not plain:
            clauses = replace(clauses, having=False)  # it is part of the tables now
    # `having` comes before `keep`: then nothing is known of which windows a start has.
    if clauses.ends_after_first:
        tables = ends_after_first(tables, until)
    return AnalysedWindow(
        name=window.name.text,
        first=0 if window.pad else compiled.lookback,
        lookback=compiled.lookback,
        masks=tuple(masks),
        compiled=compiled,
        prefix=tuple(map(tuple, form.prefix.table[:, [cls for cls, _, _ in own]].tolist())),
        starts=tables.starts,
        window=tuple(tables.moves),
        final=tables.final,
        until=until,
        clauses=clauses,
        counted=counted,
    )


def _lengths(
    meaning: Meaning, at: int, clauses: Clauses, *, planned: bool, plain: bool
) -> Lengths | None:
    """Return which lengths of windows `within N events` and `having` let pass, if they speak of it."""
    having = None if planned or plain else lengths_of_having(meaning, at)
    most = clauses.within_events
    if most is not None and planned and clauses.until:
        most += 1  # the event behind the longest window decides about it
    if having is None:
        return None if most is None else Lengths(most, lambda _: True, most)
    return having if most is None else Lengths(most, having.allowed, most)
