"""Exceptions of Spark as errors for the user: the error of a worker, or a cause and a remedy."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException, IllegalArgumentException

from wex.engine.streaming.worker_errors import unsealed
from wex.errors import WexError
from wex.spark.causes import Cause, Text, causes_of

if TYPE_CHECKING:
    from wex.spark.batch_job import Job

FEWER_ROWS = "fewer rows in a micro-batch help, too: --option maxFilesPerTrigger=1"


def recovered(error: BaseException) -> WexError | None:
    """Return the WexError that a worker has raised, from the exception that Spark makes of it.

    >>> recovered(ValueError("something else")) is None
    True
    """
    return _recovered(list(causes_of(error)))


def _recovered(causes: list[Cause]) -> WexError | None:
    sealed = unsealed(cause.message for cause in causes)
    if sealed is not None:
        return sealed
    if any(cause.matches(Text.NO_WEX) for cause in causes):
        hint = "install wex-windows where the workers run, or ship an environment that has it"
        return WexError("no-wex", "the Python of the workers does not have wex", hint)
    return None


def error_for_user(error: Exception, job: Job, checkpoint: str | None = None) -> WexError:
    """Return the error for the user of a job; `checkpoint` is that of an endless job."""
    causes = list(causes_of(error))
    own = _recovered(causes)
    if own is not None:
        return own
    for explanation in EXPLANATIONS:
        cause = next((cause for cause in causes if cause.matches(explanation.sign)), None)
        if cause is not None:
            message = explanation.message.format(job=job, sentence=cause.sentence)
            return WexError(explanation.code, message, explanation.hint)
    refused = isinstance(error, AnalysisException | IllegalArgumentException)
    failed = None if refused else _failure(causes, job, checkpoint)
    if failed is not None:
        return failed
    code = "spark-refused" if refused else "spark-failed"
    return WexError(code, f"Spark: {_summary(causes)}", "--debug shows the whole error of Spark")


def _summary(causes: list[Cause]) -> str:
    """Return the exception of a worker, if there is one, else the first message."""
    for cause in causes:
        if cause.raised_by_worker is not None:
            return f"a Python worker failed: {cause.raised_by_worker}"
    return next((cause.sentence for cause in causes if cause.sentence), causes[0].classes[0])


@dataclass(frozen=True)
class Explanation:
    """An error about the data or a path: how Spark reports it, and the error for the user."""

    sign: str | Text
    code: str
    message: str
    hint: str


# In this order: a file that cannot be read may have a value that does not fit as its cause.
EXPLANATIONS = (
    Explanation(
        Text.CSV_HEADER,
        "columns-differ",
        "the files of {job.source} have different columns, or the same in another order",
        "give all files the same header",
    ),
    Explanation(
        "PATH_ALREADY_EXISTS",
        "output-exists",
        "{job.target} exists already",
        "choose another --output, or say --mode overwrite or append",
    ),
    Explanation(
        "PATH_NOT_FOUND",
        "no-file",
        "{job.source} does not exist",
        "give the path of a file or folder",
    ),
    Explanation(
        "CAST_INVALID_INPUT",
        "wrong-value",
        "{job.source}: {sentence}",
        "correct the value, or declare the field as string",
    ),
    Explanation(
        "MALFORMED_RECORD_IN_PARSING",
        "wrong-value",
        "{job.source}: {sentence}",
        "check that the values fit the types of the stream line",
    ),
    Explanation(
        "FAILED_READ_FILE",
        "unreadable",
        "{sentence}",
        "check that the file is complete, has the columns of the other files, and that its values"
        " fit the stream line",
    ),
)


@dataclass(frozen=True)
class Failure:
    """A failure that is not caused by the data: its signs, its message for the user, and a remedy."""

    signs: tuple[str | Text, ...]
    message: str
    remedy: str


DISK_FULL = Failure((Text.DISK_FULL,), "a disk is full", "free some space")
# In this order: without disk space or memory, workers and executors are lost, too.
FAILURES = (
    DISK_FULL,
    Failure(
        (
            "java.lang.OutOfMemoryError",
            "org.apache.spark.memory.SparkOutOfMemoryError",
            "UNABLE_TO_ACQUIRE_MEMORY",
        ),
        "Java has no memory left",
        "give it more, as with --conf spark.driver.memory=4g (on a cluster spark.executor.memory)",
    ),
    Failure(
        ("ExecutorLostFailure",),
        "an executor was lost, killed for its memory or with its machine",
        "give executors more memory: --conf spark.executor.memory=8g, spark.executor.memoryOverhead=2g",
    ),
    Failure(
        (Text.PYTHON_WORKER_LOST,),
        "a Python worker was killed, as the system does when memory runs out",
        "run fewer side by side (--master 'local[1]'), or free some memory",
    ),
    Failure(
        (
            "py4j.protocol.Py4JNetworkError",
            "builtins.ConnectionError",
            "grpc.StatusCode.UNAVAILABLE",
        ),
        "the Java process of Spark has ended, as when the system kills it for its memory",
        "give the machine more memory, or Spark less: --conf spark.driver.memory=1g",
    ),
)


def failure(error: BaseException, job: Job, checkpoint: str | None = None) -> WexError | None:
    """Return the error for a failure that is not caused by the data; None if it is no such failure.

    `checkpoint` is that of an endless job.
    """
    return _failure(list(causes_of(error)), job, checkpoint)


def _failure(causes: list[Cause], job: Job, checkpoint: str | None) -> WexError | None:
    known = (
        failure
        for failure in FAILURES
        if any(cause.matches(sign) for cause in causes for sign in failure.signs)
    )
    failure = next(known, None)
    if failure is None:
        return None
    remedy = failure.remedy
    if failure is DISK_FULL:
        remedy = f"{remedy} ({', '.join(_free_space(job, checkpoint))})"
    elif checkpoint is not None:
        remedy = f"{remedy}; {FEWER_ROWS}"
    again = "run it again" if checkpoint is None else "start it again with the same --checkpoint"
    hint = f"{_losses(job, checkpoint)}: {remedy}, and {again}"
    return WexError("spark-failed", failure.message, hint)


def _losses(job: Job, checkpoint: str | None) -> str:
    if checkpoint is not None:
        return f"nothing is lost, {checkpoint} has what was done"
    if job.mode == "overwrite":
        return f"nothing new was written, and what {job.target} had before may be gone"
    return "nothing was written, and nothing is lost"


def _free_space(job: Job, checkpoint: str | None) -> Iterator[str]:
    """Yield the free space of each place on this machine that a job writes to."""
    local = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")
    for place in dict.fromkeys([job.target, *([checkpoint] if checkpoint else []), *local]):
        folder = Path(place.removeprefix("file://"))
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        if "://" not in place.removeprefix("file://"):
            yield f"{place} has {shutil.disk_usage(folder).free // 2**20:,} MB left"
    yield "Spark's own files are in spark.local.dir"
