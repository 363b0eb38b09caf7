"""A few rows as Python values, without Arrow: a table of one row costs more than its window.

Times are whole numbers and NULL is None, as in `theory/evaluate.py`. Only what needs no conversion that
could fail is plain: columns of the types that the batches before had, or lists of Python's own
values. Everything else is left to `columns`, with its conversions and errors.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, tzinfo
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.input.columns import EXACT_IN_A_FLOAT
from wex.spec.types import BOOL, DATE, INT, REAL, TIMESTAMP, Type
from wex.theory.evaluate import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from wex.engine.input.columns import Data
    from wex.theory.evaluate import Value

    Row = dict[str, Value]
    Read = Callable[[object], Value]

FEW = 16  # rows that are worth it

_EPOCH = datetime(1970, 1, 1)
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_STORED = {TIMESTAMP: pa.int64(), DATE: pa.int32()}
_TEXTS = ("string", "enum")


class NotPlainError(Exception):
    """Something that `columns` has to convert, or to refuse."""


class PlainRows:
    """Reads rows of a schema, in which each field has its Arrow type."""

    def __init__(self, fields: Mapping[str, Type], schema: pa.Schema) -> None:
        self._fields, self._schema = fields, schema
        self._reads = {
            name: _reads(type_, schema.field(name).type) for name, type_ in fields.items()
        }
        self._texts = [name for name, type_ in fields.items() if type_.name in _TEXTS]

    @classmethod
    def of(cls, fields: Mapping[str, Type], schema: pa.Schema | None) -> PlainRows | None:
        """Return what reads rows of a schema; None: some field of it can have any type."""
        if schema is None or any(type_.name == "other" for type_ in fields.values()):
            return None
        if any(pa.types.is_null(field.type) for field in schema):
            return None
        return cls(fields, schema)

    def rows(self, data: Data) -> list[Row] | None:
        """Return rows in their order; None: they are many, none, or not plain."""
        try:
            if type(data) is dict:
                columns = self._columns_of_dict(data)
            elif isinstance(data, pa.Table | pa.RecordBatch) and data.num_rows <= FEW:
                columns = self._columns_of_table(data)
            else:
                return None
        except (NotPlainError, ValueError):  # texts may not be valid UTF-8
            return None
        names = list(columns)
        return [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def _columns_of_dict(self, data: Mapping[str, object]) -> dict[str, list[Value]]:
        size = -1
        columns = {}
        for name, reads in self._reads.items():
            given = data.get(name)
            if type(given) is not list:
                raise NotPlainError
            size = len(given) if size < 0 else size
            if len(given) != size or size > FEW:
                raise NotPlainError
            columns[name] = [None if value is None else _read(reads, value) for value in given]
        for name in data.keys() - columns.keys():
            _check_unused(name, data[name], size)
        return columns

    def _columns_of_table(self, data: pa.Table | pa.RecordBatch) -> dict[str, list[Value]]:
        schema, columns = data.schema, {}
        for name, type_ in self._fields.items():
            place = schema.get_field_index(name)
            if place < 0 or schema.field(place).type != self._schema.field(name).type:
                raise NotPlainError
            column = data.column(place)
            if type_ in _STORED:
                columns[name] = [column[row].value for row in range(len(column))]
            else:
                columns[name] = [column[row].as_py() for row in range(len(column))]
        return columns

    def table(self, rows: Sequence[Row]) -> pa.Table:
        """Return rows as a table."""
        arrays = []
        for name, type_ in self._fields.items():
            target = self._schema.field(name).type
            array = pa.array([row[name] for row in rows], _STORED.get(type_, target))
            arrays.append(array.view(target) if type_ in _STORED else array)
        return pa.table(arrays, names=list(self._fields))

    def text_size(self, rows: Iterable[Row]) -> int:
        """Return how many characters the texts of rows have."""
        return sum(len(str(row[name] or "")) for row in rows for name in self._texts)


def _read(reads: dict[type, Read], value: object) -> Value:
    read = reads.get(type(value))
    if read is None:
        raise NotPlainError
    return read(value)


def _reads(type_: Type, target: pa.DataType) -> dict[type, Read]:
    """Return how values of Python's types are read as values of a type; it has no subclasses."""
    if type_ == REAL:
        return {float: _same, int: _real}
    if type_ == INT:
        return {int: _whole}
    if type_ == BOOL:
        return {bool: _same}
    if type_ == DATE:
        return {date: lambda day: day.toordinal() - _EPOCH_DAY}  # type: ignore[attr-defined]
    if type_ == TIMESTAMP:
        zones: dict[str | None, tzinfo | None] = {None: None, "UTC": UTC}
        if target.tz not in zones:
            return {}
        zone = zones[target.tz]
        return {datetime: lambda moment: _microseconds(moment, zone)}  # type: ignore[arg-type]
    return {str: _text}


def _same(value: object) -> Value:
    return value  # type: ignore[return-value]


def _real(value: object) -> Value:
    assert isinstance(value, int)
    if abs(value) > EXACT_IN_A_FLOAT:
        raise NotPlainError
    return float(value)


def _whole(value: object) -> Value:
    if value not in WHOLE:
        raise NotPlainError
    return value  # type: ignore[return-value]


def _text(value: object) -> Value:
    assert isinstance(value, str)
    value.encode()  # surrogates have no UTF-8: a ValueError
    return value


def _microseconds(moment: datetime, zone: tzinfo | None) -> int:
    if moment.tzinfo is not zone:
        raise NotPlainError
    since = moment.replace(tzinfo=None) - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _check_unused(name: object, column: object, size: int) -> None:
    """Raise an error unless Arrow can surely convert a column that nobody reads."""
    if type(name) is not str or type(column) is not list or len(column) != size:
        raise NotPlainError
    types = set(map(type, column))
    if len(types) > 1 or not types <= _CONVERTIBLE:
        raise NotPlainError
    for value in column:
        if type(value) is int and value not in WHOLE:
            raise NotPlainError
        if type(value) is str:
            value.encode()


_CONVERTIBLE = {float, int, bool, str, type(None)}
