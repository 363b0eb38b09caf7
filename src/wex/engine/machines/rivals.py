"""Open starts that can never win, because others of their stream dominate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.automata.dominance import Dominance
    from wex.engine.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class Rivals:
    """The states of starts, and which of them dominate which others.

    `states` has the window state by state of the machine, or for all of them, and slot.
    """

    states: Ints
    dominance: Dominance

    def left(self, machine_states: Ints, slots: Ints, streams: Ints) -> Bools:
        """Tell which open starts no others dominate; they come by stream, the oldest first.

        `machine_states` are those of the streams. One start of a state is open at most.
        """
        most = int(np.bincount(streams, minlength=1).max(initial=0))
        if most < 2:
            return np.ones(len(slots), dtype=np.bool_)
        states = self.states[machine_states[streams] if len(self.states) > 1 else 0, slots]
        earlier = _states_before(states, streams, most)
        later = _states_before(states[::-1], streams[::-1], most)[::-1]
        return ~self.dominance.dominated(earlier, states, later)


def _states_before(states: Ints, streams: Ints, most: int) -> NDArray[np.uint64]:
    """Return for each start the set of the states of those before it in its stream, `most` with it."""
    before = np.zeros(len(states), dtype=np.uint64)
    same = streams[1:] == streams[:-1]
    before[1:] = np.where(same, np.uint64(1) << states[:-1].astype(np.uint64), 0)
    reach = 1  # so many starts back are in the sets
    while reach < most - 1:
        same = streams[reach:] == streams[:-reach]
        before[reach:] |= np.where(same, before[:-reach], 0)
        reach *= 2
    return before
