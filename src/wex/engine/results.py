"""Measures in results: which Arrow type each has, and values as that type."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.columns import arrow_type
from wex.errors import DataError
from wex.spec.types import OTHER, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.engine.aggregates import Result
    from wex.windows.measures import Measure


def measure_types(measures: Sequence[Measure], schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the Arrow type of each measure; several of one name are one column."""
    by_name: dict[str, list[Measure]] = {}
    for measure in measures:
        by_name.setdefault(measure.name, []).append(measure)
    return {name: _measure_type(name, same, schema) for name, same in by_name.items()}


def _measure_type(name: str, measures: list[Measure], schema: pa.Schema) -> pa.DataType:
    type_ = measures[0].type
    read = [schema.field(source).type for each in measures for source in each.sources()]
    item = type_.item or type_
    if item == OTHER:
        if any(each != read[0] for each in read):
            shown = ", ".join(dict.fromkeys(map(str, read)))
            raise DataError(
                "wrong-column-type",
                f"several windows share this measure over columns of different types: {shown}",
                "give the measures different names",
                column=name,
            )
        found = read[0]
    elif item == TIMESTAMP:
        zones = [each.tz for each in read if pa.types.is_timestamp(each)]
        found = pa.timestamp("us", zones[0] if zones else None)
    else:
        found = arrow_type(item)
    return pa.list_(found) if type_.item else found


def stored_as(result: Result, type_: pa.DataType, name: str) -> pa.Array:
    """Return the values of a measure with their Arrow type; times are whole numbers until then."""
    values = result.values
    if isinstance(values, np.ndarray):
        values = pa.array(values, mask=None if result.known is None else ~result.known)
    if values.type == type_:
        return values
    try:
        return values.cast(storage_of(type_)).cast(type_)
    except pa.ArrowInvalid as error:
        raise does_not_fit(type_, name) from error


def does_not_fit(type_: pa.DataType, name: str) -> DataError:
    """Return the error for a result that its type cannot hold."""
    message = f"a result does not fit into {type_}"
    hint = "keep the numbers smaller, or filter such rows out"
    return DataError("arithmetic", message, hint, column=name)


def storage_of(type_: pa.DataType) -> pa.DataType:
    """Return the type in which values are computed: times are whole numbers."""
    if pa.types.is_list(type_):
        return pa.list_(storage_of(type_.value_type))
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return pa.int64()
    return pa.int32() if type_ == pa.date32() else type_
