"""The streams that an engine runs batch by batch: their states, and the column types of the batches.

`Processor` gives them to users, `Bucket` runs them with a watermark.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wex.engine.data_errors import arrow_errors
from wex.engine.input.batch import Batch
from wex.engine.input.columns import arrow_type, empty_table
from wex.engine.input.prepare import PreparedInput
from wex.engine.input.schemas import runnable_schema, state_with_types
from wex.engine.input.sorting import sort_indices, sort_keys
from wex.engine.short_batches import run_batch
from wex.engine.state import schema as names
from wex.engine.state.state import State, to_bytes
from wex.engine.state.state_check import read_state
from wex.engine.state.store import StateStore, hashable_keys

if TYPE_CHECKING:
    from wex.engine.engine import Engine
    from wex.engine.input.columns import Data


class Fed(NamedTuple):
    """What a batch reports, the batch, and the states of its streams after it."""

    windows: pa.Table
    batch: PreparedInput
    state: State | None

    def keys(self) -> list[tuple[object, ...]]:
        """Return the keys of the streams, as Python values."""
        return hashable_keys(self.batch.keys, self.batch.stream.partition_by)


class RunningStreams:
    """The streams that an engine runs, from a saved state on if one is given."""

    def __init__(self, engine: Engine, saved: bytes | None = None) -> None:
        self._engine = engine
        self._forget()
        if saved is not None:
            self.restore(saved)

    def _forget(self) -> None:
        self._store = StateStore(self._engine.stream.partition_by)
        self.schema: pa.Schema | None = None  # of the batches so far; a null type is still open

    def prepared(self, data: Data) -> PreparedInput:
        """Return a batch, sorted, with the column types of the earlier batches."""
        return PreparedInput(self._engine, data, self.schema)

    def recall(self, prepared: PreparedInput, keys: pa.Table | None = None) -> State:
        """Return the states of the streams of a batch, or of some of them."""
        fit = partial(state_with_types, self._engine, schema=prepared.table.schema)
        return self._store.recall(prepared.keys if keys is None else keys, self._engine.fresh, fit)

    def feed(self, data: Data) -> pa.Table:
        """Return the windows that a batch reports; an error leaves all streams as they were."""
        return self.run(data).windows

    def run(self, data: Data) -> Fed:
        """Return what a batch reports, and the states of its streams after it."""
        with arrow_errors():
            return self._run(self.prepared(data))

    def feed_prepared(self, prepared: PreparedInput, prior: State) -> pa.Table:
        """Return the windows that a prepared batch reports, from the states of its streams on."""
        with arrow_errors():
            return self._run(prepared, prior).windows

    def run_stream(self, events: pa.Table) -> Fed:
        """Run the next events of one stream that have no fault, with the types of the batches so far."""
        assert self.schema is not None
        with arrow_errors():
            return self._run(PreparedInput.of_checked(self._engine, events, self.schema))

    def _run(self, prepared: PreparedInput, prior: State | None = None) -> Fed:
        prior = self.recall(prepared) if prior is None else prior
        table, after = run_batch(self._engine, prepared.batch(prior), prior)
        if self.schema is not None and self.schema != prepared.schema:
            self._store.change(
                partial(state_with_types, self._engine, schema=prepared.table.schema)
            )
        if after is not None and after.size:
            self._store.store(prepared.keys, after)
        self.schema = prepared.schema
        return Fed(table, prepared, after)

    def state_of(self, event: pa.Table) -> State | None:
        """Return the state of the stream of a single event; None: the event is its first."""
        stream_keys = self._engine.stream.partition_by
        keys = pa.table({"#": [0], **{name: event.column(name) for name in stream_keys}})
        _, new = self._store.numbers(keys)
        return None if len(new) else self._store.recall(keys, self._engine.fresh)

    def close(self) -> pa.Table:
        """Return the windows that the end of all streams reports, and forget the streams."""
        ending = ended(self._engine, self.everything(), self.schema)
        table, _ = self._engine.run(*ending, last=True)
        self._forget()
        return table

    def everything(self) -> State:
        """Return the states of all streams."""
        state = self._store.everything()
        return self._engine.fresh(0, _no_events(self._engine)) if state is None else state

    def saved(self) -> bytes:
        """Return the states of all streams as bytes."""
        state = self.everything()
        tails = state.tails
        if self.schema is not None and tails.num_columns:
            for column, field in enumerate(self.schema):
                if pa.types.is_null(field.type):
                    tails = tails.set_column(column, field.name, pa.nulls(tails.num_rows))
        return to_bytes(
            State(state.streams, {**state.lists, names.TAIL: tails}), self._engine.fingerprint
        )

    def restore(self, saved: bytes) -> None:
        """Go on from saved bytes; a StateError if they are not the state of such an engine."""
        self.resume(read_state(saved, self._engine))

    def restart(self, keys: pa.Table) -> None:
        """Forget some streams: their next event is their first."""
        self._store.store(keys, self._engine.fresh(keys.num_rows, keys))

    def resume(self, state: State, schema: pa.Schema | None = None) -> None:
        """Go on from a state, and with the schema of the batches that led to it."""
        tails = state.tails
        if state.size:
            self.schema = tails.schema if schema is None else schema
            if tails.num_columns:
                running = runnable_schema(tails.schema, self._engine.fields)
                state = state_with_types(self._engine, state, running)
            self._store.store(state.keys(self._engine.stream.partition_by), state)

    def held(self) -> int:
        """Return how many starts are open in all streams."""
        return sum(int(counts.sum()) for counts in self._held())

    def most_held(self) -> int:
        """Return the largest number of starts that one stream has open."""
        held = self._held()
        return int(np.sum(held, axis=0).max(initial=0)) if held else 0

    def _held(self) -> list[np.ndarray]:
        state = self.everything()
        lists = map(names.held, range(len(self._engine.windows)))
        return [_start_counts(state, name) for name in lists] if state.size else []


def _start_counts(state: State, name: str) -> np.ndarray:
    """Return how many starts each stream has in a list; rows that only divide panes do not count."""
    counts, held = state.counts(name), state.lists[name]
    if names.CANDIDATE not in held.column_names:
        return counts
    owners = np.repeat(np.arange(state.size), counts)
    starts = held.column(names.SLOT).to_numpy() != names.BORDER
    return np.bincount(owners[starts], minlength=state.size)


def _no_events(engine: Engine) -> pa.Table:
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
        tails = empty_table(runnable_schema(schema, engine.fields)) if known else _no_events(engine)
    counts = state.tail_counts
    ends = np.cumsum(counts)
    batch = Batch(tails, engine.fields, keys, ends - counts, ends, ends, state.positions)
    return batch, state
