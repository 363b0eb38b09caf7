"""Answers that repeated events give: a number of starts or windows that grows with every repetition.

They need no regions. So they serve for predicates with aggregates, which regions do not know, and where there
is too much to explore. Events that leave all these starts open show growth of held starts, too.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.analysis.answers import Growth, Quantity
from wex.analysis.graphs import TooManyError
from wex.analysis.repetition_search import RepetitionSearch
from wex.analysis.witness import replayed_windows

if TYPE_CHECKING:
    from wex.analysis.answers import Answer
    from wex.analysis.verdicts import Analysis
    from wex.analysis.window_tables import AnalysedWindow
    from wex.theory.evaluate import Event

LINEAR_REASON = "an unbounded number of starts can end at the same event"
QUADRATIC_REASON = "an unbounded number of starts can have an unbounded number of windows each"


def growing_starts(analysis: Analysis, what: Quantity) -> Answer | None:
    """Return "unbounded" if events are found whose repetition makes open or held starts accumulate."""
    shown = _growing(analysis, what, ended=True)
    if shown is None and what is Quantity.HELD:
        shown = _growing(analysis, what, ended=False)
    return shown


def _growing(analysis: Analysis, what: Quantity, *, ended: bool) -> Answer | None:
    """Return "unbounded" if repeated events show it, after which all starts can end in windows if they are `ended`."""
    if ended not in analysis.repetitions:
        search = RepetitionSearch(analysis.meaning, analysis.index, analysis.budget)
        events = None
        with suppress(TooManyError):
            events = search.open() if ended else search.held()
        analysis.repetitions[ended] = None if events is None else (events, search)
    found = analysis.repetitions[ended]
    if found is None:
        return None
    repetition, search = found

    def build(n: int) -> list[Event] | None:
        if what is Quantity.OPEN:
            return search.with_open(repetition, n)
        return analysis.with_held(search.held_stream(repetition, n), n)

    opened = what is Quantity.OPEN
    if build(search.rounds if opened else search.lasting_if_held(repetition)) is None:
        return None
    if opened:
        analysis.repeated = found
    words = repetition.in_words(sorted(search.read))
    return analysis.unbounded(what, Growth.LINEAR, f"{words} adds one", build)


def growing_windows(analysis: Analysis) -> Answer | None:
    """Return "unbounded" if the open starts that repeated events add all have a window, or one has any number."""
    if analysis.repeated is None:
        return _windows_of_one_start(analysis)
    found, search = analysis.repeated

    def build(n: int) -> list[Event] | None:
        rounds = search.rounds_for(found, n)
        return with_shared(analysis, [*found.stream(rounds), *found.ending(rounds)], n)

    if build(search.rounds) is None:
        return None
    growth, reason = Growth.LINEAR, LINEAR_REASON
    if search.is_quadratic(found):
        growth, reason = Growth.QUADRATIC, QUADRATIC_REASON
    elif _may_have_many_windows(analysis.window):
        reason = f"{reason}; the growth may be quadratic"
    return analysis.unbounded(Quantity.OVERLAP, growth, reason, build)


def _windows_of_one_start(analysis: Analysis) -> Answer | None:
    """Return "unbounded" if a start has windows again and again, where open starts have a bound."""
    if analysis.open.bound is None:
        return None
    search = RepetitionSearch(analysis.meaning, analysis.index, analysis.budget)
    found = None
    with suppress(TooManyError):
        found = search.reporting()
    if found is None:
        return None

    def build(n: int) -> list[Event] | None:
        streams = (with_shared(analysis, s, n) for s in search.streams_reporting(found, n))
        return next(filter(None, streams), None)

    reason = "one start can have an unbounded number of windows"
    return analysis.unbounded(Quantity.OVERLAP, Growth.LINEAR, reason, build)


def _may_have_many_windows(window: AnalysedWindow) -> bool:
    """Tell whether a start may have ever more windows, on other events."""
    clauses = window.clauses
    return not (clauses.running or clauses.ends_after_first) and window.most_windows is None


def with_shared(analysis: Analysis, events: list[Event], n: int) -> list[Event] | None:
    """Return the events if at least n of their windows share a position."""
    windows = replayed_windows(analysis.meaning, analysis.index, events) or []
    shared = [sum(b <= position <= e for b, e in windows) for position in range(len(events))]
    return events if max(shared, default=0) >= n else None
