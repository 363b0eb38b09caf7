"""How many starts can accumulate, open or held, where no clause limits them to one for each state.

If a cycle of contexts adds a start each time it is traversed, the number grows without bound. If
there is no such cycle, streams reach finitely many multisets of starts, and the largest one is the
bound. Where clauses or inexact regions make a cycle doubtful, a concrete stream that repeats the
same events certifies it, or the answer is "unknown".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice, product
from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity
from wex.analysis.counting.multiset import GrowingCycle, growing_cycle, vectors_of
from wex.analysis.counting.single import Pump, Starts
from wex.analysis.describe import repetition_in_words
from wex.analysis.graphs import TooManyError
from wex.analysis.rates import most_in_time
from wex.analysis.regions.typed import LOOSE
from wex.analysis.witness import (
    complete_events,
    concrete_streams,
    conforming_stream,
    held_starts,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence, Set

    from wex.analysis.answers import Answer
    from wex.analysis.counting.single import Place
    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.regions.families import Family
    from wex.analysis.regions.graph import Step
    from wex.analysis.verdicts import Analysis
    from wex.theory.evaluate import Event

MOST_PATHS = 8  # that may lead to a number of starts, until a stream along one of them shows it
MOST_CERTIFIED = 5  # cycles for which a certificate is tried
TIMES = (1, 2, 3)  # that a cycle is traversed in each round of a certificate
CONFIRMED = (3, 7)  # numbers of starts for which the definition confirms a certificate

MOST_SHOWN = 1_000  # starts of a stream that shows a bound by rates
PER_STEP = 100  # events that starts read, for one step of work
# Starts, a path and n → the events of a stream along the path, if it has n starts at its end.
PathReplay = Callable[["Starts", "Sequence[Edge]", int], "list[Event] | None"]


@dataclass(frozen=True)
class Certificate:
    """A cycle that adds a start each time, and streams that repeat it: n → their events, and a tail."""

    cycle: GrowingCycle
    stream: Callable[[int], tuple[list[Event], list[Event]]]


@dataclass(frozen=True)
class StartCount:
    """The number of open or of held starts: their places, and how a path becomes a stream with n."""

    analysis: Analysis
    what: Quantity
    starts: Starts
    places: Callable[[Starts], Set[Place]]
    faithful: bool  # the tables express all clauses
    clears: bool  # a window that ends removes the starts before it
    aged: bool  # and the tables do not tell which starts are too old for one
    replay: PathReplay

    def answer(self) -> Answer:
        """Return how large the number can become."""
        analysis, starts = self.analysis, self.starts
        clauses = starts.window.clauses
        limit = clauses.within_events if not starts.window.counted else None
        timed = most_in_time(analysis.meaning, starts.window)
        if timed is not None:
            limit = timed if limit is None else min(limit, timed)
        try:
            cycles = self._growing_cycles()
            vectors = (
                None
                if cycles
                else vectors_of(
                    starts, self.places(starts), analysis.budget, clears=self.clears, aged=self.aged
                )
            )
        except TooManyError:
            analysis.gave_up = True
            return analysis.by_life(self.what, starts.window)
        exact_regions = starts.contexts.regions.exact
        if vectors is not None:
            bound = vectors.most if limit is None else min(limit, vectors.most)
            return analysis.bounded(
                self.what,
                bound,
                _at_most(bound),
                exact=exact_regions and self.faithful,
                builder=lambda n: self._along_some(vectors.paths_to_count(n), n),
            )
        if clauses.within_time is not None:
            return self._in_time()
        if limit is not None:
            return analysis.limited(self.what, limit)
        if exact_regions and self.faithful:
            return self._unbounded(starts, cycles[0])
        if self.faithful:
            for cycle in cycles:
                certified = self._certified(cycle)
                if certified is not None:
                    return certified
        return analysis.unknown(
            self.what,
            f"{self._repetition(cycles[0])} would add one, but {analysis.why_inexact()}",
            lambda n: self.replay(starts, cycles[0].path(n), n),
        )

    def _along_some(self, paths: Iterator[list[Edge]], n: int) -> list[Event] | None:
        """Return a stream with n starts along one of the first paths that lead to so many."""
        for path in islice(paths, MOST_PATHS):
            events = self.replay(self.starts, path, n)
            if events is not None:
                return events
        return None

    def _growing_cycles(self) -> list[GrowingCycle]:
        """Return cycles that add a start each time; none if the number has a bound."""
        starts, places = self.starts, self.places(self.starts)
        if self.clears:
            cycle = growing_cycle(starts, places, self.analysis.budget, aged=self.aged)
            return [cycle] if cycle else []
        if starts.window.longest_life is not None:
            return []
        return [
            _cycle_of(starts.contexts, pump)
            for pump in islice(starts.pumps(places), MOST_CERTIFIED)
        ]

    def _repetition(self, cycle: GrowingCycle) -> str:
        return repetition_in_words(self.analysis.meaning, self.starts.window, cycle.edges)

    def _unbounded(self, starts: Starts, cycle: GrowingCycle) -> Answer:
        return self.analysis.unbounded(
            self.what,
            Growth.LINEAR,
            f"{self._repetition(cycle)} adds one",
            lambda n: self.replay(starts, cycle.path(n), n),
        )

    def _in_time(self) -> Answer:
        """Return the answer where only `within DURATION` may keep starts from accumulating.

        It does not if they accumulate at one moment; it does if there is a least time between events.
        """
        analysis = self.analysis
        starts = Starts(analysis.timed(self.starts.window), self.starts.window)
        cycle = None
        if starts.contexts.regions.exact and not starts.window.clauses.running:
            cycle = self._instant_cycle(starts)
        # The cycle takes no time: if it works twice, it works any number of times.
        if cycle is not None and self.replay(starts, cycle.path(2), 2) is not None:
            return self._unbounded(starts, cycle)
        most = analysis.most_in_time(starts.window)
        if most is not None:
            reason = f"at most {most:,} events fit in the time of `within`"
            if starts.window.compiled.window.within is None:
                reason = f"at most {most:,} events fit in the time that a predicate allows"
            exact = most <= MOST_SHOWN and self._in_bursts(most) is not None
            return analysis.bounded(self.what, most, reason, exact=exact, builder=self._in_bursts)
        return analysis.unknown(self.what, analysis.why_inexact())

    def _instant_cycle(self, starts: Starts) -> GrowingCycle | None:
        """Return a cycle that adds starts and takes no time, if there is one; no window clears them on it."""
        places = self.places(starts)
        if self.clears:
            return growing_cycle(starts, places, self.analysis.budget, same_moment=True)
        pump = next(starts.pumps(places, same_moment=True), None)
        return None if pump is None else _cycle_of(starts.contexts, pump)

    def _in_bursts(self, n: int) -> list[Event] | None:
        """Return a stream with n held starts, whose events are as near to each other as rates allow."""
        analysis, contexts = self.analysis, self.starts.contexts
        clauses, rates = self.starts.window.clauses, contexts.query.rates
        duration, free = clauses.within_time, not (contexts.query.timed or clauses.running)
        if self.what is Quantity.OPEN or duration is None or not (rates.limits and free):
            return None
        pumps = list(islice(self.starts.pumps(self.places(self.starts)), MOST_CERTIFIED))
        if not pumps:
            return None
        densest = min(pumps, key=lambda pump: len(pump.cycle))
        streams = concrete_streams(contexts, _cycle_of(contexts, densest).path(n))
        if streams is None:
            return None
        events = rates.in_bursts(streams[0], duration)
        analysis.budget.check(steps=1 + n * n // PER_STEP)
        if conforming_stream(analysis.meaning, events) is None:
            return None
        held = held_starts(analysis.meaning, analysis.index, events)
        return events if len(held) >= n else None

    def _certified(self, cycle: GrowingCycle) -> Answer | None:
        """Return "unbounded" if streams that repeat the cycle any number of times are found."""
        analysis, counts_open = self.analysis, self.what is Quantity.OPEN
        if self.starts.contexts.query.timed:
            return None  # the same events again may be too many in a time
        tail: Sequence[Edge] = ()
        if counts_open and cycle.states:
            tail = self.starts.completion((cycle.edges[-1].to, cycle.states[0]))
        certificate = self._repeating(cycle, tail)
        loose = self.starts.contexts.regions.method == LOOSE  # then other graphs are asked
        if certificate is None and not loose:
            certificate = self._rising(cycle, tail)
        if certificate is None:
            return None

        def build(n: int) -> list[Event] | None:
            events, after = certificate.stream(n)
            if counts_open:
                return analysis.with_open(events, [after], n)
            return analysis.with_held(events, n)

        if any(build(n) is None for n in CONFIRMED):
            return None
        if counts_open:
            analysis.certificate = certificate
        reason = f"{self._repetition(cycle)} adds one"
        return analysis.unbounded(self.what, Growth.LINEAR, reason, build)

    def _repeating(self, cycle: GrowingCycle, tail: Sequence[Edge]) -> Certificate | None:
        """Return a certificate that repeats the very same events."""
        contexts = self.starts.contexts
        for steps in _traversed(cycle, tail):
            if (streams := contexts.regions.recurring(*steps)) is not None:
                return _same_events(contexts, cycle, *streams)
        return None

    def _rising(self, cycle: GrowingCycle, tail: Sequence[Edge]) -> Certificate | None:
        """Return a certificate in which numbers rise or fall from round to round."""
        contexts = self.starts.contexts
        for steps in _traversed(cycle, tail):
            if (family := contexts.regions.family(*steps)) is not None:
                return _certificate_of(contexts, cycle, family)
        return None


def _traversed(
    cycle: GrowingCycle, tail: Sequence[Edge]
) -> Iterator[tuple[list[Step], list[Step], list[Step]]]:
    """Yield the steps before, on and after a cycle that is traversed once or more in each round."""
    # The memory before the cycle is that after it: often only once it has been traversed.
    stems = (cycle.stem, (*cycle.stem, *cycle.edges))
    for stem, times in product(stems, TIMES):
        yield _steps_of(stem), _steps_of(cycle.edges * times), _steps_of(tail)


def _same_events(contexts: Contexts, cycle: GrowingCycle, *streams: Sequence[Event]) -> Certificate:
    # The columns that may rise stay as they are: a repeated event has no larger value there.
    before, repeated, after = (
        [complete_events(contexts.query, [event])[0] for event in events] for events in streams
    )
    return Certificate(cycle, lambda n: ([*before, *repeated * n], after))


def _certificate_of(contexts: Contexts, cycle: GrowingCycle, family: Family) -> Certificate:
    def stream(n: int) -> tuple[list[Event], list[Event]]:
        events, after = family.stream(max(n, family.least))
        query = contexts.query
        return complete_events(query, events), complete_events(query, after, len(events))

    return Certificate(cycle, stream)


def _steps_of(path: Sequence[Edge]) -> list[Step]:
    return [edge.step for edge in path]


def _cycle_of(contexts: Contexts, pump: Pump) -> GrowingCycle:
    return GrowingCycle(tuple(contexts.path_to(pump.context)), pump.cycle, (pump.state,))


def _at_most(bound: int) -> str:
    if bound == 1:
        return "a start ends or fails before the next one begins"
    return f"starts end or fail before there are more than {bound:,} at once"
