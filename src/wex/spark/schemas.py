"""Schemas of Spark and of Arrow, each from the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_type
from pyspark.sql.types import NullType, StructField, StructType, TimestampType

from wex.engine.input.columns import arrow_type
from wex.errors import WexError
from wex.spec.types import OTHER, TIMESTAMP

if TYPE_CHECKING:
    from wex.engine.engine import Engine


def arrow_schema(schema: StructType, engine: Engine) -> pa.Schema:
    """Return the Arrow schema of columns, as workers will see those that a spec reads."""
    return pa.schema(
        [
            (
                field.name,
                to_arrow_type(field.dataType, timezone="UTC")
                if field.name in engine.fields
                else pa.null(),
            )
            for field in schema.fields
        ]
    )


def to_arrow(schema: StructType) -> pa.Schema:
    """Return a Spark schema as an Arrow one."""
    return pa.schema([(each.name, to_arrow_type(each.dataType, timezone="UTC")) for each in schema])


def declared_schema(engine: Engine, *, others: bool = False) -> StructType:
    """Return the schema that a stream line declares, for files that have none.

    With `others`, fields of type other stand in it as nothing in particular.
    """
    fields = []
    for name, type_ in engine.stream.fields:
        if type_ == OTHER and others:
            fields.append(StructField(name, NullType()))
            continue
        if type_ == OTHER:
            message = f"`{name}` is declared as other, and this format has no types"
            raise WexError("no-type", message, "read Parquet, or leave the field out")
        spark_type = TimestampType() if type_ == TIMESTAMP else from_arrow_type(arrow_type(type_))
        fields.append(StructField(name, spark_type))
    return StructType(fields)


def spark_schema(schema: pa.Schema) -> StructType:
    """Return the Spark schema of a result."""
    found: StructType = from_arrow_schema(schema)
    return found


def quoted(name: str) -> str:
    """Return a column name as Spark's expressions read it."""
    return f"`{name.replace('`', '``')}`"
