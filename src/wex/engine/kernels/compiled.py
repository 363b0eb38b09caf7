"""How kernels are compiled, and where the compiled code is kept.

It is kept in a directory named for the sources of all kernels: numba alone would look at the file
of a function only, and miss a change in what the function inlines.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


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


def lean(function: Function) -> Function:
    """Return a compiled function without reference counts: it cannot allocate."""
    return _compiled(function, _nrt=False)


def _compiled(function: Function, **options: bool) -> Function:
    config: Any = numba.config
    usual = config.CACHE_DIR
    how: dict[str, Any] = {"nogil": True, "error_model": "numpy", **options}
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
