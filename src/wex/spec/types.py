"""The types of values, and the operations that they allow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from wex.spec import tree


@dataclass(frozen=True)
class Type:
    """The type of a value; `predicate` is the type of conditions on an event."""

    name: str
    values: tuple[str, ...] = ()  # of an enum
    item: Type | None = None  # of a list

    def __str__(self) -> str:
        if self.values:
            return str(tree.FieldType(tree.Name("enum"), tuple(map(tree.Text, self.values))))
        return f"list of {self.item}" if self.item else self.name


BOOL: Final = Type("bool")
INT: Final = Type("int")
REAL: Final = Type("real")
STRING: Final = Type("string")
TIMESTAMP: Final = Type("timestamp")
DATE: Final = Type("date")
DURATION: Final = Type("duration")
OTHER: Final = Type("other")
PREDICATE: Final = Type("predicate")

FIELD_TYPES = {type_.name: type_ for type_ in (BOOL, INT, REAL, STRING, TIMESTAMP, DATE, OTHER)}
FIELD_TYPE_NAMES = ("bool", "int", "real", "string", "timestamp", "date", "enum", "other")
TYPE_SYNONYMS = {
    "boolean": "bool",
    "integer": "int", "long": "int", "bigint": "int", "short": "int", "int64": "int", "int32": "int",
    "float": "real", "double": "real", "decimal": "real", "number": "real", "float64": "real",
    "str": "string", "text": "string", "varchar": "string", "char": "string",
    "datetime": "timestamp", "time": "timestamp", "timestamptz": "timestamp",
    "struct": "other", "array": "other", "map": "other", "list": "other", "json": "other",
}  # fmt: skip

NUMBERS = (INT, REAL)
ORDERED = (INT, REAL, TIMESTAMP, DATE, DURATION)

_MICROSECONDS = {
    "microsecond": 1,
    "millisecond": 1_000,
    "second": 1_000_000,
    "minute": 60_000_000,
    "hour": 3_600_000_000,
    "day": 86_400_000_000,
    "week": 604_800_000_000,
}
EVENT_UNITS = ("event", "events")  # of `within`
UNITS = {name + end: size for name, size in _MICROSECONDS.items() for end in ("", "s")}
# Short names of units, which are printed in full.
SHORT_UNITS = {
    "us": "microsecond", "ms": "millisecond", "sec": "second", "secs": "second",
    "min": "minute", "mins": "minute", "hr": "hour", "hrs": "hour",
}  # fmt: skip

# Functions of a timestamp; those of the first group are also functions of a date.
CALENDAR_PARTS = ("year", "month", "day", "weekday")
CLOCK_PARTS = ("hour", "minute", "second")
FUNCTION_NAMES = ("abs", "prev", "lag", "floor", *CALENDAR_PARTS, *CLOCK_PARTS, "starts_with")


def microseconds(amount: tree.Int | tree.Real, unit: str) -> int | None:
    """Return a duration in microseconds, or None if it is not whole or 64 bits cannot hold it.

    >>> microseconds(tree.Int(2), "minutes")
    120000000
    """
    exact = Fraction(amount.value) * UNITS[unit]
    return int(exact) if exact.denominator == 1 and abs(exact) < 2**63 else None


def unit_name(amount: tree.Int | tree.Real, unit: str) -> str:
    """Return the full name of a unit that was written short; any other name as it is.

    >>> unit_name(tree.Int(30), "min"), unit_name(tree.Int(1), "hr"), unit_name(tree.Int(2), "day")
    ('minutes', 'hour', 'day')
    """
    full = SHORT_UNITS.get(unit)
    if full is None:
        return unit
    return full if amount.value == 1 else f"{full}s"


def is_zone(name: str) -> bool:
    """Tell whether there is a time zone of this name.

    >>> is_zone("Europe/Berlin"), is_zone("Berlin"), is_zone("../zone")
    (True, False, False)
    """
    try:
        return bool(ZoneInfo(name).key)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        return False


def read_moment(type_: str, text: str) -> datetime | date | None:
    """Return the timestamp or date of a literal, or None if it is not valid.

    >>> read_moment("timestamp", "2026-01-31 10:00:00.5")
    datetime.datetime(2026, 1, 31, 10, 0, 0, 500000)
    >>> read_moment("date", "2026-02-30") is None
    True
    """
    _, _, fraction = text.replace(",", ".").partition(".")
    digits = len(fraction) - len(fraction.lstrip("0123456789"))
    if digits > 6:
        return None  # datetime would silently cut it to microseconds
    try:
        return date.fromisoformat(text) if type_ == "date" else datetime.fromisoformat(text)
    except ValueError:
        return None


def arithmetic(op: str, left: Type, right: Type) -> Type | None:
    """Return the type of `left op right`, or None if it is not defined for these types.

    >>> arithmetic("-", TIMESTAMP, TIMESTAMP).name
    'duration'
    >>> arithmetic("/", INT, INT).name
    'real'
    >>> arithmetic("+", TIMESTAMP, INT) is None
    True
    """
    if op in ("//", "%"):
        whole = left == right == INT
        durations = left == right == DURATION
        return INT if whole or (durations and op == "//") else DURATION if durations else None
    if left in NUMBERS and right in NUMBERS:
        return INT if left == right == INT and op != "/" else REAL
    return _TIME_ARITHMETIC.get((left.name, op, right.name))


_TIME_ARITHMETIC = {
    ("timestamp", "-", "timestamp"): DURATION,
    ("timestamp", "-", "duration"): TIMESTAMP,
    ("timestamp", "+", "duration"): TIMESTAMP,
    ("duration", "+", "timestamp"): TIMESTAMP,
    ("date", "-", "date"): DURATION,
    ("date", "-", "duration"): DATE,
    ("date", "+", "duration"): DATE,
    ("duration", "+", "date"): DATE,
    ("duration", "+", "duration"): DURATION,
    ("duration", "-", "duration"): DURATION,
    ("duration", "*", "int"): DURATION,
    ("int", "*", "duration"): DURATION,
    ("duration", "/", "duration"): REAL,
}


def comparable(left: Type, right: Type, *, ordered: bool) -> bool:
    """Tell whether values of two types can be compared, for order or only for equality.

    >>> comparable(INT, REAL, ordered=True), comparable(STRING, STRING, ordered=True)
    (True, False)
    """
    if left in NUMBERS and right in NUMBERS:
        return True
    if left.values and right.values:
        return not ordered and set(left.values) == set(right.values)
    if left != right or left in (OTHER, PREDICATE) or left.item:
        return False
    return left in ORDERED or not ordered
