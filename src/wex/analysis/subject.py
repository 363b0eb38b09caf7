"""One window as the analysis sees it: its automata by classes of grams, and its clauses.

Clauses that only change the automata are worked into them: `keep shortest` ends a start with its
first window, `within N events` and a `having` about the count of events count them in the states.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from wex.analysis.lifetimes import heaviest
from wex.analysis.tables import DEAD, Lengths, Tables, counting, lengths_of_having, spent
from wex.automata.dfa import common_classes
from wex.cached import cached_property
from wex.theory.letters import guard_of
from wex.windows.clauses import Clauses, clauses_of
from wex.windows.compile import CompiledWindow, compile_window
from wex.windows.normal import NONE

if TYPE_CHECKING:
    from wex.spec import Meaning
    from wex.theory.terms import Guard

LONG = 200  # events: the starts of a longer life are not told apart one by one
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
        return tuple(guard_of(self.compiled.letters, mask) for mask in self.masks)

    @cached_property
    def longest_life(self) -> int | None:
        """Return how many events a start can be held for; None: there is no bound."""
        return heaviest(self.window, self.starts, lambda _: 1)

    @property
    def long_lived(self) -> bool:
        """Tell whether starts live for long, but not for ever: then they are not told apart."""
        return self.longest_life is not None and self.longest_life > LONG

    @cached_property
    def most_windows(self) -> int | None:
        """Return how many windows a start can have; None: there is no bound."""
        return heaviest(self.window, self.starts, lambda state: int(self.final[state]))

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
    masks = [0] * len(own)
    for letter, cls in enumerate(by_letter):
        masks[cls] |= 1 << letter
    until = tuple(bool(flag) for _, _, flag in own) if window.until else None
    clauses = clauses_of(window)
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
    if clauses.keep == "shortest" and not clauses.having:
        tables = spent(tables, until)
    return Subject(
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
