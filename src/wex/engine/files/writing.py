"""Writes tables to files. A value is written in CSV and JSON in a form that `reading` reads back.

| type | CSV | JSON |
|---|---|---|
| bool | `true` | `true` |
| int | `42`, all digits | `42`, all digits |
| real | `2.5`, `NaN`, `Infinity`, `-Infinity` | `2.5`, `"NaN"`, `"Infinity"`, `"-Infinity"` |
| string | the text | `"the text"` |
| timestamp | `2026-01-31T10:00:00`, with a zone `2026-01-31T09:00:00.500000Z` | the same, as text |
| date | `2026-01-31` | `"2026-01-31"` |
| duration | seconds: `90.000001` | seconds: `90.000001` |
| NULL | nothing (the empty string is `""`) | `null` |
| list, struct | an error | `[1, 2]`, `{"a": 1}` |
"""

from __future__ import annotations

import base64
import json
import math
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.files.formats import compression_named, format_of
from wex.engine.files.sources import no_file_error
from wex.errors import WexError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = 1 << 16  # converted to text at a time


def check_output(path: Path, given: str | None = None) -> None:
    """Raise a WexError if a file cannot be written; to be called before the windows are computed."""
    format_of(path, given)
    if path.is_dir():
        raise WexError("no-file", f"{path}: Is a directory", "give the path of a file to write")
    if not path.absolute().parent.is_dir():
        hint = "create the folder, or give another path"
        raise WexError("no-file", f"{path}: No such file or directory", hint)


def write_table(table: pa.Table, path: Path, given: str | None = None) -> None:
    """Write a table to a file, compressed if the file extension says so.

    The file appears only when it is complete. Links are followed; pipes and devices are written to
    directly.
    """
    kind = format_of(path, given)
    target = path.resolve() if path.is_symlink() else path
    is_file = not target.exists() or target.is_file()
    part = target.with_name(f".{target.name}.part") if is_file else target
    try:
        with pa.output_stream(str(part), compression=compression_named(path)) as sink:
            _WRITERS[kind](table, sink)
        if is_file:
            part.replace(target)
    except OSError as error:
        raise no_file_error(str(path), error, "give a path that can be written") from error
    except pa.ArrowInvalid as error:
        message = f"{path}: {str(error).splitlines()[0]}"
        raise WexError("unwritable", message, "write Parquet, JSON lines or Arrow") from error
    finally:
        if is_file:
            part.unlink(missing_ok=True)


def _write_parquet(table: pa.Table, sink: pa.NativeFile) -> None:
    from pyarrow import parquet  # noqa: PLC0415

    parquet.write_table(table, sink)


def _write_csv(table: pa.Table, sink: pa.NativeFile) -> None:
    for field in table.schema:
        if pa.types.is_nested(field.type):
            message = f"CSV cannot hold column `{field.name}` of type {field.type}"
            raise WexError("unwritable", message, "write Parquet, JSON lines or Arrow")
    for line in csv_lines(table):
        sink.write(f"{line}\n".encode())


def _write_json(table: pa.Table, sink: pa.NativeFile) -> None:
    for line in json_lines(table):
        sink.write(f"{line}\n".encode())


def _write_arrow(table: pa.Table, sink: pa.NativeFile) -> None:
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


_WRITERS = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "json": _write_json,
    "arrow": _write_arrow,
}


def json_lines(table: pa.Table) -> Iterator[str]:
    """Yield a table as lines of JSON.

    >>> [*json_lines(pa.table({"x": [1.5, float("nan")], "t": pa.array([90_000_001, 1], pa.duration("us"))}))]
    ['{"x": 1.5, "t": 90.000001}', '{"x": "NaN", "t": 0.000001}']
    """
    keys = [f"{_quoted(name)}: " for name in table.column_names]
    for batch in table.to_batches(ROWS):
        columns = [_json_values(column) for column in batch.columns]
        for row in zip(*columns, strict=True):
            yield f"{{{', '.join(map(str.__add__, keys, row))}}}"


def csv_lines(table: pa.Table) -> Iterator[str]:
    """Yield a table as lines of CSV, the header first.

    >>> [*csv_lines(pa.table({"x": [1.5, None], "s": ["", None]}))]
    ['x,s', '1.5,""', ',']
    """
    yield ",".join(map(_csv_text, table.column_names))
    for batch in table.to_batches(ROWS):
        for row in zip(*map(_csv_values, batch.columns), strict=True):
            # Readers skip empty lines, so a single NULL is written as quotes.
            yield ",".join(row) if len(row) > 1 or row[0] else '""'


def shown_rows(table: pa.Table) -> Iterator[tuple[str, ...]]:
    """Yield the rows of a table for display: values as in CSV, lists as in JSON."""
    for batch in table.to_batches(ROWS):
        yield from zip(*map(_shown_values, batch.columns), strict=True)


def _shown_values(column: pa.Array) -> list[str]:
    if pa.types.is_nested(column.type):
        return _json_values(column)
    return ["NULL" if text is None else text for text in plain_values(column)]


def _csv_values(column: pa.Array) -> list[str]:
    values = plain_values(column)
    return ["" if value is None else _csv_text(value) for value in values]


def _csv_text(text: str) -> str:
    if text and not any(char in text for char in ',"\r\n') and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'


def plain_values(column: pa.Array) -> list[str | None]:
    """Return values as texts, without quotes."""
    type_ = column.type
    if isinstance(column, pa.ExtensionArray):
        return plain_values(column.storage)
    if pa.types.is_dictionary(type_):
        return plain_values(column.dictionary_decode())
    if pa.types.is_boolean(type_):
        return [None if value is None else str(value).lower() for value in column.to_pylist()]
    if pa.types.is_floating(type_):
        return [None if value is None else _number(value) for value in column.to_pylist()]
    if pa.types.is_duration(type_):
        return [None if count is None else _seconds(count, type_.unit) for count in _counts(column)]
    if pa.types.is_timestamp(type_):
        return _timestamps(column)
    if pa.types.is_date(type_):
        _check_years(column, 1 if pa.types.is_date32(type_) else 86_400_000)
    if (
        pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
        or pa.types.is_fixed_size_binary(type_)
    ):
        return [
            None if value is None else base64.b64encode(value).decode()
            for value in column.to_pylist()
        ]
    texts: list[str | None] = column.cast(pa.string()).to_pylist()
    return texts


def _json_values(column: pa.Array) -> list[str]:
    type_ = column.type
    if isinstance(column, pa.ExtensionArray):
        return _json_values(column.storage)
    if pa.types.is_dictionary(type_):
        return _json_values(column.dictionary_decode())
    if pa.types.is_nested(type_):
        return _nested_values(column)
    bare = _is_bare(type_)
    return [
        "null" if text is None else text if bare and text not in _NOT_IN_JSON else _quoted(text)
        for text in plain_values(column)
    ]


def _nested_values(column: pa.Array) -> list[str]:
    type_, valid = column.type, pc.is_valid(column).to_pylist()
    if pa.types.is_struct(type_):
        names = [_quoted(field.name) for field in type_]
        parts = [_json_values(part) for part in column.flatten()]
        rows = zip(*parts, strict=True) if parts else [()] * len(column)
        texts = [
            f"{{{', '.join(f'{n}: {v}' for n, v in zip(names, row, strict=True))}}}" for row in rows
        ]
    else:
        lists = (
            column
            if not pa.types.is_map(type_)
            else column.cast(
                pa.list_(pa.struct([("key", type_.key_type), ("value", type_.item_type)]))
            )
        )
        items = _json_values(lists.flatten())
        sizes = [size or 0 for size in pc.list_value_length(lists).to_pylist()]
        texts, at = [], 0
        for size in sizes:
            texts.append(f"[{', '.join(items[at : at + size])}]")
            at += size
    return [text if is_valid else "null" for text, is_valid in zip(texts, valid, strict=True)]


_NOT_IN_JSON = ("NaN", "Infinity", "-Infinity")


def _is_bare(type_: pa.DataType) -> bool:
    """Tell whether JSON has values of a type without quotes."""
    checks = (
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_decimal,
        pa.types.is_duration,
    )
    return any(check(type_) for check in checks)


def _quoted(text: str) -> str:
    return json.dumps(text)


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def _counts(column: pa.Array) -> list[int | None]:
    counts: list[int | None] = column.cast(pa.int64()).to_pylist()
    return counts


def _seconds(count: int, unit: str) -> str:
    exact = Decimal(count).scaleb(-_DIGITS[unit])
    return format(
        exact.quantize(1) if exact == exact.to_integral_value() else exact.normalize(), "f"
    )


def _timestamps(column: pa.Array) -> list[str | None]:
    """Return timestamps in ISO 8601: those with a zone in UTC, without a fraction of zeros."""
    unit = column.type.unit
    _check_years(column, 10 ** _DIGITS[unit] * 86_400)
    if column.type.tz is not None:
        column = column.cast(pa.timestamp(unit, "UTC"))
    texts = pc.replace_substring(column.cast(pa.string()), " ", "T", max_replacements=1)
    short: list[str | None] = pc.replace_substring_regex(texts, r"\.0+(Z?)$", r"\1").to_pylist()
    return short


def _check_years(column: pa.Array, a_day: int) -> None:
    """Raise a WexError for times outside the years 1 to 9999, which ISO 8601 cannot express."""
    if column.null_count == len(column):
        return
    counts = column.cast(pa.int32() if pa.types.is_date32(column.type) else pa.int64())
    ends = pc.min_max(counts).as_py()
    if ends["min"] < _FIRST_DAY * a_day or ends["max"] >= _LAST_DAY * a_day:
        message = "a date or timestamp outside the years 1 to 9999 cannot be written as text"
        raise WexError("unwritable", message, "write Parquet or Arrow")


_FIRST_DAY, _LAST_DAY = (date(1, 1, 1) - date(1970, 1, 1)).days, 2_932_897
