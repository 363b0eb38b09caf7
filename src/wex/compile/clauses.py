"""The clauses of a window beside its expressions, as one value, and the rules that follow from them.

The same value goes from the resolver through compiled window and plan to the analysis and the
engine. A rule about clauses, such as "of two starts in one state the older wins", is a property
here and is written nowhere else; the kernels get the properties as a tuple.
"""

from __future__ import annotations

from dataclasses import dataclass

from wex.spec import tree
from wex.spec.aggregates import uses_aggregates
from wex.spec.types import EVENT_UNITS, microseconds
from wex.spec.vocabulary import PREFERENCE


@dataclass(frozen=True)
class Clauses:
    """The clauses `until`, `within`, `keep` and `having`; `within_time` is in microseconds.

    Of `until` and `having` only the presence is noted. Their predicates are compiled: to letters,
    and to a guard over measures.
    """

    until: bool
    or_end: bool
    within_events: int | None
    within_time: int | None
    keep: str
    having: bool
    sharing: int = 0  # events that two windows of `keep leftmost` may share
    resuming: tuple[str, str] | None = None  # or go on at the `first` or `last` event with a label
    running: bool = False  # predicates have aggregates: two starts in one state may part

    @property
    def prefers(self) -> bool:
        """Whether `keep` chooses by preference: the order of the ways counts, not only the language."""
        return self.keep in PREFERENCE

    @property
    def conditional(self) -> bool:
        """Whether a window that `match` accepts may yet be denied, by `until` or `having`.

        `within` denies none that a later and longer window of the same start would survive.
        """
        return self.until or self.having

    @property
    def waits(self) -> bool:
        """Whether `keep` waits until all windows of a batch are found: their order is not enough.

        It waits for `having`. And starts with aggregates of their own are followed one by one,
        whereas `keep disjoint` has to know of each end the starts.
        """
        return self.having or (self.running and self.keep == "disjoint")

    @property
    def early_keep(self) -> str:
        """The `keep` that acts while windows are found; `all` if it waits."""
        return "all" if self.waits else self.keep

    @property
    def keeps_late(self) -> bool:
        """Whether `keep` chooses among the windows of a batch when they are found.

        By preference it always chooses in a way of its own.
        """
        return self.waits and self.keep != "all" and not self.prefers

    @property
    def drops_starts_late(self) -> bool:
        """Whether a late `keep` removes open starts, too: those of chosen windows, or all others."""
        return self.waits and (self.keep in ("shortest", "disjoint") or self.prefers)

    @property
    def oldest_wins(self) -> bool:
        """Whether of the starts that end together only the oldest has a window."""
        return self.early_keep in ("longest", "disjoint")

    @property
    def cuts(self) -> bool:
        """Whether a window removes all other open starts."""
        return self.early_keep == "disjoint"

    @property
    def ends_after_first(self) -> bool:
        """Whether a start has one window and is removed with it."""
        return self.early_keep == "shortest"

    @property
    def single(self) -> bool:
        """Whether of two starts in one window state the older always wins, so that one is held.

        With `within` it does not: the older one grows too old first. Nor with aggregates.
        """
        return self.oldest_wins and self.limit is None and not self.running

    @property
    def limit(self) -> int | None:
        """How far before the end of a window its start may lie: in events or microseconds."""
        return self.within_time if self.within_events is None else self.within_events - 1


NO_CLAUSES = Clauses(False, False, None, None, "all", False)


def clauses_of(window: tree.Window) -> Clauses:
    """Return the clauses of a window."""
    within, until, onward = window.within, window.until, window.next_start
    by_events = within is not None and within.unit.text in EVENT_UNITS
    return Clauses(
        until=until is not None,
        or_end=until is not None and until.or_end,
        within_events=int(within.amount.value) if within and by_events else None,
        within_time=microseconds(within.amount, within.unit.text)
        if within and not by_events
        else None,
        keep=window.keep.text if window.keep else "all",
        having=window.having is not None,
        sharing=onward.amount.value if isinstance(onward, tree.Sharing) else 0,
        resuming=(onward.which.text, onward.label.text)
        if isinstance(onward, tree.Resuming)
        else None,
        running=any(uses_aggregates(part) for part in (*window.pairs, until) if part),
    )
