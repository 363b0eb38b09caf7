"""A plan at work: a sorted batch and what was remembered in, windows and what is remembered out.

The stages of a batch, in their order:

1. letters: the guards over blocks of columns (`letters`, `truths`, `values`)
2. the promise: does each stream stay as it is assumed to be (`promised`)
3. windows: the machine of each window over all streams (`machines`, `kernels`)
4. measures: folds over panes, `having`, `keep` (`measuring`, `aggregates`, `panes`)
5. results: a table of windows in their order, and the state after the batch
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.aggregates import Result
from wex.engine.arrays import joined, nothing, spans, taken, whole
from wex.engine.batch import Batch, Whole
from wex.engine.data_errors import arithmetic_error
from wex.engine.kernels.arrays import plain
from wex.engine.kernels.disjoint import keep_disjoint
from wex.engine.kernels.lent import owners_of
from wex.engine.kernels.shapes import Segments
from wex.engine.letters import Lettering
from wex.engine.machines import MOST_CONFIGS, machine_of
from wex.engine.measuring import Measuring
from wex.engine.panes import Panes, Ranges
from wex.engine.promised import Promised
from wex.engine.results import measure_types, stored_as
from wex.engine.state import COUNT, KEY, State
from wex.spec.types import REAL
from wex.theory.terms import offsets
from wex.windows.planning import plan_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.spec import tree
    from wex.windows.plan import Plan, PlannedWindow

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

SIDE_BY_SIDE = 1 << 18  # rows from which on several windows run side by side


@lru_cache(maxsize=64)
def engine_of(spec: tree.Spec) -> Engine:
    """Return the engine that runs a spec."""
    return Engine(plan_of(spec))


class Engine:
    """A plan, ready to run; it holds nothing about streams."""

    def __init__(self, plan: Plan, most_configs: int = MOST_CONFIGS) -> None:
        self.plan, self.stream = plan, plan.stream
        self.fields = dict(plan.stream.fields)
        self.guarded = frozenset(plan.stream.guarded)
        self._floats = [
            name for name, type_ in self.fields.items() if type_ == REAL and name in self.guarded
        ]
        self.windows = [Window(each, most_configs) for each in plan.windows]
        readers = [(each.planned.letters, each.first, each.planned.pad) for each in self.windows]
        self._lettering = Lettering(plan, readers, coded=True)
        self.promised = Promised(plan) if plan.promise else None
        looks = [-offset for guard in plan.guards for offset in offsets(guard)]
        looks += [measure.lookback() for each in plan.windows for measure in each.measures]
        self.tail = max([1, *looks])  # events of a stream that are kept to look back at
        kinds = "".join(each.machine.kind[0] for each in self.windows)
        self.fingerprint = f"{plan.fingerprint}-{kinds}-{most_configs}"

    def fresh(self, count: int, keys: pa.Table | None = None) -> State:
        """Return the state of streams of which no event was seen; with their keys, if need be."""
        zeros = pa.array(np.zeros(count, dtype=np.int64))
        names = ["position", "promise", f"{COUNT}tail"]
        for at in range(len(self.windows)):
            names += [f"state.{at}", f"last.{at}", f"{COUNT}held.{at}"]
        numbers = dict.fromkeys(names, zeros)
        none = pa.array(np.full(count, -1, dtype=np.int64))
        numbers |= {f"last.{at}": none for at in range(len(self.windows))}
        named = (
            {}
            if keys is None
            else {KEY + name: keys.column(name) for name in self.stream.partition_by}
        )
        lists = ["tail", *(f"held.{at}" for at in range(len(self.windows)))]
        return State(pa.table({**named, **numbers}), {name: pa.table({}) for name in lists})

    def run(self, batch: Batch, prior: State, *, last: bool) -> tuple[pa.Table, State | None]:
        """Return the windows that a batch reports, and the state after it, if it is not the last."""
        codes = self._lettering.read(batch, self._floats)
        columns: dict[str, pa.Array] = {}
        if self.promised is not None:
            columns["promise"] = pa.array(self.promised.check(batch, prior.numbers("promise")))
        rows = Whole(batch, self.guarded)
        running = [
            Running(self, window, at, batch, rows, prior, last=last)
            for at, window in enumerate(self.windows)
        ]
        found = self._all_windows(running, codes)
        lists = {}
        if not last:
            for at, each in enumerate(running):
                lists[f"held.{at}"], numbers = each.held()
                columns |= {f"{name}.{at}": pa.array(numbers[name]) for name in ("state", "last")}
                columns[f"{COUNT}held.{at}"] = pa.array(numbers["count"])
        table = self._table(batch, found)
        return table, None if last else self._after(batch, prior, columns, lists)

    @staticmethod
    def _all_windows(running: list[Running], codes: Sequence[NDArray[np.generic]]) -> list[Found]:
        """Return the windows of each window; several at a time, where there is much to do."""
        if len(running) == 1 or running[0].batch.rows < SIDE_BY_SIDE:
            return [each.windows(codes[at]) for at, each in enumerate(running)]
        with ThreadPoolExecutor(min(len(running), os.cpu_count() or 1)) as pool:
            return list(pool.map(Running.windows, running, codes))

    def _after(
        self, batch: Batch, prior: State, columns: dict[str, pa.Array], lists: dict[str, pa.Table]
    ) -> State:
        position = batch.position + batch.end - batch.begin
        kept = np.minimum(batch.end - batch.first, self.tail)
        places = spans(batch.end - kept, batch.end)
        columns |= {"position": pa.array(position), f"{COUNT}tail": pa.array(kept)}
        streams = prior.streams
        for name, column in columns.items():
            streams = streams.set_column(streams.column_names.index(name), name, column)
        return State(streams, {"tail": batch.table.take(pa.array(places)), **lists})

    # --- Results

    def _table(self, batch: Batch, found: list[Found]) -> pa.Table:
        order = _order(found)
        streams = _joined([each.streams for each in found], order)
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        for name in self.stream.partition_by:
            columns[name] = batch.table.column(name).take(pa.array(batch.first[streams]))
        names = pa.array([each.planned.name for each in self.windows], pa.string())
        if len(found) == 1:
            columns["window_name"] = pa.repeat(names[0], len(streams))
        else:
            sizes = [len(each.streams) for each in found]
            places = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
            columns["window_name"] = pa.DictionaryArray.from_arrays(
                pa.array(places[order]), names
            ).dictionary_decode()
        columns["start_index"] = pa.array(_joined([each.starts for each in found], order))
        columns["end_index"] = pa.array(_joined([each.ends for each in found], order))
        if self.stream.order_by:
            for name, part in (("window_start", 0), ("window_end", 1)):
                columns[name] = _sorted([each.times[part] for each in found], order)
        measures = [measure for each in self.plan.windows for measure in each.measures]
        for name, type_ in measure_types(measures, batch.table.schema).items():
            parts = [
                stored_as(each.measures[name], type_, name)
                if name in each.measures
                else pa.nulls(len(each.streams), type_)
                for each in found
            ]
            columns[name] = _sorted(parts, order)
        return pa.table(columns)


def _order(found: list[Found]) -> Ints | None:
    """Return the order of windows: by stream, report, place in the spec, start; None: as they are."""
    if len(found) == 1:
        return None
    # Sorting what is sorted in parts is merging, for this kind of sort; earlier parts come first.
    return np.argsort(np.concatenate([each.reported for each in found]), kind="stable")


def _sorted(parts: list[pa.Array], order: Ints | None) -> pa.Array:
    return joined(parts) if order is None else taken(joined(parts), order)


def _joined(parts: list[Ints], order: Ints | None) -> Ints:
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return whole if order is None else whole[order]


@dataclass(frozen=True, eq=False)
class Found:
    """The windows of a batch: stream, positions of start and end, what they are sorted by, and so on."""

    streams: Ints
    starts: Ints
    ends: Ints
    reported: Ints
    times: tuple[pa.Array, ...]  # the first order column at both ends, if there is one
    measures: dict[str, Result]


class Window:
    """A window of a plan with its machine and its measures."""

    def __init__(self, planned: PlannedWindow, most_configs: int) -> None:
        self.planned = planned
        self.first = 0 if planned.pad else planned.lookback
        self.machine = machine_of(planned, most_configs)
        self.measuring = Measuring(planned)
        # `keep` decides in the machine, or after `having` has been asked.
        self.keeps_late = planned.having is not None and planned.keep != "all"


class Running:
    """One window over one batch."""

    def __init__(
        self,
        engine: Engine,
        window: Window,
        at: int,
        batch: Batch,
        rows: Whole,
        prior: State,
        *,
        last: bool,
    ) -> None:
        self.engine, self.window, self.batch, self.prior = engine, window, batch, prior
        self.at, self.last_batch = at, last
        self.carried = prior.lists[f"held.{at}"]
        self.counts = prior.counts(f"held.{at}")
        self.last_end = prior.numbers(f"last.{at}")
        if not self.carried.num_columns:
            self.carried = self._no_starts(rows)
        self.panes = Panes(batch, self.counts)
        self.measured = (
            window.measuring.lift(rows, self.panes, self.carried)
            if window.measuring.measures
            else None
        )
        self.clock = self._clock()

    def _no_starts(self, rows: Whole) -> pa.Table:
        columns = {"position": pa.int64(), "slot": pa.int64(), "clock": pa.int64()}
        if self.engine.stream.order_by:
            columns["time"] = self.batch.table.schema.field(self.engine.stream.order_by[0]).type
        columns |= self.window.measuring.types(rows)
        return pa.table({name: nothing(type_) for name, type_ in columns.items()})

    def _clock(self) -> Ints:
        """Return by row what `within` measures; nothing, if there is no `within`."""
        if self.window.planned.within_events is not None:
            return self.batch.positions
        if self.window.planned.within_time is not None:
            found: Ints = self.batch.array(self.engine.stream.order_by[0])  # type: ignore[assignment]
            return found
        return np.empty(0, dtype=np.int64)

    # --- Windows

    def windows(self, codes: NDArray[np.generic]) -> Found:
        """Return the windows that the batch reports."""
        batch, panes = self.batch, self.panes
        begin = batch.begin
        if self.window.first and batch.position.min(initial=self.window.first) < self.window.first:
            begin = self.window.first - batch.position
            np.maximum(begin, 0, out=begin)
            begin += batch.begin
            np.minimum(begin, batch.end, out=begin)
        held = np.zeros(len(self.counts) + 1, dtype=np.int64)
        if self.carried.num_rows:
            np.cumsum(self.counts, out=held[1:])
        segments = Segments(
            begin,
            batch.end,
            panes.shift,
            self.prior.numbers(f"state.{self.at}"),
            held,
            panes.held,
            self.carried.column("clock").to_numpy(),
            self.carried.column("slot").to_numpy(),
        )
        self.ran = self.window.machine.run(codes, self.clock, segments, last=self.last_batch)
        return self._found(self.ran.start, self.ran.end, self.ran.owners)

    def _found(self, start: Ints, end: Ints, streams: Ints) -> Found:
        positions = self._positions(start, streams)
        ends = _moved(end, streams, self.batch.position, self.batch.begin)

        def fail(window: int, message: str, measure: str | None) -> Exception:
            key = self.batch.key(int(streams[window]))
            return arithmetic_error(message, measure, key, int(positions[window]))

        measures: dict[str, Result] = {}
        if self.measured is not None:
            high = _moved(end, streams, self.panes.shift) + 1
            ranges = Ranges(start, high)
            measures = self.measured.measures(ranges, fail)
        keep = self.window.measuring.kept(measures, len(start), fail)
        if self.window.keeps_late and keep is not None:
            keep = self._keep_late(keep, start, positions, ends, streams)
        if keep is not None and not keep.all():
            start, end, streams, positions, ends = (
                each[keep] for each in (start, end, streams, positions, ends)
            )
            measures = {name: _chosen(each, keep) for name, each in measures.items()}
        # Rows ascend through all streams. A report at the end of a stream has no row: the streams
        # are set apart by one, so that it does not fall on the first row of the next.
        reported = end + streams + (self.window.planned.until is not None)
        return Found(streams, positions, ends, reported, self._times(start, end), measures)

    def _positions(self, panes: Ints, streams: Ints) -> Ints:
        """Return the positions of starts in their streams."""
        batch = self.batch
        found = _moved(panes, streams, batch.position, batch.begin, self.panes.shift)
        if self.carried.num_rows:
            zeros = np.zeros_like(batch.begin)
            old = np.flatnonzero(_moved(panes, streams, zeros, batch.begin, self.panes.shift) < 0)
            found = found.copy()
            found[old] = self.carried.column("position").to_numpy()[self._held_number(panes[old])]
        return found

    def _held_number(self, panes: Ints) -> Ints:
        """Return the numbers, among the starts carried over, of panes that are carried over."""
        return np.searchsorted(self.panes.held, panes)

    def _times(self, start: Ints, end: Ints) -> tuple[pa.Array, ...]:
        if not self.engine.stream.order_by:
            return ()
        column = whole(self.batch.table.column(self.engine.stream.order_by[0]))
        begins = self.panes.spread_column(column, whole(self.carried.column("time")))
        return taken(begins, start), taken(column, end)

    def _keep_late(
        self, keep: Bools, start: Ints, positions: Ints, ends: Ints, streams: Ints
    ) -> Bools:
        """Return which of the windows that satisfy `having` the clause `keep` lets through."""
        chosen = np.flatnonzero(keep)
        result = np.zeros_like(keep)
        if self.window.planned.keep == "shortest":
            _, first = np.unique(start[chosen], return_index=True)
        elif self.window.planned.keep == "longest":
            same = (np.diff(ends[chosen]) == 0) & (np.diff(streams[chosen]) == 0)
            first = np.flatnonzero(np.concatenate([[True], ~same])[: len(chosen)])
        else:
            kept, self.last_end = keep_disjoint(
                streams[chosen], positions[chosen], ends[chosen], plain(self.last_end)
            )
            first = np.flatnonzero(kept)
        result[chosen[first]] = True
        if self.window.planned.keep == "shortest":
            self.spent = start[result]
        return result

    spent: Ints = np.empty(0, dtype=np.int64)

    # --- What is left

    def held(self) -> tuple[pa.Table, dict[str, Ints]]:
        """Return the starts that are open after the batch, and numbers for each stream."""
        pane, slot = self.ran.pane, self.ran.slot
        streams = owners_of(self.ran.kept, len(pane))
        positions = self._positions(pane, streams)
        if self.window.keeps_late:
            left = (positions > self.last_end[streams]) & ~np.isin(pane, self.spent)
            pane, slot, streams, positions = (
                each[left] for each in (pane, slot, streams, positions)
            )
        sizes = np.bincount(streams, minlength=len(self.counts)).astype(np.int64)
        columns = {
            "position": pa.array(positions),
            "slot": pa.array(slot),
            "clock": pa.array(self._clocks(pane, streams)),
        }
        if self.engine.stream.order_by:
            column = whole(self.batch.table.column(self.engine.stream.order_by[0]))
            begins = self.panes.spread_column(column, whole(self.carried.column("time")))
            columns["time"] = taken(begins, pane)
        if self.measured is not None:
            following = np.append(pane[1:], 0)
            ends = (self.batch.end + self.panes.shift)[streams]
            last_of_stream = np.append(streams[1:] != streams[:-1], True)[: len(pane)]
            high = np.where(last_of_stream, ends, following[: len(pane)])
            columns |= self.measured.keep(Ranges(pane, high))
        numbers = {"state": self.ran.state, "last": self.last_end, "count": sizes}
        return pa.table(columns), numbers

    def _clocks(self, panes: Ints, streams: Ints) -> Ints:
        if not len(self.clock):
            return np.zeros(len(panes), dtype=np.int64)
        rows = panes - self.panes.shift[streams]
        old = rows < self.batch.begin[streams]
        found = self.clock[np.where(old, 0, rows)].copy()
        if old.any():
            found[old] = self.carried.column("clock").to_numpy()[self._held_number(panes[old])]
        return found


def _moved(numbers: Ints, streams: Ints, up: Ints, *down: Ints) -> Ints:
    """Return numbers, each moved up and down by what its stream says."""
    if len(up) == 1:
        by = int(up[0] - sum(each[0] for each in down))
        return numbers + by if by else numbers
    found = numbers + up[streams]
    for each in down:
        found -= each[streams]
    return found


def _chosen(result: Result, keep: Bools) -> Result:
    values = result.values
    chosen = values.filter(pa.array(keep)) if isinstance(values, pa.Array) else values[keep]
    return Result(chosen, None if result.known is None else result.known[keep])
