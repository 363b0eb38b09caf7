"""Reads JSON lines, files with one object per line: with Arrow where possible, else with Python.

Arrow cannot read a column of numbers and texts, drops the zones of timestamps, and does not
distinguish a missing key from a null. Therefore timestamps are read as texts, Python reads the blocks
that Arrow cannot, and the keys that occur are recorded.
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
MOST_DIGITS = 30  # of a count since 1970 that is written out; 1e999999999 would fill the memory
COUNT = pa.decimal128(38, 9)  # counts since 1970, exact


class Keys:
    """The keys that the objects of an input have had so far.

    With `steady`, a column of type `other` must keep the type that it has in the first block.
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
            hint = did_you_mean(name, self.seen, "the keys are")
            if not self.seen:
                hint = "all objects are empty"
            message = f"the data has no column `{name}`: no object has this key"
            raise DataError("missing-column", message, hint, column=name, file=shown)


class TypeChangedError(Exception):
    """A column of type `other` whose type differs from that in earlier blocks."""


def read_json(
    file: File, names: Sequence[str], columns: TextColumns, keys: Keys, block: int
) -> Iterator[pa.Table]:
    """Yield the batches of a file of JSON lines, with the named fields as columns."""
    check_encoding(file, columns.options)
    reader = _JsonReader(file, names, columns, keys)
    with open_decoded(file, columns.options) as stream:
        for content in _blocks(stream, block):
            table = reader.table(content)
            keys.rows += table.num_rows
            yield table
            reader.line += content.count(b"\n")


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


class _JsonReader:
    """A file of JSON lines being read: the current line, and the types of its columns so far."""

    def __init__(self, file: File, names: Sequence[str], columns: TextColumns, keys: Keys) -> None:
        self.file, self.names, self.columns, self.keys = file, names, columns, keys
        self.line = 1
        self.types = {
            name: keys.types.get(name, _read_type(columns.fields[name])) for name in names
        }

    def table(self, content: bytes) -> pa.Table:
        """Return the rows of a block."""
        if not content.removeprefix(b"\xef\xbb\xbf").strip():
            return pa.table({name: pa.nulls(0) for name in self.names})
        # Arrow crashes if a line is a bare null.
        has_null_line = re.search(rb"^(?:\xef\xbb\xbf)?\s*null", content, re.M)
        table = None if has_null_line else self._read_with_arrow(content)
        if table is None:
            return self._read_with_python(content)
        columns = []
        for name in self.names:
            column = table.column(name).combine_chunks()
            columns.append(self._values(name, column, content) if self._is_text(name) else column)
        return pa.table(columns, list(self.names))

    def _is_text(self, name: str) -> bool:
        """Tell whether a column is read as text that is then converted."""
        type_ = self.columns.fields[name]
        return type_ in (TIMESTAMP, DATE) or (
            self.types[name] == pa.string() and arrow_type(type_) != pa.string()
        )

    def _read_with_arrow(self, content: bytes) -> pa.Table | None:
        """Return the rows as Arrow reads them, or None if it cannot."""
        known = {name: type_ for name, type_ in self.types.items() if type_ is not None}
        others = any(self.columns.fields[name] == OTHER for name in self.names)
        table = _arrow(content, pa.schema(known), infer=others)
        if table is None:
            return None
        try:
            table.validate(full=True)  # Arrow does not check that texts are UTF-8
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
            inferred = _arrow(content, pa.schema([]), infer=True)
            if inferred is None:
                return None
            self.keys.seen.update(dict.fromkeys(inferred.column_names))
        for name in self.names:
            if self.columns.fields[name] == OTHER:
                table = self._with_other(table, name)
        return table.select(list(self.names))

    def _with_other(self, table: pa.Table, name: str) -> pa.Table:
        """Return a table that has a column of type `other`, and check that its type has not changed."""
        if name not in table.column_names:
            return table.append_column(name, pa.nulls(len(table)))
        inferred = table.schema.field(name).type
        if self.keys.steady and not pa.types.is_null(inferred):
            self.types[name] = self.keys.types.setdefault(name, inferred)
            if self.types[name] != inferred:
                raise TypeChangedError
        return table

    def _read_with_python(self, content: bytes) -> pa.Table:
        """Return the rows as Python reads them; a line that it cannot read is a DataError."""
        objects = list(self._objects(content))
        self.keys.seen.update(dict.fromkeys(key for _, object_ in objects for key in object_))
        columns = []
        for name in self.names:
            type_ = self.columns.fields[name]
            values = [object_.get(name) for _, object_ in objects]
            if type_ == OTHER:
                columns.append(self._other_column(name, values))
                continue
            texts = [
                self._text(value, name, line)
                for value, (line, _) in zip(values, objects, strict=True)
            ]
            if arrow_type(type_) == pa.string():
                columns.append(pa.array(texts, pa.string()))
                continue
            lines = [line for line, _ in objects]
            columns.append(self._values(name, pa.array(texts, pa.string()), content, lines))
            self.types[name] = _read_type(type_, values)
        return pa.table(columns, list(self.names))

    def _objects(self, content: bytes) -> Iterator[tuple[int, dict[str, object]]]:
        """Yield the objects of a block, each with its line."""
        for at, line in enumerate(content.split(b"\n"), self.line):
            if not line.removeprefix(b"\xef\xbb\xbf").strip():
                continue
            try:
                text = line.decode("utf-8-sig")
            except UnicodeDecodeError:
                raise decoding_error(self.file, self.columns.options) from None
            try:
                value = json.loads(text, parse_float=Decimal, object_pairs_hook=_unique_keys)
            except (ValueError, RecursionError) as error:
                raise self._line_error(text, at, str(error)) from None
            if not isinstance(value, dict):
                raise self._line_error(text, at, f"got {_json_type(value)}")
            yield at, value

    def _line_error(self, text: str, line: int, reason: str) -> DataError:
        reason = reason.partition(": line")[0]
        hint = "write one object per line"
        if text.lstrip().startswith("["):
            hint += f"; for an array, jq -c '.[]' {self.file.shown} does this"
        message = f"expected a JSON object in this line: {reason}"
        return DataError("unreadable", message, hint, file=self.file.shown, line=line)

    def _text(self, value: object, name: str, line: int) -> str | None:
        """Return a value as it is written in CSV; a value that is not of the type is a DataError."""
        type_ = self.columns.fields[name]
        text = arrow_type(type_) == pa.string()
        match value:
            case None:
                return None
            case str() if value.isascii() or not _SURROGATE.search(value):
                return value
            case str():
                message = (
                    f"{json.dumps(value)[:60]} is not valid text: it has half of a surrogate pair"
                )
                hint = "correct the text, which may have been cut inside a character"
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
        message = f"{shown} is not a value of type {type_.name}"
        hint = "correct the value, or declare the field with another type"
        raise DataError("unreadable", message, hint, column=name, file=self.file.shown, line=line)

    def _other_column(self, name: str, values: list[object]) -> pa.Array:
        lines = "".join(json.dumps({name: value}, default=float) + "\n" for value in values)
        known = {} if self.types[name] is None else {name: self.types[name]}
        table = _arrow(lines.encode(), pa.schema(known), infer=True)
        if table is None:
            message = "the column has values of different types"
            hint = "write values of one type, or remove the field from the stream line"
            raise DataError("unreadable", message, hint, column=name, file=self.file.shown)
        return self._with_other(table, name).column(name).combine_chunks()

    def _values(
        self, name: str, column: pa.Array, content: bytes, lines: Sequence[int] = ()
    ) -> pa.Array:
        texts = column.cast(pa.string())
        if column.type == COUNT:
            texts = _without_trailing_zeros(texts)
        try:
            return self.columns.values(name, texts)
        except BadTextError as bad:
            lines = lines or _filled_lines(content, self.line)
            line = lines[bad.row] if bad.row < len(lines) else None
            raise bad_text_error(bad, texts, self.columns, self.file, line, self.line > 1) from None


def _filled_lines(content: bytes, first: int) -> list[int]:
    """Return the numbers of the lines that are not blank."""
    lines = enumerate(content.split(b"\n"), first)
    return [number for number, line in lines if line.removeprefix(b"\xef\xbb\xbf").strip()]


_SURROGATE = re.compile("[\ud800-\udfff]")


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    object_: dict[str, object] = {}
    for key, value in pairs:
        if key in object_:
            raise ValueError(f"the key {json.dumps(key)} occurs twice")
        object_[key] = value
    return object_


def _json_type(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
    return "a number"


def _read_type(type_: Type, values: Sequence[object] = ()) -> pa.DataType | None:
    """Return the Arrow type to read a column as, given some of its values; None: Arrow infers it."""
    if type_ == OTHER:
        return None
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, str) for value in present):
        return pa.string()
    if type_ in (TIMESTAMP, DATE):
        return COUNT if present else pa.string()
    return arrow_type(type_)


def _without_trailing_zeros(numbers: pa.Array) -> pa.Array:
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
