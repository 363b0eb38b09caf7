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

_A = {
    "bool": "true or false",
    "int": "a whole number of 64 bits",
    "real": "a number",
    "timestamp": "a timestamp",
    "date": "a date",
}


class BadTextError(Exception):
    """A text that is not a value of its column; callers make it a DataError."""

    def __init__(self, code: str, message: str, name: str, row: int) -> None:
        super().__init__(code, message, name, row)
        self.code, self.message, self.name, self.row = code, message, name, row


@dataclass(frozen=True)
class Read:
    """The values of a column, NULL where a text is not a value, and the first such row."""

    values: pa.Array
    bad: int | None = None
    code: str = "unreadable"


class TextColumns:
    """Converts texts to values of the types of a stream's fields, batch after batch of one input.

    Whether the timestamps of a column have a zone is decided by the first that there is.
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
        if read.bad is not None:
            raise self._bad(read, name, texts)
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
        bad = _first(~moments.right)
        if bad is not None:
            raise self._bad(Read(texts, bad, _moment_code(moments, bad)), name, texts)
        zoned = self._zoned.setdefault(name, bool(moments.zoned[np.argmax(present)]))
        odd = _first((moments.zoned != zoned) & present)
        if odd is not None:
            has, had = ("no", "one") if zoned else ("a", "none")
            message = (
                f"{texts[odd].as_py()!r} has {has} time zone, the timestamps before have {had}"
            )
            raise BadTextError("zones-mixed", message, name, odd)
        counts = pa.array(moments.counts, mask=~present)
        return counts.cast(self._timestamp_type(name))

    def _bad(self, read: Read, name: str, texts: pa.Array) -> BadTextError:
        assert read.bad is not None
        shown = texts[read.bad].as_py()
        shown = repr(shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…")
        if read.code == "sub-microsecond":
            message = f"{shown} is finer than microseconds"
        elif read.code == "timestamp-range":
            message = f"{shown} is out of range"
        else:
            message = f"{shown} is not {_A[self.fields[name].name]}"
            if self.fields[name] in (TIMESTAMP, DATE):
                message += f" in the format {' or '.join(self.options.formats)}"
        return BadTextError(read.code, message, name, read.bad)

    def _timestamp_type(self, name: str) -> pa.DataType:
        if name not in self._zoned:
            return pa.null()  # whatever the first timestamp will be
        return pa.timestamp("us", "UTC" if self._zoned[name] else None)


def as_values(texts: pa.Array, options: TextOptions) -> pa.Array:
    """Return texts without surrounding blanks; those that mean NULL as NULL."""
    trimmed = pc.utf8_trim_whitespace(texts)
    nothing = pc.is_in(trimmed, pa.array(["", *options.null]))
    return pc.if_else(nothing, pa.scalar(None, pa.string()), trimmed)


def read_values(texts: pa.Array, type_: Type, options: TextOptions) -> Read:
    """Return the values of texts of any type but timestamps."""
    if type_ == OTHER or arrow_type(type_) == pa.string():
        return Read(texts)
    texts = as_values(texts, options)
    if type_ == BOOL:
        return _booleans(texts)
    if type_ == DATE:
        return _dates(texts, options)
    if type_ == REAL and options.decimal_comma:
        dotted = _first(pc.match_substring(texts, ".").fill_null(False).to_numpy(False))
        if dotted is not None:
            return Read(texts, dotted)
        texts = pc.replace_substring(texts, ",", ".")
    if type_ == INT:
        # Arrow reads 0x10 as 16; and a sign that is taken off must not leave another one.
        odd = pc.match_substring_regex(texts, "^(\\+[+-]|[+-]?0[xX])")
        bad = _first(odd.fill_null(False).to_numpy(zero_copy_only=False))
        if bad is not None:
            return Read(texts, bad)
        texts = pc.if_else(pc.starts_with(texts, "+"), pc.utf8_slice_codeunits(texts, 1), texts)
    return _cast(texts, arrow_type(type_))


def _booleans(texts: pa.Array) -> Read:
    lower = pc.utf8_lower(texts)
    true, false = pc.is_in(lower, pa.array(TRUE)), pc.is_in(lower, pa.array(FALSE))
    bad = _first(pc.or_(pc.or_(true, false), pc.is_null(texts)).to_numpy(False) == 0)
    return Read(pc.if_else(pc.is_null(texts), pa.scalar(None, pa.bool_()), true), bad)


def _dates(texts: pa.Array, options: TextOptions) -> Read:
    if options.formats == (ISO,) and (quick := _cast(texts, pa.date32())).bad is None:
        return quick
    moments = read_moments(texts, options.formats)
    whole = moments.counts % MICROSECONDS_A_DAY == 0
    bad = _first(~(moments.right & whole))
    days = pa.array((moments.counts // MICROSECONDS_A_DAY).astype(np.int32))
    return Read(
        pc.if_else(pc.is_null(texts), pa.scalar(None, pa.int32()), days).cast(pa.date32()), bad
    )


def _cast(texts: pa.Array, type_: pa.DataType) -> Read:
    try:
        return Read(texts.cast(type_))
    except pa.ArrowInvalid:
        pass
    start, end = 0, len(texts)  # the first that does not fit is in [start, end)
    while end - start > 1:
        middle = (start + end) // 2
        try:
            texts.slice(start, middle - start).cast(type_)
            start = middle
        except pa.ArrowInvalid:
            end = middle
    return Read(texts, start)


def _moment_code(moments: Moments, row: int) -> str:
    if not moments.known[row]:
        return "unreadable"
    return "sub-microsecond" if not moments.fine[row] else "timestamp-range"


def _first(where: np.ndarray) -> int | None:
    found = int(np.argmax(where)) if len(where) else 0
    return found if len(where) and where[found] else None
