"""One start of one window, followed along a path, to tell whether (b, e) is a window.

For `keep longest` and `keep disjoint` the starts around it are followed, too, as a list of
distinct window states, the earliest first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from wex.analysis.tables import DEAD

if TYPE_CHECKING:
    from wex.analysis.contexts import Edge
    from wex.analysis.starts import Starts

NOT_YET, GONE = -1, -2


@dataclass(frozen=True)
class Side:
    """Window states in order, and the place of the followed start among them.

    Where the order does not matter, the list has no other start.
    """

    order: tuple[int, ...] = ()
    at: int = NOT_YET


class Follower:
    """How a side changes with each event."""

    def __init__(self, starts: Starts) -> None:
        self.starts = starts
        self.subject = starts.subject
        self.clears = self.subject.in_order and self.subject.clauses.keep == "disjoint"

    def after(self, side: Side, edge: Edge, *, begins: bool) -> Side:
        """Return the side behind an event, at which the followed start begins or not."""
        if self.clears and self._cleared(side, edge):
            side = Side((), NOT_YET if side.at == NOT_YET else GONE)
        moved = [self.starts.moved(state, edge) for state in side.order]
        own = moved[side.at] if side.at >= 0 else DEAD
        born = self.starts.born(edge)
        # Who begins later matters only if windows clear, or until the followed start begins.
        others = self.subject.in_order and (self.clears or side.at == NOT_YET)
        if begins:
            own = born if born not in moved else DEAD
        elif side.at >= 0 and own in moved[: side.at]:
            own = DEAD
        if begins or others:
            moved.append(born)
        order = tuple(dict.fromkeys(state for state in moved if state != DEAD))
        if not self.subject.in_order and not begins and side.at < 0:
            order = ()
        started = begins or side.at != NOT_YET
        at = order.index(own) if own != DEAD else GONE if started else NOT_YET
        if at == GONE:
            return Side((), GONE)
        if at >= 0 and not self.clears:
            order = order[: at + 1]
        return replace(side, order=order, at=at)

    def _cleared(self, side: Side, edge: Edge) -> bool:
        final = self.subject.final
        if self.subject.until is None:
            return any(final[state] for state in side.order)
        return any(self.starts.ends(state, edge) for state in side.order)

    def is_window(self, side: Side, edge: Edge | None) -> bool:
        """Tell whether the followed start has a window that ends here, given the next event."""
        if side.at < 0:
            return False
        if self.subject.until is None:
            ending = [self.subject.final[state] for state in side.order]
        elif edge is None:
            ends = self.subject.clauses.or_end
            ending = [ends and self.subject.final[state] for state in side.order]
        else:
            ending = [self.starts.ends(state, edge) for state in side.order]
        return ending[side.at] and not any(ending[: side.at])
