"""The clauses of a window beside its expressions, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.spec.types import EVENT_UNITS, microseconds

if TYPE_CHECKING:
    from wex.spec import tree


@dataclass(frozen=True)
class Clauses:
    """What `until`, `within`, `keep` and `having` say; `within_time` is in microseconds."""

    until: bool
    or_end: bool
    within_events: int | None
    within_time: int | None
    keep: str
    having: bool

    @property
    def single(self) -> bool:
        """Tell whether of the starts in one window state only the earliest can win, ever."""
        limited = self.within_events is not None or self.within_time is not None
        return self.keep in ("longest", "disjoint") and not limited and not self.having


def clauses_of(window: tree.Window) -> Clauses:
    """Return the clauses of a window."""
    within, until = window.within, window.until
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
    )
