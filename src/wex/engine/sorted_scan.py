"""A scan of a table that is sorted by key, piece by piece.

Streams come one after the other. Only the last stream of a piece can go on in the next piece. All
others have ended, and their state is dropped: memory does not grow with the number of streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.input.columns import display_value
from wex.engine.input.prepare import PreparedInput
from wex.engine.input.schemas import concat_to_last_schema, state_with_types
from wex.engine.input.sorting import changes, in_order, sort_keys
from wex.engine.running_streams import ended
from wex.engine.state.state import joined
from wex.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.engine.engine import Engine
    from wex.engine.input.columns import Data
    from wex.engine.state.state import State


class SortedScan:
    """Finds the windows of a table that is sorted by key, then by the order columns."""

    def __init__(self, engine: Engine, *, sorted_rows: bool = False) -> None:
        """Scan with an engine; under `sorted_rows` rows out of order are an error."""
        self._engine, self._sorted = engine, sorted_rows
        self._open: State | None = None  # of the last stream, which may go on
        self._key: pa.Table | None = None
        self._schema: pa.Schema | None = None
        self.events, self.streams = 0, 0  # seen so far

    def feed(self, data: Data) -> pa.Table:
        """Return the windows of a piece, without those that the end of its last stream reports.

        An error leaves the scan as it was before the piece.
        """
        before = dict(vars(self))
        try:
            return self._feed(data)
        except BaseException:
            vars(self).update(before)
            raise

    def recall(self, prepared: PreparedInput) -> State:
        """Return the states of the streams of a piece."""
        keys, count = prepared.keys.select(self._engine.stream.partition_by), len(prepared.starts)
        if self._open is None or not count or not self._continues(keys):
            return self._engine.fresh(count, keys)
        return joined([self._open, self._engine.fresh(count - 1, keys.slice(1))])

    def _feed(self, data: Data) -> pa.Table:
        engine = self._engine
        prepared = PreparedInput(engine, data, self._schema, sorted_rows=self._sorted)
        count = len(prepared.starts)
        if not count:
            return self._empty_result(prepared)
        self._schema = prepared.schema
        if self._open is not None:
            self._open = state_with_types(engine, self._open, prepared.table.schema)
        self.events += prepared.table.num_rows
        keys = prepared.keys.select(engine.stream.partition_by)
        before = []
        if self._open is not None and not self._continues(keys):
            before.append(self._end())
        new = count - (self._open is not None)
        self.streams += new
        fresh = engine.fresh(new, keys.slice(count - new))
        prior = fresh if self._open is None else joined([self._open, fresh])
        batch = prepared.batch(prior)
        last = count - 1
        done, _ = engine.run(batch.part(0, last), prior.take(np.arange(last)), last=True)
        rest, self._open = engine.run(
            batch.part(last, count), prior.take(np.array([last])), last=False
        )
        self._key = keys.slice(last)
        return concat_to_last_schema([*before, done, rest])

    def _empty_result(self, prepared: PreparedInput) -> pa.Table:
        empty = self._engine.fresh(0, prepared.keys)
        return self._engine.run(prepared.batch(empty), empty, last=True)[0]

    def _continues(self, keys: pa.Table) -> bool:
        """Tell whether the first key is that of the open stream; a key that is less is an error."""
        names = self._engine.stream.partition_by
        if not names:
            return True
        assert self._key is not None
        pair = concat_to_last_schema([self._key, keys.slice(0, 1)]).combine_chunks()
        columns = sort_keys(pair, names, (), self._engine.fields)
        if not in_order(
            [column.slice(0, 1) for column in columns], [column.slice(1) for column in columns]
        )[0]:
            key = tuple(display_value(keys.column(name)[0]) for name in names)
            raise DataError(
                "interleaved",
                "the rows of this stream come after those of a later key",
                "sort the rows by key, then by the order columns",
                column=names[0],
                key=key,
            )
        return not any(changes(pair.column(name))[0] for name in names)

    def _end(self) -> pa.Table:
        assert self._open is not None
        table, _ = self._engine.run(*ended(self._engine, self._open), last=True)
        self._open = None
        return table

    def close(self) -> pa.Table | None:
        """Return the windows that the end of the last stream reports; None: there is no stream."""
        return None if self._open is None else self._end()
