"""Errors on their way from a worker to the user: text to read, and behind it a sealed WexError.

Spark wraps what a worker raises in its own errors, each interface in another way; the message
survives in all of them. It may quote data, and so may anything else that Spark says: what is read
back as an error carries a seal, which only this process and the workers of its jobs can make.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wex.engine.streaming.worker_errors import unsealed
from wex.errors import WexError

if TYPE_CHECKING:
    from wex.spark.batch_job import Job


# The end of a traceback: its lines are indented, the last one is not. A value cannot look like it
# by chance, and if one does on purpose, the hint is wrong and nothing else.
NO_WEX = re.compile(
    r"^.*Traceback \(most recent call last\):\n(?:[ \t].*\n)+ModuleNotFoundError: No module named 'wex['.]",
    re.MULTILINE,
)


def recovered(error: BaseException) -> WexError | None:
    """Return the WexError that a worker has raised, from what Spark makes of it.

    >>> recovered(ValueError("something else")) is None
    True
    """
    texts = list(_texts(error))
    sealed = unsealed(texts)
    if sealed is not None:
        return sealed
    if any(NO_WEX.search(text) for text in texts):
        hint = "install wex-windows where the workers run, or ship an environment that has it"
        return WexError("no-wex", "the Python of the workers does not have wex", hint)
    return None


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
