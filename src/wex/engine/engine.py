"""A plan at work: a sorted batch and what was remembered in, windows and what is remembered out.

The stages of a batch, in their order:

1. events by themselves: order, NULLs, enums (`checks`)
2. letters: the guards over blocks of columns (`letters`, `truths`, `values`)
3. the promise: does each stream stay as it is assumed to be (`promised`)
4. windows: the machine of each window over all streams (`window`, `machines`, `kernels`)
5. measures: folds over panes, `having`, `keep` (`measuring`, `aggregates`, `panes`)
6. results: a table of windows in their order, and the state after the batch

If a stage finds a fault in the data, `faults` finds out which one comes first.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.compile.planning import plan_of
from wex.engine.assumption_check import Promised
from wex.engine.data_errors import FaultError, first_fault
from wex.engine.eval.letters import Lettering
from wex.engine.input.batch import Batch, BatchView
from wex.engine.input.columns import joined, spans, taken
from wex.engine.input.event_checks import check_events
from wex.engine.machines.choose import MOST_CONFIGS
from wex.engine.measures.results import measure_types, stored_as
from wex.engine.state import schema
from wex.engine.state.state import State
from wex.engine.window_run import Found, Running, Window
from wex.spec.types import REAL
from wex.theory.terms import offsets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.compile.plan import Plan
    from wex.engine.arrays import Ints
    from wex.spec import tree


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
        self.missing = [name for name in self.fields if name in self.guarded]  # never NULL or NaN
        self._floats = [name for name in self.missing if self.fields[name] == REAL]
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
        columns = {}
        if keys is not None:
            columns = {schema.key(name): keys.column(name) for name in self.stream.partition_by}
        initial = schema.stream_columns(len(self.windows))
        filled = {
            value: pa.array(np.full(count, value, dtype=np.int64)) for value in initial.values()
        }
        columns |= {name: filled[value] for name, value in initial.items()}
        lists = schema.list_names(len(self.windows))
        return State(pa.table(columns), {name: pa.table({}) for name in lists})

    def run(self, batch: Batch, prior: State, *, last: bool) -> tuple[pa.Table, State | None]:
        """Return the windows that a batch reports, and the state after it, if it is not the last."""
        try:
            running, found, columns = self._work(batch, prior, last=last)
        except FaultError as fault:
            raise first_fault(self._work, batch, prior, fault, last=last) from None
        lists = {}
        if not last:
            for window, run in enumerate(running):
                lists[schema.held(window)], numbers = run.held()
                columns |= {name: pa.array(column) for name, column in numbers.items()}
        table = self._table(batch, found)
        return table, None if last else self._after(batch, prior, columns, lists)

    def _work(
        self, batch: Batch, prior: State, *, last: bool
    ) -> tuple[list[Running], list[Found], dict[str, pa.Array]]:
        """Return each window at work, what it has found, and the promise; or raise a FaultError."""
        check_events(self, batch)
        codes = self._lettering.read(batch, self._floats)
        columns: dict[str, pa.Array] = {}
        if self.promised is not None:
            states = prior.numbers(schema.ASSUMPTION)
            columns[schema.ASSUMPTION] = pa.array(self.promised.check(batch, states))
        rows = BatchView(batch, self.guarded)
        running = [
            Running(self, window, at, batch, rows, prior, last=last)
            for at, window in enumerate(self.windows)
        ]
        return running, self._all_windows(running, codes), columns

    def check(self, batch: Batch, promises: Ints) -> Ints:
        """Return the promise of each stream after a batch; a DataError where an event is at fault."""
        self._lettering.read(batch, self._floats)
        return promises if self.promised is None else self.promised.check(batch, promises)

    @staticmethod
    def _all_windows(running: list[Running], codes: Sequence[NDArray[np.generic]]) -> list[Found]:
        """Return the windows of each window; several at a time, where there is much to do."""
        if len(running) == 1 or running[0].batch.rows < SIDE_BY_SIDE:
            return [each.windows(codes[at]) for at, each in enumerate(running)]
        with ThreadPoolExecutor(min(len(running), os.cpu_count() or 1)) as pool:
            # A thread has no limits but the usual ones, unless it runs in a copy of this context.
            tasks = [
                pool.submit(copy_context().run, each.windows, codes[at])
                for at, each in enumerate(running)
            ]
            return [each.result() for each in tasks]

    def _after(
        self, batch: Batch, prior: State, columns: dict[str, pa.Array], lists: dict[str, pa.Table]
    ) -> State:
        position = batch.position + batch.end - batch.begin
        kept = np.minimum(batch.end - batch.first, self.tail)
        places = spans(batch.end - kept, batch.end)
        columns |= {schema.POSITION: pa.array(position), schema.count(schema.TAIL): pa.array(kept)}
        streams = prior.streams
        for name, column in columns.items():
            streams = streams.set_column(streams.column_names.index(name), name, column)
        return State(streams, {schema.TAIL: batch.table.take(pa.array(places)), **lists})

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
                stored_as(each.measures[name], type_)
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
