"""The three answers about a window: open starts, held starts, windows that share a position.

Each answer is first computed on the automata. Where clauses or inexact regions leave it undecided,
the analysis falls back to a sound bound, then to a certificate, then to "unknown".
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from wex.analysis.answers import Answer, Growth, Quantity, Verdict
from wex.analysis.counting.multiset import GrowingCycle, growing_cycle, vector_after, vectors_of
from wex.analysis.counting.ordered import StartLists
from wex.analysis.counting.single import Pump, Starts
from wex.analysis.describe import repetition_in_words
from wex.analysis.graphs import TooManyError
from wex.analysis.lifetimes import SteadyRun, steady_runs
from wex.analysis.overlap import TOO_MANY_WINDOWS, Overlap
from wex.analysis.regions.contexts import contexts_of
from wex.analysis.window_tables import analysed_window
from wex.analysis.witness import complete_events, concrete_streams, held_starts, replayed_windows
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from wex.analysis.answers import WitnessBuilder
    from wex.analysis.counting.single import Place
    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.regions.graph import Budget
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning
    from wex.theory.evaluate import Event

MOST_CERTIFIED = 5  # cycles for which a certificate is tried
TOO_MANY_STARTS = "there are too many combinations of starts to explore"
# Starts, a path and n → the events of a stream along the path, if it has n starts at its end.
PathReplay = Callable[["Starts", "Sequence[Edge]", int], "list[Event] | None"]


@dataclass(frozen=True)
class Counting:
    """Which starts are counted, in which places, and how a path becomes a stream that shows n."""

    what: Quantity
    starts: Starts
    places: Callable[[Starts], Set[Place]]
    faithful: bool  # the tables express all clauses
    clears: bool  # a window that ends removes the starts before it
    replay: PathReplay


class Analysis:
    """The analysis of one window of a spec."""

    def __init__(self, meaning: Meaning, index: int, budget: Budget) -> None:
        self.meaning = meaning
        self.index = index
        self.budget = budget
        self.began = time.monotonic()
        self.window = analysed_window(meaning, index)
        self._contexts: Contexts | None = None
        with suppress(TooManyError):
            self._contexts = contexts_of([meaning], [self.window], budget)
        self.gave_up = False  # there were too many combinations of starts
        # A cycle that can be repeated with the same events: the events before, on and after it.
        self.certificate: tuple[GrowingCycle, list[Event], list[Event], list[Event]] | None = None

    @property
    def contexts(self) -> Contexts:
        """Return the contexts of the window; raise TooManyError if there are too many."""
        if self._contexts is None:
            raise TooManyError
        return self._contexts

    @property
    def regions(self) -> tuple[int, str]:
        """Return the number of regions, and the method that found them."""
        regions = None if self._contexts is None else self._contexts.regions
        return (0, "none") if regions is None else (len(regions.edges), regions.method)

    @cached_property
    def starts(self) -> Starts:
        """Return the starts of the window, in the contexts where they can be."""
        return Starts(self.contexts, self.window)

    @cached_property
    def planned_window(self) -> AnalysedWindow:
        """Return the window as a plan runs it, which never looks ahead."""
        if self.window.clauses.within_events is None and not self.window.compiled.window.having:
            return self.window  # no clause needs to look ahead
        return analysed_window(self.meaning, self.index, planned=True)

    @cached_property
    def planned_starts(self) -> Starts:
        """Return the starts that a plan holds."""
        if self.planned_window is self.window:
            return self.starts
        return Starts(self.contexts, self.planned_window)

    @cached_property
    def timed_contexts(self) -> Contexts:
        """Return contexts whose edges also tell whether two events have the same time."""
        return contexts_of([self.meaning], [self.window], self.budget, moments=True)

    @property
    def exact(self) -> bool:
        """Tell whether counting on the automata gives exact numbers of windows."""
        return self.contexts.regions.exact and self.window.faithful

    # --- Answers

    def bounded(
        self,
        what: Quantity,
        bound: int,
        reason: str,
        *,
        exact: bool,
        builder: WitnessBuilder | None = None,
    ) -> Answer:
        """Return the answer that a quantity has an upper bound."""
        return self._answer(what, Verdict.BOUNDED, bound, reason, exact=exact, builder=builder)

    def unbounded(
        self, what: Quantity, growth: Growth, reason: str, builder: WitnessBuilder
    ) -> Answer:
        """Return the answer that a quantity has no bound."""
        return self._answer(what, Verdict.UNBOUNDED, None, reason, growth=growth, builder=builder)

    def unknown(self, what: Quantity, reason: str, builder: WitnessBuilder | None = None) -> Answer:
        """Return the answer that it is not known whether a quantity has a bound."""
        return self._answer(what, Verdict.UNKNOWN, None, reason, builder=builder)

    def _answer(
        self,
        what: Quantity,
        verdict: Verdict,
        bound: int | None,
        reason: str,
        *,
        exact: bool = False,
        growth: Growth | None = None,
        builder: WitnessBuilder | None = None,
    ) -> Answer:
        def with_new_budget(n: int) -> list[Event] | None:
            assert builder is not None
            self.budget.renew()
            try:
                return builder(n)
            except TooManyError:
                return None

        seconds = time.monotonic() - self.began
        build = None if builder is None else with_new_budget
        return Answer(what, verdict, bound, exact, growth, reason, seconds, self.meaning, build)

    def why_inexact(self) -> str:
        """Return the reason why counting on the automata is not exact."""
        if not self.contexts.regions.exact:
            return "the predicates relate events in more ways than the analysis can distinguish"
        if self.window.clauses.having:
            return "`having` may drop any window"
        return "the number of events in the time of `within` depends on the gaps between them"

    # --- Open starts

    @cached_property
    def open(self) -> Answer:
        """Return how many starts can be open at one position: no more than are held."""
        answer = self._within_budget(Quantity.OPEN, self._open, self.window)
        most = self.held.bound
        if answer.exact or most is None or (answer.bound is not None and answer.bound <= most):
            return answer
        reason = self.held.reason
        return self.bounded(Quantity.OPEN, most, reason, exact=False, builder=answer.builder)

    def _within_budget(
        self, what: Quantity, count: Callable[[], Answer], window: AnalysedWindow
    ) -> Answer:
        """Return the answer by counting, or by the automaton alone if that exceeds the budget."""
        self.budget.renew()
        try:
            return count()
        except TooManyError:
            return self._by_life(what, window)

    def _by_life(self, what: Quantity, window: AnalysedWindow) -> Answer:
        """Return a bound on starts from the clauses and the longest life of a start."""
        clauses = window.clauses
        if clauses.within_events is not None:
            return self._limited(what, clauses.within_events + clauses.until)
        life = window.longest_life
        if life is not None:
            return self.bounded(what, life, _by_age(life), exact=False)
        if clauses.single:
            reason = f"with `keep {clauses.keep}` a plan holds one start for each state"
            return self.bounded(what, len(window.moves), reason, exact=False)
        return self.unknown(what, TOO_MANY_STARTS)

    def _open(self) -> Answer:
        what = Quantity.OPEN
        if not self.window.in_order and self.exact:
            by_life = self._by_long_life(what, self.starts, self._open_at_once, self._replay_open)
            if by_life is not None:
                return by_life
        if not self.starts.alive:
            return self.bounded(what, 0, "no stream has such a window", exact=True)
        if self.window.in_order:
            return self._in_order()
        counting = Counting(
            what,
            self.starts,
            lambda starts: starts.alive,
            self.window.faithful,
            clears=False,
            replay=self._replay_open,
        )
        return self._counted(counting)

    def _in_order(self) -> Answer:
        """Return the answer for `keep longest` and `disjoint`: at most one open start per state."""
        what, clauses = Quantity.OPEN, self.window.clauses
        widest = max(Counter(context for context, _ in self.starts.alive).values())
        if clauses.within_time is not None:
            # The earlier start in a state wins until it is too old: a microsecond apart or more.
            bound = (clauses.within_time + 1) * widest
            reason = (
                "of the starts in one state and microsecond only the earliest can have a window"
            )
            return self.bounded(what, bound, reason, exact=False)
        if clauses.within_events is not None and not self.window.counted:
            return self._limited(what, clauses.within_events)
        reason = f"with `keep {clauses.keep}` the earlier of two starts in the same state wins"
        try:
            lists = StartLists(self.starts, self.budget)
        except TooManyError:
            bound = min(widest, clauses.within_events or widest)
            return self.bounded(what, bound, reason, exact=False)

        def build(n: int) -> list[Event] | None:
            path = lists.path_to_count(n)
            return self._with_open(self.contexts, path, lists.completions(path), n)

        return self.bounded(what, lists.most, reason, exact=self.exact, builder=build)

    def _limited(self, what: Quantity, events: int) -> Answer:
        reason = f"`within` ends every start after at most {events:,} {_events(events)}"
        return self.bounded(what, events, reason, exact=False)

    def _replay_open(self, starts: Starts, path: Sequence[Edge], n: int) -> list[Event] | None:
        """Return a stream along a path if at least n starts are open at its end."""
        node: tuple[int, tuple[tuple[int, int], ...]] = (0, ())
        for edge in path:
            node = (edge.to, vector_after(starts, starts.alive, node, edge, spawn=True))
        completions = [starts.completion((node[0], state)) for state, _ in node[1]]
        return self._with_open(starts.contexts, path, completions, n)

    def _with_open(
        self,
        contexts: Contexts,
        path: Sequence[Edge],
        completions: Sequence[Sequence[Edge]],
        n: int,
    ) -> list[Event] | None:
        streams = concrete_streams(contexts, path, completions)
        if streams is None:
            return None
        main, tails = streams
        return main if len(self._open_starts(main, tails)) >= n else None

    def _open_starts(self, main: list[Event], tails: Sequence[list[Event]]) -> set[int]:
        """Return the starts at the end of a stream that have a window in some continuation."""
        last = len(main) - 1
        open_starts: set[int] = set()
        for tail in tails:
            windows = replayed_windows(self.meaning, self.index, [*main, *tail])
            open_starts |= {start for start, end in windows or [] if start <= last <= end}
        return open_starts

    # --- Held starts

    @cached_property
    def held(self) -> Answer:
        """Return how many starts the running plan can hold."""
        return self._within_budget(Quantity.HELD, self._held, self.planned_window)

    def _held(self) -> Answer:
        what, starts, window = Quantity.HELD, self.planned_starts, self.planned_window
        clauses = window.clauses
        counted = clauses.within_events is None or window.counted
        faithful = counted and clauses.within_time is None and not clauses.drops_starts_late
        if not (clauses.single or clauses.cuts) and faithful and self.contexts.regions.exact:
            by_life = self._by_long_life(
                what, starts, lambda run: len(run.states), self._replay_held
            )
            if by_life is not None:
                return by_life
        if not starts.held:
            return self.bounded(what, 0, "no start ever begins", exact=True)
        if clauses.single:
            return self._one_per_state(starts)
        counting = Counting(
            what,
            starts,
            lambda starts: starts.held,
            faithful=faithful,
            clears=clauses.cuts,
            replay=self._replay_held,
        )
        return self._counted(counting)

    def _one_per_state(self, starts: Starts) -> Answer:
        """Return the answer for a plan that holds only the earliest start of each window state."""
        reason = f"with `keep {starts.window.clauses.keep}` a plan holds one start for each state"
        try:
            lists = StartLists(starts, self.budget, held=True)
        except TooManyError:
            states = len({state for _, state in starts.held})
            return self.bounded(Quantity.HELD, states, reason, exact=False)
        return self.bounded(
            Quantity.HELD,
            lists.most,
            reason,
            exact=self.contexts.regions.exact,
            builder=lambda n: self._replay_held(starts, lists.path_to_count(n), n),
        )

    def _replay_held(self, starts: Starts, path: Sequence[Edge], n: int) -> list[Event] | None:
        """Return a stream along a path if a plan holds at least n starts on it."""
        streams = concrete_streams(starts.contexts, path)
        return self._with_held(streams[0], n) if streams else None

    def _with_held(self, events: list[Event], n: int) -> list[Event] | None:
        if replayed_windows(self.meaning, self.index, events) is None:
            return None  # it does not conform
        return events if len(held_starts(self.meaning, self.index, events)) >= n else None

    # --- Counting starts, open or held

    def _counted(self, counting: Counting) -> Answer:
        starts, what = counting.starts, counting.what
        places = counting.places(starts)
        exact = self.contexts.regions.exact and counting.faithful
        clauses = starts.window.clauses
        limit = clauses.within_events if not starts.window.counted else None
        if limit is not None:
            limit += clauses.until  # the event after the longest window decides about it
        life = starts.window.longest_life
        try:
            if counting.clears:
                growing = growing_cycle(starts, places, self.budget)
                cycles = [growing] if growing else []
            else:
                pumps = islice(starts.pumps(places) if life is None else (), MOST_CERTIFIED)
                cycles = [_cycle_of(starts.contexts, pump) for pump in pumps]
            vectors = (
                None if cycles else vectors_of(starts, places, self.budget, clears=counting.clears)
            )
        except TooManyError:
            self.gave_up = True
            return self._by_life(what, starts.window)
        if vectors is not None:
            bound = vectors.most if limit is None else min(limit, vectors.most)
            return self.bounded(
                what,
                bound,
                _by_count(bound),
                exact=exact,
                builder=lambda n: counting.replay(starts, vectors.path_to_count(n), n),
            )
        if limit is not None:
            return self._limited(what, limit)
        if clauses.within_time is not None:
            return self._in_time(counting)
        if exact:
            return self._growing(counting, starts, cycles[0])
        if not self.contexts.regions.exact and counting.faithful:
            for cycle in cycles:
                certified = self._certified(counting, cycle)
                if certified is not None:
                    return certified
        return self.unknown(
            what,
            f"{self._repetition(cycles[0])} would add one, but {self.why_inexact()}",
            lambda n: counting.replay(starts, cycles[0].path(n), n),
        )

    def _by_long_life(
        self,
        what: Quantity,
        starts: Starts,
        at_once: Callable[[SteadyRun], int],
        replay: PathReplay,
    ) -> Answer | None:
        """Return the longest life of a start as the exact bound, if repeating one event attains it.

        Arithmetic on the automaton, without exploring combinations of starts. None if lives are
        short, or if no single event leaves that many starts when it is repeated.
        """
        life = starts.window.longest_life
        if life is None or not starts.window.long_lived:
            return None
        run = next((run for run in steady_runs(starts) if at_once(run) == life), None)
        if run is None:
            return None
        return self.bounded(
            what, life, _by_age(life), exact=True, builder=lambda n: replay(starts, run.path(n), n)
        )

    def _open_at_once(self, run: SteadyRun) -> int:
        """Return how many of the starts of a repeated event are open at once."""
        for age in reversed(range(len(run.states))):
            if self.starts.ends_here((run.edge.to, run.states[age])):
                return age + 1
        return 0

    def _repetition(self, cycle: GrowingCycle) -> str:
        return repetition_in_words(self.meaning, self.window, cycle.edges)

    def _growing(self, counting: Counting, starts: Starts, cycle: GrowingCycle) -> Answer:
        return self.unbounded(
            counting.what,
            Growth.LINEAR,
            f"{self._repetition(cycle)} adds one",
            lambda n: counting.replay(starts, cycle.path(n), n),
        )

    def _in_time(self, counting: Counting) -> Answer:
        """Return the answer where only `within DURATION` may keep starts from accumulating.

        It does not if they accumulate at one moment; it does if there is a least time between events.
        """
        starts = Starts(self.timed_contexts, counting.starts.window)
        pump = next(starts.pumps(counting.places(starts), same_moment=True), None)
        if pump is not None and self.timed_contexts.regions.exact:
            cycle = _cycle_of(starts.contexts, pump)
            # The cycle takes no time: if it works twice, it works any number of times.
            if counting.replay(starts, cycle.path(2), 2) is not None:
                return self._growing(counting, starts, cycle)
        most = self.most_in_time()
        if most is not None:
            most += counting.starts.window.clauses.until
            reason = f"at most {most:,} events fit in the time of `within`"
            return self.bounded(counting.what, most, reason, exact=False)
        return self.unknown(counting.what, self.why_inexact())

    def most_in_time(self) -> int | None:
        """Return how many events fit in the time of `within`, if that has a bound."""
        duration = self.window.clauses.within_time
        gap = self.timed_contexts.regions.least_gap(self.meaning.spec.stream.order_by[0].text)
        return duration // gap + 1 if gap and duration is not None else None

    def _certified(self, counting: Counting, cycle: GrowingCycle) -> Answer | None:
        """Return "unbounded" if the cycle can be repeated with the very same events."""
        counts_open = counting.what is Quantity.OPEN
        tail: Sequence[Edge] = ()
        if counts_open and cycle.states:
            tail = counting.starts.completion((cycle.edges[-1].to, cycle.states[0]))
        for times in (1, 2, 3):
            streams = self.contexts.regions.recurring(
                [edge.step for edge in cycle.stem],
                [edge.step for edge in cycle.edges * times],
                [edge.step for edge in tail],
            )
            if streams is not None:
                break
        else:
            return None
        before, repeated, after = (complete_events(self.contexts, events) for events in streams)

        def build(n: int) -> list[Event] | None:
            events = [*before, *repeated * n]
            if not counts_open:
                return self._with_held(events, n)
            return events if len(self._open_starts(events, [after])) >= n else None

        if build(3) is None:
            return None
        if counts_open:
            self.certificate = (cycle, before, repeated, after)
        reason = f"{self._repetition(cycle)} adds one"
        return self.unbounded(counting.what, Growth.LINEAR, reason, build)

    # --- Windows that share a position

    @cached_property
    def overlap(self) -> Answer:
        """Return how many windows can share one position."""
        self.budget.renew()
        try:
            return Overlap(self).answer()
        except TooManyError:
            starts, windows = self.open.bound, self.window.most_windows
            if starts is None or windows is None:
                return self.unknown(Quantity.OVERLAP, TOO_MANY_WINDOWS)
            reason = f"at most {starts:,} starts are open, each with at most {windows:,} windows"
            return self.bounded(Quantity.OVERLAP, starts * windows, reason, exact=False)


def _cycle_of(contexts: Contexts, pump: Pump) -> GrowingCycle:
    return GrowingCycle(tuple(contexts.path_to(pump.context)), pump.cycle, (pump.state,))


def _by_count(bound: int) -> str:
    if bound == 1:
        return "a start ends or fails before the next one begins"
    return f"starts end or fail before there are more than {bound:,} at once"


def _by_age(events: int) -> str:
    return f"every start ends or fails after at most {events:,} {_events(events)}"


def _events(count: int) -> str:
    return "event" if count == 1 else "events"
