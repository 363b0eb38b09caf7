"""Decorators that compile kernels with numba, and the cache of compiled code on disk.

All use of numba's private parts is here, and each has a way out: without the option `_nrt` kernels
are compiled as usual, and a cache that cannot be read or written means compiling once more.
`pyproject.toml` bounds the version of numba for their sake.

numba compiles in one thread at a time. Files of the cache are replaced as a whole, so that threads
and processes can share it.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast
from uuid import uuid4

import numba
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUTargetOptions
from numba.core.serialize import dumps

from wex.framing import Frame
from wex.threads import at_fork

Function = TypeVar("Function", bound=Callable[..., object])

# A fork waits until no other thread compiles.
at_fork(global_compiler_lock.acquire, global_compiler_lock.release)


def compiled(function: Function) -> Function:
    """Return a function that is compiled when it is first called, or read from the cache on disk."""
    return _compiled(function)


def compiled_without_refcounts(function: Function, name: str | None = None) -> Function:
    """Return a compiled function that counts no references to arrays, and so can allocate none.

    Functions made by one factory need different names, as a name is all that tells them apart.

    Inlined functions that pass arrays on count references in the inner loop: without the counts
    kernels that move lists take half the time. Where numba does not know the option, they count.
    """
    function.__name__ = function.__qualname__ = name or function.__name__
    return _compiled(function, **({"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}))


def inlined(function: Function) -> Function:
    """Return a function that becomes part of each kernel that calls it."""
    return cast("Function", numba.njit(inline="always", error_model="numpy")(function))


def _compiled(function: Function, **options: bool) -> Function:
    njit: Any = numba.njit
    kernel = njit(nogil=True, error_model="numpy", **options)(function)
    if kernel is not function:  # as it is where NUMBA_DISABLE_JIT is set
        kernel._cache = KernelCache(kernel, cache_directory())  # noqa: SLF001
    return cast("Function", kernel)


# --- The cache


FRAME = Frame("compiled kernel", b"WEXKERNEL", 1, "it is compiled anew")
SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()[:16]


def cache_directory() -> Path:
    """Return the directory for compiled code: below NUMBA_CACHE_DIR, or in the user's cache.

    It is named for the sources of all kernels. numba itself looks at the file of a function only,
    and misses a change in a function of another file that is inlined.
    """
    own = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(own, "wex")
    return Path(base, f"kernels-{SOURCES}")


class KernelCache(NullCache):  # type: ignore[misc]
    """The compiled code of one kernel on disk, a file for each signature.

    It stands in for numba's own cache, whose directory can be set only for all users of numba in a
    process, and whose damaged files are errors.
    """

    def __init__(self, kernel: Any, directory: Path) -> None:
        self._kernel, self._directory = kernel, directory

    @property
    def cache_path(self) -> str:
        """Return the directory of the cache."""
        return str(self._directory)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the code for a signature, or None if it has to be compiled."""
        target_context.refresh()
        # Files may be missing, damaged, or of another version in any way: all that is a miss.
        with suppress(Exception):
            saved = self._path(sig, target_context.codegen()).read_bytes()
            content = pickle.loads(FRAME.opened(saved))  # noqa: S301  (as numba's own cache)
            return CompileResult._rebuild(target_context, *content)  # type: ignore[no-untyped-call]  # noqa: SLF001
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the code for a signature, if it can be kept."""
        # A disk that is full or read-only costs time in the next process, and nothing else.
        with suppress(Exception):
            path = self._path(sig, data.codegen)
            content = FRAME.closed(dumps(data._reduce()))  # type: ignore[no-untyped-call]  # noqa: SLF001
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f"{path.name}.{uuid4().hex}")
            try:
                draft.write_bytes(content)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def _path(self, sig: Any, codegen: Any) -> Path:
        """Return the file for a signature, on this processor, by these versions and options."""
        versions = (numba.__version__, sys.version)
        key = repr((versions, codegen.magic_tuple(), sig, self._kernel.targetoptions))
        name = f"{self._kernel.__name__}-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
        return self._directory / name
