"""Conversion between the schemas of Spark, of Arrow and of a stream line."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from wex.errors import WexError
from wex.spark.internals import arrow_type_of
from wex.spec.types import BOOL, DATE, INT, OTHER, REAL, STRING, TIMESTAMP, Type

if TYPE_CHECKING:
    from wex.engine.engine import Engine


# The types of columns for the types of fields; the other ones, enums, are strings.
SPARK_TYPES: dict[Type, DataType] = {
    BOOL: BooleanType(),
    INT: LongType(),
    REAL: DoubleType(),
    STRING: StringType(),
    DATE: DateType(),
    TIMESTAMP: TimestampType(),
}


def arrow_schema(schema: StructType, engine: Engine) -> pa.Schema:
    """Return the Arrow schema of the columns that a spec reads; the others are null."""
    read = [
        arrow_type_of(column.dataType) if column.name in engine.fields else pa.null()
        for column in schema.fields
    ]
    return pa.schema(list(zip(schema.names, read, strict=True)))


def to_arrow(schema: StructType) -> pa.Schema:
    """Return a Spark schema as an Arrow one."""
    return pa.schema([(column.name, arrow_type_of(column.dataType)) for column in schema])


def declared_schema(engine: Engine, *, others: bool = False) -> StructType:
    """Return the schema that a stream line declares, for files that have none.

    With `others`, fields of type other are columns of nulls; else they are an error.
    """
    columns = []
    for name, type_ in engine.stream.fields:
        if type_ == OTHER and not others:
            message = f"`{name}` is declared as other, and this format has no types"
            raise WexError("no-type", message, "read Parquet, or leave the field out")
        spark_type = NullType() if type_ == OTHER else SPARK_TYPES.get(type_, StringType())
        columns.append(StructField(name, spark_type))
    return StructType(columns)


def quoted(name: str) -> str:
    """Return a column name as Spark's expressions read it."""
    return f"`{name.replace('`', '``')}`"
