"""Arrow types of measures, and values of measures as these types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.arrays import empty
from wex.engine.input.columns import arrow_type, concat_arrays
from wex.engine.measures.fold import Result
from wex.errors import DataError
from wex.spec.types import DATE, OTHER, TIMESTAMP, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.compile.measures import Measure
    from wex.engine.arrays import Bools, Ints


def measure_types(measures: Sequence[Measure], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the Arrow type of each measure; several of one name are one column."""
    by_name: dict[str, list[Measure]] = {}
    for measure in measures:
        by_name.setdefault(measure.name, []).append(measure)
    return {name: _measure_type(name, same, schema) for name, same in by_name.items()}


def _measure_type(name: str, measures: list[Measure], schema: pa.Schema) -> pa.DataType:
    type_ = measures[0].type
    read = [schema.field(source).type for measure in measures for source in measure.sources()]
    item = type_.item or type_
    if item == OTHER:
        if any(other != read[0] for other in read):
            shown = ", ".join(dict.fromkeys(map(str, read)))
            raise DataError(
                "wrong-column-type",
                f"several windows share this measure over columns of different types: {shown}",
                "give the measures different names",
                column=name,
            )
        arrow = read[0]
    elif item == TIMESTAMP:
        zones = [source.tz for source in read if pa.types.is_timestamp(source)]
        arrow = pa.timestamp("us", zones[0] if zones else None)
    else:
        arrow = arrow_type(item)
    return pa.list_(arrow) if type_.item else arrow


def stored_as(result: Result, type_: pa.DataType) -> pa.Array:
    """Return the values of a measure with their Arrow type; times are whole numbers until then."""
    values = result.values
    if isinstance(values, np.ndarray):
        values = pa.array(values, mask=None if result.known is None else ~result.known)
    if values.type == type_:
        return values
    return values.cast(storage_of(type_)).cast(type_)


def chosen_result(result: Result, chosen: Bools | Ints | slice) -> Result:
    """Return some rows of the values of a measure: by a mask, by numbers, or adjacent ones."""
    values, known = result.values, result.known
    if isinstance(values, pa.Array) and not isinstance(chosen, slice):
        places = pa.array(chosen)
        values = values.filter(places) if chosen.dtype == np.bool_ else values.take(places)
    else:
        values = values[chosen]
    return Result(values, None if known is None else known[chosen])


def joined_results(parts: Sequence[dict[str, Result]]) -> dict[str, Result]:
    """Return the measures of windows that were computed in several parts."""
    if len(parts) == 1:
        return parts[0]
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def _joined(results: Sequence[Result]) -> Result:
    arrays = [result.values for result in results]
    if isinstance(arrays[0], pa.Array):
        return Result(concat_arrays(arrays))
    known = None
    if any(result.known is not None for result in results):
        known = np.concatenate(
            [
                np.ones(len(result.values), np.bool_) if result.known is None else result.known
                for result in results
            ]
        )
    return Result(np.concatenate(arrays), known)


class JoinedResults:
    """The measures of so many windows, of which blocks are added, one after the other."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: dict[str, NDArray[Any]] = {}
        self._known: dict[str, NDArray[np.bool_]] = {}

    def add(self, block: slice, results: dict[str, Result]) -> None:
        """Add the measures of some windows; they are all numbers."""
        for name, result in results.items():
            assert isinstance(result.values, np.ndarray)
            if name not in self._values:
                self._values[name] = empty(self._size, result.values.dtype)
            self._values[name][block] = result.values
            if result.known is not None and name not in self._known:
                self._known[name] = np.ones(self._size, dtype=np.bool_)
            if result.known is not None:
                self._known[name][block] = result.known

    @property
    def results(self) -> dict[str, Result]:
        """Return the measures of all windows."""
        return {
            name: Result(values, self._known.get(name)) for name, values in self._values.items()
        }


def too_far(result: Result, type_: Type) -> NDArray[np.bool_] | None:
    """Tell which values are beyond the range of dates; None: none, or the measure is no date."""
    if DATE not in (type_, type_.item):
        return None
    values, known = result.values, result.known
    if isinstance(values, pa.Array):
        lists = pa.types.is_list(values.type)
        flat = values.flatten() if lists else values
        bad = ~pc.fill_null(_fits(flat), True).to_numpy(zero_copy_only=False)
        if lists:
            owners = pc.list_parent_indices(values).to_numpy(zero_copy_only=False)
            bad = np.bincount(owners[bad], minlength=len(values)) > 0
    else:
        bad = (values < DAYS[0]) | (values > DAYS[1])
        bad = bad if known is None else bad & known
    return bad if bad.any() else None


DAYS = (-(2**31), 2**31 - 1)  # that a date32 can hold


def _fits(values: pa.Array) -> pa.Array:
    whole = values.cast(pa.int64())
    return pc.and_(pc.greater_equal(whole, DAYS[0]), pc.less_equal(whole, DAYS[1]))


def storage_of(type_: pa.DataType) -> pa.DataType:
    """Return the type in which values are computed: times are whole numbers."""
    if pa.types.is_list(type_):
        return pa.list_(storage_of(type_.value_type))
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pa.int64()
    return pa.int32() if type_ == pa.date32() else type_
