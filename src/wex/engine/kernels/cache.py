"""Compiling kernels with numba, and the cache of compiled code on disk.

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
from types import FunctionType
from typing import Any
from uuid import uuid4

import numba
from numba.core import event as events
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUTargetOptions
from numba.core.serialize import dumps

from wex.engine.kernels.compiled import announcements
from wex.framing import Frame
from wex.threads import at_fork

# A fork waits until no other thread compiles.
at_fork(global_compiler_lock.acquire, global_compiler_lock.release)

FRAME = Frame("compiled kernel", b"WEXKERNEL", 1, "it is compiled anew")
SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()[:16]


def dispatcher_of(function: FunctionType, options: dict[str, object]) -> Callable[..., object]:
    """Return a function as numba compiles it, its code kept on disk unless it is inlined."""
    known = {
        name: value
        for name, value in options.items()
        if name != "_nrt" or hasattr(CPUTargetOptions, "_nrt")
    }
    njit: Any = numba.njit
    kernel = njit(**known)(function)
    if kernel is not function and "inline" not in options:  # equal where NUMBA_DISABLE_JIT is set
        kernel._cache = KernelCache(kernel, cache_directory())  # noqa: SLF001
    return kernel  # type: ignore[no-any-return]


class _Announcer(events.Listener):
    """Calls the announcements when numba compiles for the first time."""

    def on_start(self, event: object) -> None:  # noqa: ARG002
        while announcements:
            announcements.pop()()

    def on_end(self, event: object) -> None:
        pass


events.register("numba:compile", _Announcer())  # type: ignore[no-untyped-call]


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
