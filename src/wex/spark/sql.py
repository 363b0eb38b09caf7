"""Specs as table functions in SQL.

    SELECT * FROM trend(TABLE(trades) PARTITION BY symbol ORDER BY ts)

The function segments by the keys of the spec itself, so that rows of many streams may come to one
call, as with `DISTRIBUTE BY symbol SORT BY symbol, ts`, which is faster where keys are many. Rows
that come out of order, or streams that are torn apart, are an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.functions import arrow_udtf

from wex.engine.engine import engine_of
from wex.engine.sorted_scan import SortedScan
from wex.engine.streaming.rules import with_order
from wex.engine.streaming.worker_errors import SECRET, sealed_errors
from wex.errors import WexError
from wex.spark.dataframe import ROWS
from wex.spark.internals import spark_schema_of
from wex.spark.schemas import declared_schema, to_arrow
from wex.spark.session import check_workers
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wex.spec import SpecLike


def register(spark: SparkSession, name: str, spec: SpecLike) -> None:
    """Make a spec a table function of a session.

    Its columns are fixed when it is made, so the types are those that the stream line declares:
    timestamps are Spark's with a zone, and fields of type other cannot be measured.
    """
    engine = engine_of(with_order(spec))
    check_workers(spark)
    measured = [each for window in engine.plan.windows for each in window.measures]
    if any(OTHER in (each.type, each.type.item) for each in measured):
        message = "a table function has fixed types, and a measure here passes on `other`"
        raise WexError("no-type", message, "leave that measure out, or use create_view")
    declared = to_arrow(declared_schema(engine, others=True))
    result = SortedScan(engine).feed(declared.empty_table()).schema
    plan, secret = engine.plan.to_bytes(), SECRET

    @arrow_udtf(returnType=spark_schema_of(result))  # type: ignore[arg-type]
    class Windows:
        def __init__(self) -> None:
            self.pieces = None

        def eval(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
            from wex.spark.worker import Pieces  # noqa: PLC0415  (on the worker)

            with sealed_errors(secret):
                if self.pieces is None:
                    self.pieces = Pieces(plan, ROWS, result)  # type: ignore[assignment]
                yield from self.pieces.feed(rows)  # type: ignore[attr-defined]

        def terminate(self) -> Iterator[pa.Table]:
            if self.pieces is not None:
                with sealed_errors(secret):
                    yield from self.pieces.close()

    spark.udtf.register(name, Windows.asDeterministic())  # type: ignore[attr-defined]
