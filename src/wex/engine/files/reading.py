"""Reads tables in files of all formats, batch by batch."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.files.csv_files import read_csv
from wex.engine.files.json_files import Keys, TypeChangedError, read_json
from wex.engine.files.meter import Meter
from wex.engine.files.options import TextOptions, in_python
from wex.engine.files.sources import damaged_file_error, files_of, no_file_error
from wex.engine.files.texts import BadTextError, TextColumns
from wex.engine.input.columns import arrow_type, check_column, empty_table
from wex.errors import DataError
from wex.spec.types import TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from wex.engine.files.sources import File, Given

BATCH = 1 << 20  # rows
TEXT_BLOCK = 1 << 24  # bytes of a text file
TRIAL = 1 << 20  # bytes of a text file on which proposed options are tried
ROUNDS = 8  # trials, each of which may add an option

DEFAULTS = TextOptions()


@dataclass(frozen=True)
class Source:
    """The batches of an input, and how much of it has been read."""

    batches: Iterator[pa.Table]
    meter: Meter
    _missing: Callable[[], Sequence[str]] = field(default=tuple)  # columns that no row has had

    def check_columns(self) -> None:
        """Read to the end if some column has not occurred, and raise a DataError if it never does."""
        if not self._missing():
            return
        try:
            for _ in self.batches:
                pass
        except TypeChangedError:
            pass
        except DataError as error:
            if error.code == "missing-column":
                raise


@contextmanager
def reading(
    given: Given,
    fields: Mapping[str, Type],
    input_format: str | None = None,
    options: TextOptions = DEFAULTS,
) -> Iterator[Source]:
    """Open files to read them batch by batch; there is at least one batch."""
    with files_of(given, input_format) as files:
        yield source_of(files, fields, options)


def read_table(
    given: Given,
    fields: Mapping[str, Type],
    input_format: str | None = None,
    options: TextOptions = DEFAULTS,
) -> pa.Table:
    """Return the table in some files; text formats are read with the types of the fields."""
    with reading(given, fields, input_format, options) as source:
        return concat_tables(list(source.batches))


def concat_tables(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one; a column without a type in some of them takes the type of the others."""
    filled = [table for table in tables if table.num_rows] or list(tables[-1:])
    try:
        return pa.concat_tables(filled, promote_options="permissive")
    except pa.ArrowException as error:
        message = f"a column has different types in different files: {str(error).splitlines()[0]}"
        hint = "give each column one type in all files"
        raise DataError("wrong-column-type", message, hint) from error


def source_of(
    files: Sequence[File], fields: Mapping[str, Type], options: TextOptions, *, steady: bool = False
) -> Source:
    """Return the batches of some files, at least one.

    With `steady`, a column of type `other` that changes its type is a TypeChangedError.
    """
    columns, keys, meter = TextColumns(fields, options), Keys(steady=steady), Meter(files)
    in_objects = [name for name in fields if not any(name in file.constants for file in files)]

    def batches() -> Iterator[pa.Table]:
        empty = True
        for file in meter.files():
            for table in _tables(file, fields, columns, keys):
                empty = False
                meter.rows += table.num_rows
                yield table
        if any(file.format == "json" for file in files):
            keys.check(in_objects, files[0].shown)
        if empty:
            yield pa.table({name: _empty_column(type_) for name, type_ in fields.items()})

    return Source(batches(), meter, lambda: keys.missing(in_objects))


def _empty_column(type_: Type) -> pa.Array:
    return pa.nulls(0, pa.null() if type_ == TIMESTAMP else arrow_type(type_))


def _tables(
    file: File, fields: Mapping[str, Type], columns: TextColumns, keys: Keys
) -> Iterator[pa.Table]:
    """Yield the batches of a file, with the columns that its folders name."""
    constants = {name: text for name, text in file.constants.items() if name in fields}
    names = [name for name in fields if name not in constants]
    try:
        for table in _read(file, names, columns, keys):
            for name, text in constants.items():
                table = _with_constant(table, file, name, text, columns)  # noqa: PLW2901
            yield table
    except OSError as error:
        raise (
            no_file_error(file.shown, error)
            if error.errno
            else damaged_file_error(file.shown, error, file.format)
        ) from error
    except pa.ArrowInvalid as error:
        raise damaged_file_error(file.shown, error, file.format) from error
    except DataError as error:
        if error.options:
            raise _with_all_options(error, file, names, columns) from None
        raise


def _with_constant(
    table: pa.Table, file: File, name: str, text: str | None, columns: TextColumns
) -> pa.Table:
    try:
        value = columns.values(name, pa.array([text], pa.string()))
    except BadTextError as bad:
        message = f"{bad.message}, in the name of the folder `{name}={text}`"
        hint = "rename the folder, or declare the field with another type"
        raise DataError("unreadable", message, hint, column=name, file=file.shown) from None
    if name in table.column_names:
        table = table.drop_columns([name])
    return table.append_column(name, pa.repeat(value[0], len(table)))


def _read(
    file: File, names: Sequence[str], columns: TextColumns, keys: Keys, block: int | None = None
) -> Iterator[pa.Table]:
    match file.format:
        case "csv":
            return read_csv(file, names, columns, block or TEXT_BLOCK)
        case "json":
            return read_json(file, names, columns, keys, block or TEXT_BLOCK)
        case "parquet":
            return _read_parquet(file, names)
    return _read_arrow(file, names)


def _with_all_options(
    error: DataError, file: File, names: Sequence[str], columns: TextColumns
) -> DataError:
    """Return an error with more options, until the beginning of the file can be read with them."""
    proposed, then = dict(error.options or {}), ""
    for _ in range(ROUNDS):
        trial = TextColumns(columns.fields, columns.options.with_changes(proposed))
        try:
            for _ in islice(_read(file, names, trial, Keys(), TRIAL), 2):  # all of a short file
                pass
        except TypeChangedError:
            break
        except (DataError, OSError, pa.ArrowInvalid) as further:
            more = further.options if isinstance(further, DataError) else None
            if not more or all(proposed.get(name) == value for name, value in more.items()):
                if isinstance(further, DataError):
                    then = f"; then {further.message} in column `{further.column}`: {further.hint}"
                break
            proposed |= more
        else:
            break
    before, after = in_python(error.options or {}), in_python(proposed)
    return DataError(
        error.code,
        error.message,
        str(error.hint).replace(before, after, 1) + then,
        column=error.column,
        file=error.file,
        line=error.line,
        options=proposed,
    )


def _read_parquet(file: File, names: Sequence[str]) -> Iterator[pa.Table]:
    from pyarrow import parquet  # noqa: PLC0415

    opened = parquet.ParquetFile(file.path)
    yield _checked_head(file, opened.schema_arrow, names)
    for batch in opened.iter_batches(BATCH, columns=list(names)):
        yield pa.Table.from_batches([batch]).select(list(names))


def _checked_head(file: File, schema: pa.Schema, names: Sequence[str]) -> pa.Table:
    """Return an empty table of the named columns; raise a DataError if one is missing."""
    for name in names:
        check_column(name, schema.names, file.shown)
    return empty_table(schema).select(list(names))


def _read_arrow(file: File, names: Sequence[str]) -> Iterator[pa.Table]:
    with pa.memory_map(str(file.path)) as source:
        try:
            opened = pa.ipc.open_file(source)
        except pa.ArrowInvalid:
            source.seek(0)
            stream = pa.ipc.open_stream(source)
            yield _checked_head(file, stream.schema, names)
            for batch in stream:
                yield pa.Table.from_batches([batch]).select(list(names))
            return
        yield _checked_head(file, opened.schema, names)
        for at in range(opened.num_record_batches):
            yield pa.Table.from_batches([opened.get_batch(at)]).select(list(names))
