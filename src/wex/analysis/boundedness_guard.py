"""Warn about a spec, or refuse it, if the number of starts that it holds can grow without bound."""

from __future__ import annotations

import logging
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from wex.analysis.counting.single import Starts
from wex.analysis.describe import stream_in_words
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.contexts import free_contexts
from wex.analysis.regions.graph import Budget
from wex.analysis.verdicts import Analysis
from wex.analysis.window_tables import analysed_window
from wex.errors import UnboundedError, WexError
from wex.spec import meaning as meaning_of

if TYPE_CHECKING:
    from wex.analysis.answers import Answer
    from wex.spec import Meaning, tree

LOGGER = logging.getLogger("wex")
_checked: dict[int, object] = {}  # by the hash of a spec: the call that has logged its warnings
SHOWN_STARTS = 3  # open starts at the end of the stream that a refusal shows


def warn(spec: tree.Spec) -> None:
    """Log a warning if a plan can hold an unbounded number of starts, once for each spec."""
    if not LOGGER.isEnabledFor(logging.WARNING) or hash(spec) in _checked:
        return
    lines = unbounded(spec)
    this_call = object()
    if _checked.setdefault(hash(spec), this_call) is this_call:  # no other thread was quicker
        for line in lines:
            LOGGER.warning(line)


def unbounded(spec: tree.Spec) -> tuple[str, ...]:
    """Return a line for each window of which a plan can hold an unbounded number of starts."""
    windows = _not_bounded(spec, 50, 0.2)  # a warning may not take long
    return tuple(_line(name, held) for _, name, held in windows if held.verdict == "unbounded")


def refuse_unbounded(spec: tree.Spec) -> None:
    """Raise an UnboundedError unless the number of starts that a plan holds is proved to be bounded."""
    for number, name, held in _not_bounded(spec, Budget.regions, Budget.seconds):
        line, stream = _line(name, held), None
        if held.verdict == "unbounded":
            with suppress(WexError):  # the analysis may have no such stream
                stream = held.witness(SHOWN_STARTS)
                shown = stream_in_words(held.meaning, number, stream)
                line += f"; the stream {shown} holds {SHOWN_STARTS} at its end, and so on"
        hint = "bound it (see `wex check`), or pass allow_unbounded=True and watch the state"
        raise UnboundedError("unbounded", line, hint, stream)


def _line(name: str, held: Answer) -> str:
    if held.verdict == "unknown":
        return (
            f"it is not proved that window `{name}` holds a bounded number of open starts:"
            f" {held.reason}"
        )
    return f"window `{name}` can hold an unbounded number of open starts: {held.reason}"


@lru_cache(maxsize=64)
def _not_bounded(
    spec: tree.Spec, regions: int, seconds: float
) -> tuple[tuple[int, str, Answer], ...]:
    """Return number, name and answer of each window whose held starts are not proved to be bounded."""
    windows = []
    meaning = meaning_of(spec)
    for number, window in enumerate(meaning.expanded.windows):
        budget = Budget(regions, seconds)
        if not _may_accumulate(meaning, number, budget):
            continue
        held = Analysis(meaning, number, budget).held
        if held.verdict != "bounded":
            windows.append((number, window.name.text, held))
    return tuple(windows)


def _may_accumulate(meaning: Meaning, number: int, budget: Budget) -> bool:
    """Tell whether starts accumulate if any event can follow any other: a quick first test."""
    subject = analysed_window(meaning, number, planned=True)
    if subject.clauses.single or subject.longest_life is not None:
        return False
    if subject.clauses.keep == "leftmost":
        return True  # windows that are decided may wait for earlier starts
    try:
        starts = Starts(free_contexts([subject], budget), subject)
        return any(True for _ in starts.pumps(starts.held))
    except TooManyError:
        return True
