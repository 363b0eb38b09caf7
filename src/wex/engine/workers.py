"""Threads that work on the parts of something, and stay for the next time.

A thread that ends gives its memory back to the system, and the pages of the next one are cleared again:
with new threads for each call, two of them took a fifth more CPU time than these do.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Generic, TypeVar

import pyarrow as pa

from wex.threads import at_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Given = TypeVar("Given")
Made = TypeVar("Made")
Sliced = TypeVar("Sliced", bound=pa.Array | pa.ChunkedArray)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """At most so many threads, the caller among them, and never more than there are cores beside it.

    The caller takes parts, too: so there is always a thread that goes on, even if all others are
    busy with parts of parts, or with what other callers want.
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def map(self, task: Callable[[Given], Made], parts: Iterable[Given]) -> list[Made]:
        """Return the results for all parts, in their order; the error of the earliest part is raised."""
        work = _Work(task, list(parts))
        helpers = min(self.threads, len(work.parts)) - 1
        helping = [_helpers().submit(work.run) for _ in range(helpers)]
        try:
            work.run()
        finally:
            for helper in helping:
                if not helper.cancel():  # it has begun
                    helper.result()
        return work.results()

    def parts(self, rows: Sliced) -> list[Sliced]:
        """Return rows as one part for each thread, of about the same size."""
        size = max(1, -(-len(rows) // self.threads))
        return [rows.slice(row, size) for row in range(0, len(rows), size)] or [rows]


ALONE = Workers(1)


class _Work(Generic[Given, Made]):
    """The parts of one call, taken by threads in their order."""

    def __init__(self, task: Callable[[Given], Made], parts: Sequence[Given]) -> None:
        self.parts = parts
        self._task = task
        # Limits are context variables: a thread sees them only in a copy of the caller's context.
        self._left = deque((number, copy_context()) for number in range(len(parts)))
        self._made: dict[int, Made] = {}
        self._errors: dict[int, BaseException] = {}

    def run(self) -> None:
        """Work on parts until none is left, or one has failed: the parts before it are taken by then."""
        while not self._errors:
            try:
                number, context = self._left.popleft()
            except IndexError:
                return
            try:
                self._made[number] = context.run(self._task, self.parts[number])
            except BaseException as error:  # noqa: BLE001  (raised by `results`, in the caller)
                self._errors[number] = error

    def results(self) -> list[Made]:
        """Return the results of all parts."""
        if self._errors:
            raise self._errors[min(self._errors)]
        return [self._made[number] for number in range(len(self.parts))]


# --- The threads of this process


_lock = threading.Lock()
_kept: list[ThreadPoolExecutor] = []  # at most one


def _helpers() -> ThreadPoolExecutor:
    with _lock:
        if not _kept:
            _kept.append(ThreadPoolExecutor(cores(), thread_name_prefix="wex"))
        return _kept[0]


at_fork(_lock.acquire, _lock.release)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_kept.clear)  # a forked child has none of the threads
