"""`wex.check`: the report of the analysis about all windows of a spec."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex import limits, notebook
from wex.analysis import findings
from wex.analysis.answers import Verdict
from wex.analysis.labels import ambiguity, most_kept_events
from wex.analysis.regions.graph import Budget
from wex.analysis.state_size import StateSize, rows_of_starts
from wex.analysis.verdicts import Analysis
from wex.errors import WexError
from wex.spec import as_spec, tree
from wex.spec import meaning as meaning_of
from wex.spec.aggregates import KEEPING_VALUES, is_aggregate
from wex.spec.resolve.label_checks import uses_labels
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.analysis.answers import Answer, Finding
    from wex.analysis.compare import SpecComparison
    from wex.spec import Meaning, SpecLike


@dataclass(frozen=True)
class WindowReport:
    """The report about one window: its answers, and findings.

    `delay` is how many events after its end a window is decided.

    `keeps` are the aggregates that keep a value of each event since the oldest start that is held, or, if
    they depend on labels, the event itself, each with the greatest number of these events, or None if there is no bound.

    `rows` is how many rows the state needs for the starts, or None if there is no bound.

    `labels` tells whether the labels of its windows are unambiguous on every stream; None: it has none.

    `regions` is the number of regions that the analysis distinguishes, `way` the method that found
    them.
    """

    name: str
    open: Answer
    held: Answer
    overlap: Answer
    delay: Answer
    findings: tuple[Finding, ...]
    regions: int
    way: str
    seconds: float = field(compare=False)
    keeps: tuple[tuple[str, int | None], ...] = ()
    rows: int | None = None
    labels: SpecComparison | None = None

    @property
    def sentence(self) -> str:
        """Return in words whether the number of starts held has a bound."""
        match self.held.verdict:
            case Verdict.BOUNDED:
                return f"{self.held} start{'' if self.held.bound == 1 else 's'} held at once"
            case Verdict.UNBOUNDED:
                return "the starts held can grow without bound"
        return "whether the starts held are bounded is not known"

    @property
    def labels_in_words(self) -> tuple[str, str] | None:
        """Return whether labels are unambiguous, and why; None: the window has no labels."""
        if self.labels is None:
            return None
        told = {True: "unambiguous", False: "ambiguous", None: "unknown"}[self.labels.holds]
        why = "the preferred way decides" if told == "ambiguous" else self.labels.reason
        return told, why

    @property
    def keeps_in_words(self) -> list[str]:
        """Return a sentence about each aggregate that keeps values of events."""
        return [
            f"{aggregate} keeps a value of {'each event' if most is None else f'at most {most:,} events'} "
            "since the oldest start that is held"
            for aggregate, most in self.keeps
        ]

    @property
    def answers(self) -> dict[str, Answer]:
        """Return the answers by name."""
        return {
            "open": self.open,
            "held": self.held,
            "overlap": self.overlap,
            "delay": self.delay,
        }


@dataclass(frozen=True)
class Report:
    """The report about a spec; `report["name"]` is the report about one window."""

    spec: tree.Spec = field(repr=False)
    windows: tuple[WindowReport, ...]
    findings: tuple[Finding, ...]
    seconds: float = field(compare=False)

    @cached_property
    def state_bytes(self) -> int | None:
        """Return about how many bytes of state a stream needs at most, or None if there is no bound.

        Aggregates that keep values of each event (`WindowReport.keeps`) need `event_bytes` more for every
        event since the oldest start that is held, if it is not a start itself.
        """
        if not self.windows:
            return None
        return StateSize(self.spec).at_most(
            [window.held for window in self.windows], [window.rows for window in self.windows]
        )

    @cached_property
    def event_bytes(self) -> int:
        """Return how many bytes of state each event adds while a start is held; 0: none does."""
        return StateSize(self.spec).per_event() if self.windows else 0

    @property
    def size_in_words(self) -> str | None:
        """Return in words how much state a stream takes, or None if there is no bound."""
        if self.state_bytes is None:
            return None
        more = self.event_bytes
        values = f", and {more:,} per event of an open window for the values kept" if more else ""
        return f"a stream takes about {self.state_bytes:,} bytes of state at most{values}"

    _repr_html_ = notebook.html_of

    def __getitem__(self, name: str) -> WindowReport:
        for window in self.windows:
            if window.name == name:
                return window
        known = ", ".join(window.name for window in self.windows) or "none"
        raise KeyError(f"there is no window {name!r}; there are: {known}")

    def __iter__(self) -> Iterator[WindowReport]:
        return iter(self.windows)

    def __str__(self) -> str:
        lines = []
        for window in self.windows:
            answers = (f"{name} {answer}" for name, answer in window.answers.items())
            lines.append(f"{window.name}: {', '.join(answers)}")
        of_windows = [finding for window in self.windows for finding in window.findings]
        return "\n".join([*lines, *map(str, self.findings), *map(str, of_windows)])


def check(spec: SpecLike, effort: int | None = None) -> Report:
    """Return how many starts can be open and held, how many windows overlap, how late they are decided.

    `effort` is the number of steps that each answer may take, otherwise `wex.limits` has it.
    """
    if effort is not None:
        if effort < 1:
            raise WexError("wrong-argument", "effort must be positive", "200000 is usual")
        with limits.raised(effort=effort):
            return check(spec)
    began = time.monotonic()
    spec = as_spec(spec)
    meaning = meaning_of(spec)
    windows = tuple(_window(meaning, index) for index in range(len(meaning.expanded.windows)))
    of_spec = (*findings.of_assumptions(meaning), *findings.of_lets(spec))
    return Report(spec, windows, of_spec, time.monotonic() - began)


def _window(meaning: Meaning, index: int) -> WindowReport:
    began = time.monotonic()
    budget = Budget.of_window(len(meaning.expanded.windows))
    analysis = Analysis(meaning, index, budget)
    labels = ambiguity(meaning, index, budget)
    return WindowReport(
        analysis.window.name,
        analysis.open,
        analysis.held,
        analysis.overlap,
        analysis.delay,
        (*findings.of_window(analysis), *findings.of_labels(analysis.window.name, labels)),
        *analysis.regions,
        time.monotonic() - began,
        tuple(_kept_values(analysis)),
        rows_of_starts(analysis.meaning, analysis.planned_window, analysis.held),
        labels,
    )


def _kept_values(analysis: Analysis) -> Iterator[tuple[str, int | None]]:
    """Yield the aggregates and clauses of a window that keep values, and of how many events at most."""
    most = most_kept_events(analysis.meaning, analysis.planned_window)
    window = analysis.meaning.expanded.windows[analysis.index]
    if isinstance(window.next_start, tree.Resuming):
        yield f"`{window.next_start}`", most
    for measure in window.measures:
        for node in tree.walk(measure):
            if not isinstance(node, tree.Call) or not is_aggregate(node):
                continue
            if node.name.text in KEEPING_VALUES or uses_labels(node):
                yield str(node), most
            elif node.name.text == "nth":
                yield str(node), _least(most, _of_each_start(node, analysis.held))


def _of_each_start(node: tree.Call, held: Answer) -> int | None:
    """Return how many values `nth` keeps at most: n of each start."""
    place = node.args[1]
    assert isinstance(place, tree.Int)
    return None if held.bound is None else abs(place.value) * held.bound


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
