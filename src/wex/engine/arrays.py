"""Arrow arrays and numpy arrays, as the engine handles them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def spans(begin: Ints, end: Ints) -> Ints:
    """Return the numbers of several ranges, one after the other."""
    sizes = end - begin
    offset = begin - (np.cumsum(sizes) - sizes)
    found: Ints = np.arange(int(sizes.sum())) + np.repeat(offset, sizes)
    return found


def nothing(type_: pa.DataType) -> pa.Array:
    """Return an empty Arrow array, also of types of which Arrow makes none from a list."""
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, nothing(type_.storage_type))
    if pa.types.is_list(type_):
        start = pa.array([0], pa.int32())
        return pa.ListArray.from_arrays(start, nothing(type_.value_type), type=type_)
    return pa.nulls(0, type_)


def no_rows(schema: pa.Schema) -> pa.Table:
    """Return a table without rows."""
    return pa.table({field.name: nothing(field.type) for field in schema})


def retyped(column: pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return a column that has no values, or lists without values, with another type."""
    if column.null_count == len(column):
        return pa.nulls(len(column), type_)
    if pa.types.is_list(type_) and pa.types.is_list(column.type):
        lists = whole(column)
        assert not len(lists.flatten())
        offsets = pa.array(np.zeros(len(lists) + 1, dtype=np.int32))
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(offsets, nothing(type_.value_type), type=type_, mask=mask)
    return column.cast(type_)


def joined(arrays: list[pa.Array]) -> pa.Array:
    """Return several Arrow arrays of one type as one."""
    filled = [array for array in arrays if len(array)] or arrays[-1:]
    return filled[0] if len(filled) == 1 else pa.concat_arrays(filled)


def taken(array: pa.Array, places: Ints) -> pa.Array:
    """Return the values of an Arrow array at some places."""
    return array.take(pa.array(places))


def whole(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy if it is one."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else nothing(column.type)
