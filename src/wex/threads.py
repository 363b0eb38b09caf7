"""What a fork waits for: a child has all locks of its parent, but only the thread that forked.

A lock that another thread held at that moment stays locked in the child for ever. Therefore the
forking thread takes those of WEX itself, see `at_fork`. It cannot take those of Python's imports,
so it waits until nobody imports what WEX loads when it is first used.
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
SECONDS = 30.0  # then the fork goes on, come what may

_forking = threading.RLock()
_pairs: list[tuple[Callable[[], object], Callable[[], object]]] = []
_taken: list[Callable[[], object]] = []


def at_fork(take: Callable[[], object], leave: Callable[[], object]) -> None:
    """Take locks before each fork, and leave them behind it, in the parent and in the child."""
    _pairs.append((take, leave))


def _before() -> None:
    _forking.acquire()
    _wait_for_imports()
    while len(_taken) < len(_pairs):
        take, leave = _pairs[len(_taken)]
        take()
        _taken.append(leave)
        _wait_for_imports()  # which may have brought further locks


def _after() -> None:
    while _taken:
        _taken.pop()()
    _forking.release()


def _wait_for_imports() -> None:
    last = time.monotonic() + SECONDS
    while _importing() and time.monotonic() < last:
        time.sleep(0.001)


def _importing() -> bool:
    """Tell whether another thread imports something that WEX needs."""
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
    """A property that is computed when first asked for, and kept in the object.

    Like `functools.cached_property`, but without the lock that it has before Python 3.12, one for
    all objects of a class: two threads that went through nested objects of two classes would wait
    for each other for ever. Two threads that ask at once may both compute it; one result is kept.
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
        # `setdefault` is one step: all threads go on with the same value.
        value: Value = instance.__dict__.setdefault(self._name, self._function(instance))
        return value
