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
_looked_at: dict[int, object] = {}  # hashes of specs of which a warning was given, if need be
SHOWN = 3  # starts held in the stream that a refusal shows


def warn(spec: tree.Spec) -> None:
    """Log a warning if a running plan may hold any number of starts, once for each spec."""
    if not LOGGER.isEnabledFor(logging.WARNING) or hash(spec) in _looked_at:
        return
    lines = unbounded(spec)
    own = object()
    if _looked_at.setdefault(hash(spec), own) is own:  # no other thread was quicker
        for line in lines:
            LOGGER.warning(line)


def unbounded(spec: tree.Spec) -> tuple[str, ...]:
    """Return a line for each window of which a plan may hold any number of starts."""
    found = _piling(spec, 50, 0.2)  # a warning may not take long
    return tuple(_line(name, held) for _, name, held in found if held.verdict == "unbounded")


def refuse_unbounded(spec: tree.Spec) -> None:
    """Raise an UnboundedError unless what windows hold is proved to be bounded: a stream may not end."""
    for at, name, held in _piling(spec, Budget.regions, Budget.seconds):
        line, stream = _line(name, held), None
        if held.verdict == "unbounded":
            with suppress(WexError):  # no stream may have been found
                stream = held.witness(SHOWN)
                shown = stream_in_words(held.meaning, at, stream)
                line += f"; the stream {shown} holds {SHOWN} at its end, and so on"
        hint = "bound it (see `wex check`), or say allow_unbounded=True and watch the state"
        raise UnboundedError("unbounded", line, hint, stream)


def _line(name: str, held: Answer) -> str:
    if held.verdict == "unknown":
        return (
            f"that the starts which window `{name}` holds are bounded is not proved: {held.reason}"
        )
    return (
        f"the starts that window `{name}` holds can grow without bound"
        f" ({held.growth}): {held.reason}"
    )


@lru_cache(maxsize=64)
def _piling(spec: tree.Spec, regions: int, seconds: float) -> tuple[tuple[int, str, Answer], ...]:
    """Return place, name and answer of each window that is not shown to hold few starts."""
    found = []
    meaning = meaning_of(spec)
    for at, window in enumerate(meaning.expanded.windows):
        budget = Budget(regions, seconds)
        if not _piles_up(meaning, at, budget):
            continue
        held = Analysis(meaning, at, budget).held
        if held.verdict != "bounded":
            found.append((at, window.name.text, held))
    return tuple(found)


def _piles_up(meaning: Meaning, at: int, budget: Budget) -> bool:
    """Tell whether starts pile up if any event can follow any other: a quick first look."""
    subject = analysed_window(meaning, at, planned=True)
    if subject.clauses.single or subject.longest_life is not None:
        return False
    try:
        starts = Starts(free_contexts([subject], budget), subject)
        return any(True for _ in starts.pumps(starts.held))
    except TooManyError:
        return True
