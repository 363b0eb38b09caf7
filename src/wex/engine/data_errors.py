"""What is wrong with data, told the same way by every engine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

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


def arithmetic_error(message: str, column: str | None, key: Key, position: int) -> DataError:
    """Return the error for arithmetic that has no result; the column is the first one it reads."""
    hint = "keep the numbers smaller, or filter such rows out"
    return DataError("arithmetic", message, hint, column=column, key=key, position=position)


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
