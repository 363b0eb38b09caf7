"""Answers that repeated events give: a number of starts or windows that grows with every repetition.

They need no regions. So they serve for predicates with aggregates, which regions do not know, and where there
is too much to explore. Events that leave all these starts open show growth of held starts, too.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity, Verdict
from wex.analysis.graphs import TooManyError
from wex.analysis.repetition_search import RepetitionSearch
from wex.analysis.repetition_solver import Goal
from wex.analysis.witness import replayed_windows

if TYPE_CHECKING:
    from wex.analysis.answers import Answer
    from wex.analysis.repetition import Repetition
    from wex.analysis.verdicts import Analysis
    from wex.analysis.window_tables import AnalysedWindow
    from wex.theory.evaluate import Event

LINEAR_REASON = "an unbounded number of starts can end at the same event"
QUADRATIC_REASON = "an unbounded number of starts can have an unbounded number of windows each"
ONE_START_REASON = "one start can have an unbounded number of windows"
Found = tuple["Repetition", RepetitionSearch]


def growth(analysis: Analysis, what: Quantity) -> Answer | None:
    """Return "unbounded" if events are found whose repetition makes a quantity grow."""
    if what is Quantity.OVERLAP:
        return _of_open_starts(analysis) or _of_one_start(analysis)
    shown = _of_starts(analysis, what, Goal.ENDING)
    if shown is None and what is Quantity.HELD:
        shown = _of_starts(analysis, what, Goal.LASTING)
    return shown


def _found(analysis: Analysis, goal: Goal) -> Found | None:
    """Return events that reach a goal, which are searched for once."""
    if goal not in analysis.repetitions:
        search = RepetitionSearch(analysis.meaning, analysis.index, analysis.budget)
        events = None
        with suppress(TooManyError):
            events = search.found(goal)
        analysis.repetitions[goal] = None if events is None else (events, search)
    return analysis.repetitions[goal]


def _of_starts(analysis: Analysis, what: Quantity, goal: Goal) -> Answer | None:
    """Return "unbounded" if repeated events make open or held starts accumulate."""
    found = _found(analysis, goal)
    if found is None:
        return None
    repetition, search = found

    def build(n: int) -> list[Event] | None:
        if what is Quantity.OPEN:
            return search.with_open(repetition, n)
        return analysis.with_held(search.held_stream(repetition, n), n)

    # What is found for open starts is proved; a plan holds others than the definition.
    if what is Quantity.HELD and build(search.lasting_if_held(repetition)) is None:
        return None
    words = repetition.in_words(sorted(search.read))
    return analysis.unbounded(what, Growth.LINEAR, f"{words} adds one", build)


def _of_open_starts(analysis: Analysis) -> Answer | None:
    """Return "unbounded" if the open starts that repeated events add all have a window."""
    unbounded = analysis.open.verdict is Verdict.UNBOUNDED
    found = _found(analysis, Goal.ENDING) if unbounded else None
    if found is None:
        return None
    repetition, search = found

    def build(n: int) -> list[Event] | None:
        rounds = search.rounds_for(repetition, n)
        return with_shared(analysis, [*repetition.stream(rounds), *repetition.ending(rounds)], n)

    if build(search.rounds) is None:
        return None
    speed, reason = Growth.LINEAR, LINEAR_REASON
    if search.is_quadratic(repetition):
        speed, reason = Growth.QUADRATIC, QUADRATIC_REASON
    elif _may_have_many_windows(analysis.window):
        reason = f"{reason}; the growth may be quadratic"
    return analysis.unbounded(Quantity.OVERLAP, speed, reason, build)


def _of_one_start(analysis: Analysis) -> Answer | None:
    """Return "unbounded" if a start has windows again and again, where open starts have a bound."""
    found = None if analysis.open.bound is None else _found(analysis, Goal.REPORTING)
    if found is None:
        return None
    repetition, search = found

    def build(n: int) -> list[Event] | None:
        streams = search.streams_reporting(repetition, n)
        return next(filter(None, (with_shared(analysis, each, n) for each in streams)), None)

    return analysis.unbounded(Quantity.OVERLAP, Growth.LINEAR, ONE_START_REASON, build)


def _may_have_many_windows(window: AnalysedWindow) -> bool:
    """Tell whether a start may have ever more windows, on other events."""
    clauses = window.clauses
    return not (clauses.running or clauses.ends_after_first) and window.most_windows is None


def with_shared(analysis: Analysis, events: list[Event], n: int) -> list[Event] | None:
    """Return the events if at least n of their windows share a position."""
    windows = replayed_windows(analysis.meaning, analysis.index, events) or []
    shared = [sum(b <= position <= e for b, e in windows) for position in range(len(events))]
    return events if max(shared, default=0) >= n else None
