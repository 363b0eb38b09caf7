"""Proposes options for text files that cannot be read.

A proposal is a dict of text options. It is made only if the unreadable values can be read with it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.files.moments import ISO, expression_of, read_moments
from wex.engine.files.options import in_python
from wex.engine.files.texts import MICROSECONDS_A_DAY, as_values, read_values
from wex.errors import DataError
from wex.spec.types import DATE, INT, OTHER, REAL, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from wex.engine.arrays import Bools
    from wex.engine.files.options import TextOptions
    from wex.engine.files.sources import File
    from wex.engine.files.texts import BadTextError, TextColumns

    Options = dict[str, object]

SAMPLE = 1000  # different texts of a column on which options are tried
MOST_FORMATS, MOST_WORDS = 3, 4  # in one proposal
DELIMITERS = (",", ";", "\t", "|")
NO_VALUE = ("NA", "N/A", "NAN", "NAT", "NULL", "NONE", "NIL", "\\N", "-", "--", "?", "MISSING", ".")

_DAYS = (
    "%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
    "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%b %d %Y", "%b %d, %Y", "%B %d %Y", "%B %d, %Y",
    "%d %b %Y", "%d-%b-%Y", "%d/%b/%Y", "%d %B %Y", "%a %d %b %Y", "%a, %d %b %Y", "%a %b %d %Y",
    "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%y", "%y%m%d",
)  # fmt: skip
_MONTHS = ("%Y-%m", "%Y/%m", "%m/%Y", "%b %Y", "%B %Y", "%b-%y")
_TIMES = (
    "%H:%M:%S",
    "%H:%M",
    "%H:%M:%S.%f",
    "%H:%M:%S,%f",
    "%I:%M %p",
    "%I:%M:%S %p",
    "%H%M%S",
)
_BETWEEN = (" ", "T", ", ", ":")
_ZONES = ("", "%z", " %z", " %Z")
_WHOLE = ("%a %b %d %H:%M:%S %Y", "%a %b %e %H:%M:%S %Z %Y")
# A number is taken for a count since 1970 if its time is between these years.
_EPOCH_YEARS = (1990, 2100)


def candidates() -> list[str]:
    """Return the formats of timestamps that may be proposed."""
    return [*_DAYS, *_MONTHS, *(day + tail for tail in _tails() for day in _DAYS), *_WHOLE]


def _tails() -> list[str]:
    return [between + time + zone for zone, time, between in product(_ZONES, _TIMES, _BETWEEN)]


def _candidates_for(text: str) -> list[str]:
    """Return the candidate formats of one text; day and time are matched separately."""
    formats = []
    for day in _DAYS:
        begins = re.match(f"(?i){expression_of(day)}", text)
        if begins:
            rest = text[begins.end() :]
            tails = [tail for tail in _tails() if re.fullmatch(f"(?i){expression_of(tail)}", rest)]
            formats += [day, *(day + tail for tail in tails)]
    return [*formats, *_MONTHS, *_WHOLE]


class Proposal(NamedTuple):
    """Options with which an unreadable column can be read, or a hint where there are none."""

    options: Options
    hint: str = ""
    other_format: str = ""  # that the texts fit as well


def proposal(
    texts: pa.Array, row: int, type_: Type, options: TextOptions, *, others_fit: bool = False
) -> Proposal:
    """Return a proposal for an unreadable column.

    `others_fit` tells that earlier rows could be read with the current options.
    """
    texts = pa.concat_arrays([texts.slice(row, 1), texts])
    texts = as_values(texts, options).drop_null().unique()
    bad = _misfits(texts, type_, options)
    nulls = [text for text in bad.to_pylist() if text.upper() in NO_VALUE]
    bad = bad.filter(pc.invert(pc.is_in(bad, pa.array(nulls, pa.string()))))
    proposed: Options = {}
    if nulls and len(nulls) <= MOST_WORDS:
        proposed["null"] = (*options.null, *nulls)
        options = replace(options, null=(*options.null, *nulls))
        texts = as_values(texts, options).drop_null()
    if not len(bad):
        return Proposal(proposed)
    if type_ in (TIMESTAMP, DATE):
        formats = _formats(bad, texts, type_, options, others_fit=others_fit)
        return (
            formats._replace(options={**proposed, **formats.options})
            if formats.options
            else formats
        )
    if type_ == REAL and not options.decimal_comma:
        comma = replace(options, decimal_comma=True)
        if read_values(texts, REAL, comma).bad_row is None:
            return Proposal({**proposed, "decimal_comma": True})
    if type_ == INT and read_values(bad, REAL, options).bad_row is None:
        return Proposal({}, "declare the field as real")
    return Proposal({})


def _misfits(texts: pa.Array, type_: Type, options: TextOptions) -> pa.Array:
    """Return the texts that are not values of a type: all for timestamps and dates, else of a sample."""
    if type_ in (TIMESTAMP, DATE):
        return texts.filter(pa.array(~_fits(texts, options.formats, type_)))
    texts, misfits = texts[:SAMPLE], []
    while (read := read_values(texts, type_, options)).bad_row is not None:
        misfits.append(texts[read.bad_row].as_py())
        texts = texts.slice(read.bad_row + 1)
    return pa.array(misfits, pa.string())


def _fits(texts: pa.Array, formats: Sequence[str], type_: Type) -> Bools:
    """Return a mask of the texts that are timestamps or dates in one of the formats."""
    moments = read_moments(texts, formats)
    fits: Bools = moments.valid & (
        (type_ == TIMESTAMP) | (moments.counts % MICROSECONDS_A_DAY == 0)
    )
    return fits


def _formats(
    bad: pa.Array, texts: pa.Array, type_: Type, options: TextOptions, *, others_fit: bool
) -> Proposal:
    """Return formats that together fit all texts of a column, or a hint."""
    if type_ == DATE and _fits(bad, [ISO], TIMESTAMP).all():
        if not _fits(bad, [ISO], DATE).all():
            return Proposal({}, "declare the field as timestamp")
        known = options.timestamp_format
        return Proposal({"timestamp_format": (*known, ISO)} if known else {})
    unread, other_format = bad[:SAMPLE], ""
    chosen: list[str] = []
    while len(unread) and len(chosen) < MOST_FORMATS:
        best, fits, also = _best(unread, type_)
        if best is None:
            digits = pc.all(pc.match_substring_regex(unread, r"^\d{18,19}$")).as_py()
            return Proposal({}, _NANOSECONDS if digits else "")
        other_format = also or other_format
        chosen.append(best)
        unread = unread.filter(pa.array(~fits))
    if len(unread):
        return Proposal({})
    formats = _with_one_order(chosen, bad, type_)
    if formats is None:
        hint = "some dates have the day before the month and some after it: use one order"
        return Proposal({}, hint)
    if other_format and (formats != chosen or not _fits(bad, [other_format], type_).all()):
        other_format = ""
    alone = not others_fit and not options.timestamp_format
    if alone and _fits(texts, formats, type_).all():
        return Proposal({"timestamp_format": tuple(formats)}, other_format=other_format)
    # The current formats are needed for other rows or columns, unless they read days as months.
    kept = [
        pattern
        for pattern in options.formats
        if pattern == _swapped(pattern) or _swapped(pattern) not in formats
    ]
    return Proposal({"timestamp_format": (*kept, *formats)}, other_format=other_format)


def _with_one_order(chosen: Sequence[str], bad: pa.Array, type_: Type) -> list[str] | None:
    """Return formats with day and month in the order that most texts have; None if both occur.

    A date up to the 12th of a month fits both orders, so a few texts are not enough to decide.
    """
    formats: list[str] = []
    for pattern in chosen:
        swapped = _swapped(pattern)
        if swapped in formats:
            return None
        fits, fits_swapped = (_fits(bad, [order], type_).sum() for order in (pattern, swapped))
        better = swapped if fits_swapped > fits else pattern
        if better not in formats:
            formats.append(better)
    both = [
        pattern
        for pattern in formats
        if _swapped(pattern) in formats and _swapped(pattern) != pattern
    ]
    return None if both else formats


def _swapped(pattern: str) -> str:
    """Return a format with day and month in the other order.

    >>> _swapped("%d/%m/%Y"), _swapped("%Y-%m")
    ('%m/%d/%Y', '%Y-%m')
    """
    if "%d" not in pattern or "%m" not in pattern:
        return pattern
    return pattern.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")


_NANOSECONDS = (
    "if these are nanoseconds since 1970, round them to microseconds and use the format epoch-us"
)


def _best(texts: pa.Array, type_: Type) -> tuple[str | None, Bools, str]:
    """Return the format that fits most texts, a mask of these, and another format that fits as many.

    Only formats that fit the first text are tried.
    """
    epoch = _epoch(texts) if type_ == TIMESTAMP else None
    if epoch is not None:
        return epoch, np.ones(len(texts), np.bool_), ""
    best, most, also = None, np.zeros(len(texts), np.bool_), ""
    first = texts.slice(0, 1)
    for pattern in (ISO, *_candidates_for(first[0].as_py())):
        if not _fits(first, [pattern], type_).all():
            continue
        fits = _fits(texts, [pattern], type_)
        if fits.sum() > most.sum():
            best, most, also = pattern, fits, ""
        elif fits.sum() == most.sum() and not also:
            also = pattern
    return best, most, also


def _epoch(texts: pa.Array) -> str | None:
    """Return the format by which all texts are counts since 1970 in `_EPOCH_YEARS`, or None."""
    if not pc.all(pc.match_substring_regex(texts, r"^\d{9,}(\.\d+)?$")).as_py():
        return None
    start, end = (np.datetime64(str(year), "us").astype(np.int64) for year in _EPOCH_YEARS)
    for name in ("epoch-s", "epoch-ms", "epoch-us", "epoch-ns"):
        moments = read_moments(texts, [name])
        if (moments.valid & (moments.counts > start) & (moments.counts < end)).all():
            return name
    return None


def bad_text_error(
    bad: BadTextError,
    texts: pa.Array,
    columns: TextColumns,
    file: File,
    line: int | None,
    others_fit: bool,
) -> DataError:
    """Return the error for a text that is not a value of its column, with its line and a hint."""
    if bad.code != "unreadable":
        return text_file_error(file, (bad.code, bad.message, _HINTS[bad.code]), line, bad.name)
    type_, options = columns.fields[bad.name], columns.options
    proposed = proposal(texts, bad.row, type_, options, others_fit=others_fit)
    hint = proposed.hint or (
        "correct the value, read it as NULL with the option `null`, or declare the field as string"
    )
    if type_ == REAL and options.decimal_comma and not proposed.hint:
        hint = (
            "with decimal_comma, a number has no point: correct it, or declare the field as string"
        )
    parts = (bad.code, bad.message, hint)
    return text_file_error(
        file, parts, line, bad.name, proposed.options, other_format=proposed.other_format
    )


_HINTS = {
    "zones-mixed": "write all timestamps with a time zone, or all without",
    "sub-microsecond": "round the timestamps to microseconds",
    "timestamp-range": "a timestamp must be within about 292,000 years of 1970",
}


def text_file_error(
    file: File,
    parts: tuple[str, str, str],
    line: int | None = None,
    column: str | None = None,
    proposed: Options | None = None,
    other_format: str = "",
) -> DataError:
    """Return an error with a code, a message and a hint; proposed options replace the hint."""
    code, message, hint = parts
    if proposed:
        also = f" (the texts also fit {other_format})" if other_format else ""
        hint = f"try {in_python(proposed)}{also}"
    return DataError(
        code, message, hint, column=column, file=file.shown, line=line, options=proposed or None
    )


def header_proposal(
    lines: Sequence[str], fields: Mapping[str, Type], options: TextOptions, delimiter: str
) -> Options:
    """Return options with which the first line of a CSV file is a header, or is data."""
    line = lines[0] if lines else ""
    others = [char for char in DELIMITERS if char not in (delimiter, options.quote)]
    known = {char: len(set(fields) & _names(line, char, options)) for char in (delimiter, *others)}
    best = max(others, key=lambda char: known[char])
    if known[best] > known[delimiter]:
        return {"delimiter": best}
    for char in (delimiter, *others):
        values = [value.strip().strip(options.quote) for value in line.split(char)]
        if len(values) == len(fields) and _is_data(values, fields.values(), options):
            return {"no_header": True, **({} if char == delimiter else {"delimiter": char})}
    return {}


def _names(line: str, delimiter: str, options: TextOptions) -> set[str]:
    return {name.strip().strip(options.quote) for name in line.split(delimiter)}


def _is_data(values: Sequence[str], types: Iterable[Type], options: TextOptions) -> bool:
    """Tell whether a line is data: it has values other than texts, all readable with some options."""
    has_values = False
    for value, type_ in zip(values, types, strict=True):
        if type_ == OTHER or type_.name in ("string", "enum") or not value:
            continue
        text = pa.array([value])
        if len(_misfits(text, type_, options)) and not proposal(text, 0, type_, options).options:
            return False
        has_values = True
    return has_values
