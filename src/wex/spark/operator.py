"""The stateful operator: Spark calls it on the workers with the rows of a bucket, in each micro-batch."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming import StatefulProcessor

from wex.engine.event_rows import window_count
from wex.engine.state.state import from_ipc, to_ipc
from wex.engine.streaming.bucket import Bucket, Rules, fingerprint_of
from wex.engine.streaming.worker_errors import SECRET, bad_rows_hint, sealed_errors
from wex.errors import WexError
from wex.spark.internals import micro_batch
from wex.spark.worker_heap import settle

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessorHandle

    from wex.engine.engine import Engine
    from wex.spark.dead_letters import DeadLetters

COUNTS = ("processed", "windows", "late", "bad", "buffered", "open", "state_bytes", "streams")
# The counts are one column: Spark converts each column of a frame by itself, which takes a tenth of a
# millisecond for each bucket.
OUTPUT_SCHEMA = "packed binary, counts array<long>"


class Operator(StatefulProcessor):
    """Runs a plan over the rows of a bucket.

    A bucket has two states: its content, and the origin of the content, which is the plan and the
    text of the spec that made it. An equivalent spec goes on with the plan of the origin.
    """

    def __init__(
        self,
        plan: bytes,
        spec: str,
        rules: Rules,
        *,
        with_watermark: bool,
        rows: bool = False,
        letters: DeadLetters | None = None,
    ) -> None:
        self._plan, self._spec, self._rules, self._rows = plan, spec, rules, rows
        self._with_watermark, self._letters = with_watermark, letters
        self._secret = SECRET
        self._written: dict[str, int] = {}  # how many files of a name this operator has written

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the states of a bucket."""
        self._handle = handle
        self._content = handle.getValueState("content", "content binary")
        self._origin = handle.getValueState("origin", "plan binary, spec string, proved string")

    # Spark passes arguments by its own names.
    def handleInputRows(  # noqa: N802
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[pd.DataFrame]:
        """Yield the windows and counts of the rows of a micro-batch."""
        blobs = [blob for frame in rows for blob in frame["rows"] if blob is not None]
        table = pa.concat_tables(map(from_ipc, blobs)) if blobs else None
        with sealed_errors(self._secret):
            bucket = self._bucket()
            with bad_rows_hint(bucket.engine.guarded, self._rules.bad_rows):
                if self._with_watermark:
                    windows = bucket.arrive(table, _watermark_of(timerValues))
                else:
                    windows = bucket.run(table)
            yield self._saved(key, bucket, windows)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """Yield the windows and counts of a bucket without new rows, when the watermark has moved."""
        with sealed_errors(self._secret):
            bucket = self._bucket()
            with bad_rows_hint(bucket.engine.guarded, self._rules.bad_rows):
                windows = bucket.arrive(None, _watermark_of(timerValues))
            yield self._saved(key, bucket, windows)

    def close(self) -> None:
        """Leave little for the garbage collection of the worker: Spark keeps the states."""
        settle()

    def _bucket(self) -> Bucket:
        from wex.spark.worker import engine_of_plan  # noqa: PLC0415  (on the worker)

        engine = engine_of_plan(self._plan, rows=self._rows)
        saved = self._content.get()
        if saved is None:
            self._origin.update((self._plan, self._spec, engine.fingerprint))
            return Bucket.of(engine, self._rules)
        content = bytes(saved[0])
        if fingerprint_of(content) != engine.fingerprint:
            engine = self._engine_of_origin(engine)
        return Bucket.of(engine, self._rules, content)

    def _engine_of_origin(self, engine: Engine) -> Engine:
        """Return the engine that made the content; a StateError if ours finds other windows."""
        from wex.spark.worker import engine_of_plan  # noqa: PLC0415

        origin = self._origin.get()
        assert origin is not None
        plan, spec, proved = origin
        origin_engine = engine_of_plan(bytes(plan), rows=self._rows)
        if proved != engine.fingerprint:
            # Loads grammar and solver, so only here.
            from wex.analysis.changes import check_same_windows, spec_of_origin  # noqa: PLC0415

            check_same_windows(spec_of_origin(spec, origin_engine.plan), self._spec)
            self._origin.update((plan, spec, engine.fingerprint))
        return origin_engine

    def _saved(self, key: Any, bucket: Bucket, windows: pa.Table) -> pd.DataFrame:
        """Save a bucket, and return the row for its windows and counts."""
        import pandas as pd  # noqa: PLC0415

        if bucket.row_filter.lines and self._letters is not None:
            # Sorted, because rows come in any order, and a repeated micro-batch must write the same.
            self._letters.write(self._file_name(int(key[0])), sorted(bucket.row_filter.lines))
        saved = bucket.saved()
        self._content.update((saved,))
        if self._with_watermark:
            self._set_timer(bucket.next_time())
        counts = {
            "processed": bucket.counts.processed,
            "windows": window_count(windows),
            "late": bucket.counts.late,
            "bad": bucket.row_filter.count,
            "buffered": bucket.counts.buffered,
            "open": bucket.counts.open,
            "state_bytes": len(saved),
            "streams": bucket.streams.everything().size,
        }
        packed = to_ipc(windows) if windows.num_rows else None
        return pd.DataFrame({"packed": [packed], "counts": [[counts[name] for name in COUNTS]]})

    def _set_timer(self, following: int | None) -> None:
        """Leave one timer for a bucket, at the next time when it has something to do; None: no timer."""
        wanted = set() if following is None else {-(-following // 1000)}
        timers = set(self._handle.listTimers())
        for timer in timers - wanted:
            self._handle.deleteTimer(timer)
        for timer in wanted - timers:
            self._handle.registerTimer(timer)

    def _file_name(self, bucket: int) -> str:
        """Return the name of a file of bad rows: the same whenever a micro-batch is repeated.

        The checkpoint fixes the query, its micro-batches and the rows of each; the names of its
        windows tell a spec from the others in a query.
        """
        running = micro_batch()
        if running is None:
            message = "Spark does not tell its workers which micro-batch they work on"
            raise WexError("bad-rows-to", message, "say bad_rows='skip' here")
        query, batch = running
        from wex.spark.worker import engine_of_plan  # noqa: PLC0415

        windows = engine_of_plan(self._plan).plan.windows
        names = "\n".join(sorted(window.name for window in windows))
        spec = hashlib.sha256(names.encode()).hexdigest()[:8]
        name = f"{query[:8]}-{spec}-{batch:08d}-{bucket:04d}"
        self._written[name] = self._written.get(name, -1) + 1
        earlier = self._written[name]
        return f"{name}-{earlier}" if earlier else name


def _watermark_of(values: Any) -> int:
    return int(values.getCurrentWatermarkInMs()) * 1000
