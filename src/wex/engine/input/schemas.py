"""The schema of a stream over several batches.

A column of NULLs may come without an Arrow type. For most fields this does not matter, as the spec
determines the type. But a field of type `other` can have any type, and timestamps may have a zone:
such a column stays *open* until a batch has values in it, and the state then takes its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.input.batch import Batch, BatchView
from wex.engine.input.columns import cast_empty, empty_table
from wex.engine.state import schema as state_schema
from wex.engine.state.state import State
from wex.errors import DataError
from wex.spec.types import OTHER, TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from wex.engine.engine import Engine
    from wex.spec.types import Type


def open_columns(data: pa.Table, fields: Mapping[str, Type]) -> frozenset[str]:
    """Return the fields whose type the data leaves open.

    All timestamps have the same zone, so they are open only if none of them has a type.
    """
    untyped = {name for name in fields if pa.types.is_null(data.schema.field(name).type)}
    times = {name for name, type_ in fields.items() if type_ == TIMESTAMP}
    others = {name for name in untyped if fields[name] == OTHER}
    return frozenset(others | (times if times <= untyped else set()))


def cast_to_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return a table cast to the schema of earlier batches, in which open columns are of type null."""
    for at, field in enumerate(schema):
        column = table.column(field.name)
        if column.type == field.type or pa.types.is_null(field.type):
            continue
        if column.null_count < len(column):
            raise DataError(
                "wrong-column-type",
                f"earlier batches had {field.type}, this one has {column.type}",
                "give each column one type in all batches",
                column=field.name,
            )
        table = table.set_column(at, field, pa.nulls(len(column), field.type))
    return table


def schema_with_open(schema: pa.Schema, names: frozenset[str]) -> pa.Schema:
    """Return a schema in which the named columns are of type null."""
    return pa.schema(
        [field.with_type(pa.null()) if field.name in names else field for field in schema]
    )


def runnable_schema(schema: pa.Schema, fields: Mapping[str, Type]) -> pa.Schema:
    """Return a schema that an engine can run on: open timestamps get a type."""
    return pa.schema(
        [
            field.with_type(pa.timestamp("us"))
            if pa.types.is_null(field.type) and fields[field.name] == TIMESTAMP
            else field
            for field in schema
        ]
    )


def held_columns(engine: Engine, at: int, schema: pa.Schema) -> dict[str, pa.DataType]:
    """Return the columns of the open starts of a window, for events of a schema."""
    order = engine.stream.order_by
    time = schema.field(order[0]).type if order else None
    window = engine.windows[at]
    return window.held_columns(time, no_events(engine, schema))


def no_events(engine: Engine, schema: pa.Schema) -> BatchView:
    """Return an empty batch, from which folds tell the types of their columns."""
    none = np.empty(0, dtype=np.int64)
    batch = Batch(
        empty_table(schema), engine.fields, engine.stream.partition_by, none, none, none, none
    )
    return BatchView(batch, engine.guarded - engine.nullable)


def state_with_types(engine: Engine, state: State, schema: pa.Schema) -> State:
    """Return a state whose open columns have the types of a schema."""
    tails = state.tails
    if not tails.num_columns or tails.schema.types == schema.types:
        return state
    lists = dict(state.lists)
    types = dict(zip(schema.names, schema.types, strict=True))
    lists[state_schema.TAIL] = _with_types(tails, types)
    for at in range(len(engine.windows)):
        held = state.lists[state_schema.held(at)]
        columns = held_columns(engine, at, schema) if held.num_columns else {}
        lists[state_schema.held(at)] = _with_types(held, columns)
    keys = {state_schema.key(name): schema.field(name).type for name in engine.stream.partition_by}
    return State(_with_types(state.streams, keys), lists)


def _with_types(table: pa.Table, types: Mapping[str, pa.DataType]) -> pa.Table:
    for at, field in enumerate(table.schema):
        type_ = types.get(field.name, field.type)
        if type_ != field.type:
            table = table.set_column(at, field.name, cast_empty(table.column(at), type_))
    return table


def concat_to_last_schema(tables: Sequence[pa.Table]) -> pa.Table:
    """Return tables as one, with the types of the last one; only open columns differ before."""
    types = dict(zip(tables[-1].schema.names, tables[-1].schema.types, strict=True))
    return pa.concat_tables([_with_types(table, types) for table in tables])
