"""Removes bad rows, those that cannot be events: counts them and writes each as JSON.

See "Bad rows" in docs/semantics.md. Most bad rows are recognised here, column by column. Whether the
others are bad depends on the events before them: see `bad_events`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import enum_error, null_error
from wex.engine.input.bad_events import EVENT_CODES, faults
from wex.engine.input.columns import EXACT_IN_A_FLOAT, conform, display_value
from wex.engine.input.prepare import PreparedInput, missing_mask
from wex.errors import DataError
from wex.spec.types import DATE, REAL, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from wex.engine.arrays import Bools
    from wex.engine.engine import Engine
    from wex.engine.input.bad_events import StreamGaps
    from wex.engine.state.state import State

    Key = tuple[object, ...]

Result = TypeVar("Result")
BadRows = Literal["fail", "skip", "divert"]
CHOICES = ("fail", "skip", "divert")
CORRUPT = "_corrupt_record"  # the column in which Spark puts the text of rows that it cannot read
MOST_SHOWN = 80  # characters of such a text in a message

# The codes of errors about single rows, as opposed to columns or batches.
ROW_CODES = frozenset({
    "malformed", "null", "null-order", "enum-value", "wrong-value", "sub-microsecond", "timestamp-range", *EVENT_CODES,
})  # fmt: skip


@dataclass
class BadRowFilter:
    """Removes and counts the bad rows of batches; `lines` has their JSON if they are diverted."""

    engine: Engine
    choice: BadRows = "fail"
    count: int = 0
    lines: list[str] = field(default_factory=list)

    def without_corrupt(self, rows: pa.Table) -> pa.Table:
        """Return the rows that Spark could read, without the column of corrupt records."""
        if CORRUPT not in rows.column_names or CORRUPT in self.engine.fields:
            return rows
        texts, rows = rows.column(CORRUPT), rows.drop_columns([CORRUPT])
        bad = texts.is_valid().to_numpy()
        if not bad.any():
            return rows
        if self.choice != "skip":
            unread, corrupt = rows.filter(pa.array(bad)), texts.filter(pa.array(bad))
            for row, text in enumerate(corrupt.to_pylist()):
                self._report(*_malformed_error(self.engine, text, unread, row))
        self.count += int(bad.sum())
        return rows.filter(pa.array(~bad))

    def without_bad_rows(self, rows: pa.Table) -> pa.Table:
        """Return the rows without bad ones, but with those that are bad only after other events."""
        rows = self.without_corrupt(rows)
        conform(rows.slice(0, 0), self.engine.fields)  # errors about columns come first
        bad = np.zeros(rows.num_rows, dtype=np.bool_)
        errors: dict[int, DataError] = {}
        for mask, error_of in _checks(self.engine, rows):
            new = mask & ~bad
            bad |= mask
            if self.choice != "skip":
                errors |= {row: error_of(row) for row in np.flatnonzero(new).tolist()}
        if not bad.any():
            return rows
        self._report_all(int(bad.sum()), errors, rows)
        return rows.filter(pa.array(~bad))

    def feed_good_rows(
        self,
        feed: Callable[[pa.Table], Result],
        recall: Callable[[PreparedInput], State],
        rows: pa.Table,
    ) -> tuple[Result, int]:
        """Feed rows without bad events; return the result and how many rows were fed."""
        try:
            return feed(rows), rows.num_rows
        except DataError as error:
            prepared = PreparedInput(self.engine, rows)
            kept = self.without_bad_events(prepared, recall(prepared), error)
            return feed(kept), kept.num_rows

    def without_bad_events(
        self,
        prepared: PreparedInput,
        prior: State,
        error: DataError,
        gaps: StreamGaps | None = None,
    ) -> pa.Table:
        """Return the rows of a batch without bad events; raise the error if it has another cause."""
        if self.choice == "fail" or error.code not in EVENT_CODES:
            raise error
        errors = faults(self.engine, prepared, prior, gaps)
        if not errors:
            raise error
        self._report_all(len(errors), errors, prepared.table)
        keep = np.ones(prepared.table.num_rows, dtype=np.bool_)
        keep[list(errors)] = False
        return prepared.table.filter(pa.array(keep))

    def _report_all(self, count: int, errors: Mapping[int, DataError], rows: pa.Table) -> None:
        if self.choice != "skip":
            numbers = sorted(errors)
            fields = rows.select(list(self.engine.fields)).take(pa.array(numbers))
            for index, number in enumerate(numbers):
                self._report(errors[number], _row_as_dict(fields, index))
        self.count += count

    def _report(self, error: DataError, row: object) -> None:
        if self.choice == "fail":
            raise error
        record = {"code": error.code, "message": error.message, "column": error.column}
        start = json.dumps(record, ensure_ascii=False).removesuffix("}")
        row_json = row.text if isinstance(row, JsonText) else _as_json(row)
        self.lines.append(f'{start}, "row": {row_json}}}')


# --- Rows that are bad independently of other events

ErrorOf = Callable[[int], DataError]  # of a row


def _checks(engine: Engine, rows: pa.Table) -> Iterator[tuple[Bools, ErrorOf]]:
    """Yield masks of bad rows, each with a function from a row to its error."""
    stream = engine.stream

    def key(row: int) -> Key:
        return tuple(display_value(rows.column(name)[row]) for name in stream.partition_by)

    for name, type_ in engine.fields.items():
        unfit = _unfit(rows.column(name), type_)
        if unfit.any():
            yield unfit, _unfit_error(rows, name, type_, int(np.argmax(unfit)), key)
    for name in stream.order_by:
        yield _missing(rows.column(name)), _order_error(name, key)
    if not stream.skip_nulls:
        for name in engine.fields:
            if name in engine.guarded:
                missing = _missing(rows.column(name), nullable=name in engine.nullable)
                yield missing, _missing_error(rows.column(name), name, key)
    for name, type_ in engine.fields.items():
        if type_.values:
            column = _decoded(rows.column(name))
            yield _unlisted(column, type_), _unlisted_error(column, name, type_, key)


def _order_error(name: str, key: Callable[[int], Key]) -> ErrorOf:
    message = "NULL or NaN in a column of `order by`"
    hint = "filter out rows without a value in this column"
    return lambda row: DataError("null-order", message, hint, column=name, key=key(row))


def _missing_error(column: pa.ChunkedArray, name: str, key: Callable[[int], Key]) -> ErrorOf:
    def error_of(row: int) -> DataError:
        return null_error("NaN" if column[row].is_valid else "NULL", name, key(row), None)

    return error_of


def _unlisted_error(
    column: pa.ChunkedArray, name: str, type_: Type, key: Callable[[int], Key]
) -> ErrorOf:
    return lambda row: enum_error(column[row].as_py(), str(type_), name, key(row), None)


def _missing(column: pa.ChunkedArray, *, nullable: bool = False) -> Bools:
    if pa.types.is_null(column.type):
        return np.full(len(column), not nullable)
    return missing_mask(_decoded(column), nullable=nullable)


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _unlisted(column: pa.ChunkedArray, type_: Type) -> Bools:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), dtype=np.bool_)
    listed = pc.is_in(column, value_set=pa.array(type_.values, column.type))
    unlisted: Bools = pc.and_not(pc.is_valid(column), listed).to_numpy()
    return unlisted


def _unfit(column: pa.ChunkedArray, type_: Type) -> Bools:
    """Return a mask of the values that `conform` rejects for a type."""
    column = _decoded(column)
    given = column.type
    bad: pa.ChunkedArray | None = None
    if type_ == REAL and pa.types.is_integer(given):
        wide = column.cast(pa.int64())
        bad = pc.or_(pc.greater(wide, EXACT_IN_A_FLOAT), pc.less(wide, -EXACT_IN_A_FLOAT))
    elif type_ == TIMESTAMP and pa.types.is_timestamp(given) and given.unit != "us":
        bad = _changed_by_cast(column, pa.timestamp("us", given.tz))
    elif type_ == DATE and pa.types.is_date64(given):
        bad = _changed_by_cast(column, pa.date32())
    elif type_.name in ("string", "enum") and not pa.types.is_null(given):
        return _not_text(column)
    if bad is None:
        return np.zeros(len(column), dtype=np.bool_)
    unfit: Bools = bad.fill_null(False).to_numpy()
    return unfit


def _changed_by_cast(column: pa.ChunkedArray, target: pa.DataType) -> pa.ChunkedArray:
    back = column.cast(target, safe=False).cast(column.type, safe=False)
    return pc.not_equal(back, column)


def _not_text(column: pa.ChunkedArray) -> Bools:
    bad = np.zeros(len(column), dtype=np.bool_)
    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        for row, value in enumerate(column.cast(pa.binary()).to_pylist()):
            bad[row] = value is not None and not _is_text(value)
    return bad


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _unfit_error(
    rows: pa.Table, name: str, type_: Type, row: int, key: Callable[[int], Key]
) -> ErrorOf:
    """Return a function from a row to the error that `conform` raises for the first bad value."""
    first_row = rows.select([name]).slice(row, 1)
    try:
        conform(first_row, {name: type_})
    except DataError as error:
        first = error
    hint = f"values must be valid for the type {type_}"
    return lambda row: DataError(first.code, first.message, hint, column=name, key=key(row))


# --- Rows that could not be read


def _malformed_error(
    engine: Engine, text: str, read: pa.Table, index: int
) -> tuple[DataError, object]:
    """Return the error for a text that is not a row, and the text or JSON object to report.

    Row `index` of `read` holds the values that could be read.
    """
    try:
        parsed = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        parsed = text
    row = _json_object(text) if isinstance(parsed, dict) else text
    if isinstance(parsed, dict):
        for name, type_ in engine.fields.items():
            value = parsed.get(name)
            if value is not None and not read.column(name)[index].is_valid:
                message = f"{_short(value)} is not a value of type {type_}"
                hint = "correct the value, or declare the field as string"
                return DataError("wrong-value", message, hint, column=name), row
    message = f"this text is not a row of the stream: {_short(text)}"
    hint = "correct or remove the row; it may be cut off, or in another format"
    return DataError("malformed", message, hint), row


@dataclass(frozen=True)
class JsonText:
    """A text that is already JSON on one line."""

    text: str


def _json_object(text: str) -> object:
    """Return a JSON object on one line, with numbers and escapes as they were written."""

    def refuse(constant: str) -> object:
        raise ValueError(constant)

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:  # NaN and Infinity are not JSON
        return json.loads(text, parse_constant=str)
    return JsonText(" ".join(text.split("\n")).replace("\r", " "))


def _as_json(row: object) -> str:
    try:
        return json.dumps(row, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that is infinite as a float, such as 1e400
        return json.dumps(str(row), ensure_ascii=False)


def _short(value: object) -> str:
    text = repr(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 3]}..."


# --- Rows as JSON


def _row_as_dict(rows: pa.Table, row: int) -> dict[str, object]:
    return {name: _plain(_value(rows.column(name)[row])) for name in rows.column_names}


def _value(scalar: pa.Scalar) -> object:
    try:
        return display_value(scalar)
    except (pa.ArrowException, ValueError):  # bytes that are not UTF-8
        return scalar.cast(pa.binary()).as_py()


def _plain(value: object) -> object:
    """Return a value of a JSON type; values of other types become texts that Spark reads."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else _non_finite(value)
        case datetime(tzinfo=zone) if zone is not None:  # as in files: see docs/running.md
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case datetime() | date():
            return value.isoformat()
        case timedelta():
            return value / timedelta(seconds=1)
        case bytes():
            return value.decode(errors="replace")
        case dict():
            return {str(name): _plain(item) for name, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return str(value)


def _non_finite(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
