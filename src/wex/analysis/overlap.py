"""The answer about overlap: how many windows can share one position."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity, Verdict
from wex.analysis.counting.multiset import GrowingCycle, most_shared, vectors_of
from wex.analysis.counting.single import Pump, Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.lifetimes import shared_at_most, steady_runs
from wex.analysis.repeated_events import (
    LINEAR_REASON,
    ONE_START_REASON,
    QUADRATIC_REASON,
    with_shared,
)
from wex.analysis.witness import concrete_streams
from wex.automata.explore import backwards

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from wex.analysis.answers import Answer, WitnessBuilder
    from wex.analysis.counting.single import Place
    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.verdicts import Analysis
    from wex.theory.evaluate import Event


MOST_EVENTS = 2_000  # of a stream that shows an overlap
TOO_MANY_WINDOWS = "there are too many combinations of windows to explore"


class Overlap:
    """The answer about windows, from an analysis that has counted starts already."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.window, self.contexts, self.starts = (
            analysis.window,
            analysis.contexts,
            analysis.starts,
        )

    def answer(self) -> Answer:
        """Return how many windows can share one position."""
        clauses = self.window.clauses
        if clauses.prefers:
            return self._by_preference()
        by_life = self._by_long_life()
        if by_life is not None:
            return by_life
        if not self.starts.alive:
            return self._bounded(0, "no stream has such a window", exact=True)
        if clauses.cuts:
            reason = "`keep disjoint` reports windows that do not overlap"
            return self._bounded(1, reason, exact=self.analysis.exact, builder=self._one_window)
        longest = clauses.oldest_wins and not clauses.cuts
        endless = self.starts.endless() & self.starts.alive
        if endless or (not longest and self.analysis.open.verdict is not Verdict.BOUNDED):
            return self._unlimited(endless, longest=longest)
        return self._by_counting(longest=longest)

    def _by_preference(self) -> Answer:
        """Return the answer for windows by preference: a start has one window at most."""
        clauses, opened = self.window.clauses, self.analysis.open
        if not self.starts.alive:
            return self._bounded(0, "no stream has such a window", exact=True)
        bounds: list[tuple[int, str]] = []
        if clauses.keep == "leftmost" and not clauses.resuming:
            reason = "`keep leftmost` reports windows that do not overlap"
            if clauses.sharing:
                events = "event" if clauses.sharing == 1 else "events"
                reason = f"a window shares at most {clauses.sharing:,} {events} with those after it"
            bounds.append((clauses.sharing + 1, reason))
        if opened.bound is not None:
            bounds.append((opened.bound, f"each of {opened.bound:,} open starts has one window"))
        if not bounds:
            return self.analysis.unknown(
                Quantity.OVERLAP, "it is not known how many open starts end in windows together"
            )
        bound, reason = min(bounds)
        exact = bound == 1 and self.analysis.contexts.regions.exact and not clauses.having
        exact = exact and clauses.within_time is None and not clauses.running
        return self._bounded(bound, reason, exact=exact, builder=self._one_window)

    def _bounded(
        self, bound: int, reason: str, *, exact: bool = False, builder: WitnessBuilder | None = None
    ) -> Answer:
        return self.analysis.bounded(Quantity.OVERLAP, bound, reason, exact=exact, builder=builder)

    def _by_long_life(self) -> Answer | None:
        """Return the exact answer by arithmetic on the automaton, where starts live long."""
        window = self.window
        life = window.longest_life
        if life is None or not window.long_lived or window.until is not None:
            return None
        if window.in_order or not self.analysis.exact:
            return None
        bound = shared_at_most(window.successors, window.first_states, window.final)
        whole = 2 * life  # events, after which the position in the middle has all its windows
        runs = steady_runs(self.starts)
        run = next((run for run in runs if run.shared(window.final, whole) == bound), None)
        if bound is None or run is None:
            return None

        def build(n: int) -> list[Event] | None:
            events = bisect_left(
                range(whole), n, key=lambda length: run.shared(window.final, length)
            )
            if events > MOST_EVENTS:
                raise TooManyError
            return self._along(self.contexts, run.path(events))(n)

        return self._bounded(bound, _at_most(bound), exact=True, builder=build)

    def _one_window(self, n: int) -> list[Event] | None:
        place, path = self.starts.path_to(self.starts.alive)
        return self._along(self.contexts, [*path, *self.starts.completion(place)])(n)

    def _by_counting(self, *, longest: bool) -> Answer:
        """Return the answer where finitely many windows can end from any position on."""
        weigh = _any if longest else sum
        if self.analysis.gave_up and self.window.longest_life is not None:
            raise TooManyError  # there are as many combinations as there were of starts
        try:
            vectors = vectors_of(
                self.starts, self.starts.alive, self.analysis.budget, clipped=longest
            )
            shared = most_shared(self.starts, vectors, self.analysis.budget, weigh)
        except TooManyError:
            if self.window.longest_life is not None:
                raise
            return self._from_open_starts(TOO_MANY_WINDOWS)
        assert shared is not None
        bound, path = shared
        builder = self._along(self.contexts, path)
        return self._bounded(bound, _at_most(bound), exact=self.analysis.exact, builder=builder)

    def _along(self, contexts: Contexts, path: Sequence[Edge]) -> WitnessBuilder:
        def build(n: int) -> list[Event] | None:
            streams = concrete_streams(contexts, path)
            return self._with_shared(streams[0], n) if streams else None

        return build

    def _with_shared(self, events: list[Event], n: int) -> list[Event] | None:
        return with_shared(self.analysis, events, n)

    def _unlimited(self, endless: Set[Place], *, longest: bool) -> Answer:
        """Return the answer where starts accumulate, or one start has any number of windows."""
        clauses = self.window.clauses
        starts, timed = self.starts, clauses.within_time is not None
        if timed:
            starts = Starts(self.analysis.timed_contexts, self.window)
            endless = starts.endless(same_moment=True) & starts.alive
        faithful = self.window.faithful or (timed and not (clauses.having or clauses.running))
        uncounted = clauses.within_events is not None and not self.window.counted
        if not starts.contexts.regions.exact or not faithful or uncounted:
            return self._from_open_starts()
        growing = self._growing(starts, endless, longest=longest)
        if growing is not None:
            return growing
        most_open = self.analysis.open.bound
        if timed and clauses.ends_after_first and most_open is not None:
            return self._from_open_starts()
        most = self.analysis.most_in_time(self.window) if timed else None
        if most is not None and most_open is not None:
            reason = "the events in the time of `within` bound the starts and ends that it allows"
            return self._bounded(_in_windows_of(most, most_open), reason)
        if endless:
            builder = self._repeating(starts, endless)
            return self._unbounded(Growth.LINEAR, ONE_START_REASON, builder)
        return self._unknown()

    def _growing(self, starts: Starts, endless: Set[Place], *, longest: bool) -> Answer | None:
        """Return "unbounded" if a cycle accumulates starts that are all reported."""
        if longest:
            return None
        timed = self.window.clauses.within_time is not None
        pump = self._quadratic_pump(starts, endless)
        if pump is not None:
            builder = self._pumping(starts, pump, endless)
            return self._unbounded(Growth.QUADRATIC, QUADRATIC_REASON, builder)
        pump = next(starts.pumps(starts.alive, same_moment=timed), None)
        if pump is not None:
            return self._unbounded(Growth.LINEAR, LINEAR_REASON, self._pumping(starts, pump, set()))
        return None

    def _quadratic_pump(self, starts: Starts, endless: Set[Place]) -> Pump | None:
        """Return a cycle that accumulates starts which can have an unbounded number of windows."""
        timed = self.window.clauses.within_time is not None
        near = backwards(starts.graph.items(), endless) & starts.alive
        return next(starts.pumps(near, same_moment=timed), None)

    def may_be_quadratic(self) -> bool:
        """Tell whether the regions allow quadratic growth, though some paths may be those of no stream."""
        self.analysis.budget.renew()
        try:
            endless = self.starts.endless() & self.starts.alive
            return self._quadratic_pump(self.starts, endless) is not None
        except TooManyError:
            return True

    def _unbounded(self, growth: Growth, reason: str, builder: WitnessBuilder) -> Answer:
        """Return "unbounded"; with `within DURATION` only if a small stream confirms it."""
        if self.window.clauses.within_time is not None and builder(2) is None:
            return self._unknown()
        return self.analysis.unbounded(Quantity.OVERLAP, growth, reason, builder)

    def _unknown(self, reason: str | None = None) -> Answer:
        return self.analysis.unknown(Quantity.OVERLAP, reason or self.analysis.why_inexact())

    def _from_open_starts(self, why: str | None = None) -> Answer:
        """Return the answer if only the number of open starts is known."""
        clauses, bound = self.window.clauses, self.analysis.open.bound
        if clauses.ends_after_first and bound is not None:
            return self._bounded(bound, "with `keep shortest` each open start has one window")
        if clauses.within_events is not None and bound is not None:
            reason = "`within` bounds the open starts and the ends of each"
            return self._bounded(_in_windows_of(clauses.within_events, bound), reason)
        if clauses.within_time is not None and bound is not None:
            most = self.analysis.most_in_time(self.window)
            if most is not None:
                reason = "the events in the time of `within` bound the starts and their ends"
                return self._bounded(_in_windows_of(most, bound), reason)
        unbounded = self.analysis.open.verdict is Verdict.UNBOUNDED
        if unbounded and self.analysis.certificate is not None:
            certificate = self.analysis.certificate
            growth, reason = Growth.LINEAR, LINEAR_REASON
            if self._is_quadratic(certificate.cycle):
                growth, reason = Growth.QUADRATIC, QUADRATIC_REASON
            return self.analysis.unbounded(
                Quantity.OVERLAP,
                growth,
                reason,
                lambda n: self._with_shared(list(chain(*certificate.stream(n))), n),
            )
        return self._unknown(why)

    def _is_quadratic(self, cycle: GrowingCycle) -> bool:
        """Tell whether each start that a cycle adds has an unbounded number of windows."""
        if any(self._ends_on(cycle.edges, state) for state in cycle.states):
            return True
        context = cycle.edges[-1].to
        endless = self.starts.endless() & self.starts.alive
        near = backwards(self.starts.graph.items(), endless)
        for state in cycle.states:
            if (context, state) not in near:
                continue
            goal, onwards = self.starts.between((context, state), endless)
            loop = self.starts.loop(goal)
            path = [*cycle.path(3), *onwards, *loop * 3, *self.starts.completion(goal)]
            if self._along(self.contexts, path)(9) is not None:
                return True
        return False

    def _ends_on(self, cycle: Sequence[Edge], state: int) -> bool:
        """Tell whether a start has a window each time a cycle is traversed."""
        window = self.window
        for edge in cycle:
            if self.starts.ends(state, edge):
                return True
            state = self.starts.moved(state, edge)
            if window.until is None and window.final[state]:
                return True
        return False

    def _pumping(self, starts: Starts, pump: Pump, endless: Set[Place]) -> WitnessBuilder:
        """Return the builder of streams that repeat a pump, and then a loop on which windows end."""
        stem = starts.contexts.path_to(pump.context)
        place = (pump.context, pump.state)
        onwards: list[Edge] = []
        loop: list[Edge] = []
        if endless:
            place, onwards = starts.between(place, endless)
            loop = starts.loop(place, same_moment=self.window.clauses.within_time is not None)
        end = starts.completion(place)

        def build(n: int) -> list[Event] | None:
            rounds = n if not endless else next(r for r in range(1, n + 1) if r * r >= n)
            path = [*stem, *pump.cycle * rounds, *onwards, *loop * rounds, *end]
            return self._along(starts.contexts, path)(n)

        return build

    def _repeating(self, starts: Starts, endless: Set[Place]) -> WitnessBuilder:
        """Return the builder of streams that repeat a loop on which windows of one start end."""
        place, path = starts.path_to(endless)
        loop = starts.loop(place, same_moment=self.window.clauses.within_time is not None)
        end = starts.completion(place)

        def build(n: int) -> list[Event] | None:
            return self._along(starts.contexts, [*path, *loop * n, *end])(n)

        return build


def _in_windows_of(events: int, starts: int) -> int:
    """Return how many windows of at most so many events share a position, if so many starts are open.

    A start i events before the position has events - i ends at the position or later.
    """
    near = min(starts, events)
    return near * (2 * events - near + 1) // 2


def _at_most(bound: int) -> str:
    windows = "window that ends" if bound == 1 else "windows that end"
    return f"the starts up to a position have at most {bound:,} {windows} there or later"


def _any(counts: list[int]) -> int:
    return 1 if counts else 0
