"""Scratch and output buffers of kernels, allocated before a kernel runs.

Kernels that move lists are compiled without reference counts, so they can allocate nothing; memory
of a large buffer is taken only as far as it is used. If there are more windows than there is room,
a kernel returns False, and runs again with more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wex.engine.arrays import Ints, empty
from wex.engine.kernels.lists import BIRTH_WIDTH, LIST_WIDTH, RUN_WIDTH
from wex.engine.kernels.types import KernelResult, Segments


class Buffers(NamedTuple):
    """Arrays that a kernel works in and writes to; the first ones are explained in `lists`."""

    lists: Ints
    runs: Ints
    births: Ints
    slot_of: Ints  # by start, when open starts are gathered
    in_use: Ints
    acting: Ints
    doing: NDArray[np.uint16]
    starts: Ints
    ends: Ints
    owners: Ints  # the streams of windows, if a kernel does not count them stream by stream
    written: Ints
    panes: Ints
    slots: Ints
    kept: Ints
    state: Ints


def allocate(
    streams: Segments,
    room: int,
    *,
    last: bool,
    owners: bool = False,
    lists: int = 0,
    states: int = 0,
    block: int = 0,
) -> Buffers:
    """Return buffers with room for so many windows, with `owners` or without, lists and states."""
    count = len(streams.begin)
    rows = np.subtract(streams.end, streams.begin, out=empty(count, np.int64))
    kept = 0 if last else int(rows.sum() + streams.held[-1])
    if streams.held[-1]:
        rows += streams.held[1:] - streams.held[:-1]
    most = int(rows.max(initial=0)) + 2
    return Buffers(
        np.empty((lists + 1, LIST_WIDTH), dtype=np.int64),
        np.empty((most, RUN_WIDTH), dtype=np.int64),
        np.empty((most, BIRTH_WIDTH), dtype=np.int64),
        np.empty(0 if last else most, dtype=np.int64),
        np.empty((3, states + 1), dtype=np.int64),
        np.empty(block, dtype=np.int64),
        np.empty(block, dtype=np.uint16),
        empty(room, np.int64),
        empty(room, np.int64),
        empty(room if owners else 0, np.int64),
        empty(count, np.int64),
        empty(kept, np.int64),
        empty(kept, np.int64),
        empty(0 if last else count, np.int64),
        empty(count, np.int64),
    )


def result(buffers: Buffers, *, last: bool, mixed: bool = False) -> KernelResult:
    """Return the results in the buffers, with windows of the same end in the order of their starts.

    `mixed` tells that a kernel wrote windows of the same end in any order.
    """
    count = len(buffers.written)
    written = int(buffers.written[-1]) if count else 0
    kept = int(buffers.kept[-1]) if count and not last else 0
    starts, ends = buffers.starts[:written], buffers.ends[:written]
    if mixed and ((ends[1:] == ends[:-1]) & (starts[1:] < starts[:-1])).any():
        order = np.lexsort((starts, ends))
        starts, ends = starts[order], ends[order]
    owners = buffers.owners[:written]
    if not len(buffers.owners):
        owners = owners_of(buffers.written, written)
    return KernelResult(
        starts,
        ends,
        owners,
        buffers.panes[:kept],
        buffers.slots[:kept],
        buffers.kept,
        buffers.state,
    )


def owners_of(up_to: Ints, count: int) -> Ints:
    """Return the stream of each of `count` things; `up_to[g]` counts those of the streams 0 … g."""
    if len(up_to) <= 1:
        return np.zeros(count, dtype=np.int64)
    return np.repeat(np.arange(len(up_to)), np.diff(up_to, prepend=0))[:count]
