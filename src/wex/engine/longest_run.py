"""`keep longest` after `having`, without all windows: of each end the oldest starts are tried first.

An end has as many windows as starts are open there, so that all windows may be as many as pairs of events. Few
of them are looked at:

1. Conditions that hold of all parts of a window, such as `count() <= 9`, say from where on starts count: a binary search,
   for all ends at the same time.
2. Of the starts left, the oldest one of each end is tried. That is all if the other conditions hold of all windows that contain
   one of which they hold, such as `count() >= 3`.
3. Otherwise the eight oldest are tried where the first one failed, then 64, until one is found or there are no more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wex.engine.kernels.lists import FAR
from wex.engine.kernels.types import Choice, read_only
from wex.engine.machines import room
from wex.engine.machines.choose import ALL, Machine
from wex.engine.measures.certainty import Trend, all_have_results
from wex.engine.measures.panes import Ranges
from wex.engine.window_run import Matches, WindowRun
from wex.theory.terms import And

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.kernels.types import Segments
    from wex.engine.window_run import FoundWindows, Window
    from wex.theory.terms import Guard

MORE = 8  # times as many starts are tried in the next round
KINDS = ("configs", "moving")  # of machines that end several windows with one event


def is_searched(window: Window) -> bool:
    """Tell whether of the windows of each end the oldest starts are tried first."""
    clauses, machine = window.planned.clauses, window.machine
    longest = clauses.keeps_late and clauses.keep == "longest" and clauses.having
    plain = isinstance(machine, Machine) and machine.kind in KINDS
    return longest and plain and not window.measuring.labelled


class _Parts(NamedTuple):
    """`having` in two parts."""

    of_shorter: Guard | None  # what holds of all parts of a window, if it holds of the window
    first_decides: bool  # the rest holds of all windows that contain one of which it holds


class LongestRun(WindowRun):
    """One window with `having` and `keep longest` over one batch."""

    def found(self, codes: NDArray[np.generic]) -> FoundWindows:
        """Return the windows that the machine finds, as far as they are reported."""
        parts = self._parts()
        if parts is None:
            return super().found(codes)
        return self._reported(self._longest(codes, self.segments(), parts))

    def _parts(self) -> _Parts | None:
        """Return the parts of `having`; None: a window that is left out might have been an error."""
        having, measures = self.window.measuring.having, self.window.planned.measures
        assert having is not None
        assert self.measured is not None
        if any(bad is not None and bad[-1] for bad in self.measured.failures):
            return None
        items = self.measured.items_of_measures()
        if items is None or not all_have_results(measures, items, having):
            return None
        order = self.engine.stream.order_by
        trend = Trend(measures, items, order[0] if order else None)
        conditions = list(_conditions(having))
        shorter = tuple(part for part in conditions if trend.holds_of_shorter(part))
        first_decides = all(
            trend.holds_of_longer(part) for part in conditions if part not in shorter
        )
        return _Parts(And(shorter) if shorter else None, first_decides)

    def _longest(self, codes: NDArray[np.generic], segments: Segments, parts: _Parts) -> Matches:
        """Return of each end the window with the oldest start that `having` holds of."""
        chosen: list[Matches] = []
        most = 1
        matches = self._oldest(codes, segments, Choice(ALL.since, most))
        since = np.full(self.batch.rows, -1, dtype=np.int64)
        if parts.of_shorter is not None:
            each = matches.where(_firsts(matches.end))
            since[each.end] = self._since(each, parts.of_shorter)
            matches = self._oldest(codes, segments, Choice(read_only(since), most))
        left = self._choose(matches, most, chosen)
        while len(left) and not parts.first_decides:
            most *= MORE
            undecided = []
            # As many ends at a time as there is room for their windows.
            count = max(1, room.MOST_LATE // min(most, self.panes.count))
            for at in range(0, len(left), count):
                wanted = np.full_like(since, FAR)
                wanted[left[at : at + count]] = since[left[at : at + count]]
                matches = self._oldest(codes, segments, Choice(read_only(wanted), most))
                undecided.append(self._choose(matches, most, chosen))
            left = np.concatenate(undecided)
        whole = Matches(*map(np.concatenate, zip(*chosen, strict=True)))
        return whole.where(np.argsort(whole.end, kind="stable"))

    def _oldest(self, codes: NDArray[np.generic], segments: Segments, choice: Choice) -> Matches:
        """Return the windows that are asked for; the starts that stay open are always the same."""
        machine = self.window.machine
        assert isinstance(machine, Machine)
        self.result = machine.run(
            codes, self.clock, segments, last=self.last_batch, late=True, choice=choice
        )
        return Matches(self.result.start, self.result.end, self.result.owners)

    def _choose(self, matches: Matches, most: int, chosen: list[Matches]) -> Ints:
        """Add to the chosen windows the first one of each end, and return the ends that are undecided.

        Unless all of its starts were tried, an end has at least `most` windows.
        """
        _, keep = self._measures_and_having(matches)
        assert keep is not None
        fitting = matches.where(keep)
        chosen.append(fitting.where(_firsts(fitting.end)))
        begins = _firsts(matches.end)
        if not len(begins):
            return begins
        counts = np.diff(begins, append=len(matches.end))
        left = (counts >= most) & ~np.logical_or.reduceat(keep, begins)
        undecided: Ints = matches.end[begins[left]]
        return undecided

    def _since(self, windows: Matches, guard: Guard) -> Ints:
        """Return for each end the first pane from which on a guard holds up to the end; FAR: there is none."""
        high = windows.end + self.panes.shift[windows.streams] + 1
        begins = self.batch.begin + self.panes.shift - self.panes.carried
        low, found = (
            begins[windows.streams] - 1,
            high.copy(),
        )  # it fails from `low` on, if that is a pane
        while True:
            open_ = np.flatnonzero(found - low > 1)
            if not len(open_):
                break
            middle = (low[open_] + found[open_]) // 2
            holds = self._holds(Ranges(middle, high[open_]), guard)
            found[open_] = np.where(holds, middle, found[open_])
            low[open_] = np.where(holds, low[open_], middle)
        return np.where(found == high, FAR, found)

    def _holds(self, windows: Ranges, guard: Guard) -> Bools:
        """Tell of which ranges of panes a part of `having` holds."""
        assert self.measured is not None
        results = self.measured.in_blocks(windows, _never_fails)
        held = self.window.measuring.kept(results, len(windows.low), _never_fails, guard)
        assert held is not None
        return held


def _conditions(guard: Guard) -> Iterator[Guard]:
    """Yield the conditions all of which have to hold."""
    if isinstance(guard, And):
        for part in guard.parts:
            yield from _conditions(part)
    else:
        yield guard


def _never_fails(_window: int, why: str, _measure: str | None) -> Exception:
    return AssertionError(why)


def _firsts(ends: Ints) -> Ints:
    """Return the places at which ascending ends change, the first one included."""
    return np.flatnonzero(np.diff(ends, prepend=-1))
