"""`windows(spec)` on streaming DataFrames: buckets of keys, each one piece of state.

Rows are packed by bucket into Arrow bytes, so that types survive and Spark moves few rows; a
stateful operator reads and writes the state of a bucket once in each micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import BinaryType, StructField, StructType

from wex.engine.bucket import Bucket, Rules
from wex.engine.sweep import Sweep
from wex.errors import WexError
from wex.spark.errors import sent
from wex.spark.naming import quoted
from wex.spark.schemas import arrow_schema, spark_schema
from wex.spark.session import ROCKSDB

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

    from wex.engine.running import Engine

BUCKET = "__bucket"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
WATERMARK = "spark.watermarkDelayMs"  # in the metadata of a column
PACKED = "bucket int, rows binary"
FOUND = (
    "windows binary, processed long, late long, buffered long, open long, state_bytes long,"
    " streams long"
)
METRICS = "wex"  # the name under which counts are observed


def streaming_windows(engine: Engine, frame: DataFrame, rules: Rules, buckets: int) -> DataFrame:
    """Return the windows of a streaming DataFrame."""
    watermark = _watermark(engine, frame)
    _state_store(frame)
    schema = arrow_schema(frame.schema, engine)
    result = Sweep(engine).feed(schema.empty_table())  # raises if the columns do not fit
    plan, stream = engine.plan.to_bytes(), engine.stream
    keys = [F.col(quoted(name)) for name in stream.partition_by]
    number = F.pmod(F.xxhash64(*keys), F.lit(buckets)).cast("int") if keys else F.lit(0)
    chosen = frame.select(number.alias(BUCKET), *(F.col(quoted(name)) for name, _ in stream.fields))
    packed = chosen.mapInArrow(_pack, PACKED)
    operator = _Operator(plan, rules, watermark=watermark)
    found = packed.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=operator,
        outputStructType=FOUND,
        outputMode="Append",
        timeMode="EventTime" if watermark else "None",
    )
    names = ("processed", "late", "buffered", "open", "state_bytes", "streams")
    counted = found.observe(METRICS, *(F.sum(name).alias(name) for name in names))
    return counted.select("windows").mapInArrow(_unpack, spark_schema(result.schema))


def _watermark(engine: Engine, frame: DataFrame) -> bool:
    """Tell whether the order column has a watermark; one on another column is a mistake."""
    first = engine.stream.order_by[0]
    marked = [field.name for field in frame.schema.fields if WATERMARK in (field.metadata or {})]
    if marked and first not in marked:
        message = f"the watermark is on `{marked[0]}`, and events are ordered by `{first}`"
        raise WexError("watermark", message, f"say withWatermark({first!r}, ...)")
    return bool(marked)


def _state_store(frame: DataFrame) -> None:
    provider = frame.sparkSession.conf.get(PROVIDER, "")
    if "RocksDB" not in str(provider):
        message = "streaming windows need the RocksDB state store"
        raise WexError("state-store", message, f"spark.conf.set({PROVIDER!r}, {ROCKSDB!r})")


def _pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of each bucket as bytes."""
    import numpy as np  # noqa: PLC0415  (on the worker)

    for batch in batches:
        if not batch.num_rows:
            continue
        table = pa.Table.from_batches([batch])
        numbers = table.column(BUCKET).to_numpy()
        order = np.argsort(numbers, kind="stable")
        ordered = table.drop_columns([BUCKET]).take(pa.array(order)).combine_chunks()
        chosen, first = np.unique(numbers[order], return_index=True)
        ends = np.append(first[1:], len(order))
        blobs = [
            _bytes(ordered.slice(int(begin), int(end - begin)))
            for begin, end in zip(first, ends, strict=True)
        ]
        yield pa.record_batch(
            {"bucket": pa.array(chosen, pa.int32()), "rows": pa.array(blobs, pa.binary())}
        )


def _bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the windows in some bytes."""
    for batch in batches:
        for blob in batch.column("windows"):
            if blob.is_valid:
                yield from pa.ipc.open_stream(blob.as_py()).read_all().to_batches()


class _Operator(StatefulProcessor):
    """What Spark calls with the rows of a bucket."""

    def __init__(self, plan: bytes, rules: Rules, *, watermark: bool) -> None:
        self._plan, self._rules, self._with_watermark = plan, rules, watermark

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Take the state that Spark keeps for a bucket."""
        self._handle = handle
        schema = StructType([StructField("content", BinaryType())])
        self._state = handle.getValueState("bucket", schema)

    # Spark passes arguments by its own names.
    def handleInputRows(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Yield what the rows of a micro-batch bring."""
        blobs = [blob for frame in rows for blob in frame["rows"]]
        table = pa.concat_tables([pa.ipc.open_stream(blob).read_all() for blob in blobs])
        with sent():
            bucket = self._bucket()
            if self._with_watermark:
                found = bucket.arrive(table, _watermark_of(timerValues))
            else:
                found = bucket.run(table)
            yield self._done(bucket, found)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,  # noqa: ARG002
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Yield what the watermark brings to a bucket without new rows."""
        with sent():
            bucket = self._bucket()
            yield self._done(bucket, bucket.advance(_watermark_of(timerValues)))

    def close(self) -> None:
        """Keep nothing."""

    def _bucket(self) -> Bucket:
        from wex.spark.working import engine_in  # noqa: PLC0415  (on the worker)

        saved = self._state.get() if self._state.exists() else None
        content = None if saved is None else bytes(saved[0])
        return Bucket.of(engine_in(self._plan), self._rules, content)

    def _done(self, bucket: Bucket, found: pa.Table) -> pd.DataFrame:
        import pandas as pd  # noqa: PLC0415

        saved = bucket.saved()
        self._state.update((saved,))
        if self._with_watermark:
            for timer in list(self._handle.listTimers()):
                self._handle.deleteTimer(timer)
            following = bucket.next_time()
            if following is not None:
                self._handle.registerTimer(-(-following // 1000))
        counts = bucket.counts
        row = {
            "windows": _bytes(found) if found.num_rows else None,
            "processed": counts.processed,
            "late": counts.late,
            "buffered": counts.buffered,
            "open": counts.open,
            "state_bytes": len(saved),
            "streams": bucket.processor.everything().size,
        }
        return pd.DataFrame([row])


def _watermark_of(values: Any) -> int:
    return int(values.getCurrentWatermarkInMs()) * 1000
