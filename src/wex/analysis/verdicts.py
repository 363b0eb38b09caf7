"""The three answers about a window: open starts, held starts, windows that share a position.

Each is found on the automata first. What the clauses or an inexact space leave open is then
settled as far as it can be: by a bound that is sound, by a certificate, or not at all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from wex.analysis.answers import Answer, Growth, WitnessBuilder
from wex.analysis.counting.multiset import Pile, pile, repeated, step, vectors_of
from wex.analysis.counting.ordered import Lists
from wex.analysis.counting.single import Pump, Starts
from wex.analysis.describe import events_in_words
from wex.analysis.graphs import TooManyError
from wex.analysis.overlap import Overlap
from wex.analysis.regions.contexts import contexts_of
from wex.analysis.window_tables import Steady, analysed_window, steady
from wex.analysis.witness import complete, concrete, held_starts, replayed
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from wex.analysis.counting.single import Place
    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.regions.graph import Budget
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning
    from wex.theory.evaluate import Event

TRIED = 5  # cycles for which a certificate is looked for
Shown = Callable[["Starts", "Sequence[Edge]", int], "list[Event] | None"]


@dataclass(frozen=True)
class Counting:
    """What is counted: which starts, in which places, and how a stream is shown to reach n."""

    what: str
    starts: Starts
    places: Callable[[Starts], Set[Place]]
    faithful: bool  # the tables say all that the clauses do
    clears: bool
    shown: Shown


class Analysis:
    """The analysis of one window of a spec."""

    def __init__(self, meaning: Meaning, at: int, budget: Budget) -> None:
        self.meaning = meaning
        self.at = at
        self.budget = budget
        self.began = time.monotonic()
        self.subject = analysed_window(meaning, at)
        self._contexts: Contexts | None = None
        with suppress(TooManyError):
            self._contexts = contexts_of([meaning], [self.subject], budget)
        self.gave_up = False  # there were more combinations of starts than were looked at
        # A cycle that was shown to repeat with the same events: events before it, of it, behind it.
        self.certificate: tuple[Pile, list[Event], list[Event], list[Event]] | None = None

    @property
    def contexts(self) -> Contexts:
        """Return the contexts of the window; TooManyError if there are too many."""
        if self._contexts is None:
            raise TooManyError
        return self._contexts

    @property
    def regions(self) -> tuple[int, str]:
        """Return how many regions were told apart, and in which way."""
        space = None if self._contexts is None else self._contexts.space
        return (0, "none") if space is None else (len(space.edges), space.way)

    @cached_property
    def starts(self) -> Starts:
        """Return how starts move through the contexts."""
        return Starts(self.contexts, self.subject)

    @cached_property
    def held_window(self) -> AnalysedWindow:
        """Return the window as a plan runs it, which never looks ahead."""
        if self.subject.clauses.within_events is None and not self.subject.compiled.window.having:
            return self.subject  # nothing to look ahead for
        return analysed_window(self.meaning, self.at, planned=True)

    @cached_property
    def held_starts(self) -> Starts:
        """Return how the starts that a plan holds move through the contexts."""
        if self.held_window is self.subject:
            return self.starts
        return Starts(self.contexts, self.held_window)

    @cached_property
    def timed_contexts(self) -> Contexts:
        """Return the contexts that also tell whether time has passed."""
        return contexts_of([self.meaning], [self.subject], self.budget, moments=True)

    @property
    def exact(self) -> bool:
        """Tell whether what the automata say is exactly so of the windows."""
        return self.contexts.space.exact and self.subject.faithful

    # --- Answers

    def bounded(
        self, what: str, bound: int, reason: str, *, exact: bool, way: WitnessBuilder | None = None
    ) -> Answer:
        """Return that there are no more than a bound."""
        return self._answer(what, "bounded", bound, reason, exact=exact, way=way)

    def unbounded(self, what: str, growth: Growth, reason: str, way: WitnessBuilder) -> Answer:
        """Return that there is no bound."""
        return self._answer(what, "unbounded", None, reason, growth=growth, way=way)

    def unknown(self, what: str, reason: str, way: WitnessBuilder | None = None) -> Answer:
        """Return that it is not known."""
        return self._answer(what, "unknown", None, reason, way=way)

    def _answer(
        self,
        what: str,
        verdict: str,
        bound: int | None,
        reason: str,
        *,
        exact: bool = False,
        growth: Growth | None = None,
        way: WitnessBuilder | None = None,
    ) -> Answer:
        def renewed(n: int) -> list[Event] | None:
            assert way is not None
            self.budget.renew()
            try:
                return way(n)
            except TooManyError:
                return None

        seconds = time.monotonic() - self.began
        shown = None if way is None else renewed
        return Answer(what, verdict, bound, exact, growth, reason, seconds, self.meaning, shown)  # type: ignore[arg-type]

    def why_inexact(self) -> str:
        """Return what keeps the automata from saying all."""
        clauses = self.subject.clauses
        if not self.contexts.space.exact:
            return "the predicates relate events in more ways than could be told apart"
        if clauses.having:
            return "`having` may drop any of the windows"
        return "how many events `within` lets in depends on the time between them"

    # --- Open starts

    @cached_property
    def open(self) -> Answer:
        """Return how many starts can be open at one position: no more than are held."""
        found = self._answered("open starts", self._open, self.subject)
        most = self.held.bound
        if found.exact or most is None or (found.bound is not None and found.bound <= most):
            return found
        return self.bounded(found.what, most, self.held.reason, exact=False, way=found.way)

    def _answered(
        self, what: str, find: Callable[[str], Answer], subject: AnalysedWindow
    ) -> Answer:
        """Return an answer, or what is sure of the automaton alone if it takes too much."""
        self.budget.renew()
        try:
            return find(what)
        except TooManyError:
            return self._by_life(what, subject)

    def _by_life(self, what: str, subject: AnalysedWindow) -> Answer:
        """Return how many starts there can be by the clauses and the longest life of one."""
        clauses = subject.clauses
        if clauses.within_events is not None:
            return self._limited(what, clauses.within_events + clauses.until)
        life = subject.longest_life
        if life is not None:
            return self.bounded(what, life, _life(life), exact=False)
        if clauses.single:
            reason = f"with `keep {clauses.keep}` a plan holds one start for each state"
            return self.bounded(what, len(subject.window), reason, exact=False)
        return self.unknown(what, "there are more combinations of starts than were looked at")

    def _open(self, what: str) -> Answer:
        if not self.subject.in_order and self.exact:
            by_life = self._by_long_life(what, self.starts, self._open_at_once, self._shown_open)
            if by_life is not None:
                return by_life
        if not self.starts.alive:
            return self.bounded(what, 0, "no stream has such a window", exact=True)
        if self.subject.in_order:
            return self._in_order(what)
        counting = Counting(
            what,
            self.starts,
            lambda starts: starts.alive,
            self.subject.faithful,
            clears=False,
            shown=self._shown_open,
        )
        return self._counted(counting)

    def _in_order(self, what: str) -> Answer:
        """Return the answer for `keep longest` and `disjoint`: at most one start for each state."""
        clauses = self.subject.clauses
        contexts = {context for context, _ in self.starts.alive}
        widest = max(sum(at == each for at, _ in self.starts.alive) for each in contexts)
        if clauses.within_time is not None:
            # The earlier start in a state wins until it is too old: a microsecond apart or more.
            bound = (clauses.within_time + 1) * widest
            reason = "of the starts in one state only the earliest of each microsecond can win"
            return self.bounded(what, bound, reason, exact=False)
        if clauses.within_events is not None and not self.subject.counted:
            return self._limited(what, clauses.within_events)
        reason = f"with `keep {clauses.keep}` the earlier of two starts in one state wins"
        try:
            lists = Lists(self.starts, self.budget)
        except TooManyError:
            bound = min(widest, clauses.within_events or widest)
            return self.bounded(what, bound, reason, exact=False)

        def way(n: int) -> list[Event] | None:
            path = lists.way_to(n)
            return self._replayed_open(self.contexts, path, lists.ways_on(path), n)

        return self.bounded(what, lists.most, reason, exact=self.exact, way=way)

    def _limited(self, what: str, events: int) -> Answer:
        reason = "`within` lets no more starts stay open than it has events"
        return self.bounded(what, events, reason, exact=False)

    def _shown_open(self, starts: Starts, path: Sequence[Edge], n: int) -> list[Event] | None:
        """Return a stream along a path if so many starts are open at its end."""
        node: tuple[int, tuple[tuple[int, int], ...]] = (0, ())
        for edge in path:
            node = (edge.to, step(starts, starts.alive, node, edge, spawn=True))
        ways = [starts.completion((node[0], state)) for state, _ in node[1]]
        return self._replayed_open(starts.contexts, path, ways, n)

    def _replayed_open(
        self, contexts: Contexts, path: Sequence[Edge], ways: Sequence[Sequence[Edge]], n: int
    ) -> list[Event] | None:
        found = concrete(contexts, path, ways)
        if found is None:
            return None
        main, tails = found
        return main if len(self._opened(main, tails)) >= n else None

    def _opened(self, main: list[Event], tails: Sequence[list[Event]]) -> set[int]:
        """Return the starts of which some continuation makes a window."""
        last = len(main) - 1
        opened: set[int] = set()
        for tail in tails:
            windows = replayed(self.meaning, self.at, [*main, *tail])
            opened |= {b for b, e in windows or [] if b <= last <= e}
        return opened

    # --- Held starts

    @cached_property
    def held(self) -> Answer:
        """Return how many starts the running plan can hold."""
        return self._answered("held starts", self._held, self.held_window)

    def _held(self, what: str) -> Answer:
        starts, subject = self.held_starts, self.held_window
        clauses = subject.clauses
        late = clauses.having and clauses.keep in ("shortest", "disjoint")
        counted = clauses.within_events is None or subject.counted
        faithful = counted and clauses.within_time is None and not late
        clears = clauses.keep == "disjoint" and not clauses.having
        if not (clauses.single or clears) and faithful and self.contexts.space.exact:
            by_life = self._by_long_life(
                what, starts, lambda run: len(run.states), self._shown_held
            )
            if by_life is not None:
                return by_life
        if not starts.held:
            return self.bounded(what, 0, "no start ever begins", exact=True)
        if clauses.single:
            return self._one_for_each_state(what, starts)
        counting = Counting(
            what,
            starts,
            lambda each: each.held,
            faithful=faithful,
            clears=clears,
            shown=self._shown_held,
        )
        return self._counted(counting)

    def _one_for_each_state(self, what: str, starts: Starts) -> Answer:
        """Return the answer for a plan that holds only the earliest start of each window state."""
        reason = f"with `keep {starts.subject.clauses.keep}` a plan holds one start for each state"
        try:
            lists = Lists(starts, self.budget, held=True)
        except TooManyError:
            widest = len({state for _, state in starts.held})
            return self.bounded(what, widest, reason, exact=False)
        return self.bounded(
            what,
            lists.most,
            reason,
            exact=self.contexts.space.exact,
            way=lambda n: self._shown_held(starts, lists.way_to(n), n),
        )

    def _shown_held(self, starts: Starts, path: Sequence[Edge], n: int) -> list[Event] | None:
        found = concrete(starts.contexts, path)
        return self._replayed_held(found[0], n) if found else None

    def _replayed_held(self, events: list[Event], n: int) -> list[Event] | None:
        conforms = replayed(self.meaning, self.at, events) is not None
        return events if conforms and len(held_starts(self.meaning, self.at, events)) >= n else None

    # --- Counting starts, open or held

    def _counted(self, counting: Counting) -> Answer:
        starts, what = counting.starts, counting.what
        places = counting.places(starts)
        exact = self.contexts.space.exact and counting.faithful
        clauses = starts.subject.clauses
        limit = clauses.within_events if not starts.subject.counted else None
        if limit is not None:
            limit += clauses.until  # the event behind the longest window decides about it
        life = starts.subject.longest_life
        try:
            if counting.clears:
                found = pile(starts, places, self.budget)
                piles = [found] if found else []
            else:
                pumps = starts.pumps(places) if life is None else ()
                piles = [self._pile_of(starts.contexts, pump) for pump in islice(pumps, TRIED)]
            vectors = (
                None if piles else vectors_of(starts, places, self.budget, clears=counting.clears)
            )
        except TooManyError:
            self.gave_up = True
            return self._by_life(what, starts.subject)
        if vectors is not None:
            bound = vectors.most if limit is None else min(limit, vectors.most)
            return self.bounded(
                what,
                bound,
                _life(bound),
                exact=exact,
                way=lambda n: counting.shown(starts, vectors.path_to_count(n), n),
            )
        if limit is not None:
            return self._limited(what, limit)
        words = events_in_words(self.meaning, self.subject, piles[0].cycle)
        if clauses.within_time is not None:
            return self._in_time(counting)
        if exact:
            return self._piling(counting, starts, piles[0], words)
        if not self.contexts.space.exact and counting.faithful:
            for each in piles:
                certified = self._certified(counting, each)
                if certified is not None:
                    return certified
        reason = f"{words} would pile up starts, but {self.why_inexact()}"
        return self.unknown(
            what, reason, lambda n: counting.shown(starts, repeated(piles[0], n), n)
        )

    def _by_long_life(
        self, what: str, starts: Starts, at_once: Callable[[Steady], int], shown: Shown
    ) -> Answer | None:
        """Return that there can be as many starts as one lives for, if one event shows it.

        Arithmetic on the automaton: no combination of starts is looked at. None where lives are
        short, or no single event, again and again, leaves so many.
        """
        life = starts.subject.longest_life
        if life is None or not starts.subject.long_lived:
            return None
        run = next((run for run in steady(starts) if at_once(run) == life), None)
        if run is None:
            return None
        return self.bounded(
            what, life, _life(life), exact=True, way=lambda n: shown(starts, run.path(n), n)
        )

    def _open_at_once(self, run: Steady) -> int:
        """Return how many of the starts of one event, again and again, can still have a window."""
        for age in reversed(range(len(run.states))):
            if self.starts.ends_here((run.edge.to, run.states[age])):
                return age + 1
        return 0

    def _pile_of(self, contexts: Contexts, pump: Pump) -> Pile:
        return Pile(tuple(contexts.path_to(pump.context)), pump.cycle, (pump.state,))

    def _piling(self, counting: Counting, starts: Starts, found: Pile, words: str) -> Answer:
        verb = "stays open" if counting.what == "open starts" else "is held"
        reason = f"{words} can come again and again, and each time one more start {verb}"
        return self.unbounded(
            counting.what,
            "linear",
            reason,
            lambda n: counting.shown(starts, repeated(found, n), n),
        )

    def _in_time(self, counting: Counting) -> Answer:
        """Return the answer where starts pile up but for `within DURATION`.

        They do so in no time at all, or the least time between events bounds them.
        """
        starts = Starts(self.timed_contexts, counting.starts.subject)
        pump = next(starts.pumps(counting.places(starts), same_moment=True), None)
        if pump is not None and self.timed_contexts.space.exact:
            found = self._pile_of(starts.contexts, pump)
            # The cycle takes no time: what holds of a few rounds holds of any number.
            if counting.shown(starts, repeated(found, 2), 2) is not None:
                words = events_in_words(self.meaning, self.subject, pump.cycle)
                return self._piling(counting, starts, found, words)
        most = self.most_in_time()
        if most is not None:
            most += counting.starts.subject.clauses.until
            reason = f"no more than {most:,} events come in the time of `within`"
            return self.bounded(counting.what, most, reason, exact=False)
        return self.unknown(counting.what, self.why_inexact())

    def most_in_time(self) -> int | None:
        """Return how many events come within the time of `within`, if that has a bound."""
        duration = self.subject.clauses.within_time
        gap = self.timed_contexts.space.least_gap(self.meaning.spec.stream.order_by[0].text)
        return duration // gap + 1 if gap and duration is not None else None

    def _certified(self, counting: Counting, found: Pile) -> Answer | None:
        """Return "unbounded" if the cycle can be repeated with the very same events."""
        starts = counting.starts
        tail: Sequence[Edge] = ()
        if counting.what == "open starts":
            end = found.cycle[-1].to
            tail = starts.completion((end, found.states[0])) if found.states else ()
        for times in (1, 2, 3):
            events = self.contexts.space.recurring(
                [edge.step for edge in found.stem],
                [edge.step for edge in found.cycle * times],
                [edge.step for edge in tail],
            )
            if events is not None:
                break
        else:
            return None
        stem, cycle, rest = (complete(self.contexts, part) for part in events)

        def way(n: int) -> list[Event] | None:
            main = [*stem, *cycle * n]
            if counting.what == "held starts":
                return self._replayed_held(main, n)
            return main if len(self._opened(main, [rest])) >= n else None

        if way(3) is None:
            return None
        if counting.what == "open starts":
            self.certificate = (found, stem, cycle, rest)
        words = events_in_words(self.meaning, self.subject, found.cycle)
        reason = f"the same events, {words}, can come again and again, one more start each time"
        return self.unbounded(counting.what, "linear", reason, way)

    @cached_property
    def overlap(self) -> Answer:
        """Return how many windows can share one position."""
        what = "windows that share a position"
        self.budget.renew()
        try:
            return Overlap(self).answer(what)
        except TooManyError:
            starts, windows = self.open.bound, self.subject.most_windows
            if starts is None or windows is None:
                return self.unknown(
                    what, "there are more combinations of windows than were looked at"
                )
            reason = f"each of {starts:,} starts has {windows:,} {_windows(windows)} at most"
            return self.bounded(what, starts * windows, reason, exact=False)


def _life(count: int) -> str:
    have = "has" if count == 1 else "have"
    return f"a start ends or dies at the latest when {count:,} more {have} begun"


def _windows(count: int) -> str:
    return "window" if count == 1 else "windows"
