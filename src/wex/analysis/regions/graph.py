"""A space: what can come next, as a finite graph of regions.

A *region* is a set of memories (the events that grams still show) from which the same can come.
Each edge has an *action*: the class that every reader reads, -1 for one that does not read yet.
If the space is exact, every path of the graph is the path of a stream; in any case every stream
has its path.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from wex.analysis.graphs import TooManyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.theory.evaluate import Event

Action = tuple[int, ...]
Step = tuple[Action, int]  # an action, and the region behind it
STEPS = 256  # of work, between two looks at the clock
SILENT = -1  # the class of a reader that does not read yet


@dataclass
class Budget:
    """How much work an answer may take; what is not finished then is said to be so.

    The seconds are those that this thread has worked: an answer does not depend on what else the
    machine does.
    """

    regions: int = 150
    seconds: float = 2.0
    vectors: int = 20_000
    began: float = field(default_factory=time.thread_time)
    _steps: int = 0  # since the last look at the clock, which is slow on some systems

    def renew(self) -> None:
        """Begin anew: for another answer."""
        self.began = time.thread_time()

    def left(self) -> float:
        """Return how many seconds are left."""
        return self.seconds - (time.thread_time() - self.began)

    def check(self, _states: int = 0, *, steps: int = 1, share: float = 1.0) -> None:
        """Count steps of work; raise TooManyError if a share of the time is used up.

        A `check` of an `Exploration`: the number of its states does not matter here.
        """
        self._steps += steps
        if self._steps >= STEPS:
            self._steps = 0
            if self.left() < (1 - share) * self.seconds:
                raise TooManyError

    def check_vectors(self, count: int) -> None:
        """Raise TooManyError if there are too many combinations of starts, or no time is left."""
        if count > self.vectors:
            raise TooManyError
        self.check()


class RegionGraph(ABC):
    """The graph: region 0 is where streams begin; `edges[region]` are its distinct steps."""

    way: str  # how it was made
    exact: bool
    edges: list[list[Step]]
    level: list[int]  # of each region
    tick: int = 1_000_000  # microseconds between events of a stream, where there is a choice

    @abstractmethod
    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path, and along continuations of it; None if there are none.

        Fields that the question does not read are not among them.
        """

    def recurring(
        self,
        stem: Sequence[Step],  # noqa: ARG002
        cycle: Sequence[Step],  # noqa: ARG002
        tail: Sequence[Step],  # noqa: ARG002
    ) -> tuple[list[Event], list[Event], list[Event]] | None:
        """Return events of a stem, a cycle and a tail, the cycle such that it can be repeated.

        That needs no exact space: a cycle that leaves memory as it was is its own proof. None if
        there is none, or it was not looked for.
        """
        return None

    def least_gap(self, name: str) -> int | None:  # noqa: ARG002
        """Return by how much a field rises at least from one event to the next, if that is known."""
        return None


def quotient(edges: Sequence[Sequence[Step]], labels: Sequence[int]) -> list[int]:
    """Return the block of each region: those in one block have one label and can do the same."""
    blocks = list(labels)
    count = len(set(labels))
    while True:
        signatures: dict[tuple[int, frozenset[Step]], int] = {}
        after = []
        for region, steps in enumerate(edges):
            key = (blocks[region], frozenset((action, blocks[to]) for action, to in steps))
            after.append(signatures.setdefault(key, len(signatures)))
        if len(signatures) == count:
            return after
        blocks, count = after, len(signatures)
