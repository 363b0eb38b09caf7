"""Kernels that follow starts with registers: a loop, and what an event does to the registers.

The loop is the same for all windows of its kind. What happens to the registers of a start with an
event is a function `step`, which `wex.engine.machines.programs` writes for each window, together
with `load` and `store`.
"""

from __future__ import annotations

import hashlib
import math
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from wex.engine.kernels.compiled import Kernel, compiled, inlined, interpreted

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST = -(2**63)
STEPS_AS_PYTHON = 50_000  # of a start, in all batches together: less than compiling takes


# --- Functions that programs call


@inlined
def divide(left: float, right: float) -> float:
    """Return a quotient by IEEE 754, as Python and as compiled code."""
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


@compiled
def multiplies(left: int, right: int) -> bool:
    """Tell whether a product of whole numbers fits into 64 bits."""
    if left == 0 or right == 0:
        return True
    if (left == LEAST and right == -1) or (right == LEAST and left == -1):
        return False
    product = left * right
    # The quotient of a product that has wrapped around is not the other factor.
    return product // right == left and product % right == 0


@compiled
def compare_mixed(whole: int, real: float) -> int:
    """Return -1, 0 or 1 for a whole number below, equal to or above a real one, without rounding."""
    if math.isnan(real):  # of nothing: the caller knows that it is NULL
        return 0
    if real >= 9223372036854775808.0:
        return -1
    if real < -9223372036854775808.0:
        return 1
    floor = math.floor(real)
    part = int(floor)
    if whole < part:
        return -1
    if whole > part:
        return 1
    return 0 if real == floor else -1


@compiled
def average(total: int, count: int) -> int:
    """Return a quotient of whole numbers, rounded to the nearest, and to the even one of two."""
    whole = total // count
    rest = total - whole * count
    twice = rest - (count - rest)
    if twice > 0 or (twice == 0 and whole % 2 != 0):
        whole += 1
    return whole


NAMES = {
    "divide": divide,
    "multiplies": multiplies,
    "compare_mixed": compare_mixed,
    "average": average,
    "inf": math.inf,
    "LEAST": LEAST,
}


# --- Kernels of programs


@lru_cache(maxsize=64)
def program_kernel(source: str, make: Callable[..., Kernel]) -> ProgramKernel:
    """Return the kernel of a program; `make(step, load, store, name)` has the loop."""
    return ProgramKernel(source, make)


class ProgramKernel:
    """A kernel for the functions `step`, `load` and `store` of a program.

    Compiling takes seconds, and each program needs it. So a kernel runs as Python until it has made
    many steps, and is compiled when it turns out to have much to do.
    """

    def __init__(self, source: str, make: Callable[..., Kernel]) -> None:
        digest = hashlib.sha256(source.encode()).hexdigest()[:16]
        names: dict[str, Any] = {"__name__": __name__, **NAMES}
        exec(compile(source, f"<program {digest}>", "exec"), names)  # noqa: S102  (our own text)
        functions = (names["step"], names["load"], names["store"])
        for function in functions:
            function.__name__ = function.__qualname__ = f"{function.__name__}_{digest}"
        self._steps = 0
        self._step, load, store = functions
        self._compiled = make(inlined(self._step), inlined(load), inlined(store), digest)
        self._as_python = make(self._counted, load, store, digest).function

    def __call__(self, *arguments: Any) -> Any:
        """Return what the kernel returns; None: it is to be compiled, and is called again.

        Then it has new buffers, as there may be something in the old ones.
        """
        if self._steps > STEPS_AS_PYTHON:
            return self._compiled(*arguments)
        with suppress(_ManyStepsError), interpreted():
            return self._as_python(*arguments)
        return None

    def _counted(self, *arguments: Any) -> object:
        self._steps += 1
        if self._steps > STEPS_AS_PYTHON:
            raise _ManyStepsError
        return self._step(*arguments)


class _ManyStepsError(Exception):
    """A kernel is worth being compiled."""
