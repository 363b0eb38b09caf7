"""Region graphs: which events can follow which, as a finite graph.

A *memory* is the earlier events that grams still show; a *region* is a set of memories with the
same continuations. Each edge has an *action*: the class that every reader reads, `SILENT` for a
reader that does not read yet. Every stream has its path in the graph; if the graph is exact, every
path is the path of a stream. If it is uniform, too, any two continuations of a path are those of one
stream; otherwise each of them may need other values before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex import limits
from wex.analysis.graphs import TooManyError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from wex.analysis.regions.families import Family
    from wex.theory.evaluate import Event
    from wex.theory.terms import Guard

Action = tuple[int, ...]
Step = tuple[Action, int]  # an action, and the region after it
FOR_SPEC = 8  # times `effort`: the steps of all answers about all windows of a spec
LEAST_FOR_WINDOW = 1  # times `effort`, if a spec has many windows
SILENT = -1  # the class of a reader that does not read yet


@dataclass
class Purse:
    """The steps that are left for all answers about a window together."""

    left: int


@dataclass
class Budget:
    """How much work an answer may take; an answer that needs more is "unknown" or not exact.

    Work is counted in steps, not in time, so that the verdict does not depend on the machine or on
    its load. A step is an edge of an exploration: on common hardware, about ten microseconds.
    """

    regions: int = 150
    work: int = 200_000
    vectors: int = 20_000
    done: int = 0  # steps
    whole: Budget | None = None  # the budget of which this is a part
    ran_out: bool = False  # whether some work was given up
    purse: Purse | None = None  # of all answers that share it

    @classmethod
    def current(cls, times: float = 1.0) -> Budget:
        """Return the budget that `limits.effort` allows, or a multiple of it."""
        work = int(limits.current().effort * times)
        return cls(
            max(1, cls.regions * work // cls.work), work, max(1, cls.vectors * work // cls.work)
        )

    @classmethod
    def of_window(cls, windows: int) -> Budget:
        """Return the budget for the answers about one of so many windows of a spec.

        Each answer may take all steps of `limits.effort`, but not all of them one after the other: the
        windows share what a spec may take. What one of them needs changes nothing for the others.
        """
        budget = cls.current()
        budget.purse = Purse(budget.work * max(LEAST_FOR_WINDOW, FOR_SPEC // max(1, windows)))
        return budget

    def renew(self) -> None:
        """Start again, for another answer."""
        self.done = 0

    @contextmanager
    def without_purse(self) -> Iterator[None]:
        """Let an answer take all steps, also if those before it have emptied the purse."""
        purse, self.purse = self.purse, None
        try:
            yield
        finally:
            self.purse = purse

    @property
    def left(self) -> int:
        """How many steps are left."""
        return self.work - self.done

    def part(self, work: int) -> Budget:
        """Return a budget of at most so many steps, which count here, too."""
        most = max(0, min(work, self.left))
        return Budget(self.regions, most, self.vectors, whole=self, purse=self.purse)

    def count(self, steps: int) -> None:
        """Count steps of work."""
        self.done += steps
        if self.whole is not None:
            self.whole.count(steps)
        elif self.purse is not None:
            self.purse.left -= steps

    def check(
        self, _states: int = 0, *, steps: int = 1, share: float = 1.0, times: int = 1
    ) -> None:
        """Count steps of work; raise TooManyError if a share of all steps is used up.

        The purse pays for steps that take so many times as long as usual. An `Exploration` calls it
        with the number of its states, which is ignored.
        """
        self.count(steps)
        if self.purse is not None:
            self.purse.left -= (times - 1) * steps
        if self.done > share * self.work or (self.purse is not None and self.purse.left < 0):
            self.give_up()
            raise TooManyError

    def give_up(self) -> None:
        """Note that some work was given up: with more steps an answer may be found."""
        self.ran_out = True
        if self.whole is not None:
            self.whole.give_up()

    def restore(self, done: int) -> None:
        """Take back the steps since an earlier count: what they were for was given up.

        The purse does not get them back: they took their time.
        """
        back = self.done - done
        self.done -= back
        if self.whole is not None:
            self.whole.restore(self.whole.done - back)

    def check_vectors(self, count: int) -> None:
        """Raise TooManyError if there are too many combinations of starts, or no steps are left."""
        if count > self.vectors:
            self.give_up()
            raise TooManyError
        self.check()


class RegionGraph(ABC):
    """The graph: streams begin in region 0; `edges[region]` are the distinct steps from a region."""

    method: str  # how the graph was made, in words
    exact: bool
    uniform: bool = True  # all streams on a path have the same continuations
    edges: list[list[Step]]
    level: list[int]  # of each region: how many events came before, up to the last level
    tick: int = 1_000_000  # microseconds between events of a witness, where there is a choice

    @abstractmethod
    def streams(
        self, path: Sequence[Step], branches: Sequence[Sequence[Step]]
    ) -> tuple[list[Event], list[list[Event]]] | None:
        """Return events along a path, and along continuations of it; None if none are found.

        The events have only the fields that the query reads.
        """

    def possible(self, path: Sequence[Step]) -> bool:
        """Tell whether a path is the path of a stream, as far as that is known."""
        return self.exact or self.streams(path, ()) is not None

    def recurring(
        self,
        stem: Sequence[Step],  # noqa: ARG002
        cycle: Sequence[Step],  # noqa: ARG002
        tail: Sequence[Step],  # noqa: ARG002
    ) -> tuple[list[Event], list[Event], list[Event]] | None:
        """Return events of a stem, a cycle and a tail such that the cycle can be repeated.

        This needs no exact graph: a cycle with the same memory before and after it can be repeated.
        None if no such events are found.
        """
        return None

    def family(
        self,
        stem: Sequence[Step],  # noqa: ARG002
        cycle: Sequence[Step],  # noqa: ARG002
        tail: Sequence[Step],  # noqa: ARG002
    ) -> Family | None:
        """Return streams along a stem, a cycle that is repeated any number of times, and a tail.

        This needs neither an exact graph nor a memory that recurs. None if no such streams are found.
        """
        return None

    def remembered(self) -> Iterator[Guard]:
        """Yield guards that tell regions apart just after an event, as far as guards can."""
        return iter(())

    def least_gap(self, name: str) -> int | None:  # noqa: ARG002
        """Return the least rise of a field from one event to the next, if it is known."""
        return None


def quotient(edges: Sequence[Sequence[tuple[Hashable, int]]], labels: Sequence[int]) -> list[int]:
    """Return the block of each region: regions of one block have the same label and the same steps."""
    actions: dict[Hashable, int] = {}
    rows = [
        [(actions.setdefault(action, len(actions)) * len(edges), to) for action, to in steps]
        for steps in edges
    ]
    blocks = list(labels)
    count = len(set(labels))
    while True:
        signatures: dict[tuple[int, frozenset[int]], int] = {}
        after = []
        for region, steps in enumerate(rows):
            key = (blocks[region], frozenset([action + blocks[to] for action, to in steps]))
            after.append(signatures.setdefault(key, len(signatures)))
        if len(signatures) == count:
            return after
        blocks, count = after, len(signatures)
