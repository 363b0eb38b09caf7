"""Rows on their way to the workers that pack them: Spark hands them over in one of two ways.

`mapInArrow` is the plain one. But by default Spark measures a batch after each row, which takes longer than
all that WEX does, and longest for `mapInArrow`, whose columns are one nested column there. A function of
columns gets them side by side, and the job takes a fifth less. It has to answer each row with a value, a
list of one blob or NULL, and `inline` makes rows of these.

Three things keep Spark from doing more with such a function than it should. `inline` takes the place of a
filter, before which the function would have to be nondeterministic, and then not every query may use its
result. The hash of a column, which nobody reads, keeps a projection below it: right above files or a cache
Spark would hand over whole batches of these, however large, and wants answers as long as these. And a
function of two columns is never called together with one that computes its only column.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import (
    BooleanType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from wex.engine.packing import BLOB_ROWS
from wex.spark.long_rows import BATCH_BYTES, bytes_of_batches, long_row, rows_of_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from wex.engine.packing import Buckets

Batches = Iterator[pa.RecordBatch]

BLOBS = pa.schema([("bucket", pa.int32()), ("first", pa.int64()), ("rows", pa.binary())])
ANSWER = pa.list_(pa.struct(BLOBS))
ONE = pa.array([0, 1], pa.int32())  # the ends of a list of one value
HASH = "hash"  # no field is called so: they are c0, c1, …
HASHABLE = (BooleanType, DateType, NumericType, StringType, TimestampNTZType, TimestampType)
BLOBS_IN_SPARK = "bucket int, first long, rows binary"
MOST_ROWS = 1 << 20  # that are packed together
FEWEST_ROWS = 1 << 16
MEASURED = 4 * BATCH_BYTES  # of a batch at most, where Spark's own limit makes empty rows needless


def rows_as_blobs(
    frame: DataFrame,
    names: list[str],
    division: Buckets,
    first_order: str | None,
    labels: list[int],
) -> DataFrame:
    """Return the rows of a DataFrame as blobs, its columns under other names, in buckets with some labels.

    Beside each blob is the least value of the column `first_order`, if that is a whole number.
    """
    spark, rows = frame.sparkSession, min(MOST_ROWS, max(FEWEST_ROWS, BLOB_ROWS * len(labels)))
    packer = RowPacker(names, division, first_order, labels, rows)
    order = None if first_order is None else frame.columns[names.index(first_order)]
    hashed = _hashable_column(frame, order)
    if hashed is None or bytes_of_batches(spark) > MEASURED:
        return frame.mapInArrow(packer.over_rows(rows_of_batches(spark)), BLOBS_IN_SPARK)
    with_hash = frame.select("*", F.hash(hashed).alias(HASH))
    answer = F.arrow_udf(  # type: ignore[call-overload]
        packer.over_columns(), f"array<struct<{BLOBS_IN_SPARK}>>"
    )
    return with_hash.select(F.inline(answer(*with_hash.columns)))


def _hashable_column(frame: DataFrame, preferred: str | None) -> str | None:
    """Return a column of which Spark computes a hash; None: there is none."""
    plain = [field.name for field in frame.schema.fields if isinstance(field.dataType, HASHABLE)]
    return preferred if preferred in plain else next(iter(plain), None)


@dataclass(frozen=True)
class RowPacker:
    """What workers need to pack rows, so many together, and the functions that do it."""

    names: list[str]
    division: Buckets
    first_order: str | None
    labels: list[int]
    rows: int

    def over_rows(self, batch_rows: int) -> Callable[[Batches], Batches]:
        """Return the function that yields the blobs of a partition.

        Spark hands so many rows to Python together.
        """

        def pack(batches: Batches) -> Batches:
            from wex.spark.worker import joined  # noqa: PLC0415  (on the worker)
            from wex.spark.worker_heap import settle  # noqa: PLC0415

            for table in joined(batches, self.rows):
                yield from self._blobs(table.rename_columns(self.names), batch_rows)
            settle()

        return pack

    def over_columns(self) -> Callable[[Iterator[Any]], Iterator[pa.Array]]:
        """Return the function that yields a list for each row of a partition: of a blob, or NULL.

        The last column is the hash. Blobs come after the rows that are in them, so enough of these wait for an answer.
        """

        # Spark reads the types, to learn what kind of function this is.
        def pack(parts: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
            from wex.spark.worker import WaitingBatches  # noqa: PLC0415  (on the worker)
            from wex.spark.worker_heap import settle  # noqa: PLC0415

            waiting, unanswered = WaitingBatches(self.rows), 0
            for *columns, _ in parts:
                batch = pa.RecordBatch.from_arrays(columns, names=self.names)
                waiting.add(batch)
                unanswered += batch.num_rows
                if waiting.are_enough:
                    unanswered -= yield from self._answers(waiting.taken())
                kept = self._most_blobs(waiting.rows)
                yield pa.nulls(unanswered - kept, ANSWER)
                unanswered = kept
            if waiting.rows:
                unanswered -= yield from self._answers(waiting.taken())
            yield pa.nulls(unanswered, ANSWER)
            settle()

        return pack

    def _answers(self, table: pa.Table) -> Generator[pa.Array, None, int]:
        """Yield the blobs of rows, each as a list, and return their number."""
        count = 0
        for count, blob in enumerate(self._blobs(table, 0), 1):  # noqa: B007  (returned)
            yield pa.ListArray.from_arrays(ONE, blob.to_struct_array(), type=ANSWER)
        return count

    def _most_blobs(self, rows: int) -> int:
        """Return how many blobs so many rows become at most: one for each bucket more than full blobs."""
        return min(rows, rows // BLOB_ROWS + len(self.labels))

    def _blobs(self, table: pa.Table, batch_rows: int) -> Batches:
        from wex.engine.packing import blobs  # noqa: PLC0415  (on the worker)

        for blob in blobs(table, self.division, self.first_order):
            yield long_row((self.labels[blob.bucket], blob.first), blob.data, batch_rows, BLOBS)
