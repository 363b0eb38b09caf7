"""Decorators for kernels, which numba compiles when they are first called.

Until then numba is not even imported: many commands use constants of the kernels and never run
one. `kernels/cache.py` compiles, and keeps compiled code on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from types import CellType, FunctionType
from typing import TypeVar, cast

from wex.threads import cached_property

Function = TypeVar("Function", bound=Callable[..., object])

_interpreting = ContextVar("interpreting", default=False)
announcements: list[Callable[[], object]] = []  # called before the first compilation


def compiled(function: Function) -> Function:
    """Return a function that is compiled when it is first called, or read from the cache on disk."""
    return cast("Function", Kernel(function, nogil=True))


def compiled_without_refcounts(function: Function, name: str | None = None) -> Function:
    """Return a compiled function that counts no references to arrays, and so can allocate none.

    Functions made by one factory need different names, as a name is all that tells them apart.

    Inlined functions that pass arrays on count references in the inner loop: without the counts
    kernels that move lists take half the time. Where numba does not know the option, they count.
    """
    function.__name__ = function.__qualname__ = name or function.__name__
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
    announcements.append(announce)


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
        from wex.engine.kernels.cache import dispatcher_of  # noqa: PLC0415  (imports numba)

        function = self.function
        names = function.__globals__
        kernels = {
            name: names[name].dispatcher
            for name in function.__code__.co_names
            if isinstance(names.get(name), Kernel)
        }  # numba inlines and calls only its own kind of function
        linked = FunctionType(
            function.__code__,
            names | kernels,
            function.__name__,
            function.__defaults__,
            tuple(CellType(_unwrapped(cell.cell_contents)) for cell in function.__closure__ or ()),
        )
        linked.__module__, linked.__qualname__ = function.__module__, function.__qualname__
        return dispatcher_of(linked, self.options)


def _unwrapped(value: object) -> object:
    return value.dispatcher if isinstance(value, Kernel) else value
