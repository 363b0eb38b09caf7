"""What can be wrong with events by themselves: out of order, without a value, outside of an enum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.data_errors import FaultError, enum_error, late_error, null_error
from wex.engine.input.sorting import in_order, sort_keys
from wex.spec.types import REAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.engine import Engine
    from wex.engine.input.batch import Batch
    from wex.errors import DataError

    Bools = NDArray[np.bool_]

LATE, MISSING, ENUM = range(3)  # the order in which they are told of one event


def check_events(engine: Engine, batch: Batch) -> None:
    """Raise a FaultError at the first event of a batch with which something is wrong.

    A NaN is looked for where columns are read: looking twice would cost too much. It is told here
    if it stands in the same event as another fault.
    """
    if not (batch.end > batch.begin).any():
        return
    # Events that are only read to look back were checked when they came.
    wrong = [*_late(engine, batch), *_missing(engine, batch), *_unlisted(engine, batch)]
    if not wrong:
        return
    row, kind, name = min(wrong)
    stream = batch.stream_of(row)
    raise FaultError(_error(engine, batch, row, kind, name), stream, row)


def _error(engine: Engine, batch: Batch, row: int, kind: int, name: str) -> DataError:
    key, position = batch.key(batch.stream_of(row)), batch.position_of(row)
    if kind == LATE:
        last, first = batch.table.slice(row - 1, 1), batch.table.slice(row, 1)
        return late_error(last, first, engine.stream.order_by, engine.fields, key, position)
    for each in engine.missing:
        value = batch.table.column(each)[row]
        if not value.is_valid:
            return null_error("NULL", each, key, position)
        if engine.fields[each] == REAL and np.isnan(value.as_py()):
            return null_error("NaN", each, key, position)
    value = batch.table.column(name)[row]
    return enum_error(value.as_py(), str(engine.fields[name]), name, key, position)


Wrong = list[tuple[int, int, str]]  # row, kind, column


def _late(engine: Engine, batch: Batch) -> Wrong:
    """Return the first event that sorts before the last one that its stream has had."""
    known = np.flatnonzero((batch.begin > batch.first) & (batch.end > batch.begin))
    order = engine.stream.order_by
    if not order or not len(known):
        return []
    rows = batch.begin[known]
    pairs = batch.table.take(pa.array(np.concatenate([rows - 1, rows])))
    columns = sort_keys(pairs, (), order, engine.fields)
    fine = in_order(
        [column.slice(0, len(rows)) for column in columns],
        [column.slice(len(rows)) for column in columns],
    )
    bad = _first(~fine)
    return [] if bad is None else [(int(rows[bad]), LATE, order[0])]


def _missing(engine: Engine, batch: Batch) -> Wrong:
    found: Wrong = []
    for name in engine.missing:
        column = batch.table.column(name)
        row = _first(column.is_null().to_numpy()) if column.null_count else None
        if row is not None:
            found.append((row, MISSING, name))
    return found


def _unlisted(engine: Engine, batch: Batch) -> Wrong:
    found: Wrong = []
    for name, type_ in engine.fields.items():
        if type_.values:
            column = batch.table.column(name)
            listed = pc.is_in(column, value_set=pa.array(type_.values, pa.string()))
            row = _first(pc.and_not(pc.is_valid(column), listed).to_numpy())
            if row is not None:
                found.append((row, ENUM, name))
    return found


def _first(where: Bools) -> int | None:
    found = int(np.argmax(where)) if len(where) else 0
    return found if len(where) and where[found] else None
