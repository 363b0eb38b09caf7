"""Open starts that can never win, because an earlier one of their stream dominates them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from wex.engine.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class Rivals:
    """The states of starts, and which of them dominate which others.

    `states` has the window state by state of the machine, or for all of them, and slot;
    `dominates[earlier, later]` is by window states: see `wex.automata.dominance`.
    """

    states: Ints
    dominates: Bools

    def left(self, machine_states: Ints, slots: Ints, streams: Ints) -> Bools:
        """Tell which open starts no earlier one dominates; they come by stream, the oldest first.

        `machine_states` are those of the streams. One start of a state is open at most.
        """
        states = self.states[machine_states[streams] if len(self.states) > 1 else 0, slots]
        left = np.ones(len(states), dtype=np.bool_)
        for back in range(1, int(np.bincount(streams, minlength=1).max(initial=0))):
            same = streams[back:] == streams[:-back]
            left[back:] &= ~(same & self.dominates[states[:-back], states[back:]])
        return left
