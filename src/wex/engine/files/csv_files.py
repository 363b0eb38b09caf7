"""Reads CSV: Arrow reads every column as text, which is then converted to the declared type.

That takes a quarter more time than a conversion by Arrow, and lets an error name the column and the
line of a value. Lines are counted in a second pass over the file, only for an error.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.files.encoding import check_encoding, decoding_error, open_decoded
from wex.engine.files.formats import is_tabbed
from wex.engine.files.guesses import bad_text_error, header_proposal, text_file_error
from wex.engine.files.texts import MOST_SHOWN, BadTextError
from wex.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.engine.files.sources import File
    from wex.engine.files.texts import TextColumns
    from wex.errors import DataError


REPLACED = "\N{REPLACEMENT CHARACTER}"  # where bytes could not be decoded


def read_csv(
    file: File, names: Sequence[str], columns: TextColumns, block: int
) -> Iterator[pa.Table]:
    """Yield the batches of a CSV file, with some of the fields as columns."""
    reading = _Reading(file, names, columns)
    if reading.header is not None:
        yield from reading.batches(block)


class _Reading:
    """A CSV file being read: its header, and the number of rows read so far."""

    def __init__(self, file: File, names: Sequence[str], columns: TextColumns) -> None:
        self.file, self.names, self.columns = file, names, columns
        self.options = columns.options
        self.delimiter = self.options.delimiter or ("\t" if is_tabbed(Path(file.shown)) else ",")
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
        """Return the names of the columns and the number of lines before the data; None for no lines."""
        try:
            first = next(self.records(), None)
        except csv.Error as error:
            raise self.error("unreadable", str(error), "check that this is CSV", 1) from error
        if first is None:
            if self.options.no_header:
                return None, 0
            raise self.error("unreadable", "the file is empty", "a CSV file begins with a header")
        line, last, record = first
        if self.options.no_header:
            if len(record) != len(self.names):
                fields = f"the stream line has {len(self.names)} fields"
                message = f"a line has {_count(len(record), 'value')}, and {fields}"
                hint = "without a header each line has the fields of the stream line, in order"
                raise self.error("unreadable", message, hint, line, proposed=self._other())
            return list(self.names), 0
        header = record
        if not set(self.names) <= set(record):
            header = [name.strip() for name in record]
        for name in self.names:
            if header.count(name) > 1:
                hint = "give each column a name of its own"
                raise self.error("column-twice", "the data has it twice", hint, column=name)
        missing = [name for name in self.names if name not in header]
        if missing:
            if any(REPLACED in name for name in header):
                raise decoding_error(self.file, self.options)
            names = [name[:MOST_SHOWN] for name in header]
            hint = did_you_mean(missing[0], names, "its columns are")
            raise self.error(
                "missing-column",
                "the data has no such column",
                hint,
                column=missing[0],
                proposed=self._other(),
            )
        return header, last

    def _other(self) -> dict[str, object]:
        with open_decoded(self.file, self.options) as stream:
            text = io.TextIOWrapper(stream, "utf-8-sig", errors="replace")
            lines = [line.rstrip("\n") for _, line in zip(range(5), text, strict=False)]
        fields = {name: self.columns.fields[name] for name in self.names}
        kept = [line for line in lines if line.strip()]
        return header_proposal(kept, fields, self.options, self.delimiter)

    def batches(self, block: int) -> Iterator[pa.Table]:
        """Yield the batches of the file."""
        from pyarrow import csv as arrow  # noqa: PLC0415

        assert self.header is not None
        # Columns that are not wanted may have any name, also one that is there already.
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
                _Counting(stream, self.options.quote.encode()) as counting,
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
                raise self._explained(error) from error

    def _check_quotes(self) -> None:
        """Raise a DataError if the file ends inside quotes: Arrow reads the rest as one value."""
        line = 1
        try:
            for _, last, _ in self.records(strict=True):
                line = last + 1
        except csv.Error as error:
            if "end of data" in str(error):
                hint = "close it; a quote inside of quotes is written twice"
                message = "a value of this line begins with a quote and never ends"
                raise self.error("unreadable", message, hint, line) from error

    def _has_data(self) -> bool:
        """Tell whether data follows the header; Arrow requires a line end after it."""
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
        header = 0 if self.options.no_header else 1
        try:
            for at, (line, _, _) in enumerate(self.records()):
                if at == row + header:
                    return line
        except csv.Error:  # a value longer than Python's reader takes
            pass
        return None

    def _explained(self, error: pa.ArrowInvalid) -> DataError:
        message = str(error).splitlines()[0]
        if "UTF8" in message:
            return decoding_error(self.file, self.options)
        assert self.header is not None
        try:
            for line, _, record in self.records():
                if len(record) != len(self.header):
                    where = "the stream line" if self.options.no_header else "the header"
                    message = (
                        f"this line has {_count(len(record), 'value')}, {where} {len(self.header)}"
                    )
                    hint = "mend the line; a value that contains the delimiter stands in quotes"
                    return self.error("unreadable", message, hint, line)
        except csv.Error:
            pass
        hint = "check that the file is complete and really CSV"
        return self.error("unreadable", message, hint)

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


class _Counting(io.RawIOBase):
    """A file that counts a character in what is read.

    Arrow reads ahead in a thread of its own: once closed, nothing more is read of what is below.
    """

    def __init__(self, stream: pa.NativeFile, char: bytes) -> None:
        super().__init__()
        self._stream, self._char, self._lock = stream, char, Lock()
        self._is_over, self.count = False, 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        with self._lock:
            content: bytes = b"" if self._is_over else self._stream.read(size)
        self.count += content.count(self._char)
        return content

    def close(self) -> None:
        with self._lock:
            self._is_over = True
        super().close()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
