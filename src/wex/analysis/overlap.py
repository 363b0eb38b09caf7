"""How many windows can share one position."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from wex.analysis.counting.multiset import Pile, most_shared, repeated, vectors_of
from wex.analysis.counting.single import Pump, Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.window_tables import shared_at_most, steady
from wex.analysis.witness import concrete, replayed
from wex.automata.explore import backwards

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from wex.analysis.answers import Answer, Growth, WitnessBuilder
    from wex.analysis.counting.single import Place
    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.verdicts import Analysis
    from wex.theory.evaluate import Event


MOST_EVENTS = 2_000  # of a stream that shows an overlap


class Overlap:
    """The answer about windows of an analysis, which knows about starts already."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self.meaning, self.at = analysis.meaning, analysis.at
        self.subject, self.contexts, self.starts = (
            analysis.subject,
            analysis.contexts,
            analysis.starts,
        )

    def answer(self, what: str) -> Answer:
        """Return how many windows can share one position."""
        clauses = self.subject.clauses
        by_life = self._by_long_life(what)
        if by_life is not None:
            return by_life
        if not self.starts.alive:
            return self.analysis.bounded(what, 0, "no stream has such a window", exact=True)
        if clauses.keep == "disjoint" and not clauses.having:
            reason = "`keep disjoint` reports windows that share nothing"
            return self.analysis.bounded(
                what, 1, reason, exact=self.analysis.exact, way=self._one_window
            )
        longest = clauses.keep == "longest" and not clauses.having
        circles = self.starts.endless() & self.starts.alive
        if circles or (not longest and self.analysis.open.verdict != "bounded"):
            return self._overlapping(what, circles, longest=longest)
        return self._shared(what, longest=longest)

    def _by_long_life(self, what: str) -> Answer | None:
        """Return the answer by arithmetic on the automaton, where lives are long and it is exact."""
        subject = self.subject
        life = subject.longest_life
        if life is None or not subject.long_lived or subject.until is not None:
            return None
        if subject.in_order or not self.analysis.exact:
            return None
        bound = shared_at_most(subject.successors, subject.first_states, subject.final)
        whole = 2 * life  # events, after which the position in the middle has all it can have
        run = next(
            (run for run in steady(self.starts) if run.shared(subject.final, whole) == bound), None
        )
        if bound is None or run is None:
            return None

        def way(n: int) -> list[Event] | None:
            events = bisect_left(range(whole), n, key=lambda at: run.shared(subject.final, at))
            if events > MOST_EVENTS:
                raise TooManyError
            return self._along(self.contexts, run.path(events))(n)

        reason = f"of the starts up to a position, {bound:,} {_windows(bound)} can come at most"
        return self.analysis.bounded(what, bound, reason, exact=True, way=way)

    def _one_window(self, n: int) -> list[Event] | None:
        place, path = self._first_place(self.starts, self.starts.alive)
        found = concrete(self.contexts, [*path, *self.starts.completion(place)])
        return self._replayed_shared(found[0], n) if found else None

    @staticmethod
    def _first_place(starts: Starts, goals: Set[Place]) -> tuple[Place, list[Edge]]:
        found = starts.way_to(goals)
        assert found is not None
        return found

    def _shared(self, what: str, *, longest: bool) -> Answer:
        """Return the answer where only finitely many windows end from a position on."""
        weigh = _any if longest else sum
        if self.analysis.gave_up and self.subject.longest_life is not None:
            raise TooManyError  # as many combinations again
        try:
            vectors = vectors_of(
                self.starts, self.starts.alive, self.analysis.budget, clipped=longest
            )
            found = most_shared(self.starts, vectors, self.analysis.budget, weigh)
        except TooManyError:
            if self.subject.longest_life is not None:
                raise
            return self._overlap_of_open(
                what, "there are more combinations of windows than were looked at"
            )
        assert found is not None
        bound, path = found
        reason = f"of the starts up to a position, {bound} {_windows(bound)} can come at most"
        return self.analysis.bounded(
            what, bound, reason, exact=self.analysis.exact, way=self._along(self.contexts, path)
        )

    def _along(self, contexts: Contexts, path: Sequence[Edge]) -> WitnessBuilder:
        def way(n: int) -> list[Event] | None:
            found = concrete(contexts, path)
            return self._replayed_shared(found[0], n) if found else None

        return way

    def _replayed_shared(self, events: list[Event], n: int) -> list[Event] | None:
        windows = replayed(self.meaning, self.at, events) or []
        most = max((sum(b <= p <= e for b, e in windows) for p in range(len(events))), default=0)
        return events if most >= n else None

    def _overlapping(self, what: str, circles: Set[Place], *, longest: bool) -> Answer:
        """Return the answer where starts pile up, or one start has endlessly many windows."""
        starts, timed = self.starts, self.subject.clauses.within_time is not None
        if timed:
            starts = Starts(self.analysis.timed_contexts, self.subject)
            circles = starts.endless(same_moment=True) & starts.alive
        faithful = self.subject.faithful or (timed and not self.subject.clauses.having)
        if (
            not starts.contexts.space.exact
            or not faithful
            or (self.subject.clauses.within_events is not None and not self.subject.counted)
        ):
            return self._overlap_of_open(what)
        near = backwards(starts.graph.items(), circles) & starts.alive
        pump = None if longest else next(starts.pumps(near, same_moment=timed), None)
        if pump is not None:
            reason = "starts pile up, and each of them has endlessly many windows"
            return self._checked(
                what, "quadratic", reason, self._pumped(starts, pump, circles, timed)
            )
        pump = None if longest else next(starts.pumps(starts.alive, same_moment=timed), None)
        if pump is not None:
            reason = "starts pile up, and they can all end together"
            return self._checked(what, "linear", reason, self._pumped(starts, pump, set(), timed))
        if (
            timed
            and self.subject.clauses.keep == "shortest"
            and self.analysis.open.bound is not None
        ):
            return self._overlap_of_open(what)
        if (
            timed
            and (most := self.analysis.most_in_time()) is not None
            and self.analysis.open.bound is not None
        ):
            reason = "the least time between events bounds starts and ends in `within`"
            return self.analysis.bounded(what, self.analysis.open.bound * most, reason, exact=False)
        if circles:
            reason = "one start can have endlessly many windows"
            return self._checked(what, "linear", reason, self._circling(starts, circles, timed))
        return self.analysis.unknown(what, self.analysis.why_inexact())

    def _checked(self, what: str, growth: Growth, reason: str, way: WitnessBuilder) -> Answer:
        """Return "unbounded", after a look at a small stream where time decides, too."""
        if self.subject.clauses.within_time is not None and way(2) is None:
            return self.analysis.unknown(what, self.analysis.why_inexact())
        return self.analysis.unbounded(what, growth, reason, way)

    def _overlap_of_open(self, what: str, why: str | None = None) -> Answer:
        """Return the answer if all that is known is how many starts can be open."""
        clauses, bound = self.subject.clauses, self.analysis.open.bound
        if clauses.keep == "shortest" and not clauses.having and bound is not None:
            reason = "with `keep shortest` a start that is open has one window"
            return self.analysis.bounded(what, bound, reason, exact=False)
        if clauses.within_events is not None and bound is not None:
            reason = "`within` bounds the starts that are open and the ends of each"
            return self.analysis.bounded(what, bound * clauses.within_events, reason, exact=False)
        if self.analysis.open.verdict == "unbounded" and self.analysis.certificate is not None:
            found, stem, cycle, rest = self.analysis.certificate
            growth: Growth = "linear"
            reason = "starts pile up, and they can all end together"
            if self._grows_fast(found):
                growth, reason = "quadratic", "starts pile up, and each has endlessly many windows"
            return self.analysis.unbounded(
                what,
                growth,
                reason,
                lambda n: self._replayed_shared([*stem, *cycle * n, *rest], n),
            )
        return self.analysis.unknown(what, why or self.analysis.why_inexact())

    def _grows_fast(self, found: Pile) -> bool:
        """Tell whether each of the starts that pile up has endlessly many windows."""
        if any(self._ends_on(found.cycle, state) for state in found.states):
            return True
        end = found.cycle[-1].to
        circles = self.starts.endless() & self.starts.alive
        for state in found.states:
            if (end, state) not in backwards(self.starts.graph.items(), circles):
                continue
            goal, onwards = self.starts.between((end, state), circles)
            loop = self.starts.loop(goal)
            path = [*repeated(found, 3), *onwards, *loop * 3, *self.starts.completion(goal)]
            if self._along(self.contexts, path)(9) is not None:
                return True
        return False

    def _ends_on(self, cycle: Sequence[Edge], state: int) -> bool:
        """Tell whether a start has a window each time a cycle is gone."""
        subject = self.subject
        for edge in cycle:
            if self.starts.ends(state, edge):
                return True
            state = self.starts.moved(state, edge)
            if subject.until is None and subject.final[state]:
                return True
        return False

    def _pumped(
        self, starts: Starts, pump: Pump, circles: Set[Place], timed: bool
    ) -> WitnessBuilder:
        stem = starts.contexts.path_to(pump.context)
        place = (pump.context, pump.state)
        if circles:
            goal, onwards = starts.between(place, circles)
            loop = starts.loop(goal, same_moment=timed)
            onwards_end = starts.completion(goal)
        else:
            onwards, loop, onwards_end = starts.completion(place), [], []

        def way(n: int) -> list[Event] | None:
            rounds = n if not circles else next(r for r in range(1, n + 1) if r * r >= n)
            path = [*stem, *pump.cycle * rounds, *onwards, *loop * rounds, *onwards_end]
            return self._along(starts.contexts, path)(n)

        return way

    def _circling(self, starts: Starts, circles: Set[Place], timed: bool) -> WitnessBuilder:
        place, path = self._first_place(starts, circles)
        loop, end = starts.loop(place, same_moment=timed), starts.completion(place)

        def way(n: int) -> list[Event] | None:
            return self._along(starts.contexts, [*path, *loop * n, *end])(n)

        return way


def _windows(count: int) -> str:
    return "window" if count == 1 else "windows"


def _any(counts: list[int]) -> int:
    return 1 if counts else 0
