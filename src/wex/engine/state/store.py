"""The store of a processor: the states of its streams by key, in layers.

A batch writes the states of its streams as a new layer on top. Layers of similar size are joined,
and overwritten states are dropped then. So the cost of a batch grows with the number of its own
streams, times a logarithm, and not with the number of all streams. A stream with many open starts is kept
by itself: joining layers would copy them. So are some that came alone, as they often come alone again.
"""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.input.columns import combine_chunks
from wex.engine.state.state import FRAME, joined

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.state.state import State


MANY = 4096  # rows in the lists of a stream that is always kept by itself
MOST_ALONE = 256  # streams kept by themselves, if they have fewer rows
ALONE = -2  # instead of the layer of such a stream


class StateStore:
    """The states of streams by key."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys
        self._numbers: dict[tuple[object, ...], int] = {}  # of each key
        self._layers: list[tuple[State, Ints]] = []  # states, and the numbers of their streams
        self._layer = np.empty(0, dtype=np.int64)  # by number: the layer, and the row in it
        self._row = np.empty(0, dtype=np.int64)
        self._alone: dict[int, State] = {}  # by number
        self._small: set[int] = set()  # the numbers of those among them that have few rows

    def __len__(self) -> int:
        return len(self._numbers)

    def numbers(self, keys: pa.Table) -> tuple[Ints, Ints]:
        """Return the numbers of streams, -1 for new ones, and the rows of the new ones."""
        if not self._keys:
            known = np.full(keys.num_rows, 0 if self._numbers else -1, dtype=np.int64)
        else:
            numbers = map(self._numbers.get, hashable_keys(keys, self._keys), repeat(-1))
            known = np.fromiter(numbers, dtype=np.int64, count=keys.num_rows)
        return known, np.flatnonzero(known < 0)

    def recall(
        self,
        keys: pa.Table,
        fresh: Callable[[int, pa.Table], State],
        fit: Callable[[State], State] | None = None,
    ) -> State:
        """Return the states of streams; `fresh` makes those of new streams.

        `fit` gives the columns of stored states the types of the batch.
        """
        known, new = self.numbers(keys)
        if len(new) == len(known):
            return fresh(len(known), keys)
        parts, places = [], []
        alone = np.flatnonzero((known >= 0) & (self._layer[known] == ALONE))
        for place in alone.tolist():
            part = self._alone[int(known[place])]
            parts.append(part if fit is None else fit(part))
            places.append(np.array([place]))
        if len(parts) == len(known):
            return parts[0] if len(parts) == 1 else joined(parts)
        for layer, (state, _) in enumerate(self._layers):
            here = np.flatnonzero((known >= 0) & (self._layer[known] == layer))
            if len(here):
                part = state.take(self._row[known[here]])
                parts.append(part if fit is None else fit(part))
                places.append(here)
        if len(new):
            parts.append(fresh(len(new), keys.take(pa.array(new))))
            places.append(new)
        order = np.argsort(np.concatenate(places), kind="stable")
        whole = joined(parts)
        return whole if (order[:-1] < order[1:]).all() else whole.take(order)

    def change(self, fit: Callable[[State], State]) -> None:
        """Replace all states, by states whose columns have other types."""
        self._layers = [(fit(state), numbers) for state, numbers in self._layers]
        self._alone = {number: fit(state) for number, state in self._alone.items()}

    def store(self, keys: pa.Table, state: State) -> None:
        """Store the states of streams, in place of their earlier states."""
        known, new = self.numbers(keys)
        if len(new):
            listed = hashable_keys(keys.take(pa.array(new)), self._keys)
            begin = len(self._numbers)
            self._numbers.update(zip(listed, range(begin, begin + len(new)), strict=True))
            if len(self._numbers) != begin + len(new):
                raise FRAME.unsound("a stream stands there twice")
            known[new] = np.arange(begin, begin + len(new))
            if len(self._numbers) > len(self._layer):
                more = np.full(2 * len(self._numbers) - len(self._layer), -1, dtype=np.int64)
                self._layer = np.concatenate([self._layer, more])
                self._row = np.concatenate([self._row, more])
        if state.size == 1:
            self._store_alone(int(known[0]), state)
            if len(self._small) <= MOST_ALONE:
                return
            known = np.array(list(self._small), dtype=np.int64)
            state = joined([self._alone[number] for number in self._small])
        for number in known[self._layer[known] == ALONE].tolist():
            del self._alone[number]
            self._small.discard(number)
        self._add_layer(state, known)

    def _store_alone(self, number: int, state: State) -> None:
        self._alone[number], self._layer[number] = state, ALONE
        if sum(table.num_rows for table in state.lists.values()) < MANY:
            self._small.add(number)
        else:
            self._small.discard(number)

    def _add_layer(self, state: State, known: Ints) -> None:
        self._layers.append((state, known))
        self._settle(len(self._layers) - 1)
        with suppress(pa.ArrowException):  # too large for one array: then layers stay apart
            while len(self._layers) > 1 and self._layers[-1][0].size * 2 > self._layers[-2][0].size:
                self._join_last()

    def _settle(self, layer: int) -> None:
        numbers = self._layers[layer][1]
        self._layer[numbers] = layer
        self._row[numbers] = np.arange(len(numbers))

    def _join_last(self) -> None:
        """Join the last two layers, without states that have been overwritten."""
        parts, numbers = [], []
        for layer in (len(self._layers) - 2, len(self._layers) - 1):
            state, own = self._layers[layer]
            left = np.flatnonzero(self._layer[own] == layer)
            if len(left):
                parts.append(state if len(left) == len(own) else state.take(left))
                numbers.append(own[left])
        if not parts:
            del self._layers[-2:]
            return
        whole = parts[0] if len(parts) == 1 else joined(parts)  # may fail; nothing is changed yet
        self._layers[-2:] = [(whole, np.concatenate(numbers))]
        self._settle(len(self._layers) - 1)

    def everything(self) -> State | None:
        """Return the states of all streams; None: there are none."""
        while len(self._layers) > 1:
            self._join_last()
        if not self._alone:
            return self._layers[0][0] if self._layers else None
        states = list(self._alone.values())
        for state, numbers in self._layers:
            states.append(state.take(np.flatnonzero(self._layer[numbers] == 0)))
        return joined(states)


def hashable_keys(keys: pa.Table, names: Sequence[str]) -> list[tuple[object, ...]]:
    """Return the keys of streams as Python values that equal one another if the keys do."""
    if not names:
        return [()] * keys.num_rows
    return list(zip(*(_hashable(keys.column(name)) for name in names), strict=True))


def _hashable(column: pa.ChunkedArray) -> list[object]:
    """Return keys as Python values that equal one another if the keys do."""
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    elif pa.types.is_date(column.type):
        column = column.cast(pa.int32())
    elif pa.types.is_floating(column.type):  # by their bits: -0.0 as 0.0, and one NaN for all
        column = pc.if_else(pc.is_nan(column), math.nan, pc.add(column, 0.0))
        column = combine_chunks(column).view(pa.int64())
    values: list[object] = column.to_pylist()
    return values
