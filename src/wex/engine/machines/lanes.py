"""Windows of one spec whose automata are traced side by side: their tables, and their traces of a batch."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wex.engine.arrays import empty
from wex.engine.kernels.lanes import ACTS, LANES, SYMBOLS, WORDS, trace_lanes
from wex.engine.kernels.registers import IDLE, IDLE_QUAD
from wex.engine.kernels.types import Lanes, Registers, Trace, read_only

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from wex.engine.kernels.types import Segments
    from wex.engine.machines.choose import Machine
    from wex.engine.machines.tracked import TrackedMachine

LEAST = 1 << 14  # rows of a batch
LENGTH = 64  # events of a stream, on average: in short ones there is little to do together
MOST_CONFIGS = 16  # of a lane
ONE_OF_FOUR = np.uint64(
    IDLE_QUAD ^ IDLE
)  # beside the operation of one event, three that do nothing


class _Lane(NamedTuple):
    """The tables of one automaton, whose configs are numbered from 0 on."""

    step: NDArray[np.uint16]
    single: NDArray[np.uint16]
    ops: NDArray[np.uint64]  # by config and word
    single_ops: NDArray[np.uint64]  # by config and symbol
    symbols: NDArray[np.uint8]
    maps: bool


@dataclass(frozen=True, eq=False)
class LaneGroup:
    """Two to four windows of a plan, by their numbers, whose automata are traced side by side."""

    windows: tuple[int, ...]
    lanes: Lanes

    def traces(self, codes: Sequence[NDArray[Any]], streams: Sequence[Segments]) -> list[Trace]:
        """Return the events of each window that act, in the streams of a batch."""
        # Lanes in which nothing acts read what the first one reads.
        filling = [0] * (LANES - len(self.windows))
        begin = np.array([streams[at].begin for at in (*range(len(streams)), *filling)])
        state = np.zeros_like(begin)
        for at, segments in enumerate(streams):
            state[at] = segments.state
        together = np.minimum(begin.max(axis=0) + 3, streams[0].end)  # or some rows before
        alone = (together - begin).sum(axis=1) + 3 * len(together)
        room = [len(codes[0]) // 4 + int(rows) + 1 for rows in alone[: len(streams)]]
        notes = tuple(empty(size, np.uint64) for size in (*room, *(1 for _ in filling)))
        noted, after = np.empty_like(begin), np.empty_like(begin)
        read = [read_only(codes[at]) for at in (*range(len(codes)), *filling)]
        trace_lanes(
            tuple(read),
            tuple(read_only(_in_fours(array)) for array in read),
            self.lanes,
            read_only(begin),
            read_only(streams[0].end),
            read_only(state),
            notes,
            noted,
            after,
        )
        return [
            Trace(self.lanes.ops, *map(read_only, (notes[at], noted[at], after[at])))
            for at in range(len(self.windows))
        ]


def _in_fours(codes: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """Return codes of a byte, four of them in a number; those at the end may be left out."""
    whole = codes[: len(codes) // 4 * 4]
    return (whole if whole.__array_interface__["data"][0] % 4 == 0 else whole.copy()).view(
        np.uint32
    )


def lane_groups(machines: Sequence[tuple[Machine | TrackedMachine, int]]) -> list[LaneGroup]:
    """Return which windows are traced side by side; they are given by their machine and number of guards."""
    lanes = {
        number: lane
        for number, (machine, guards) in enumerate(machines)
        if (lane := _lane(machine, guards)) is not None
    }
    return [
        LaneGroup(tuple(numbers), _together([lanes[number] for number in numbers]))
        for numbers in _groups(list(lanes))
        if len(numbers) > 1
    ]


def _groups(numbers: Sequence[int]) -> Iterator[list[int]]:
    """Yield groups of up to four windows, of nearly the same size."""
    count = -(-len(numbers) // LANES)
    left = iter(numbers)
    for group in range(count):
        yield list(islice(left, (len(numbers) + group) // count))


def pays(rows: int, streams: int) -> bool:
    """Tell whether a batch is traced side by side."""
    return rows >= max(LEAST, LENGTH * streams)


def _lane(machine: Machine | TrackedMachine, guards: int) -> _Lane | None:
    """Return the tables of a lane; None: the automaton has more configs or classes than a lane."""
    tables = machine.tables
    if not isinstance(tables, Registers) or not len(tables.quad_op):
        return None
    configs = len(tables.occupied)
    if configs > MOST_CONFIGS:
        return None
    maps = 1 << guards > SYMBOLS
    classes = tables.classes.astype(np.int64)
    count = int(classes.max()) + 1
    of_symbol = np.arange(SYMBOLS) % count if maps else classes[:SYMBOLS]
    words = np.arange(WORDS)
    quads = np.zeros(WORDS, dtype=np.int64)
    for at in range(4):
        quads |= of_symbol[words >> 2 * at & SYMBOLS - 1] << tables.bits * at
    numbers = np.arange(configs)[:, None]
    quad, one = (
        (read << tables.config_bits) + numbers for read in (quads[None, :], of_symbol[None, :])
    )
    ops, single_ops = tables.quad_op[quad], tables.op[one].astype(np.uint64) | ONE_OF_FOUR
    return _Lane(
        _entries(tables.quad_step[quad], ops),
        _entries(tables.step[one], single_ops),
        ops,
        single_ops,
        (classes if maps else np.arange(1 << 8) % SYMBOLS).astype(np.uint8),
        maps,
    )


def _entries(configs: NDArray[np.unsignedinteger], ops: NDArray[np.uint64]) -> NDArray[np.uint16]:
    acts = (ops != np.uint64(IDLE_QUAD)).astype(np.uint16)
    entries: NDArray[np.uint16] = configs.astype(np.uint16) * np.uint16(WORDS) + acts * np.uint16(
        ACTS
    )
    return entries


def _together(lanes: Sequence[_Lane]) -> Lanes:
    """Return the tables of a group; a lane that is not used stays in its only config and does nothing."""
    idle = np.full((1, WORDS), IDLE_QUAD, dtype=np.uint64)
    nothing = np.zeros((1, WORDS), dtype=np.uint16)
    symbols = np.zeros(1 << 8, dtype=np.uint8)
    unused = _Lane(nothing, nothing[:, :SYMBOLS], idle, idle[:, :SYMBOLS], symbols, maps=False)
    filled = [*lanes, *[unused] * (LANES - len(lanes))]
    first = np.cumsum([0, *(len(lane.step) for lane in filled[:-1])])
    moved = [np.uint16(WORDS * by) for by in first.tolist()]
    steps = [lane.step + by for lane, by in zip(filled, moved, strict=True)]
    singles = [lane.single + by for lane, by in zip(filled, moved, strict=True)]
    ops = [lane.ops.ravel() for lane in filled] + [lane.single_ops.ravel() for lane in filled]
    return Lanes(
        *map(
            read_only,
            (
                np.concatenate(steps).ravel(),
                np.concatenate(singles).ravel(),
                np.concatenate(ops),
                first,
                np.array([lane.symbols for lane in filled]),
                np.array([lane.maps for lane in filled]),
            ),
        )
    )
