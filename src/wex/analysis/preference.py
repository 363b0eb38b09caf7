"""How long after its end a window is decided.

Without `until` most windows are decided at their end, with it by the event after them. By preference a
window is decided when no better way of its start is left. The delay is then a path through the places
of starts: from one where a window becomes the candidate, along places where no other one does. A
cycle of such places lets a window wait without bound. Under `keep leftmost` a window also waits for
earlier starts (`leftmost.py`).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity
from wex.analysis.graphs import TooManyError, cyclic
from wex.analysis.leftmost import Leftmost
from wex.analysis.lifetimes import DEAD, heaviest
from wex.analysis.own_letters import OwnAutomaton
from wex.analysis.witness import concrete_streams, ends_reported_last, replayed_windows
from wex.automata.explore import shortest
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer
    from wex.analysis.counting.single import Place, Starts
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.verdicts import Analysis
    from wex.theory.evaluate import Event

BY_THE_NEXT = "the event after a window decides about it"
MOST_TRIED = 20  # places from which a window may wait, for a stream that shows it


class Delay:
    """The delay until a window is decided."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        prefers = analysis.window.clauses.prefers
        self.starts: Starts = analysis.held_starts if prefers else analysis.starts
        self.window = self.starts.window
        self.clauses = self.window.clauses

    def answer(self) -> Answer:
        """Return how many events after its end a window is decided at the latest."""
        clauses, analysis = self.clauses, self.analysis
        if not clauses.prefers:
            return self._without_choice()
        most = alone = self.most()
        if alone is not None and clauses.keep == "leftmost" and Leftmost(self).waits_for_earlier():
            life = self.window.longest_life
            most = alone if life is None and clauses.within_events is not None else life
        if clauses.within_events is not None:
            # The window may have one event. With `until` the event after the longest one decides.
            longest = clauses.within_events - 1 + clauses.until
            most = longest if most is None else min(most, longest)
        if most is not None:
            shown = most == 0 or self._shows(most)
            builder = self._decided_after
            return analysis.bounded(
                Quantity.DELAY, most, _decided(most), exact=shown, builder=builder
            )
        if clauses.within_time is not None:
            events = analysis.most_in_time(self.window)
            if events is not None:
                return analysis.bounded(Quantity.DELAY, events, _decided(events), exact=False)
            return analysis.unknown(
                Quantity.DELAY, "any number of events may come in the time of `within`"
            )
        if clauses.having:
            return analysis.unknown(Quantity.DELAY, "`having` may deny any window")
        return self._without_bound(alone)

    def _without_choice(self) -> Answer:
        """Return the answer for windows that later events do not compete with: the next one at most decides."""
        analysis, what = self.analysis, Quantity.DELAY
        if not self.starts.alive:
            return analysis.bounded(what, 0, "no stream has such a window", exact=True)
        if not self.clauses.until:
            return analysis.bounded(what, 0, _decided(0), exact=True)
        shown = self._shows(1)
        return analysis.bounded(what, 1, BY_THE_NEXT, exact=shown, builder=self._decided_after)

    def _without_bound(self, alone: int | None) -> Answer:
        """Return the answer where a window may wait on a cycle; `alone` is the delay by one start."""
        analysis, what = self.analysis, Quantity.DELAY
        exact = analysis.contexts.regions.exact and not self.clauses.running
        # With `resuming` a start that waits may yet be skipped, so that more streams have to show it.
        tried = (2, 4, 6) if self.clauses.resuming else (2,)
        if alone is None and exact and all(self._waiting(n) is not None for n in tried):
            reason = "a window can wait without bound for a better one"
            return analysis.unbounded(what, Growth.LINEAR, reason, self._waiting)
        if self.clauses.keep == "leftmost" and exact:
            waiting = Leftmost(self).waiting()
            if waiting is not None and all(waiting.delayed(n) is not None for n in tried):
                reason = "a window can wait without bound for an earlier start that is not decided"
                return analysis.unbounded(what, Growth.LINEAR, reason, waiting.delayed)
        reason = "a window may wait without bound, but no stream was found that shows it"
        if alone is not None:
            reason = "a window may wait for an earlier start that is not decided"
        return analysis.unknown(what, reason)

    def most(self) -> int | None:
        """Return the delay by the ways of one start alone, or None if it has no bound."""
        if self.clauses.having:
            return self.window.longest_life  # any window may be the candidate
        if self.clauses.running:
            return self._most_by_start()
        numbers = {place: number for number, place in enumerate(self.starts.graph)}
        successors = [
            {numbers[after] for _, after in self.going_on(place)} for place in self.starts.graph
        ]
        first = {numbers[place] for place in self._candidates()}
        waiting = heaviest(successors, first, lambda _: 1)
        if waiting is None or self.window.until is None:
            return waiting
        return waiting + 1  # the event after a window decides whether it is one

    def _most_by_start(self) -> int | None:
        """Return the delay by the automaton alone, for predicates with aggregates: they are free."""
        own = OwnAutomaton(compile_window(self.analysis.meaning, self.analysis.index))
        until, moves = own.compiled.until, own.moves()
        numbers = {state: number for number, state in enumerate(moves)}
        waiting: list[set[int]] = [set() for _ in moves]
        first: set[int] = set()
        for state, row in moves.items():
            if until is None and own.final(state) and row:
                first.add(numbers[state])
            for letter, after in row.items():
                confirms = until is not None and bool(until >> letter & 1) and own.final(state)
                if confirms:
                    first.add(numbers[after])
                elif until is not None or not own.final(after):
                    waiting[numbers[state]].add(numbers[after])
        most = heaviest(waiting, first, lambda _: 1)
        return most if most is None or until is None else most + 1

    def _candidates(self) -> Iterator[Place]:
        """Yield the places of starts that have just got a candidate and are not decided."""
        for place in self.starts.graph:
            if self.window.until is None:
                undecided = any(after != DEAD for after in self.window.moves[place[1]])
                if self.window.final[place[1]] and undecided:
                    yield place
            else:
                for edge, after in self.starts.steps(place):
                    if self.starts.ends(place[1], edge):
                        yield after

    def going_on(self, place: Place) -> Iterator[tuple[Edge, Place]]:
        """Yield the events on which a candidate stays as it is."""
        for edge, after in self.starts.steps(place):
            if self.window.until is None:
                replaced = self.window.final[after[1]]
            else:
                replaced = self.starts.ends(place[1], edge)
            if not replaced:
                yield edge, after

    def _waiting(self, n: int) -> list[Event] | None:
        """Return a stream with a window that ended n events before, and that may yet be replaced."""
        starts = self.starts
        on_cycle = cyclic(
            {place: [after for _, after in self.going_on(place)] for place in starts.graph}
        )
        for source in dict.fromkeys(self._candidates()):
            route = shortest(
                [(None, source)],
                self.going_on,
                lambda place: place in on_cycle and place in starts.alive,
                starts.budget.check,
            )
            if route is None:
                continue
            place, onward = route
            path = [*self._path_to(source), *onward]
            loop = self._loop(place)
            path += loop * -(-n // len(loop))
            streams = concrete_streams(starts.contexts, path, [starts.completion(place)])
            if streams is not None and self.changes(*streams, n):
                return streams[0]
        return None

    def _shows(self, n: int) -> bool:
        """Tell whether a stream is found on which a window is decided n events after its end."""
        try:
            return self._decided_after(n) is not None
        except TooManyError:
            return False

    def _decided_after(self, n: int) -> list[Event] | None:
        """Return a stream with a window that ended n events before, and was not decided before the last."""
        starts = self.starts
        if not self.clauses.prefers:
            return self._confirmed()
        if self.clauses.having or self.clauses.running:
            return None
        waits = n - 1 if self.window.until is None else n - 2
        if waits < 0:
            return self._confirmed()
        for source in islice(dict.fromkeys(self._candidates()), MOST_TRIED):

            def successors(node: tuple[Place, int]) -> Iterator[tuple[Edge, tuple[Place, int]]]:
                place, steps = node
                if steps < waits:
                    for edge, after in self.going_on(place):
                        yield edge, (after, steps + 1)

            def decides(node: tuple[Place, int]) -> bool:
                return node[1] == waits and self._deciding(node[0]) is not None

            route = shortest([(None, (source, 0))], successors, decides, starts.budget.check)
            if route is None:
                continue
            (place, _), onward = route
            last = self._deciding(place)
            assert last is not None
            branches = [
                [edge, *starts.completion(after)]
                for edge, after in starts.steps(place)
                if after in starts.alive
            ]
            found = self._replayed([*self._path_to(source), *onward], last, branches, n)
            if found is not None:
                return found
        return None

    def _deciding(self, place: Place) -> Edge | None:
        """Return an event with which no way of a start is left, and no window ends."""
        context, state = place
        for edge in self.starts.contexts.edges[context]:
            if self.starts.moved(state, edge) == DEAD and not self.starts.ends(state, edge):
                return edge
        return None

    def _confirmed(self) -> list[Event] | None:
        """Return a stream whose last event makes a window of what was none before it, by `until`."""
        starts = self.starts
        if self.window.until is None:
            return None
        ending = {
            place: edge
            for place in starts.graph
            for edge in starts.contexts.edges[place[0]]
            if starts.ends(place[1], edge)
        }
        if not ending:
            return None
        place, path = starts.path_to(ending.keys())
        # With `or end` it is a window of the stream that ends before: then another event denies it.
        edges = islice(starts.contexts.edges[place[0]], MOST_TRIED)
        others = [[edge] for edge in edges if not starts.ends(place[1], edge)]
        return self._replayed(path, ending[place], [[], *others], 1)

    def _replayed(
        self, path: list[Edge], last: Edge, branches: list[list[Edge]], n: int
    ) -> list[Event] | None:
        """Return a stream along a path and a last event, if only that event decides about a window.

        The window ended n events before, and is another one, or none, on some other branch. Or the
        engine reports it with the last event: `within` may have decided about it before.
        """
        analysis = self.analysis
        streams = concrete_streams(self.starts.contexts, path, [[last], *branches])
        if streams is None:
            return None
        before, (final, *others) = streams
        events = [*before, *final]
        end = len(events) - 1 - n
        windows = replayed_windows(analysis.meaning, analysis.index, events) or []
        for window in windows:
            if window[1] != end:
                continue
            for other in others:
                later = replayed_windows(analysis.meaning, analysis.index, [*before, *other])
                if later is not None and window not in later:
                    return events
            if end in ends_reported_last(analysis.meaning, analysis.index, events):
                return events
        return None

    def _path_to(self, source: Place) -> list[Edge]:
        """Return a path on which a start begins and gets a candidate at a place."""
        starts = self.starts
        if self.window.until is None:
            return starts.path_to({source})[1]
        before = {
            place: edge
            for place in starts.graph
            for edge, after in starts.steps(place)
            if after == source and starts.ends(place[1], edge)
        }
        place, path = starts.path_to(before.keys())
        return [*path, before[place]]

    def _loop(self, place: Place) -> list[Edge]:
        first = list(self.going_on(place))
        loop = shortest(first, self.going_on, place.__eq__, self.starts.budget.check)
        assert loop is not None
        return loop[1]

    def changes(self, events: list[Event], continuations: list[list[Event]], n: int) -> bool:
        """Tell whether a window that ended n events ago is another one after a continuation."""
        analysis = self.analysis
        now = replayed_windows(analysis.meaning, analysis.index, events)
        later = replayed_windows(analysis.meaning, analysis.index, [*events, *continuations[0]])
        if now is None or later is None:
            return False
        return any(end + n < len(events) and (start, end) not in later for start, end in now)


def decision_delay(analysis: Analysis) -> Answer:
    """Return how long after its end a window is decided."""
    analysis.budget.renew()
    clauses, what = analysis.window.clauses, Quantity.DELAY
    try:
        return Delay(analysis).answer()
    except TooManyError:
        if clauses.prefers:
            return analysis.unknown(what, "there are too many places of starts to explore")
        reason = BY_THE_NEXT if clauses.until else _decided(0)
        return analysis.bounded(what, int(clauses.until), reason, exact=not clauses.until)


def _decided(events: int) -> str:
    if not events:
        return "a window is decided at its end"
    word = "event" if events == 1 else "events"
    return f"a window is decided at most {events:,} {word} after its end"
