"""The rows of windows, and the windows of rows, by the definition ("Rows", docs/semantics.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.input.columns import Data, conform, table_of
from wex.reference.find import all_windows, in_stream_order, result_table
from wex.reference.windows import Definition
from wex.spec import meaning as meaning_of
from wex.spec import tree

if TYPE_CHECKING:
    from wex.reference.find import Row
    from wex.spec import Meaning


def rows_by_definition(spec: tree.Spec, data: Data) -> pa.Table:
    """Return a row for every event of every window."""
    meaning = meaning_of(spec)
    events = in_stream_order(_numbered(data, meaning), meaning)
    windows = all_windows(meaning, events)
    pairs = [
        (window, position)
        for window in windows
        for position in range(window.window.start, window.window.end + 1)
    ]
    # The columns of the window, once for each of its events.
    about = result_table([window for window, _ in pairs], events, meaning)
    rows = [window.stream.rows[position] for window, position in pairs]
    passed = events.take(pa.array(rows, pa.int64()))
    columns = {name: about[name] for name in about.column_names[: _first_measure(meaning)]}
    columns["event_index"] = pa.array([position for _, position in pairs], pa.int64())
    if any(map(_has_labels, meaning.expanded.windows)):
        labels = [label for window in windows for label in _labels(meaning, window)]
        columns["label"] = pa.array(labels, pa.string())
    for name in ("row_index", *(name for name in passed.column_names if name != "row_index")):
        columns.setdefault(name, passed[name])
    columns |= {name: about[name] for name in about.column_names}
    ids = [window_id(window, about, at) for at, (window, _) in enumerate(pairs)]
    table = pa.table(columns)
    place = table.column_names.index("start_index")
    return table.add_column(place, "window_id", pa.array(ids, pa.string()))


def _has_labels(window: tree.Window) -> bool:
    return any(tree.labels_in(pair.match) for pair in window.pairs)


def _labels(meaning: Meaning, row: Row) -> list[str | None]:
    """Return the innermost label of each event of a window, or None."""
    window = row.window
    if not _has_labels(meaning.expanded.windows[row.place]):
        return [None] * (window.end - window.start + 1)
    definition = Definition(meaning, row.place, row.stream)
    return [own[-1] if own else None for own in definition.labels((window.start, window.end))]


def labels_by_definition(spec: tree.Spec, data: Data) -> pa.Table:
    """Return the data with the windows that each of its rows belongs to."""
    meaning = meaning_of(spec)
    events = in_stream_order(_numbered(data, meaning), meaning)
    numbers = events["row_index"].to_pylist()
    windows = all_windows(meaning, events)
    about = result_table(windows, events, meaning)
    names: list[list[str]] = [[] for _ in numbers]
    ids: list[list[str]] = [[] for _ in numbers]
    for at, window in enumerate(windows):
        for position in range(window.window.start, window.window.end + 1):
            row = numbers[window.stream.rows[position]]
            names[row].append(about["window_name"][at].as_py())
            ids[row].append(window_id(window, about, at))
    table = table_of(data)
    table = table.append_column("window_count", pa.array([len(own) for own in ids], pa.int64()))
    table = table.append_column("window_names", pa.array(names, pa.list_(pa.string())))
    return table.append_column("window_ids", pa.array(ids, pa.list_(pa.string())))


def _numbered(data: Data, meaning: Meaning) -> pa.Table:
    """Return the fields of the stream, the other columns of the data, and the number of each row."""
    table = table_of(data)
    events = conform(table, meaning.fields, [key.text for key in meaning.spec.stream.partition_by])
    for name in table.column_names:
        if name not in meaning.fields:
            events = events.append_column(name, table[name])
    return events.append_column("row_index", pa.array(range(table.num_rows), pa.int64()))


def _first_measure(meaning: Meaning) -> int:
    """Return how many columns of a window come before its measures."""
    stream = meaning.spec.stream
    return len(stream.partition_by) + (5 if stream.order_by else 3)


def window_id(window: Row, about: pa.Table, at: int) -> str:
    """Return the key, the name and the indices of a window as one text; row `at` of `about` has them."""
    names = (*about.column_names[: about.column_names.index("window_name")], "window_name")
    texts = [_text(about[name][at]) for name in names]
    return "/".join([*texts, f"{window.window.start}-{window.window.end}"])


def _text(value: pa.Scalar) -> str:
    if not value.is_valid:
        return r"\N"
    if pa.types.is_floating(value.type) and value.as_py() == 0:
        return "0"
    if pa.types.is_timestamp(value.type) and value.type.tz is not None:
        value = value.cast(pa.timestamp(value.type.unit, "UTC"))
    text: str = value.cast(pa.string()).as_py()
    return text.replace("\\", "\\\\").replace("/", "\\/")
