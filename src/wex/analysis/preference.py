"""Windows by preference: how long after its end a window is decided, and what `keep leftmost` holds.

A window is decided when no better way of its start is left. The delay is a path through the places
of starts: from one where a window becomes the candidate, along places where no other one does. A
cycle of such places lets a window wait without bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity
from wex.analysis.graphs import TooManyError, cyclic
from wex.analysis.lifetimes import DEAD, heaviest
from wex.analysis.witness import concrete_streams, replayed_windows
from wex.automata.explore import Exploration, shortest
from wex.automata.preference import DEAD as DEAD_WAYS
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer
    from wex.analysis.counting.single import Place, Starts
    from wex.analysis.regions.contexts import Edge
    from wex.analysis.verdicts import Analysis
    from wex.theory.evaluate import Event

Source = tuple[int, int, int]  # a context, the state of an earlier start, that of a later one


class Delay:
    """The delay until a window is decided, for a window by preference."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.starts: Starts = analysis.planned_starts
        self.window = self.starts.window
        self.clauses = self.window.clauses

    def answer(self) -> Answer:
        """Return how many events after its end a window is decided at the latest."""
        clauses, analysis = self.clauses, self.analysis
        most = self.most()
        if most is not None and clauses.keep == "leftmost" and self.waits_for_earlier():
            life = self.window.longest_life
            most = most if life is None and clauses.within_events is not None else life
        if clauses.within_events is not None:
            most = clauses.within_events if most is None else min(most, clauses.within_events)
        if most is not None:
            exact = (
                clauses.keep == "preferred"
                and analysis.contexts.regions.exact
                and clauses.limit is None
                and not (clauses.having or clauses.running)
            )
            return analysis.bounded(Quantity.DELAY, most, _decided(most), exact=exact and not most)
        if clauses.within_time is not None:
            events = analysis.most_in_time()
            if events is not None:
                return analysis.bounded(Quantity.DELAY, events, _decided(events), exact=False)
            return analysis.unknown(
                Quantity.DELAY, "any number of events may come in the time of `within`"
            )
        if clauses.having:
            return analysis.unknown(Quantity.DELAY, "`having` may deny any window")
        if clauses.running:
            return analysis.unknown(Quantity.DELAY, analysis.why_inexact())
        if self.most() is not None:
            return analysis.unknown(
                Quantity.DELAY, "a window may wait for an earlier start that is not decided"
            )
        with_cycle = analysis.contexts.regions.exact and self._waiting(2) is not None
        if not with_cycle:
            reason = "a window may wait without bound, but no stream was found that shows it"
            return analysis.unknown(Quantity.DELAY, reason)
        reason = "a window can wait without bound for a better one"
        return analysis.unbounded(Quantity.DELAY, Growth.LINEAR, reason, self._waiting)

    def most(self) -> int | None:
        """Return the delay by the ways of one start alone, or None if it has no bound."""
        if self.clauses.running and self._begins_with_windows():
            return 1  # the next event makes a longer window, or decides
        if self.clauses.having or self.clauses.running:
            return self.window.longest_life  # any window may be the candidate
        numbers = {place: number for number, place in enumerate(self.starts.graph)}
        successors = [
            {numbers[after] for _, after in self._going_on(place)} for place in self.starts.graph
        ]
        first = {numbers[place] for place in self._candidates()}
        waiting = heaviest(successors, first, lambda _: 1)
        if waiting is None or self.window.until is None:
            return waiting
        return waiting + 1  # the event after a window decides whether it is one

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

    def _going_on(self, place: Place) -> Iterator[tuple[Edge, Place]]:
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
            {place: [after for _, after in self._going_on(place)] for place in starts.graph}
        )
        for source in dict.fromkeys(self._candidates()):
            route = shortest(
                [(None, source)], self._going_on, on_cycle.__contains__, starts.budget.check
            )
            if route is None:
                continue
            place, onward = route
            path = [*self._path_to(source), *onward]
            loop = self._loop(place)
            path += loop * -(-n // len(loop))
            streams = concrete_streams(starts.contexts, path, [starts.completion(place)])
            if streams is not None and self._changes(*streams, n):
                return streams[0]
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
        first = list(self._going_on(place))
        loop = shortest(first, self._going_on, place.__eq__, self.starts.budget.check)
        assert loop is not None
        return loop[1]

    def _changes(self, events: list[Event], continuations: list[list[Event]], n: int) -> bool:
        """Tell whether a window that ended n events ago is another one after a continuation."""
        analysis = self.analysis
        now = replayed_windows(analysis.meaning, analysis.index, events)
        later = replayed_windows(analysis.meaning, analysis.index, [*events, *continuations[0]])
        if now is None or later is None:
            return False
        return any(end + n < len(events) and (start, end) not in later for start, end in now)

    # --- `keep leftmost`

    def waits_for_earlier(self) -> bool:
        """Tell whether a start may have a window while an earlier one has none and is undecided.

        A sound answer: true if that cannot be excluded.
        """
        starts, window = self.starts, self.window
        if self._begins_with_windows():
            return False
        if self.clauses.having or self.clauses.running or self.clauses.limit is not None:
            return True
        nodes: Exploration[Source, None] = Exploration(check=starts.budget.check)
        for row in starts.contexts.edges:
            for edge in row:
                born = starts.born(edge)
                if born != DEAD and not (window.until is None and window.final[born]):
                    nodes[edge.to, born, DEAD]
        for context, earlier, later in nodes:
            for edge in starts.contexts.edges[context]:
                if starts.ends(earlier, edge):
                    continue  # the earlier start has a window, too
                moved = starts.moved(earlier, edge)
                if moved == DEAD:
                    continue
                if later != DEAD and starts.ends(later, edge):
                    return True
                if window.until is None and window.final[moved]:
                    continue
                following = [starts.born(edge)] if later == DEAD else []
                following.append(DEAD if later == DEAD else starts.moved(later, edge))
                for after in following:
                    if after == moved or (after == DEAD and later != DEAD):
                        continue  # the same windows from now on, or none
                    if after != DEAD and window.until is None and window.final[after]:
                        return True
                    nodes[edge.to, moved, after]
        return False

    def held_by_leftmost(self) -> Answer:
        """Return how many starts `keep leftmost` holds: undecided ones, and windows that wait."""
        analysis, clauses, window = self.analysis, self.clauses, self.window
        what = Quantity.HELD
        if not self.starts.held:
            return analysis.bounded(what, 0, "no start ever begins", exact=True)
        if clauses.within_events is not None:
            return analysis.limited(what, clauses.within_events)
        if clauses.within_time is not None:
            events = analysis.most_in_time()
            if events is not None:
                reason = f"at most {events:,} events fit in the time of `within`"
                return analysis.bounded(what, events, reason, exact=False)
        life = window.longest_life
        if life is not None:
            return analysis.by_life(what, window)
        if self._begins_with_windows():
            reason = "every beginning of a window is a window, so that later starts are skipped"
            return analysis.bounded(what, 1 + clauses.sharing, reason, exact=False)
        delay = self.most()
        if delay is None:
            reason = "windows may wait without bound for an earlier start that is not decided"
            return analysis.unknown(what, reason)
        if self.waits_for_earlier():
            reason = "a window may wait for an earlier start that has none yet"
            return analysis.unknown(what, reason)
        # Without a candidate one start for each state is held. With one, only starts after it are.
        states = len({state for _, state in self.starts.held})
        bound = max(states, delay + 1) + clauses.sharing
        reason = "with `keep leftmost` the earlier of two starts in the same state wins"
        return analysis.bounded(what, bound, reason, exact=False)

    def _begins_with_windows(self) -> bool:
        """Tell whether a start has a window with each of its events, as long as it is undecided."""
        preference = compile_window(self.analysis.meaning, self.analysis.index).preference
        if preference is None or self.clauses.until or self.clauses.having:
            return False
        ways = preference.ways
        reads = ~ways.accepts
        reads[DEAD_WAYS] = False
        after = ways.table[reads]
        return bool((ways.accepts[after] | (after == DEAD_WAYS)).all())


def decision_delay(analysis: Analysis) -> Answer | None:
    """Return how long after its end a window is decided; None if it is reported at once."""
    if not analysis.window.clauses.prefers:
        return None
    analysis.budget.renew()
    try:
        return Delay(analysis).answer()
    except TooManyError:
        return analysis.unknown(Quantity.DELAY, "there are too many places of starts to explore")


def _decided(events: int) -> str:
    if not events:
        return "a window is decided at its end"
    word = "event" if events == 1 else "events"
    return f"a window is decided at most {events:,} {word} after its end"
