"""`wex.Processor`: the windows of a spec in streams that arrive batch by batch."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wex.engine.engine import engine_of, windows_in_threads
from wex.engine.event_rows import endless_rows_engine
from wex.engine.waiting_rows import WaitingRows
from wex.errors import WexError
from wex.spec.arguments import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from wex.engine.input.columns import Data
    from wex.spec import SpecLike


class Processor:
    """Finds windows in streams as their events arrive, in batches of any size.

    It may be used by one thread at a time: a call while another thread is inside is an error. With
    `rows` it returns a row for every event of every window; each window needs `within N events`.

    >>> import wex
    >>> spec = wex.parse("stream s (x int) window rise match [x > x[-1]]+ keep longest")
    >>> processor = wex.Processor(spec)
    >>> [processor.feed({"x": [x]})["start_index"].to_pylist() for x in (1, 2, 3)]
    [[], [1], [1]]
    >>> saved = processor.state()
    >>> wex.Processor.restore(spec, saved).feed({"x": [4]})["start_index"].to_pylist()
    [1]
    """

    def __init__(
        self,
        spec: SpecLike,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
        *,
        rows: bool = False,
    ) -> None:
        filled = with_arguments(spec, partition_by, order_by)
        self._streams = WaitingRows(endless_rows_engine(filled) if rows else engine_of(filled))
        self._lock = threading.RLock()

    @classmethod
    def restore(
        cls,
        spec: SpecLike,
        state: bytes,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
        *,
        rows: bool = False,
    ) -> Processor:
        """Return a processor that goes on from a saved state."""
        processor = cls(spec, partition_by, order_by, rows=rows)
        processor._streams.restore(state)
        return processor

    @contextmanager
    def _alone(self) -> Iterator[WaitingRows]:
        """Give the streams to one thread, and raise an error for others: batches need an order."""
        if not self._lock.acquire(blocking=False):
            message = "another thread is using this Processor"
            hint = "give each thread a Processor of its own, or call this one under a lock"
            raise WexError("busy", message, hint)
        try:
            yield self._streams
        finally:
            self._lock.release()

    def feed(self, data: Data) -> pa.Table:
        """Return the windows that a batch of events reports, in the order of `find`.

        The batch is sorted. An event that sorts before an earlier event of its stream is a
        DataError. An error leaves the processor as it was before the batch.
        """
        with self._alone() as streams, windows_in_threads():
            return streams.feed(data)

    def close(self) -> pa.Table:
        """Return the windows that the end of the data reports, and forget all streams."""
        with self._alone() as streams:
            return streams.close()

    def state(self) -> bytes:
        """Return the states of all streams as bytes."""
        with self._alone() as streams:
            return streams.saved()

    def held(self) -> int:
        """Return how many starts are open in all streams."""
        with self._alone() as streams:
            return streams.held()

    def most_held(self) -> int:
        """Return the largest number of starts that one stream has open."""
        with self._alone() as streams:
            return streams.most_held()
