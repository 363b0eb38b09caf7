"""`wex.Processor`: the windows of a spec in streams that arrive batch by batch."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.data_errors import arrow_errors
from wex.engine.engine import Engine, engine_of
from wex.engine.input.batch import Batch
from wex.engine.input.columns import arrow_type, empty_table
from wex.engine.input.prepare import PreparedInput
from wex.engine.input.schemas import runnable_schema, state_with_types
from wex.engine.input.sorting import sort_indices, sort_keys
from wex.engine.state import schema
from wex.engine.state.state import State, to_bytes
from wex.engine.state.state_check import read_state
from wex.engine.state.store import StateStore
from wex.errors import WexError
from wex.spec.arguments import with_arguments

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.engine.input.columns import Data
    from wex.spec import SpecLike


class Processor:
    """Finds windows in streams as their events arrive, in batches of any size.

    It may be used by one thread at a time: a call while another thread is inside is an error.

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
    ) -> None:
        self._begin(engine_of(with_arguments(spec, partition_by, order_by)))

    @classmethod
    def of(cls, engine: Engine, state: bytes | None = None) -> Processor:
        """Return a processor of an engine, which goes on from a saved state if one is given."""
        processor = cls.__new__(cls)
        processor._begin(engine)  # noqa: SLF001
        if state is not None:
            processor.resume(read_state(state, engine))
        return processor

    def _begin(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.RLock()
        self._forget()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Raise an error if another thread is inside: batches need a defined order."""
        if not self._lock.acquire(blocking=False):
            message = "another thread is using this Processor"
            hint = "give each thread a Processor of its own, or call this one under a lock"
            raise WexError("busy", message, hint)
        try:
            yield
        finally:
            self._lock.release()

    def arriving(self, data: Data) -> PreparedInput:
        """Return a batch, sorted, with the column types of the earlier batches."""
        return PreparedInput(self._engine, data, self.schema)

    def recall(self, arriving: PreparedInput, keys: pa.Table | None = None) -> State:
        """Return the states of the streams of a batch, or of some of them."""
        fit = partial(state_with_types, self._engine, schema=arriving.table.schema)
        keys = arriving.keys if keys is None else keys
        return self._memory.recall(keys, self._engine.fresh, fit)

    def held(self) -> int:
        """Return how many starts are open in all streams."""
        return sum(int(counts.sum()) for counts in self._held())

    def most_held(self) -> int:
        """Return the largest number of starts that one stream has open."""
        held = self._held()
        return int(np.sum(held, axis=0).max(initial=0)) if held else 0

    def _held(self) -> list[np.ndarray]:
        state = self.everything()
        names = map(schema.held, range(len(self._engine.windows)))
        return [state.counts(name) for name in names] if state.size else []

    def _forget(self) -> None:
        self._memory = StateStore(self._engine.stream.partition_by)
        self.schema: pa.Schema | None = None  # of the batches so far; a null type is still open

    def feed(self, data: Data) -> pa.Table:
        """Return the windows that a batch of events reports, in the order of `find`.

        The batch is sorted. An event that sorts before an earlier event of its stream is a
        DataError. An error leaves the processor as it was before the batch.
        """
        with self._alone():
            with arrow_errors():
                arriving = self.arriving(data)
                prior = self.recall(arriving)
                batch = arriving.batch(prior)
                table, after = self._engine.run(batch, prior, last=False)
            if self.schema is not None and self.schema != arriving.schema:
                self._memory.change(
                    partial(state_with_types, self._engine, schema=arriving.table.schema)
                )
            if after is not None and after.size:
                self._memory.store(arriving.keys, after)
            self.schema = arriving.schema
            return table

    def close(self) -> pa.Table:
        """Return the windows that the end of the data reports, and forget all streams."""
        with self._alone():
            ending = ended(self._engine, self.everything(), self.schema)
            table, _ = self._engine.run(*ending, last=True)
            self._forget()
            return table

    def state(self) -> bytes:
        """Return the states of all streams as bytes."""
        state = self.everything()
        tails = state.tails
        if self.schema is not None and tails.num_columns:
            for column, field in enumerate(self.schema):
                if pa.types.is_null(field.type):
                    tails = tails.set_column(column, field.name, pa.nulls(tails.num_rows))
        return to_bytes(
            State(state.streams, {**state.lists, schema.TAIL: tails}), self._engine.fingerprint
        )

    def everything(self) -> State:
        """Return the states of all streams."""
        with self._alone():
            state = self._memory.everything()
        return self._engine.fresh(0, _no_rows(self._engine)) if state is None else state

    @classmethod
    def restore(
        cls,
        spec: SpecLike,
        state: bytes,
        partition_by: str | Iterable[str] | None = None,
        order_by: str | Iterable[str] | None = None,
    ) -> Processor:
        """Return a processor that goes on from a saved state."""
        processor = cls(spec, partition_by, order_by)
        processor.resume(read_state(state, processor._engine))
        return processor

    def restart(self, keys: pa.Table) -> None:
        """Forget some streams: their next event is their first."""
        self._memory.store(keys, self._engine.fresh(keys.num_rows, keys))

    def resume(self, state: State, schema: pa.Schema | None = None) -> None:
        """Go on from the state of another processor, and with the schema of its batches."""
        tails = state.tails
        if state.size:
            self.schema = tails.schema if schema is None else schema
            if tails.num_columns:
                running = runnable_schema(tails.schema, self._engine.fields)
                state = state_with_types(self._engine, state, running)
            self._memory.store(state.keys(self._engine.stream.partition_by), state)


def _no_rows(engine: Engine) -> pa.Table:
    return pa.schema(
        [(name, arrow_type(type_)) for name, type_ in engine.stream.fields]
    ).empty_table()


def ended(engine: Engine, state: State, schema: pa.Schema | None = None) -> tuple[Batch, State]:
    """Return a batch without events that ends all streams, sorted by key, and their states."""
    keys = engine.stream.partition_by
    if keys and state.size:
        state = state.take(sort_indices(sort_keys(state.keys(keys), keys, (), engine.fields)))
    tails = state.tails
    if not tails.num_columns:
        known = schema is not None and len(schema) > 0
        tails = empty_table(runnable_schema(schema, engine.fields)) if known else _no_rows(engine)
    counts = state.tail_counts
    ends = np.cumsum(counts)
    batch = Batch(tails, engine.fields, keys, ends - counts, ends, ends, state.positions)
    return batch, state
