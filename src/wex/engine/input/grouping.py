"""Rows that come in the order of time, brought together by key: no row is compared with another.

So most data comes, from a log or a table of events. Each row is moved to its place in one pass. If the
times of a key do not rise, or a column has NULLs, rows have to be sorted: `sorting` does that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.arrays import empty
from wex.engine.input.columns import combine_chunks
from wex.engine.kernels.ordering import least_and_greatest, places_by_key, scatter
from wex.engine.workers import ALONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.workers import Workers

MANY = 1 << 12  # rows from which on loading a kernel pays
FEW_CODES, MOST_CODES = 1 << 16, 1 << 24  # of keys: there is a place for each of them


class GroupedRows(NamedTuple):
    """Rows in the order of their keys, then times, and the first row of each key."""

    table: pa.Table
    starts: Ints


class _Codes(NamedTuple):
    """A column as numbers from 0 on that sort like its values; `size` is more than each of them."""

    codes: NDArray[np.generic]
    size: int
    texts: pa.Array | None = None  # by their codes


def grouped_by_key(
    table: pa.Table,
    partition_by: Sequence[str],
    order_by: Sequence[str],
    workers: Workers = ALONE,
) -> GroupedRows | None:
    """Return rows grouped by key, if the first order column rises in each group; None if not.

    Columns of text may be dictionaries.
    """
    if not partition_by or not order_by or table.num_rows < MANY:
        return None
    times = table.column(order_by[0])
    if times.null_count or not is_whole(times.type):
        return None
    columns = dict(zip(table.column_names, workers.map(combine_chunks, table.columns), strict=True))
    keys = [_key_codes(columns[name], workers) for name in partition_by]
    together = _together(keys, max(FEW_CODES, min(MOST_CODES, 16 * table.num_rows)))
    if together is None:
        return None
    codes, size = together
    places, ends, rises, in_place = places_by_key(codes, whole(columns[order_by[0]]), size)
    if not rises:
        return None
    counts = np.diff(ends, prepend=0)
    used = np.flatnonzero(counts)
    starts: Ints = (ends - counts)[used]
    if in_place:
        return GroupedRows(table, starts)
    texts: dict[str, tuple[pa.Array, Ints]] = {}  # of keys, and the one of each stream
    left = used
    for name, key in reversed(list(zip(partition_by, keys, strict=True))):
        assert key is not None
        left, own = np.divmod(left, key.size)
        if key.texts is not None:
            texts[name] = key.texts, own
    move = _Movement(places)

    def moved(name: str) -> pa.Array:
        if name not in texts:
            return move.column(columns[name])
        distinct, own = texts[name]
        runs = pa.RunEndEncodedArray.from_arrays(ends[used], distinct.take(pa.array(own)))
        return pc.run_end_decode(runs)

    arrays = workers.map(moved, columns)
    return GroupedRows(pa.table(arrays, names=table.column_names), starts)


def _key_codes(column: pa.Array, workers: Workers) -> _Codes | None:
    if column.null_count:
        return None
    if is_text(column.type) or pa.types.is_dictionary(column.type):
        return text_ranks(column, workers)
    if not is_whole(column.type):
        return None
    numbers = whole(column)
    least, greatest = least_and_greatest(numbers)
    size = int(greatest) - int(least) + 1
    return _Codes(numbers - least, size) if size <= MOST_CODES else None


def _together(keys: Sequence[_Codes | None], most: int) -> tuple[NDArray[np.uint32], int] | None:
    """Return one code for all columns of a key, and the number of codes; None: there are more than `most`."""
    size, codes = 1, np.zeros(1, dtype=np.uint32)
    for key in keys:
        if key is None or size * key.size > most:
            return None
        own = key.codes.astype(np.uint32)
        codes = own if size == 1 else codes * np.uint32(key.size) + own
        size *= key.size
    return codes, size


def text_ranks(column: pa.Array, workers: Workers = ALONE) -> _Codes:
    """Return the places of texts in their order; NULL is -1. The column may be a dictionary."""
    encoded = column if pa.types.is_dictionary(column.type) else _encoded(column, workers)
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.full(len(order) + 1, -1, dtype=np.int32)
    ranks[order.to_numpy()] = np.arange(len(order))
    indices = encoded.indices
    codes = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
    own = np.take(ranks, codes, out=empty(len(codes), np.int32), mode="wrap")
    return _Codes(own, len(order), encoded.dictionary.take(order))


def _encoded(column: pa.Array, workers: Workers) -> pa.DictionaryArray:
    if workers.threads == 1:
        return column.dictionary_encode()
    parts = workers.map(pa.Array.dictionary_encode, workers.parts(column))
    return combine_chunks(pa.chunked_array(parts).unify_dictionaries())


class _Movement:
    """Moves the rows of columns to new places."""

    def __init__(self, places: Ints) -> None:
        self._places = places
        self._order: pa.Array | None = None  # the rows by their places, if a column needs them

    def column(self, array: pa.Array) -> pa.Array:
        """Return a column with its rows in their places."""
        if pa.types.is_dictionary(array.type):
            return pa.DictionaryArray.from_arrays(self.column(array.indices), array.dictionary)
        width = array.type.bit_width if pa.types.is_primitive(array.type) else 0
        if array.null_count or width not in _WORDS:
            return array.take(self._rows())
        word = _WORDS[width]
        moved = empty(len(array), word)
        offset, size = array.offset * word().itemsize, len(array) * word().itemsize
        scatter(np.frombuffer(array.buffers()[1].slice(offset, size), word), self._places, moved)
        return pa.Array.from_buffers(array.type, len(array), [None, pa.py_buffer(moved)])

    def _rows(self) -> pa.Array:
        if self._order is None:
            order = np.empty_like(self._places)
            order[self._places] = np.arange(len(order))
            self._order = pa.array(order)
        return self._order


_WORDS: dict[int, type[np.unsignedinteger]] = {
    8: np.uint8,
    16: np.uint16,
    32: np.uint32,
    64: np.uint64,
}


def without_codes(rows: pa.Table) -> pa.Table:
    """Return rows with texts instead of codes."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in rows.columns
    ]
    return pa.table(columns, names=rows.column_names)


def is_text(type_: pa.DataType) -> bool:
    """Tell whether values of a type are texts."""
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


def is_whole(type_: pa.DataType) -> bool:
    """Tell whether values of a type are whole numbers of up to 64 bits, dates and times included."""
    is_ = pa.types
    signed = is_.is_integer(type_) and type_ != pa.uint64()
    timed = is_.is_timestamp(type_) or is_.is_duration(type_)
    return bool(signed or timed or is_.is_date32(type_))


def whole(column: pa.Array) -> Ints:
    """Return whole numbers or flags as integers of 64 bits; NULL is any of them."""
    if pa.types.is_date32(column.type):
        column = column.view(pa.int32())
    elif not pa.types.is_integer(column.type) and not pa.types.is_boolean(column.type):
        column = column.view(pa.int64())
    if column.null_count:
        column = pc.fill_null(column, False if pa.types.is_boolean(column.type) else 0)
    numbers: Ints = column.to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
    return numbers
