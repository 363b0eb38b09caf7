"""One window as the analysis sees it: its tables and starts, as written and as a plan runs it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from wex.analysis.counting.single import Starts
from wex.analysis.graphs import TooManyError
from wex.analysis.regions.contexts import contexts_of
from wex.analysis.window_tables import analysed_window
from wex.stages import is_pruned
from wex.threads import cached_property

if TYPE_CHECKING:
    from wex.analysis.regions.contexts import Contexts, RegionMethod
    from wex.analysis.regions.graph import Budget
    from wex.analysis.window_tables import AnalysedWindow
    from wex.spec import Meaning


class Subject:
    """A window of a spec, with the contexts that its starts can be in.

    `regions_of` makes the region graph. Without `least`, plans are those before the stage "least form".
    """

    def __init__(
        self,
        meaning: Meaning,
        index: int,
        budget: Budget,
        regions_of: RegionMethod | None = None,
        *,
        least: bool = True,
    ) -> None:
        self.meaning = meaning
        self.index = index
        self.budget = budget
        self.regions_of = regions_of
        self.least = least
        self.window = analysed_window(meaning, index)
        self._contexts: Contexts | None = None
        with suppress(TooManyError):
            self._contexts = self._contexts_of(self.window)

    def _contexts_of(self, window: AnalysedWindow, *, moments: bool = False) -> Contexts:
        return contexts_of(
            [self.meaning], [window], self.budget, moments=moments, regions_of=self.regions_of
        )

    @property
    def contexts(self) -> Contexts:
        """Return the contexts of the window; raise TooManyError if there are too many."""
        if self._contexts is None:
            raise TooManyError
        return self._contexts

    @property
    def regions(self) -> tuple[int, str]:
        """Return the number of regions, and the method that found them."""
        regions = None if self._contexts is None else self._contexts.regions
        return (0, "none") if regions is None else (len(regions.edges), regions.method)

    @cached_property
    def starts(self) -> Starts:
        """Return the starts of the window, in the contexts where they can be."""
        return Starts(self.contexts, self.window)

    @cached_property
    def planned_window(self) -> AnalysedWindow:
        """Return the window as a plan runs it, to which `having` tells nothing, before its least form."""
        if not self.window.compiled.window.having and not self.window.clauses.running:
            return self.window
        return analysed_window(self.meaning, self.index, planned=True, least=False)

    @cached_property
    def planned_starts(self) -> Starts:
        """Return the starts that such a plan would hold."""
        if self.planned_window is self.window:
            return self.starts
        return Starts(self.contexts, self.planned_window)

    @cached_property
    def is_pruned(self) -> bool:
        """Tell whether a plan drops starts that no stream lets end."""
        return self.least and is_pruned(self.meaning, self.index)

    @cached_property
    def held_window(self) -> AnalysedWindow:
        """Return the window as a plan runs it, in its least form."""
        if not self.is_pruned:
            return self.planned_window
        return analysed_window(self.meaning, self.index, planned=True)

    @cached_property
    def held_starts(self) -> Starts:
        """Return the starts that a plan holds."""
        if not self.is_pruned:
            return self.planned_starts
        return Starts(self._contexts_of(self.held_window), self.held_window)

    @cached_property
    def timed_contexts(self) -> Contexts:
        """Return contexts whose edges also tell whether two events have the same time."""
        return self._contexts_of(self.window, moments=True)

    def timed(self, window: AnalysedWindow) -> Contexts:
        """Return such contexts for the window before or in its least form."""
        if window.compiled is self.window.compiled:
            return self.timed_contexts
        return self._contexts_of(window, moments=True)

    @property
    def exact(self) -> bool:
        """Tell whether counting on the automata gives exact numbers of windows."""
        return self.contexts.regions.exact and self.window.faithful
