"""Filters rows by key: `where_key` of `find_in_file`, `--where-key` on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.files.options import TextOptions
from wex.engine.files.texts import BadTextError, TextColumns
from wex.engine.input.columns import conform, display_value
from wex.errors import MOST_NAMED, DataError, WexError, closest, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from wex.spec import tree
    from wex.spec.types import Type


class KeyFilter:
    """Keeps the rows with given key values; remembers some other keys, for the error if no row has these."""

    def __init__(
        self, spec: tree.Spec, fields: Mapping[str, Type], where: Mapping[str, object] | None
    ) -> None:
        if where is not None and not isinstance(where, Mapping):
            hint = "give a dict of key columns and values, such as {'symbol': 'A'}"
            raise WexError("not-a-key", f"where_key must be a dict, got {where!r}", hint)
        self._keys = [name.text for name in spec.stream.partition_by]
        self._fields = fields
        self._wanted = {name: self._value(name, value) for name, value in (where or {}).items()}
        self._others: dict[tuple[object, ...], None] = {}
        self._rows = 0

    def _value(self, name: str, value: object) -> pa.Array:
        if name not in self._keys:
            hint = did_you_mean(str(name), self._keys, "the keys are")
            if not self._keys:
                hint = "the stream line has no `partition by`, so there are no keys"
            raise WexError("not-a-key", f"`{name}` is not a key of the stream", hint)
        type_ = self._fields[name]
        try:
            if isinstance(value, str):
                options = TextOptions(empty_as_text=True)
                return TextColumns({name: type_}, options).values(name, pa.array([value]))
            return conform({name: pa.array([value])}, {name: type_}).column(0).chunk(0)
        except (BadTextError, DataError, pa.ArrowException, TypeError, UnicodeError):
            hint = f"`{name}` is declared as {type_}: give a value of this type"
            raise WexError(
                "not-a-key", f"{value!r} is not a value of the key `{name}`", hint
            ) from None

    def rows(self, table: pa.Table) -> pa.Table:
        """Return the rows of a batch that have the wanted keys."""
        if not self._wanted:
            return table
        keys = conform(table, {name: self._fields[name] for name in self._wanted})
        mask = pa.chunked_array([pa.repeat(pa.scalar(True), table.num_rows)])
        for name, value in self._wanted.items():
            mask = pc.and_(mask, _equal(keys.column(name), value, name))
        rows = table.filter(mask)
        self._rows += rows.num_rows
        if not self._rows:
            self._remember(keys)
        return rows

    def _remember(self, keys: pa.Table) -> None:
        for batch in keys.group_by(keys.column_names).aggregate([]).slice(0, 1000).to_batches():
            for row in range(batch.num_rows):
                if len(self._others) < 1000:
                    self._others[tuple(display_value(column[row]) for column in batch.columns)] = (
                        None
                    )

    def check(self) -> None:
        """Raise a DataError if no row had the wanted keys."""
        if not self._wanted or self._rows:
            return
        wanted = ", ".join(f"{name} = {_quoted(value[0])}" for name, value in self._wanted.items())
        raise DataError("unknown-key", f"no event has {wanted}", self._hint())

    def _hint(self) -> str:
        if not self._others:
            return "the data has no events"
        names = [", ".join(_plain(value) for value in key) for key in self._others]
        sought = ", ".join(_plain(display_value(value[0])) for value in self._wanted.values())
        best = closest(sought, names)
        if best is not None:
            return f"did you mean {best}?"
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        return f"the keys are {'; '.join(names[:MOST_NAMED])}{more}"


def _plain(value: object) -> str:
    return "NULL" if value is None else value if isinstance(value, str) else str(value)


def _quoted(value: pa.Scalar) -> str:
    key = display_value(value)
    return "NULL" if key is None else repr(key) if isinstance(key, str) else str(key)


def _equal(column: pa.ChunkedArray, value: pa.Array, name: str) -> pa.ChunkedArray:
    """Return a mask of the rows with a value; NULL equals NULL, and NaN equals NaN."""
    wanted = value[0]
    if not wanted.is_valid:
        return pc.is_null(column)
    if pa.types.is_floating(value.type) and wanted.as_py() != wanted.as_py():
        return pc.is_nan(column).fill_null(False)
    if pa.types.is_timestamp(value.type) and (column.type.tz is None) != (value.type.tz is None):
        if column.null_count == len(column):
            return pc.is_valid(column)
        has, had = ("a", "none") if column.type.tz is None else ("no", "one")
        message = f"the key {display_value(wanted)} has {has} time zone, the data has {had}"
        hint = f"write the key {'without' if column.type.tz is None else 'with'} a time zone"
        raise DataError("zones-mixed", message, hint, column=name)
    return pc.equal(column, wanted).fill_null(False)


def parse_keys(settings: Sequence[tuple[str, str]]) -> dict[str, str | None]:
    """Return keys given on the command line; as in CSV, an empty value is NULL and `""` is empty.

    >>> parse_keys([("symbol", "A"), ("place", ""), ("note", '""')])
    {'symbol': 'A', 'place': None, 'note': ''}
    """
    names = [name for name, _ in settings]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        hint = "give one value for each key column, and run the command once for each stream"
        raise WexError("not-a-key", f"two values are given for the key `{twice}`", hint)
    return {name: None if not text else "" if text == '""' else text for name, text in settings}
