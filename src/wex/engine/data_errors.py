"""Errors in data: their texts, and the first of several faults in a batch."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from wex.engine.eval.terms import UNKNOWN
from wex.engine.input.columns import display_value
from wex.engine.input.sorting import comes_after, deciding_column
from wex.errors import DataError
from wex.spec.types import ORDERED, Type
from wex.theory.evaluate import INFINITE, NAN, OVERFLOW, ZERO_BY_ZERO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from wex.engine.input.batch import Batch
    from wex.engine.state.state import State


Key = tuple[object, ...]


def null_error(value: str, column: str, key: Key, position: int | None) -> DataError:
    """Return the error for NULL or NaN in a field that a predicate reads."""
    hint = "filter such rows out, or say `nulls skip` in the stream line: the events around them become neighbours"
    if value == "NULL":
        hint = f"to keep such events, test them: `{column} is not null and …`; to leave them out, {hint}"
    return DataError(
        "null",
        f"{value} in a field that decides about windows",
        hint,
        column=column,
        key=key,
        position=position,
    )


def enum_error(value: object, type_: str, column: str, key: Key, position: int | None) -> DataError:
    """Return the error for a value that an enum does not list."""
    return DataError(
        "enum-value",
        f"{value!r} is not one of the values that the spec lists",
        f"add it to {type_}, or declare the field as string",
        column=column,
        key=key,
        position=position,
    )


ARITHMETIC = {
    OVERFLOW: (
        "a whole number does not fit into 64 bits",
        "whole numbers end at about 9.2 * 10^18: keep them smaller, or declare the field as real",
    ),
    ZERO_BY_ZERO: (
        "zero is divided by zero, which is not a number",
        (
            "filter out rows with a zero in the divisor, compare by `a > 2 * b` instead of"
            " `a / b > 2`, or measure `a` and `b` and divide later"
        ),
    ),
    INFINITE: (
        "infinite values cancel each other out, which is not a number",
        "filter infinite values out of the data",
    ),
    NAN: (
        "an aggregate or an arithmetic operator reads a NaN",
        "filter NaN out of the data, or leave it out of an aggregate: `sum(x) filter [x = x]`",
    ),
    UNKNOWN: (
        "arithmetic on an event of an earlier batch has no result",
        "filter out rows whose numbers are too large, not a number, or divided by zero",
    ),
}


def arithmetic_error(why: str, column: str | None, key: Key, position: int) -> DataError:
    """Return the error for arithmetic without a result; the column is the first one it reads."""
    message, hint = ARITHMETIC[why]
    return DataError("arithmetic", message, hint, column=column, key=key, position=position)


def does_not_fit(type_: pa.DataType, name: str, key: Key, position: int) -> DataError:
    """Return the error for a date beyond the range of its type."""
    message = f"a result does not fit into {type_}"
    hint = "a date is at most about 5.8 million years from 1970: add less to it"
    return DataError("arithmetic", message, hint, column=name, key=key, position=position)


def late_error(
    last: pa.Table,
    event: pa.Table,
    order_by: Sequence[str],
    fields: Mapping[str, Type],
    key: Key,
    position: int,
) -> DataError:
    """Return the error for an event that sorts before the last event of its stream."""
    now, then = (", ".join(str(_shown(row, name)) for name in order_by) for row in (event, last))
    decides = deciding_column(last, event, order_by, fields)
    if decides in order_by:
        message = f"an event at {now} comes after one at {then}"
        hint = f"feed the events of a stream in ascending order of `{order_by[0]}`"
    else:
        why = "-0.0 sorts before 0.0"
        if decides is not None:
            values = f"{_shown(event, decides)} before {_shown(last, decides)}"
            why = f"the tie is decided by `{decides}`, {values}"
        message = f"an event at {now} comes after another one at {now} that sorts behind it: {why}"
        hint = (
            "the other columns order events of one time, ascending, in the order of the stream line;"
            f" {_advice(last, event, order_by, fields)}"
        )
    return DataError("late", message, hint, column=order_by[0], key=key, position=position)


def _advice(
    last: pa.Table, event: pa.Table, order_by: Sequence[str], fields: Mapping[str, Type]
) -> str:
    """Return advice on ordering events of one time: by a column that ascends, if there is one."""
    written = ", ".join(order_by)
    for name, type_ in fields.items():
        if name not in order_by and type_ in ORDERED and comes_after(last, event, name):
            return f"if `{name}` says which comes first, write `order by {written}, {name}`"
    hint = f"write `order by {written}, n` with a column `n` that numbers them"
    return f"{hint}, or feed all events of a time in one batch"


def _shown(row: pa.Table, name: str) -> object:
    value = display_value(row.column(name)[0])
    return "NULL" if value is None else value


def assumption_error(assumes: tuple[str, ...], key: Key, position: int) -> DataError:
    """Return the error for a stream that does not conform to its assumptions."""
    return DataError(
        "assumption",
        f"the stream does not conform to {' and '.join(assumes)}",
        "correct the data or the assumption; `unchecked` switches the check off",
        key=key,
        position=position,
    )


@contextmanager
def arrow_errors() -> Iterator[None]:
    """Raise errors of Arrow as a DataError."""
    try:
        yield
    except (pa.ArrowException, NotImplementedError) as error:
        message = f"Arrow cannot work with this data: {str(error).splitlines()[0]}"
        hint = "convert the column, or feed fewer rows at a time"
        raise DataError("arrow", message, hint) from error


class FaultError(DataError):
    """A DataError of one event, with its stream and row in the batch.

    A fault at the end of a stream has the row after its last one.
    """

    def __init__(self, error: DataError, stream: int, row: int) -> None:
        super().__init__(
            error.code,
            error.message,
            error.hint or "",
            column=error.column,
            key=error.key,
            position=error.position,
        )
        self.error, self.stream, self.row = error, stream, row

    def moved(self, streams: int, rows: int) -> FaultError:
        """Return the fault in a larger batch, with this many streams and rows before."""
        return FaultError(self.error, self.stream + streams, self.row + rows)


class Work(Protocol):
    """A function that runs all stages of a batch that can fail."""

    def __call__(self, batch: Batch, prior: State, *, last: bool) -> object:
        """Raise a FaultError, or return."""


def first_fault(
    work: Work, batch: Batch, prior: State, fault: FaultError, *, last: bool
) -> DataError:
    """Return the first fault of a batch, given any one of its faults."""
    while True:
        before = np.arange(fault.stream)
        alone = batch.part(fault.stream, fault.stream + 1)
        state = prior.take(np.array([fault.stream]))
        offset = int(batch.first[fault.stream])
        try:
            work(batch.part(0, fault.stream), prior.take(before), last=last)
        except FaultError as earlier:
            fault = earlier
            continue
        row = fault.row - offset
        try:
            work(alone.before(row), state, last=False)
        except FaultError as earlier:
            fault = earlier.moved(fault.stream, offset)
            continue
        # No event before it has a fault; at this event the first stage that fails decides.
        ends = fault.row == int(batch.end[fault.stream])
        try:
            work(alone if ends else alone.before(row + 1), state, last=ends and last)
        except FaultError as first:
            return first.error
        return fault.error
