"""How kernels are compiled, and where the compiled code is kept.

It is kept in a directory named for the sources of all kernels: numba alone would look at the file
of a function only, and miss a change in what the function inlines.

numba compiles in one thread at a time, and replaces files of its cache as a whole, so that threads
and processes may come at once.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core.compiler_lock import global_compiler_lock

from wex.threads import at_fork

Function = TypeVar("Function", bound=Callable[..., object])
_placing = threading.Lock()

# A fork waits until no other thread compiles.
at_fork(global_compiler_lock.acquire, global_compiler_lock.release)


def _place() -> str:
    """Return the directory for compiled code: below NUMBA_CACHE_DIR, or in the user's cache."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    own = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(own, "wex")
    return str(Path(base, f"kernels-{digest}"))


def compiled(function: Function) -> Function:
    """Return a function that is compiled when it is first called, or read from the cache on disk."""
    return _compiled(function)


def compiled_without_refcounts(function: Function) -> Function:
    """Return a compiled function without reference counts: it cannot allocate."""
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: bool) -> Function:
    config: Any = numba.config
    how: dict[str, Any] = {"nogil": True, "error_model": "numpy", **options}
    with _placing:  # threads that import two kernels must not take the one's setting for the usual
        usual = config.CACHE_DIR
        try:
            config.CACHE_DIR = _place()
            return cast("Function", numba.njit(cache=True, **how)(function))
        except (RuntimeError, OSError):  # nowhere to keep it: every process compiles for itself
            return cast("Function", numba.njit(**how)(function))
        finally:
            config.CACHE_DIR = usual


def inlined(function: Function) -> Function:
    """Return a function that becomes part of each kernel that calls it."""
    return cast("Function", numba.njit(inline="always", error_model="numpy")(function))
