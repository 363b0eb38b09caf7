"""The columns of a table: their types, and which of them may be NULL.

SQL compares NULL with three truth values; WEX lets a NULL make an atom false if the field may be
NULL, and is an error otherwise. So each column that conditions read is one of these:

- never NULL, if the schema says so: then a NULL in the data is an error;
- may be NULL: an assumption that tests it says so in the spec;
- must not be NULL, because the query asks for the first or last value of a column, NULL or not, and
  the aggregates of WEX skip NULL: then a NULL in the data is an error.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from wex.errors import WexError, did_you_mean
from wex.spec import tree
from wex.spec.types import FIELD_TYPES, TYPE_SYNONYMS

if TYPE_CHECKING:
    from wex.spec.problems import Span
    from wex.sql.reader import Name, Reader

MORE_SYNONYMS = {
    "smallint": "int",
    "tinyint": "int",
    "byte": "int",
    "numeric": "real",
    "double precision": "real",
    "timestamp_ntz": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_tz": "timestamp",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp",
    "varchar2": "string",
    "character varying": "string",
}


@dataclass(frozen=True)
class Column:
    """A column of the table."""

    name: str
    type: str  # as a stream line writes it
    nullable: bool

    @property
    def text(self) -> str:
        """Return the name as a spec writes it."""
        return _quoted(self.name)


@dataclass
class Columns:
    """The columns of a table, and how a query uses them."""

    reader: Reader
    given: dict[str, Column]
    order: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    used: dict[str, Column] = field(default_factory=dict)
    deciding: set[str] = field(default_factory=set)  # read by conditions
    tested: set[str] = field(default_factory=set)  # with IS NULL
    valued: dict[str, Span] = field(default_factory=dict)  # asked for the value of one row

    def find(self, name: Name) -> Column:
        """Return the column of a name, or fail with its place."""
        column = self.given.get(name.text)
        if not name.quoted and self.reader.dialect != "flink":  # where case matters
            same = [one for one in self.given.values() if one.name.upper() == name.key]
            column = same[0] if len(same) == 1 else None
            if len(same) > 1:
                names = ", ".join(f"`{one.name}`" for one in same)
                message = f"`{name.text}` may be any of {names}"
                self.reader.fail("unknown-name", name.span, message, "write it in quotes")
        if column is None:
            message = f"the schema has no column `{name.text}`"
            hint = did_you_mean(name.text, self.given, "its columns are")
            if not self.given:
                message = f"the type of the column `{name.text}` is not known"
                hint = "give the types of all columns: {'price': 'real', 'ts': 'timestamp', …}, or --column price=real"
            self.reader.fail("unknown-name", name.span, message, hint)
        self.used.setdefault(column.name, column)
        return column

    def may_be_null(self, column: Column) -> bool:
        """Tell whether a column may be NULL in a row; one that orders the rows may not."""
        return column.nullable and column.name not in self.order

    def ask_value(self, column: Column, span: Span) -> None:
        """Note that the query asks for the value of one row, for which WEX skips NULL.

        The columns of the key are the same in all rows, so there is nothing to skip.
        """
        if self.may_be_null(column) and column.name not in self.keys:
            self.valued.setdefault(column.name, span)

    @property
    def least(self) -> str | None:
        """Return the first column of ORDER BY if its values can be compared in an aggregate."""
        for name in self.order:
            column = self.given[name]
            return column.text if column.type in {"int", "real", "timestamp", "date"} else None
        return None

    def assumptions(self) -> list[str]:
        """Return the assumptions that say which columns may be NULL."""
        lines = []
        for name, span in self.valued.items():
            if name in self.tested:
                message = f"`{name}` may be NULL, as IS NULL tests it; FIRST and LAST would skip the NULL in WEX"
                hint = "leave out one of them, or say in the schema that the column is not null"
                self.reader.refuse(span, message, hint)
            if name not in self.deciding:
                lines.append(f"assume [{_quoted(name)} is not null]*")
        for name, column in self.used.items():
            if name in self.deciding and name not in self.valued and self.may_be_null(column):
                text = column.text
                lines.append(f"assume [{text} is null or {text} is not null]* unchecked")
        return lines


def given_columns(schema: object) -> dict[str, Column]:
    """Return the columns of a schema: a dict of types, a schema of Arrow or Spark, or the data itself."""
    if schema is None:
        return {}
    if hasattr(schema, "sparkSession"):  # a DataFrame, whose rows are not asked for
        schema = schema.schema  # type: ignore[attr-defined]
    elif hasattr(
        schema, "__arrow_c_stream__"
    ):  # an Arrow table, or a DataFrame of pandas or polars
        schema = pa.RecordBatchReader.from_stream(schema).schema
    if isinstance(schema, Mapping):
        return {str(name): _declared(str(name), type_) for name, type_ in schema.items()}
    fields: Any = getattr(schema, "fields", schema)
    try:
        found = [(one.name, _type_text(one), bool(one.nullable)) for one in fields]
    except (AttributeError, TypeError) as error:
        hint = "give a dict as {'price': 'real'}, a schema of Arrow or Spark, or the data itself"
        message = f"expected the types of columns, got {type(schema).__name__}"
        raise WexError("not-a-schema", message, hint) from error
    return {name: Column(name, _type_name(text) or "other", may) for name, text, may in found}


def _type_text(field: Any) -> str:
    """Return the type of a field of Arrow or Spark as text."""
    return str(field.dataType.simpleString() if hasattr(field, "dataType") else field.type)


def _declared(name: str, type_: object) -> Column:
    text = str(type_).strip()
    nullable = not re.search(r"\bnot\s+null$", text, re.IGNORECASE)
    text = re.sub(r"\s*\b(not\s+)?null$", "", text, flags=re.IGNORECASE)
    plain = text if re.match(r"enum\s*\(", text) else _type_name(text)
    if plain is None:
        names = [*FIELD_TYPES, "enum('a', 'b')"]
        hint = did_you_mean(text, names, "the types are")
        raise WexError("unknown-type", f"there is no type `{text}`, as of column `{name}`", hint)
    return Column(name, plain, nullable)


def _type_name(given: str) -> str | None:
    """Return the type of a field for a type of SQL, Arrow or Spark, or None if it is unknown.

    >>> [_type_name(name) for name in ("DECIMAL(10, 2)", "timestamp[us, tz=UTC]", "int32", "uint8", "list<item: int64>")]
    ['real', 'timestamp', 'int', 'int', None]
    """
    name = re.sub(r"\(.*?\)|\[.*\]", "", given.lower()).strip()
    name = re.sub(r"\s+", " ", name)
    if re.fullmatch(r"u?int(8|16|32|64)?", name):
        return "int"
    arrow = {
        "halffloat": "real",
        "date32": "date",
        "date64": "date",
        "decimal128": "real",
        "large_string": "string",
    }
    name = arrow.get(name, MORE_SYNONYMS.get(name, name))
    if name in FIELD_TYPES:
        return name
    return TYPE_SYNONYMS.get(name)


def _quoted(name: str) -> str:
    """Return a name as a spec writes it."""
    return str(tree.Name(name))
