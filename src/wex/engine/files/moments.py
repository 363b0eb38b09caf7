"""Reads timestamps in text: ISO 8601, strptime patterns, and counts since 1970.

Patterns are translated to regular expressions, which Arrow applies to whole columns. The strptime of
C has no fractions, takes the names of months from the locale, and accepts the 30th of February.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.errors import WexError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.engine.arrays import Bools, Ints

ISO = "iso"
# Formats of counts since 1970, and how many of their units make a second.
EPOCHS = {"epoch-s": 1, "epoch-ms": 1_000, "epoch-us": 1_000_000, "epoch-ns": 1_000_000_000}
WORDS = (ISO, *EPOCHS)

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_DAYS = "mon|tue|wed|thu|fri|sat|sun"
_LONG_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_ZONE = r"Z|[+-]\d\d(?::?\d\d)?"

# The regular expression of each directive; named groups are parts of the timestamp.
_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})",
    "y": r"(?P<y>\d{2})",
    "m": r"(?P<m>\d{1,2})",
    "d": r"(?P<d>\d{1,2})",
    "e": r"\s*(?P<d>\d{1,2})",
    "H": r"(?P<H>\d{1,2})",
    "I": r"(?P<I>\d{1,2})",
    "M": r"(?P<M>\d{1,2})",
    "S": r"(?P<S>\d{1,2})",
    "f": r"(?P<f>\d+)",
    "p": r"(?P<p>[ap]\.?m\.?)",
    "b": f"(?P<b>{'|'.join(MONTHS)})",
    "B": f"(?P<b>{_LONG_MONTHS})",
    "a": f"(?:{_DAYS})",
    "A": f"(?:{_LONG_DAYS})",
    "z": f"(?P<z>{_ZONE})",
    "Z": r"(?P<z>UTC|GMT|Z)",
    "%": "%",
}
_SHORT_FOR = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y", "h": "%b"}
_ISO_PATTERN = (
    r"^(?P<Y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
    r"(?:[ T](?P<H>\d\d)(?::(?P<M>\d\d)(?::(?P<S>\d\d)(?:\.(?P<f>\d+))?)?)?)?"
    rf"(?P<z>{_ZONE})?$"
)


@dataclass(frozen=True)
class Moments:
    """The timestamps of texts, in microseconds since 1970: UTC where `zoned`, else local time."""

    counts: Ints
    zoned: Bools
    matched: Bools  # the text is in one of the formats
    exact: Bools  # it is not finer than microseconds
    in_range: Bools  # its count fits into 64 bits

    @property
    def valid(self) -> Bools:
        """Return a mask of the texts that are timestamps."""
        return self.matched & self.exact & self.in_range


def check_format(pattern: str) -> None:
    """Raise a WexError if a text is not a format of timestamps.

    >>> check_format("%b %d %Y"), check_format("epoch-ms")
    (None, None)
    >>> check_format("%d.%Q.%Y")
    Traceback (most recent call last):
    ...
    wex.errors.WexError: error[timestamp-format]: unknown directive `%Q` in '%d.%Q.%Y'
      = help: the directives are %Y %y %m %d %e %H %I %M %S %f %p %b %B %a %A %z %Z %F %T %R %D %h and %%
    """
    if pattern in WORDS:
        return
    if "%" not in pattern:
        hint = did_you_mean(pattern, WORDS, "use a pattern such as '%d.%m.%Y %H:%M:%S', or one of")
        raise WexError("timestamp-format", f"{pattern!r} is not a timestamp format", hint)
    names = re.findall(r"\(\?P<(\w)>", _expression(pattern))
    months, years = ([name for name in names if name in directives] for directives in ("mb", "Yy"))
    is_date = len(months) == len(years) == 1
    has_twice = len(set(names)) < len(names)
    if not is_date or has_twice or ("I" in names) != ("p" in names) or {"H", "I"} <= set(names):
        message = f"{pattern!r} is incomplete or ambiguous"
        hint = (
            "use one year, one month, no directive twice, and either %H or %I with %p:"
            " '%d.%m.%Y %I:%M %p'"
        )
        raise WexError("timestamp-format", message, hint)


@lru_cache(maxsize=256)
def _expression(pattern: str) -> str:
    if pattern == ISO:
        return _ISO_PATTERN
    return f"(?i)^{expression_of(pattern)}$"


@lru_cache(maxsize=1024)
def expression_of(pattern: str) -> str:
    """Return the regular expression of a pattern or a part of one; groups are named by directives."""
    expressions = []
    for part in re.findall(r"%.?|\s+|[^%\s]+", pattern):
        if part.isspace():
            expressions.append(r"\s+")
        elif not part.startswith("%"):
            expressions.append(re.escape(part))
        elif part[1:] in _SHORT_FOR:
            expressions.append(expression_of(_SHORT_FOR[part[1:]]))
        elif part[1:] in _DIRECTIVES:
            expressions.append(_DIRECTIVES[part[1:]])
        else:
            names = [name for name in (*_DIRECTIVES, *_SHORT_FOR) if name != "%"]
            hint = f"the directives are {' '.join(f'%{name}' for name in names)} and %%"
            message = f"unknown directive `{part}` in {pattern!r}"
            raise WexError("timestamp-format", message, hint)
    return "".join(expressions)


def quick_iso(texts: pa.Array) -> pa.Array | None:
    """Return the timestamps of texts, if all are ISO 8601 and all or none have a zone; else None."""
    for zone in (None, "UTC"):
        try:
            return texts.cast(pa.timestamp("us", zone))
        except pa.ArrowInvalid:
            continue
    return None


def read_moments(texts: pa.Array, formats: Sequence[str]) -> Moments:
    """Return the timestamps of texts, each by the first format that fits.

    >>> texts = pa.array(["Jan 1 1970", "1970-01-01T01:00:00.5+01:00"])
    >>> read_moments(texts, ["%b %d %Y", "iso"]).counts.tolist()
    [0, 500000]
    """
    size = len(texts)
    matched: Bools = pc.is_null(texts).to_numpy(zero_copy_only=False).copy()
    no, yes = np.zeros(size, np.bool_), np.ones(size, np.bool_)
    moments = Moments(np.zeros(size, np.int64), no, matched, yes, yes.copy())
    for pattern in formats:
        rows = np.flatnonzero(~moments.matched)
        if not len(rows):
            break
        unread = texts.take(pa.array(rows))
        read = (
            _read_counts(unread, EPOCHS[pattern])
            if pattern in EPOCHS
            else _read_pattern(unread, pattern)
        )
        fits = rows[read.matched]
        moments.counts[fits] = read.counts[read.matched]
        moments.zoned[fits] = read.zoned[read.matched]
        moments.exact[fits] = read.exact[read.matched]
        moments.in_range[fits] = read.in_range[read.matched]
        moments.matched[fits] = True
    return moments


def _read_pattern(texts: pa.Array, pattern: str) -> Moments:
    parts = pc.extract_regex(texts, _expression(pattern))
    matched: Bools = pc.is_valid(parts).to_numpy(zero_copy_only=False)
    groups = {field.name: parts.field(at) for at, field in enumerate(parts.type)}

    def number(name: str, otherwise: int = 0) -> Ints:
        group = groups.get(name)
        return np.full(len(texts), otherwise) if group is None else _numbers(group)

    year = number("Y") if "Y" in groups else _century(number("y"))
    month = _months(groups["b"]) if "b" in groups else number("m", 1)
    day, hour, minute, second = number("d", 1), number("H"), number("M"), number("S")
    if "I" in groups:
        twelve = number("I")
        matched = matched & (twelve >= 1) & (twelve <= 12)
        hour = twelve % 12 + 12 * _is_afternoon(groups["p"])
    matched = matched & (month >= 1) & (month <= 12) & (day >= 1) & (year >= 1)
    matched = matched & (hour < 24) & (minute < 60) & (second < 60)
    first, following = _days(year, month), _days(year + month // 12, month % 12 + 1)
    matched = matched & (first + day <= following)
    zeros, yes = np.zeros(len(texts), np.int64), np.ones(len(texts), np.bool_)
    micros, exact = _fraction(groups["f"], 6) if "f" in groups else (zeros, yes)
    offset, zoned = _offset(groups["z"]) if "z" in groups else (zeros, ~yes)
    minutes = ((first + day - 1) * 24 + hour) * 60 + minute - offset
    return Moments((minutes * 60 + second) * 1_000_000 + micros, zoned, matched, exact, yes)


def _days(year: Ints, month: Ints) -> Ints:
    """Return the days from 1970 to the first of a month; an arbitrary number for invalid months."""
    months = (year - 1970) * 12 + np.clip(month, 1, 12) - 1
    days: Ints = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days


def _numbers(texts: pa.Array) -> Ints:
    """Return short texts of digits as numbers; an empty text is 0."""
    digits = pc.if_else(pc.equal(texts, ""), "0", texts).fill_null("0")
    numbers: Ints = digits.cast(pa.int64()).to_numpy()
    return numbers


def _century(year: Ints) -> Ints:
    return year + np.where(year < 69, 2000, 1900)  # as in POSIX


def _months(names: pa.Array) -> Ints:
    short = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    places = pc.index_in(short, pa.array(MONTHS)).fill_null(-1)
    months: Ints = places.to_numpy().astype(np.int64) + 1
    return months


def _is_afternoon(halves: pa.Array) -> Ints:
    starts = pc.starts_with(pc.utf8_lower(halves), "p").fill_null(False)
    afternoons: Ints = starts.to_numpy(zero_copy_only=False).astype(np.int64)
    return afternoons


def _fraction(digits: pa.Array, places: int) -> tuple[Ints, Bools]:
    """Return `places` digits after a decimal point as a number, and whether the rest are zeros."""
    kept = pc.utf8_slice_codeunits(digits, 0, places)
    rest = pc.utf8_slice_codeunits(digits, places)
    exact: Bools = (
        pc.equal(pc.utf8_ltrim(rest, "0"), "").fill_null(True).to_numpy(zero_copy_only=False)
    )
    return _numbers(pc.utf8_rpad(kept, places, "0")), exact


def _offset(zones: pa.Array) -> tuple[Ints, Bools]:
    """Return the minutes that zones are ahead of UTC, and which texts have a zone."""
    zoned: Bools = pc.not_equal(zones, "").fill_null(False).to_numpy(zero_copy_only=False)
    parts = pc.extract_regex(zones, r"^(?P<sign>[+-])(?P<h>\d\d):?(?P<m>\d\d)?$")
    sign, hours, minutes = (parts.field(at) for at in range(3))
    back = pc.equal(sign, "-").fill_null(False).to_numpy(zero_copy_only=False)
    ahead = _numbers(hours) * 60 + _numbers(minutes)
    return np.where(back, -ahead, ahead), zoned


def _read_counts(texts: pa.Array, per_second: int) -> Moments:
    parts = pc.extract_regex(texts, r"^(?P<sign>[+-]?)(?P<n>\d+)(?:\.(?P<f>\d*))?$")
    matched: Bools = pc.is_valid(parts).to_numpy(zero_copy_only=False)
    sign, digits, behind = (parts.field(at) for at in range(3))
    digits = pc.utf8_ltrim(digits, "0")
    length = pc.utf8_length(digits).fill_null(0).to_numpy()
    # Eighteen digits always fit into 64 bits. If nineteen do not, the multiplication wraps around.
    most, last = (_numbers(pc.utf8_slice_codeunits(digits, *at)) for at in ((0, 18), (18, 19)))
    whole = np.where(length == 19, most * 10 + last, most)
    far = (length > 19) | (whole < most)
    if per_second > 1_000_000:
        coarser = per_second // 1_000_000
        exact = (whole % coarser == 0) & _fraction(behind, 0)[1]
        counts = whole // coarser
    else:
        finer = 1_000_000 // per_second
        fraction, exact = _fraction(behind, len(str(finer)) - 1)
        far |= whole > (2**63 - finer) // finer
        counts = np.where(far, 0, whole) * finer + fraction
    negative = pc.equal(sign, "-").fill_null(False).to_numpy(zero_copy_only=False)
    zoned = np.ones(len(texts), np.bool_)
    return Moments(np.where(negative, -counts, counts), zoned, matched, exact | far, ~far)
