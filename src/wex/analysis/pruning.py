"""Automata of a window without the moves that only lead to places from which no window can be reached.

`Places` are those that starts can be in, by the region graph. A move that leads to dead places only is
removed. Where it depends on what came before whether a move is in vain, states are told apart by the
contexts that the letters read so far allow (`Knowledge`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError, cyclic
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.graph import SILENT
from wex.automata.dfa import DFA
from wex.automata.explore import Exploration, explore
from wex.automata.preference import DEAD as NO_WAY
from wex.automata.preference import OrderedAutomaton
from wex.compile.normal_form import NONE, NormalForm, restricted
from wex.compile.preference import PreferenceForm
from wex.compile.preference import restricted as restricted_preference
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

    from numpy.typing import NDArray

    from wex.analysis.counting.single import Place
    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.window_tables import AnalysedWindow, Lengths
    from wex.compile.window import CompiledWindow

MOST_STATES = 64  # of both automata together, where states are told apart
MOST_EXPLORED = 1024  # of each of them, before equal states are merged

Known = frozenset[int]  # the contexts that a stream may be in, by the letters read so far
NOTHING: Known = frozenset()
ENDED: Known = frozenset([DEAD])  # of a start that has a window now, and can have no other
Inner = tuple[int, Known]  # a state of the automaton that follows starts, and what is known


class Vain(IntEnum):
    """For how long an automaton may hold a start that no stream lets end."""

    NEVER = 0
    FOR_A_TIME = 1
    FOR_EVER = 2


@dataclass(frozen=True)
class Follower:
    """The automaton that follows starts: `table[state][class]` is the next state, or DEAD.

    A window may end in a state that is `final`. In a state of `left` no event is read: it is left for the first of two states if the window that ends
    in it is confirmed, for the second one if not. So it is by preference; otherwise there is no such state.
    """

    table: Sequence[Sequence[int]]
    final: Sequence[bool]
    left: Mapping[int, tuple[int, int]]

    @classmethod
    def of(cls, window: AnalysedWindow, columns: Sequence[int]) -> Follower:
        """Return the automaton of a window: `columns` are those of its classes."""
        if window.compiled.preference is None:
            return cls(window.moves, window.final, {})
        ways = window.compiled.preference.ways

        def number(state: int) -> int:
            return DEAD if state == NO_WAY else int(state)

        return cls(
            [[number(to) for to in row] for row in ways.table[:, list(columns)].tolist()],
            window.final,
            {
                int(state): (number(ways.confirmed[state]), number(ways.denied[state]))
                for state in np.flatnonzero(ways.accepts)
            },
        )

    def reader(self, state: int, *, confirms: bool) -> int:
        """Return the state in which a start reads an event, which may confirm its window."""
        return self.left[state][not confirms] if state in self.left else state


def counting(
    window: AnalysedWindow, follower: Follower, lengths: Lengths
) -> tuple[AnalysedWindow, Follower]:
    """Return a window and the automaton that follows its starts with states that count events.

    The window ends only where its length is allowed; the automaton does not know that.
    """
    nodes: Exploration[tuple[int, int], None] = Exploration(check=_check_explored)
    starts = [DEAD if entry == DEAD else nodes[entry, 0] for entry in window.starts]
    table: list[list[int]] = []
    left: dict[int, tuple[int, int]] = {}
    for state, count in nodes:
        more, last = min(count + 1, lengths.enough), count == lengths.most
        table.append(
            [DEAD if last or to == DEAD else nodes[to, more] for to in follower.table[state]]
        )
        if state in follower.left:
            one, two = (DEAD if to == DEAD else nodes[to, count] for to in follower.left[state])
            left[nodes[state, count]] = (one, two)
    counted = Follower(table, [follower.final[state] for state, _ in nodes.states], left)
    until = window.until
    moves = []
    for number in range(len(table)):
        readers = [
            counted.reader(number, confirms=until is None or until[cls])
            for cls in range(len(window.masks))
        ]
        moves.append(
            tuple(DEAD if to == DEAD else table[to][cls] for cls, to in enumerate(readers))
        )
    final = tuple(window.final[state] and lengths.allowed(count) for state, count in nodes.states)
    tables = replace(window, starts=tuple(starts), moves=tuple(moves), final=final)
    return tables, counted


class Places:
    """The places of the starts of a window; `of_letter` is the class of each letter.

    Classes that have the same number in `shared` differ only in predicates with aggregates, which
    tell nothing about the events.
    """

    def __init__(
        self,
        contexts: Contexts,
        window: AnalysedWindow,
        follower: Follower,
        of_letter: Sequence[int],
        shared: Sequence[int],
    ) -> None:
        self.contexts = contexts
        self.window = window
        self.follower = follower
        self.of_letter = of_letter
        self.shared = shared
        self.starts = Starts(contexts, window)
        self.alive = self.starts.alive
        self.prefix_of = {0: 0}  # by context
        for row in contexts.edges:
            for edge in row:
                before, cls = edge.before[0], edge.classes[0]
                self.prefix_of[edge.to] = before if cls == SILENT else window.prefix[before][cls]

    @cached_property
    def lasting(self) -> Set[Place]:
        """Return the places from which a start can still have a window after the event that led there.

        By `until` a window that has ended is one of these: the next event decides about it.
        """
        if self.window.until is not None:
            return self.alive
        graph = self.starts.graph
        return {place for place in self.alive if any(after in self.alive for after in graph[place])}

    @property
    def all_alive(self) -> bool:
        """Whether every start that is held can end."""
        goes_on = [any(to != DEAD for to in row) for row in self.window.moves]
        return all(
            place in self.lasting or (place in self.alive and not goes_on[place[1]])
            for place in self.starts.held
        )

    def reader(self, state: int, cls: int) -> int:
        """Return the state in which a start reads an event of a class, DEAD: it is decided before."""
        until = self.window.until
        return self.follower.reader(state, confirms=until is None or until[cls])

    @cached_property
    def useful(self) -> dict[tuple[int, int], int]:
        """Tell of states and classes what a start can do that reads such an event there.

        0: it can have no window from then on; 1: it can have one that ends with the event, but none later;
        2: it can have a later one. A move that no stream ever makes is not listed.
        """
        useful: dict[tuple[int, int], int] = {}
        by_context: dict[int, list[int]] = {}
        for context, state in self.alive:
            by_context.setdefault(context, []).append(state)
        for context, row in enumerate(self.contexts.edges):
            for edge in row:
                (cls,), (before,) = edge.classes, edge.before
                if cls == SILENT:
                    continue
                entry = self.window.starts[before]
                for state in (*by_context.get(context, ()), *(() if entry == DEAD else (entry,))):
                    key = (self.reader(state, cls), cls)
                    place = (edge.to, self.starts.moved(state, edge))
                    lives = (place in self.alive) + (place in self.lasting)
                    useful[key] = max(useful.get(key, 0), lives)
        return useful

    @property
    def accumulate_in_vain(self) -> bool:
        """Whether the starts that are held have no bound, though those that can end have one."""
        if self.window.longest_life is not None:
            return False
        return any(self.starts.pumps(self.starts.held)) and not any(self.starts.pumps(self.alive))

    def pruned_forms(self) -> Iterator[PrunedForm]:
        """Yield forms that hold fewer starts, the simplest first."""
        yield PrunedForm(self, Knowledge(self, by_letters=False))
        with suppress(TooManyError):
            yield PrunedForm(self, Knowledge(self, by_letters=True))


@dataclass(frozen=True)
class Held:
    """The contexts and states of the starts that are held, and what can follow; the `first` few begin."""

    nodes: Sequence[tuple[int, Inner]]
    table: Sequence[Sequence[int]]
    first: int


class Knowledge:
    """What is known about the context: nothing, or all that the letters read so far tell.

    The contexts that are known all have the same prefix state. What is known by letters may be `strict`:
    then automata have no other moves and no other ends than those of streams.
    """

    def __init__(self, places: Places, *, by_letters: bool, strict: bool = False) -> None:
        self.places = places
        self.by_letters = by_letters
        self.strict = strict
        # The contexts before the first event that the window reads.
        reading = {0}
        for _ in range(places.window.first):
            reading = {edge.to for context in reading for edge in places.contexts.edges[context]}
        self.reading = frozenset(reading)
        self.first = self.reading if by_letters else NOTHING
        self._steps: dict[tuple[Known, int], Known] = {}
        self._to: list[dict[int, set[int]]] = []  # by context and shared class
        for row in places.contexts.edges:
            after: dict[int, set[int]] = {}
            for edge in row:
                if edge.classes[0] != SILENT:
                    after.setdefault(places.shared[edge.classes[0]], set()).add(edge.to)
            self._to.append(after)

    def after(self, known: Known, cls: int) -> Known:
        """Return the contexts after a letter of a class.

        If the letter cannot come here, any contexts will do: those that it leads to elsewhere make
        for fewer states.
        """
        if not self.by_letters:
            return NOTHING
        key = (known, self.places.shared[cls])
        if key not in self._steps:
            prefix_of = self.places.prefix_of
            state = prefix_of[min(known)] if known else DEAD
            alike = [context for context, own in prefix_of.items() if own == state]
            self._steps[key] = self._reached(known, key[1]) or self._reached(alike, key[1])
        return self._steps[key]

    def _reached(self, known: Iterable[int], shared: int) -> Known:
        return NOTHING.union(*(self._to[context].get(shared, ()) for context in known))

    def move(self, state: int, known: Known, cls: int, *, idle: bool = True) -> Inner | None:
        """Return the state after an event that is read in a state; None if the start is dropped.

        Also of moves that no stream makes, if they are `idle`.
        """
        places = self.places
        to = DEAD if state == DEAD else places.follower.table[state][cls]
        if to == DEAD or known == ENDED:
            return None
        useful = places.useful.get((state, cls), 2 * idle)
        if self.strict and not self._reached(known, places.shared[cls]):
            return None
        then = self.after(known, cls)
        if self.by_letters and useful:
            reached = [(context, to) for context in then]
            lives = any(place in places.alive for place in reached)
            useful = min(useful, lives + any(place in places.lasting for place in reached))
        return None if not useful else (to, then if useful > 1 else ENDED)

    def final(self, state: int, known: Known) -> bool:
        """Tell whether a window may end in a state; if that is `strict`, by what is known."""
        places = self.places
        if not self.strict or known == ENDED:
            return places.follower.final[state]
        return any(places.starts.ends_here((context, state)) for context in known)

    def waiting(self, state: int, known: Known) -> int:
        """Return the state for one in which no event is read, if no window can be confirmed there."""
        left = self.places.follower.left
        return left[state][1] if state in left and not self.final(state, known) else state

    def successors(self, inner: Inner) -> Iterator[Inner]:
        """Yield what can follow a state by any letter, also by one that no stream has there."""
        state, known = inner
        for cls in range(len(self.places.window.masks)):
            after = self.move(self.places.reader(state, cls), known, cls)
            if after is not None:
                yield after

    @cached_property
    def held(self) -> Held:
        """Return the places of the starts that are held, with what is known there."""
        places, edges = self.places, self.places.contexts.edges
        check = places.contexts.budget.check

        def streams(node: tuple[int, Known]) -> Iterator[tuple[int, Known]]:
            for edge in edges[node[0]]:
                yield edge.to, self.after(node[1], edge.classes[0])

        def moved(edge: Edge, reader: int, known: Known) -> Iterator[tuple[int, Inner]]:
            after = self.move(reader, known, edge.classes[0])
            if after is not None:
                yield edge.to, after

        def successors(place: tuple[int, Inner]) -> Iterator[tuple[int, Inner]]:
            context, (state, known) = place
            for edge in edges[context]:
                yield from moved(edge, places.reader(state, edge.classes[0]), known)

        begun = dict.fromkeys(
            place
            for context, known in explore(
                [(context, self.first) for context in self.reading], streams, check
            )[0]
            for edge in edges[context]
            for place in moved(edge, places.window.starts[edge.before[0]], known)
        )
        nodes, table = explore(begun, lambda place: dict.fromkeys(successors(place)), check)
        return Held(nodes, table, len(begun))

    def vain(self) -> Vain:
        """Return for how long a start that no stream lets end may still be held."""
        places, table = self.places, self.held.table
        dead = {
            number
            for number, (context, (state, known)) in enumerate(self.held.nodes)
            if known != ENDED and (context, state) not in places.lasting
        }
        if not dead:
            return Vain.NEVER
        on_cycle = cyclic({number: [to for to in table[number] if to in dead] for number in dead})
        return Vain.FOR_EVER if on_cycle else Vain.FOR_A_TIME


class PrunedForm:
    """The automata of a window that drop starts by what is known."""

    def __init__(self, places: Places, knowledge: Knowledge) -> None:
        self.places = places
        self.vain = knowledge.vain()
        self._tables = [PrunedTables(places, knowledge, idle=idle) for idle in (True, False)]

    def window(self, compiled: CompiledWindow, most: int = MOST_STATES) -> CompiledWindow | None:
        """Return a window with these automata; None if they are larger than before, and have too many states.

        Moves that no stream makes may lead anywhere: what makes for fewer states is taken.
        """
        if self.places.window.compiled.preference is None:
            forms = [tables.normal_form() for tables in self._tables]
            sizes = [form.prefix.states + form.window.states for form in (*forms, compiled.form)]
            best = replace(compiled, form=forms[sizes[1] < sizes[0]])
        else:
            ordered = [tables.preference_form() for tables in self._tables]
            assert compiled.preference is not None
            sizes = [
                form.prefix.states + form.ways.states for form in (*ordered, compiled.preference)
            ]
            best = replace(compiled, preference=ordered[sizes[1] < sizes[0]])
        return best if min(sizes[:2]) <= max(most, sizes[2]) else None


class PrunedTables:
    """The tables of such automata, of which some states may be equal."""

    def __init__(self, places: Places, knowledge: Knowledge, *, idle: bool) -> None:
        self.places = places
        self._final = knowledge.final
        window = places.window
        self._classes = range(len(window.masks))
        check = _check_explored if knowledge.by_letters else None
        self._inner: Exploration[Inner, None] = Exploration(check=check)
        outer: Exploration[tuple[int, Known], None] = Exploration([(0, knowledge.first)], check)
        self._prefix = [
            [outer[window.prefix[state][cls], knowledge.after(known, cls)] for cls in self._classes]
            for state, known in outer
        ]
        self._starts = [self._begin(*node) for node in outer.states]
        self._rows = [
            [
                *(
                    self._number(
                        knowledge.move(knowledge.waiting(state, known), known, cls, idle=idle)
                    )
                    for cls in self._classes
                ),
                *(self._left(state, known, way) for way in (0, 1)),
            ]
            for state, known in self._inner
        ]

    def _begin(self, state: int, known: Known) -> int:
        entry = self.places.window.starts[state]
        return DEAD if entry == DEAD else self._inner[entry, known]

    def _number(self, node: Inner | None) -> int:
        return DEAD if node is None else self._inner[node]

    def _left(self, state: int, known: Known, way: int) -> int:
        """Return the state for which one is left in which no event is read; otherwise it stays."""
        left = self.places.follower.left.get(state) if self._final(state, known) else None
        to = state if left is None else DEAD if known == ENDED else left[way]
        return DEAD if to == DEAD else self._inner[to, known]

    def _prefix_automaton(self) -> tuple[DFA, NDArray[np.int32]]:
        starts = np.array([NONE if to == DEAD else to for to in self._starts], dtype=np.int32)
        table = np.array(self._prefix, dtype=np.int32)
        classes = np.array(self.places.of_letter, dtype=np.int32)
        return DFA(classes, table.reshape(len(starts), len(self._classes)), starts != NONE), starts

    def normal_form(self) -> NormalForm:
        """Return them as a normal form."""
        prefix, starts = self._prefix_automaton()
        width, sink = len(self._classes), len(self._rows)
        rows = [*(row[:width] for row in self._rows), [sink] * width]
        table = np.array(
            [[sink if to == DEAD else to for to in row] for row in rows], dtype=np.int32
        )
        final = [self._final(*node) for node in self._inner.states]
        inner = DFA(prefix.classes, table.reshape(sink + 1, width), np.array([*final, False]))
        return restricted(NormalForm(prefix, starts, inner), range(len(self.places.of_letter)))

    def preference_form(self) -> PreferenceForm:
        """Return them as a form by preference."""
        prefix, starts = self._prefix_automaton()
        width = len(self._classes)
        left = self.places.follower.left
        accepts = [node[0] in left and self._final(*node) for node in self._inner.states]
        # The state without ways is the first one here, and no event is read in one that accepts.
        rows = [[NO_WAY] * (width + 2)]
        for accepting, row in zip(accepts, self._rows, strict=True):
            read = [DEAD] * width if accepting else row[:width]
            rows.append([to + 1 for to in (*read, *row[width:])])
        table = np.array(rows, dtype=np.int32)
        ways = OrderedAutomaton(
            prefix.classes,
            np.ascontiguousarray(table[:, :width]),
            np.array([False, *accepts]),
            np.ascontiguousarray(table[:, width]),
            np.ascontiguousarray(table[:, width + 1]),
        )
        begins = np.where(starts == NONE, NONE, starts + 1).astype(np.int32)
        return restricted_preference(
            PreferenceForm(prefix, begins, ways), range(len(self.places.of_letter))
        )


def _check_explored(count: int) -> None:
    if count > MOST_EXPLORED:
        raise TooManyError
