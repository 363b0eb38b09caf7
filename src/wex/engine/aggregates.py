"""Aggregates over panes: how each is lifted from events, folded over ranges, and read off.

Aggregates with the same arguments share a fold: `avg(x)` and `max(x)` are read off one. The parts
of a fold, its columns, are what a pane keeps of events that are gone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.kernels import folds
from wex.engine.kernels.arrays import plain
from wex.engine.panes import items_of, joined, taken
from wex.engine.truths import kleene
from wex.engine.values import Faults, all_known, compile_term
from wex.spec.types import DURATION, OTHER, REAL, Type
from wex.theory.terms import Field, Guard, Term
from wex.windows.measures import Aggregate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.engine.batch import Whole
    from wex.engine.panes import Items, Panes, Ranges

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

Column = pa.Array
Parts = dict[str, pa.Array]  # the columns of a fold, a row for each range

HALF = 32  # whole numbers are summed in two halves, so that no sum overflows
INFINITE = "the variance of infinite values is not a number"
NAN = "a NaN among the values of an aggregate"


@dataclass
class Given:
    """What the events of a batch give to a fold.

    `present`: which rows count, None: all. `bad`: rows whose arithmetic failed, and why.
    """

    present: Bools | None
    bad: Bools | None
    why: str

    def spoil(self, bad: Bools, why: str) -> None:
        """Note that a window with one of these rows has no result; they count no more."""
        if self.present is not None:
            bad = bad & self.present
        if bad.any():
            self.bad = bad if self.bad is None else self.bad | bad
            self.why = self.why or why
            self.present = ~bad if self.present is None else self.present & ~bad


class Lifted(ABC):
    """The items of a fold in one batch."""

    @abstractmethod
    def fold(self, windows: Ranges) -> Parts:
        """Return the columns of the fold for ranges of panes."""

    def keep(self, held: Ranges) -> Parts:
        """Return what new panes made of ranges of panes have to keep."""
        return self.fold(held)


class Fold(ABC):
    """One fold: over which arguments of which events."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        self.arguments, self.types = aggregate.arguments, aggregate.types

    @abstractmethod
    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        """Return the types of its columns."""

    @abstractmethod
    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        """Return its items: those of the events, behind those of the panes carried over."""

    @abstractmethod
    def result(self, name: str, parts: Parts) -> Result:
        """Return what an aggregate of that name is for each range."""

    # --- What subclasses share

    def given(self, rows: Whole) -> Given:
        """Return which rows count and which fail, by filter, NULLs and arithmetic."""
        faults = Faults()
        keep: Bools | None = None
        if self.aggregate.filter is not None:
            keep, _ = kleene(self.aggregate.filter, rows, faults)
        given = Given(None, None, "")
        if faults.bad is not None:
            given.spoil(np.broadcast_to(faults.bad, (rows.size,)), f"a value {faults.why}")
        given.present = _both(keep, given.present)
        inner = Faults()
        for argument in self.arguments:
            if isinstance(argument, Term) and not isinstance(argument, Field):
                compile_term(argument)(rows, 0, inner)
            elif isinstance(argument, Guard):
                kleene(argument, rows, inner)
        if inner.bad is not None:
            given.spoil(np.broadcast_to(inner.bad, (rows.size,)), f"a value {inner.why}")
        known = self.known(rows)
        given.present = _both(given.present, known)
        return given

    def known(self, rows: Whole) -> Bools | None:
        """Tell which rows have values for all arguments; None: all."""
        known: Bools | None = None
        for argument in self.arguments:
            if isinstance(argument, Term):
                known = _both(known, term_known(argument, rows))
        return known

    def numbers(self, rows: Whole, at: int = 0) -> NDArray[np.generic]:
        """Return the values of an argument that is a number or a time."""
        argument = self.arguments[at]
        assert isinstance(argument, Term)
        found = compile_term(argument)(rows, 0, Faults())
        return np.broadcast_to(np.asarray(found), (rows.size,))


@dataclass(frozen=True)
class Result:
    """The values of an aggregate, a row each: numbers with `known`, or an Arrow array as it is."""

    values: NDArray[np.generic] | pa.Array
    known: Bools | None = None
    bad: Bools | None = None
    why: str = ""


def _both(one: Bools | None, two: Bools | None) -> Bools | None:
    if one is None or two is None:
        return two if one is None else one
    return one & two


def term_known(term: Term, rows: Whole) -> Bools | None:
    """Tell where a term has a value; None: everywhere."""
    return all_known(term, rows)


def stored(term: Term, type_: Type, rows: Whole) -> pa.Array:
    """Return the values of a term as an Arrow array: times as whole numbers, others as they are."""
    if type_ == OTHER or type_.name in ("string", "enum"):
        if not isinstance(term, Field):  # a constant
            return pa.array([term.value] * rows.size, pa.string())  # type: ignore[attr-defined]
        column = rows.batch.table.column(term.name)
        whole = joined(column.chunks) if column.num_chunks else pa.nulls(0, column.type)
        if not term.offset:
            return whole
        known = rows.known(term.name, term.offset)
        places = np.maximum(np.arange(rows.size) + term.offset, 0)
        return whole.take(pa.array(places, mask=~known if known is not None else None))
    values = np.broadcast_to(np.asarray(compile_term(term)(rows, 0, Faults())), (rows.size,))
    known = term_known(term, rows)
    return pa.array(values, mask=None if known is None else ~known)


def _numpy(array: pa.Array) -> NDArray[np.generic]:
    found: NDArray[np.generic] = array.to_numpy(zero_copy_only=False)
    return found


def _sizes(panes: Panes, present: Bools | None, carried: Bools | Ints) -> Ints | Bools | None:
    """Return how many items each pane has; None: one each."""
    if present is None and bool(np.all(carried == 1)):
        return None
    rows = np.ones(panes.batch.rows, dtype=np.int64) if present is None else present
    return panes.spread(rows.astype(np.int64), carried.astype(np.int64))  # type: ignore[return-value]


def _dense(
    panes: Panes,
    values: NDArray[np.generic],
    carried: NDArray[np.generic],
    sizes: Ints | Bools | None,
) -> NDArray[np.generic]:
    """Return the items of reduced panes: one for each pane that has one."""
    spread = panes.spread(values, carried)
    return plain(spread) if sizes is None else spread[np.asarray(sizes) > 0]


# --- Counting: the difference of two sums up to a place, for whole numbers exact


class Count(Fold):
    """How many events count."""

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        return {"n": pa.int64()}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        sizes = _sizes(panes, given.present, _numpy(carried["n"]))  # type: ignore[arg-type]
        return _Counted(items_of(panes, sizes))

    def result(self, name: str, parts: Parts) -> Result:
        return Result(_numpy(parts["n"]))


class _Counted(Lifted):
    def __init__(self, items: Items) -> None:
        self.items = items

    def fold(self, windows: Ranges) -> Parts:
        ranges = self.items.ranges(windows)
        return {"n": pa.array(ranges.high - ranges.low)}


class Truths(Fold):
    """Of how many events a predicate is true, and of how many it is known."""

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        return {"true": pa.int64(), "known": pa.int64()}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        (guard,) = self.arguments
        assert isinstance(guard, Guard)
        held, known = kleene(guard, rows, Faults())
        sums = [_both(given.present, held), _both(given.present, known)]
        return _Summed(
            {
                name: _running(panes, np.ones(rows.size) if each is None else each, carried[name])
                for name, each in zip(("true", "known"), sums, strict=True)
            }
        )

    def result(self, name: str, parts: Parts) -> Result:
        true, known = _numpy(parts["true"]), _numpy(parts["known"])
        if name == "count_if":
            return Result(true)
        return Result(true > 0 if name == "some" else true == known, known > 0)


def _running(panes: Panes, values: NDArray[np.generic], carried: pa.Array) -> Ints:
    spread = panes.spread(values.astype(np.int64), _numpy(carried))
    sums = np.zeros(panes.count + 1, dtype=np.int64)
    np.cumsum(spread, out=sums[1:])
    return sums


class _Summed(Lifted):
    """Columns of whole numbers, summed up to each pane."""

    def __init__(self, sums: dict[str, Ints]) -> None:
        self._sums = sums

    def fold(self, windows: Ranges) -> Parts:
        return {
            name: pa.array(sums[windows.high] - sums[windows.low])
            for name, sums in self._sums.items()
        }


class WholeSum(Fold):
    """The sum of whole numbers, in two halves."""

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        return {"high": pa.int64(), "low": pa.int64(), "n": pa.int64()}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        values = self.numbers(rows).astype(np.int64)
        if given.present is not None:
            values = np.where(given.present, values, 0)
        count = np.ones(rows.size, dtype=np.int64) if given.present is None else given.present
        mask = (1 << HALF) - 1
        return _WholeSummed(
            {
                "high": _running(panes, values >> HALF, carried["high"]),
                "low": _running(panes, values & mask, carried["low"]),
                "n": _running(panes, count, carried["n"]),
            }
        )

    def result(self, name: str, parts: Parts) -> Result:
        high, low, n = (_numpy(parts[each]) for each in ("high", "low", "n"))
        if name == "sum":
            fits = (high >= -(2**31)) & (high < 2**31)
            return Result((high << HALF) + low, n > 0, ~fits, "a sum does not fit into 64 bits")
        if self.types[0] == DURATION:
            return Result(_average_whole(high, low, n), n > 0)
        small = np.abs(high) < 2**20  # the sum is exact as a float, and the quotient rounded once
        total = (np.where(small, high, 0) << HALF) + low
        with np.errstate(all="ignore"):
            average = total / np.maximum(n, 1)
        for at in np.flatnonzero(~small & (n > 0)):
            average[at] = ((int(high[at]) << HALF) + int(low[at])) / int(n[at])
        return Result(average, n > 0)


class _WholeSummed(_Summed):
    def fold(self, windows: Ranges) -> Parts:
        parts = super().fold(windows)
        high, low = _numpy(parts["high"]), _numpy(parts["low"])
        parts["high"] = pa.array(high + (low >> HALF))
        parts["low"] = pa.array(low & ((1 << HALF) - 1))
        return parts


def _average_whole(high: Ints, low: Ints, n: Ints) -> Ints:
    """Return averages rounded to whole numbers, halves to the even one."""
    fits = (high >= -(2**31)) & (high < 2**31)
    total = (np.where(fits, high, 0) << HALF) + low
    count = np.maximum(n, 1)
    quotient, rest = np.divmod(total, count)
    up = (rest > count - rest) | ((rest == count - rest) & (quotient % 2 == 1))
    average: Ints = quotient + up
    for at in np.flatnonzero(~fits):
        average[at] = round(Fraction((int(high[at]) << HALF) + int(low[at]), int(count[at])))
    return average


# --- Folding along a tape


class FloatStats(Fold):
    """Sum, least and greatest of floats."""

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        return {
            "total": pa.float64(), "least": pa.float64(), "most": pa.float64(), "n": pa.int64()
        }  # fmt: skip

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        values = self.numbers(rows).astype(np.float64, copy=False)
        if not self.clean(rows):
            missing = np.isnan(values)
            if missing.any():
                given.spoil(missing, NAN)
        n = _numpy(carried["n"])
        sizes = _sizes(panes, given.present, n > 0)
        items = items_of(panes, sizes)
        counts = items_of(panes, _sizes(panes, given.present, n))  # type: ignore[arg-type]
        columns = [_dense(panes, values, _numpy(carried["total"]), sizes)]
        if len(n):
            columns += [
                _dense(panes, values, _numpy(carried[each]), sizes) for each in ("least", "most")
            ]
        else:
            columns *= 3
        return _FloatFolded(items, counts, columns)

    def clean(self, rows: Whole) -> bool:
        """Tell whether a NaN is out of the question: NULL and NaN decide about no window."""
        argument = self.arguments[0]
        return isinstance(argument, Field) and not argument.offset and argument.name in rows.guarded

    def result(self, name: str, parts: Parts) -> Result:
        total, n = _numpy(parts["total"]), _numpy(parts["n"])
        if name in ("min", "max"):
            return Result(_numpy(parts["least" if name == "min" else "most"]), n > 0)
        bad = np.isnan(total)
        if name == "avg":
            with np.errstate(all="ignore"):
                total = total / np.maximum(n, 1)
        return Result(total, n > 0, bad, "a sum of infinities that is not a number")


class _FloatFolded(Lifted):
    def __init__(self, items: Items, counts: Items, columns: list[NDArray[np.generic]]) -> None:
        self._items, self._counts, self._columns = items, counts, columns

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        tape, low, high = ranges.tape
        found = folds.fold_floats(tape, low, high, *self._columns)  # type: ignore[arg-type]
        counted = self._counts.ranges(windows)
        names = ("total", "least", "most")
        parts = {name: pa.array(ranges.put(each)) for name, each in zip(names, found, strict=True)}
        return {**parts, "n": pa.array(counted.high - counted.low)}


class Spread(Fold):
    """Count, mean and squared distances from the mean."""

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        return {"n": pa.float64(), "mean": pa.float64(), "square": pa.float64()}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        values = self.numbers(rows).astype(np.float64)
        given.spoil(np.isnan(values), NAN)
        given.spoil(np.isinf(values), INFINITE)
        n = _numpy(carried["n"])
        sizes = _sizes(panes, given.present, n > 0)
        ones, zeros = np.ones(rows.size), np.zeros(rows.size)
        columns = [
            _dense(panes, own, _numpy(carried[name]), sizes)
            for name, own in (("n", ones), ("mean", values), ("square", zeros))
        ]
        return _SpreadFolded(items_of(panes, sizes), columns)

    def result(self, name: str, parts: Parts) -> Result:
        n, square = _numpy(parts["n"]), _numpy(parts["square"])
        with np.errstate(all="ignore"):
            found = square / (n - 1)
        found = np.where(np.isnan(found), np.inf, found)  # distances beyond the largest float
        return Result(np.sqrt(found) if name == "stddev" else found, n > 1)


class _SpreadFolded(Lifted):
    def __init__(self, items: Items, columns: list[NDArray[np.generic]]) -> None:
        self._items, self._columns = items, columns

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        found = folds.fold_spread(*ranges.tape, *self._columns)  # type: ignore[arg-type]
        names = ("n", "mean", "square")
        return {name: pa.array(ranges.put(each)) for name, each in zip(names, found, strict=True)}


class Best(Fold):
    """The value of the event with the least or the greatest key, of several the first one."""

    def __init__(self, aggregate: Aggregate) -> None:
        super().__init__(aggregate)
        self.sign = 1 if aggregate.name.startswith("min") else -1
        self.key = len(self.arguments) - 1

    def known(self, rows: Whole) -> Bools | None:
        key = self.arguments[self.key]
        assert isinstance(key, Term)
        return term_known(key, rows)

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        found = {
            name: stored(self.arguments[at], self.types[at], rows).type  # type: ignore[arg-type]
            for name, at in (("value", 0), ("key", self.key))
        }
        return {**found, "there": pa.bool_()}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        key = stored(self.arguments[self.key], self.types[self.key], rows)  # type: ignore[arg-type]
        if self.types[self.key] == REAL:
            given.spoil(np.asarray(np.isnan(_numpy(key.fill_null(0.0)))), NAN)
        value = stored(self.arguments[0], self.types[0], rows) if self.key else key  # type: ignore[arg-type]
        there = _numpy(carried["there"])
        sizes = _sizes(panes, given.present, there)  # type: ignore[arg-type]
        columns = []
        for name, own in (("value", value), ("key", key)):
            column = panes.spread_column(own, carried[name])
            columns.append(column if sizes is None else column.filter(pa.array(sizes > 0)))
        return _BestFolded(items_of(panes, sizes), columns[0], columns[1], self.sign)

    def result(self, name: str, parts: Parts) -> Result:
        return _passed(parts["value"])


class _BestFolded(Lifted):
    def __init__(self, items: Items, values: pa.Array, keys: pa.Array, sign: int) -> None:
        self._items, self._values, self._keys, self._sign = items, values, keys, sign
        self._numbers = plain(_ranked(keys))

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        best = folds.fold_best(*ranges.tape, self._numbers, self._sign)
        there = np.ones(len(ranges.low), dtype=np.bool_) if ranges.filled is None else ranges.filled
        places = pa.array(ranges.put(best), mask=~there)
        return {
            "value": self._values.take(places),
            "key": self._keys.take(places),
            "there": pa.array(there),
        }


def _ranked(keys: pa.Array) -> NDArray[np.generic]:
    """Return keys as numbers of the same order: strings by their bytes."""
    if not pa.types.is_string(keys.type):
        return _numpy(keys)
    encoded = keys.dictionary_encode()
    order = np.empty(len(encoded.dictionary), dtype=np.int64)
    order[_numpy(pc.sort_indices(encoded.dictionary))] = np.arange(len(order))
    return order[_numpy(encoded.indices)]


def _passed(array: pa.Array) -> Result:
    """Return a column as a result: numbers as numbers, all else as it is."""
    kind = pa.types
    if not (
        kind.is_integer(array.type) or kind.is_floating(array.type) or kind.is_boolean(array.type)
    ):
        return Result(array)
    known = None if not array.null_count else _numpy(array.is_valid())
    zero = False if kind.is_boolean(array.type) else 0
    return Result(_numpy(pc.fill_null(array, zero)), known)  # type: ignore[arg-type]


# --- Passing values on


class Passing(Fold):
    """Values as they are, in the order of the events: `first`, `last`, `collect`."""

    listed = False

    def types_of(self, rows: Whole) -> dict[str, pa.DataType]:
        own = stored(self.arguments[0], self.types[0], rows).type  # type: ignore[arg-type]
        return {"value": pa.list_(own) if self.listed else own}

    def lift(self, rows: Whole, given: Given, panes: Panes, carried: Parts) -> Lifted:
        own = stored(self.arguments[0], self.types[0], rows)  # type: ignore[arg-type]
        present = _both(given.present, None if not own.null_count else _numpy(own.is_valid()))  # type: ignore[arg-type]
        return self.lifted(own, present, panes, carried)

    def lifted(self, own: pa.Array, present: Bools | None, panes: Panes, carried: Parts) -> Lifted:
        there = _numpy(carried["value"].is_valid())
        sizes = _sizes(panes, present, there)  # type: ignore[arg-type]
        column = panes.spread_column(own, carried["value"])
        if sizes is not None:
            column = column.filter(pa.array(sizes > 0))
        return _Ends(items_of(panes, sizes), column, last=self.aggregate.name == "last")

    def result(self, name: str, parts: Parts) -> Result:
        return _passed(parts["value"])


class _Ends(Lifted):
    def __init__(self, items: Items, column: pa.Array, *, last: bool) -> None:
        self._items, self._column, self._last = items, column, last

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        places = ranges.high - 1 if self._last else ranges.low
        mask = None if ranges.filled is None else ~ranges.filled
        return {"value": self._column.take(pa.array(places, mask=mask))}


class Collect(Passing):
    """All values, in a list."""

    listed = True

    def lifted(self, own: pa.Array, present: Bools | None, panes: Panes, carried: Parts) -> Lifted:
        lists = carried["value"]
        lengths = _numpy(pc.list_value_length(lists)) if len(lists) else np.empty(0, np.int64)
        sizes = _sizes(panes, present, lengths)  # type: ignore[arg-type]
        items = items_of(panes, sizes)
        if not len(lists):
            spread = panes.spread_column(own, pa.nulls(0, own.type))
            column = spread if sizes is None else spread.filter(pa.array(sizes > 0))
        else:
            column = self._spread(own, present, panes, lists, lengths, items)
        return self.of_items(items, column)

    def _spread(
        self,
        own: pa.Array,
        present: Bools | None,
        panes: Panes,
        lists: pa.Array,
        lengths: NDArray[np.generic],
        items: Items,
    ) -> pa.Array:
        """Return the values of the lists carried over and of the rows, in the order of the panes."""
        before = items.before
        if before is None:
            before = np.arange(panes.count + 1)
        flat = lists.flatten()
        rows = panes.rows if present is None else panes.rows[present[panes.rows]]
        own_panes = panes.own if present is None else panes.own[present[panes.rows]]
        places = np.empty(int(before[-1]), dtype=np.int64)
        sizes = lengths.astype(np.int64)
        begin = before[panes.held]
        offset = np.repeat(begin - (np.cumsum(sizes) - sizes), sizes)
        places[np.arange(len(flat)) + offset] = np.arange(len(flat))
        places[before[own_panes]] = rows + len(flat)
        return taken(joined([flat, own]), places)

    def of_items(self, items: Items, column: pa.Array) -> Lifted:
        return _Collected(items, column)


class _Collected(Lifted):
    def __init__(self, items: Items, column: pa.Array) -> None:
        self._items, self._column = items, column

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        sizes = ranges.high - ranges.low
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(int(offsets[-1])) + np.repeat(ranges.low - offsets[:-1], sizes)
        flat = taken(self._column, places)
        return {"value": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)}


class Distinct(Collect):
    """How many different values there are; a pane keeps each of its values once."""

    def of_items(self, items: Items, column: pa.Array) -> Lifted:
        return _Different(items, column)

    def result(self, name: str, parts: Parts) -> Result:
        return Result(_numpy(parts["count"]))


class _Different(_Collected):
    def __init__(self, items: Items, column: pa.Array) -> None:
        super().__init__(items, column)
        if pa.types.is_floating(column.type):
            column = pc.add(column, 0.0)  # -0.0 is 0.0
        encoded = column.dictionary_encode()
        self._codes = _numpy(encoded.indices).astype(np.int64)
        self._different = len(encoded.dictionary)

    def fold(self, windows: Ranges) -> Parts:
        ranges = self._items.ranges(windows)
        return {
            "count": pa.array(
                folds.count_distinct(self._codes, self._different, ranges.low, ranges.high)
            )
        }

    def keep(self, held: Ranges) -> Parts:
        """Return the different values of ranges, as lists."""
        ranges = self._items.ranges(held)
        sizes = ranges.high - ranges.low
        owners = np.repeat(np.arange(len(sizes)), sizes)
        places = np.arange(len(owners)) + np.repeat(ranges.low - (np.cumsum(sizes) - sizes), sizes)
        pairs = owners * (self._different + 1) + self._codes[places]
        _, first = np.unique(pairs, return_index=True)
        first.sort()
        counts = np.bincount(owners[first], minlength=len(sizes))
        offsets = np.concatenate([[0], np.cumsum(counts)])
        flat = taken(self._column, places[first])
        return {"value": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat)}


def fold_of(aggregate: Aggregate) -> Fold:
    """Return the fold that an aggregate is read off."""
    name, types = aggregate.name, aggregate.types
    if name in ("sum", "avg", "min", "max") and types[0] == REAL:
        return FloatStats(aggregate)
    return _FOLDS[name](aggregate)


_FOLDS: dict[str, type[Fold]] = {
    "count": Count,
    "count_if": Truths,
    "some": Truths,
    "every": Truths,
    "sum": WholeSum,
    "avg": WholeSum,
    "min": Best,
    "max": Best,
    "min_by": Best,
    "max_by": Best,
    "var": Spread,
    "stddev": Spread,
    "first": Passing,
    "last": Passing,
    "collect": Collect,
    "count_distinct": Distinct,
}


def shared_key(aggregate: Aggregate) -> tuple[object, ...]:
    """Return what two aggregates that are read off one fold have in common."""
    fold = type(fold_of(aggregate))
    own = aggregate.name if fold in (Best, Passing) else ""
    return (fold, own, aggregate.arguments, aggregate.filter)
