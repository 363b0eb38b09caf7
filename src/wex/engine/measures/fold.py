"""The base class of folds, and how they read the values of events."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.eval.guards import kleene
from wex.engine.eval.terms import Faults, all_known, compile_term
from wex.engine.input.columns import combine_chunks
from wex.engine.kernels.types import read_only
from wex.framing import require
from wex.spec.types import OTHER, Type
from wex.theory.evaluate import NAN
from wex.theory.terms import Constant, Field, Guard, Term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.input.batch import BatchView
    from wex.engine.measures.panes import Panes, Ranges
    from wex.theory.terms import Aggregate


Parts = dict[str, Any]  # the columns of a fold, a row for each range


@dataclass
class RelevantRows:
    """The rows of a batch that count for a fold (None: all), and those whose arithmetic failed."""

    present: Bools | None
    faults: Faults

    def note_failures(self, faults: Faults, size: int) -> None:
        """Note rows whose windows have no result; they no longer count."""
        self.faults.include(faults, self.present)
        if self.faults.bad is not None:
            fine = ~np.broadcast_to(self.faults.bad, (size,))
            self.present = fine if self.present is None else self.present & fine

    def note_nan(self, missing: Bools) -> None:
        """Note rows whose value is NaN: their windows have no result."""
        faults = Faults()
        faults.add(missing, NAN)
        self.note_failures(faults, len(missing))


class FoldItems(ABC):
    """The items of a fold in one batch."""

    @abstractmethod
    def fold(self, windows: Ranges) -> Parts:
        """Return the columns of the fold for ranges of panes."""

    def keep(self, held: Ranges) -> Parts:
        """Return the columns of the panes that ranges of panes become."""
        return self.fold(held)

    def largest(self) -> float | None:
        """Return a bound of the absolute values of all results; None: a range may have no result.

        It is infinite if there is no bound, or if the values are no numbers.
        """
        return None

    def never_falls(self) -> bool:
        """Tell whether a sum over more items is never less."""
        return False

    def always_known(self) -> bool:
        """Tell whether there is an item in each range."""
        return False


class Fold(ABC):
    """One fold: over which arguments of which events.

    A fold `in_blocks` takes no longer for many ranges in several parts than for all of them at once.
    """

    in_blocks = False

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        self.arguments, self.types = aggregate.arguments, aggregate.types

    @abstractmethod
    def types_of(self, rows: BatchView) -> dict[str, pa.DataType]:
        """Return the types of its columns."""

    @abstractmethod
    def lift(
        self, rows: BatchView, relevant: RelevantRows, panes: Panes, carried: Parts
    ) -> FoldItems:
        """Return the items of the panes carried over and of the events, in the order of the panes."""

    @abstractmethod
    def result(self, name: str, parts: Parts) -> Result:
        """Return the aggregate of a name for each range."""

    @abstractmethod
    def check(self, parts: Parts, sizes: Ints) -> None:
        """Raise an UnsoundError unless saved columns can be those of panes with so many events."""

    # --- For subclasses

    def relevant_rows(self, rows: BatchView) -> RelevantRows:
        """Return which rows count and which fail, by filter, NULLs and arithmetic."""
        faults = Faults()
        keep: Bools | None = None
        if self.aggregate.filter is not None:
            keep, _ = kleene(self.aggregate.filter, rows, faults)
        relevant = RelevantRows(None, Faults())
        relevant.note_failures(faults, rows.size)
        relevant.present = both(keep, relevant.present)
        inner = Faults()
        for argument in self.arguments:
            if isinstance(argument, Term) and not isinstance(argument, Field):
                compile_term(argument)(rows, 0, inner)
            elif isinstance(argument, Guard):
                kleene(argument, rows, inner)
        relevant.note_failures(inner, rows.size)
        known = self.known(rows)
        relevant.present = both(relevant.present, known)
        return relevant

    def known(self, rows: BatchView) -> Bools | None:
        """Tell which rows have values for all arguments; None: all."""
        known: Bools | None = None
        for argument in self.arguments:
            if isinstance(argument, Term):
                known = both(known, term_known(argument, rows))
        return known

    def numbers(self, rows: BatchView, at: int = 0) -> NDArray[Any]:
        """Return the values of an argument that is a number or a time."""
        argument = self.arguments[at]
        assert isinstance(argument, Term)
        values = compile_term(argument)(rows, 0, Faults())
        return np.broadcast_to(np.asarray(values), (rows.size,))

    def stored(self, rows: BatchView, at: int = 0) -> pa.Array:
        """Return the values of an argument as an Arrow array: times as whole numbers."""
        argument = self.arguments[at]
        assert isinstance(argument, Term)
        return _stored(argument, self.types[at], rows)


@dataclass(frozen=True)
class Result:
    """The values of an aggregate, a row each: numbers with `known`, or an Arrow array as it is."""

    values: NDArray[Any] | pa.Array
    known: Bools | None = None
    bad: Bools | None = None
    why: str = ""


def check_whole(parts: Parts, *names: str) -> None:
    """Raise an UnsoundError if one of some columns has a NULL."""
    for name in names:
        require(not parts[name].null_count, f"`{name}` of a pane has no value")


def check_counts(parts: Parts, sizes: Ints, *names: str) -> None:
    """Raise an UnsoundError if one of some columns counts more events than a pane has."""
    check_whole(parts, *names)
    for name in names:
        counts = as_numpy(parts[name])
        require(((counts >= 0) & (counts <= sizes)).all(), f"`{name}` of a pane is out of range")


def both(one: Bools | None, two: Bools | None) -> Bools | None:
    """Return where both hold; None: everywhere."""
    if one is None or two is None:
        return two if one is None else one
    return one & two


def term_known(term: Term, rows: BatchView) -> Bools | None:
    """Tell where a term has a value; None: everywhere."""
    return all_known(term, rows)


def _stored(term: Term, type_: Type, rows: BatchView) -> pa.Array:
    """Return the values of a term as an Arrow array: times as whole numbers, others as they are."""
    if type_ == OTHER or type_.name in ("string", "enum"):
        if isinstance(term, Constant):
            return pa.array([term.value] * rows.size, pa.string())
        assert isinstance(term, Field)
        column = rows.batch.table.column(term.name)
        values = combine_chunks(column)
        if not term.offset:
            return values
        known = rows.known(term.name, term.offset)
        places = np.maximum(np.arange(rows.size) + term.offset, 0)
        return values.take(pa.array(places, mask=~known if known is not None else None))
    values = np.broadcast_to(np.asarray(compile_term(term)(rows, 0, Faults())), (rows.size,))
    known = term_known(term, rows)
    return pa.array(values, mask=None if known is None else ~known)


def as_numpy(array: pa.Array) -> NDArray[Any]:
    """Return an Arrow array without NULLs as a numpy one."""
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values


def sizes_of(panes: Panes, present: Bools | None, carried: Bools | Ints) -> Ints | None:
    """Return how many items each pane has; None: one each."""
    if present is None and bool(np.all(carried == 1)):
        return None
    rows = np.ones(panes.batch.rows, dtype=np.int64) if present is None else present
    sizes: Ints = panes.spread(rows.astype(np.int64), carried.astype(np.int64))
    return sizes


def running_sums(panes: Panes, values: NDArray[Any], carried: pa.Array) -> Ints:
    """Return for each pane the sum of whole numbers before it, and the sum of all at the end."""
    spread = panes.spread(values.astype(np.int64), as_numpy(carried))
    sums = np.zeros(panes.count + 1, dtype=np.int64)
    np.cumsum(spread, out=sums[1:])
    return sums


def dense_items(
    panes: Panes,
    values: NDArray[Any],
    carried: NDArray[Any],
    sizes: Ints | None,
) -> NDArray[Any]:
    """Return the items by pane: one for each pane that has one."""
    spread: NDArray[Any] = panes.spread(values, carried)
    return read_only(spread if sizes is None else spread[sizes > 0])


def passed_on(array: pa.Array) -> Result:
    """Return a column as a result: numbers as a numpy array, others as the Arrow array."""
    kind = pa.types
    if not (
        kind.is_integer(array.type) or kind.is_floating(array.type) or kind.is_boolean(array.type)
    ):
        return Result(array)
    known = None if not array.null_count else as_numpy(array.is_valid())
    zero = False if kind.is_boolean(array.type) else 0
    return Result(as_numpy(pc.fill_null(array, zero)), known)


def largest_of(values: pa.Array) -> float:
    """Return the largest absolute value of whole numbers; infinite for other values."""
    if not pa.types.is_integer(values.type):
        return math.inf
    extremes = pc.min_max(values)
    return float(max((abs(value.as_py() or 0) for value in extremes.values()), default=0))
