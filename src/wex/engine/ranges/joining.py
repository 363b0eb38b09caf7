"""The windows of a stream from its ranges, by tasks that share no memory.

A range sends packets. Those that all joining tasks need say what it does to the stream: how many events it has,
its states before and after, and the ends of windows that begin before it. The others, its windows and the
starts that are open after it, go to one joining task. That task knows from the former which way of each
range is the right one and how many events are before it, and follows the open starts through the
ranges behind. So no task gets the open starts of all ranges.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import FaultError
from wex.engine.engine import report_order
from wex.engine.input.batch import Batch
from wex.engine.input.columns import combine_chunks, conform, empty_table
from wex.engine.ranges.composition import Entry, first_entry
from wex.engine.ranges.crossing import crossing_windows, moved
from wex.engine.ranges.distribution import changed
from wex.engine.ranges.range_run import END, Border, Places
from wex.engine.state import schema
from wex.engine.state.state import from_ipc, to_ipc
from wex.errors import DataError
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.engine import Engine
    from wex.engine.ranges.distribution import Piece, Way

PART = "part"  # column of the tables of a border
BEFORE, AFTER = "before", "after"  # columns of the window states of phantoms that a range passes on
TABLE_ROWS = 1 << 14  # windows of a packet


class Kind(IntEnum):
    """What a packet holds, in the order in which a joining task wants them."""

    HEAD = 0
    ENTERING = 1
    LEAVING = 2
    WINDOWS = 3


FOR_ALL = (Kind.HEAD, Kind.ENTERING)  # packets that all joining tasks get


class Place(NamedTuple):
    """The kind of a packet, and where it comes from: a range, a piece of it, a way of the piece."""

    kind: int
    number: int
    piece: int
    way: int


class Packet(NamedTuple):
    """Some bytes of a range."""

    place: Place
    content: bytes


# --- From a range


def packets(number: int, pieces: Iterable[Piece]) -> Iterator[Packet]:
    """Yield the packets of a range."""
    for at, piece in enumerate(pieces):
        head = {
            "position": piece.position,
            "events": piece.events,
            "ways": [_outline(way) for way in piece.ways],
        }
        yield Packet(Place(Kind.HEAD, number, at, 0), json.dumps(head).encode())
        for by, way in enumerate(piece.ways):
            yield Packet(Place(Kind.ENTERING, number, at, by), _borders_to_bytes(way.entering))
            if any(len(border.starts.position) for border in way.leaving):
                yield Packet(Place(Kind.LEAVING, number, at, by), _borders_to_bytes(way.leaving))
            for row in range(0, way.windows.num_rows, TABLE_ROWS):
                some = way.windows.slice(row, TABLE_ROWS)
                yield Packet(Place(Kind.WINDOWS, number, at, by), to_ipc(some, compressed=True))


def _outline(way: Way) -> dict[str, object]:
    after = None if way.after is None else way.after[1:]
    return {"entry": way.entry[1:], "after": after, "fault": _fault_fields(way.fault)}


def _fault_fields(fault: FaultError | None) -> dict[str, object] | None:
    if fault is None:
        return None
    error = fault.error
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint or "",
        "column": error.column,
        "position": error.position,
    }


# --- In a joining task


def event_with_key(engine: Engine, events: pa.Schema, key: pa.Table | None) -> pa.Table:
    """Return a row with a key, a table of one row, as the engine runs events; no row without a key."""
    if key is None:
        return conform(empty_table(events), engine.fields)
    columns = {field.name: pa.nulls(1, field.type) for field in events}
    return conform(
        pa.table(columns | dict(zip(key.column_names, key.columns, strict=True))), engine.fields
    )


class _Way(NamedTuple):
    """What a way of a piece does to a stream; the positions of its entries are 0."""

    entry: Entry
    after: Entry | None
    fault: DataError | None  # with a position of the piece


class _Outline(NamedTuple):
    """The head of a piece."""

    position: int
    events: int
    ways: list[_Way]


class _Chosen(NamedTuple):
    """A piece in its stream: the right way, and by how much its own positions are too low."""

    way: int
    shift: int


@dataclass
class Join:
    """Joins the windows of a stream from the packets that one task gets, in the order of their places."""

    engine: Engine
    event: pa.Table  # see `event_with_key`
    ranges: int
    events: int = 0  # of the stream
    _outlines: dict[tuple[int, int], _Outline] = field(default_factory=dict)
    _chosen: dict[tuple[int, int], _Chosen] = field(default_factory=dict)
    _fault: DataError | None = None
    _entering: dict[tuple[int, int], bytes] = field(default_factory=dict)
    _read: dict[tuple[int, int], list[Border]] = field(default_factory=dict)

    def windows(self, incoming: Iterable[Packet]) -> Iterator[pa.Table]:
        """Yield the windows that begin in the ranges whose packets come; a fault is a DataError."""
        for place, content in incoming:
            at = (place.number, place.piece)
            if place.kind == Kind.HEAD:
                self._outlines[at] = _outline_of(content)
                continue
            self._follow()
            chosen = self._chosen.get(at)
            if chosen is None or place.way != chosen.way:
                continue
            if place.kind == Kind.ENTERING:
                self._entering[at] = content
            elif place.kind == Kind.LEAVING:
                yield self._crossing(at, content)
            else:
                self._raise_fault()
                yield _shifted(from_ipc(content), chosen.shift)
        self._follow()
        self._raise_fault()

    def _follow(self) -> None:
        """Choose the right ways in the order of the stream, up to the first fault."""
        if self._chosen:
            return
        if {number for number, _ in self._outlines} != set(range(self.ranges)):
            raise changed()
        stream: Entry | None = first_entry(self.engine)
        for at, outline in sorted(self._outlines.items()):
            entries = [way.entry for way in outline.ways]
            if stream not in entries:
                raise changed()
            number = entries.index(stream)
            shift = self.events - outline.position
            self._chosen[at] = _Chosen(number, shift)
            self.events += outline.events
            _, stream, fault = outline.ways[number]
            if fault is not None:
                self._fault = self._error(fault, shift)
                return

    def _raise_fault(self) -> None:
        """Raise the first fault of the ranges; those of windows that end before it have been raised."""
        if self._fault is not None:
            raise self._fault

    def _crossing(self, at: tuple[int, int], content: bytes) -> pa.Table:
        """Return the windows that begin in a piece and end in a later one."""
        engine = self.engine
        batch = self._batch
        own = self._moved_borders(content, self._chosen[at].shift)
        later = [other for other in self._chosen if other > at]
        parts = []
        for number, window in enumerate(engine.windows):
            chain = [own[number]]
            is_open, states = np.arange(len(own[number].starts.state)), own[number].starts.state
            for other in later:
                if not len(is_open):
                    break
                border = self._borders_at(other)[number]
                chain.append(border)
                is_open, states = moved(is_open, states, border.passed)
            try:
                parts.append(crossing_windows(engine, window, batch, chain)[0])
            except FaultError as fault:
                raise self._error(fault.error, 0) from None
        return engine.table(batch, parts, report_order(parts))[0]

    @cached_property
    def _batch(self) -> Batch:
        """Return a batch of the stream without events of its own."""
        first, end = np.zeros(1, dtype=np.int64), np.array([self.event.num_rows])
        keys = self.engine.stream.partition_by
        return Batch(self.event, self.engine.fields, keys, first, end, end, first)

    def _error(self, error: DataError, shift: int) -> DataError:
        """Return an error with its place in the stream."""
        position = None if error.position is None else error.position + shift
        place = {"column": error.column, "key": self._batch.key(0), "position": position}
        return DataError(error.code, error.message, error.hint or "", **place)  # type: ignore[arg-type]

    def _borders_at(self, at: tuple[int, int]) -> list[Border]:
        """Return what a piece has of windows that begin before it."""
        if at not in self._read:
            self._read[at] = self._moved_borders(self._entering.pop(at), self._chosen[at].shift)
        return self._read[at]

    def _moved_borders(self, content: bytes, shift: int) -> list[Border]:
        """Return borders with the positions of the stream."""
        return [
            _moved_border(border, shift, counts=window.planned.clauses.within_events is not None)
            for border, window in zip(_borders_of(content), self.engine.windows, strict=True)
        ]


def _outline_of(content: bytes) -> _Outline:
    head = json.loads(content)
    ways = [
        _Way(
            _entry(*way["entry"]),
            None if way["after"] is None else _entry(*way["after"]),
            None if way["fault"] is None else DataError(key=(), **way["fault"]),
        )
        for way in head["ways"]
    ]
    return _Outline(head["position"], head["events"], ways)


def _entry(states: Sequence[int], assumption: int) -> Entry:
    return Entry(0, tuple(states), assumption)


def _shifted(windows: pa.Table, shift: int) -> pa.Table:
    for name in ("start_index", "end_index"):
        at = windows.column_names.index(name)
        windows = windows.set_column(at, name, pc.add(windows.column(at), shift))
    return windows


# --- Borders as bytes


def _borders_to_bytes(borders: Sequence[Border]) -> bytes:
    """Return the borders of a range, for all windows, as bytes."""
    tables = [
        to_ipc(table, compressed=True)
        for border in borders
        for table in (
            _places_table(border.starts),
            _places_table(border.ends),
            pa.table({BEFORE: border.passed[0], AFTER: border.passed[1]}),
            border.panes,
        )
    ]
    return to_ipc(pa.table({PART: pa.array(tables, pa.large_binary())}))


def _borders_of(content: bytes) -> list[Border]:
    tables = [from_ipc(part) for part in from_ipc(content).column(PART).to_pylist()]
    return [
        Border(
            _places(starts),
            _places(ends),
            (_numbers(passed, BEFORE), _numbers(passed, AFTER)),
            panes,
        )
        for starts, ends, passed, panes in zip(*(tables[at::4] for at in range(4)), strict=True)
    ]


def _places_table(places: Places) -> pa.Table:
    columns = {
        schema.POSITION: pa.array(places.position),
        schema.SLOT: pa.array(places.state),
        schema.CLOCK: pa.array(places.clock),
    }
    return pa.table(columns if places.time is None else columns | {schema.TIME: places.time})


def _places(table: pa.Table) -> Places:
    timed = schema.TIME in table.column_names
    return Places(
        _numbers(table, schema.POSITION),
        _numbers(table, schema.SLOT),
        _numbers(table, schema.CLOCK),
        combine_chunks(table.column(schema.TIME)) if timed else None,
    )


def _numbers(table: pa.Table, name: str) -> Ints:
    numbers: Ints = table.column(name).to_numpy()
    return numbers


def _moved_border(border: Border, shift: int, *, counts: bool) -> Border:
    """Return a border with other positions; `within` may count events, and its clock is a position then."""

    def places(given: Places) -> Places:
        clock = given.clock + shift if counts else given.clock
        return given._replace(position=given.position + shift, clock=clock)

    panes = border.panes
    for name in (schema.POSITION, END):
        at = panes.column_names.index(name)
        panes = panes.set_column(at, name, pc.add(panes.column(at), shift))
    return replace(border, starts=places(border.starts), ends=places(border.ends), panes=panes)
