"""Equivalence, inclusion and emptiness of specs, with a shortest stream that shows a difference."""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from wex import notebook
from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.lifetimes import DEAD
from wex.analysis.regions.contexts import (
    FEW_VALUES,
    contexts_of,
    thorough_regions,
    with_few_values,
)
from wex.analysis.regions.graph import Budget
from wex.analysis.regions.typed import LOOSE
from wex.analysis.stream_search import paths_of_streams
from wex.analysis.window_tables import analysed_window
from wex.analysis.witness import concrete_streams, replayed_windows, table_of
from wex.automata.explore import shortest
from wex.compile.clauses import clauses_of
from wex.compile.guards import guarded_fields
from wex.errors import WexError
from wex.spec import as_spec
from wex.spec import meaning as meaning_of
from wex.spec.resolve.label_checks import uses_labels
from wex.stages import compile_window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.window_tables import AnalysedWindow
    from wex.compile.preference import PreferenceForm
    from wex.spec import Meaning, SpecLike, tree
    from wex.theory.evaluate import Event


NOT_YET, GONE = -1, -2  # a tracked start that has not begun, or can have no window any more


@dataclass(frozen=True)
class TrackedStart:
    """The window states of starts, the earliest first, and the index of the tracked start.

    Where the order does not matter, the list has no other start.
    """

    order: tuple[int, ...] = ()
    index: int = NOT_YET


class StartTracker:
    """Follows one start of a window from event to event."""

    def __init__(self, starts: Starts) -> None:
        self.starts = starts
        self.window = starts.window
        self.clears = self.window.clauses.cuts

    def after(self, start: TrackedStart, edge: Edge, *, begins: bool) -> TrackedStart:
        """Return the tracked start after an event; with `begins` it begins with the event."""
        if self.clears and self.starts.clears(start.order, edge):
            start = TrackedStart((), NOT_YET if start.index == NOT_YET else GONE)
        moved = [self.starts.moved(state, edge) for state in start.order]
        own = moved[start.index] if start.index >= 0 else DEAD
        born = self.starts.born(edge)
        # Later starts matter only if windows clear, or until the tracked start begins.
        others = self.window.in_order and (self.clears or start.index == NOT_YET)
        if begins:
            own = born if born not in moved else DEAD
        elif start.index >= 0 and own in moved[: start.index]:
            own = DEAD
        if begins or others:
            moved.append(born)
        order = tuple(dict.fromkeys(state for state in moved if state != DEAD))
        if not self.window.in_order and not begins and start.index < 0:
            order = ()
        started = begins or start.index != NOT_YET
        index = order.index(own) if own != DEAD else GONE if started else NOT_YET
        if index == GONE:
            return TrackedStart((), GONE)
        if index >= 0 and not self.clears:
            order = order[: index + 1]
        return TrackedStart(order, index)

    def is_window(self, start: TrackedStart, edge: Edge | None) -> bool:
        """Tell whether the tracked start has a window that ends here, given the next event."""
        if start.index < 0:
            return False
        if self.window.until is None:
            ending = [self.window.final[state] for state in start.order]
        elif edge is None:
            ends = self.window.clauses.or_end
            ending = [ends and self.window.final[state] for state in start.order]
        else:
            ending = [self.starts.ends(state, edge) for state in start.order]
        return ending[start.index] and not any(ending[: start.index])


Pair = tuple[int, TrackedStart, TrackedStart]  # a context, and the tracked start in each spec
MOST_PATHS = 8  # that are tried where some are those of no stream
EFFORT = 2.5  # times that of an answer, twice: for the regions, and for the difference
BEGINNING: Pair = (0, TrackedStart(), TrackedStart())
SHOWN: Pair = (-1, TrackedStart(), TrackedStart())  # after an event that has shown a difference


class Side(StrEnum):
    """One of the two specs that are compared."""

    FIRST = "first"
    SECOND = "second"

    __repr__ = str.__repr__


@dataclass(frozen=True)
class SpecComparison:
    """Whether a property holds for all streams: True, False, or None if that is not known.

    `witness` is a stream for which it does not hold; `window` is the window there that makes the
    difference (its name, start and end), and `side` the spec that has it.
    """

    holds: bool | None
    reason: str
    witness: pa.Table | None = None
    window: tuple[str, int, int] | None = None
    side: Side | None = None

    _repr_html_ = notebook.html_of

    def __bool__(self) -> bool:
        message = "a comparison can be True, False or unknown"
        raise TypeError(f"{message}: ask for `.holds`")


def equivalent(a: SpecLike, b: SpecLike) -> SpecComparison:
    """Check whether two specs have the same windows on every stream."""
    return _compared(a, b, lambda one, two: one != two, "have the same windows")


def includes(a: SpecLike, b: SpecLike) -> SpecComparison:
    """Check whether every window of b is a window of a."""
    return _compared(a, b, lambda one, two: two and not one, "include the windows of the other")


def is_empty(spec: SpecLike) -> SpecComparison:
    """Check whether a spec has no window on any stream."""
    spec = as_spec(spec)
    without = replace(spec, windows=())
    comparison = _compared(without, spec, lambda one, two: one != two, "have no windows")
    if comparison.window is not None:
        name, start, end = comparison.window
        reason = f"this stream has the window `{name}` from {start} to {end}"
        return replace(comparison, reason=reason)
    return replace(comparison, reason="no stream has a window") if comparison.holds else comparison


def _compared(
    a: SpecLike, b: SpecLike, judge: Callable[[bool, bool], bool], what: str
) -> SpecComparison:
    a, b = as_spec(a), as_spec(b)
    first, second = meaning_of(a), meaning_of(b)
    _same_streams(first, second)
    skips = first.skip_nulls or second.skip_nulls
    if skips and guarded_fields(first) != guarded_fields(second) and b.windows and a.windows:
        reason = "with `nulls skip`, specs that read different fields skip different events"
        return SpecComparison(None, reason)
    if first.nullable != second.nullable and b.windows and a.windows:
        reason = "specs that test different fields for NULL accept different streams"
        return SpecComparison(None, reason)
    names = dict.fromkeys(
        window.name.text for meaning in (first, second) for window in meaning.expanded.windows
    )
    unknown: SpecComparison | None = None
    for name in names:
        comparison = _WindowPair(first, second, name, judge).compared(what)
        if comparison.holds is False:
            return comparison
        if comparison.holds is None:
            unknown = comparison
    return SpecComparison(True, f"on every stream they {what}") if unknown is None else unknown


def _same_streams(first: Meaning, second: Meaning) -> None:
    one, two = first.spec.stream, second.spec.stream
    same = (
        first.fields == second.fields
        and [name.text for name in one.partition_by] == [name.text for name in two.partition_by]
        and [name.text for name in one.order_by] == [name.text for name in two.order_by]
    )
    if not same:
        message = "the two specs are about different streams"
        hint = "give both the same fields, `partition by` and `order by`"
        raise WexError("streams-differ", message, hint)


def _index(meaning: Meaning, name: str) -> int | None:
    names = [window.name.text for window in meaning.expanded.windows]
    return names.index(name) if name in names else None


class _WindowPair:
    """The windows of one name in both specs; one of them may lack it."""

    def __init__(
        self, first: Meaning, second: Meaning, name: str, judge: Callable[[bool, bool], bool]
    ) -> None:
        self.meanings = (first, second)
        self.name = name
        self.judge = judge
        self.indices = (_index(first, name), _index(second, name))

    def compared(self, what: str) -> SpecComparison:
        try:
            return self._compared(what)
        except TooManyError:
            return SpecComparison(
                None, f"`{self.name}` has too many combinations of starts to explore"
            )

    def _compared(self, what: str) -> SpecComparison:
        windows = self._analysed(plain=False)
        # By preference a start has one window of several: equal sets of windows are not enough.
        prefers = any(window.clauses.prefers for window in windows)
        faithful = not prefers and all(window.faithful for window in windows)
        if prefers and any(window.clauses.having or window.clauses.running for window in windows):
            return self._by_text(what)
        if not faithful:
            windows = self._analysed(plain=True)
        contexts = contexts_of(self.meanings, windows, Budget.current(EFFORT))
        found = self._along(contexts, windows, what, faithful=faithful, prefers=prefers)
        if found.holds is None and contexts.regions.method == LOOSE:
            # Too many types for an exact answer: some streams may show a difference.
            for regions_of in (*map(with_few_values, FEW_VALUES), thorough_regions):
                with suppress(TooManyError):
                    budget = Budget.current(EFFORT)
                    others = contexts_of(self.meanings, windows, budget, regions_of=regions_of)
                    other = self._along(others, windows, what, faithful=faithful, prefers=prefers)
                    if other.holds is False or (other.holds and regions_of is thorough_regions):
                        return other
        return found

    def _along(
        self,
        contexts: Contexts,
        windows: Sequence[AnalysedWindow],
        what: str,
        *,
        faithful: bool,
        prefers: bool,
    ) -> SpecComparison:
        """Return the comparison on the streams of some contexts."""
        present = ((window, which) for which, window in enumerate(windows))
        trackers = [
            None if index is None else StartTracker(Starts(contexts, *next(present)))
            for index in self.indices
        ]
        path = self._difference(contexts, trackers)
        if path is None:
            if not self._same_tests:
                reason = f"the predicates with aggregates of `{self.name}` are not compared"
                return SpecComparison(None, reason)
            if faithful or (self._same_rest and self._monotone(contexts, trackers)):
                return SpecComparison(True, f"on every stream they {what}")
            reason = (
                f"the windows that `within` and `having` of `{self.name}` drop are not compared"
            )
            if prefers:
                reason = f"which windows of `{self.name}` are preferred is not compared"
            return SpecComparison(None, reason)
        shown = self._shown(contexts, trackers, path)
        if shown is None:
            may = "differ" if len(self._windows) == 2 else "have windows"
            reason = f"`{self.name}` may {may}, but no stream was found that shows it"
            return SpecComparison(None, reason)
        events, (start, end, side) = shown
        reason = (
            f"only the {side} has the window `{self.name}` from {start} to {end} of this stream"
        )
        stream = table_of(self.meanings[0], events)
        return SpecComparison(False, reason, stream, (self.name, start, end), side)

    def _shown(
        self, contexts: Contexts, trackers: Sequence[StartTracker | None], path: list[Edge]
    ) -> tuple[list[Event], tuple[int, int, Side]] | None:
        """Return a stream along a path and the difference in it, or None if none is found.

        If regions are not exact, a path may be that of no stream. Then paths of streams are searched.
        """
        paths = [path] if contexts.regions.exact else self._paths(contexts, trackers)
        for own in islice(paths, MOST_PATHS):
            streams = concrete_streams(contexts, own)
            difference = None if streams is None else self._replayed(streams[0])
            if streams is not None and difference is not None:
                return streams[0], difference
        return None

    def _by_text(self, what: str) -> SpecComparison:
        """Return the comparison of windows whose preference depends on more than the letters of events."""
        one, two = self._windows[0], self._windows[-1]
        if len(self._windows) == 2 and one == two:
            return SpecComparison(True, f"on every stream they {what}")
        reason = f"which windows of `{self.name}` are preferred is not compared"
        return SpecComparison(None, reason)

    def _analysed(self, *, plain: bool) -> list[AnalysedWindow]:
        return [
            analysed_window(meaning, index, plain=plain)
            for meaning, index in zip(self.meanings, self.indices, strict=True)
            if index is not None
        ]

    @property
    def _windows(self) -> list[tree.Window]:
        return [
            meaning.expanded.windows[index]
            for meaning, index in zip(self.meanings, self.indices, strict=True)
            if index is not None
        ]

    def _monotone(self, contexts: Contexts, trackers: Sequence[StartTracker | None]) -> bool:
        """Tell whether an inclusion of windows before the clauses also holds after them.

        It does if `keep` drops no window, or if the windows before the clauses are equal.
        """
        if all(window.keep is None or window.keep.text == "all" for window in self._windows):
            return True
        stricter = _WindowPair(*self.meanings, self.name, operator.ne)
        return stricter._difference(contexts, trackers) is None

    @property
    def _same_tests(self) -> bool:
        """Tell whether predicates with aggregates play the same part in both windows, if there are any.

        The tables leave them out, so equal tables are not enough.
        """
        compiled = [
            compile_window(meaning, index)
            for meaning, index in zip(self.meanings, self.indices, strict=True)
            if index is not None
        ]
        if len(compiled) == 1 or not any(window.clauses.running for window in compiled):
            return True
        one, two = compiled
        automata = ((one.form.prefix, two.form.prefix), (one.form.window, two.form.window))
        return (
            one.letters == two.letters
            and one.until == two.until
            and np.array_equal(one.form.starts, two.form.starts)
            and all(
                np.array_equal(left.table[:, left.classes], right.table[:, right.classes])
                and np.array_equal(left.final, right.final)
                for left, right in automata
            )
            and _same_preference(one.preference, two.preference)
        )

    @property
    def _same_rest(self) -> bool:
        """Tell whether both windows have the same clauses, so that equal sets of windows stay equal."""
        if len(self._windows) == 1:
            return True  # clauses only remove windows
        # The tables express `until`. All other clauses are compared, those to come included.
        one, two = (
            replace(clauses_of(window), until=False, or_end=False) for window in self._windows
        )
        predicates = {(str(window.having), str(window.measures)) for window in self._windows}
        if one.resuming and len({str(window.pairs) for window in self._windows}) > 1:
            return False  # the expressions decide about labels, and labels about windows
        if any(map(uses_labels, self._windows)):
            predicates |= {(str(window.pairs), "") for window in self._windows}
            return one == two and (not one.having or len(predicates) == 2)
        return one == two and (not one.having or len(predicates) == 1)

    def _difference(
        self, contexts: Contexts, trackers: Sequence[StartTracker | None]
    ) -> list[Edge] | None:
        """Return a shortest path to a window that makes a difference, with the events after it."""
        product = _Product(contexts, trackers, self.judge)
        contexts.budget.renew()
        path = shortest(
            [(None, BEGINNING)], product.successors, product.is_goal, contexts.budget.check
        )
        return None if path is None else path[1]

    def _paths(
        self, contexts: Contexts, trackers: Sequence[StartTracker | None]
    ) -> Iterator[list[Edge]]:
        """Yield paths of streams to a window that makes a difference, the shortest first."""
        product = _Product(contexts, trackers, self.judge)
        contexts.budget.renew()
        return paths_of_streams(
            contexts.regions, BEGINNING, product.successors, product.is_goal, contexts.budget
        )

    def _replayed(self, events: list[Event]) -> tuple[int, int, Side] | None:
        """Return the first window in which the specs differ on a stream, and which spec has it."""
        by_side: list[set[tuple[int, int]]] = []
        for meaning, index in zip(self.meanings, self.indices, strict=True):
            windows = [] if index is None else replayed_windows(meaning, index, events)
            if windows is None:
                return None
            by_side.append(set(windows))
        first, second = by_side
        for start, end in sorted(first | second, key=lambda window: (window[1], window[0])):
            inside = (start, end) in first
            if self.judge(inside, (start, end) in second):
                return start, end, Side.FIRST if inside else Side.SECOND
        return None


@dataclass(frozen=True)
class _Product:
    """The graph of contexts and of the tracked starts in both specs."""

    contexts: Contexts
    trackers: Sequence[StartTracker | None]
    judge: Callable[[bool, bool], bool]

    def _differs(self, node: Pair, edge: Edge | None) -> bool:
        one, two = self.trackers
        _, left, right = node
        first = one is not None and one.is_window(left, edge)
        second = two is not None and two.is_window(right, edge)
        return self.judge(first, second)

    def successors(self, node: Pair) -> Iterator[tuple[Edge, Pair]]:
        """Yield the pairs that can follow a pair."""
        if node == SHOWN:
            return
        one, two = self.trackers
        context, left, right = node
        for edge in self.contexts.edges[context]:
            if self._differs(node, edge):
                yield edge, SHOWN
        if left.index == right.index == GONE:
            return
        started = NOT_YET not in (left.index, right.index)
        for edge in self.contexts.edges[context]:
            for begins in (False,) if started else (False, True):
                after = _after(one, left, edge, begins), _after(two, right, edge, begins)
                yield edge, (edge.to, *after)

    def is_goal(self, node: Pair) -> bool:
        """Tell whether a pair shows a difference."""
        return node == SHOWN or self._differs(node, None)


def _after(
    tracker: StartTracker | None, start: TrackedStart, edge: Edge, begins: bool
) -> TrackedStart:
    if tracker is None:
        return TrackedStart((), GONE if begins or start.index == GONE else NOT_YET)
    return tracker.after(start, edge, begins=begins)


def _same_preference(one: PreferenceForm | None, two: PreferenceForm | None) -> bool:
    """Tell whether two windows have the same ordered automaton, or none."""
    if one is None or two is None:
        return one is two
    first, second = (
        (
            form.starts,
            form.prefix.table[:, form.prefix.classes],
            form.ways.table[:, form.ways.classes],
            form.ways.accepts,
            form.ways.confirmed,
            form.ways.denied,
        )
        for form in (one, two)
    )
    return all(np.array_equal(left, right) for left, right in zip(first, second, strict=True))
