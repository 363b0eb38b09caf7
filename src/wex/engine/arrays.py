"""Names for the types of arrays that the engine works with, and memory for large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

LARGE = 1 << 17  # bytes
BLOCK = 1 << 14  # numbers that are written together


def empty(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array that is not filled; a large one from Arrow's memory.

    numpy gives the memory of large arrays back to the system at once, and the pages of the next array
    are cleared again, which takes longer than most things that are computed in them, and threads wait
    for each other there. mimalloc, which Arrow uses if nobody chose another allocator, keeps them for
    the next batch.
    """
    size_in_bytes = size * np.dtype(dtype).itemsize
    if size_in_bytes < LARGE or pa.default_memory_pool().backend_name != "mimalloc":
        return np.empty(size, dtype=dtype)
    return np.frombuffer(pa.allocate_buffer(size_in_bytes), dtype=dtype)


def filled_with(value: int, size: int) -> Ints:
    """Return an array that has one number everywhere."""
    array: Ints = empty(size, np.int64)
    array[:] = value
    return array


def ascending(size: int) -> Ints:
    """Return an array of the numbers from 0 on."""
    array: Ints = empty(size, np.int64)
    block = np.arange(min(size, BLOCK))
    for first in range(0, size, BLOCK):
        part = array[first : first + BLOCK]
        np.add(block[: len(part)], first, out=part)
    return array
