"""Converts data to the columns of a stream, one Arrow type for each type of the language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.arrays import empty
from wex.engine.workers import ALONE
from wex.errors import DataError, did_you_mean
from wex.spec.types import BOOL, DATE, DURATION, INT, OTHER, REAL, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.workers import Workers

EXACT_IN_A_FLOAT = 2**53
REPEATED = 1 << 14  # texts that are copied together
MOST_TEXT = 2**31 - 1  # bytes in an array of strings


@runtime_checkable
class ArrowStream(Protocol):
    """An object that exports Arrow data: of pandas, polars, duckdb or Arrow."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a capsule with an Arrow stream."""


Data: TypeAlias = pa.Table | pa.RecordBatch | dict[str, object] | ArrowStream


EXPECTED = "give an Arrow table, a dict of arrays, or anything with __arrow_c_stream__ (pandas, polars, duckdb)"


def table_of(data: Data) -> pa.Table:
    """Return data as an Arrow table."""
    try:
        match data:
            case pa.Table():
                return data
            case pa.RecordBatch():
                return pa.Table.from_batches([data])
            case dict():
                return pa.table(data)
            case ArrowStream():
                return pa.RecordBatchReader.from_stream(data).read_all()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        message = f"this {type(data).__name__} cannot be converted to columns: {error}"
        raise DataError("not-columns", message.splitlines()[0], EXPECTED) from error
    raise DataError("not-columns", f"expected columns, got {type(data).__name__}", EXPECTED)


def conform(
    data: Data, fields: Mapping[str, Type], keys: Sequence[str] = (), workers: Workers = ALONE
) -> pa.Table:
    """Return the columns of a stream's fields, in the order of the fields, cast to their Arrow types.

    Missing columns and wrong types are reported first. An error about a value names the first row
    with such a value, and its stream by the columns `keys`.
    """
    table = table_of(data)
    names, types = list(fields), list(fields.values())
    empty = table.slice(0, 0)
    _one_zone([_column(empty, name, type_) for name, type_ in fields.items()], names, types)

    def converted(name: str) -> pa.ChunkedArray | _BadRowError:
        try:
            return _column(table, name, fields[name], workers)
        except _BadRowError as bad:
            return bad

    columns = workers.map(converted, names)
    wrong = [(at, bad) for at, bad in enumerate(columns) if isinstance(bad, _BadRowError)]
    if wrong:
        at, first = min(wrong, key=lambda fault: fault[1].row)
        row = first.row
        hint = f"the value is in row {row} of the data; {first.hint}"
        key = tuple(
            display_value(table.column(key)[row]) for key in keys if key in table.column_names
        )
        raise DataError(first.code, first.message, hint, column=names[at], key=key)
    return pa.table(_one_zone(columns, names, types), names=names)


class _BadRowError(Exception):
    """A value that does not fit its field, on its way to becoming a DataError."""

    def __init__(self, code: str, message: str, hint: str, row: int) -> None:
        super().__init__(code, message, hint, row)
        self.code, self.message, self.hint, self.row = code, message, hint, row


def _column(table: pa.Table, name: str, type_: Type, workers: Workers = ALONE) -> pa.ChunkedArray:
    check_column(name, table.column_names)
    column = table.column(name)
    if pa.types.is_dictionary(column.type) and type_ != OTHER:
        column = column.cast(column.type.value_type)
    return convert(column, name, type_, workers)


def check_column(name: str, names: Sequence[str], file: str | None = None) -> None:
    """Raise a DataError unless exactly one of the columns has a name."""
    count = names.count(name)
    if not count:
        message = f"the data has no column `{name}`"
        hint = did_you_mean(name, dict.fromkeys(names), "the columns are")
        raise DataError("missing-column", message, hint, column=name, file=file)
    if count > 1:
        message = f"the data has {count} columns called `{name}`"
        hint = "rename or drop all but one of them"
        raise DataError("column-twice", message, hint, column=name, file=file)


def convert(
    column: pa.ChunkedArray, name: str, type_: Type, workers: Workers = ALONE
) -> pa.ChunkedArray:
    """Return a column cast to the Arrow type of a type."""
    given = column.type
    if type_ == OTHER:
        return _takeable(column, name)
    if pa.types.is_null(given):
        return column if type_ == TIMESTAMP else column.cast(arrow_type(type_))
    if type_ == TIMESTAMP and pa.types.is_timestamp(given):
        return _timestamps(column)
    if _accepts(type_, given):
        return _cast(column, name, type_, workers)
    raise DataError(
        "wrong-column-type",
        f"the spec declares {type_}, the data has {given}",
        _type_hint(type_, given),
        column=name,
    )


def _takeable(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Return a column of type `other`, cast to an Arrow type whose rows can be taken in any order."""
    given = column.type
    target = takeable_type(given)
    if target == given:
        return column
    try:
        if pa.types.is_run_end_encoded(given):
            chunks = [pc.run_end_decode(chunk) for chunk in column.chunks]
            column = pa.chunked_array(chunks, given.value_type)
        return column.cast(target)
    except (pa.ArrowException, NotImplementedError) as error:
        message = f"Arrow cannot sort rows with type {given}, nor convert it to {target}"
        hint = "convert the column, or remove the field from the stream line"
        raise DataError("wrong-column-type", message, hint, column=name) from error


def takeable_type(type_: pa.DataType) -> pa.DataType:
    """Return a type whose rows Arrow can take: without views and run-end encoding, at any depth.

    Views of lists stay: Arrow can take their rows, but casts them wrongly.

    >>> takeable_type(pa.list_(pa.binary_view()))
    ListType(list<item: binary>)
    """
    is_ = pa.types
    if is_.is_binary_view(type_) or is_.is_string_view(type_):
        return pa.binary() if is_.is_binary_view(type_) else pa.string()
    if is_.is_run_end_encoded(type_):
        return takeable_type(type_.value_type)
    if is_.is_dictionary(type_):
        # Small indices overflow when batches with different values are concatenated.
        return pa.dictionary(pa.int32(), takeable_type(type_.value_type), type_.ordered)
    if is_.is_struct(type_):
        return pa.struct([_takeable_field(field) for field in type_])
    if is_.is_map(type_):
        key, item = _takeable_field(type_.key_field), _takeable_field(type_.item_field)
        return pa.map_(key, item, type_.keys_sorted)
    if is_.is_fixed_size_list(type_):
        return pa.list_(_takeable_field(type_.value_field), type_.list_size)
    if is_.is_list(type_):
        return pa.list_(_takeable_field(type_.value_field))
    if is_.is_large_list(type_):
        return pa.large_list(_takeable_field(type_.value_field))
    return type_


def _takeable_field(field: pa.Field) -> pa.Field:
    return field.with_type(takeable_type(field.type))


_ARROW_TYPES = {
    BOOL: pa.bool_(),
    INT: pa.int64(),
    REAL: pa.float64(),
    DATE: pa.date32(),
    TIMESTAMP: pa.timestamp("us"),
    DURATION: pa.duration("us"),
}


def arrow_type(type_: Type) -> pa.DataType:
    """Return the Arrow type of a type, in data and in results."""
    return _ARROW_TYPES.get(type_, pa.string())


def _accepts(type_: Type, given: pa.DataType) -> bool:
    check = pa.types
    match type_.name:
        case "bool":
            return bool(check.is_boolean(given))
        case "int":
            return bool(check.is_integer(given)) and given != pa.uint64()
        case "real":
            number = check.is_floating(given) or check.is_decimal(given)
            return bool(number or (check.is_integer(given) and given != pa.uint64()))
        case "string" | "enum":
            return bool(
                check.is_string(given)
                or check.is_large_string(given)
                or check.is_string_view(given)
            )
        case "date":
            return bool(check.is_date(given))
    return False


def _cast(column: pa.ChunkedArray, name: str, type_: Type, workers: Workers) -> pa.ChunkedArray:
    target = arrow_type(type_)
    if type_ == REAL and pa.types.is_integer(column.type):
        _check_exact_floats(column)
    if pa.types.is_decimal(column.type):
        column = column.cast(pa.string())  # only from text does Arrow round to the nearest float
    try:
        values = column.cast(target)
        if pa.types.is_string(target):
            _validate(values, workers)
    except pa.ArrowInvalid as error:
        message = str(error).splitlines()[0]
        hint = f"values must be valid for the type {target}"
        raise DataError("wrong-value", message, hint, column=name) from error
    return values


def _validate(texts: pa.ChunkedArray, workers: Workers) -> None:
    """Raise Arrow's error about the first text that is not UTF-8, on however many threads."""
    try:
        workers.map(lambda part: part.validate(full=True), workers.parts(texts))
    except pa.ArrowInvalid:
        texts.validate(full=True)  # the error of a part counts from its first row
        raise


def _check_exact_floats(column: pa.ChunkedArray) -> None:
    """Raise an error at the first integer that a float may not represent exactly."""
    wide = column.cast(pa.int64())
    far = pc.or_(pc.greater(wide, EXACT_IN_A_FLOAT), pc.less(wide, -EXACT_IN_A_FLOAT))
    row = pc.index(far, True).as_py()
    if row >= 0:
        message = "a whole number beyond 2^53 is not exact as a real"
        raise _BadRowError("wrong-value", message, "declare the field as int", row)


def _timestamps(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps in microseconds; those that are finer or out of range are an error."""
    target = pa.timestamp("us", column.type.tz)
    try:
        return column.cast(target)
    except pa.ArrowInvalid:
        back = column.cast(target, safe=False).cast(column.type, safe=False)
        row = pc.index(pc.not_equal(back, column), True).as_py()
    if column.type.unit == "ns":
        message, hint = "a timestamp is finer than microseconds", "round timestamps to microseconds"
        raise _BadRowError("sub-microsecond", message, hint, row)
    hint = "a timestamp must be within about 292,000 years of 1970"
    raise _BadRowError("timestamp-range", "a timestamp is out of range", hint, row)


def display_value(key: pa.Scalar) -> object:
    """Return a value as errors show it: a number for dates and times that Python cannot represent."""
    try:
        return key.as_py()
    except (ArithmeticError, ValueError, LookupError):
        return key.cast(pa.int32() if key.type == pa.date32() else pa.int64()).as_py()


def _one_zone(
    columns: Sequence[pa.ChunkedArray], names: Sequence[str], types: Sequence[Type]
) -> list[pa.ChunkedArray]:
    """Return the columns; those of NULLs without a type take the time zone of the other timestamps."""
    zones = {
        name: column.type.tz
        for name, column, type_ in zip(names, columns, types, strict=True)
        if type_ == TIMESTAMP and not pa.types.is_null(column.type)
    }
    with_zone = [name for name, zone in zones.items() if zone]
    without = [name for name, zone in zones.items() if not zone]
    if with_zone and without:
        raise DataError(
            "zones-mixed",
            f"`{with_zone[0]}` has a time zone and `{without[0]}` has none",
            "use a time zone in all timestamp columns, or in none",
            column=with_zone[0],
        )
    fitting = pa.timestamp("us", zones[with_zone[0]] if with_zone else None)
    return [
        column.cast(fitting) if type_ == TIMESTAMP and pa.types.is_null(column.type) else column
        for column, type_ in zip(columns, types, strict=True)
    ]


def _type_hint(type_: Type, given: pa.DataType) -> str:
    if given == pa.uint64():
        return "cast the column to int64, if its values fit"
    if pa.types.is_timestamp(given):
        return "declare the field as timestamp"
    if pa.types.is_date(given):
        return "declare the field as date"
    if pa.types.is_integer(given) or pa.types.is_floating(given) or pa.types.is_decimal(given):
        return f"declare the field as {'int' if pa.types.is_integer(given) else 'real'}"
    if pa.types.is_boolean(given):
        return "declare the field as bool"
    if _accepts(Type("string"), given):
        return f"declare the field as string, or convert the column to {type_}"
    return "declare the field as other, and measure it by first, last, collect or count"


def spans(begin: Ints, end: Ints) -> Ints:
    """Return the numbers of the ranges from `begin[i]` up to `end[i] - 1`, concatenated."""
    sizes = end - begin
    offset = begin - (np.cumsum(sizes) - sizes)
    numbers: Ints = np.arange(int(sizes.sum())) + np.repeat(offset, sizes)
    return numbers


def empty_array(type_: pa.DataType) -> pa.Array:
    """Return an empty Arrow array of any type; `pa.array([], type)` does not support all types."""
    if isinstance(type_, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(type_, empty_array(type_.storage_type))
    if pa.types.is_list(type_):
        start = pa.array([0], pa.int32())
        return pa.ListArray.from_arrays(start, empty_array(type_.value_type), type=type_)
    return pa.nulls(0, type_)


def empty_table(schema: pa.Schema) -> pa.Table:
    """Return a table without rows."""
    return pa.table({field.name: empty_array(field.type) for field in schema})


def cast_empty(column: pa.ChunkedArray, type_: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return a column of NULLs or empty lists, cast to another type; other columns are cast by Arrow."""
    if column.null_count == len(column):
        return pa.nulls(len(column), type_)
    if pa.types.is_list(type_) and pa.types.is_list(column.type):
        lists = combine_chunks(column)
        assert not len(lists.flatten())
        offsets = pa.array(np.zeros(len(lists) + 1, dtype=np.int32))
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(
            offsets, empty_array(type_.value_type), type=type_, mask=mask
        )
    return column.cast(type_)


def repeated(text: str, count: int) -> pa.Array:
    """Return an array that has one text so many times."""
    value = text.encode()
    if (count + 1) * len(value) > MOST_TEXT:
        return pa.repeat(pa.scalar(text, pa.string()), count)
    offsets, texts = empty(count + 1, np.int32), empty(count * len(value), np.uint8)
    ends = np.arange(0, (REPEATED + 1) * len(value), len(value), dtype=np.int32)
    block = np.frombuffer(value * REPEATED, dtype=np.uint8)
    offsets[0] = 0
    for begin in range(0, count, REPEATED):
        low, high = begin * len(value), min(begin + REPEATED, count) * len(value)
        texts[low:high] = block[: high - low]
        to = offsets[begin + 1 : begin + 1 + REPEATED]
        np.add(ends[1 : 1 + len(to)], low, out=to)
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(texts))


def concat_arrays(arrays: list[pa.Array]) -> pa.Array:
    """Return Arrow arrays of one type, concatenated."""
    filled = [array for array in arrays if len(array)] or arrays[-1:]
    return filled[0] if len(filled) == 1 else pa.concat_arrays(filled)


def take(array: pa.Array, places: Ints) -> pa.Array:
    """Return the values of an Arrow array at some indices."""
    return array.take(pa.array(places))


def combine_chunks(column: pa.ChunkedArray) -> pa.Array:
    """Return a column as one array, without a copy if it has one chunk."""
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else empty_array(column.type)
