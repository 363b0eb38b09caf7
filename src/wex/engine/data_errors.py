"""What is wrong with data, told the same way by every engine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.columns import shown
from wex.engine.sorting import comes_after, deciding_column
from wex.engine.values import UNKNOWN
from wex.errors import DataError
from wex.spec.types import ORDERED, Type
from wex.theory.evaluate import INFINITE, NAN, OVERFLOW, ZERO_BY_ZERO

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Key = tuple[object, ...]


def null_error(value: str, column: str, key: Key, position: int) -> DataError:
    """Return the error for a value that is missing where a predicate reads it."""
    return DataError(
        "null",
        f"{value} in a field that decides about windows",
        "filter such rows out, or say `nulls skip` in the stream line",
        column=column,
        key=key,
        position=position,
    )


def enum_error(value: object, type_: str, column: str, key: Key, position: int) -> DataError:
    """Return the error for a value that an enum does not list."""
    return DataError(
        "enum-value",
        f"{value!r} is none of the values that the spec lists",
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
        "filter out rows with a zero in the divisor, or do not divide: `a > 2 * b` for `a / b > 2`",
    ),
    INFINITE: (
        "infinite values cancel each other out, which is not a number",
        "filter infinite values out of the data",
    ),
    NAN: (
        "a NaN among the values that are computed with",
        "filter NaN out of the data, or leave it out of an aggregate: `sum(x) filter [x = x]`",
    ),
    UNKNOWN: (
        "arithmetic on an event of an earlier batch has no result",
        "filter out rows whose numbers are too large, not a number, or divided by zero",
    ),
}


def arithmetic_error(why: str, column: str | None, key: Key, position: int) -> DataError:
    """Return the error for arithmetic that has no result; the column is the first one it reads."""
    message, hint = ARITHMETIC[why]
    return DataError("arithmetic", message, hint, column=column, key=key, position=position)


def does_not_fit(type_: pa.DataType, name: str, key: Key, position: int) -> DataError:
    """Return the error for a result that its type cannot hold: a date that is too far away."""
    message = f"a result does not fit into {type_}"
    hint = "results are dates of about 5.8 million years around 1970: measure the parts instead"
    return DataError("arithmetic", message, hint, column=name, key=key, position=position)


def late_error(
    last: pa.Table,
    event: pa.Table,
    order_by: Sequence[str],
    fields: Mapping[str, Type],
    key: Key,
    position: int,
) -> DataError:
    """Return the error for an event that sorts before the last one that its stream has had."""
    name = order_by[0]
    now, then = (_shown(each, name) for each in (event, last))
    decides = deciding_column(last, event, order_by, fields)
    if decides == name:
        message = f"an event at {now} comes after one at {then}"
        hint = "feed the events of a stream in their order, or all events of a time in one batch"
    else:
        told = "" if decides is None else f": `{decides}` is {_shown(event, decides)} here"
        told += "" if decides is None else f" and {_shown(last, decides)} there"
        message = f"two events at {now} come in the wrong order{told}"
        others = [each for each in fields if each not in order_by]
        hint = (
            "events that `order by` does not tell apart are in ascending order of the other columns, in"
            f" the order of the stream line; {_advice(last, event, order_by, others, fields)}"
        )
    return DataError("late", message, hint, column=name, key=key, position=position)


def _advice(
    last: pa.Table,
    event: pa.Table,
    order_by: Sequence[str],
    others: Sequence[str],
    fields: Mapping[str, Type],
) -> str:
    """Say how to order events that arrived in another order: by a column that ascends, if any."""
    written = ", ".join(order_by)
    for name in others:
        if fields[name] in ORDERED and comes_after(last, event, name):
            return f"if `{name}` says which comes first, write `order by {written}, {name}`"
    hint = f"write `order by {written}, n` with a column `n` that numbers them"
    return f"{hint}, or feed all events of a time in one batch"


def _shown(row: pa.Table, name: str) -> object:
    value = shown(row.column(name)[0])
    return "NULL" if value is None else value


def assumption_error(assumes: tuple[str, ...], key: Key, position: int) -> DataError:
    """Return the error for a stream that is not as it is assumed to be."""
    return DataError(
        "assumption",
        f"the stream breaks its promise: {' and '.join(assumes)}",
        "mend the data or the assumption; `unchecked` switches the check off",
        key=key,
        position=position,
    )


@contextmanager
def arrow_errors() -> Iterator[None]:
    """Tell as a DataError what Arrow cannot do with the data."""
    try:
        yield
    except (pa.ArrowException, NotImplementedError) as error:
        message = f"Arrow cannot work with this data: {str(error).splitlines()[0]}"
        hint = "convert the column, or feed fewer rows at a time"
        raise DataError("arrow", message, hint) from error
