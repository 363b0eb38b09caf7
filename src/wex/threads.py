"""Threads and forks: locks that are safe to fork with, and cached properties without a lock.

A forked child has all locks of its parent, but only the thread that forked: a lock that another
thread held stays locked in the child forever. Before a fork, the forking thread therefore acquires
the locks of WEX, see `at_fork`. It cannot acquire Python's import locks, so it waits until no other
thread is importing a module that WEX loads lazily.
"""

from __future__ import annotations

import importlib
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable


ROOTS = ("wex", "lark", "llvmlite", "numba", "numpy", "pyarrow", "z3")
SECONDS = 30.0  # of waiting for imports: then the fork goes on in any case

_forking = threading.RLock()
_handlers: list[tuple[Callable[[], object], Callable[[], object]]] = []
_releases: list[Callable[[], object]] = []  # of the handlers that have acquired their locks


def at_fork(acquire: Callable[[], object], release: Callable[[], object]) -> None:
    """Acquire locks before each fork, and release them after it in the parent and the child."""
    _handlers.append((acquire, release))


def _before() -> None:
    _forking.acquire()
    _wait_for_imports()
    while len(_releases) < len(_handlers):
        acquire, release = _handlers[len(_releases)]
        acquire()
        _releases.append(release)
        _wait_for_imports()  # an import may have added handlers


def _after() -> None:
    while _releases:
        _releases.pop()()
    _forking.release()


def _wait_for_imports() -> None:
    deadline = time.monotonic() + SECONDS
    while _importing() and time.monotonic() < deadline:
        time.sleep(0.001)


def _importing() -> bool:
    """Tell whether another thread is importing a module that WEX needs."""
    own = threading.get_ident()
    locks = getattr(importlib._bootstrap, "_module_locks", {})  # noqa: SLF001
    for name, reference in locks.copy().items():
        lock = reference() if name.partition(".")[0] in ROOTS else None
        if lock is not None and lock.owner not in (None, own):
            return True
    return False


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(before=_before, after_in_parent=_after, after_in_child=_after)


Value = TypeVar("Value")


class cached_property(Generic[Value]):  # noqa: N801  (as in functools)
    """A property that is computed on first access and stored in the object.

    Like `functools.cached_property`, but without its lock, which before Python 3.12 is shared by
    all objects of a class: two threads in nested objects of two classes could deadlock. Two threads
    may compute the value at the same time; both then use the same one.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...

    def __get__(self, instance: object | None, owner: type) -> Self | Value:
        if instance is None:
            return self
        # `setdefault` is atomic: all threads use the value that is stored first.
        value: Value = instance.__dict__.setdefault(self._name, self._function(instance))
        return value
