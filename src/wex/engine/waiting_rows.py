"""Single events for streams that run: those that report no window wait, and run together.

A batch costs hundreds of microseconds however short it is, so that events which come one by one would be slow.
`quiet_events` tells for a few microseconds whether an event reports a window. One that does not is
put into a queue. The next one of its stream that may report runs together with those that wait, and whatever asks
for the state runs all of them. The results are those of running each event at once, as batches may be divided anywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.input.columns import empty_table
from wex.engine.input.plain_rows import PlainRows
from wex.engine.input.prepare import has_zones_of
from wex.engine.quiet_events import QuietEvents, UnclearError
from wex.engine.running_streams import RunningStreams

if TYPE_CHECKING:
    import pyarrow as pa

    from wex.engine.engine import Engine
    from wex.engine.input.columns import Data
    from wex.engine.input.plain_rows import Row
    from wex.engine.quiet_events import Followed

    Key = tuple[object, ...]

MOST_ROWS = 256  # that wait
MOST_TEXT = 1 << 20  # characters in them
MOST_STREAMS = 1 << 14  # that are followed


class WaitingRows:
    """The streams that an engine runs, and the events that wait for their run."""

    def __init__(self, engine: Engine, saved: bytes | None = None) -> None:
        self._running = RunningStreams(engine, saved)
        self._engine = engine
        self._quiet = QuietEvents.of(engine)
        self._forget()

    def _forget(self) -> None:
        self._rows: dict[Key, list[Row]] = {}  # that wait
        self._count = self._text = 0
        self._followed: dict[Key, Followed] = {}
        self._plain: PlainRows | None = None
        self._nothing: pa.Table | None = None

    def feed(self, data: Data) -> pa.Table:
        """Return the windows that a batch reports; an error leaves all streams as they were."""
        rows = None if self._plain is None else self._plain.rows(data)
        if not rows:
            return self._feed_now(data)
        try:
            followed, reports = self._after(rows)
        except UnclearError:
            return self._feed_now(data)
        if reports:
            return self._feed_with_waiting(rows, followed)
        assert self._quiet is not None
        assert self._plain is not None
        assert self._nothing is not None
        for row in rows:
            self._rows.setdefault(self._quiet.key(row), []).append(row)
        self._count += len(rows)
        self._text += self._plain.text_size(rows)
        self._followed |= followed
        if self._count > MOST_ROWS or self._text > MOST_TEXT:
            self._run_waiting()
        return self._nothing

    def _after(self, rows: list[Row]) -> tuple[dict[Key, Followed], bool]:
        """Return the streams of some rows after these, and whether one of the rows may report."""
        assert self._quiet is not None
        followed: dict[Key, Followed] = {}
        reports = False
        for row in rows:
            key = self._quiet.key(row)
            stream = followed.get(key) or self._followed.get(key) or self._follow(row)
            followed[key], own = self._quiet.after(stream, row)
            reports |= own
        return followed, reports

    def _follow(self, row: Row) -> Followed:
        """Return the stream of a row, from its state."""
        assert self._quiet is not None
        assert self._plain is not None
        if len(self._followed) >= MOST_STREAMS:
            self._run_waiting()
            self._followed.clear()
        state = self._running.state_of(self._plain.table([row]))
        return self._quiet.fresh if state is None else self._quiet.of_state(state, self._plain)

    def _feed_with_waiting(self, rows: list[Row], followed: dict[Key, Followed]) -> pa.Table:
        """Run some rows behind those of their streams that wait; an error leaves these waiting."""
        assert self._quiet is not None
        assert self._plain is not None
        waiting = [row for key in followed for row in self._rows.get(key, ())]
        table = self._plain.table([*waiting, *rows])
        fed = self._running.run_stream(table) if len(followed) == 1 else self._running.run(table)
        for key in followed:
            self._rows.pop(key, None)
        self._count -= len(waiting)
        self._text -= self._plain.text_size(waiting)
        self._followed |= followed
        assert fed.state is not None
        for stream, key in enumerate(fed.keys()):
            if key in followed:
                try:
                    configs = self._quiet.configs(fed.state, stream)
                except UnclearError:
                    del self._followed[key]
                else:
                    self._followed[key] = followed[key]._replace(configs=configs)
        return fed.windows

    def _feed_now(self, data: Data) -> pa.Table:
        """Run a batch by itself, behind the rows that wait."""
        self._run_waiting()
        table = self._running.feed(data)
        self._followed.clear()
        if self._quiet is not None:
            self._plain = self._plain_rows()
            self._nothing = empty_table(table.schema)
        return table

    def _plain_rows(self) -> PlainRows | None:
        """Return what reads plain rows, unless the first value of a column may yet be an error."""
        schema = self._running.schema
        if schema is None or not has_zones_of(self._engine.stream.moments, schema):
            return None
        return PlainRows.of(self._engine.fields, schema)

    def _run_waiting(self) -> None:
        if self._rows:
            assert self._plain is not None
            rows = [row for waiting in self._rows.values() for row in waiting]
            self._running.feed(self._plain.table(rows))
            self._rows, self._count, self._text = {}, 0, 0

    def close(self) -> pa.Table:
        """Return the windows that the end of all streams reports, and forget the streams."""
        self._run_waiting()
        table = self._running.close()
        self._forget()
        return table

    def saved(self) -> bytes:
        """Return the states of all streams as bytes."""
        self._run_waiting()
        return self._running.saved()

    def restore(self, saved: bytes) -> None:
        """Go on from saved bytes; a StateError if they are not the state of such an engine."""
        self._running.restore(saved)
        self._forget()

    def held(self) -> int:
        """Return how many starts are open in all streams."""
        self._run_waiting()
        return self._running.held()

    def most_held(self) -> int:
        """Return the largest number of starts that one stream has open."""
        self._run_waiting()
        return self._running.most_held()
