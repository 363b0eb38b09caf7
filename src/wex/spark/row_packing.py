"""Rows on their way to the workers that pack them: Spark hands them over in one of two ways.

`mapInArrow` is the plain one. But by default Spark measures a batch after each row, which takes longer than
all that WEX does, and longest for `mapInArrow`, whose columns are one nested column there. A function of
columns gets them side by side and takes two thirds of the time. It has to answer each row with a value:
a blob, or NULL, which is filtered away.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.functions import ArrowUDFType

from wex.engine.packing import BLOB_ROWS
from wex.spark.long_rows import BATCH_BYTES, bytes_of_batches, long_row, rows_of_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from wex.engine.packing import Buckets

Batches = Iterator[pa.RecordBatch]

BLOBS = pa.schema([("bucket", pa.int32()), ("first", pa.int64()), ("rows", pa.binary())])
BLOB = pa.struct(BLOBS)
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
    if bytes_of_batches(spark) > MEASURED:
        return frame.mapInArrow(packer.over_rows(rows_of_batches(spark)), BLOBS_IN_SPARK)
    answer = F.arrow_udf(
        packer.over_columns(), f"struct<{BLOBS_IN_SPARK}>", ArrowUDFType.SCALAR_ITER
    )
    blob = answer.asNondeterministic()(*frame.columns)  # equal rows have different answers
    return frame.select(blob.alias("blob")).where("blob is not null").select("blob.*")


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
        """Return the function that yields a value for each row of a partition: a blob, or NULL.

        Blobs come after the rows that are in them, so enough of these wait for an answer.
        """

        def pack(parts: Iterator[Any]) -> Iterator[pa.Array]:
            from wex.spark.worker import WaitingBatches  # noqa: PLC0415  (on the worker)
            from wex.spark.worker_heap import settle  # noqa: PLC0415

            waiting, unanswered = WaitingBatches(self.rows), 0
            for columns in parts:
                # Spark passes a single column by itself.
                listed = [columns] if isinstance(columns, pa.Array) else list(columns)
                batch = pa.RecordBatch.from_arrays(listed, names=self.names)
                waiting.add(batch)
                unanswered += batch.num_rows
                if waiting.are_enough:
                    unanswered -= yield from self._answers(waiting.taken())
                kept = self._most_blobs(waiting.rows)
                yield pa.nulls(unanswered - kept, BLOB)
                unanswered = kept
            if waiting.rows:
                unanswered -= yield from self._answers(waiting.taken())
            yield pa.nulls(unanswered, BLOB)
            settle()

        return pack

    def _answers(self, table: pa.Table) -> Generator[pa.Array, None, int]:
        """Yield the blobs of rows as values, and return their number."""
        count = 0
        for count, blob in enumerate(self._blobs(table, 0), 1):  # noqa: B007  (returned)
            yield blob.to_struct_array()
        return count

    def _most_blobs(self, rows: int) -> int:
        """Return how many blobs so many rows become at most: one for each bucket more than full blobs."""
        return min(rows, rows // BLOB_ROWS + len(self.labels))

    def _blobs(self, table: pa.Table, batch_rows: int) -> Batches:
        from wex.engine.packing import blobs  # noqa: PLC0415  (on the worker)

        for blob in blobs(table, self.division, self.first_order):
            yield long_row((self.labels[blob.bucket], blob.first), blob.data, batch_rows, BLOBS)
