"""Threads that work on the parts of something."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Given = TypeVar("Given")
    Made = TypeVar("Made")


class Workers:
    """So many threads; tasks see the limits of the caller."""

    def __init__(self, threads: int) -> None:
        self.threads = threads

    def map(self, task: Callable[[Given], Made], parts: Iterable[Given]) -> list[Made]:
        """Return the results for all parts, in their order; the error of the earliest part is raised."""
        if self.threads == 1:
            return [task(part) for part in parts]
        with ThreadPoolExecutor(self.threads) as pool:
            tasks = [pool.submit(copy_context().run, task, part) for part in parts]
            return [task.result() for task in tasks]


ALONE = Workers(1)
