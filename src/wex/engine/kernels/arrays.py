"""Arrays as kernels take them: of one kind, so that nothing is compiled twice."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


class _Alias:
    """An array that looks writable. Kernels do not write to what they are given to read."""

    def __init__(self, array: NDArray[np.generic]) -> None:
        self.owner = array
        self.__array_interface__ = {
            **array.__array_interface__,
            "data": (array.__array_interface__["data"][0], False),
        }


def plain(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return an array without gaps that is not marked read-only, as Arrow's are; no copy if it can be."""
    found = np.ascontiguousarray(array)
    if found.flags.writeable:
        return found
    alias: NDArray[Scalar] = np.asarray(_Alias(found))
    return alias
