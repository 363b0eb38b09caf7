"""How kernels are compiled, and where the compiled code is kept.

A kernel is compiled, or read from the cache on disk, when it is first called. Until then numba is
not even imported: many commands use constants of the kernels and never run one.

Compiled code is kept in a directory named for the sources of all kernels: numba alone would look
at the file of a function only, and miss a change in a function that it inlines. numba compiles in
one thread at a time, and replaces files of its cache as a whole, so that threads and processes may
come at once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

from wex.threads import at_fork, cached_property

Function = TypeVar("Function", bound=Callable[..., object])
_setting_up = threading.RLock()  # of numba: its options are global
at_fork(_setting_up.acquire, _setting_up.release)

_interpreting = ContextVar("interpreting", default=False)
_announcements: list[Callable[[], object]] = []


def compiled(function: Function) -> Function:
    """Return a function that is compiled when it is first called, or read from the cache on disk."""
    return cast("Function", Kernel(function, nogil=True))


def compiled_without_refcounts(function: Function) -> Function:
    """Return a compiled function without reference counts: it cannot allocate."""
    return cast("Function", Kernel(function, nogil=True, _nrt=False))


def inlined(function: Function) -> Function:
    """Return a function that becomes part of each kernel that calls it."""
    return cast("Function", Kernel(function, inline="always"))


@contextmanager
def interpreted() -> Iterator[None]:
    """Run kernels as Python here: for a dozen events that is quicker than loading numba."""
    import numpy as np  # noqa: PLC0415  (the command line imports this module only to announce)

    token = _interpreting.set(True)
    try:
        with np.errstate(over="ignore"):  # whole numbers wrap around, as compiled ones do
            yield
    finally:
        _interpreting.reset(token)


def before_compiling(announce: Callable[[], object]) -> None:
    """Call `announce` once, before the first kernel that is compiled and not read from disk."""
    _announcements.append(announce)


class Kernel:
    """A function for numba, which is imported when the function is first called."""

    def __init__(self, function: Callable[..., object], **options: object) -> None:
        self.function = cast("FunctionType", function)
        self.options = {"error_model": "numpy", **options}
        update_wrapper(self, function)

    def __call__(self, *args: object) -> object:
        """Run the function, compiled unless `interpreted`."""
        return (self.function if _interpreting.get() else self.dispatcher)(*args)

    @cached_property
    def dispatcher(self) -> Callable[..., object]:
        """Return the function as numba compiles it."""
        function = self.function
        names = function.__globals__
        kernels = {
            name: names[name].dispatcher
            for name in function.__code__.co_names
            if isinstance(names.get(name), Kernel)
        }  # numba inlines and calls only its own kind of function
        linked = FunctionType(
            function.__code__, names | kernels, function.__name__, function.__defaults__
        )
        return _dispatcher(linked, self.options)


def _dispatcher(function: FunctionType, options: dict[str, object]) -> Callable[..., object]:
    import numba  # noqa: PLC0415  (heavy, see above)

    config: Any = numba.config
    make: Any = numba.njit
    with _setting_up:
        _watch_compiler()
        usual = config.CACHE_DIR
        try:
            config.CACHE_DIR = _place()
            kept: Callable[..., object] = make(cache="inline" not in options, **options)(function)
        except (RuntimeError, OSError):  # nowhere to keep it: every process compiles for itself
            kept = make(**options)(function)
        finally:
            config.CACHE_DIR = usual
    return kept


@cache
def _watch_compiler() -> None:
    """Make forks wait until no other thread compiles, and announce the first compilation."""
    from numba.core import event  # noqa: PLC0415
    from numba.core.compiler_lock import global_compiler_lock  # noqa: PLC0415

    class Announcer(event.Listener):
        def on_start(self, event: object) -> None:  # noqa: ARG002
            while _announcements:
                _announcements.pop()()

        def on_end(self, event: object) -> None:
            pass

    at_fork(global_compiler_lock.acquire, global_compiler_lock.release)
    listen: Any = event.register
    listen("numba:compile", Announcer())


@cache
def _place() -> str:
    """Return the directory for compiled code: below NUMBA_CACHE_DIR, or in the user's cache."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    own = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(own, "wex")
    return str(Path(base, f"kernels-{digest}"))
