"""One window as the analysis sees it: its automata by classes of grams, and its clauses.

Clauses that only change the automata are worked into them here: `keep shortest` ends a start with
its first window, `within N events` counts events in the states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.automata.crawl import coreachable, crawl
from wex.automata.dfa import common_classes
from wex.theory.letters import guard_of
from wex.windows.clauses import Clauses, clauses_of
from wex.windows.compile import CompiledWindow, compile_window
from wex.windows.normal import NONE

if TYPE_CHECKING:
    from wex.spec import Meaning
    from wex.theory.terms import Guard

DEAD = -1
MOST_COUNTED = 20_000  # states of a window automaton that counts events


@dataclass(frozen=True)
class Subject:
    """A window: tables by state and class, -1 for dead.

    `first` is the position of its first gram. `counted` tells that `within N events` is part of
    the table; otherwise it only limits what is found.
    """

    name: str
    first: int
    lookback: int
    classes: tuple[Guard, ...]
    masks: tuple[int, ...]  # the letters of each class
    compiled: CompiledWindow
    prefix: tuple[tuple[int, ...], ...]
    starts: tuple[int, ...]
    window: tuple[tuple[int, ...], ...]
    final: tuple[bool, ...]
    until: tuple[bool, ...] | None
    clauses: Clauses
    counted: bool

    @property
    def in_order(self) -> bool:
        """Tell whether which starts are kept depends on the others: on their order."""
        return self.clauses.keep in ("longest", "disjoint") and not self.clauses.having

    @property
    def faithful(self) -> bool:
        """Tell whether the tables say all that the clauses do."""
        clauses = self.clauses
        counted = clauses.within_events is None or self.counted
        return counted and clauses.within_time is None and not clauses.having


def subject_of(meaning: Meaning, at: int, *, planned: bool = False, plain: bool = False) -> Subject:
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
    masks = [
        sum(1 << letter for letter, cls in enumerate(by_letter) if cls == number)
        for number in range(len(own))
    ]
    until = tuple(bool(flag) for _, _, flag in own) if window.until else None
    clauses = clauses_of(window)
    if plain:
        clauses = replace(clauses, keep="all", within_events=None)
    moves = [
        tuple(int(row[cls]) if form.window.live[row[cls]] else DEAD for _, cls, _ in own)
        for row in form.window.table
    ]
    final = tuple(map(bool, form.window.final))
    starts = tuple(int(each) if each != NONE else DEAD for each in form.starts)
    # `having` comes before `keep`: then nothing is known of which windows a start has.
    if clauses.keep == "shortest" and not clauses.having:
        # A window has an event at least: where starts begin, none has ended yet.
        fresh = {each: len(moves) + at for at, each in enumerate(sorted(set(starts) - {DEAD}))}
        moves += [moves[each] for each in fresh]
        final += (False,) * len(fresh)
        starts = tuple(fresh.get(each, DEAD) for each in starts)
        moves = [
            tuple(
                DEAD if final[state] and (until is None or until[cls]) else after
                for cls, after in enumerate(row)
            )
            for state, row in enumerate(moves)
        ]
    events = clauses.within_events
    counted = events is not None and events * len(moves) <= MOST_COUNTED
    if events is not None and counted:
        moves, final, starts = _counting(moves, final, starts, events, planned=planned)
    return Subject(
        name=window.name.text,
        first=0 if window.pad else compiled.lookback,
        lookback=compiled.lookback,
        classes=tuple(guard_of(compiled.letters, mask) for mask in masks),
        masks=tuple(masks),
        compiled=compiled,
        prefix=tuple(tuple(int(row[cls]) for cls, _, _ in own) for row in form.prefix.table),
        starts=starts,
        window=tuple(moves),
        final=final,
        until=until,
        clauses=clauses,
        counted=counted,
    )


def _counting(
    moves: list[tuple[int, ...]],
    final: tuple[bool, ...],
    starts: tuple[int, ...],
    most: int,
    *,
    planned: bool,
) -> tuple[list[tuple[int, ...]], tuple[bool, ...], tuple[int, ...]]:
    """Return window automaton and starts with the number of events read in the states."""

    def successors(state: tuple[int, int]) -> list[tuple[int, int]]:
        at, count = state
        row = [(after, count + 1) for after in moves[at]] if at != DEAD else []
        return [
            (after, number) if after != DEAD and number <= most else (DEAD, 0)
            for after, number in row or [(DEAD, 0)] * len(moves[0])
        ]

    entries = [(each, 0) for each in dict.fromkeys(starts) if each != DEAD]
    states, table = crawl(entries or [(DEAD, 0)], successors)
    accepted = [at != DEAD and final[at] for at, _ in states]
    live = coreachable(table, accepted)
    if planned:
        live = [at != DEAD for at, _ in states]
    rows = [tuple(after if live[after] else DEAD for after in row) for row in table]
    numbers = {state: number for number, state in enumerate(states)}
    return (
        rows,
        tuple(accepted),
        tuple(
            DEAD if each == DEAD or not live[numbers[each, 0]] else numbers[each, 0]
            for each in starts
        ),
    )
