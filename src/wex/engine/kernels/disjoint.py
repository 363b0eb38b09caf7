"""Keeping disjoint windows, where it has to be done after the windows are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.kernels.shapes import Ints


@compiled
def keep_disjoint(
    streams: Ints, starts: Ints, ends: Ints, last: Ints
) -> tuple[NDArray[np.bool_], Ints]:
    """Tell which windows are kept, and where the last one of each stream ends.

    Windows come in the order of their ends, then starts; of each end the first one counts that
    begins after the last window kept.
    """
    kept = np.zeros(len(starts), dtype=np.bool_)
    after = last.copy()
    for w in range(len(starts)):
        if starts[w] > after[streams[w]]:
            kept[w] = True
            after[streams[w]] = ends[w]
    return kept, after
