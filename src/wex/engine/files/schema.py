"""The columns of files and their types, where no spec declares them.

Parquet and Arrow files say them; of CSV and JSON, Arrow guesses them from the first block.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.files.sources import damaged_file_error, files_of
from wex.errors import DataError

if TYPE_CHECKING:
    from wex.engine.files.sources import File, Given

BLOCK = 1 << 22  # bytes of a text file whose values are looked at


def schema_of(given: Given, input_format: str | None = None) -> pa.Schema:
    """Return the columns of some files, with those that the names of their folders give."""
    with files_of(given, input_format) as files:
        schemas = []
        for file in files:
            try:
                schema = _READERS[file.format](file)
            except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
                raise damaged_file_error(file.shown, error, file.format) from error
            for name in file.constants:
                if name not in schema.names:
                    schema = schema.append(pa.field(name, pa.string()))
            schemas.append(schema)
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            message = f"a column has different types in different files: {error}"
            hint = "give each column one type in all files"
            raise DataError("wrong-column-type", message, hint) from error


def _parquet(file: File) -> pa.Schema:
    from pyarrow import parquet  # noqa: PLC0415

    return parquet.ParquetFile(file.path).schema_arrow


def _arrow(file: File) -> pa.Schema:
    with pa.memory_map(str(file.path)) as source:
        try:
            return pa.ipc.open_file(source).schema
        except pa.ArrowInvalid:
            source.seek(0)
            return pa.ipc.open_stream(source).schema


def _csv(file: File) -> pa.Schema:
    from pyarrow import csv  # noqa: PLC0415

    options = csv.ReadOptions(block_size=BLOCK)
    with file.open() as source, csv.open_csv(source, options) as reader:
        return reader.schema


def _json(file: File) -> pa.Schema:
    from pyarrow import json  # noqa: PLC0415

    with file.open() as source:
        block = source.read(BLOCK)
        if len(block) == BLOCK:
            block = block[: block.rfind(b"\n") + 1]
    return json.read_json(pa.BufferReader(block)).schema


_READERS = {"parquet": _parquet, "arrow": _arrow, "csv": _csv, "json": _json}
