"""The causes of an exception from Spark: the classes, error condition and message of each.

Errors are recognised by their condition (`PATH_NOT_FOUND`) or their class, never by a message, with
the exceptions that `Text` lists. Causes are found in three places:

- Classic sessions: py4j's exception holds Java's, with its causes. PySpark raises it, or leaves it
  as the context of an exception of its own.
- Spark Connect: the exception has a condition, and its causes are in the stack trace of the server.
- Failed tasks: the cause is printed into the message of the job.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

# In a stack trace, and behind the task and the executor in the message of a job that failed.
PRINTED = re.compile(r"(?:^Caused by|\(TID \d+\) \([^()]*\)): ([\w.$]+)(?:: )?(.*)$", re.MULTILINE)
CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\] ")
TRACEBACK = "Traceback (most recent call last)"
RAISED = re.compile(r"^[\w.]+: .+$", re.MULTILINE)  # the end of a traceback
SQLSTATE = re.compile(r"\s+SQLSTATE: \w+\W*$")


class Text(Enum):
    """Errors that have neither a condition nor a class of their own: the pattern of their message.

    Data that imitates such a message gets a wrong hint, and nothing worse.
    """

    # A SparkIllegalArgumentException, under a condition for errors of many kinds.
    CSV_HEADER = r"^CSV header does not conform to the schema"
    # A java.io.IOException, or a worker's OSError in a traceback: the words of the operating system.
    DISK_FULL = r"No space left on device|Disk quota exceeded|not enough space on the disk"
    # A SparkException without a condition.
    PYTHON_WORKER_LOST = r"Python worker (exited unexpectedly|failed to connect)|Python daemon"
    # The exception of a worker is the end of its traceback, whose other lines are indented.
    NO_WEX = (
        r"^.*Traceback \(most recent call last\):\n(?:[ \t].*\n)+"
        r"ModuleNotFoundError: No module named 'wex['.]"
    )


@dataclass(frozen=True)
class Cause:
    """One exception of a chain of causes, of Python or of Java."""

    classes: tuple[str, ...]  # with modules or packages; of a Python exception also its bases
    message: str
    condition: str | None = None

    def matches(self, sign: str | Text) -> bool:
        """Tell whether this is an error of a condition, with its subconditions, a class or a text."""
        if isinstance(sign, Text):
            return re.search(sign.value, self.message, re.MULTILINE) is not None
        return sign in self.classes or f"{self.condition}.".startswith(f"{sign}.")

    @property
    def sentence(self) -> str:
        """Return the first line of the message, without condition and SQLSTATE."""
        lines = (line for line in self.message.splitlines() if line.strip())
        first = SQLSTATE.sub("", next(lines, "").strip())
        return CONDITION.sub("", first, count=1) if CONDITION.match(first) else first

    @property
    def raised_by_worker(self) -> str | None:
        """Return the exception of a Python worker, if its traceback is in the message."""
        _, marker, traceback = self.message.rpartition(TRACEBACK)
        raised = RAISED.search(traceback) if marker else None
        return None if raised is None else raised[0]


def causes_of(error: BaseException) -> Iterator[Cause]:
    """Yield an exception and its causes, the outermost first; some may come twice."""
    for exception in _chain(error):
        text = _attempt(lambda exception=exception: str(exception)) or ""  # type: ignore[misc]
        java = getattr(exception, "java_exception", None)
        if java is not None:
            yield from _java_causes(java)
        condition = condition_of(exception) or _condition_in(text)
        yield Cause(_classes(exception), text, condition)
        trace = _attempt(getattr(exception, "getStackTrace", None)) or ""
        for name, message in PRINTED.findall(f"{text}\n{trace}"):
            yield Cause((name,), message, _condition_in(message))


def condition_of(exception: Any) -> str | None:
    """Return the error condition of an exception, of PySpark or of Java, if it has one."""
    condition: str | None = _attempt(getattr(exception, "getCondition", None))
    return condition


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _classes(exception: BaseException) -> tuple[str, ...]:
    names = [f"{base.__module__}.{base.__qualname__}" for base in type(exception).__mro__]
    status = _attempt(getattr(exception, "code", None))  # of a gRPC call, as StatusCode.UNAVAILABLE
    return (*names, *([] if status is None else [f"grpc.{status}"]))


def _java_causes(throwable: Any) -> Iterator[Cause]:
    """Yield a Java exception and its causes, for as long as Java answers."""
    for _ in range(50):  # a chain may be a cycle
        name = _attempt(lambda java=throwable: java.getClass().getName())  # type: ignore[misc]
        if name is None:
            return
        message = _attempt(throwable.getMessage) or ""
        yield Cause((name,), message, condition_of(throwable) or _condition_in(message))
        throwable = _attempt(throwable.getCause)
        if throwable is None:
            return


def _condition_in(message: str) -> str | None:
    """Return the condition that Spark writes in front of a message."""
    head = CONDITION.match(message)
    return None if head is None else head[1]


def _attempt(call: Callable[[], Any] | None) -> Any:
    """Return the result of a call; None if there is no such method, or no Java that answers it."""
    try:
        return None if call is None else call()
    except Exception:  # noqa: BLE001  (of any kind, from the bridge to a Java process that may be dead)
        return None
