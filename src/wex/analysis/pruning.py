"""Automata of a window without the moves that only lead to places from which no window can be reached.

`Places` are those that starts can be in, by the region graph. `Pruned` removes moves. Where it
depends on what came before whether a move is in vain, `ToldApart` has states that know it, as far as the letters
read so far tell.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError, cyclic
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.contexts import Contexts
from wex.analysis.regions.graph import SILENT
from wex.automata.dfa import DFA
from wex.automata.explore import Exploration
from wex.compile.normal_form import NONE, NormalForm, restricted
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.analysis.window_tables import AnalysedWindow

MOST_STATES = 64  # of both automata together, where states are told apart

Known = frozenset[int]  # the contexts that a stream may be in, by the letters read so far


class PrunedForm(Protocol):
    """A form with the same windows on every stream, which holds fewer starts."""

    @property
    def form(self) -> NormalForm:
        """The automata."""

    @property
    def holds_for_ever(self) -> bool:
        """Whether a start can be held for ever although no stream lets it end."""


class Places:
    """The places of the starts of a window; `of_letter` is the class of each letter."""

    def __init__(
        self, contexts: Contexts, window: AnalysedWindow, of_letter: Sequence[int]
    ) -> None:
        self.contexts = contexts
        self.window = window
        self.of_letter = of_letter
        self.starts = Starts(contexts, window)
        self.alive = self.starts.alive

    @property
    def all_alive(self) -> bool:
        """Whether every start that is held can end."""
        return self.starts.held <= self.alive

    def pruned_forms(self) -> Iterator[PrunedForm]:
        """Yield forms that hold fewer starts, the simplest first."""
        yield Pruned(self)
        try:
            yield ToldApart(self)
        except TooManyError:
            return


class Pruned:
    """The automata without the moves that only lead to dead places."""

    def __init__(self, places: Places) -> None:
        self.places = places
        window, starts, alive = places.window, places.starts, places.alive
        useful: dict[tuple[int, int], bool] = {}  # a state and a class: whether some place lives on
        by_context: dict[int, list[int]] = {}
        for context, state in alive:
            by_context.setdefault(context, []).append(state)
        for context, row in enumerate(places.contexts.edges):
            for edge in row:
                (cls,), (before,) = edge.classes, edge.before
                if cls == SILENT:
                    continue
                entry = window.starts[before]
                for state in (*by_context.get(context, ()), *(() if entry == DEAD else (entry,))):
                    lives = (edge.to, starts.moved(state, edge)) in alive
                    useful[state, cls] = useful.get((state, cls), False) or lives
        # A move that no stream ever makes is left as it is: that makes for fewer states.
        self.moves = tuple(
            tuple(to if useful.get((state, cls), True) else DEAD for cls, to in enumerate(row))
            for state, row in enumerate(window.moves)
        )

    @cached_property
    def form(self) -> NormalForm:
        """Return the automata."""
        places = self.places
        own = places.window.compiled.form
        inner = _automaton(places.of_letter, self.moves, places.window.final)
        return restricted(NormalForm(own.prefix, own.starts, inner), range(len(places.of_letter)))

    @cached_property
    def holds_for_ever(self) -> bool:
        """Whether a start can be held for ever although no stream lets it end."""
        window = replace(self.places.window, moves=self.moves)
        return _holds_for_ever(Starts(self.places.contexts, window))


def _holds_for_ever(starts: Starts) -> bool:
    dead = starts.held - starts.alive
    graph = starts.graph
    return bool(cyclic({place: [to for to in graph[place] if to in dead] for place in dead}))


def _automaton(
    of_letter: Sequence[int], moves: Iterable[Iterable[int]], final: Iterable[bool]
) -> DFA:
    """Return an automaton with these moves; `DEAD` becomes a state that nothing leaves."""
    rows = [list(row) for row in moves]
    sink, width = len(rows), len(rows[0])
    rows.append([sink] * width)
    table = np.array([[sink if to == DEAD else to for to in row] for row in rows], dtype=np.int32)
    classes = np.array(of_letter, dtype=np.int32)
    return DFA(classes, table.reshape(len(rows), width), np.array([*final, False], dtype=np.bool_))


class ToldApart:
    """Automata whose states know in which contexts a stream may be after the letters read so far.

    All these contexts have the same prefix state. A start is dropped if none of them lets it end.
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self.window, self.contexts = places.window, places.contexts
        self._prefix_of = {0: 0} | {
            edge.to: self._prefix_after(edge.before[0], edge.classes[0])
            for row in self.contexts.edges
            for edge in row
        }
        self._steps: dict[tuple[Known, int], Known] = {}
        self._tables = self._built()
        form = self._form()
        _check_states(form.prefix.states + form.window.states)
        self.form = form

    def _prefix_after(self, state: int, cls: int) -> int:
        return state if cls == SILENT else self.window.prefix[state][cls]

    def _reached(self, known: Iterable[int], cls: int) -> Known:
        return frozenset(
            edge.to
            for context in known
            for edge in self.contexts.edges[context]
            if edge.classes[0] == cls
        )

    def _after(self, known: Known, cls: int) -> Known:
        """Return the contexts after a letter of a class.

        If the letter cannot come here, any contexts will do: those that it leads to elsewhere make
        for fewer states.
        """
        key = (known, cls)
        if key not in self._steps:
            state = self._prefix_of[min(known)] if known else DEAD
            alike = [context for context, own in self._prefix_of.items() if own == state]
            self._steps[key] = self._reached(known, cls) or self._reached(alike, cls)
        return self._steps[key]

    def _built(self) -> AnalysedWindow:
        """Return the tables of the window with states that are told apart."""
        window, alive = self.window, self.places.alive
        classes = range(len(window.masks))
        first: Known = frozenset([0])
        for _ in range(window.first):
            first = self._reached(first, SILENT)
        outer: Exploration[Known, None] = Exploration([first], _check_states)
        prefix = [tuple(outer[self._after(known, cls)] for cls in classes) for known in outer]
        inner: Exploration[tuple[int, Known], None] = Exploration(check=_check_states)
        starts = []
        for known in outer.states:
            entry = window.starts[self._prefix_of[min(known)]] if known else DEAD
            starts.append(DEAD if entry == DEAD else inner[entry, known])
        moves = []
        for state, known in inner:
            row = []
            for cls in classes:
                to, then = window.moves[state][cls], self._after(known, cls)
                lives = to != DEAD and any((context, to) in alive for context in then)
                row.append(inner[to, then] if lives else DEAD)
            moves.append(tuple(row))
        return replace(
            window,
            prefix=tuple(prefix),
            starts=tuple(starts),
            moves=tuple(moves),
            final=tuple(window.final[state] for state, _ in inner.states),
        )

    def _form(self) -> NormalForm:
        tables, of_letter = self._tables, self.places.of_letter
        width = len(tables.masks)
        prefix = np.array(tables.prefix, dtype=np.int32).reshape(len(tables.prefix), width)
        starts = np.array([NONE if to == DEAD else to for to in tables.starts], dtype=np.int32)
        outer = DFA(np.array(of_letter, dtype=np.int32), prefix, starts != NONE)
        moves = tables.moves or ((DEAD,) * width,)
        inner = _automaton(of_letter, moves, tables.final or (False,))
        return restricted(NormalForm(outer, starts, inner), range(len(of_letter)))

    @cached_property
    def holds_for_ever(self) -> bool:
        """Whether a start can be held for ever although no stream lets it end."""
        old = self.contexts
        contexts = Contexts(
            old.regions, old.query, [self._tables], old.assumptions, old.budget, moments=False
        )
        return _holds_for_ever(Starts(contexts, self._tables))


def _check_states(count: int) -> None:
    if count > MOST_STATES:
        raise TooManyError
