"""The packed shuffle: rows travel as blobs of Arrow data, a few for each bucket of keys.

Workers pack rows by the hash of their key (`row_packing`); Spark moves the blobs and sorts them by bucket;
`mapInArrow` unpacks a bucket, sorts its rows and runs the engine. Spark does not see single
rows between the two, so that neither the JVM nor Python handles them one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.packing import KeyBuckets
from wex.spark.internals import estimated_size, spread_labels
from wex.spark.row_packing import rows_as_blobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from wex.engine.engine import Engine

Batches = Iterator[pa.RecordBatch]

BUCKET_BYTES = (
    1 << 22
)  # of the input as Spark estimates it, often compressed: sorting then stays in the cache
MOST_BUCKETS = 1 << 12
MEMORY = 1 << 25  # bytes of a bucket that a worker sorts in memory
PARTITIONS = "spark.sql.shuffle.partitions"
INITIAL_PARTITIONS = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"


def bucket_labels(frame: DataFrame, *, keyed: bool) -> list[int]:
    """Return the labels of the buckets for a DataFrame: they are spread evenly over the partitions.

    There are as many as partitions, or more if the input is large.
    """
    if not keyed:
        return [0]
    partitions = shuffle_partitions(frame.sparkSession)
    return spread_labels(partitions, buckets_of_partition(frame, partitions))


def buckets_of_partition(frame: DataFrame, partitions: int, share: float = 1.0) -> int:
    """Return how many buckets of keys each of some partitions has: one, or more if the input is large.

    A share of the rows goes into these buckets.
    """
    size = int((estimated_size(frame) or 0) * share)
    wanted = min(size // BUCKET_BYTES, MOST_BUCKETS)
    return max(1, -(-wanted // partitions))


def shuffle_partitions(spark: SparkSession) -> int:
    """Return into how many partitions a session shuffles rows, before small ones are put together."""
    for name in (INITIAL_PARTITIONS, PARTITIONS):
        value = spark.conf.get(name, None)
        if value is not None and value.isdigit():
            return int(value)
    return 200


def shuffled(frame: DataFrame, engine: Engine, names: list[str]) -> DataFrame:
    """Return the rows of a DataFrame as blobs, those of a bucket next to each other."""
    stream = engine.stream
    labels = bucket_labels(frame, keyed=bool(stream.partition_by))
    first = stream.order_by[0] if stream.order_by else None
    by_key = KeyBuckets(stream.partition_by, len(labels))
    packed = rows_as_blobs(frame, names, by_key, first, labels)
    partitioned = packed.repartition("bucket") if stream.partition_by else packed.repartition(1)
    return partitioned.sortWithinPartitions("bucket", "first")


def buckets(
    batches: Batches, engine: Engine, schema: pa.Schema, memory: int
) -> Iterator[tuple[int, Iterator[pa.Table]]]:
    """Yield the label of each bucket in a partition of blobs, and its rows, sorted, piece by piece.

    `memory` are the bytes of rows that are held at once.
    """
    from wex.engine.external_sort import ExternalSort  # noqa: PLC0415  (on the worker)
    from wex.engine.packing import EventOrder, rows_of  # noqa: PLC0415

    rows = (
        (label, blob)
        for batch in batches
        for label, blob in zip(batch.column(0).to_pylist(), batch.column(2), strict=True)
        if blob.is_valid
    )

    def pieces(blobs_of_bucket: Iterator[tuple[int, pa.BinaryScalar]]) -> Iterator[pa.Table]:
        with closing(ExternalSort(EventOrder(engine), memory)) as sort:
            for _, blob in blobs_of_bucket:
                sort.add(rows_of(blob.as_buffer(), schema))
            yield from sort.sorted()

    for label, blobs_of_bucket in groupby(rows, key=lambda row: row[0]):
        yield label, pieces(blobs_of_bucket)
