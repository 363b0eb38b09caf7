"""Partitions that are ranges of time already, as those of a file that was written in the order of time.

Such a stream needs no shuffle: each partition is a range, and runs where Spark reads it. One job finds
out: it reads the first order column and returns its least and greatest value in each block of adjacent
rows. Blocks of a partition must be in order, and partitions must not overlap. Rows within a block may be in
any order.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812

from wex.engine.ranges.distribution import cut_in, rows_before
from wex.spark.internals import is_only_read, with_fixed_partitions
from wex.spark.range_borders import LOOK, MOST_RANGES, any_of, near_rows
from wex.spark.range_worker import Extent

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import Cut
    from wex.spark.range_borders import Order

BLOCK_BITS = 13  # a block has this power of two of rows
PIECE_ROWS = 1 << 21  # that a worker runs together
PARTITION_BITS = 33  # the number of a partition is above so many bits of the numbers of rows
UNEVEN = 1.6  # times the rows that a task has on average: larger partitions are divided


class PartitionRanges(NamedTuple):
    """Rows whose partitions are ranges of a stream, and where these begin.

    The extents of the partitions, by their numbers, are in the order of time.
    """

    rows: DataFrame
    extents: dict[int, Extent]
    cuts: list[Cut]


class _Partition(NamedTuple):
    """The blocks of a partition: their least and greatest values and their sizes."""

    number: int
    least: NDArray[np.int64 | np.float64]
    greatest: NDArray[np.int64 | np.float64]
    events: NDArray[np.int64]

    @property
    def extent(self) -> Extent:
        """Return what a worker has to find in the partition."""
        return Extent(self.least[0].item(), self.greatest[-1].item(), int(self.events.sum()))


def found_ranges(
    engine: Engine, rows: DataFrame, plain: dict[str, str], order: Order, tasks: int
) -> PartitionRanges | None:
    """Return the ranges that the partitions of a stream are; None, if they are not, or too few for the tasks."""
    if not is_only_read(rows, files=True):
        return None
    fixed = with_fixed_partitions(rows)
    partitions = None if fixed is None else _ordered_partitions(rows, order)
    if fixed is None or partitions is None or not tasks <= len(partitions) <= MOST_RANGES:
        return None
    # Cores may have come meanwhile, by whose number Spark divides files: then the job has seen other partitions.
    again = with_fixed_partitions(rows.select("*"))  # `rows` itself is divided already
    if again is None or again[1] != fixed[1]:
        return None
    extents = {partition.number: partition.extent for partition in partitions}
    events = [extent.events for extent in extents.values()]
    if max(events) * tasks > UNEVEN * sum(events):
        return None
    cuts = _cuts(engine, rows, plain, order, partitions)
    if cuts is None:
        return None
    return PartitionRanges(fixed[0], extents, cuts)


def _ordered_partitions(rows: DataFrame, order: Order) -> list[_Partition] | None:
    """Return the partitions in the order of time; None, if they overlap or their blocks are not in order."""
    time = F.col(order.name)
    block = F.shiftright(F.monotonically_increasing_id(), BLOCK_BITS)
    blocks = rows.select(block.alias("block"), time.alias("time")).groupBy("block")
    found = blocks.agg(
        F.min("time").alias("least"),
        F.max("time").alias("greatest"),
        F.count("time").alias("known"),
        F.count("*").alias("events"),
    )
    table = found.toArrow().sort_by("block")
    if not table.num_rows or not table.column("known").equals(table.column("events")):
        return None  # whoever runs the events finds the one without a time
    least, greatest = (
        order.numbers(table.column(name)).to_numpy() for name in ("least", "greatest")
    )
    if least.dtype == np.float64 and np.isnan(greatest).any():
        return None
    events = table.column("events").to_numpy()
    numbers = table.column("block").to_numpy() >> (PARTITION_BITS - BLOCK_BITS)
    borders = np.flatnonzero(np.diff(numbers)) + 1
    partitions = [
        _Partition(int(numbers[own[0]]), least[own], greatest[own], events[own])
        for own in np.split(np.arange(len(numbers)), borders)
    ]
    if any((one.greatest[:-1] > one.least[1:]).any() for one in partitions):
        return None
    partitions.sort(key=lambda partition: partition.least[0])
    if any(one.greatest[-1] >= other.least[0] for one, other in pairwise(partitions)):
        return None
    return partitions


def _cuts(
    engine: Engine,
    rows: DataFrame,
    plain: dict[str, str],
    order: Order,
    partitions: list[_Partition],
) -> list[Cut] | None:
    """Return the cuts where partitions begin; None, if the states are not known at one of them."""
    pairs = _before_borders(partitions, rows_before(engine) + LOOK)
    if not pairs:
        return []
    near = near_rows(rows, plain, any_of([order.between(low, high) for low, high in pairs]))
    numbers = order.numbers(near.column(order.field))
    cuts = []
    for low, high in pairs:
        mask = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
        cut = cut_in(engine, near.filter(mask), at_last=True)
        if cut is None or order.numbers(pa.chunked_array([[cut.place]]))[0].as_py() != high:
            return None
        cuts.append(cut)
    return cuts


def _before_borders(partitions: list[_Partition], rows: int) -> list[tuple[float, float]]:
    """Return for each partition but the first one its first time, behind a time so many rows before it."""
    least = np.concatenate([partition.least for partition in partitions])
    events = np.concatenate([partition.events for partition in partitions])
    ends = np.cumsum(events)
    begins = np.cumsum([len(partition.least) for partition in partitions])[:-1]
    blocks = np.searchsorted(ends, ends[begins - 1] - rows, side="right")
    return [
        (least[block].item(), least[begin].item())
        for block, begin in zip(blocks.tolist(), begins.tolist(), strict=True)
    ]
