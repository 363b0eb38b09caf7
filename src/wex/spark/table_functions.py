"""Specs as table functions in SQL.

    SELECT * FROM trend(TABLE(trades) PARTITION BY symbol ORDER BY ts)

The function tells streams apart by the keys of the spec, so that one call may get the rows of many
streams, as with `DISTRIBUTE BY symbol SORT BY symbol, ts`, which is faster if there are many keys.
Rows out of order, and streams whose rows are not together, are an error.
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
from wex.spark.dataframe import BATCH_ROWS
from wex.spark.internals import spark_schema_of
from wex.spark.schemas import declared_schema, to_arrow
from wex.spark.session import check_workers
from wex.spec.types import OTHER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from wex.spec import SpecLike


def register(spark: SparkSession, name: str, spec: SpecLike) -> None:
    """Register a spec as a table function of a session.

    The columns of a table function are fixed when it is made, so their types are those that the
    stream line declares: timestamps have a zone, and fields of type other cannot be measured.
    """
    engine = engine_of(with_order(spec))
    check_workers(spark)
    measures = [measure for window in engine.plan.windows for measure in window.measures]
    if any(OTHER in (measure.type, measure.type.item) for measure in measures):
        message = "a table function has fixed types, and a measure of this spec has type other"
        raise WexError("no-type", message, "leave that measure out, or use create_view")
    declared = to_arrow(declared_schema(engine, others=True))
    result = SortedScan(engine).feed(declared.empty_table()).schema
    plan, secret = engine.plan.to_bytes(), SECRET

    @arrow_udtf(returnType=spark_schema_of(result))  # type: ignore[arg-type]
    class Windows:
        def __init__(self) -> None:
            self.scan = None

        def eval(self, rows: pa.RecordBatch) -> Iterator[pa.Table]:
            from wex.spark.worker import BatchScan  # noqa: PLC0415  (on the worker)

            with sealed_errors(secret):
                if self.scan is None:
                    self.scan = BatchScan(plan, BATCH_ROWS, result)  # type: ignore[assignment]
                yield from self.scan.feed(rows)  # type: ignore[attr-defined]

        def terminate(self) -> Iterator[pa.Table]:
            if self.scan is not None:
                with sealed_errors(secret):
                    yield from self.scan.close()

    spark.udtf.register(name, Windows.asDeterministic())  # type: ignore[attr-defined]
