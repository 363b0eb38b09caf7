"""Errors on their way from a worker to the user: one line of JSON, and back to a WexError.

Spark wraps what a worker raises in its own errors, each interface in another way; the message
survives in all of them.
"""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from wex.errors import DataError, LimitError, StateError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "WEX1:"


class WorkerError(Exception):
    """A WexError as a worker raises it: Spark shows its text."""


@contextmanager
def sent() -> Iterator[None]:
    """Raise a WexError as one line that `recovered` reads."""
    try:
        yield
    except WexError as error:
        fields: dict[str, object] = {
            "code": error.code, "message": error.message, "hint": error.hint,
            "kind": type(error).__name__,
        }  # fmt: skip
        if isinstance(error, DataError):
            key = [
                each if isinstance(each, int | float | str | None) else str(each)
                for each in error.key or ()
            ]
            fields |= {"column": error.column, "key": key, "position": error.position}
        raise WorkerError(MARK + json.dumps(fields) + ":WEX1") from error


def recovered(error: BaseException) -> WexError | None:
    """Return the WexError that a worker has raised, from what Spark makes of it.

    >>> recovered(ValueError("something else")) is None
    True
    """
    for text in _texts(error):
        for found in re.finditer(re.escape(MARK) + r"(\{.*?\}):WEX1", text):
            try:
                fields = json.loads(found.group(1))
            except ValueError:  # a line of the traceback that quotes the source
                continue
            code, message, hint = (fields.pop(each) for each in ("code", "message", "hint"))
            kind = fields.pop("kind")
            if kind == "StateError":
                return StateError(code, message, hint)
            if kind == "LimitError":
                limit = code.removeprefix("limit-").replace("-", "_")
                return LimitError(limit, message, hint)
            if "key" in fields:
                return DataError(code, message, hint, **{**fields, "key": tuple(fields["key"])})
            return WexError(code, message, hint)
        if "No module named 'wex" in text:
            hint = "install wex-windows where the workers run, or ship an environment that has it"
            return WexError("no-wex", "the Python of the workers does not have wex", hint)
    return None


def _texts(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield str(error)
        error = error.__cause__ or error.__context__
