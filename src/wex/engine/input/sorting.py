"""The order of events: by stream, by the order columns, and ties by all other columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.input.columns import display_value
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
    """Return the rows stream by stream, each in its order; without `order by`, in that of the rows."""
    no_null_order(table, order_by, partition_by)
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
    """Return the indices that sort some columns; the sort is stable."""
    rows = pa.chunked_array([pa.array(np.arange(len(columns[0])))])
    names = [f"#{n}" for n in range(len(columns) + 1)]
    by = [(name, "ascending") for name in names]
    indices = pc.sort_indices(pa.table([*columns, rows], names=names), sort_keys=by)
    numbers: Ints = indices.to_numpy().astype(np.int64)
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
        columns += _without_gaps(table.column(name))
    floats = [name for name in keys if order_by and pa.types.is_floating(table.column(name).type)]
    # -0.0 equals 0.0, so their order needs the sign
    return [*columns, *(_sign(table.column(name)) for name in floats)]


def _without_gaps(column: pa.ChunkedArray) -> list[pa.ChunkedArray]:
    """Return a column as columns without NULL and NaN that sort alike: NULL first, NaN last."""
    columns = []
    if column.null_count:
        columns.append(pc.is_valid(column))
        column = column.fill_null(_SOMETHING.get(str(column.type), 0))
    if pa.types.is_floating(column.type):
        missing = pc.is_nan(column)
        if pc.any(missing).as_py():
            columns.append(missing)
            column = pc.if_else(missing, 0.0, column)
    return [*columns, column]


_SOMETHING: dict[str, object] = {"string": "", "bool": False}


def in_stream_order(table: pa.Table, partition_by: Sequence[str], order_by: Sequence[str]) -> bool:
    """Tell whether rows are sorted by key, then by the order columns; ties may be in any order."""
    names = (*partition_by, *order_by)
    columns = [column for name in names for column in _without_gaps(table.column(name))]
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
    for one, two in zip(before, after, strict=True):
        first, second = _comparable(one), _comparable(two)
        if first is None or second is None:  # texts
            wrong |= undecided & pc.greater(one, two).to_numpy()
            undecided &= pc.equal(one, two).to_numpy()
        else:
            wrong |= undecided & (first > second)
            undecided &= first == second
        if not undecided.any():
            break
    return ~wrong


def deciding_column(
    one: pa.Table, two: pa.Table, order_by: Sequence[str], fields: Mapping[str, Type]
) -> str | None:
    """Return the first column in which two events differ; None if only the sign of a zero does."""
    others = [name for name, type_ in fields.items() if type_ != OTHER]
    for name in (*order_by, *(name for name in others if name not in order_by)):
        if not same(one.column(name), two.column(name))[0]:
            return name
    return None


def comes_after(one: pa.Table, two: pa.Table, name: str) -> bool:
    """Tell whether the second of two events comes after the first one by a column."""
    columns = _without_gaps(pa.concat_tables([one, two]).column(name))
    return not in_order(
        [column.slice(1) for column in columns], [column.slice(0, 1) for column in columns]
    )[0]


def _comparable(column: pa.ChunkedArray) -> NDArray[Any] | None:
    """Return a column without NULLs as a numpy array, which compares faster; None for texts."""
    if pa.types.is_string(column.type):
        return None
    if pa.types.is_temporal(column.type):
        column = column.cast(pa.int32() if pa.types.is_date(column.type) else pa.int64())
    found: NDArray[Any] = column.to_numpy()
    return found


def changes(column: pa.ChunkedArray) -> Bools:
    """Return a mask of the rows, from the second on, that differ from the row before."""
    found = np.zeros(max(len(column) - 1, 0), dtype=np.bool_)
    for each in _without_gaps(column):
        values = _comparable(each)
        if values is None:
            found |= pc.not_equal(each.slice(0, len(each) - 1), each.slice(1)).to_numpy()
        else:
            found |= values[:-1] != values[1:]
    return found


def same(one: pa.ChunkedArray, two: pa.ChunkedArray) -> Bools:
    """Return a mask of the rows in which two columns are equal; NULL equals NULL, NaN equals NaN."""
    size = len(one)
    both = pa.chunked_array([*one.chunks, *two.chunks], one.type)
    found = np.ones(size, dtype=np.bool_)
    for each in _without_gaps(both):
        values = _comparable(each)
        if values is None:
            found &= pc.equal(each.slice(0, size), each.slice(size)).to_numpy()
        else:
            found &= values[:size] == values[size:]
    return found


def _take(column: pa.ChunkedArray, indices: pa.Array, name: str) -> pa.ChunkedArray:
    try:
        return column.take(indices)
    except (pa.ArrowNotImplementedError, NotImplementedError):
        message = f"Arrow cannot put values of type {column.type} in order"
        hint = "convert the column, or leave it out of the stream line"
        raise DataError("wrong-column-type", message, hint, column=name) from None


def _sign(column: pa.ChunkedArray) -> pa.ChunkedArray:
    negative = np.signbit(column.fill_null(0.0).to_numpy())
    return pa.chunked_array([pa.array(~negative)])


def no_null_order(table: pa.Table, order_by: Sequence[str], partition_by: Sequence[str]) -> None:
    """Raise a DataError at the first row with NULL or NaN in an order column."""
    for name in order_by:
        column = table.column(name)
        bad = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
        row = pc.index(bad, True).as_py()
        if row >= 0:
            key = tuple(display_value(table.column(key)[row]) for key in partition_by)
            raise DataError(
                "null-order",
                f"row {row} of the data has no value to order by",
                "every event needs its place in the stream: filter such rows out",
                column=name,
                key=key,
            )
