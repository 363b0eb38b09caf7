"""The measures of a window: its folds over the panes of a batch, and the arithmetic on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.compile.measures import depends_on_labels
from wex.engine.eval.guards import kleene
from wex.engine.eval.terms import UNKNOWN, Faults, all_known, compile_term
from wex.engine.input.batch import TextCodes
from wex.engine.input.columns import combine_chunks
from wex.engine.measures import Result, fold_of, shared_key
from wex.engine.measures.labelled import LabelledFold
from wex.engine.measures.panes import Ranges
from wex.engine.measures.results import JoinedResults
from wex.engine.state import schema
from wex.theory.terms import Constant, Field
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from wex.compile.measures import Measure
    from wex.compile.plan import PlannedWindow
    from wex.engine.arrays import Bools
    from wex.engine.eval.terms import Compute
    from wex.engine.input.batch import BatchView
    from wex.engine.labels import ParsedWindows
    from wex.engine.measures import Fold, FoldItems, Parts
    from wex.engine.measures.panes import Panes
    from wex.theory.terms import Guard

    Fail = Callable[[int, str, str | None], Exception]  # window, why, measure
    Why = Callable[[int, int], str]  # the number of a fold, a window


BLOCK = 1 << 16  # windows that are measured together


class WindowMeasures:
    """The measures of a window, and the folds that they need."""

    def __init__(self, window: PlannedWindow) -> None:
        self.measures, self.having = window.measures, window.having
        self.folds: list[Fold] = []
        self.labelled: set[int] = set()  # folds over events with a label: nothing is carried over
        places: dict[tuple[object, ...], int] = {}
        self.read: list[list[int]] = []  # for each measure, the fold of each of its aggregates
        self._compute: dict[str, Compute] = {}  # the arithmetic of each measure
        for measure in window.measures:
            self._compute[measure.name] = compile_term(measure.value)
            read = []
            for aggregate in measure.aggregates:
                place = places.setdefault(shared_key(aggregate), len(self.folds))
                if place == len(self.folds):
                    self.folds.append(fold_of(aggregate))
                    if depends_on_labels(aggregate):
                        self.labelled.add(place)
                read.append(place)
            self.read.append(read)

    def types(self, rows: BatchView) -> dict[str, pa.DataType]:
        """Return the columns that a pane keeps."""
        types: dict[str, pa.DataType] = {}
        for at, fold in enumerate(self.folds):
            if at in self.labelled:
                continue
            types |= {schema.part(at, name): type_ for name, type_ in fold.types_of(rows).items()}
            types[schema.part(at, schema.FAILED)] = pa.bool_()
        return types

    def lift(self, rows: BatchView, panes: Panes, carried: pa.Table) -> BatchMeasures:
        """Return the folds over the panes carried over and the events of a batch."""
        items: list[FoldItems | None] = []
        failures: list[NDArray[np.int64] | None] = []
        faults = []
        for at, fold in enumerate(self.folds):
            if at in self.labelled:
                items.append(None)
                failures.append(None)
                faults.append(Faults())
                continue
            relevant = fold.relevant_rows(rows)
            parts = {
                name: combine_chunks(carried.column(schema.part(at, name)))
                for name in fold.types_of(rows)
            }
            items.append(fold.lift(rows, relevant, panes, parts))
            before = carried.column(schema.part(at, schema.FAILED)).to_numpy()
            bad, failed = None, relevant.faults.bad
            if failed is not None or before.any():
                rows_bad = np.zeros(rows.size, np.int64)
                rows_bad += 0 if failed is None else failed
                spread = panes.spread(rows_bad, before.astype(np.int64))
                bad = np.concatenate([[0], np.cumsum(spread)])
            failures.append(bad)
            faults.append(relevant.faults)
        return BatchMeasures(self, rows, panes, items, failures, faults)

    def results(
        self,
        size: int,
        parts: Sequence[Parts],
        failed: Sequence[Bools | None],
        why: Why,
        fail: Fail,
    ) -> dict[str, Result]:
        """Return the measures by name; a window without a result is a failure."""
        results = {}
        for measure, read in zip(self.measures, self.read, strict=True):
            values = []
            for aggregate, place in zip(measure.aggregates, read, strict=True):
                bad = failed[place]
                if bad is not None and bad.any():
                    window = int(np.argmax(bad))
                    raise fail(window, why(place, window), measure.name)
                value = self.folds[place].result(aggregate.name, parts[place])
                if value.bad is not None and value.bad.any():
                    raise fail(int(np.argmax(value.bad)), value.why, measure.name)
                values.append(value)
            compute = self._compute[measure.name]
            results[measure.name] = _calculated(measure, compute, values, size, fail)
        return results

    def kept(
        self, results: dict[str, Result], size: int, fail: Fail, part: Guard | None = None
    ) -> Bools | None:
        """Tell which windows satisfy `having`, or a part of it; None: there is none."""
        having = self.having if part is None else part
        if having is None:
            return None
        faults = Faults()
        held, _ = kleene(having, _Results(results, size), faults)  # type: ignore[arg-type]
        if faults.bad is not None:
            window = int(np.argmax(np.broadcast_to(faults.bad, (size,))))
            raise fail(window, faults.why(window), None)
        return held


@dataclass(frozen=True, eq=False)
class BatchMeasures:
    """The folds of a window over the panes of one batch."""

    measuring: WindowMeasures
    rows: BatchView
    panes: Panes
    items: list[FoldItems | None]  # None: the fold depends on labels
    failures: list[NDArray[np.int64] | None]  # for each fold, how many failed before each pane
    faults: list[Faults]

    def in_blocks(self, windows: Ranges, fail: Fail) -> dict[str, Result]:
        """Return the measures of windows, block by block, so that what is computed stays in the cache."""
        blocks = [slice(0, len(windows.low))]
        constant = any(isinstance(measure.value, Constant) for measure in self.measuring.measures)
        if not constant and all(fold.in_blocks for fold in self.measuring.folds):
            blocks = list(windows.blocks(BLOCK))
        if len(blocks) == 1:
            return self.measures(windows, fail)
        joined = JoinedResults(len(windows.low))
        try:
            for block in blocks:
                part = Ranges(windows.low[block], windows.high[block])
                joined.add(block, self.measures(part, _block_fails))
        except _BlockFailsError:
            return self.measures(windows, fail)  # finds the same failure as in one block
        return joined.results

    def measures(
        self, windows: Ranges, fail: Fail, parsed: ParsedWindows | None = None
    ) -> dict[str, Result]:
        """Return the measures of windows; `parsed` are their events, if measures depend on labels."""
        failed = self._failed(windows)
        parts: list[Parts] = []
        labelled: dict[int, LabelledFold] = {}
        for place, items in enumerate(self.items):
            if items is not None:
                parts.append(items.fold(windows))
                continue
            assert parsed is not None
            own = labelled[place] = LabelledFold(self.measuring.folds[place], self.rows, parsed)
            parts.append(own.parts())
            failed[place] = own.failed  # known when the fold has read its arguments

        def why(place: int, window: int) -> str:
            """Return why arithmetic failed for the first event of a window that it failed for."""
            if place in labelled:
                return labelled[place].why(window)
            before = self.failures[place]
            assert before is not None
            low = int(windows.low[window])
            pane = int(np.searchsorted(before, before[low], side="right")) - 1
            at = int(np.searchsorted(self.panes.own, pane))
            if at == len(self.panes.own) or self.panes.own[at] != pane:
                return UNKNOWN  # a pane of past events
            return self.faults[place].why(int(self.panes.rows[at]))

        return self.measuring.results(len(windows.low), parts, failed, why, fail)

    def keep(self, held: Ranges) -> dict[str, pa.Array]:
        """Return the columns of the panes that ranges of panes become."""
        columns: dict[str, pa.Array] = {}
        for at, (items, bad) in enumerate(zip(self.items, self._failed(held), strict=True)):
            if items is None:
                continue
            columns |= {schema.part(at, name): part for name, part in items.keep(held).items()}
            columns[schema.part(at, schema.FAILED)] = pa.array(
                np.zeros(len(held.low), np.bool_) if bad is None else bad
            )
        return columns

    def items_of_measures(self) -> list[list[FoldItems]] | None:
        """Return for each measure the items of its aggregates; None: some depend on labels."""
        items = [each for each in self.items if each is not None]
        if len(items) < len(self.items):
            return None
        return [[items[place] for place in read] for read in self.measuring.read]

    def _failed(self, ranges: Ranges) -> list[Bools | None]:
        return [
            None if bad is None else bad[ranges.high] > bad[ranges.low] for bad in self.failures
        ]


class _BlockFailsError(Exception):
    """A window of a block has no result."""


def _block_fails(_window: int, _why: str, _measure: str | None) -> Exception:
    return _BlockFailsError()


def _calculated(
    measure: Measure, compute: Compute, values: list[Result], size: int, fail: Fail
) -> Result:
    """Return the arithmetic of a measure on its aggregates."""
    if isinstance(measure.value, Field):
        return values[int(measure.value.name[1:])]
    if isinstance(measure.value, Constant) and isinstance(measure.value.value, str):
        return Result(pa.repeat(measure.value.value, size))
    rows = _Results({f"#{at}": value for at, value in enumerate(values)}, size)
    faults = Faults()
    calculated = np.asarray(compute(rows, 0, faults))
    if faults.bad is not None:
        bad = np.broadcast_to(faults.bad, (size,))
        if size:
            window = int(np.argmax(bad))
            raise fail(window, faults.why(window), measure.name)
    return Result(np.broadcast_to(calculated, (size,)), all_known(measure.value, rows))


class _Results:
    """Results of aggregates or measures as fields, for terms and guards to read."""

    def __init__(self, results: dict[str, Result], size: int) -> None:
        self._results, self.size = results, size

    def field(self, name: str, _offset: int, _extra: int = 0) -> NDArray[np.generic]:
        values = self._results[name].values
        return self._text_codes.columns[name] if isinstance(values, pa.Array) else values

    def known(self, name: str, _offset: int, _extra: int = 0) -> Bools | None:
        result = self._results[name]
        if isinstance(result.values, pa.Array):
            valid: Bools = result.values.is_valid().to_numpy(zero_copy_only=False)
            return valid
        return result.known

    @cached_property
    def _text_codes(self) -> TextCodes:
        arrays = {name: result.values for name, result in self._results.items()}
        return TextCodes(
            {
                name: pa.chunked_array([array])
                for name, array in arrays.items()
                if isinstance(array, pa.Array) and pa.types.is_string(array.type)
            }
        )

    def code(self, text: str) -> int:
        return self._text_codes.code(text)

    def matching(self, pattern: str) -> Bools:
        return self._text_codes.matching(pattern)
