"""Rows of Spark with many bytes, which do not add up to large batches.

Spark hands rows to Python in batches of so many rows, whatever their length: ten thousand blobs are
gigabytes. Empty rows behind a long one keep the batches small that the next worker gets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

BATCH_BYTES = 1 << 25  # of long rows in a batch, about
BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
USUAL_ROWS = 10_000
LIMIT = "spark.sql.execution.arrow.maxBytesPerBatch"
USUAL_LIMIT = 1 << 26
UNLIMITED = (1 << 31) - 1  # Spark then measures nothing
UNITS = "bkmgtp"


def rows_of_batches(spark: SparkSession) -> int:
    """Return how many rows a session hands to Python together."""
    value = spark.conf.get(BATCH_ROWS, None)
    rows = int(value) if value is not None and value.lstrip("-").isdigit() else USUAL_ROWS
    return rows if rows > 0 else USUAL_ROWS  # without a limit of rows there is one of bytes


def bytes_of_batches(spark: SparkSession) -> int:
    """Return how many bytes a session hands to Python together at most, `UNLIMITED` without a limit."""
    value = spark.conf.get(LIMIT, None)
    limit = None if value is None else re.fullmatch(rf"(\d+)([{UNITS}]?)b?", value.lower())
    if limit is None:
        return USUAL_LIMIT if value is None else UNLIMITED
    return int(limit[1]) << 10 * UNITS.index(limit[2] or "b")


def long_row(
    numbers: Sequence[int], content: pa.Buffer, batch_rows: int, schema: pa.Schema
) -> pa.RecordBatch:
    """Return a row of numbers and bytes, without a copy of these, and empty rows with the same numbers."""
    empty = min(batch_rows, content.size * batch_rows // BATCH_BYTES)
    offsets = np.full(empty + 2, content.size, dtype=np.int32)
    offsets[0] = 0
    there = np.zeros(empty // 8 + 1, dtype=np.uint8)
    there[0] = 1
    column = pa.Array.from_buffers(
        pa.binary(), empty + 1, [pa.py_buffer(there), pa.py_buffer(offsets), content]
    )
    columns = [
        pa.array(np.full(empty + 1, number), field.type)
        for number, field in zip(numbers, schema, strict=False)
    ]
    return pa.record_batch([*columns, column], schema=schema)
