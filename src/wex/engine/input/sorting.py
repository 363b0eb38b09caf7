"""The order of events: by stream, by the order columns, and ties by all other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.input.columns import combine_chunks, display_value
from wex.engine.input.grouping import MANY, text_ranks
from wex.engine.kernels.ordering import radix_order
from wex.errors import DataError
from wex.spec.types import OTHER, Type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints


def sort(
    table: pa.Table,
    partition_by: Sequence[str],
    order_by: Sequence[str],
    fields: Mapping[str, Type],
) -> pa.Table:
    """Return the rows sorted by key, then by the order columns; without these, in their given order."""
    check_order_columns(table, order_by, partition_by)
    columns = sort_keys(table, partition_by, order_by, fields)
    if not columns or is_sorted(columns):
        return table
    indices = pa.array(sort_indices(columns))
    taken = [_take(table.column(name), indices, name) for name in table.column_names]
    return pa.table(taken, names=table.column_names)


def in_key_order(table: pa.Table, keys: Sequence[str], fields: Mapping[str, Type]) -> pa.Table:
    """Return rows sorted by key; rows of one key keep their order."""
    columns = sort_keys(table, keys, (), fields)
    if not columns or is_sorted(columns):
        return table
    return table.take(pa.array(sort_indices(columns)))


def sort_indices(columns: Sequence[pa.ChunkedArray]) -> Ints:
    """Return the indices that sort some columns; the sort is stable.

    Rows often come in the order of time, with the keys mixed. Then all columns behind the keys are in
    order, and a stable sort by the keys is enough. Many rows are sorted by words of 64 bits: Arrow
    compares them one by one.
    """
    for leading in range(1, min(len(columns), _MOST_KEYS + 1)):
        if is_sorted(columns[leading:]):
            columns = columns[:leading]
            break
    if len(columns[0]) >= MANY and all(_has_codes(column.type) for column in columns):
        return _radix_order(columns)
    rows = pa.chunked_array([pa.array(np.arange(len(columns[0])))])
    names = [f"#{n}" for n in range(len(columns) + 1)]
    by = [(name, "ascending") for name in names]
    indices = pc.sort_indices(pa.table([*columns, rows], names=names), sort_keys=by)
    numbers: Ints = indices.to_numpy().astype(np.int64)
    return numbers


_MOST_KEYS = (
    3  # columns that rows may be sorted by before it is looked whether the others are in order
)


def _has_codes(type_: pa.DataType) -> bool:
    is_ = pa.types
    return bool(
        is_.is_boolean(type_)
        or (is_.is_integer(type_) and type_ != pa.uint64())
        or is_.is_float64(type_)
        or is_.is_timestamp(type_)
        or is_.is_date32(type_)
        or is_.is_string(type_)
    )


def _radix_order(columns: Sequence[pa.ChunkedArray]) -> Ints:
    """Return the indices that sort some columns: by as many as fit into a word, then within ties."""
    order: Ints = np.arange(len(columns[0]))
    places = order.copy()  # those of `order` that are still tied
    groups = np.zeros(len(order), np.uint64)  # of tied rows, one after the other
    taken = 0
    while columns and len(places):
        rows = order[places]
        word, bits, taken = _word(columns, rows if taken else None)
        sorting = radix_order(word, bits)
        if groups[-1]:
            sorting = sorting[radix_order(groups[sorting], int(groups[-1]).bit_length())]
        order[places] = rows[sorting]
        word = word[sorting]
        same = (word[1:] == word[:-1]) & (groups[1:] == groups[:-1])
        begins, ends = np.append(True, ~same), np.append(~same, True)
        left = ~(begins & ends)
        places, groups = places[left], (np.cumsum(begins[left]) - 1).astype(np.uint64)
        columns = columns[taken:]
    return order


def _word(
    columns: Sequence[pa.ChunkedArray], rows: Ints | None
) -> tuple[NDArray[np.uint64], int, int]:
    """Return words that sort some rows like the first columns, their bits, and how many columns they hold.

    None: all rows.
    """
    word, bits, taken = np.empty(0, np.uint64), 0, 0
    for column in columns:
        if taken and _is_text_behind_number(columns[taken - 1], column):
            break  # few rows are tied, as the number is mostly a time: only these need codes of texts
        codes = _order_codes(column if rows is None else column.take(pa.array(rows)))
        width = int(codes.max()).bit_length()
        if bits + width > _WORD:
            break
        word = word << np.uint64(width) | codes if bits else codes
        bits, taken = bits + width, taken + 1
    return word, bits, taken


_WORD = 64


def _is_text_behind_number(before: pa.ChunkedArray, column: pa.ChunkedArray) -> bool:
    return pa.types.is_string(column.type) and not pa.types.is_string(before.type)


def _order_codes(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Return whole numbers from 0 on that sort like a column without NULL and NaN."""
    if pa.types.is_string(column.type):
        return text_ranks(combine_chunks(column)).codes.astype(np.uint64)
    values = _comparable(column)
    assert values is not None
    if values.dtype == np.float64:
        bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0, an equal value
        values = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)  # negative ones in reverse
    if values.dtype == np.bool_:
        return values.astype(np.uint64)
    wide = values.astype(np.int64)
    numbers: NDArray[np.uint64] = (wide - wide.min()).view(np.uint64)  # may wrap around, rightly
    return numbers


def sort_keys(
    table: pa.Table,
    partition_by: Sequence[str],
    order_by: Sequence[str],
    fields: Mapping[str, Type],
) -> list[pa.ChunkedArray]:
    """Return the columns that rows are sorted by, most significant first, all ascending."""
    ties = [
        name
        for name, type_ in fields.items()
        if type_ != OTHER and name not in partition_by and name not in order_by
    ]
    keys = [*partition_by, *order_by, *(ties if order_by else [])]
    columns: list[pa.ChunkedArray] = []
    for name in keys:
        columns += _sortable_columns(table.column(name))
    floats = [name for name in keys if order_by and pa.types.is_floating(table.column(name).type)]
    # -0.0 equals 0.0: their signs decide the order.
    return [*columns, *(_sign(table.column(name)) for name in floats)]


def _sortable_columns(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Return columns without NULL and NaN that sort like a column: NULL first, NaN last."""
    columns: list[pa.ChunkedArray] = []
    if pa.types.is_null(column.type):
        return columns
    if column.null_count:
        columns.append(pc.is_valid(column))
        column = column.fill_null(_PLACEHOLDERS.get(str(column.type), 0))
    if pa.types.is_floating(column.type):
        missing = pc.is_nan(column)
        if pc.any(missing).as_py():
            columns.append(missing)
            column = pc.if_else(missing, 0.0, column)
    return [*columns, column]


_PLACEHOLDERS: dict[str, object] = {"string": "", "bool": False}


def in_stream_order(table: pa.Table, partition_by: Sequence[str], order_by: Sequence[str]) -> bool:
    """Tell whether rows are sorted by key, then by the order columns; ties may be in any order."""
    names = (*partition_by, *order_by)
    columns = [column for name in names for column in _sortable_columns(table.column(name))]
    return not columns or is_sorted(columns)


def is_sorted(columns: Sequence[pa.ChunkedArray]) -> bool:
    """Tell whether rows are in the order of some columns."""
    rows = len(columns[0])
    before = [column.slice(0, max(rows - 1, 0)) for column in columns]
    after = [column.slice(1) for column in columns]
    return bool(in_order(before, after).all())


def in_order(before: Sequence[pa.ChunkedArray], after: Sequence[pa.ChunkedArray]) -> Bools:
    """Return a mask of the rows of `before` that sort at or before the same row of `after`."""
    size = len(before[0]) if before else 0
    wrong = np.zeros(size, dtype=np.bool_)
    undecided = np.ones(size, dtype=np.bool_)
    for column, next_column in zip(before, after, strict=True):
        values, next_values = _comparable(column), _comparable(next_column)
        if values is None or next_values is None:  # texts
            wrong |= undecided & pc.greater(column, next_column).to_numpy()
            undecided &= pc.equal(column, next_column).to_numpy()
        else:
            wrong |= undecided & (values > next_values)
            undecided &= values == next_values
        if not undecided.any():
            break
    return ~wrong


def deciding_column(
    first: pa.Table, second: pa.Table, order_by: Sequence[str], fields: Mapping[str, Type]
) -> str | None:
    """Return the first column in which two events differ; None if only the signs of zeros differ."""
    others = [name for name, type_ in fields.items() if type_ != OTHER]
    for name in (*order_by, *(name for name in others if name not in order_by)):
        if not equal_rows(first.column(name), second.column(name))[0]:
            return name
    return None


def comes_after(first: pa.Table, second: pa.Table, name: str) -> bool:
    """Tell whether the second of two events has a greater value in a column."""
    columns = _sortable_columns(pa.concat_tables([first, second]).column(name))
    return not in_order(
        [column.slice(1) for column in columns], [column.slice(0, 1) for column in columns]
    )[0]


def _comparable(column: pa.ChunkedArray) -> NDArray[Any] | None:
    """Return a column without NULLs as a numpy array, which compares faster; None for texts."""
    if pa.types.is_string(column.type):
        return None
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
    values: NDArray[Any] = column.to_numpy()
    return values


def changes(column: pa.ChunkedArray) -> Bools:
    """Return a mask of the rows, from the second on, that differ from the row before."""
    differs = np.zeros(max(len(column) - 1, 0), dtype=np.bool_)
    for part in _sortable_columns(column):
        values = _comparable(part)
        if values is None:
            differs |= pc.not_equal(part.slice(0, len(part) - 1), part.slice(1)).to_numpy()
        else:
            differs |= values[:-1] != values[1:]
    return differs


def equal_rows(left: pa.ChunkedArray, right: pa.ChunkedArray) -> Bools:
    """Return a mask of the rows in which two columns are equal; NULL equals NULL, NaN equals NaN."""
    size = len(left)
    both = pa.chunked_array([*left.chunks, *right.chunks], left.type)
    equal = np.ones(size, dtype=np.bool_)
    for part in _sortable_columns(both):
        values = _comparable(part)
        if values is None:
            equal &= pc.equal(part.slice(0, size), part.slice(size)).to_numpy()
        else:
            equal &= values[:size] == values[size:]
    return equal


def _take(column: pa.ChunkedArray, indices: pa.Array, name: str) -> pa.ChunkedArray:
    try:
        return column.take(indices)
    except (pa.ArrowNotImplementedError, NotImplementedError):
        message = f"Arrow cannot sort rows with type {column.type}"
        hint = "convert the column, or remove the field from the stream line"
        raise DataError("wrong-column-type", message, hint, column=name) from None


def _sign(column: pa.ChunkedArray) -> pa.ChunkedArray:
    negative = np.signbit(column.fill_null(0.0).to_numpy())
    return pa.chunked_array([pa.array(~negative)])


def check_order_columns(
    table: pa.Table, order_by: Sequence[str], partition_by: Sequence[str]
) -> None:
    """Raise a DataError at the first row with NULL or NaN in an order column."""
    for name in order_by:
        column = table.column(name)
        floats = pa.types.is_floating(column.type)
        if not column.null_count and not floats:
            continue
        bad = pc.is_null(column, nan_is_null=floats)
        row = pc.index(bad, True).as_py()
        if row >= 0:
            key = tuple(display_value(table.column(key)[row]) for key in partition_by)
            raise DataError(
                "null-order",
                f"NULL or NaN in a column of `order by`, in row {row} of the data",
                "filter out rows without a value in this column",
                column=name,
                key=key,
            )
