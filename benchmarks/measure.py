"""What the benchmarks share: the best of several runs, side by side, and a row of the table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Row:
    """One line of the table: a ratio, and the most it may be."""

    what: str
    against: str
    ratio: float
    goal: float | None = None

    @property
    def met(self) -> bool:
        """Tell whether the goal is met; without a goal it is."""
        return self.goal is None or self.ratio <= self.goal


def ratio(
    thing: Callable[[], object],
    floor: Callable[[], object],
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Return how much longer the thing takes than the floor, the two run in turns."""
    pairs = [(seconds(thing, clock), seconds(floor, clock)) for _ in range(rounds)]
    return min(first for first, _ in pairs) / min(second for _, second in pairs)


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return how long one run takes."""
    start = clock()
    work()
    return clock() - start
