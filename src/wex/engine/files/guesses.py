"""Suggests options for text files that cannot be read, each tried on the values.

A suggestion is a dict of text options with which the unreadable values can be read.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

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

SAMPLE = 1000  # different texts of a column that guesses are tried on
ALSO = "it may as well be"
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
# Counts since 1970 between these years are taken for moments.
_EPOCH_YEARS = (1990, 2100)


def candidates() -> list[str]:
    """Return the formats of timestamps that may be suggested."""
    return [*_DAYS, *_MONTHS, *(day + tail for tail in _tails() for day in _DAYS), *_WHOLE]


def _tails() -> list[str]:
    return [between + time + zone for zone, time, between in product(_ZONES, _TIMES, _BETWEEN)]


def _plausible(text: str) -> list[str]:
    """Return the candidate formats of one text; day and time are matched separately."""
    found = []
    for day in _DAYS:
        begins = re.match(f"(?i){expression_of(day)}", text)
        if begins:
            rest = text[begins.end() :]
            tails = [tail for tail in _tails() if re.fullmatch(f"(?i){expression_of(tail)}", rest)]
            found += [day, *(day + tail for tail in tails)]
    return [*found, *_MONTHS, *_WHOLE]


def proposal(
    texts: pa.Array, row: int, type_: Type, options: TextOptions, *, others_fit: bool = False
) -> tuple[Options, str]:
    """Return options with which an unreadable column can be read, and further advice.

    `others_fit` says that the rows before these could be read.
    """
    texts = pa.concat_arrays([texts.slice(row, 1), texts])
    texts = as_values(texts, options).drop_null().unique()
    bad = _misfits(texts, type_, options)
    nothing = [text for text in bad.to_pylist() if text.upper() in NO_VALUE]
    bad = bad.filter(pc.invert(pc.is_in(bad, pa.array(nothing, pa.string()))))
    proposed: Options = {}
    if nothing and len(nothing) <= MOST_WORDS:
        proposed["null"] = (*options.null, *nothing)
        options = replace(options, null=(*options.null, *nothing))
        texts = as_values(texts, options).drop_null()
    if not len(bad):
        return proposed, ""
    if type_ in (TIMESTAMP, DATE):
        formats, note = _formats(bad, texts, type_, options, others_fit=others_fit)
        return ({**proposed, "timestamp_format": formats}, note) if formats else ({}, note)
    if type_ == REAL and not options.decimal_comma:
        comma = replace(options, decimal_comma=True)
        if read_values(texts, REAL, comma).bad is None:
            return {**proposed, "decimal_comma": True}, ""
    if type_ == INT and read_values(bad, REAL, options).bad is None:
        return {}, "declare the field as real"
    return {}, ""


def _misfits(texts: pa.Array, type_: Type, options: TextOptions) -> pa.Array:
    """Return texts that are not values of a type; for numbers, some of them."""
    if type_ in (TIMESTAMP, DATE):
        return texts.filter(pa.array(~_fits(texts, options.formats, type_)))
    texts, found = texts[:SAMPLE], []
    while (read := read_values(texts, type_, options)).bad is not None:
        found.append(texts[read.bad].as_py())
        texts = texts.slice(read.bad + 1)
    return pa.array(found, pa.string())


def _fits(texts: pa.Array, formats: Sequence[str], type_: Type) -> Bools:
    moments = read_moments(texts, formats)
    whole: Bools = moments.right & (
        (type_ == TIMESTAMP) | (moments.counts % MICROSECONDS_A_DAY == 0)
    )
    return whole


def _formats(
    bad: pa.Array, texts: pa.Array, type_: Type, options: TextOptions, *, others_fit: bool
) -> tuple[tuple[str, ...], str]:
    """Return formats that fit all texts of a column, the current ones first."""
    if type_ == DATE and _fits(bad, [ISO], TIMESTAMP).all():
        if not _fits(bad, [ISO], DATE).all():
            return (), "declare the field as timestamp"
        return ((*options.timestamp_format, ISO), "") if options.timestamp_format else ((), "")
    left, note = bad[:SAMPLE], ""
    chosen: list[str] = []
    while len(left) and len(chosen) < MOST_FORMATS:
        best, fits, also = _best(left, type_)
        if best is None:
            return (), _FINE if pc.all(
                pc.match_substring_regex(left, r"^\d{18,19}$")
            ).as_py() else ""
        if also:
            note = f"{ALSO} {also}"
        chosen.append(best)
        left = left.filter(pa.array(~fits))
    if len(left):
        return (), ""
    settled = _settled(chosen, bad, type_)
    if settled is None:
        return (), "some dates have the day before the month, and some behind it: mend them"
    also = note.removeprefix(f"{ALSO} ")
    if also and (settled != chosen or not _fits(bad, [also], type_).all()):
        note = ""
    alone = not others_fit and not options.timestamp_format
    if alone and _fits(texts, settled, type_).all():
        return tuple(settled), note
    # Formats that read other rows or columns stay, unless they read days as months.
    kept = [
        each for each in options.formats if each == _swapped(each) or _swapped(each) not in settled
    ]
    return (*kept, *settled), note


def _settled(chosen: Sequence[str], bad: pa.Array, type_: Type) -> list[str] | None:
    """Return formats with day and month in the order of all texts; None if both orders occur.

    Up to the 12th of a month a few texts do not tell.
    """
    found: list[str] = []
    for each in chosen:
        other = _swapped(each)
        if other in found:
            return None
        if other != each and _fits(bad, [other], type_).sum() > _fits(bad, [each], type_).sum():
            each = other  # noqa: PLW2901
        if each not in found:
            found.append(each)
    orders = {each for each in found if _swapped(each) in found and _swapped(each) != each}
    return None if orders else found


def _swapped(pattern: str) -> str:
    """Return a format with day and month in the other order.

    >>> _swapped("%d/%m/%Y"), _swapped("%Y-%m")
    ('%m/%d/%Y', '%Y-%m')
    """
    if "%d" not in pattern or "%m" not in pattern:
        return pattern
    return pattern.replace("%d", "\0").replace("%m", "%d").replace("\0", "%m")


_FINE = "if these are nanoseconds since 1970, round them to microseconds and say epoch-us"


def _best(texts: pa.Array, type_: Type) -> tuple[str | None, Bools, str]:
    """Return the format that fits most texts, these texts, and another format that fits as many."""
    epoch = _epoch(texts) if type_ == TIMESTAMP else None
    if epoch is not None:
        return epoch, np.ones(len(texts), np.bool_), ""
    best, most, also = None, np.zeros(len(texts), np.bool_), ""
    first = texts.slice(0, 1)
    for each in (ISO, *_plausible(first[0].as_py())):
        if not _fits(first, [each], type_).all():
            continue
        fits = _fits(texts, [each], type_)
        if fits.sum() > most.sum():
            best, most, also = each, fits, ""
        elif fits.sum() == most.sum() and not also:
            also = each
    return best, most, also


def _epoch(texts: pa.Array) -> str | None:
    """Return the unit in which numbers since 1970 are moments of our time."""
    if not pc.all(pc.match_substring_regex(texts, r"^\d{9,}(\.\d+)?$")).as_py():
        return None
    start, end = (np.datetime64(str(year), "us").astype(np.int64) for year in _EPOCH_YEARS)
    for name in ("epoch-s", "epoch-ms", "epoch-us", "epoch-ns"):
        moments = read_moments(texts, [name])
        if (moments.right & (moments.counts > start) & (moments.counts < end)).all():
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
    """Return the error for a text that is not a value of its column, with its place and advice."""
    if bad.code != "unreadable":
        return text_file_error(file, (bad.code, bad.message, _HINTS[bad.code]), line, bad.name)
    type_, options = columns.fields[bad.name], columns.options
    proposed, note = proposal(texts, bad.row, type_, options, others_fit=others_fit)
    hint = (
        note or "mend the line, name the value with the option null, or declare the field as string"
    )
    if type_ == REAL and options.decimal_comma and not note:
        hint = "with decimal commas a number has no point: mend the line, or declare it as string"
    return text_file_error(file, (bad.code, bad.message, hint), line, bad.name, proposed)


_HINTS = {
    "zones-mixed": "give all timestamps a zone, or none",
    "sub-microsecond": "round it to microseconds first",
    "timestamp-range": "timestamps span about 292,000 years before and after 1970",
}


def text_file_error(
    file: File,
    said: tuple[str, str, str],
    line: int | None = None,
    column: str | None = None,
    proposed: Options | None = None,
) -> DataError:
    """Return an error about a text file; suggested options replace the hint."""
    code, message, hint = said
    if proposed:
        also = f" ({hint})" if hint.startswith(ALSO) else ""
        hint = f"try {in_python(proposed)}{also}"
    return DataError(
        code, message, hint, column=column, file=file.shown, line=line, options=proposed or None
    )


def header_proposal(
    lines: Sequence[str], fields: Mapping[str, Type], options: TextOptions, delimiter: str
) -> Options:
    """Return options with which the first line of a CSV file is a header, or is data."""
    line = lines[0] if lines else ""
    others = [each for each in DELIMITERS if each not in (delimiter, options.quote)]
    there = {each: len(set(fields) & _split(line, each, options)) for each in others}
    best = max(others, key=lambda each: there[each])
    if there[best] > len(set(fields) & _split(line, delimiter, options)):
        return {"delimiter": best}
    for each in (delimiter, *others):
        values = [value.strip().strip(options.quote) for value in line.split(each)]
        if len(values) == len(fields) and _is_data(values, fields.values(), options):
            return {"no_header": True, **({} if each == delimiter else {"delimiter": each})}
    return {}


def _split(line: str, delimiter: str, options: TextOptions) -> set[str]:
    return {name.strip().strip(options.quote) for name in line.split(delimiter)}


def _is_data(values: Sequence[str], types: Iterable[Type], options: TextOptions) -> bool:
    """Tell whether a line looks like data: all values but texts can be read with some options."""
    told = False
    for value, type_ in zip(values, types, strict=True):
        if type_ == OTHER or type_.name in ("string", "enum") or not value:
            continue
        text = pa.array([value])
        if len(_misfits(text, type_, options)) and not proposal(text, 0, type_, options)[0]:
            return False
        told = True
    return told
