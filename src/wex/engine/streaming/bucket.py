"""A bucket: all streams of some keys in an endless job, and their rows that wait for the watermark.

Rows wait in the bucket until the watermark has passed them, then they run in order. Between the
batches of a job a bucket is stored as bytes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import arrow_errors
from wex.engine.input.bad_events import StreamGaps
from wex.engine.input.bad_rows import BadRowFilter
from wex.engine.input.columns import conform, empty_table
from wex.engine.input.schemas import concat_to_last_schema
from wex.engine.input.sorting import check_order_columns
from wex.engine.running_streams import RunningStreams, ended
from wex.engine.state.state import to_ipc, valid_table
from wex.engine.streaming.closing import next_closing, report_closed, with_closing_times
from wex.engine.streaming.expiry import next_expiry, without_expired
from wex.errors import DataError, StateError, WexError
from wex.framing import Frame, require
from wex.spec.types import INT, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.engine.engine import Engine
    from wex.engine.input.bad_rows import BadRows
    from wex.engine.input.prepare import PreparedInput
    from wex.engine.state.state import State

FRAME = Frame(
    "bucket",
    b"WEXBUCKET",
    2,
    "go on with the version that has written it, or with a new checkpoint",
)
FIRST_VERSION = b"WEXBUCKET1{"  # was written without a frame, and is still read


@dataclass
class Counts:
    """Numbers about a batch: rows processed, late and waiting, and starts that are open."""

    processed: int = 0
    late: int = 0
    buffered: int = 0
    open: int = 0


@dataclass(frozen=True)
class Rules:
    """The rules of an endless job: late and bad rows, silent keys, how many starts may be open.

    `buckets` is the number of buckets for all keys.
    """

    late: str = "drop"
    expire_after: int | None = None  # microseconds
    max_open: int | None = None
    buckets: int = 1
    bad_rows: BadRows = "fail"


@dataclass
class Bucket:
    """The streams of some keys, and the rows that wait."""

    engine: Engine
    rules: Rules
    streams: RunningStreams
    waiting: pa.Table | None = None
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        """Make the filter for the bad rows of this batch."""
        self.row_filter = BadRowFilter(self.engine, self.rules.bad_rows)

    @classmethod
    def of(cls, engine: Engine, rules: Rules, saved: bytes | None = None) -> Bucket:
        """Return a new bucket, or one that goes on from saved bytes."""
        if saved is None:
            return cls(engine, rules, RunningStreams(engine))
        head, rest = _parts(saved)
        if head.buckets != rules.buckets:
            message = f"the keys were in {head.buckets} buckets, and are in {rules.buckets} now"
            raise StateError("state-buckets", message, f"say buckets={head.buckets}")
        streams = RunningStreams(engine, rest[: head.state])
        waiting = _waiting(engine, rest[head.state :]) if len(rest) > head.state else None
        return cls(engine, rules, streams, waiting)

    def saved(self) -> bytes:
        """Return the bucket as bytes."""
        state = self.streams.saved()
        rows = b""
        if self.waiting is not None and self.waiting.num_rows:
            rows = to_ipc(self.waiting)
        head = {
            "plan": self.engine.fingerprint,
            "buckets": self.rules.buckets,
            "state": len(state),
        }
        return FRAME.closed(json.dumps(head).encode() + b"\n" + state + rows)

    # --- With a watermark, in microseconds

    def arrive(self, rows: pa.Table | None, watermark: int) -> pa.Table:
        """Return the windows of rows that the watermark has passed; the others wait.

        A bad row is an error now, while it can still be mended or removed at its source.
        """
        if rows is None:
            return self.advance(watermark)
        rows = declared(self.engine, self.row_filter.without_bad_rows(_in_utc(rows)))
        late = _at_or_before(self._times(rows), watermark)
        self._count_late(rows, late)
        rows = rows.filter(pa.array(~late))
        parts = [part for part in (self.waiting, rows) if part is not None]
        with arrow_errors():
            self.waiting = pa.concat_tables(parts, promote_options="permissive")
        return self.advance(watermark)

    def advance(self, watermark: int) -> pa.Table:
        """Return the windows that a watermark reports: of rows that have waited, and of silent keys.

        Silence closes windows, if no event to come can change them, and it ends streams that expire.
        """
        tables: list[pa.Table] = []
        if self.waiting is not None and self.waiting.num_rows:
            passed = _at_or_before(self._times(self.waiting), watermark)
            due = self.waiting.filter(pa.array(passed))
            self.waiting = self.waiting.filter(pa.array(~passed)).combine_chunks()
            if self.rules.bad_rows != "fail":
                due = self.row_filter.without_bad_rows(
                    due
                )  # rows may have arrived under another rule
            if due.num_rows:
                tables.extend(self._run_due(due))
        if self.rules.expire_after is not None:
            tables.extend(self._expired(watermark - self.rules.expire_after))
        state = self.streams.everything()
        windows, left = report_closed(
            self.engine, with_closing_times(self.engine, state), watermark
        )
        if windows is not None:
            tables.append(windows)
        left = without_expired(self.engine, left, watermark)
        if left is not state:
            self._replace_state(left)
        self.counts.buffered = 0 if self.waiting is None else self.waiting.num_rows
        return self._result(tables)

    def next_time(self) -> int | None:
        """Return the next watermark, in microseconds, at which the bucket has something to do."""
        times: list[int] = []
        if self.waiting is not None and self.waiting.num_rows:
            times.append(int(self._times(self.waiting).min()))
        state = self.streams.everything()
        if self.rules.expire_after is not None and state.size:
            times.append(int(self._last_times(state).min()) + self.rules.expire_after + 1)
        others = (next_expiry(self.engine, state), next_closing(self.engine, state))
        return min([*times, *(time for time in others if time is not None)], default=None)

    # --- Without a watermark

    def run(self, rows: pa.Table | None) -> pa.Table:
        """Return the windows of rows, which run at once; rows that are late for their key are dropped."""
        if rows is None:
            return self._result([])
        prepared = self.streams.prepared(self.row_filter.without_bad_rows(_in_utc(rows)))
        prior = self.streams.recall(prepared)
        late = prepared.late(prior)
        if not late.any():
            return self._result([self._feed(prepared.table, prepared, prior)])
        if self.rules.late == "error":
            self._refuse(prepared.table)
        self.counts.late += int(late.sum())
        return self._result([self._feed(prepared.table.filter(pa.array(~late)))])

    # --- Parts

    def _run_due(self, rows: pa.Table) -> list[pa.Table]:
        """Return the windows of rows that the watermark has passed.

        A silence longer than `expire_after` ends a stream, even if the watermark jumps over it.
        """
        silence = self.rules.expire_after
        if silence is None:
            return [self._feed(rows)]
        prepared = self.streams.prepared(rows)
        times, starts = self._times(prepared.table), prepared.starts
        prior = self.streams.recall(prepared)
        known = np.flatnonzero(prior.tail_counts > 0)
        before = np.append(times[:1], times[:-1])
        before[starts] = times[starts]
        before[starts[known]] = self._last_times(prior.take(known))
        # For each row: the silences of its stream up to it, in these rows or since the last one.
        ends = np.append(starts[1:], len(times))[: len(starts)]
        silences = np.cumsum(times - before > silence)
        parts = silences - np.repeat(np.append(0, silences)[starts], ends - starts)
        tables = []
        for part in range(int(parts.max(initial=0)) + 1):
            if part:
                chosen = np.flatnonzero(parts[ends - 1] >= part)
                tables.append(self._end_streams(prepared, prepared.keys.take(pa.array(chosen))))
            due = prepared.table.filter(pa.array(parts == part))
            if not due.num_rows:
                continue
            try:
                tables.append(self._fed(due))
            except DataError as error:
                # Without the bad rows silences may be longer, so that the rest is cut anew.
                rest = self.streams.prepared(prepared.table.filter(pa.array(parts >= part)))
                tables += self._run_due(self._without_bad_events(rest, silence, error))
                self._forget_empty()
                return tables
        return tables

    def _forget_empty(self) -> None:
        """Forget streams that have ended and have no good event since."""
        state = self.streams.everything()
        empty = state.tail_counts == 0
        if empty.any():
            self._replace_state(state.take(np.flatnonzero(~empty)))

    def _without_bad_events(
        self, prepared: PreparedInput, silence: int, error: DataError
    ) -> pa.Table:
        prior = self.streams.recall(prepared)
        last = np.zeros(prior.size, dtype=np.int64)
        known = np.flatnonzero(prior.tail_counts > 0)
        last[known] = self._last_times(prior.take(known))
        gaps = StreamGaps(self._times(prepared.table), last, silence)
        return self.row_filter.without_bad_events(prepared, prior, error, gaps)

    def _end_streams(self, prepared: PreparedInput, keys: pa.Table) -> pa.Table:
        """Return the windows that the end of some streams reports, and start these streams anew."""
        state = self.streams.recall(prepared, keys)
        table, _ = self.engine.run(*ended(self.engine, state), last=True)
        self.streams.restart(keys)
        return table

    def _feed(
        self, rows: pa.Table, prepared: PreparedInput | None = None, prior: State | None = None
    ) -> pa.Table:
        """Return the windows of rows, without the rows that are bad in their stream.

        If all rows are prepared already, with the states of their streams, that is not done again.
        """

        def feed(good: pa.Table) -> pa.Table:
            if good is rows and prepared is not None and prior is not None:
                return self.streams.feed_prepared(prepared, prior)
            return self.streams.feed(good)

        windows, count = self.row_filter.feed_good_rows(feed, self.streams.recall, rows)
        return self._count_processed(windows, count)

    def _fed(self, rows: pa.Table) -> pa.Table:
        return self._count_processed(self.streams.feed(rows), rows.num_rows)

    def _count_processed(self, windows: pa.Table, rows: int) -> pa.Table:
        self.counts.processed += rows
        self._check_open()
        return windows

    def _result(self, tables: Sequence[pa.Table]) -> pa.Table:
        self.counts.open = self.streams.held()
        return concat_to_last_schema(tables) if tables else pa.table({})

    def _count_late(self, rows: pa.Table, late: np.ndarray) -> None:
        count = int(late.sum())
        self.counts.late += count
        if count and self.rules.late == "error":
            row = int(np.argmax(late))
            name = self.engine.stream.order_by[0]
            keys = tuple(rows.column(key)[row].as_py() for key in self.engine.stream.partition_by)
            message = (
                f"an event at {rows.column(name)[row]} comes too late: the watermark has passed it"
            )
            hint = "give a longer watermark, or say late='drop'"
            raise DataError("late", message, hint, column=name, key=keys)

    def _refuse(self, rows: pa.Table) -> None:
        """Raise the error about rows of which some are late."""
        try:
            self.streams.feed(rows)
        except DataError as error:
            if error.code != "late":
                raise
            places = {"column": error.column, "key": error.key, "position": error.position}
            hint = f"{error.hint}; late='drop' leaves such events out"
            raise DataError("late", error.message, hint, **places) from None  # type: ignore[arg-type]

    def _check_open(self) -> None:
        most = self.rules.max_open
        if most is not None and (count := self.streams.most_held()) > most:
            message = f"a stream has {count:,} open starts, and max_open is {most:,}"
            raise WexError(
                "max-open", message, "raise max_open, or bound the window: see wex check"
            )

    def _times(self, rows: pa.Table) -> np.ndarray:
        return _microseconds(rows.column(self.engine.stream.order_by[0]))

    def _last_times(self, state: State) -> np.ndarray:
        """Return the time of the last event of each stream."""
        if not state.size:
            return np.empty(0, dtype=np.int64)
        last = np.cumsum(state.tail_counts) - 1
        return self._times(state.tails.take(pa.array(last)))

    def _expired(self, before: int) -> list[pa.Table]:
        """Return the windows of streams that have been silent since a time, and end them."""
        state = self.streams.everything()
        silent = self._last_times(state) < before
        if not silent.any():
            return []
        ending = ended(self.engine, state.take(np.flatnonzero(silent)))
        table, _ = self.engine.run(*ending, last=True)
        self._replace_state(state.take(np.flatnonzero(~silent)))
        return [table]

    def _replace_state(self, state: State) -> None:
        schema = self.streams.schema
        self.streams = RunningStreams(self.engine)
        self.streams.resume(state, schema)


def fingerprint_of(saved: bytes) -> str:
    """Return the fingerprint of the engine that a bucket was saved by."""
    return _parts(saved)[0].plan


@dataclass(frozen=True)
class Head:
    """The first line of a bucket: its plan, the number of buckets, the size of its state in bytes."""

    plan: str
    buckets: int
    state: int


def _parts(saved: bytes) -> tuple[Head, bytes]:
    """Return the first line of a bucket, and the bytes behind it."""
    content = _without_frame(saved)
    if content is None:
        content = FRAME.opened(saved)
    with FRAME.reading():
        line, _, rest = content.partition(b"\n")
        head = Head(**json.loads(line))
        require(isinstance(head.plan, str), "it does not say which plan has made it")
        for number in (head.buckets, head.state):
            require(type(number) is int and number >= 0, "it does not say how large it is")
        require(head.state <= len(rest), "it is cut off")
    return head, rest


def _without_frame(saved: object) -> bytes | None:
    """Return the content of a bucket of the first version; None: it is of another version."""
    first = isinstance(saved, bytes) and saved.startswith(FIRST_VERSION)
    return saved[len(FIRST_VERSION) - 1 :] if first else None  # type: ignore[index]


def _waiting(engine: Engine, rows: bytes) -> pa.Table:
    """Return the rows that wait in a bucket, checked as those that arrive are."""
    with FRAME.reading():
        table = declared(engine, valid_table(rows))
        order = engine.stream.order_by
        require(order and engine.fields[order[0]] in (TIMESTAMP, INT), "rows wait without a time")
        check_order_columns(table, order, engine.stream.partition_by)
        return table


def declared(engine: Engine, rows: pa.Table) -> pa.Table:
    """Return the columns of the stream; one that is missing, or does not fit, is a DataError."""
    conform(empty_table(rows.schema), engine.fields, engine.stream.partition_by)
    return rows.select(list(engine.fields))


def _microseconds(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.timestamp("us", column.type.tz)).cast(pa.int64())
    times: np.ndarray = column.to_numpy()
    return times


def _at_or_before(times: np.ndarray, watermark: int) -> np.ndarray:
    """Tell which times a watermark has passed; 0 is a watermark that is not set yet."""
    passed: np.ndarray = (times <= watermark) & (watermark > 0)
    return passed


def _in_utc(rows: pa.Table) -> pa.Table:
    """Return rows with their timestamps in UTC: a state outlives the session and its zone."""
    for number, column in enumerate(rows.schema):
        if pa.types.is_timestamp(column.type) and column.type.tz not in (None, "UTC"):
            in_utc = rows.column(number).cast(pa.timestamp(column.type.unit, "UTC"))
            rows = rows.set_column(number, column.name, in_utc)
    return rows
