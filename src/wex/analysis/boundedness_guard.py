"""Warn about a spec, or refuse it, if the number of starts that it holds can grow without bound.

A window that was not found at all gets a warning if the analysis knows why.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from wex.analysis.answers import Kind, Verdict
from wex.analysis.counting.single import Starts
from wex.analysis.describe import example_stream, stream_in_words
from wex.analysis.findings import of_window
from wex.analysis.graphs import TooManyError
from wex.analysis.labels import keeps_events, most_kept_events
from wex.analysis.regions.contexts import free_contexts
from wex.analysis.regions.graph import Budget
from wex.analysis.unsaid import of_unbounded
from wex.analysis.verdicts import Analysis
from wex.analysis.window_tables import analysed_window
from wex.errors import UnboundedError
from wex.spec import meaning as meaning_of
from wex.spec import tree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from wex.analysis.answers import Answer, Finding
    from wex.spec import Meaning

LOGGER = logging.getLogger("wex")
_checked: dict[int, object] = {}  # by the hash of a spec: the call that has logged its warnings
QUICK = (50, 20_000)  # regions and steps of work: a warning may not take long
REASONS = (Kind.NEVER_HOLDS, Kind.NEVER_HOLDS_HERE, Kind.NEVER_OCCURS, Kind.ONLY_AT_FIRST)
FEW = 4096  # rows in which the names of windows are looked for first


@dataclass(frozen=True)
class _Unproved:
    """A window whose held starts are not proved to be bounded, and what may help."""

    number: int
    name: str
    held: Answer
    findings: tuple[Finding, ...]


def warn(spec: tree.Spec, windows: pa.Table | None = None) -> None:
    """Log a warning if a plan can hold an unbounded number of starts, once for each spec.

    If `windows` were found, also log why some window of the spec can never be among them.
    """
    if not LOGGER.isEnabledFor(logging.WARNING):
        return
    _log_once(hash(spec), unbounded, spec)
    if windows is not None and (absent := names_without_rows(spec, windows)):
        _log_once(hash((spec, absent)), never_found, spec, absent)


def _log_once(key: int, lines: Callable[..., tuple[str, ...]], *arguments: object) -> None:
    if key in _checked:
        return
    texts = lines(*arguments)
    this_call = object()
    if _checked.setdefault(key, this_call) is this_call:  # no other thread was quicker
        for text in texts:
            LOGGER.warning(text)


def unbounded(spec: tree.Spec) -> tuple[str, ...]:
    """Return a line for each window of which a plan can hold an unbounded number of starts."""
    windows = _not_bounded(spec, *QUICK)
    return tuple(
        "; ".join([_line(window.name, window.held), *map(str, window.findings)])
        for window in windows
        if window.held.verdict is Verdict.UNBOUNDED
    )


def names_without_rows(spec: tree.Spec, windows: pa.Table) -> frozenset[str]:
    """Return the names of the windows of a spec that a result does not have."""
    names = frozenset(window.name.text for window in spec.windows)
    if len(names) == 1:
        return frozenset() if windows.num_rows else names
    # Most windows of a spec are found soon: as a rule a few of millions of rows are read.
    column, read, size = windows.column("window_name"), 0, FEW
    while names and read < len(column):
        names -= set(column.slice(read, size).unique().to_pylist())
        read, size = read + size, 4 * size
    return names


@lru_cache(maxsize=64)
def never_found(spec: tree.Spec, names: frozenset[str]) -> tuple[str, ...]:
    """Return a line for each reason why some windows of a spec are not found in any data."""
    meaning = meaning_of(spec)
    return tuple(
        str(finding)
        for number, window in enumerate(meaning.expanded.windows)
        if window.name.text in names
        for finding in of_window(Analysis(meaning, number, Budget(*QUICK), quick=True))
        if finding.kind in REASONS
    )


def refuse_unbounded(
    spec: tree.Spec, override: str = "pass allow_unbounded=True and watch the state"
) -> None:
    """Raise an UnboundedError unless the number of starts that a plan holds is proved to be bounded.

    `override` says how to run the spec nevertheless.
    """
    most = Budget.current()
    for window in _not_bounded(spec, most.regions, most.work):
        number, held = window.number, window.held
        line, stream = _line(window.name, held), None
        example = example_stream(held.meaning, number, held)
        if example is not None:
            stream, starts = example
            shown = stream_in_words(held.meaning, number, stream)
            line += f"; the stream {shown} holds {len(starts)} at its end, and so on"
        remedies = (found for found in window.findings if found.kind is Kind.REMEDY)
        advice = next(map(str, remedies), "bound it (see `wex check`)")
        hint = f"{advice}; or {override}"
        raise UnboundedError("unbounded", line, hint, stream)
    for keeping in _keeping_events(spec):
        part, instead = "its measures depend on labels", "use `filter` instead of labels"
        if isinstance(keeping.next_start, tree.Resuming):
            part, instead = f"`{keeping.next_start}` depends on labels", "leave out `resuming`"
        line = (
            f"window `{keeping.name.text}` can keep an unbounded number of events: {part},"
            " which are known only when a window is complete"
        )
        hint = f"add `within 1000 events`, or {instead}; or {override}"
        raise UnboundedError("unbounded", line, hint)


def _keeping_events(spec: tree.Spec) -> Iterator[tree.Window]:
    """Yield the windows that keep their events for labels, without a bound on their number."""
    meaning = meaning_of(spec)
    for number, window in enumerate(meaning.expanded.windows):
        if keeps_events(meaning, number):
            planned = analysed_window(meaning, number, planned=True)
            if most_kept_events(meaning, planned) is None:
                yield window


def _line(name: str, held: Answer) -> str:
    if held.verdict is Verdict.UNKNOWN:
        return (
            f"it is not proved that window `{name}` holds a bounded number of open starts:"
            f" {held.reason}"
        )
    return f"window `{name}` can hold an unbounded number of open starts: {held.reason}"


@lru_cache(maxsize=64)
def _not_bounded(spec: tree.Spec, regions: int, work: int) -> tuple[_Unproved, ...]:
    """Return the windows whose held starts are not proved to be bounded."""
    windows: list[_Unproved] = []
    meaning = meaning_of(spec)
    for number, window in enumerate(meaning.expanded.windows):
        budget = Budget(regions, work)
        if not _may_accumulate(meaning, number, budget):
            continue
        analysis = Analysis(meaning, number, budget)
        if analysis.held.verdict is not Verdict.BOUNDED:
            findings = tuple(of_unbounded(analysis))
            windows.append(_Unproved(number, window.name.text, analysis.held, findings))
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
