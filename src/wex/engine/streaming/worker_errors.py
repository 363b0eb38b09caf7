"""Errors on their way from a worker to the process that started the job.

A backend wraps an exception of a worker in exceptions of its own; only the message survives. So a
worker raises a `WorkerError` whose text is the message for people, followed by a line with the
WexError as data. Messages may quote events, so that line carries a seal that only this process and
the workers of its jobs can make: no event can forge an error.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from wex.engine.input.bad_rows import ROW_CODES
from wex.errors import DATA_CODES, DataError, LimitError, StateError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from wex.engine.input.bad_rows import BadRows


# The key of the seal. It travels to the workers with the plan and is never shown.
SECRET = secrets.token_bytes(32)
SEALED = re.compile(r"\[wex:([A-Za-z0-9_=-]+):([0-9a-f]{64})\]")
DIVERT = 'or let the job go on without such rows: bad_rows="divert", --bad-rows divert'


class WorkerError(Exception):
    """A WexError as a worker raises it: its text for people, and a sealed line for `unsealed`."""


@contextmanager
def sealed_errors(secret: bytes) -> Iterator[None]:
    """Raise every WexError of the block as a WorkerError."""
    try:
        yield
    except WexError as error:
        raise WorkerError(f"{error}\n{_sealed(error, secret)}") from error


@contextmanager
def bad_rows_hint(guarded: frozenset[str], bad_rows: BadRows) -> Iterator[None]:
    """Add to the hint of an error about a row how to go on without that row.

    Failed arithmetic in a measure gets no such hint: it belongs to a window, not to a row.
    """
    try:
        yield
    except DataError as error:
        in_measure = error.code == "arithmetic" and error.column not in guarded
        if bad_rows != "fail" or error.code not in ROW_CODES or in_measure:
            raise
        hint = f"{error.hint}; {DIVERT}"
        place = {"column": error.column, "key": error.key, "position": error.position}
        raise DataError(error.code, error.message, hint, **place) from error  # type: ignore[arg-type]


def unsealed(texts: Iterable[str]) -> WexError | None:
    """Return the first WexError that a worker of this process has sealed into one of the texts."""
    for text in texts:
        for content, seal in SEALED.findall(text):
            if hmac.compare_digest(_seal(content.encode(), SECRET), seal):
                error = _opened(content)
                if error is not None:
                    return error
    return None


def without_seals(text: str) -> str:
    """Return a text for people: without the lines that carry errors as data."""
    return SEALED.sub("", text)


def _sealed(error: WexError, secret: bytes) -> str:
    fields: dict[str, object] = {
        "code": error.code, "message": error.message, "hint": error.hint, "kind": type(error).__name__,
    }  # fmt: skip
    if isinstance(error, DataError):
        key = [
            value if isinstance(value, int | float | str | None) else str(value)
            for value in error.key or ()
        ]
        fields |= {"column": error.column, "key": key, "position": error.position}
    content = base64.urlsafe_b64encode(json.dumps(fields).encode())
    return f"[wex:{content.decode()}:{_seal(content, secret)}]"


def _seal(content: bytes, secret: bytes) -> str:
    return hmac.new(secret, content, hashlib.sha256).hexdigest()


def _opened(content: str) -> WexError | None:
    """Return the error in a sealed line; None if another version of wex has written the line."""
    try:
        fields: Any = json.loads(base64.urlsafe_b64decode(content))
        code, message, hint, kind = (fields[name] for name in ("code", "message", "hint", "kind"))
    except (ValueError, TypeError, LookupError):
        return None
    if not (isinstance(code, str) and isinstance(message, str) and isinstance(hint, str | None)):
        return None
    if kind == "StateError":
        return StateError(code, message, hint)
    if kind == "LimitError":
        limit = code.removeprefix("limit-").replace("-", "_")
        return LimitError(limit, message, hint or "")
    if kind == "DataError" and code in DATA_CODES:
        return _data_error(code, message, hint or "", fields)
    return WexError(code, message, hint)


def _data_error(code: str, message: str, hint: str, fields: dict[str, Any]) -> DataError | None:
    column, key, position = (fields.get(name) for name in ("column", "key", "position"))
    fits = isinstance(column, str | None) and isinstance(position, int | None)
    if not fits or not isinstance(key, list):
        return None
    return DataError(code, message, hint, column=column, key=tuple(key), position=position)
