"""The engine: a plan that runs over a batch, (batch, prior state) → (windows, next state).

The stages of a batch, in their order:

1. events by themselves: order, NULLs, enums (`input/event_checks`)
2. letters: the guards over blocks of columns (`eval`)
3. assumptions: does each stream behave as `assume` says (`conformity`)
4. windows: the machine of each window over all streams (`window_run`, `machines`, `kernels`)
5. measures: folds over panes, `having`, `keep` (`measures`)
6. results: a table of windows in their order, and the next state

If a stage finds a fault in the data, `data_errors` finds the fault of the earliest event.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from wex.engine.arrays import ascending, empty, filled_with
from wex.engine.conformity import Conformity, ConformityCheck
from wex.engine.data_errors import FaultError, first_fault
from wex.engine.eval.letters import Lettering
from wex.engine.event_rows import event_rows, labels_in_order, oldest_starts
from wex.engine.input.batch import Batch, BatchView
from wex.engine.input.columns import MOST_TEXT, concat_arrays, repeated, spans, take
from wex.engine.input.event_checks import check_events
from wex.engine.kernels.scans import merge, write_texts
from wex.engine.kernels.types import Automata, read_only
from wex.engine.longest_run import LongestRun, is_searched
from wex.engine.machines.choose import MOST_CONFIGS
from wex.engine.machines.lanes import lane_groups, pays
from wex.engine.measures.results import measure_types, stored_as
from wex.engine.preferred_run import PreferredRun
from wex.engine.slices import run_in_slices
from wex.engine.state import schema
from wex.engine.state.state import WITH_ROWS, State
from wex.engine.tracked_run import TrackedRun
from wex.engine.window_run import Window, WindowRun
from wex.engine.workers import Workers, cores
from wex.spec.types import REAL
from wex.stages import plan_of
from wex.theory.terms import offsets
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from wex.compile.plan import Plan
    from wex.engine.arrays import Ints
    from wex.engine.machines.choose import Machine
    from wex.engine.machines.lanes import LaneGroup
    from wex.engine.machines.tracked import TrackedMachine
    from wex.engine.window_run import FoundWindows
    from wex.spec import tree


RUNS: dict[str, type[WindowRun]] = {"preferred": PreferredRun, "tracked": TrackedRun}
SIDE_BY_SIDE = 1 << 18  # rows of a batch from which on windows run in threads
MANY = 1 << 12  # windows from which on loading a kernel for their names pays


_threads = ContextVar("threads", default=1)


@contextmanager
def windows_in_threads(threads: int | None = None) -> Iterator[None]:
    """Let the windows of large batches run side by side, on so many threads; None: on all cores.

    Elsewhere they do not: a worker beside others has one core.
    """
    token = _threads.set(cores() if threads is None else threads)
    try:
        yield
    finally:
        _threads.reset(token)


@lru_cache(maxsize=64)
def engine_of(spec: tree.Spec) -> Engine:
    """Return the engine that runs a spec."""
    return Engine(plan_of(spec))


class Reported(NamedTuple):
    """The windows that a batch reports, a row each, with their streams in it, and the next state."""

    windows: pa.Table
    streams: Ints
    state: State | None  # None after the last batch
    labels: pa.Array | None = None  # of the events of all windows, if rows show them


class Engine:
    """A plan, ready to run. It has no state: the state of streams comes with each batch.

    With `rows`, `run` returns a row for every event of every window, and the states keep these events.
    """

    def __init__(self, plan: Plan, most_configs: int = MOST_CONFIGS, *, rows: bool = False) -> None:
        self.plan, self.stream, self.rows = plan, plan.stream, rows
        self.fields = dict(plan.stream.fields)
        self.guarded = frozenset(plan.stream.guarded)
        self.nullable = frozenset(plan.stream.nullable)
        guarded = [name for name in self.fields if name in self.guarded]
        self.never_null = [name for name in guarded if name not in self.nullable]
        self.never_nan = [name for name in guarded if self.fields[name] == REAL]
        self.windows = [Window(planned, plan, most_configs, rows=rows) for planned in plan.windows]
        self.labels = tuple(
            dict.fromkeys(
                name
                for window in self.windows
                if window.labels is not None
                for name in window.labels.form.names
            )
        )
        readers = [(window.letters, window.first, window.planned.pad) for window in self.windows]
        self._lettering = Lettering(plan, readers, coded=True)
        self.rated = bool(plan.rates)
        self.conformity_check = ConformityCheck(plan)
        lookbacks = [-offset for guard in plan.guards for offset in offsets(guard)]
        lookbacks += [measure.lookback() for window in plan.windows for measure in window.measures]
        self.tail = max([1, *lookbacks])  # events of a stream that are kept to look back at
        self.keeping = [at for at, window in enumerate(self.windows) if window.keeps_events]
        self.with_prefix = [at for at, window in enumerate(self.windows) if window.keeps_prefix]
        # Windows by preference are reported when they are decided, which slices would change.
        late = any(window.keeps_late for window in self.windows)
        self._in_slices = late and not any(w.planned.clauses.prefers for w in self.windows)
        kinds = "".join(_mark(window.machine) for window in self.windows)
        self.fingerprint = f"{plan.fingerprint}-{kinds}-{most_configs}{WITH_ROWS if rows else ''}"

    def fresh(self, count: int, keys: pa.Table | None = None) -> State:
        """Return the state of new streams, with their keys if given."""
        columns = {}
        if keys is not None:
            columns = {schema.key(name): keys.column(name) for name in self.stream.partition_by}
        initial = schema.stream_columns(len(self.windows), rated=self.rated)
        initial |= {schema.prefix_state(at): 0 for at in self.with_prefix}
        filled = {value: pa.array(filled_with(value, count)) for value in initial.values()}
        columns |= {name: filled[value] for name, value in initial.items()}
        lists = schema.list_names(len(self.windows), rated=self.rated)
        return State(pa.table(columns), {name: pa.table({}) for name in lists})

    def run(self, batch: Batch, prior: State, *, last: bool) -> tuple[pa.Table, State | None]:
        """Return the windows that a batch reports, or their rows, and the next state."""
        if self._in_slices:
            return run_in_slices(self._run_whole, batch, prior, last=last)
        return self._run_whole(batch, prior, last)

    def _run_whole(self, batch: Batch, prior: State, last: bool) -> tuple[pa.Table, State | None]:
        reported = self.find(batch, prior, last=last)
        rows = event_rows(self, batch, reported) if self.rows else reported.windows
        return rows, reported.state

    def find(self, batch: Batch, prior: State, *, last: bool) -> Reported:
        """Return the windows that a batch reports, a row each, and the next state."""
        try:
            runs, windows, conformity = self._stages(batch, prior, last=last)
        except FaultError as fault:
            raise first_fault(self._stages, batch, prior, fault, last=last) from None
        columns, lists = {}, {}
        if not last:
            columns = conformity.columns()
            for window, run in enumerate(runs):
                lists[schema.held(window)], numbers = run.held()
                columns |= {name: pa.array(column) for name, column in numbers.items()}
            if self.rated:
                counts, lists[schema.RATES] = conformity.rate_columns()
                columns |= counts
        after = None if last else self._after(batch, prior, columns, lists, runs)
        order = report_order(windows)
        labels = labels_in_order(runs, windows, order) if self.rows and self.labels else None
        return Reported(*self.table(batch, windows, order), after, labels)

    def _stages(
        self, batch: Batch, prior: State, *, last: bool
    ) -> tuple[list[WindowRun], list[FoundWindows], Conformity]:
        """Return the runs of all windows, their windows, and how far the streams conform."""
        check_events(self, batch)
        codes = self.codes(batch)
        conformity = self.conformity_check.check(batch, Conformity.of_state(prior))
        rows = BatchView(batch, self.guarded - self.nullable)
        runs = [
            _run_of(window)(self, window, number, batch, rows, prior, last=last)
            for number, window in enumerate(self.windows)
        ]
        return runs, self._all_windows(runs, codes), conformity

    def codes(self, batch: Batch) -> Sequence[NDArray[np.generic]]:
        """Return for each window the codes that its machine reads, by row; a NaN is a DataError."""
        return self._lettering.read(batch, self.never_nan)

    def check(self, batch: Batch, before: Conformity) -> Conformity:
        """Return how far streams conform after a batch; a faulty event is a DataError."""
        self.codes(batch)
        return self.conformity_check.check(batch, before)

    @cached_property
    def _lane_groups(self) -> list[LaneGroup]:
        return lane_groups(
            [(window.machine, len(window.letters.guards)) for window in self.windows]
        )

    def trace(self, runs: Sequence[WindowRun], codes: Sequence[NDArray[np.generic]]) -> None:
        """Trace the machines of several windows in one pass, those that can be, if that pays."""
        if len(runs) < 2 or not pays(runs[0].batch.rows, len(runs[0].batch.first)):
            return
        for group in self._lane_groups:
            own = [runs[number] for number in group.windows]
            streams = [run.segments() for run in own]
            traces = group.traces([codes[number] for number in group.windows], streams)
            for run, trace in zip(own, traces, strict=True):
                run.trace = trace

    def _all_windows(
        self, runs: list[WindowRun], codes: Sequence[NDArray[np.generic]]
    ) -> list[FoundWindows]:
        """Return the windows of each run; large batches run in several threads."""
        self.trace(runs, codes)
        alone = len(runs) == 1 or _threads.get() == 1
        if alone or runs[0].batch.rows < SIDE_BY_SIDE:
            return [run.windows(own) for run, own in zip(runs, codes, strict=True)]
        pairs = zip(runs, codes, strict=True)
        return Workers(_threads.get()).map(lambda pair: pair[0].windows(pair[1]), pairs)

    def oldest_whole(self, batch: Batch) -> Ints:
        """Return for each stream its oldest row for which all events to look back at are kept."""
        all_kept = batch.position == batch.begin - batch.first
        whole: Ints = np.where(all_kept, batch.first, batch.first + self.tail)
        return whole

    def _after(
        self,
        batch: Batch,
        prior: State,
        columns: dict[str, pa.Array],
        lists: dict[str, pa.Table],
        runs: Sequence[WindowRun],
    ) -> State:
        position = batch.position + batch.end - batch.begin
        columns[schema.POSITION] = pa.array(position)
        after = State(_with_columns(prior.streams, columns), lists)
        kept = np.minimum(batch.end - batch.first, self.events_kept(after))
        more = {schema.count(schema.TAIL): pa.array(kept)}
        for at in self.with_prefix:
            labels, streams = runs[at].labels, np.arange(len(kept))
            assert labels is not None
            oldest = np.where(position == kept, batch.end - kept, batch.end - kept + self.tail)
            more[schema.prefix_state(at)] = pa.array(labels.states_before(streams, oldest))
        streams = _with_columns(after.streams, more)
        places = spans(batch.end - kept, batch.end)
        return State(streams, {schema.TAIL: batch.table.take(pa.array(places)), **lists})

    def events_kept(self, state: State) -> Ints | int:
        """Return how many last events of each stream a state must have, if there are so many.

        Where windows become rows, or are parsed when they end, that is all events from their oldest
        start on; to parse them, also those that their first events look back at.
        """
        if not self.keeping:
            return self.tail
        parsed = [at for at in self.keeping if self.windows[at].labels is not None]
        since: Ints = state.positions - oldest_starts(state, self.keeping)
        since_parsed = state.positions - oldest_starts(state, parsed)
        kept: Ints = np.maximum(np.maximum(since, self.tail), since_parsed + self.tail)
        return kept

    # --- Results

    def table(
        self, batch: Batch, parts: list[FoundWindows], order: Ints | None
    ) -> tuple[pa.Table, Ints]:
        """Return the windows in their order, and their streams."""
        if len(batch.first) == 1:
            streams = np.zeros(sum(len(part.streams) for part in parts), dtype=np.int64)
        else:
            streams = _joined([part.streams for part in parts], order)
        columns: dict[str, pa.Array | pa.ChunkedArray] = {}
        for name in self.stream.partition_by:
            columns[name] = batch.table.column(name).take(pa.array(batch.first[streams]))
        names = [window.planned.name for window in self.windows]
        if len(parts) == 1:
            columns["window_name"] = repeated(names[0], len(streams))
        else:
            assert order is not None
            columns["window_name"] = _names(names, [len(part.streams) for part in parts], order)
        columns["start_index"] = pa.array(_joined([part.starts for part in parts], order))
        columns["end_index"] = pa.array(_joined([part.ends for part in parts], order))
        if self.stream.order_by:
            for end, name in enumerate(("window_start", "window_end")):
                columns[name] = _sorted([part.times[end] for part in parts], order)
        measures = [measure for window in self.plan.windows for measure in window.measures]
        for name, type_ in measure_types(measures, batch.table.schema).items():
            values = [
                stored_as(part.measures[name], type_)
                if name in part.measures
                else pa.nulls(len(part.streams), type_)
                for part in parts
            ]
            columns[name] = _sorted(values, order)
        return pa.table(columns), streams


def _run_of(window: Window) -> type[WindowRun]:
    return LongestRun if is_searched(window) else RUNS.get(window.machine.kind, WindowRun)


def _mark(machine: Machine | TrackedMachine) -> str:
    """Return what a state says of a machine: its slots mean nothing to others."""
    tables = machine.tables
    accepting = isinstance(tables, Automata) and tables.final[tables.chain_first].any()
    kind = machine.saved_as or machine.kind  # their first letters differ
    return kind[0] + ("c" if accepting else "")


def _with_columns(table: pa.Table, columns: dict[str, pa.Array]) -> pa.Table:
    for name, column in columns.items():
        table = table.set_column(table.column_names.index(name), name, column)
    return table


def report_order(parts: list[FoundWindows]) -> Ints | None:
    """Return the order of windows: by stream, report, place in the spec, start; None: unchanged."""
    if len(parts) == 1:
        return None
    sizes = [len(part.reported) for part in parts]
    places = np.split(ascending(sum(sizes)), np.cumsum(sizes)[:-1])
    merging = [(part.reported, own) for part, own in zip(parts, places, strict=True)]
    # Each part is sorted; of windows that one event reports, those of earlier parts come first.
    while len(merging) > 1:
        both = [len(one[0]) + len(two[0]) for one, two in pairwise(merging)]
        at = int(np.argmin(both))
        keys, order = zip(*merging[at : at + 2], strict=True)
        into = empty(both[at], np.int64), empty(both[at], np.int64)
        merge(tuple(map(read_only, keys)), tuple(map(read_only, order)), *into)
        merging[at : at + 2] = [into]
    return merging[0][1]


def _names(names: Sequence[str], sizes: Sequence[int], order: Ints) -> pa.Array:
    """Return the names of the windows of some parts, in an order."""
    numbers = empty(len(order), np.int32)
    for number, part in enumerate(np.split(numbers, np.cumsum(sizes)[:-1])):
        part[:] = number
    values = [name.encode() for name in names]
    longest = -(-max(map(len, values)) // 8) * 8
    if not MANY <= len(order) < MOST_TEXT // longest:
        chosen = pa.array(numbers[order])
        return pa.DictionaryArray.from_arrays(
            chosen, pa.array(names, pa.string())
        ).dictionary_decode()
    table = np.frombuffer(b"".join(value.ljust(longest) for value in values), dtype=np.uint8)
    lengths = np.array([len(value) for value in values], dtype=np.int64)
    offsets = empty(len(order) + 1, np.int32)
    texts = empty((len(order) + 1) * longest, np.uint8)
    given = read_only(numbers), read_only(order), read_only(table), longest, read_only(lengths)
    write_texts(*given, offsets, texts)
    written = pa.py_buffer(texts[: offsets[-1]])
    return pa.StringArray.from_buffers(len(order), pa.py_buffer(offsets), written)


def _sorted(parts: list[pa.Array], order: Ints | None) -> pa.Array:
    return concat_arrays(parts) if order is None else take(concat_arrays(parts), order)


def _joined(parts: list[Ints], order: Ints | None) -> Ints:
    whole = parts[0]
    if len(parts) > 1:
        whole = np.concatenate(parts, out=empty(sum(map(len, parts)), np.int64))
    if order is None:
        return whole
    return np.take(whole, order, out=empty(len(order), np.int64), mode="clip")
