"""Equivalence, inclusion and emptiness of specs, with the shortest difference as a stream."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.contexts import contexts_of
from wex.analysis.regions.graph import Budget
from wex.analysis.window_tables import DEAD, analysed_window
from wex.analysis.witness import concrete, replayed, table_of
from wex.automata.explore import shortest
from wex.compile.clauses import clauses_of
from wex.compile.guards import guarded_fields
from wex.errors import WexError
from wex.spec import as_spec
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning, SpecLike, tree
    from wex.theory.evaluate import Event


NOT_YET, GONE = -1, -2


@dataclass(frozen=True)
class TrackedStart:
    """Window states in order, and the place of the followed start among them.

    Where the order does not matter, the list has no other start.
    """

    order: tuple[int, ...] = ()
    at: int = NOT_YET


class StartTracker:
    """How a side changes with each event."""

    def __init__(self, starts: Starts) -> None:
        self.starts = starts
        self.subject = starts.subject
        self.clears = self.subject.in_order and self.subject.clauses.keep == "disjoint"

    def after(self, side: TrackedStart, edge: Edge, *, begins: bool) -> TrackedStart:
        """Return the side behind an event, at which the followed start begins or not."""
        if self.clears and self._cleared(side, edge):
            side = TrackedStart((), NOT_YET if side.at == NOT_YET else GONE)
        moved = [self.starts.moved(state, edge) for state in side.order]
        own = moved[side.at] if side.at >= 0 else DEAD
        born = self.starts.born(edge)
        # Who begins later matters only if windows clear, or until the followed start begins.
        others = self.subject.in_order and (self.clears or side.at == NOT_YET)
        if begins:
            own = born if born not in moved else DEAD
        elif side.at >= 0 and own in moved[: side.at]:
            own = DEAD
        if begins or others:
            moved.append(born)
        order = tuple(dict.fromkeys(state for state in moved if state != DEAD))
        if not self.subject.in_order and not begins and side.at < 0:
            order = ()
        started = begins or side.at != NOT_YET
        at = order.index(own) if own != DEAD else GONE if started else NOT_YET
        if at == GONE:
            return TrackedStart((), GONE)
        if at >= 0 and not self.clears:
            order = order[: at + 1]
        return replace(side, order=order, at=at)

    def _cleared(self, side: TrackedStart, edge: Edge) -> bool:
        final = self.subject.final
        if self.subject.until is None:
            return any(final[state] for state in side.order)
        return any(self.starts.ends(state, edge) for state in side.order)

    def is_window(self, side: TrackedStart, edge: Edge | None) -> bool:
        """Tell whether the followed start has a window that ends here, given the next event."""
        if side.at < 0:
            return False
        if self.subject.until is None:
            ending = [self.subject.final[state] for state in side.order]
        elif edge is None:
            ends = self.subject.clauses.or_end
            ending = [ends and self.subject.final[state] for state in side.order]
        else:
            ending = [self.starts.ends(state, edge) for state in side.order]
        return ending[side.at] and not any(ending[: side.at])


Node = tuple[int, TrackedStart, TrackedStart]
Pair = tuple[int, int]
SECONDS = 5.0  # of work, twice: for the regions, and for the difference
SHOWN: Node = (-1, TrackedStart(), TrackedStart())  # behind an event that has shown a difference


@dataclass(frozen=True)
class SpecComparison:
    """Whether something holds of all streams: True, False, or None if that is not known.

    `witness` is a stream for which it does not, and `window` the window there: its name, start
    and end.
    """

    holds: bool | None
    reason: str
    witness: pa.Table | None = None
    window: tuple[str, int, int] | None = None

    def __bool__(self) -> bool:
        message = "a comparison can be True, False or unknown"
        raise TypeError(f"{message}: ask for `.holds`")


def equivalent(a: SpecLike, b: SpecLike) -> SpecComparison:
    """Tell whether two specs have the same windows on every stream.

    >>> import wex
    >>> one = wex.parse("stream s (x real) window w match [x > 0] [x > 0]*")
    >>> two = wex.parse("stream s (x real) window w match [x > 0]+")
    >>> wex.equivalent(one, two).holds
    True
    """
    return _compared(a, b, lambda one, two: one != two, "have the same windows")


def includes(a: SpecLike, b: SpecLike) -> SpecComparison:
    """Tell whether every window of b is a window of a.

    >>> import wex
    >>> wide = wex.parse("stream s (x real) window w match [x > 0]+")
    >>> narrow = wex.parse("stream s (x real) window w match [x > 0]{3}")
    >>> found = wex.includes(narrow, wide)
    >>> found.holds, found.window
    (False, ('w', 0, 0))
    """
    return _compared(a, b, lambda one, two: two and not one, "include the windows of the other")


def is_empty(spec: SpecLike) -> SpecComparison:
    """Tell whether a spec has no windows at all, on any stream.

    >>> import wex
    >>> wex.is_empty(wex.parse("stream s (x real) window w match [x > 1 and x < 0]")).holds
    True
    """
    spec = as_spec(spec)
    nothing = replace(spec, windows=())
    found = _compared(nothing, spec, lambda one, two: one != two, "have no windows")
    if found.window is not None:
        name, start, end = found.window
        return replace(found, reason=f"this stream has the window `{name}` from {start} to {end}")
    return replace(found, reason="no stream has a window") if found.holds else found


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
    names = dict.fromkeys(
        window.name.text for each in (first, second) for window in each.expanded.windows
    )
    unknown: SpecComparison | None = None
    for name in names:
        found = _Pair(first, second, name, judge).compared(what)
        if found.holds is False:
            return found
        if found.holds is None:
            unknown = found
    return SpecComparison(True, f"on every stream they {what}") if unknown is None else unknown


def _same_streams(first: Meaning, second: Meaning) -> None:
    one, two = first.spec.stream, second.spec.stream
    same = (
        first.fields == second.fields
        and [each.text for each in one.partition_by] == [each.text for each in two.partition_by]
        and [each.text for each in one.order_by] == [each.text for each in two.order_by]
    )
    if not same:
        message = "the two specs are about different streams"
        hint = "give both the same fields, `partition by` and `order by`"
        raise WexError("streams-differ", message, hint)


def _place(meaning: Meaning, name: str) -> int | None:
    names = [window.name.text for window in meaning.expanded.windows]
    return names.index(name) if name in names else None


class _Pair:
    """The windows of one name in both specs; one of them may lack it."""

    def __init__(
        self, first: Meaning, second: Meaning, name: str, judge: Callable[[bool, bool], bool]
    ) -> None:
        self.meanings = (first, second)
        self.name = name
        self.judge = judge
        self.places = (_place(first, name), _place(second, name))

    def compared(self, what: str) -> SpecComparison:
        try:
            return self._compared(what)
        except TooManyError:
            return SpecComparison(None, f"`{self.name}` has more combinations than were looked at")

    def _compared(self, what: str) -> SpecComparison:
        subjects = self._subjects(plain=False)
        faithful = all(each.faithful for each in subjects)
        if not faithful:
            subjects = self._subjects(plain=True)
        contexts = contexts_of(self.meanings, subjects, Budget(seconds=SECONDS))
        numbers = iter(range(len(subjects)))
        followers = [
            None if place is None else self._follower(contexts, subjects, next(numbers))
            for place in self.places
        ]
        path = self._difference(contexts, followers)
        if path is None:
            if faithful or (self._same_rest and self._monotone(contexts, followers)):
                return SpecComparison(True, f"on every stream they {what}")
            reason = f"what `within` and `having` of `{self.name}` drop is not compared"
            return SpecComparison(None, reason)
        found = concrete(contexts, path)
        shown = None if found is None else self._replayed(found[0])
        if found is None or shown is None:
            may = "differ" if len(self._windows) == 2 else "have windows"
            reason = f"`{self.name}` may {may}, but no stream was found that shows it"
            return SpecComparison(None, reason)
        b, e, inside = shown
        whose = "only the first has" if inside else "only the second has"
        reason = f"{whose} the window `{self.name}` from {b} to {e} of this stream"
        return SpecComparison(
            False, reason, table_of(self.meanings[0], found[0]), (self.name, b, e)
        )

    def _subjects(self, *, plain: bool) -> list[AnalysedWindow]:
        return [
            analysed_window(meaning, place, plain=plain)
            for meaning, place in zip(self.meanings, self.places, strict=True)
            if place is not None
        ]

    @property
    def _windows(self) -> list[tree.Window]:
        return [
            meaning.expanded.windows[place]
            for meaning, place in zip(self.meanings, self.places, strict=True)
            if place is not None
        ]

    def _monotone(self, contexts: Contexts, followers: Sequence[StartTracker | None]) -> bool:
        """Tell whether no difference before the same clauses means none behind them.

        The same windows stay the same. More windows stay more only where all are kept.
        """
        if all(window.keep is None or window.keep.text == "all" for window in self._windows):
            return True
        stricter = _Pair(*self.meanings, self.name, operator.ne)
        return stricter._difference(contexts, followers) is None

    @property
    def _same_rest(self) -> bool:
        """Tell whether all clauses are the same: then the same windows stay the same."""
        if len(self._windows) == 1:
            return True  # none before the clauses is none behind them
        rest = []
        for each in self._windows:
            clauses = clauses_of(each)
            limits = clauses.within_events, clauses.within_time, clauses.keep
            rest.append((*limits, str(each.having), str(each.measures) if each.having else ""))
        return rest[0] == rest[1]

    @staticmethod
    def _follower(
        contexts: Contexts, subjects: Sequence[AnalysedWindow], which: int
    ) -> StartTracker:
        return StartTracker(Starts(contexts, subjects[which], which))

    def _difference(
        self, contexts: Contexts, followers: Sequence[StartTracker | None]
    ) -> list[Edge] | None:
        """Return a shortest path to a window that makes a difference, with what follows it."""
        one, two = followers

        def differs(node: Node, edge: Edge | None) -> bool:
            _, left, right = node
            first = one is not None and one.is_window(left, edge)
            second = two is not None and two.is_window(right, edge)
            return self.judge(first, second)

        def successors(node: Node) -> Iterator[tuple[Edge, Node]]:
            context, left, right = node
            for edge in contexts.edges[context]:
                if differs(node, edge):
                    yield edge, SHOWN
            if left.at == right.at == GONE:
                return
            started = NOT_YET not in (left.at, right.at)
            for edge in contexts.edges[context]:
                for begins in (False,) if started else (False, True):
                    yield (
                        edge,
                        (
                            edge.to,
                            _after(one, left, edge, begins),
                            _after(two, right, edge, begins),
                        ),
                    )

        def is_goal(node: Node) -> bool:
            return node == SHOWN or differs(node, None)

        contexts.budget.renew()
        found = shortest(
            [(None, (0, TrackedStart(), TrackedStart()))],
            successors,
            is_goal,
            contexts.budget.check,
        )
        return None if found is None else found[1]

    def _replayed(self, events: list[Event]) -> tuple[int, int, bool] | None:
        """Return a window in which the specs differ on a stream, and whether it is the first's."""
        found: list[set[Pair]] = []
        for meaning, place in zip(self.meanings, self.places, strict=True):
            windows = [] if place is None else replayed(meaning, place, events)
            if windows is None:
                return None
            found.append(set(windows))
        for b, e in sorted(found[0] | found[1], key=lambda pair: (pair[1], pair[0])):
            inside = (b, e) in found[0]
            if self.judge(inside, (b, e) in found[1]):
                return b, e, inside
        return None


def _after(
    follower: StartTracker | None, side: TrackedStart, edge: Edge, begins: bool
) -> TrackedStart:
    if follower is None:
        return TrackedStart((), GONE if begins or side.at == GONE else NOT_YET)
    return follower.after(side, edge, begins=begins)
