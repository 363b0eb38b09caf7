"""The answers about a window: open and held starts, windows that share a position, the delay.

Each answer is first computed on the automata. Where clauses or inexact regions leave it undecided,
the analysis falls back to a sound bound, then to a certificate, then to "unknown".
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from wex.analysis.answers import Answer, Growth, Quantity, Verdict
from wex.analysis.counting.multiset import vector_after, vectors_of
from wex.analysis.counting.ordered import StartLists
from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.held_search import held_after
from wex.analysis.leftmost import Leftmost
from wex.analysis.lifetimes import SteadyRun, steady_runs
from wex.analysis.overlap import TOO_MANY_WINDOWS, Overlap
from wex.analysis.preference import Delay, decision_delay
from wex.analysis.rates import most_in_time, paced
from wex.analysis.regions.contexts import (
    FEW_VALUES,
    free_contexts,
    thorough_regions,
    with_few_values,
)
from wex.analysis.regions.typed import LOOSE, OrderRegions
from wex.analysis.repeated_events import growth
from wex.analysis.start_count import StartCount
from wex.analysis.subject import Subject
from wex.analysis.witness import concrete_streams, held_starts, open_starts, replayed_windows
from wex.stages import compile_window
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from wex.analysis.answers import WitnessBuilder
    from wex.analysis.regions.contexts import Contexts, Edge, RegionMethod
    from wex.analysis.regions.graph import Budget
    from wex.analysis.repeated_events import Found
    from wex.analysis.repetition_solver import Goal
    from wex.analysis.start_count import Certificate, PathReplay
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning
    from wex.theory.evaluate import Event

MOST_TRIED = 64  # a larger bound that is not known to be exact is not tried
TOO_MANY_STARTS = "there are too many combinations of starts to explore"


class Analysis(Subject):
    """The analysis of one window of a spec.

    If it is `quick`, it asks no second region graph, and looks for no stream that reaches a bound.
    """

    def __init__(
        self,
        meaning: Meaning,
        index: int,
        budget: Budget,
        regions_of: RegionMethod | None = None,
        *,
        quick: bool = False,
        least: bool = True,
    ) -> None:
        self.began = time.monotonic()
        super().__init__(meaning, index, budget, regions_of, least=least)
        self.quick = quick or budget.whole is not None
        self.gave_up = False  # there were too many combinations of starts
        self.certificate: Certificate | None = None  # that any number of starts can be open
        # Events whose repetition reaches a goal, as far as they were searched for.
        self.repetitions: dict[Goal, Found | None] = {}
        self._of_few_values: dict[int, Analysis] = {}

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
        """Return the answer that a quantity has an upper bound.

        It is exact if that is known, or if a stream reaches it.
        """
        several = what is Quantity.OPEN and bound > 1  # starts, each with its own continuation
        doubtful = exact and several and not self.contexts.regions.uniform
        tried = not exact and bound <= MOST_TRIED and what is not Quantity.DELAY
        if bound and (doubtful or tried):
            exact = False
        if bound and (doubtful or tried) and not self.quick:
            with suppress(TooManyError):
                exact = builder is not None and builder(bound) is not None
        exact = exact or not bound
        return self._answer(what, Verdict.BOUNDED, bound, reason, exact=exact, builder=builder)

    def unbounded(
        self, what: Quantity, growth: Growth, reason: str, builder: WitnessBuilder
    ) -> Answer:
        """Return the answer that a quantity has no bound."""
        return self._answer(what, Verdict.UNBOUNDED, None, reason, growth=growth, builder=builder)

    def unknown(self, what: Quantity, reason: str, builder: WitnessBuilder | None = None) -> Answer:
        """Return the answer that it is not known whether a quantity has a bound."""
        if self.budget.ran_out:
            steps = f"{self.budget.work:,} steps of the analysis were not enough"
            reason = f"{reason}; {steps}, and a greater `effort` allows more"
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
                with self.budget.without_purse():
                    return builder(n)
            except TooManyError:
                return None

        seconds = time.monotonic() - self.began
        build = None if builder is None else with_new_budget
        return Answer(what, verdict, bound, exact, growth, reason, seconds, self.meaning, build)

    def why_inexact(self) -> str:
        """Return the reason why counting on the automata is not exact."""
        if self.contexts.query.timed:
            return "the analysis does not know which times of events the rates of `assume` allow"
        if not self.contexts.regions.exact:
            return "the predicates relate events in more ways than the analysis can distinguish"
        if self.window.clauses.running:
            return "predicates with aggregates hold for one start and not for another"
        if self.window.clauses.having:
            return "`having` may drop any window"
        if self.window.clauses.keep == "leftmost":
            return "`keep leftmost` may skip any start"
        return "the number of events in the time of `within` depends on the gaps between them"

    # --- Open starts

    @cached_property
    def open(self) -> Answer:
        """Return how many starts can be open at one position: no more than are held."""
        answer = self._within_budget(Quantity.OPEN, self._open, self.window)
        answer = self._by_other_streams("open", answer)
        most = self.held.bound
        if answer.exact or most is None or (answer.bound is not None and answer.bound <= most):
            return answer
        reason = self.held.reason
        return self.bounded(Quantity.OPEN, most, reason, exact=False, builder=answer.builder)

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
        count = StartCount(
            self,
            what,
            self.starts,
            lambda starts: starts.alive,
            self.window.faithful,
            clears=False,
            aged=False,
            replay=self._replay_open,
        )
        return count.answer()

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
            return self.limited(what, clauses.within_events)
        reason = f"with `keep {clauses.keep}` the earlier of two starts in the same state wins"
        try:
            lists = StartLists(self.starts, self.budget)
        except TooManyError:
            bound = min(widest, clauses.within_events or widest)
            return self.bounded(what, bound, reason, exact=False)

        def build(n: int) -> list[Event] | None:
            path = lists.path_to_count(n)
            return self._open_along(self.contexts, path, lists.completions(path), n)

        return self.bounded(what, lists.most, reason, exact=self.exact, builder=build)

    def _replay_open(self, starts: Starts, path: Sequence[Edge], n: int) -> list[Event] | None:
        """Return a stream along a path if at least n starts are open at its end."""
        node: tuple[int, tuple[tuple[int, int], ...]] = (0, ())
        for edge in path:
            node = (edge.to, vector_after(starts, starts.alive, node, edge, spawn=True))
        completions = [starts.completion((node[0], state)) for state, _ in node[1]]
        return self._open_along(starts.contexts, path, completions, n)

    def _open_along(
        self,
        contexts: Contexts,
        path: Sequence[Edge],
        completions: Sequence[Sequence[Edge]],
        n: int,
    ) -> list[Event] | None:
        streams = concrete_streams(contexts, path, completions)
        return self.with_open(*streams, n) if streams else None

    def with_open(
        self, events: list[Event], continuations: Sequence[list[Event]], n: int
    ) -> list[Event] | None:
        """Return the events if at least n starts at their end have a window in a continuation."""
        starts = open_starts(self.meaning, self.index, events, continuations)
        return events if len(starts) >= n else None

    # --- Held starts

    @cached_property
    def held(self) -> Answer:
        """Return how many starts the running plan can hold."""
        answer = self._within_budget(Quantity.HELD, self._held, self.held_window)
        return self._by_other_streams("held", answer)

    def _held(self) -> Answer:
        what, starts, window = Quantity.HELD, self.held_starts, self.held_window
        clauses = window.clauses
        if clauses.keep == "leftmost":
            return Leftmost(Delay(self)).held()
        counted = clauses.within_events is None or window.counted
        faithful = (
            counted
            and clauses.within_time is None
            and not (clauses.drops_starts_late or clauses.running)
        )
        if not (clauses.single or clauses.cuts) and faithful and starts.contexts.regions.exact:
            by_life = self._by_long_life(
                what, starts, lambda run: len(run.states), self._replay_held
            )
            if by_life is not None:
                return by_life
        if not starts.held:
            return self.bounded(what, 0, "no start ever begins", exact=True)
        if clauses.single:
            return self._one_per_state(starts)
        count = StartCount(
            self,
            what,
            starts,
            lambda starts: starts.held,
            faithful=faithful,
            clears=clauses.cuts,
            aged=not counted or clauses.within_time is not None,
            replay=self._replay_held,
        )
        return count.answer()

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
            exact=starts.contexts.regions.exact,
            builder=lambda n: self._replay_held(starts, lists.path_to_count(n), n),
        )

    def _replay_held(self, starts: Starts, path: Sequence[Edge], n: int) -> list[Event] | None:
        """Return a stream along a path if a plan holds at least n starts on it."""
        streams = concrete_streams(starts.contexts, path)
        return self.with_held(streams[0], n) if streams else None

    def with_held(self, events: list[Event], n: int) -> list[Event] | None:
        """Return the events if they conform and a plan holds at least n starts on them."""
        if replayed_windows(self.meaning, self.index, events) is None:
            return None  # it does not conform
        if compile_window(self.meaning, self.index, least=True).clauses.drops_starts_late:
            after = held_after(self, events)  # which starts go is known after a batch
            held = 0 if after is None else len(after.starts)
        else:
            held = len(held_starts(self.meaning, self.index, events))
        return events if held >= n else None

    # --- Starts, open or held

    def _within_budget(
        self, what: Quantity, count: Callable[[], Answer], window: AnalysedWindow
    ) -> Answer:
        """Return the answer by counting, or by the automaton alone if that exceeds the budget."""
        self.budget.renew()
        try:
            return count()
        except TooManyError:
            return self.by_life(what, window)

    def by_life(self, what: Quantity, window: AnalysedWindow) -> Answer:
        """Return a bound on starts from the clauses and the longest life of a start."""
        clauses = window.clauses
        if clauses.within_events is not None:
            return self.limited(what, clauses.within_events)
        life = window.longest_life
        timed = most_in_time(self.meaning, window)
        if timed is not None and (life is None or timed < life):
            return self.limited(what, timed)
        if life is not None:
            return self.bounded(what, life, _by_age(life), exact=False)
        if clauses.single:
            reason = f"with `keep {clauses.keep}` a plan holds one start for each state"
            return self.bounded(what, len(window.moves), reason, exact=False)
        return self._by_letters(what, window) or self.unknown(what, TOO_MANY_STARTS)

    def _by_letters(self, what: Quantity, window: AnalysedWindow) -> Answer | None:
        """Return a bound that holds even if any event could follow any other; None if there is none."""
        if window.clauses.cuts:
            return None
        budget = replace(self.budget, done=0)
        with suppress(TooManyError), budget.without_purse():
            starts = Starts(free_contexts([window], budget), window)
            if next(starts.pumps(starts.held), None) is None:
                bound = vectors_of(starts, starts.held, budget).most
                reason = "the automaton alone lets no more starts be there at once"
                return self.bounded(what, bound, reason, exact=False)
        return None

    def limited(self, what: Quantity, events: int) -> Answer:
        """Return the bound that `within` sets if it ends starts after so many events."""
        reason = f"`within` ends every start after at most {events:,} {_events(events)}"
        return self.bounded(what, events, reason, exact=False)

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

    def most_in_time(self, window: AnalysedWindow) -> int | None:
        """Return how many events fit in the time of `within`, if that has a bound."""
        duration = window.clauses.within_time
        most, gap = most_in_time(self.meaning, window), None
        if most is not None and not self.meaning.expanded.assumes:
            return most  # nothing keeps events apart
        try:
            gap = self.timed_contexts.regions.least_gap(self.meaning.spec.stream.order_by[0].text)
        except TooManyError:
            if most is None:
                raise
        if not gap or duration is None:
            return most
        by_gap = int(duration // gap) + 1 + window.behind
        return by_gap if most is None else min(most, by_gap)

    # --- The decision about windows

    @cached_property
    def delay(self) -> Answer:
        """Return how many events after its end a window is decided."""
        return self._or_paced("delay", decision_delay(self))

    # --- Windows that share a position

    @cached_property
    def overlap(self) -> Answer:
        """Return how many windows can share one position."""
        return self._by_other_streams("overlap", self._overlap())

    def _overlap(self) -> Answer:
        self.budget.renew()
        try:
            return Overlap(self).answer()
        except TooManyError:
            starts, windows = self.open.bound, self.window.most_windows
            if starts is None or windows is None:
                return self.unknown(Quantity.OVERLAP, TOO_MANY_WINDOWS)
            reason = f"at most {starts:,} starts are open, each with at most {windows:,} windows"
            return self.bounded(Quantity.OVERLAP, starts * windows, reason, exact=False)

    # --- Answers that other graphs or some of the streams decide

    def _by_other_streams(self, name: str, answer: Answer) -> Answer:
        return self._or_paced(name, self._repeated(self._enclosed(name, answer)))

    def _repeated(self, answer: Answer) -> Answer:
        """Return an answer, or "unbounded" by repeated events where graphs decide nothing."""
        if answer.verdict is not Verdict.UNKNOWN or self.quick or self.regions_of is not None:
            return answer
        self.budget.renew()
        with self.budget.without_purse():
            return growth(self, answer.what) or answer

    @cached_property
    def _paced(self) -> Analysis:
        """Return the analysis of the streams whose events are as far apart as rates ask for."""
        budget = replace(self.budget, done=0, whole=None, ran_out=False)
        return Analysis(paced(self.meaning), self.index, budget)

    def _or_paced(self, name: str, answer: Answer) -> Answer:
        """Return an answer, or a surer one by streams whose events are far apart.

        They are some of the streams that conform: what has no bound on them has none, and a bound that
        they reach is exact.
        """
        timed = self._contexts is not None and self._contexts.query.timed
        if not timed or answer.exact or answer.verdict is Verdict.UNBOUNDED:
            return answer
        found: Answer = getattr(self._paced, name)
        if found.verdict is Verdict.UNBOUNDED and answer.verdict is Verdict.UNKNOWN:
            return replace(found, meaning=self.meaning)
        if found.exact and found.bound == answer.bound:
            return replace(answer, exact=True, builder=found.builder)
        return answer

    def _samples(self) -> Iterator[Analysis]:
        """Yield analyses of some streams, and then of more: what can occur there can occur."""
        for most in FEW_VALUES:
            if most not in self._of_few_values:
                self._of_few_values[most] = self._by(with_few_values(most))
            yield self._of_few_values[most]

    @cached_property
    def _thorough(self) -> Analysis:
        return self._by(thorough_regions)

    def _by(self, regions_of: RegionMethod) -> Analysis:
        budget = replace(self.budget, done=0)
        return Analysis(self.meaning, self.index, budget, regions_of, least=self.least)

    def _enclosed(self, name: str, answer: Answer) -> Answer:
        """Return an answer as other graphs decide it, where there are too many types for an exact one."""
        if self._contexts is None or self.quick or answer.exact or self.regions_of is not None:
            return answer
        regions = self._contexts.regions
        loose = regions.method == LOOSE
        if not loose and not (self.gave_up and isinstance(regions, OrderRegions)):
            return answer
        unbounded: Answer | None = None
        for sample in self._samples():
            shown: Answer = getattr(sample, name)
            if shown.verdict is Verdict.UNBOUNDED:
                linear = name == "overlap" and shown.growth is Growth.LINEAR
                if not linear or not Overlap(self).may_be_quadratic():
                    return shown
                unbounded = replace(shown, reason=f"{shown.reason}; the growth may be quadratic")
            elif shown.exact and shown.bound == answer.bound:
                return shown
        if unbounded is not None or not loose:
            return unbounded or answer
        answer = self._repeated(answer)
        if answer.verdict is Verdict.UNBOUNDED:
            return answer
        other: Answer = getattr(self._thorough, name)
        if answer.bound is None or other.exact:
            return answer if other.verdict is Verdict.UNKNOWN else other
        return other if other.bound is not None and other.bound < answer.bound else answer


def _by_age(events: int) -> str:
    return f"every start ends or fails after at most {events:,} {_events(events)}"


def _events(count: int) -> str:
    return "event" if count == 1 else "events"
