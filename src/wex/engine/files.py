"""Tables in files: Parquet, CSV, JSON lines and Arrow, read with the types that a spec declares."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.arrays import no_rows
from wex.engine.columns import arrow_type
from wex.errors import DataError, WexError
from wex.spec.suggest import did_you_mean
from wex.spec.types import DATE, OTHER, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
NAMES = tuple(dict.fromkeys(FORMATS.values()))


def format_of(path: Path, given: str | None = None) -> str:
    """Return the format of a file: as given, or by the ending of its name."""
    if given is not None:
        if given not in NAMES:
            hint = did_you_mean(given, NAMES, "the formats are")
            raise WexError("unknown-format", f"there is no file format called `{given}`", hint)
        return given
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in (".gz", ".zst")]
    found = FORMATS.get(endings[-1]) if endings else None
    if found is None:
        hint = f"name the format: one of {', '.join(NAMES)}"
        raise WexError("unknown-format", f"{path}: its name does not tell its format", hint)
    return found


BATCH = 1 << 20  # rows
TEXT_BLOCK = 1 << 24  # bytes of a text file


def read_table(path: Path, fields: Mapping[str, Type], given: str | None = None) -> pa.Table:
    """Return the table in a file; text formats are read with the types of the fields."""
    with reading(path, fields, given) as source:
        return pa.concat_tables(source.batches)


@dataclass(frozen=True)
class Source:
    """The batches of a file, and how many rows there are in all, if that is known before."""

    batches: Iterator[pa.Table]
    rows: int | None


@contextmanager
def reading(path: Path, fields: Mapping[str, Type], given: str | None = None) -> Iterator[Source]:
    """Open a file to be read batch by batch; there is at least one batch."""
    kind = format_of(path, given)
    try:
        with path.open("rb"):
            pass
        yield _READERS[kind](path, fields)
    except OSError as error:
        if error.errno:
            raise _no_file(path, error, "give the path of a readable file") from error
        message = f"{path}: {str(error).splitlines()[0]}"
        raise DataError("unreadable", message, f"is this whole, and {kind}?") from error
    except pa.ArrowInvalid as error:
        hint = f"is this {kind}, and do its values fit the types of the stream line?"
        message = f"{path}: {str(error).splitlines()[0]}"
        raise DataError("unreadable", message, hint) from error


def _no_file(path: Path, error: OSError, hint: str) -> WexError:
    reason = os.strerror(error.errno) if error.errno else str(error).splitlines()[0]
    return WexError("no-file", f"{path}: {reason}", hint)


def _read_parquet(path: Path, fields: Mapping[str, Type]) -> Source:
    from pyarrow import parquet  # noqa: PLC0415

    file = parquet.ParquetFile(path)
    there = [name for name in fields if name in file.schema_arrow.names]

    def batches() -> Iterator[pa.Table]:
        yield _head(file.schema_arrow, fields)
        for batch in file.iter_batches(BATCH, columns=there):
            yield pa.Table.from_batches([batch]).select(there)

    return Source(batches(), file.metadata.num_rows)


def _read_csv(path: Path, fields: Mapping[str, Type]) -> Source:
    from pyarrow import csv  # noqa: PLC0415

    read = csv.ReadOptions(block_size=TEXT_BLOCK)
    with csv.open_csv(path, read_options=read) as reader:
        head = _head(reader.schema, fields)
        there = [name for name in reader.schema.names if name in fields]
    types = {name: arrow_type(fields[name]) for name in there if fields[name] != OTHER}
    convert = csv.ConvertOptions(column_types=types, include_columns=there)
    reader = csv.open_csv(path, read_options=read, convert_options=convert)
    whole = _tables(reader)
    return Source(chain([head], whole) if len(there) < len(fields) else whole, None)


def _head(schema: pa.Schema, fields: Mapping[str, Type]) -> pa.Table:
    """Return the columns that are wanted, without rows; all, if some are not there.

    Then what is missing is told beside what there is.
    """
    empty = no_rows(schema)
    return empty.select(list(fields)) if set(fields) <= set(schema.names) else empty


def _read_json(path: Path, fields: Mapping[str, Type]) -> Source:
    from pyarrow import json  # noqa: PLC0415

    declared = {name: arrow_type(type_) for name, type_ in fields.items() if type_ != OTHER}
    dates = [name for name, type_ in fields.items() if type_ == DATE]  # JSON has them as strings
    schema = pa.schema({**declared, **dict.fromkeys(dates, pa.string())})
    others = len(declared) < len(fields)
    parse = json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if others else "ignore"
    )
    reader = json.open_json(path, json.ReadOptions(block_size=TEXT_BLOCK), parse)

    def batches() -> Iterator[pa.Table]:
        for table in _tables(reader):
            for name in dates:
                at = table.schema.get_field_index(name)
                table = table.set_column(at, name, table.column(name).cast(pa.date32()))  # noqa: PLW2901
            yield table

    return Source(batches(), None)


def _tables(reader: pa.RecordBatchReader) -> Iterator[pa.Table]:
    yield reader.schema.empty_table()
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _read_arrow(path: Path, _fields: Mapping[str, Type]) -> Source:
    source = pa.memory_map(str(path))
    try:
        file = pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        source.seek(0)
        return Source(_tables(pa.ipc.open_stream(source)), None)

    def batches() -> Iterator[pa.Table]:
        yield file.schema.empty_table()
        for at in range(file.num_record_batches):
            yield pa.Table.from_batches([file.get_batch(at)])

    return Source(batches(), None)


def write_table(table: pa.Table, path: Path, given: str | None = None) -> None:
    """Write a table to a file, whole or not at all."""
    kind = format_of(path, given)
    part = path.with_name(f".{path.name}.part")
    try:
        _WRITERS[kind](table, part)
        part.replace(path)
    except OSError as error:
        raise _no_file(path, error, "give a path that can be written") from error
    except pa.ArrowInvalid as error:
        hint = "lists do not fit into CSV: write Parquet, JSON lines or Arrow"
        raise WexError("unwritable", f"{path}: {str(error).splitlines()[0]}", hint) from error
    finally:
        part.unlink(missing_ok=True)


def _write_parquet(table: pa.Table, path: Path) -> None:
    from pyarrow import parquet  # noqa: PLC0415

    parquet.write_table(table, path)


def _write_csv(table: pa.Table, path: Path) -> None:
    from pyarrow import csv  # noqa: PLC0415

    csv.write_csv(table, path)


def _write_json(table: pa.Table, path: Path) -> None:
    path.write_text("".join(f"{line}\n" for line in json_lines(table)), "utf-8")


def _write_arrow(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def json_lines(table: pa.Table) -> list[str]:
    """Return a table as lines of JSON; times as ISO 8601, durations in seconds."""
    import json  # noqa: PLC0415

    return [json.dumps(row, default=_json_value) for row in table.to_pylist()]


def _json_value(value: object) -> object:
    for method in ("isoformat", "total_seconds"):
        if hasattr(value, method):
            return getattr(value, method)()
    return str(value)


_READERS = {"parquet": _read_parquet, "csv": _read_csv, "json": _read_json, "arrow": _read_arrow}
_WRITERS = {
    "parquet": _write_parquet,
    "csv": _write_csv,
    "json": _write_json,
    "arrow": _write_arrow,
}
