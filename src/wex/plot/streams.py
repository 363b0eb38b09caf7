"""The events of all streams and the windows in them, as rows and numbers that pictures are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import arrow_errors
from wex.engine.engine import engine_of, windows_in_threads
from wex.engine.files.writing import shown_rows
from wex.engine.input.columns import check_column, conform, table_of
from wex.engine.input.prepare import PreparedInput
from wex.errors import DataError, WexError, did_you_mean
from wex.spec import meaning as meaning_of
from wex.spec.arguments import with_arguments
from wex.spec.types import DATE, FIELD_TYPES, INT, NUMBERS, OTHER, REAL, STRING, TIMESTAMP, UNITS
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Floats, Ints
    from wex.engine.input.batch import Batch
    from wex.engine.input.columns import Data
    from wex.spec import SpecLike, tree
    from wex.spec.types import Type

AXIS_TYPES = (INT, REAL, TIMESTAMP, DATE)
POSITION = "event"  # the axis of a stream that no single column orders


@dataclass(frozen=True, eq=False)
class StreamWindows:
    """The events, sorted by stream, and the windows in them; `owners` has the stream of each window."""

    spec: tree.Spec
    batch: Batch
    windows: pa.Table
    owners: Ints

    @property
    def fields(self) -> Mapping[str, Type]:
        """Return the fields of an event and their types."""
        return self.batch.fields

    @cached_property
    def names(self) -> list[str]:
        """Return the names of the windows, in the order of the spec."""
        return [window.name.text for window in self.spec.windows]

    @cached_property
    def name_numbers(self) -> Ints:
        """Return for each window the place of its name among `names`."""
        places = pc.index_in(self.windows.column("window_name"), value_set=pa.array(self.names))
        numbers: Ints = places.to_numpy().astype(np.int64)
        return numbers

    @cached_property
    def starts(self) -> Ints:
        """Return the row of the first event of each window."""
        starts: Ints = self.batch.first[self.owners] + self.windows.column("start_index").to_numpy()
        return starts

    @cached_property
    def ends(self) -> Ints:
        """Return the row of the last event of each window."""
        ends: Ints = self.batch.first[self.owners] + self.windows.column("end_index").to_numpy()
        return ends

    @cached_property
    def measures(self) -> list[str]:
        """Return the names of the measures."""
        known = {*self.batch.keys, "window_name", "start_index", "end_index"}
        known |= {"window_start", "window_end"} if self.spec.stream.order_by else set()
        return [name for name in self.windows.column_names if name not in known]

    @cached_property
    def window_counts(self) -> Ints:
        """Return the number of windows of each stream."""
        return np.bincount(self.owners, minlength=len(self.batch.first))

    # --- Keys

    def key_texts(self, streams: Ints) -> list[tuple[str, ...]]:
        """Return the keys of some streams as texts; without keys, empty ones."""
        rows = pa.array(self.batch.first[streams])
        if not self.batch.keys:
            return [()] * len(streams)
        keys = {name: self.batch.table.column(name).take(rows) for name in self.batch.keys}
        return list(shown_rows(pa.table(keys)))

    def busiest(self, most: int) -> Ints:
        """Return the streams with most windows, at most so many, in the order of the data."""
        order = np.argsort(-self.window_counts, kind="stable")[:most]
        chosen: Ints = np.sort(order)
        return chosen

    # --- The axis

    @cached_property
    def axis(self) -> str:
        """Return the column that orders the events, or `POSITION` if that is no single number or time.

        Nor is it the axis if some of its numbers are infinite, or too far apart for a float.
        """
        order = [name.text for name in self.spec.stream.order_by]
        if len(order) != 1 or self.fields[order[0]] not in AXIS_TYPES:
            return POSITION
        if self.fields[order[0]] == REAL:
            values = self.batch.array(order[0]).astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                if not np.isfinite(values.max() - values.min()):
                    return POSITION
        return order[0]

    @property
    def is_time(self) -> bool:
        """Tell whether the axis has times, in microseconds."""
        return self.fields.get(self.axis) in (TIMESTAMP, DATE) and self.axis != POSITION

    def places(self, rows: slice | Ints) -> NDArray[Any]:
        """Return where some rows are on the axis, ascending in each stream; times in microseconds."""
        if self.axis == POSITION:
            return self.batch.positions[rows]
        values: NDArray[Any] = self.batch.array(self.axis)[rows]
        return values * UNITS["day"] if self.fields[self.axis] == DATE else values

    # --- Values

    def plain_fields(self) -> list[str]:
        """Return the fields that can be drawn: all but keys, the axis, and those of type `other`."""
        apart = {*self.batch.keys, self.axis}
        apart |= {name.text for name in self.spec.stream.order_by}
        return [name for name, type_ in self.fields.items() if name not in apart and type_ != OTHER]

    def is_number(self, name: str) -> bool:
        """Tell whether a field is drawn as a line, and not as a strip of colours."""
        return self.fields[name] in (*NUMBERS, TIMESTAMP, DATE)

    def numbers(self, name: str, rows: slice) -> Floats:
        """Return the values of a numeric field in some rows; NULL is NaN."""
        values = self.batch.array(name)[rows].astype(np.float64)
        known = self.batch.known(name)
        if known is not None:
            values = np.where(known[rows], values, np.nan)
        return values

    def codes(self, name: str, rows: slice) -> tuple[Ints, list[str]]:
        """Return the values of any other field in some rows as numbers of texts; NULL is -1."""
        column = self.batch.table.column(name)[rows]
        if pa.types.is_boolean(column.type):
            column = pc.if_else(column, "true", "false")
        encoded = pa.chunked_array([column.combine_chunks()]).combine_chunks().dictionary_encode()
        codes: Ints = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        return codes, encoded.dictionary.to_pylist()


def found(
    spec: SpecLike,
    data: Data,
    partition_by: str | Iterable[str] | None = None,
    order_by: str | Iterable[str] | None = None,
    windows: Data | None = None,
) -> StreamWindows:
    """Return the events of some data with their windows, which are found unless they are given."""
    filled = with_arguments(spec, partition_by, order_by)
    engine = engine_of(filled)
    with arrow_errors(), windows_in_threads():
        prepared = PreparedInput(engine, table_of(data))
        prior = engine.fresh(len(prepared.starts))
        batch = prepared.batch(prior)
        if not batch.rows:
            hint = "check the data, `nulls skip` and the choice of keys"
            raise WexError("no-events", "there are no events, so there is nothing to draw", hint)
        if windows is not None:
            table = table_of(windows)
            return StreamWindows(filled, batch, *fitted(filled, batch, table))
        reported = engine.find(batch, prior, last=True)
    return StreamWindows(filled, batch, reported.windows, reported.streams)


# --- Windows that were found elsewhere


def window_fields(spec: tree.Spec) -> dict[str, Type]:
    """Return the columns of a table of windows and their types."""
    meaning = meaning_of(spec)
    fields = {name.text: meaning.fields[name.text] for name in spec.stream.partition_by}
    fields |= {"window_name": STRING, "start_index": INT, "end_index": INT}
    if spec.stream.order_by:
        time = meaning.fields[spec.stream.order_by[0].text]
        fields |= {"window_start": time, "window_end": time}
    for measures in meaning.measures:
        for name, type_ in measures.items():
            # The language has no fields of the other types: they pass through as they are.
            fields[name] = type_ if type_.name in FIELD_TYPES and type_ != STRING else OTHER
    return fields


def fitted(spec: tree.Spec, batch: Batch, windows: pa.Table) -> tuple[pa.Table, Ints]:
    """Return windows that were found elsewhere, and their streams; a DataError if they do not fit."""
    fields, keys = meaning_of(spec).fields, batch.keys
    times = ("window_start", "window_end") if spec.stream.order_by else ()
    for name in (*keys, "window_name", "start_index", "end_index", *times):
        check_column(name, windows.column_names)
    names = {window.name.text for window in spec.windows}
    for name in pc.unique(windows.column("window_name")).to_pylist():
        if name not in names:
            hint = did_you_mean(str(name), sorted(names), "the windows of the spec are")
            raise _unfit(f"there is a window called `{name}`, which the spec does not have", hint)
    owners = np.zeros(windows.num_rows, dtype=np.int64)
    if keys:
        owners = _owners(conform(windows, {name: fields[name] for name in keys}), batch)
    _refuse(windows, owners < 0, "no event has its key")
    start, end = (windows.column(name).cast(pa.int64()).to_numpy() for name in _PLACES)
    size = (batch.end - batch.first)[owners]
    _refuse(windows, (start < 0) | (start > end), "its start_index and end_index are no range")
    _refuse(windows, end >= size, "it ends behind the last event of its stream")
    if times:
        order = spec.stream.order_by[0].text
        for name, place in zip(times, (start, end), strict=True):
            there = batch.table.column(order).take(pa.array(batch.first[owners] + place))
            same = pc.equal(windows.column(name).cast(there.type), there).to_numpy()
            _refuse(windows, ~same, f"its {name} is not the {order} of its event")
    return windows, owners


_PLACES = ("start_index", "end_index")


def _owners(keys: pa.Table, batch: Batch) -> Ints:
    """Return the stream of each row of keys, or -1."""
    first = pa.array(batch.first)
    own = [batch.table.column(name).take(first).to_pylist() for name in keys.column_names]
    number = {_comparable(key): at for at, key in enumerate(zip(*own, strict=True))}
    given = zip(*(column.to_pylist() for column in keys.columns), strict=True)
    return np.array([number.get(_comparable(key), -1) for key in given], dtype=np.int64)


def _comparable(key: Sequence[object]) -> tuple[object, ...]:
    """Return a key in which NaN equals NaN."""
    return tuple("NaN" if value != value else value for value in key)  # noqa: PLR0124


def _refuse(windows: pa.Table, wrong: NDArray[np.bool_], why: str) -> None:
    count = int(wrong.sum())
    if not count:
        return
    row = windows.slice(int(np.argmax(wrong)), 1)
    shown = ", ".join(
        f"{name} {text}" for name, text in zip(row.column_names, next(shown_rows(row)), strict=True)
    )
    raise _unfit(f"{count:,} of {windows.num_rows:,} windows do not fit: {why} ({shown})")


def _unfit(message: str, hint: str | None = None) -> DataError:
    usual = "give the events and the spec that these windows were found with"
    return DataError("windows-unfit", message, hint or usual)
