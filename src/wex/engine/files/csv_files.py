"""Reads CSV: Arrow reads every column as text, which is then converted to the declared type.

This takes a quarter more time than a conversion by Arrow, but errors can name the column and the
line of a value. If there is an error, a second pass over the file counts its lines.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.files.encoding import check_encoding, decoding_error, open_decoded
from wex.engine.files.formats import is_tsv
from wex.engine.files.guesses import bad_text_error, header_proposal, text_file_error
from wex.engine.files.texts import MOST_SHOWN, BadTextError
from wex.engine.input.columns import check_column
from wex.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.engine.files.sources import File
    from wex.engine.files.texts import TextColumns
    from wex.errors import DataError


REPLACED = "\N{REPLACEMENT CHARACTER}"  # stands for bytes that could not be decoded
_CHECK_FILE = "check that the file is complete and really CSV"


def read_csv(
    file: File, names: Sequence[str], columns: TextColumns, block: int
) -> Iterator[pa.Table]:
    """Yield the batches of a CSV file, with the named fields as columns."""
    reader = _CsvReader(file, names, columns)
    if reader.header is not None:
        yield from reader.batches(block)


class _CsvReader:
    """A CSV file being read: its header, and the number of rows read so far."""

    def __init__(self, file: File, names: Sequence[str], columns: TextColumns) -> None:
        self.file, self.names, self.columns = file, names, columns
        self.options = columns.options
        self.delimiter = self.options.delimiter or ("\t" if is_tsv(Path(file.shown)) else ",")
        self.rows = 0
        check_encoding(file, self.options)
        self.header, self.skipped = self._header()

    def records(self, *, strict: bool = False) -> Iterator[tuple[int, int, list[str]]]:
        """Yield the records of the file that are not empty, each with its first and last line."""
        with open_decoded(self.file, self.options) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="")
            reader = csv.reader(
                text, delimiter=self.delimiter, quotechar=self.options.quote, strict=strict
            )
            line = 1
            for record in reader:
                if record:
                    yield line, reader.line_num, record
                line = reader.line_num + 1

    def _header(self) -> tuple[list[str] | None, int]:
        """Return the column names, None if the file is empty, and the number of lines before the data."""
        try:
            first = next(self.records(), None)
        except csv.Error as error:
            message = f"this is not valid CSV: {error}"
            raise self.error("unreadable", message, _CHECK_FILE, 1) from error
        if first is None:
            if self.options.no_header:
                return None, 0
            message = "the file is empty: expected a header line"
            raise self.error(
                "unreadable", message, "write the names of the columns in the first line"
            )
        line, last, record = first
        if self.options.no_header:
            if len(record) != len(self.names):
                expected = f"expected {_count(len(self.names), 'value')}, one for each field"
                message = f"{expected} of the stream line, got {len(record):,}"
                hint = "without a header, each line has the fields of the stream line, in order"
                raise self.error("unreadable", message, hint, line, proposed=self._proposal())
            return list(self.names), 0
        header = record
        if not set(self.names) <= set(record):
            header = [name.strip() for name in record]
        for name in self.names:
            if name in header:
                check_column(name, header, self.file.shown)
        missing = [name for name in self.names if name not in header]
        if missing:
            if any(REPLACED in name for name in header):
                raise decoding_error(self.file, self.options)
            names = [name[:MOST_SHOWN] for name in header]
            hint = did_you_mean(missing[0], names, "the columns are")
            message = f"the data has no column `{missing[0]}`"
            proposed = self._proposal()
            raise self.error("missing-column", message, hint, None, missing[0], proposed)
        return header, last

    def _proposal(self) -> dict[str, object]:
        """Return options with which the first line can be read, if there are any."""
        with open_decoded(self.file, self.options) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace")
            lines = [line.rstrip("\n") for _, line in zip(range(5), text, strict=False)]
        fields = {name: self.columns.fields[name] for name in self.names}
        filled = [line for line in lines if line.strip()]
        return header_proposal(filled, fields, self.options, self.delimiter)

    def batches(self, block: int) -> Iterator[pa.Table]:
        """Yield the batches of the file."""
        from pyarrow import csv as arrow  # noqa: PLC0415

        assert self.header is not None
        # Columns that are not fields are renamed, because several of them may have the same name.
        header = [name if name in self.names else f"#{at}" for at, name in enumerate(self.header)]
        nulls = [*([] if self.options.empty_as_text else [""]), *self.options.null]
        read = arrow.ReadOptions(block_size=block, column_names=header, skip_rows=self.skipped)
        parse = arrow.ParseOptions(
            delimiter=self.delimiter, quote_char=self.options.quote, newlines_in_values=True
        )
        convert = arrow.ConvertOptions(
            column_types=dict.fromkeys(self.names, pa.string()),
            include_columns=list(self.names),
            null_values=nulls,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        try:
            with (
                open_decoded(self.file, self.options) as stream,
                _CountingFile(stream, self.options.quote.encode()) as counting,
            ):
                for batch in arrow.open_csv(pa.PythonFile(counting, "r"), read, parse, convert):
                    yield pa.table(
                        [self._column(batch, name) for name in self.names], list(self.names)
                    )
                    self.rows += batch.num_rows
            if counting.count % 2:
                self._check_quotes()
        except UnicodeError as error:
            raise decoding_error(self.file, self.options) from error
        except pa.ArrowInvalid as error:
            if self._has_data():
                raise self._arrow_error(error) from error

    def _check_quotes(self) -> None:
        """Raise a DataError if the file ends inside quotes, which Arrow accepts."""
        line = 1
        try:
            for _, last, _ in self.records(strict=True):
                line = last + 1
        except csv.Error as error:
            if "end of data" in str(error):
                hint = "add the closing quote; a quote inside a quoted value is written twice"
                message = "a quoted value begins in this line and is never closed"
                raise self.error("unreadable", message, hint, line) from error

    def _has_data(self) -> bool:
        """Tell whether data follows the header; Arrow rejects a header without a line end."""
        try:
            records = self.records()
            next(records)
            return self.options.no_header or next(records, None) is not None
        except csv.Error:
            return True

    def _column(self, batch: pa.RecordBatch, name: str) -> pa.Array:
        texts = batch.column(name)
        try:
            return self.columns.values(name, texts)
        except BadTextError as bad:
            line = self._line(self.rows + bad.row)
            raise bad_text_error(bad, texts, self.columns, self.file, line, self.rows > 0) from None

    def _line(self, row: int) -> int | None:
        """Return the line of a row, if it can be determined."""
        header = 0 if self.options.no_header else 1
        try:
            for at, (line, _, _) in enumerate(self.records()):
                if at == row + header:
                    return line
        except csv.Error:  # a value that is too long for Python's reader
            pass
        return None

    def _arrow_error(self, error: pa.ArrowInvalid) -> DataError:
        """Return the error for a file that Arrow cannot read: the first line that is too long or short."""
        message = str(error).splitlines()[0]
        if "UTF8" in message:
            return decoding_error(self.file, self.options)
        assert self.header is not None
        try:
            for line, _, record in self.records():
                if len(record) != len(self.header):
                    model = "the stream line" if self.options.no_header else "the header"
                    expected = f"expected {_count(len(self.header), 'value')}, as in {model}"
                    message = f"{expected}, got {len(record):,}"
                    hint = "correct the line; a value that contains the delimiter must be quoted"
                    return self.error("unreadable", message, hint, line)
        except csv.Error:
            pass
        return self.error("unreadable", message, _CHECK_FILE)

    def error(
        self,
        code: str,
        message: str,
        hint: str,
        line: int | None = None,
        column: str | None = None,
        proposed: dict[str, object] | None = None,
    ) -> DataError:
        """Return an error about this file, with suggested options if there are any."""
        return text_file_error(self.file, (code, message, hint), line, column, proposed)


class _CountingFile(io.RawIOBase):
    """A file that counts how often a character has been read.

    Arrow reads ahead in another thread; after `close` nothing more is read from the file below.
    """

    def __init__(self, stream: pa.NativeFile, char: bytes) -> None:
        super().__init__()
        self._stream, self._char, self._lock = stream, char, Lock()
        self._is_closed, self.count = False, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        with self._lock:
            content: bytes = b"" if self._is_closed else self._stream.read(size)
        self.count += content.count(self._char)
        return content

    def close(self) -> None:
        with self._lock:
            self._is_closed = True
        super().close()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
