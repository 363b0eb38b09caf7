"""Labels: whether the events of a window have the same labels in every way to match it.

Two ways through the positions of the expressions are followed at once, letter by letter. If they can
give an event different labels and both reach the end, the labels are ambiguous: the preferred way
decides. The question is about `match`; clauses that drop windows are not looked at.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from wex.analysis.compare import SpecComparison
from wex.analysis.describe import stream_in_words
from wex.analysis.graphs import TooManyError
from wex.analysis.lifetimes import DEAD
from wex.analysis.own_letters import over_events
from wex.analysis.rates import most_in_time
from wex.analysis.regions.contexts import contexts_of
from wex.analysis.regions.graph import SILENT
from wex.analysis.remedies import with_window
from wex.analysis.window_tables import AnalysedWindow
from wex.analysis.witness import concrete_streams, conforming_stream, table_of
from wex.automata.dfa import common_classes
from wex.automata.explore import explore, shortest
from wex.compile.clauses import NO_CLAUSES
from wex.compile.labels import MARK
from wex.compile.normal_form import NONE
from wex.errors import DataError
from wex.reference.labels import labellings, once
from wex.reference.windows import Definition
from wex.spec.resolve.label_checks import uses_labels
from wex.stages import compile_window
from wex.theory.terms import RunningTest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.analysis.regions.contexts import Contexts, Edge
    from wex.analysis.regions.graph import Budget
    from wex.compile.labels import LabelForm
    from wex.compile.window import CompiledWindow
    from wex.reference.preference import Labels
    from wex.spec import Meaning
    from wex.theory.evaluate import Event

TwoWays = tuple[int, int, bool]  # two positions, and whether labels have differed
GOAL: TwoWays = (MARK, MARK, True)
BEFORE: TwoWays = (-1, -1, False)  # no window has begun
UNAMBIGUOUS = "on every stream, all ways to match a window give its events the same labels"


def ambiguity(meaning: Meaning, index: int, budget: Budget) -> SpecComparison | None:
    """Tell whether the labels of a window are unambiguous on every stream; None: it has no labels."""
    compiled = compile_window(meaning, index)
    if compiled.labels is None:
        return None
    budget.renew()
    try:
        return _Search(meaning, index, compiled, compiled.labels).answer(budget)
    except TooManyError:
        reason = "there are too many ways to match a window to compare their labels"
        return SpecComparison(None, reason)


def most_kept_events(meaning: Meaning, window: AnalysedWindow) -> int | None:
    """Return how many events since the oldest start a plan keeps at most, or None without a bound."""
    timed = most_in_time(meaning, window)
    limits = [most for most in (window.clauses.within_events, timed) if most is not None]
    lives = [limit + window.clauses.until for limit in limits]
    lives += [] if window.longest_life is None else [window.longest_life]
    return min(lives, default=None)


def keeps_events(meaning: Meaning, index: int) -> bool:
    """Tell whether measures of a window or its next start depend on labels, so that its events are kept."""
    return uses_labels(meaning.expanded.windows[index])


class _Search:
    """The search for a stream with a window that two ways label differently."""

    def __init__(
        self, meaning: Meaning, index: int, compiled: CompiledWindow, form: LabelForm
    ) -> None:
        self.meaning, self.index, self.form = meaning, index, form
        self.compiled = compiled
        self.events = over_events(compiled)
        self.letters = self._letters()

    def _letters(self) -> list[list[int]]:
        """Return the letters of the window that each letter about events alone stands for."""
        guards = self.compiled.letters.guards
        shared = [at for at, guard in enumerate(guards) if not isinstance(guard, RunningTest)]
        groups: list[list[int]] = [[] for _ in range(len(self.events.letters))]
        for letter, row in enumerate(self.compiled.letters.rows):
            groups[self.events.letters.letter(tuple(row[at] for at in shared))].append(letter)
        return groups

    def answer(self, budget: Budget) -> SpecComparison:
        """Return whether labels are unambiguous, and if not a stream that shows it."""
        if not self._may_differ(budget):
            return SpecComparison(True, UNAMBIGUOUS)
        contexts = contexts_of([self.meaning], [self._window()], budget)
        budget.renew()
        path = self._path(contexts)
        if path is None:
            return SpecComparison(True, UNAMBIGUOUS)
        streams = concrete_streams(contexts, path)
        shown = None if streams is None else self._replayed(streams[0])
        if streams is None or shown is None:
            reason = "labels may be ambiguous, but no stream was found that shows it"
            return SpecComparison(None, reason)
        start, end, ways = shown
        stream = table_of(self.meaning, streams[0])
        name = self.meaning.spec.windows[self.index].name.text
        words = stream_in_words(self.meaning, self.index, stream)
        listed = " or ".join(f"`{_in_words(labels)}`" for labels in ways)
        reason = f"events {start} to {end} of the stream {words} are {listed}"
        return SpecComparison(False, reason, stream, (name, start, end))

    # --- Two ways

    def _begins(self, entry: int) -> Iterator[TwoWays]:
        form = self.form
        positions = form.begins[form.first_begin[entry] : form.first_begin[entry + 1]].tolist()
        for at, one in enumerate(positions):
            for two in positions[at:]:
                if MARK not in (one, two):
                    yield one, two, False

    def _after(self, ways: TwoWays, letter: int) -> set[TwoWays]:
        """Return where two ways can be after an event with one of the letters of an event."""
        one, two, differed = ways
        form = self.form
        differs = differed or bool(
            (form.has[one] != form.has[two]).any() or form.innermost[one] != form.innermost[two]
        )
        reached = set()
        for own in self.letters[letter]:
            cls = int(form.classes[own])
            for left in form.after(one, cls).tolist():
                for right in form.after(two, cls).tolist():
                    reached.add((left, right, differs))
        return reached

    def _may_differ(self, budget: Budget) -> bool:
        """Tell whether labels can differ if any letter can follow any other."""
        first = [
            ways for entry in range(len(self.form.first_begin) - 1) for ways in self._begins(entry)
        ]

        def successors(ways: TwoWays) -> Iterator[tuple[int, TwoWays]]:
            for letter in range(len(self.letters)):
                for after in self._after(ways, letter):
                    yield letter, after

        begins = [(None, ways) for ways in first]
        return shortest(begins, successors, GOAL.__eq__, budget.check) is not None

    # --- Streams

    def _window(self) -> AnalysedWindow:
        """Return tables that say where a window begins, and in which positions."""
        events = self.events
        own = [group[0] for group in self.letters]  # prefixes have no predicates with aggregates
        before, entries = events.form.prefix, self.form.prefix
        by_letter, keys = common_classes(
            before.classes.tolist(), [int(entries.classes[letter]) for letter in own],
            list(range(len(own))),
        )  # fmt: skip

        def successors(state: tuple[int, int]) -> list[tuple[int, int]]:
            one, two = state
            return [
                (int(before.table[one, left]), int(entries.table[two, right]))
                for left, right, _ in keys
            ]

        states, table = explore([(0, 0)], successors)
        masks = [0] * len(keys)
        for letter, cls in enumerate(by_letter):
            masks[cls] |= 1 << letter
        self.letter_of = [letter for _, _, letter in keys]
        return AnalysedWindow(
            name=events.window.name.text,
            first=events.lookback if events.window.unpadded else 0,
            lookback=events.lookback,
            masks=tuple(masks),
            compiled=events,
            prefix=tuple(map(tuple, table)),
            starts=tuple(
                DEAD if events.form.starts[one] == NONE else int(self.form.entry[two])
                for one, two in states
            ),
            moves=(),
            final=(),
            until=None,
            clauses=NO_CLAUSES,
            counted=False,
        )

    def _path(self, contexts: Contexts) -> list[Edge] | None:
        """Return a shortest path on which a window begins, and two ways end with different labels."""
        (window,) = contexts.windows

        def successors(node: tuple[int, TwoWays]) -> Iterator[tuple[Edge, tuple[int, TwoWays]]]:
            context, ways = node
            for edge in contexts.edges[context]:
                cls, (prefix,) = edge.classes[0], edge.before
                if ways == BEFORE:
                    yield edge, (edge.to, BEFORE)
                if cls == SILENT:
                    continue
                begun = [ways]
                if ways == BEFORE:
                    entry = window.starts[prefix]
                    begun = [] if entry == DEAD else list(self._begins(entry))
                for each in begun:
                    for after in self._after(each, self.letter_of[cls]):
                        yield edge, (edge.to, after)

        first = [(None, (0, BEFORE))]
        found = shortest(first, successors, lambda node: node[1] == GOAL, contexts.budget.check)
        return None if found is None else found[1]

    def _replayed(self, events: Sequence[Event]) -> tuple[int, int, list[Labels]] | None:
        """Return the first window of a stream that has two labellings, by the definition."""
        window = self.meaning.expanded.windows[self.index]
        plain = replace(window, until=None, within=None, keep=None, next_start=None, having=None)
        meaning = with_window(self.meaning, self.index, replace(plain, measures=()))
        stream = conforming_stream(meaning, events)
        if stream is None:
            return None
        try:
            definition = Definition(meaning, self.index, stream)
            for start, end in sorted(definition.w0(), key=lambda pair: (pair[1], pair[0])):
                ways = labellings(definition, start, end)
                if len(ways) > 1:
                    best = once(definition.labels((start, end)))
                    return start, end, [best, min(ways - {best})]
        except DataError:
            return None
        return None


def _in_words(labels: Labels) -> str:
    """Return the labels of events in one line; an event without one is a dash."""
    return " ".join(":".join(own) or "-" for own in labels)
