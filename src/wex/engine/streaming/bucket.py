"""Streams that go on without end, as one piece of state: events wait for the watermark, then run.

A bucket has all the streams of some keys. Rows that the watermark has not passed wait in it; when
it has, they run in order. What it holds travels as bytes between batches.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import arrow_errors
from wex.engine.input.bad_events import Silences
from wex.engine.input.bad_rows import Sieve
from wex.engine.input.columns import conform, no_rows
from wex.engine.input.schemas import stacked
from wex.engine.input.sorting import no_null_order
from wex.engine.processor import Processor, ended
from wex.engine.state.state import sound_table, to_ipc
from wex.engine.streaming.expiry import next_outlived, without_outlived
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
    """What a batch has done to a bucket."""

    processed: int = 0
    late: int = 0
    buffered: int = 0
    open: int = 0


@dataclass(frozen=True)
class Rules:
    """How endless streams are treated: late and bad rows, silent keys, how much may be open.

    `buckets` is how many there are for all keys.
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
    processor: Processor
    waiting: pa.Table | None = None
    counts: Counts = field(default_factory=Counts)

    def __post_init__(self) -> None:
        """Make the sieve for the rows of this batch."""
        self.sieve = Sieve(self.engine, self.rules.bad_rows)

    @classmethod
    def of(cls, engine: Engine, rules: Rules, saved: bytes | None = None) -> Bucket:
        """Return a new bucket, or one that goes on where it was saved."""
        if saved is None:
            return cls(engine, rules, Processor.of(engine))
        head, rest = _parts(saved)
        if head.buckets != rules.buckets:
            message = f"the keys were in {head.buckets} buckets, and are in {rules.buckets} now"
            raise StateError("state-buckets", message, f"say buckets={head.buckets}")
        processor = Processor.of(engine, rest[: head.state])
        waiting = _waiting(engine, rest[head.state :]) if len(rest) > head.state else None
        return cls(engine, rules, processor, waiting)

    def saved(self) -> bytes:
        """Return all that is in the bucket, as bytes."""
        state = self.processor.state()
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

        Bad rows are told now: one that waits would be told when neither mending nor removing it
        where it comes from helps any more.
        """
        if rows is None:
            return self.advance(watermark)
        rows = declared(self.engine, self.sieve.alone(_in_utc(rows)))
        late = _at_or_before(self._times(rows), watermark)
        self._count_late(rows, late)
        rows = rows.filter(pa.array(~late))
        parts = [each for each in (self.waiting, rows) if each is not None]
        with arrow_errors():
            self.waiting = pa.concat_tables(parts, promote_options="permissive")
        return self.advance(watermark)

    def advance(self, watermark: int) -> pa.Table:
        """Return the windows that a watermark brings, of rows that have waited and silent keys."""
        found: list[pa.Table] = []
        if self.waiting is not None and self.waiting.num_rows:
            passed = _at_or_before(self._times(self.waiting), watermark)
            due = self.waiting.filter(pa.array(passed))
            self.waiting = self.waiting.filter(pa.array(~passed)).combine_chunks()
            if self.rules.bad_rows != "fail":
                due = self.sieve.alone(due)  # what waits may have come in another way
            if due.num_rows:
                found.extend(self._run_due(due))
        if self.rules.expire_after is not None:
            found.extend(self._expired(watermark - self.rules.expire_after))
        state = self.processor.everything()
        left = without_outlived(self.engine, state, watermark)
        if left is not state:
            self._go_on(left)
        self.counts.buffered = 0 if self.waiting is None else self.waiting.num_rows
        return self._together(found)

    def next_time(self) -> int | None:
        """Return when the watermark brings something more, in microseconds."""
        times: list[int] = []
        if self.waiting is not None and self.waiting.num_rows:
            times.append(int(self._times(self.waiting).min()))
        state = self.processor.everything()
        if self.rules.expire_after is not None and state.size:
            times.append(int(self._last_times(state).min()) + self.rules.expire_after + 1)
        outlived = next_outlived(self.engine, state)
        return min(times if outlived is None else [*times, outlived], default=None)

    # --- Without one

    def run(self, rows: pa.Table | None) -> pa.Table:
        """Return the windows of rows, run at once; those that come too late for their key drop."""
        if rows is None:
            return self._together([])
        arriving = self.processor.arriving(self.sieve.alone(_in_utc(rows)))
        late = arriving.late(self.processor.recall(arriving))
        if self.rules.late == "error" and late.any():
            self._refuse(arriving.table)
        self.counts.late += int(late.sum())
        return self._together([self._feed(arriving.table.filter(pa.array(~late)))])

    # --- Parts

    def _run_due(self, rows: pa.Table) -> list[pa.Table]:
        """Return the windows of rows that the watermark has passed.

        A silence that is too long ends a stream, however far the watermark jumps over it.
        """
        silence = self.rules.expire_after
        if silence is None:
            return [self._feed(rows)]
        arriving = self.processor.arriving(rows)
        times, starts = self._times(arriving.table), arriving.starts
        prior = self.processor.recall(arriving)
        known = np.flatnonzero(prior.tail_counts > 0)
        before = np.append(times[:1], times[:-1])
        before[starts] = times[starts]
        before[starts[known]] = self._last_times(prior.take(known))
        # How many silences of its stream a row has before it, in these rows or since the last one.
        ends = np.append(starts[1:], len(times))[: len(starts)]
        silences = np.cumsum(times - before > silence)
        parts = silences - np.repeat(np.append(0, silences)[starts], ends - starts)
        found = []
        for part in range(int(parts.max(initial=0)) + 1):
            if part:
                chosen = np.flatnonzero(parts[ends - 1] >= part)
                found.append(self._ended(arriving, arriving.keys.take(pa.array(chosen))))
            due = arriving.table.filter(pa.array(parts == part))
            if not due.num_rows:
                continue
            try:
                found.append(self._fed(due))
            except DataError as error:
                # Without an event that is at fault a silence may be longer, from here on.
                rest = self.processor.arriving(arriving.table.filter(pa.array(parts >= part)))
                found += self._run_due(self._sifted(rest, silence, error))
                self._forget_empty()
                return found
        return found

    def _forget_empty(self) -> None:
        """Forget streams that have ended, and of whose new events none remained."""
        state = self.processor.everything()
        empty = state.tail_counts == 0
        if empty.any():
            self._go_on(state.take(np.flatnonzero(~empty)))

    def _sifted(self, arriving: PreparedInput, silence: int, error: DataError) -> pa.Table:
        prior = self.processor.recall(arriving)
        last = np.zeros(prior.size, dtype=np.int64)
        known = np.flatnonzero(prior.tail_counts > 0)
        last[known] = self._last_times(prior.take(known))
        silences = Silences(self._times(arriving.table), last, silence)
        return self.sieve.sifted(arriving, prior, error, silences)

    def _ended(self, arriving: PreparedInput, keys: pa.Table) -> pa.Table:
        """Return the windows of streams that end here; what comes next for them is a new stream."""
        state = self.processor.recall(arriving, keys)
        table, _ = self.engine.run(*ended(self.engine, state), last=True)
        self.processor.restart(keys)
        return table

    def _feed(self, rows: pa.Table) -> pa.Table:
        """Return the windows of rows, without those that fail in their stream."""
        found, count = self.sieve.through(self.processor.feed, self.processor.recall, rows)
        return self._counted(found, count)

    def _fed(self, rows: pa.Table) -> pa.Table:
        return self._counted(self.processor.feed(rows), rows.num_rows)

    def _counted(self, found: pa.Table, rows: int) -> pa.Table:
        self.counts.processed += rows
        self._check_open()
        return found

    def _together(self, found: Sequence[pa.Table]) -> pa.Table:
        self.counts.open = self.processor.held()
        return stacked(found) if found else pa.table({})

    def _count_late(self, rows: pa.Table, late: np.ndarray) -> None:
        count = int(late.sum())
        self.counts.late += count
        if count and self.rules.late == "error":
            row = int(np.argmax(late))
            name = self.engine.stream.order_by[0]
            keys = tuple(rows.column(each)[row].as_py() for each in self.engine.stream.partition_by)
            message = (
                f"an event at {rows.column(name)[row]} comes too late: the watermark has passed it"
            )
            hint = "give a longer watermark, or say late='drop'"
            raise DataError("late", message, hint, column=name, key=keys)

    def _refuse(self, rows: pa.Table) -> None:
        """Raise what the processor says about rows of which some are late."""
        try:
            self.processor.feed(rows)
        except DataError as error:
            if error.code != "late":
                raise
            places = {"column": error.column, "key": error.key, "position": error.position}
            hint = f"{error.hint}; late='drop' leaves such events out"
            raise DataError("late", error.message, hint, **places) from None  # type: ignore[arg-type]

    def _check_open(self) -> None:
        most = self.rules.max_open
        if most is not None and (found := self.processor.most_held()) > most:
            message = f"a stream has {found:,} open starts, and max_open is {most:,}"
            raise WexError(
                "max-open", message, "raise max_open, or bound the window: see wex check"
            )

    def _times(self, rows: pa.Table) -> np.ndarray:
        return _microseconds(rows.column(self.engine.stream.order_by[0]))

    def _last_times(self, state: State) -> np.ndarray:
        """Return when each stream had its last event."""
        if not state.size:
            return np.empty(0, dtype=np.int64)
        last = np.cumsum(state.tail_counts) - 1
        return self._times(state.tails.take(pa.array(last)))

    def _expired(self, before: int) -> list[pa.Table]:
        """Return the windows that end because their streams have been silent since a time."""
        state = self.processor.everything()
        gone = self._last_times(state) < before
        if not gone.any():
            return []
        table, _ = self.engine.run(*ended(self.engine, state.take(np.flatnonzero(gone))), last=True)
        self._go_on(state.take(np.flatnonzero(~gone)))
        return [table]

    def _go_on(self, state: State) -> None:
        schema = self.processor.schema
        self.processor = Processor.of(self.engine)
        self.processor.resume(state, schema)


def made_by(saved: bytes) -> str:
    """Return the fingerprint of the engine that a bucket was saved by."""
    return _parts(saved)[0].plan


@dataclass(frozen=True)
class Head:
    """What the first line of a bucket says: whose it is, and how many bytes its state has."""

    plan: str
    buckets: int
    state: int


def _parts(saved: bytes) -> tuple[Head, bytes]:
    """Return what the first line of a bucket says, and the rest."""
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
    """Return the content of a bucket of the first version; None: it is none."""
    first = isinstance(saved, bytes) and saved.startswith(FIRST_VERSION)
    return saved[len(FIRST_VERSION) - 1 :] if first else None  # type: ignore[index]


def _waiting(engine: Engine, rows: bytes) -> pa.Table:
    """Return the rows that wait in a bucket: as they arrived, with a place in their streams."""
    with FRAME.reading():
        table = declared(engine, sound_table(rows))
        order = engine.stream.order_by
        require(order and engine.fields[order[0]] in (TIMESTAMP, INT), "rows wait without a time")
        no_null_order(table, order, engine.stream.partition_by)
        return table


def declared(engine: Engine, rows: pa.Table) -> pa.Table:
    """Return the columns of the stream; one that is missing, or does not fit, is a DataError."""
    conform(no_rows(rows.schema), engine.fields, engine.stream.partition_by)
    return rows.select(list(engine.fields))


def _microseconds(column: pa.ChunkedArray) -> np.ndarray:
    if pa.types.is_timestamp(column.type):
        column = pc.cast(column, pa.timestamp("us", column.type.tz)).cast(pa.int64())
    found: np.ndarray = column.to_numpy()
    return found


def _at_or_before(times: np.ndarray, watermark: int) -> np.ndarray:
    """Tell which times a watermark has passed; 0 is one that nobody has set yet."""
    found: np.ndarray = (times <= watermark) & (watermark > 0)
    return found


def _in_utc(rows: pa.Table) -> pa.Table:
    """Return rows with their moments in one zone: state outlives the session and its zone."""
    for at, each in enumerate(rows.schema):
        if pa.types.is_timestamp(each.type) and each.type.tz not in (None, "UTC"):
            rows = rows.set_column(
                at, each.name, rows.column(at).cast(pa.timestamp(each.type.unit, "UTC"))
            )
    return rows
