"""Reads JSON lines, an object on each line: with Arrow where possible, else line by line.

Arrow reads a column of numbers or of texts, not of both. It drops the zones of timestamps, and does
not distinguish a missing key from a null. Therefore timestamps are read as texts, Python reads the
blocks that Arrow cannot, and the keys that occur are recorded.
"""

from __future__ import annotations

import io
import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.files.encoding import check_encoding, decoding_error, open_decoded
from wex.engine.files.guesses import bad_text_error
from wex.engine.files.texts import BadTextError
from wex.engine.input.columns import arrow_type
from wex.errors import DataError, did_you_mean
from wex.spec.types import BOOL, DATE, OTHER, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.engine.files.sources import File
    from wex.engine.files.texts import TextColumns
    from wex.spec.types import Type

ARROW_BLOCK = 1 << 22  # bytes that Arrow reads at a time
MOST_DIGITS = 30  # of a number since 1970; 1e999999999 is one of ten characters
COUNT = pa.decimal128(38, 9)  # numbers since 1970, exact


class Keys:
    """The keys that the objects of an input have had so far.

    If it is to be `steady`, columns of type `other` keep the type of the first block that has them.
    """

    def __init__(self, *, steady: bool = False) -> None:
        self.steady = steady
        self.types: dict[str, pa.DataType] = {}
        self.seen: dict[str, None] = {}
        self.rows = 0

    def missing(self, names: Sequence[str]) -> list[str]:
        """Return the names that no object has had."""
        return [name for name in names if name not in self.seen] if self.rows else []

    def check(self, names: Sequence[str], shown: str) -> None:
        """Raise a DataError if no object has had one of the names."""
        for name in self.missing(names)[:1]:
            hint = did_you_mean(name, self.seen, "their keys are")
            if not self.seen:
                hint = "the objects have no keys at all"
            message = "the data has no such column: no object has this key"
            raise DataError("missing-column", message, hint, column=name, file=shown)


class TypeChangedError(Exception):
    """A column of type `other` whose type differs from that in earlier blocks."""


def read_json(
    file: File, names: Sequence[str], columns: TextColumns, keys: Keys, block: int
) -> Iterator[pa.Table]:
    """Yield the batches of a file of JSON lines, with some of the fields as columns."""
    check_encoding(file, columns.options)
    reading = _Reading(file, names, columns, keys)
    with open_decoded(file, columns.options) as stream:
        for content in _blocks(stream, block):
            table = reading.table(content)
            keys.rows += table.num_rows
            yield table
            reading.line += content.count(b"\n")


def _blocks(stream: pa.NativeFile, size: int) -> Iterator[bytes]:
    """Yield the bytes of a file in blocks of whole lines."""
    parts: list[bytes] = []
    while content := stream.read(size):
        head, newline, rest = content.rpartition(b"\n")
        if newline:
            yield b"".join([*parts, head, newline])
            parts = []
        if rest:
            parts.append(rest)
    if parts:
        yield b"".join(parts)


class _Reading:
    """A file of JSON lines being read: its line, and the JSON types of its columns so far."""

    def __init__(self, file: File, names: Sequence[str], columns: TextColumns, keys: Keys) -> None:
        self.file, self.names, self.columns, self.keys = file, names, columns, keys
        self.line = 1
        self.types = {name: keys.types.get(name, _written(columns.fields[name])) for name in names}

    def table(self, content: bytes) -> pa.Table:
        """Return the rows of a block."""
        if not content.removeprefix(b"\xef\xbb\xbf").strip():
            return pa.table({name: pa.nulls(0) for name in self.names})
        # Arrow dies of a block that begins with a null that is no value of a key.
        quick = (
            None
            if re.search(rb"^(?:\xef\xbb\xbf)?\s*null", content, re.M)
            else self._quick(content)
        )
        if quick is None:
            return self._slow(content)
        found = []
        for name in self.names:
            column = quick.column(name).combine_chunks()
            found.append(self._values(name, column, content) if self._is_text(name) else column)
        return pa.table(found, list(self.names))

    def _is_text(self, name: str) -> bool:
        type_ = self.columns.fields[name]
        return type_ in (TIMESTAMP, DATE) or (
            self.types[name] == pa.string() and arrow_type(type_) != pa.string()
        )

    def _quick(self, content: bytes) -> pa.Table | None:
        """Return the rows as Arrow reads them, or None if it cannot."""
        known = {name: type_ for name, type_ in self.types.items() if type_ is not None}
        others = any(self.columns.fields[name] == OTHER for name in self.names)
        table = _arrow(content, pa.schema(known), infer=others)
        if table is None:
            return None
        try:
            table.validate(full=True)  # Arrow takes texts as they come
        except pa.ArrowInvalid:
            raise decoding_error(self.file, self.columns.options) from None
        unseen = [
            name
            for name in self.names
            if name not in self.keys.seen
            and (name not in table.column_names or table.column(name).null_count == len(table))
        ]
        self.keys.seen.update(dict.fromkeys(name for name in self.names if name not in unseen))
        if unseen:
            whole = _arrow(content, pa.schema([]), infer=True)
            if whole is None:
                return None
            self.keys.seen.update(dict.fromkeys(whole.column_names))
        for name in self.names:
            if self.columns.fields[name] == OTHER:
                table = self._other(table, name)
        return table.select(list(self.names))

    def _other(self, table: pa.Table, name: str) -> pa.Table:
        """Return a table in which a column of a type inferred by Arrow keeps its first type."""
        if name not in table.column_names:
            return table.append_column(name, pa.nulls(len(table)))
        found = table.schema.field(name).type
        if self.keys.steady and not pa.types.is_null(found):
            self.types[name] = self.keys.types.setdefault(name, found)
            if self.types[name] != found:
                raise TypeChangedError
        return table

    def _slow(self, content: bytes) -> pa.Table:
        """Return the rows as Python reads them; a line that it cannot read is a DataError."""
        objects = list(self._objects(content))
        self.keys.seen.update(dict.fromkeys(key for _, each in objects for key in each))
        found = []
        for name in self.names:
            type_ = self.columns.fields[name]
            values = [each.get(name) for _, each in objects]
            if type_ == OTHER:
                found.append(self._others(name, values))
                continue
            texts = [
                self._text(value, name, line)
                for value, (line, _) in zip(values, objects, strict=True)
            ]
            if arrow_type(type_) == pa.string():
                found.append(pa.array(texts, pa.string()))
                continue
            lines = [line for line, _ in objects]
            found.append(self._values(name, pa.array(texts, pa.string()), content, lines))
            self.types[name] = _written(type_, values)
        return pa.table(found, list(self.names))

    def _objects(self, content: bytes) -> Iterator[tuple[int, dict[str, object]]]:
        for at, line in enumerate(content.split(b"\n"), self.line):
            if not line.removeprefix(b"\xef\xbb\xbf").strip():
                continue
            try:
                text = line.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise decoding_error(self.file, self.columns.options) from None
            try:
                value = json.loads(text, parse_float=Decimal, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                raise self._not_a_line(text, at, str(error)) from None
            if not isinstance(value, dict):
                raise self._not_a_line(text, at, "it is no object")
            yield at, value

    def _not_a_line(self, text: str, line: int, reason: str) -> DataError:
        reason = reason.partition(": line")[0]
        hint = "write one object on each line"
        if text.lstrip().startswith("["):
            hint += f": jq -c '.[]' {self.file.shown} makes lines of an array"
        message = f"this line is not a JSON object: {reason}"
        return DataError("unreadable", message, hint, file=self.file.shown, line=line)

    def _text(self, value: object, name: str, line: int) -> str | None:
        """Return a value as CSV writes it."""
        type_ = self.columns.fields[name]
        text = arrow_type(type_) == pa.string()
        match value:
            case None:
                return None
            case str() if value.isascii() or not _SURROGATE.search(value):
                return value
            case str():
                message = f"{json.dumps(value)[:60]} is half of a character, which is no text"
                hint = "mend the line: a text may have been cut inside of a character"
                raise DataError(
                    "unreadable", message, hint, column=name, file=self.file.shown, line=line
                )
            case bool() if type_ == BOOL:
                return "true" if value else "false"
            case int() | float() if type_ != BOOL and not text and not isinstance(value, bool):
                return str(value)
            case Decimal() if type_ != BOOL and not text:
                exponent = type_ not in (TIMESTAMP, DATE) or abs(value.adjusted()) > MOST_DIGITS
                return str(value) if exponent else format(value, "f")
        shown = json.dumps(value, default=float)
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        article = "a text" if text else "a value"
        message = f"{shown} is not {article} of type {type_.name}"
        hint = "write it as the stream line declares it, or declare the field otherwise"
        raise DataError("unreadable", message, hint, column=name, file=self.file.shown, line=line)

    def _others(self, name: str, values: list[object]) -> pa.Array:
        lines = "".join(json.dumps({name: value}, default=float) + "\n" for value in values)
        known = {} if self.types[name] is None else {name: self.types[name]}
        table = _arrow(lines.encode(), pa.schema(known), infer=True)
        if table is None:
            message = "its values are of different types"
            hint = "give a column one type, or leave it out of the stream line"
            raise DataError("unreadable", message, hint, column=name, file=self.file.shown)
        return self._other(table, name).column(name).combine_chunks()

    def _values(
        self, name: str, column: pa.Array, content: bytes, lines: Sequence[int] = ()
    ) -> pa.Array:
        texts = column.cast(pa.string())
        if column.type == COUNT:
            texts = _plain(texts)
        try:
            return self.columns.values(name, texts)
        except BadTextError as bad:
            lines = lines or [at for at, _ in _numbered(content, self.line)]
            line = lines[bad.row] if bad.row < len(lines) else None
            raise bad_text_error(bad, texts, self.columns, self.file, line, self.line > 1) from None


def _numbered(content: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    for at, line in enumerate(content.split(b"\n"), first):
        if line.removeprefix(b"\xef\xbb\xbf").strip():
            yield at, line


_SURROGATE = re.compile("[\ud800-\udfff]")


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a key twice")
    return found


def _written(type_: Type, values: Sequence[object] = ()) -> pa.DataType | None:
    """Return the Arrow type to read a column as, given the JSON types of some values."""
    if type_ == OTHER:
        return None
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, str) for value in present):
        return pa.string()
    if type_ in (TIMESTAMP, DATE):
        return COUNT if present else pa.string()
    return arrow_type(type_)


def _plain(numbers: pa.Array) -> pa.Array:
    return pc.replace_substring_regex(numbers, r"\.?0+$|(\.\d*?)0+$", r"\1")


def _arrow(content: bytes, schema: pa.Schema, *, infer: bool) -> pa.Table | None:
    """Return the table that Arrow reads from JSON lines, or None if it cannot."""
    from pyarrow import json as arrow  # noqa: PLC0415

    parse = arrow.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if infer else "ignore"
    )
    for size in (ARROW_BLOCK, len(content) + 1):  # a line has to fit into a block
        try:
            read = arrow.ReadOptions(block_size=size)
            return arrow.read_json(io.BytesIO(content), read, parse)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            if "straddl" not in str(error):
                return None
    return None
