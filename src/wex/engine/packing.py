"""Rows packed by the hash of their key, or by their time: blobs of Arrow data for each bucket, and back to rows.

A shuffle that moves a few hundred blobs costs a fraction of one that moves and sorts rows. Packing is
vectorised: a counting sort brings the rows of each bucket together. What remains costs time for every byte that
Spark moves, so columns are made narrow (`packed_columns`).

Equal keys have equal hashes: NULLs are one key, and so are NaNs and both zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.input.columns import combine_chunks
from wex.engine.input.grouping import (
    grouped_by_key,
    is_text,
    is_whole,
    text_ranks,
    whole,
    without_codes,
)
from wex.engine.input.sorting import is_sorted, sort_indices, sort_keys
from wex.engine.kernels.ordering import (
    bucket_order,
    buckets_of_hashes,
    mix,
    text_hashes,
)
from wex.engine.packed_columns import codes_of, packed_column, unpacked_column
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.engine import Engine

    Numbers = NDArray[np.int32]

NULL_HASH = np.uint64(0x9E3779B97F4A7C15)
BLOB_ROWS = 1 << 14  # more cost the JVM more: its heap has a way of its own for large arrays


class Buckets(Protocol):
    """A division of rows into so many buckets."""

    @property
    def count(self) -> int:
        """Return the number of buckets."""

    def numbers(self, arrays: Mapping[str, pa.Array], rows: int) -> Numbers | None:
        """Return the bucket of each row; None: all are in the first one. Texts are codes."""


@dataclass(frozen=True)
class KeyBuckets:
    """So many buckets, by the hash of the keys."""

    keys: Sequence[str]
    count: int

    def numbers(self, arrays: Mapping[str, pa.Array], rows: int) -> Numbers | None:
        """Return the bucket of each row; None: all are in the first one."""
        if self.count == 1 or not self.keys:
            return None
        return buckets_of_hashes(key_hashes([arrays[name] for name in self.keys], rows), self.count)


@dataclass(frozen=True, eq=False)
class TimeBuckets:
    """Buckets between ascending borders of a column of numbers or times: a border begins a bucket.

    NULL is in the first bucket, NaN in the last one.
    """

    column: str
    borders: NDArray[np.generic]

    @property
    def count(self) -> int:
        """Return the number of buckets."""
        return len(self.borders) + 1

    def numbers(self, arrays: Mapping[str, pa.Array], rows: int) -> Numbers:  # noqa: ARG002
        """Return the bucket of each row."""
        column = arrays[self.column]
        if pa.types.is_floating(column.type):
            values = column.cast(pa.float64()).fill_null(-np.inf).to_numpy()
        else:
            values = whole(column)
        numbers: Numbers = np.searchsorted(self.borders, values, side="right").astype(np.int32)
        if column.null_count:
            numbers[column.is_null().to_numpy(zero_copy_only=False)] = 0
        return numbers


@dataclass(frozen=True, eq=False)
class SkewedBuckets:
    """Buckets by the hash of the keys, and behind them those of some keys by time.

    A key is a table of one row.
    """

    by_key: KeyBuckets
    by_time: Sequence[tuple[pa.Table, TimeBuckets]]

    @property
    def count(self) -> int:
        """Return the number of buckets."""
        return self.by_key.count + sum(buckets.count for _, buckets in self.by_time)

    def numbers(self, arrays: Mapping[str, pa.Array], rows: int) -> Numbers:
        """Return the bucket of each row."""
        numbers = self.by_key.numbers(arrays, rows)
        if numbers is None:
            numbers = np.zeros(rows, dtype=np.int32)
        first = self.by_key.count
        for key, buckets in self.by_time:
            own = np.flatnonzero(has_key(arrays, key))
            times = arrays[buckets.column].take(pa.array(own))
            numbers[own] = buckets.numbers({buckets.column: times}, len(own)) + np.int32(first)
            first += buckets.count
        return numbers


def has_key(arrays: Mapping[str, pa.Array], key: pa.Table) -> Bools:
    """Return a mask of the rows with a key, which is a table of one row; texts are codes."""
    masks = [_equal_to(arrays[name], combine_chunks(key.column(name))) for name in key.column_names]
    all_equal: Bools = np.logical_and.reduce(masks)
    return all_equal


def _equal_to(column: pa.Array, value: pa.Array) -> Bools:
    """Return a mask of the values that are, as keys, equal to one value."""
    if pa.types.is_null(column.type):
        return np.full(len(column), value.null_count == 1)
    if pa.types.is_dictionary(column.type):
        texts = column.dictionary
        code = -1 if value.null_count else pc.index(texts, value[0].cast(texts.type)).as_py()
        if code < 0 and not value.null_count:
            return np.zeros(len(column), dtype=np.bool_)
        coded: Bools = codes_of(column) == code
        return coded
    known: Bools = column.is_valid().to_numpy(zero_copy_only=False)
    if value.null_count:
        return ~known
    equal: Bools = _hashable(column) == _hashable(value)[0]  # of numbers no two have one hash
    return equal & known if column.null_count else equal


def key_hashes(columns: Sequence[pa.Array], rows: int) -> NDArray[np.uint64]:
    """Return a hash of the key of each row; texts are codes."""
    hashes = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        mix(hashes, _hashable(column))
    return hashes


class Blob(NamedTuple):
    """Rows of one bucket."""

    bucket: int
    first: int  # the least value of the first order column, if it is a whole number
    data: pa.Buffer


def blobs(table: pa.Table, buckets: Buckets, first_order: str | None) -> Iterator[Blob]:
    """Yield the rows of a table as blobs, one or several for each bucket that has rows."""
    if not table.num_rows:
        return
    arrays = coded_columns(table)
    order, bucket_ends = _in_buckets(buckets, arrays, table.num_rows)
    columns = [packed_column(array, order, bucket_ends) for array in arrays.values()]
    owners, starts, ends = _slices(bucket_ends)
    firsts = _least(table, first_order, order, starts)
    for bucket, first, start, end in zip(
        owners.tolist(), firsts.tolist(), starts.tolist(), ends.tolist(), strict=True
    ):
        parts = [column.part(bucket, start, end) for column in columns]
        fields = [
            pa.field(name, part.type, metadata=column.metadata(start))
            for name, part, column in zip(table.column_names, parts, columns, strict=True)
        ]
        yield Blob(bucket, first, _written(pa.record_batch(parts, schema=pa.schema(fields))))


def rows_of(blob: pa.Buffer, schema: pa.Schema) -> pa.Table:
    """Return the rows of a blob; columns of text may be dictionaries."""
    batch = pa.ipc.open_stream(blob).read_next_batch()
    columns = [
        unpacked_column(column, packed.metadata, field.type)
        for column, packed, field in zip(batch.columns, batch.schema, schema, strict=True)
    ]
    return pa.table(columns, names=schema.names)


def concat_rows(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables of unpacked rows as one; its columns have one chunk each."""
    columns = [
        _concat_column([combine_chunks(table.column(at)) for table in tables])
        for at in range(tables[0].num_columns)
    ]
    return pa.table(columns, names=tables[0].column_names)


class EventOrder:
    """The order of unpacked rows: by their streams and events.

    Streams without an order column are sorted by all columns: a shuffle keeps no order.
    """

    def __init__(self, engine: Engine) -> None:
        self._stream, self._fields = engine.stream, engine.fields
        plain = [name for name, type_ in engine.fields.items() if type_ != OTHER]
        self._order_by = engine.stream.order_by or tuple(plain)

    def indices(self, rows: pa.Table) -> Ints | None:
        """Return the indices that sort rows; None: they are sorted."""
        ranked = pa.table([_ranks(column) for column in rows.columns], names=rows.column_names)
        columns = sort_keys(ranked, self._stream.partition_by, self._order_by, self._fields)
        return None if not columns or is_sorted(columns) else sort_indices(columns)

    def sorted(self, rows: pa.Table) -> pa.Table:
        """Return rows in their order, with texts instead of codes."""
        grouped = grouped_by_key(rows, self._stream.partition_by, self._stream.order_by)
        if grouped is not None:
            return without_codes(grouped.table)
        indices = self.indices(rows)
        return without_codes(rows if indices is None else rows.take(pa.array(indices)))


def size_of(rows: pa.Table) -> int:
    """Return the bytes of unpacked rows, texts counted in full."""
    size = int(rows.nbytes)
    for column in rows.columns:
        if pa.types.is_dictionary(column.type):
            array = combine_chunks(column)
            lengths = np.append(pc.binary_length(array.dictionary).to_numpy(), 0)
            size += int(lengths[codes_of(array)].sum())
    return size


def _concat_column(parts: Sequence[pa.Array]) -> pa.Array:
    if len(parts) == 1:
        return parts[0]
    coded = [pa.types.is_dictionary(part.type) for part in parts]
    if all(coded):
        return pa.chunked_array(parts).unify_dictionaries().combine_chunks()
    return pa.concat_arrays(
        [
            part.cast(part.type.value_type) if is_coded else part
            for part, is_coded in zip(parts, coded, strict=True)
        ]
    )


def _ranks(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return for a column of codes the places of their texts in the order of texts; NULL is first."""
    if not pa.types.is_dictionary(column.type):
        return column
    return pa.chunked_array([pa.array(text_ranks(combine_chunks(column)).codes)])


def _written(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


# --- Buckets


def _in_buckets(
    buckets: Buckets, arrays: Mapping[str, pa.Array], rows: int
) -> tuple[Ints | None, Ints]:
    """Return rows in the order of their buckets (None: as they are), and where buckets end."""
    numbers = buckets.numbers(arrays, rows)
    if numbers is None:
        return None, np.full(buckets.count, rows, dtype=np.int64)
    order, ends, in_order = bucket_order(numbers, buckets.count)
    return None if in_order else order, ends


def _slices(bucket_ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the bucket, the first row and the end of each blob."""
    bucket_starts = np.append(0, bucket_ends[:-1])
    sizes = bucket_ends - bucket_starts
    counts = np.where(sizes > 0, np.maximum((sizes + BLOB_ROWS // 2) // BLOB_ROWS, 1), 0)
    owners = np.repeat(np.arange(len(counts)), counts)
    numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    own_starts, own_sizes, own_counts = bucket_starts[owners], sizes[owners], counts[owners]
    starts = own_starts + own_sizes * numbers // own_counts
    return owners, starts, own_starts + own_sizes * (numbers + 1) // own_counts


def coded_columns(table: pa.Table) -> dict[str, pa.Array]:
    """Return columns by name, texts as codes."""
    columns = {name: combine_chunks(table.column(name)) for name in table.column_names}
    return {
        name: column.dictionary_encode() if is_text(column.type) else column
        for name, column in columns.items()
    }


def _hashable(column: pa.Array) -> NDArray[np.uint64]:
    """Return a number for each value, the same for equal ones."""
    if pa.types.is_dictionary(column.type):
        texts = np.append(_text_hashes(column.dictionary), NULL_HASH)
        hashes: NDArray[np.uint64] = texts[codes_of(column)]
        return hashes
    if pa.types.is_null(column.type):
        return np.full(len(column), NULL_HASH)
    known = None if not column.null_count else column.is_valid().to_numpy(zero_copy_only=False)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string()).cast(pa.float64())  # rounded as `conform` rounds it
    if pa.types.is_floating(column.type):
        reals = column.cast(pa.float64(), safe=False).fill_null(0.0).to_numpy() + 0.0
        reals[np.isnan(reals)] = np.nan
        numbers = reals.view(np.uint64)
    else:
        numbers = whole(column).view(np.uint64)
    return numbers if known is None else np.where(known, numbers, NULL_HASH)


def _text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    texts = texts.cast(pa.large_string())
    _, offsets, data = texts.buffers()
    if offsets is None or data is None:
        return np.zeros(len(texts), dtype=np.uint64)
    return text_hashes(
        np.frombuffer(offsets, np.int64), np.frombuffer(data, np.uint8), texts.offset, len(texts)
    )


def _least(table: pa.Table, name: str | None, order: Ints | None, starts: Ints) -> Ints:
    """Return the least value of a column in each range of rows that begins at a start."""
    if name is None or not is_whole(table.schema.field(name).type):
        return np.zeros(len(starts), dtype=np.int64)
    numbers = whole(combine_chunks(table.column(name)))
    least: Ints = np.minimum.reduceat(numbers if order is None else numbers[order], starts)
    return least
