"""A plan at work: a sorted batch and what was remembered in, windows and what is remembered out.

The stages of a batch, in their order:

1. letters: the guards over blocks of columns (`letters`, `truths`, `values`)
2. the promise: does each stream stay as it is assumed to be (`promised`)
3. windows: the machine of each window over all streams (`machines`, `kernels`)
4. measures: folds over panes, `having`, `keep` (`measuring`, `aggregates`, `panes`)
5. results: a table of windows in their order, and the state after the batch
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.aggregates import Result
from wex.engine.batch import Batch, Whole
from wex.engine.kernels.arrays import plain
from wex.engine.kernels.disjoint import keep_disjoint
from wex.engine.kernels.shapes import Segments
from wex.engine.letters import Lettering
from wex.engine.machines import MOST_CONFIGS, machine_of
from wex.engine.measuring import Measuring
from wex.engine.panes import Panes, Ranges, spans, taken
from wex.engine.promised import Promised
from wex.engine.results import measure_types, stored_as
from wex.engine.state import COUNT, State
from wex.engine.truths import arithmetic_error
from wex.theory.terms import offsets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.windows.plan import Plan, PlannedWindow

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


class Engine:
    """A plan, ready to run; it holds nothing about streams."""

    def __init__(self, plan: Plan, most_configs: int = MOST_CONFIGS) -> None:
        self.plan, self.stream = plan, plan.stream
        self.fields = dict(plan.stream.fields)
        self.guarded = frozenset(plan.stream.guarded)
        self.windows = [Window(each, most_configs) for each in plan.windows]
        readers = [(each.planned.letters, each.first, each.planned.pad) for each in self.windows]
        self._lettering = Lettering(plan, readers, coded=True)
        self.promised = Promised(plan) if plan.promise else None
        looks = [-offset for guard in plan.guards for offset in offsets(guard)]
        looks += [measure.lookback() for each in plan.windows for measure in each.measures]
        self.tail = max([1, *looks])  # events of a stream that are kept to look back at
        kinds = "".join(each.machine.kind[0] for each in self.windows)
        self.fingerprint = f"{plan.fingerprint}-{kinds}-{most_configs}"

    def fresh(self, keys: pa.Table) -> State:
        """Return the state of streams of which no event was seen."""
        zeros = pa.array(np.zeros(keys.num_rows, dtype=np.int64))
        names = ["position", "promise", f"{COUNT}tail"]
        for at in range(len(self.windows)):
            names += [f"state.{at}", f"last.{at}", f"{COUNT}held.{at}"]
        numbers = {name: zeros for name in names}
        for at in range(len(self.windows)):
            numbers[f"last.{at}"] = pa.array(np.full(keys.num_rows, -1, dtype=np.int64))
        named = {name: keys.column(name) for name in self.stream.partition_by}
        streams = pa.table({**named, **numbers})
        lists = {
            "tail": pa.table({}),
            **{f"held.{at}": pa.table({}) for at in range(len(self.windows))},
        }
        return State(streams, lists)

    def run(self, batch: Batch, prior: State, *, last: bool) -> tuple[pa.Table, State | None]:
        """Return the windows that a batch reports, and the state after it, if it is not the last."""
        codes = self._lettering.read(batch)
        columns: dict[str, pa.Array] = {}
        if self.promised is not None:
            columns["promise"] = pa.array(self.promised.check(batch, prior.numbers("promise")))
        rows = Whole(batch, self.guarded)
        found: list[Found] = []
        lists = {}
        for at, window in enumerate(self.windows):
            run = Running(self, window, at, batch, rows, prior, last=last)
            found.append(run.windows(codes[at]))
            if not last:
                lists[f"held.{at}"], numbers = run.held()
                columns |= {
                    f"{name}.{at}": pa.array(each)
                    for name, each in numbers.items()
                    if name != "count"
                }
                columns[f"{COUNT}held.{at}"] = pa.array(numbers["count"])
        table = self._table(batch, found)
        return table, None if last else self._after(batch, prior, columns, lists)

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
            columns["window_name"] = taken(
                names, _joined([np.repeat(np.arange(len(sizes)), sizes)], order)
            )
        columns["start_index"] = pa.array(_joined([each.starts for each in found], order))
        columns["end_index"] = pa.array(_joined([each.ends for each in found], order))
        if self.stream.order_by:
            for name, part in (("window_start", 0), ("window_end", 1)):
                whole = pa.concat_arrays([each.times[part] for each in found])
                columns[name] = whole if order is None else taken(whole, order)
        measures = [measure for each in self.plan.windows for measure in each.measures]
        for name, type_ in measure_types(measures, batch.table.schema).items():
            parts = [
                stored_as(each.measures[name], type_, name)
                if name in each.measures
                else pa.nulls(len(each.streams), type_)
                for each in found
            ]
            whole = pa.concat_arrays(parts) if len(parts) > 1 else parts[0]
            columns[name] = whole if order is None else taken(whole, order)
        return pa.table(columns)


def _order(found: list[Found]) -> Ints | None:
    """Return the order of windows: by stream, report, place in the spec, start; None: as they are."""
    if len(found) == 1:
        return None
    places = np.repeat(np.arange(len(found)), [len(each.streams) for each in found])
    reported = np.concatenate([each.reported for each in found])
    streams = np.concatenate([each.streams for each in found])
    return np.lexsort((places, reported, streams))


def _joined(parts: list[Ints], order: Ints | None) -> Ints:
    whole = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return whole if order is None else whole[order]


@dataclass(frozen=True, eq=False)
class Found:
    """The windows of a batch: stream, positions of start, end and report, times, measures."""

    streams: Ints
    starts: Ints
    ends: Ints
    reported: Ints
    times: tuple[pa.Array, pa.Array] | None
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
            if window.measuring.folds
            else None
        )
        self.clock = self._clock()

    def _no_starts(self, rows: Whole) -> pa.Table:
        columns = {"position": pa.int64(), "slot": pa.int64(), "clock": pa.int64()}
        if self.engine.stream.order_by:
            columns["time"] = self.batch.table.schema.field(self.engine.stream.order_by[0]).type
        columns |= self.window.measuring.types(rows)
        return pa.schema(columns).empty_table()

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
        begin = np.minimum(
            np.maximum(batch.begin, batch.begin + self.window.first - batch.position), batch.end
        )
        held = np.concatenate([[0], np.cumsum(self.counts)])
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
        sizes = np.diff(self.ran.found, prepend=0)
        return self._found(self.ran.start, self.ran.end, np.repeat(np.arange(len(sizes)), sizes))

    def _found(self, start: Ints, end: Ints, streams: Ints) -> Found:
        positions = self._positions(start, streams)
        ends = end + (self.batch.position - self.batch.begin)[streams]

        def fail(window: int, message: str, measure: str | None) -> Exception:
            key = self.batch.key(int(streams[window]))
            return arithmetic_error(message, measure, key, int(positions[window]))

        measures: dict[str, Result] = {}
        if self.measured is not None:
            ranges = Ranges(start, end + self.panes.shift[streams] + 1, self.panes.count)
            measures = self.measured.measures(ranges, fail)
        keep = self.window.measuring.kept(measures, len(start), fail)
        if self.window.keeps_late and keep is not None:
            keep = self._keep_late(keep, start, positions, ends, streams)
        if keep is not None and not keep.all():
            start, end, streams, positions, ends = (
                each[keep] for each in (start, end, streams, positions, ends)
            )
            measures = {name: _chosen(each, keep) for name, each in measures.items()}
        reported = ends if self.window.planned.until is None else ends + 1
        return Found(streams, positions, ends, reported, self._times(start, end), measures)

    def _positions(self, panes: Ints, streams: Ints) -> Ints:
        """Return the positions of starts in their streams."""
        batch = self.batch
        rows = panes - self.panes.shift[streams]
        found: Ints = rows + (batch.position - batch.begin)[streams]
        if self.carried.num_rows:
            old = np.flatnonzero(rows < batch.begin[streams])
            found[old] = self.carried.column("position").to_numpy()[self._held_number(panes[old])]
        return found

    def _held_number(self, panes: Ints) -> Ints:
        """Return the numbers, among the starts carried over, of panes that are carried over."""
        return np.searchsorted(self.panes.held, panes)

    def _times(self, start: Ints, end: Ints) -> tuple[pa.Array, pa.Array] | None:
        if not self.engine.stream.order_by:
            return None
        column = _whole(self.batch.table.column(self.engine.stream.order_by[0]))
        begins = self.panes.spread_column(column, _whole(self.carried.column("time")))
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
        sizes = np.diff(self.ran.kept, prepend=0)
        streams = np.repeat(np.arange(len(sizes)), sizes)
        positions = self._positions(pane, streams)
        if self.window.keeps_late:
            left = (positions > self.last_end[streams]) & ~np.isin(pane, self.spent)
            pane, slot, streams, positions = (
                each[left] for each in (pane, slot, streams, positions)
            )
        sizes = np.bincount(streams, minlength=len(sizes)).astype(np.int64)
        columns = {
            "position": pa.array(positions),
            "slot": pa.array(slot),
            "clock": pa.array(self._clocks(pane, streams)),
        }
        if self.engine.stream.order_by:
            column = _whole(self.batch.table.column(self.engine.stream.order_by[0]))
            begins = self.panes.spread_column(column, _whole(self.carried.column("time")))
            columns["time"] = taken(begins, pane)
        if self.measured is not None:
            following = np.append(pane[1:], 0)
            ends = (self.batch.end + self.panes.shift)[streams]
            last_of_stream = np.append(streams[1:] != streams[:-1], True)[: len(pane)]
            high = np.where(last_of_stream, ends, following[: len(pane)])
            columns |= self.measured.keep(Ranges(pane, high, self.panes.count))
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


def _whole(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.nulls(0, column.type)


def _chosen(result: Result, keep: Bools) -> Result:
    values = result.values
    chosen = values.filter(pa.array(keep)) if isinstance(values, pa.Array) else values[keep]
    return Result(chosen, None if result.known is None else result.known[keep])
