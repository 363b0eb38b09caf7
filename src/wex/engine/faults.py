"""Which fault of the data is told, where there are several: the first one of the first stream.

Stages look at all events of a batch, one stage after the other, so what a stage finds need not be
what comes first in the stream. Therefore a fault makes the events before it run once more, by
themselves: if they are without fault, it was the first one. See "Which fault is told" in
docs/errors.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from wex.errors import DataError

if TYPE_CHECKING:
    from wex.engine.batch import Batch
    from wex.engine.state import State


class FaultError(DataError):
    """A DataError of one event of a batch: its stream there, and its row.

    A fault that shows when a stream ends is at the row behind its last one.
    """

    def __init__(self, error: DataError, stream: int, row: int) -> None:
        super().__init__(
            error.code,
            error.message,
            error.hint or "",
            column=error.column,
            key=error.key,
            position=error.position,
        )
        self.error, self.stream, self.row = error, stream, row

    def moved(self, streams: int, rows: int) -> FaultError:
        """Return the fault as it is seen in a batch with so many streams and rows before."""
        return FaultError(self.error, self.stream + streams, self.row + rows)


class Work(Protocol):
    """All stages of a batch that can find a fault."""

    def __call__(self, batch: Batch, prior: State, *, last: bool) -> object:
        """Raise a FaultError, or return."""


def first_fault(
    work: Work, batch: Batch, prior: State, fault: FaultError, *, last: bool
) -> DataError:
    """Return the first fault of a batch in which a fault was found."""
    while True:
        before = np.arange(fault.stream)
        alone = batch.part(fault.stream, fault.stream + 1)
        state = prior.take(np.array([fault.stream]))
        offset = int(batch.first[fault.stream])
        try:
            work(batch.part(0, fault.stream), prior.take(before), last=last)
        except FaultError as earlier:
            fault = earlier
            continue
        row = fault.row - offset
        try:
            work(alone.before(row), state, last=False)
        except FaultError as earlier:
            fault = earlier.moved(fault.stream, offset)
            continue
        # Before it there is none; at this event the stages tell in their order.
        ends = fault.row == int(batch.end[fault.stream])
        try:
            work(alone if ends else alone.before(row + 1), state, last=ends and last)
        except FaultError as first:
            return first.error
        return fault.error
