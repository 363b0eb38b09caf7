"""Tables as streams of events, in their order ("Streams", docs/semantics.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.data_errors import enum_error, null_error
from wex.engine.input.columns import display_value
from wex.errors import DataError
from wex.spec.types import DATE, OTHER, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wex.theory.evaluate import Event, Value


@dataclass(frozen=True)
class Stream:
    """The events of one key, in order; `rows` are their rows in the sorted table."""

    key: tuple[object, ...]
    events: list[Event]
    rows: list[int]

    def prefix(self, count: int) -> Stream:
        """Return the stream of the first `count` events."""
        return Stream(self.key, self.events[:count], self.rows[:count])


def in_order(
    table: pa.Table,
    partition_by: Sequence[str],
    order_by: Sequence[str],
    fields: Mapping[str, Type],
) -> pa.Table:
    """Return the rows of a table stream by stream, each in its order."""
    columns = {name: values(table.column(name), name, type_) for name, type_ in fields.items()}
    for name in order_by:
        for row, value in enumerate(columns[name]):
            if _is_missing(value):
                raise DataError(
                    "null-order",
                    f"row {row} has no place in its stream",
                    "filter such rows out",
                    column=name,
                    key=tuple(display_value(table.column(key)[row]) for key in partition_by),
                )
    ties = [name for name, type_ in fields.items() if order_by and type_ != OTHER]
    names = dict.fromkeys([*partition_by, *order_by, *ties])

    def rank(row: int) -> tuple[list[tuple[object, ...]], list[float]]:
        event = [columns[name][row] for name in names]
        floats = [value for value in event if isinstance(value, float)]
        signs = [math.copysign(1, value) for value in floats if value == 0 and order_by]
        return list(map(_rank, event)), signs

    rows = sorted(range(table.num_rows), key=rank)  # stable: rows without an order keep theirs
    in_place = rows == list(range(table.num_rows))  # Arrow cannot take values of every type
    return table if in_place else table.take(pa.array(rows, pa.int64()))


def _rank(value: Value) -> tuple[object, ...]:
    """Return the place of a value in the order: NULL first, NaN last, texts by their bytes."""
    if value is None:
        return (0,)
    if _is_missing(value):
        return (2,)
    return (1, value.encode() if isinstance(value, str) else value)


def streams(
    table: pa.Table,
    partition_by: Sequence[str],
    fields: Mapping[str, Type],
    guarded: frozenset[str],
    *,
    skip_nulls: bool,
    nullable: frozenset[str] = frozenset(),
) -> Iterator[Stream]:
    """Yield the streams of a sorted table; events with a NULL in a guarded field may be skipped."""
    columns = {name: values(table.column(name), name, type_) for name, type_ in fields.items()}
    begin = 0
    for end in range(1, table.num_rows + 1):
        if end < table.num_rows and all(
            _same(columns[name][begin], columns[name][end]) for name in partition_by
        ):
            continue
        key = tuple(display_value(table.column(name)[begin]) for name in partition_by)
        rows = list(range(begin, end))
        events = [{name: column[row] for name, column in columns.items()} for row in rows]
        kept = [
            at
            for at, event in enumerate(events)
            if not (skip_nulls and any(_is_bad(event[name], name, nullable) for name in guarded))
        ]
        yield Stream(key, [events[at] for at in kept], [rows[at] for at in kept])
        begin = end


@dataclass(frozen=True)
class Passed:
    """A value of type other, by its place in the table."""

    column: str
    row: int


def values(column: pa.ChunkedArray, name: str, type_: Type) -> list[Value]:
    """Return a column as Python values: times as whole numbers, `other` by its place."""
    if type_ == OTHER:
        valid = column.is_valid().to_pylist()
        return [Passed(name, row) if known else None for row, known in enumerate(valid)]  # type: ignore[misc]
    if type_ == TIMESTAMP:
        column = column.cast(pa.int64())
    elif type_ == DATE:
        column = column.cast(pa.int32())
    return column.to_pylist()  # type: ignore[no-any-return]


def _same(one: object, two: object) -> bool:
    """Tell whether two keys are equal; NULL is equal to NULL, NaN to NaN."""
    return one == two or (one != one and two != two)  # noqa: PLR0124


def check_events(
    stream: Stream, fields: Mapping[str, Type], guarded: frozenset[str], nullable: frozenset[str]
) -> None:
    """Raise a DataError at the first event with a NULL or NaN that guards read, or outside an enum."""
    for position, event in enumerate(stream.events):
        missing = [
            name for name in fields if name in guarded and _is_bad(event[name], name, nullable)
        ]
        if missing:
            value = "NULL" if event[missing[0]] is None else "NaN"
            raise null_error(value, missing[0], stream.key, position)
        _check_enums(event, fields, stream.key, position)


def _is_missing(value: Value) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _is_bad(value: Value, name: str, nullable: frozenset[str]) -> bool:
    """Tell whether a guarded field lacks a value; NULL is allowed in one that may be NULL."""
    return _is_missing(value) and not (value is None and name in nullable)


def _check_enums(
    event: Event, fields: Mapping[str, Type], key: tuple[object, ...], position: int
) -> None:
    for name, type_ in fields.items():
        if type_.values and event[name] is not None and event[name] not in type_.values:
            raise enum_error(event[name], str(type_), name, key, position)
