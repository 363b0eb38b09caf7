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
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wex.engine.input.bad_rows import ROW_CODES
from wex.errors import DATA_CODES, DataError, LimitError, StateError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.input.bad_rows import BadRows
    from wex.spark.batch_job import Job


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


CODE = "spark-failed"


@dataclass(frozen=True)
class Cause:
    """How a failure shows in what Spark says, what it is, and what helps."""

    shown: re.Pattern[str]
    message: str
    remedy: str


# The first one that shows is the cause: a full disk or memory kills workers and executors, too.
CAUSES = (
    Cause(
        re.compile(r"No space left on device|Disk quota exceeded|not enough space on the disk"),
        "a disk is full",
        "free some space",
    ),
    Cause(
        re.compile(r"java\.lang\.OutOfMemoryError|GC overhead limit exceeded"),
        "Java has no memory left",
        "give it more, as with --conf spark.driver.memory=4g (on a cluster spark.executor.memory)",
    ),
    Cause(
        re.compile(r"ExecutorLostFailure|Container killed by|Remote RPC client disassociated"),
        "an executor was lost, killed for its memory or with its machine",
        "give executors more memory: --conf spark.executor.memory=8g, spark.executor.memoryOverhead=2g",
    ),
    Cause(
        re.compile(r"Python worker (exited unexpectedly|failed to connect)|Python daemon"),
        "a Python worker was killed, as the system does when memory runs out",
        "run fewer side by side (--master 'local[1]'), or free some memory",
    ),
    Cause(
        re.compile(
            r"Answer from Java side is empty|Error while sending or receiving|Connection refused"
            r"|Connection reset by peer|Py4JNetworkError"
        ),
        "the Java process of Spark has ended, as when the system kills it for its memory",
        "give the machine more memory, or Spark less: --conf spark.driver.memory=1g",
    ),
)
FEWER = "fewer rows in a micro-batch help, too: --option maxFilesPerTrigger=1"


def failure(error: BaseException, job: Job, checkpoint: str | None = None) -> WexError | None:
    """Return what an error of Spark's means that the data has no part in; None: it is no such error.

    `checkpoint` is that of an endless job.
    """
    said = "\n".join(_said(error))
    cause = next((each for each in CAUSES if each.shown.search(said)), None)
    if cause is None:
        return None
    remedy = cause.remedy
    if cause is CAUSES[0]:
        remedy = f"{remedy} ({', '.join(_places(job, checkpoint))})"
    elif checkpoint is not None:
        remedy = f"{remedy}; {FEWER}"
    return WexError(CODE, cause.message, f"{_lost(job, checkpoint)}: {remedy}, and {_again(checkpoint)}")  # fmt: skip


def _lost(job: Job, checkpoint: str | None) -> str:
    if checkpoint is not None:
        return f"nothing is lost, {checkpoint} has what was done"
    if job.mode == "overwrite":
        return f"nothing new was written, and what {job.target} had before may be gone"
    return "nothing was written, and nothing is lost"


def _again(checkpoint: str | None) -> str:
    return "run it again" if checkpoint is None else "start it again with the same --checkpoint"


def _said(error: BaseException | None) -> Iterator[str]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield type(error).__name__
        yield str(error)
        # In an endless job the cause is not in the message.
        yield str(getattr(error, "_stackTrace", None) or "")
        error = error.__cause__ or error.__context__


def _places(job: Job, checkpoint: str | None) -> Iterator[str]:
    """Yield the places on this machine that a job writes to, and how much they have left."""
    own = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")
    for place in dict.fromkeys([job.target, *([checkpoint] if checkpoint else []), *own]):
        there = Path(place.removeprefix("file://"))
        while not there.exists() and there != there.parent:
            there = there.parent
        if "://" not in place.removeprefix("file://"):
            yield f"{place} has {shutil.disk_usage(there).free // 2**20:,} MB left"
    yield "Spark's own files are in spark.local.dir"
