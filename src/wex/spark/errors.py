"""Errors on their way from a worker to the user: text to read, and behind it a sealed WexError.

Spark wraps what a worker raises in its own errors, each interface in another way; the message
survives in all of them. It may quote data, and so may anything else that Spark says: what is read
back as an error carries a seal, which only this process and the workers of its jobs can make.
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

from wex.engine.bad_rows import ROW_CODES
from wex.errors import DATA_CODES, DataError, LimitError, StateError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.bad_rows import BadRows

# Travels to the workers with the plan; never shown.
SECRET = secrets.token_bytes(32)
SEALED = re.compile(r"\[wex:([A-Za-z0-9_=-]+):([0-9a-f]{64})\]")
# The end of a traceback: its lines are indented, the last one is not. A value cannot look like it
# by chance, and if one does on purpose, the hint is wrong and nothing else.
NO_WEX = re.compile(
    r"^.*Traceback \(most recent call last\):\n(?:[ \t].*\n)+ModuleNotFoundError: No module named 'wex['.]",
    re.MULTILINE,
)
DIVERT = 'or let the job go on without such rows: bad_rows="divert", --bad-rows divert'


class WorkerError(Exception):
    """A WexError as a worker raises it: Spark shows its text."""


@contextmanager
def sent(secret: bytes) -> Iterator[None]:
    """Raise a WexError as text that people read, with a last line that `recovered` reads."""
    try:
        yield
    except WexError as error:
        raise WorkerError(f"{error}\n{_sealed(error, secret)}") from error


@contextmanager
def hinted(guarded: frozenset[str], choice: BadRows) -> Iterator[None]:
    """Say in the hint of an error about a row how to go on without it.

    Arithmetic that fails in a measure, and not in a guarded field, has no row to blame.
    """
    try:
        yield
    except DataError as error:
        about_a_row = error.code in ROW_CODES
        if choice != "fail" or not about_a_row or _of_a_measure(error, guarded):
            raise
        hint = f"{error.hint}; {DIVERT}"
        place = {"column": error.column, "key": error.key, "position": error.position}
        raise DataError(error.code, error.message, hint, **place) from error  # type: ignore[arg-type]


def _of_a_measure(error: DataError, guarded: frozenset[str]) -> bool:
    return error.code == "arithmetic" and error.column not in guarded


def _sealed(error: WexError, secret: bytes) -> str:
    fields: dict[str, object] = {
        "code": error.code, "message": error.message, "hint": error.hint, "kind": type(error).__name__,
    }  # fmt: skip
    if isinstance(error, DataError):
        key = [
            each if isinstance(each, int | float | str | None) else str(each)
            for each in error.key or ()
        ]
        fields |= {"column": error.column, "key": key, "position": error.position}
    content = base64.urlsafe_b64encode(json.dumps(fields).encode())
    return f"[wex:{content.decode()}:{_seal(content, secret)}]"


def _seal(content: bytes, secret: bytes) -> str:
    return hmac.new(secret, content, hashlib.sha256).hexdigest()


def recovered(error: BaseException) -> WexError | None:
    """Return the WexError that a worker has raised, from what Spark makes of it.

    >>> recovered(ValueError("something else")) is None
    True
    """
    texts = list(_texts(error))
    for text in texts:
        for content, seal in SEALED.findall(text):
            if hmac.compare_digest(_seal(content.encode(), SECRET), seal):
                found = _opened(content)
                if found is not None:
                    return found
    if any(NO_WEX.search(text) for text in texts):
        hint = "install wex-windows where the workers run, or ship an environment that has it"
        return WexError("no-wex", "the Python of the workers does not have wex", hint)
    return None


def _opened(content: str) -> WexError | None:
    """Return the error in a sealed text; None: it comes from another version, and says something else."""
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


def _texts(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        try:
            yield str(error)
        except Exception:  # noqa: BLE001  (an error that cannot be shown)
            yield ""
        error = error.__cause__ or error.__context__
