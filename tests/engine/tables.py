"""Small tables, and batches of them, that several tests run on."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

import wex
from tests.strategies.specs import FIELDS
from wex.engine.input.batch import Batch
from wex.spec.types import Type

SPEC = wex.parse("""
  stream s (k string, t timestamp, x int) partition by k order by t
  window rise match [x > x[-1]]+ keep longest measure sum(x) as total
  window pair match any{2} until [x > 1] or end within 20 seconds measure count() as n
""")
START = datetime(2026, 1, 31)


def table(rows: list[tuple[str, int, int]]) -> pa.Table:
    """Return rows of key, seconds since the start and value as a table for SPEC."""
    keys, times, values = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "k": pa.array(keys, pa.string()),
            "t": pa.array([START + timedelta(seconds=at) for at in times], pa.timestamp("us")),
            "x": pa.array(values, pa.int64()),
        }
    )


def microseconds(seconds: int) -> int:
    """Return a number of seconds since the start as a watermark."""
    return (START - datetime(1970, 1, 1)) // timedelta(microseconds=1) + seconds * 1_000_000


def batch_of(table: pa.Table, lengths: list[int], fields: dict[str, Type] = FIELDS) -> Batch:
    """Return a batch of whole streams that have these lengths."""
    ends = np.cumsum(lengths).astype(np.int64)
    starts = ends - np.array(lengths, dtype=np.int64)
    return Batch(table, fields, (), starts, starts, ends, np.zeros(len(lengths), dtype=np.int64))
