"""Windows that cross the borders of ranges: open starts, joined with the ends of phantoms.

Along the ranges a start moves from state to state with the phantom that stands for it. Its windows are
those of these phantoms. Their measures are folded over the panes of all ranges on the way, in the
order of the stream.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wex.engine.data_errors import FaultError, arithmetic_error, does_not_fit
from wex.engine.input.batch import Batch, BatchView
from wex.engine.input.columns import concat_arrays, spans, take
from wex.engine.measures.panes import Panes, Ranges
from wex.engine.measures.results import chosen_result, joined_results, too_far
from wex.engine.ranges.range_run import END, Places
from wex.engine.state import schema
from wex.engine.window_run import FoundWindows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.engine.arrays import Bools, Ints
    from wex.engine.engine import Engine
    from wex.engine.measures import Result
    from wex.engine.ranges.range_run import Border
    from wex.engine.window_run import Window


class Pairs(NamedTuple):
    """Starts and ends that belong together, by their numbers, in the order of ends and starts."""

    starts: Ints
    ends: Ints


def crossing_windows(
    engine: Engine, window: Window, batch: Batch, borders: Sequence[Border]
) -> tuple[FoundWindows, Ints]:
    """Return the windows of a stream that cross borders of its ranges, and the ranges they end in.

    `reported` are positions of the stream. Measures that fail are a FaultError.
    """
    starts = _joined([border.starts for border in borders])
    ends = _joined([border.ends for border in borders])
    pairs = _pairs(borders, starts, ends, window.machine.clauses.limit)
    ranges = np.repeat(np.arange(len(borders)), [len(border.ends.state) for border in borders])
    first, last = starts.position[pairs.starts], ends.position[pairs.ends]
    measures, kept = _measured(engine, window, batch, borders, first, last)
    if kept is not None and not kept.all():
        measures = {name: chosen_result(result, kept) for name, result in measures.items()}
        pairs = Pairs(pairs.starts[kept], pairs.ends[kept])
        first, last = first[kept], last[kept]
    for measure in window.planned.measures:
        bad = too_far(measures[measure.name], measure.type)
        if bad is not None:
            error = does_not_fit(pa.date32(), measure.name, (), int(first[np.argmax(bad)]))
            raise FaultError(error, 0, 0)
    times: tuple[pa.Array, ...] = ()
    if starts.time is not None and ends.time is not None:
        times = take(starts.time, pairs.starts), take(ends.time, pairs.ends)
    reported = last + (window.planned.until is not None)
    streams = np.zeros(len(first), dtype=np.int64)
    return FoundWindows(streams, first, last, reported, times, measures), ranges[pairs.ends]


def _joined(parts: Sequence[Places]) -> Places:
    times = [part.time for part in parts if part.time is not None]
    return Places(
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.state for part in parts]),
        np.concatenate([part.clock for part in parts]),
        concat_arrays(times) if times else None,
    )


def _pairs(borders: Sequence[Border], starts: Places, ends: Places, limit: int) -> Pairs:
    """Return which starts end where, following the phantoms from range to range."""
    is_open = np.empty(0, dtype=np.int64)  # starts, by number
    states = np.empty(0, dtype=np.int64)
    parts = []
    starts_before = ends_before = 0
    for border in borders:
        own_ends = np.arange(ends_before, ends_before + len(border.ends.state))
        if len(is_open) and len(own_ends):
            parts.append(_meeting(is_open, states, own_ends, border.ends.state))
        is_open, states = moved(is_open, states, border.passed)
        opened = np.arange(starts_before, starts_before + len(border.starts.state))
        is_open = np.concatenate([is_open, opened])
        states = np.concatenate([states, border.starts.state])
        starts_before, ends_before = starts_before + len(opened), ends_before + len(own_ends)
    none = np.empty(0, dtype=np.int64)
    pairs = Pairs(
        np.concatenate([none, *(part.starts for part in parts)]),
        np.concatenate([none, *(part.ends for part in parts)]),
    )
    if limit >= 0:
        then, now = starts.clock[pairs.starts], ends.clock[pairs.ends]
        # Times may lie up to 2^64 apart; as unsigned numbers their difference is right.
        in_time = now.view(np.uint64) - then.view(np.uint64) <= np.uint64(limit)
        pairs = Pairs(pairs.starts[in_time], pairs.ends[in_time])
    order = np.lexsort((starts.position[pairs.starts], ends.position[pairs.ends]))
    return Pairs(pairs.starts[order], pairs.ends[order])


def _meeting(is_open: Ints, states: Ints, ends: Ints, end_states: Ints) -> Pairs:
    """Return all pairs of a start and an end in one state."""
    order = np.argsort(states, kind="stable")
    low = np.searchsorted(states[order], end_states, side="left")
    high = np.searchsorted(states[order], end_states, side="right")
    return Pairs(is_open[order[spans(low, high)]], np.repeat(ends, high - low))


def moved(is_open: Ints, states: Ints, passed: tuple[Ints, Ints]) -> tuple[Ints, Ints]:
    """Return the starts that are still open after a range, and their states then."""
    before, after = passed
    order = np.argsort(before)
    place = np.minimum(np.searchsorted(before[order], states), max(len(before) - 1, 0))
    if not len(before):
        return is_open[:0], states[:0]
    left = before[order][place] == states
    return is_open[left], after[order][place][left]


# --- Measures


def _measured(
    engine: Engine,
    window: Window,
    batch: Batch,
    borders: Sequence[Border],
    first: Ints,
    last: Ints,
) -> tuple[dict[str, Result], Bools | None]:
    """Return the measures of windows from and to some positions, and which satisfy `having`."""

    def fail(number: int, why: str, measure: str | None) -> Exception:
        return FaultError(arithmetic_error(why, measure, (), int(first[number])), 0, 0)

    measures: dict[str, Result] = {}
    if window.measuring.measures:
        panes = pa.concat_tables([border.panes for border in borders]).combine_chunks()
        none = np.zeros(1, dtype=np.int64)
        empty = Batch(batch.table.slice(0, 0), batch.fields, batch.keys, none, none, none, none)
        rows = BatchView(empty, engine.guarded - engine.nullable)
        carried = Panes(empty, np.array([panes.num_rows]))
        folds = window.measuring.lift(rows, carried, panes)
        low = np.searchsorted(panes.column(schema.POSITION).to_numpy(), first)
        high = np.searchsorted(panes.column(END).to_numpy(), last + 1) + 1
        measures = folds.measures(Ranges(low, high), fail)
    return measures, window.measuring.kept(measures, len(first), fail)


# --- Beside the windows of a range


def merged(parts: Sequence[FoundWindows]) -> FoundWindows:
    """Return windows in the order of their reports; of one report, those of earlier parts first."""
    order = np.argsort(np.concatenate([part.reported for part in parts]), kind="stable")
    if len(parts) == 1:
        return parts[0]
    joined = joined_results([part.measures for part in parts])
    times = zip(*(part.times for part in parts), strict=True)
    whole = FoundWindows(
        np.concatenate([part.streams for part in parts]),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.ends for part in parts]),
        np.concatenate([part.reported for part in parts]),
        tuple(concat_arrays(list(column)) for column in times),
        joined,
    )
    return some_windows(whole, order)


def some_windows(windows: FoundWindows, places: Ints | slice) -> FoundWindows:
    """Return some windows, in the order of the places given."""
    take_times = partial(_taken, places=places)
    return FoundWindows(
        windows.streams[places],
        windows.starts[places],
        windows.ends[places],
        windows.reported[places],
        tuple(map(take_times, windows.times)),
        {name: chosen_result(result, places) for name, result in windows.measures.items()},
    )


def _taken(column: pa.Array, places: Ints | slice) -> pa.Array:
    return column[places] if isinstance(places, slice) else take(column, places)
