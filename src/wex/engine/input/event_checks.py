"""Checks of events: late events, missing values, values that an enum does not list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import FaultError, enum_error, late_error, null_error
from wex.engine.input.sorting import in_order, sort_keys

if TYPE_CHECKING:
    from wex.engine.arrays import Bools
    from wex.engine.engine import Engine
    from wex.engine.input.batch import Batch
    from wex.errors import DataError

LATE, MISSING, ENUM = range(3)  # in the order in which the faults of one event are reported


def check_events(engine: Engine, batch: Batch) -> None:
    """Raise a FaultError at the first bad event of a batch.

    NaN is found where guards read a column, as a second scan would cost too much. It is reported
    here only if the event has another fault.
    """
    if batch.checked or not (batch.end > batch.begin).any():
        return
    # Events of earlier batches, kept for lookback, have been checked.
    faults = [*_late(engine, batch), *_missing(engine, batch), *_unlisted(engine, batch)]
    if not faults:
        return
    row, kind, name = min(faults)
    stream = batch.stream_of(row)
    raise FaultError(_error(engine, batch, row, kind, name), stream, row)


def _error(engine: Engine, batch: Batch, row: int, kind: int, name: str) -> DataError:
    key, position = batch.key(batch.stream_of(row)), batch.position_of(row)
    if kind == LATE:
        last, first = batch.table.slice(row - 1, 1), batch.table.slice(row, 1)
        return late_error(last, first, engine.stream.order_by, engine.fields, key, position)
    for field in engine.fields:
        value = batch.table.column(field)[row]
        if field in engine.never_null and not value.is_valid:
            return null_error("NULL", field, key, position)
        if field in engine.never_nan and value.is_valid and np.isnan(value.as_py()):
            return null_error("NaN", field, key, position)
    value = batch.table.column(name)[row]
    return enum_error(value.as_py(), str(engine.fields[name]), name, key, position)


Faults = list[tuple[int, int, str]]  # row, kind, column


def _late(engine: Engine, batch: Batch) -> Faults:
    """Return the first event that sorts before the last event of its stream, if there is one."""
    order = engine.stream.order_by
    if not order:
        return []
    known = np.flatnonzero((batch.begin > batch.first) & (batch.end > batch.begin))
    if not len(known):
        return []
    rows = batch.begin[known]
    pairs = batch.table.take(pa.array(np.concatenate([rows - 1, rows])))
    columns = sort_keys(pairs, engine.stream.partition_by, order, engine.fields)
    punctual = in_order(
        [column.slice(0, len(rows)) for column in columns],
        [column.slice(len(rows)) for column in columns],
    )
    late = _first_true(~punctual)
    return [] if late is None else [(int(rows[late]), LATE, order[0])]


def _missing(engine: Engine, batch: Batch) -> Faults:
    faults: Faults = []
    for name in engine.never_null:
        column = batch.table.column(name)
        row = _first_true(column.is_null().to_numpy()) if column.null_count else None
        if row is not None:
            faults.append((row, MISSING, name))
    return faults


def _unlisted(engine: Engine, batch: Batch) -> Faults:
    faults: Faults = []
    for name, type_ in engine.fields.items():
        if type_.values:
            column = batch.table.column(name)
            listed = pc.is_in(column, value_set=pa.array(type_.values, pa.string()))
            row = _first_true(pc.and_not(pc.is_valid(column), listed).to_numpy())
            if row is not None:
                faults.append((row, ENUM, name))
    return faults


def _first_true(mask: Bools) -> int | None:
    row = int(np.argmax(mask)) if len(mask) else 0
    return row if len(mask) and mask[row] else None
