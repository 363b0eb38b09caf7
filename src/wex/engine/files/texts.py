"""Converts columns of texts, of CSV or JSON, to columns of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.files.moments import ISO, quick_iso, read_moments
from wex.engine.input.columns import arrow_type
from wex.spec.types import BOOL, DATE, INT, OTHER, REAL, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wex.engine.files.moments import Moments
    from wex.engine.files.options import TextOptions

TRUE, FALSE = ("true", "t", "yes", "y", "1"), ("false", "f", "no", "n", "0")
MICROSECONDS_A_DAY = 86_400_000_000


MOST_SHOWN = 60  # characters of a text in an error

_DESCRIPTIONS = {
    "bool": "true or false",
    "int": "a whole number that fits into 64 bits",
    "real": "a number",
    "timestamp": "a timestamp",
    "date": "a date",
}


class BadTextError(Exception):
    """A text that is not a value of its column; callers convert it to a DataError."""

    def __init__(self, code: str, message: str, name: str, row: int) -> None:
        super().__init__(code, message, name, row)
        self.code, self.message, self.name, self.row = code, message, name, row


@dataclass(frozen=True)
class ReadColumn:
    """The values of a column; `bad_row` is the first row whose text is not a value, with its error code."""

    values: pa.Array
    bad_row: int | None = None
    code: str = "unreadable"


class TextColumns:
    """Converts the texts of an input to values of the types of a stream's fields, batch by batch.

    The first timestamp of a column decides whether all timestamps of the column have a zone.
    """

    def __init__(self, fields: Mapping[str, Type], options: TextOptions) -> None:
        self.fields = fields
        self.options = options
        self._zoned: dict[str, bool] = {}

    def values(self, name: str, texts: pa.Array) -> pa.Array:
        """Return the values of a column; raise a BadTextError if one cannot be read."""
        type_ = self.fields[name]
        if type_ == TIMESTAMP:
            return self._timestamps(name, as_values(texts, self.options))
        read = read_values(texts, type_, self.options)
        if read.bad_row is not None:
            raise self._bad_text(read, name, texts)
        return read.values

    def _timestamps(self, name: str, texts: pa.Array) -> pa.Array:
        if texts.null_count == len(texts):
            return pa.nulls(len(texts), self._timestamp_type(name))
        if self.options.formats == (ISO,):
            quick = quick_iso(texts)
            if quick is not None and self._zoned.get(name) in (None, quick.type.tz is not None):
                self._zoned[name] = quick.type.tz is not None
                return quick
        moments = read_moments(texts, self.options.formats)
        present = pc.is_valid(texts).to_numpy(zero_copy_only=False)
        bad = _first_true(~moments.valid)
        if bad is not None:
            read = ReadColumn(texts, bad, _moment_code(moments, bad))
            raise self._bad_text(read, name, texts)
        zoned = self._zoned.setdefault(name, bool(moments.zoned[np.argmax(present)]))
        odd = _first_true((moments.zoned != zoned) & present)
        if odd is not None:
            has, had = ("no", "one") if zoned else ("a", "none")
            message = f"{texts[odd].as_py()!r} has {has} time zone, earlier timestamps have {had}"
            raise BadTextError("zones-mixed", message, name, odd)
        counts = pa.array(moments.counts, mask=~present)
        return counts.cast(self._timestamp_type(name))

    def _bad_text(self, read: ReadColumn, name: str, texts: pa.Array) -> BadTextError:
        assert read.bad_row is not None
        shown = texts[read.bad_row].as_py()
        shown = repr(shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…")
        if read.code == "sub-microsecond":
            message = f"{shown} is finer than microseconds"
        elif read.code == "timestamp-range":
            message = f"{shown} is out of the range of timestamps"
        else:
            message = f"{shown} is not {_DESCRIPTIONS[self.fields[name].name]}"
            if self.fields[name] in (TIMESTAMP, DATE):
                message += f" in the format {' or '.join(self.options.formats)}"
        return BadTextError(read.code, message, name, read.bad_row)

    def _timestamp_type(self, name: str) -> pa.DataType:
        if name not in self._zoned:
            return pa.null()  # until the first timestamp decides
        return pa.timestamp("us", "UTC" if self._zoned[name] else None)


def as_values(texts: pa.Array, options: TextOptions) -> pa.Array:
    """Return texts without surrounding blanks, and NULL for those that mean NULL."""
    trimmed = pc.utf8_trim_whitespace(texts)
    nulls = pc.is_in(trimmed, pa.array(["", *options.null]))
    return pc.if_else(nulls, pa.scalar(None, pa.string()), trimmed)


def read_values(texts: pa.Array, type_: Type, options: TextOptions) -> ReadColumn:
    """Return the values of texts, for all types except timestamps."""
    if type_ == OTHER or arrow_type(type_) == pa.string():
        return ReadColumn(texts)
    texts = as_values(texts, options)
    if type_ == BOOL:
        return _booleans(texts)
    if type_ == DATE:
        return _dates(texts, options)
    if type_ == REAL and options.decimal_comma:
        dotted = _first_true(pc.match_substring(texts, ".").fill_null(False).to_numpy(False))
        if dotted is not None:
            return ReadColumn(texts, dotted)
        texts = pc.replace_substring(texts, ",", ".")
    if type_ == INT:
        # Arrow reads 0x10 as 16. The sign + is removed below, and must not be followed by another one.
        odd = pc.match_substring_regex(texts, "^(\\+[+-]|[+-]?0[xX])")
        bad = _first_true(odd.fill_null(False).to_numpy(zero_copy_only=False))
        if bad is not None:
            return ReadColumn(texts, bad)
        texts = pc.if_else(pc.starts_with(texts, "+"), pc.utf8_slice_codeunits(texts, 1), texts)
    return _cast(texts, arrow_type(type_))


def _booleans(texts: pa.Array) -> ReadColumn:
    lower = pc.utf8_lower(texts)
    true, false = pc.is_in(lower, pa.array(TRUE)), pc.is_in(lower, pa.array(FALSE))
    bad = _first_true(pc.or_(pc.or_(true, false), pc.is_null(texts)).to_numpy(False) == 0)
    return ReadColumn(pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), true), bad)


def _dates(texts: pa.Array, options: TextOptions) -> ReadColumn:
    if options.formats == (ISO,) and (quick := _cast(texts, pa.date32())).bad_row is None:
        return quick
    moments = read_moments(texts, options.formats)
    whole = moments.counts % MICROSECONDS_A_DAY == 0
    bad = _first_true(~(moments.valid & whole))
    days = pa.array((moments.counts // MICROSECONDS_A_DAY).astype(np.int32))
    return ReadColumn(
        pc.if_else(pc.is_null(texts), pa.scalar(None, pa.int32()), days).cast(pa.date32()), bad
    )


def _cast(texts: pa.Array, type_: pa.DataType) -> ReadColumn:
    try:
        return ReadColumn(texts.cast(type_))
    except pa.ArrowInvalid:
        pass
    start, end = 0, len(texts)  # the first text that cannot be cast is in [start, end)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            texts.slice(start, middle - start).cast(type_)
            start = middle
        except pa.ArrowInvalid:
            end = middle
    return ReadColumn(texts, start)


def _moment_code(moments: Moments, row: int) -> str:
    if not moments.matched[row]:
        return "unreadable"
    return "sub-microsecond" if not moments.exact[row] else "timestamp-range"


def _first_true(mask: np.ndarray) -> int | None:
    row = int(np.argmax(mask)) if len(mask) else 0
    return row if len(mask) and mask[row] else None
