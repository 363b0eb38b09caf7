"""What a query becomes: a spec, and the columns of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.event_rows import EVENT_INDEX, LABEL
from wex.engine.find import find
from wex.spec import tree
from wex.spec.vocabulary import ROW_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from wex.engine.arrays import Ints
    from wex.engine.input.columns import Data
    from wex.spec.tree import Spec


@dataclass(frozen=True)
class Translation:
    """The spec of a query, and what its result looks like.

    `str` of a translation is the text of the spec.
    """

    spec: Spec
    partition: tuple[str, ...]
    measures: tuple[str, ...]
    selected: tuple[tuple[str, str], ...] | None  # columns and their new names; None for all
    match_number: str | None  # the column of MATCH_NUMBER()
    classifier: str | None  # the column of CLASSIFIER(), of rows
    rows: bool  # ALL ROWS PER MATCH
    excluded: tuple[str, ...]  # labels of rows that {- … -} leaves out

    def __str__(self) -> str:
        return str(self.spec)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result, as SQL names them; of all rows, those that the query reads."""
        return tuple(new for _, new in self.chosen(self._read))

    def find(self, data: Data, *, threads: int | None = None) -> pa.Table:
        """Return the result of the query on some data: a row for each match, or for each of its rows.

        Matches are in the order of their streams and starts, and MATCH_NUMBER() counts them so. For
        `threads` see `wex.find`.
        """
        return self.result(find(self.spec, data, rows=self.rows, threads=threads))

    def result(self, windows: pa.Table) -> pa.Table:
        """Return the result of the query from the windows of the spec, or from their rows."""
        keys = [windows[name] for name in tree.texts(self.spec.stream.partition_by)]
        places = [windows["start_index"].to_numpy()]
        if self.rows:
            places.append(windows[EVENT_INDEX].to_numpy())
        ordered = windows
        if not _in_order(keys, places):
            order = np.lexsort((*reversed(places), _streams(keys, windows.num_rows)))
            ordered, places[0] = windows.take(pa.array(order)), places[0][order]
        chosen = self.chosen(windows.column_names)
        columns = [
            self._match_numbers(keys, places[0]) if old is None else ordered[old]
            for old, _ in chosen
        ]
        table = pa.Table.from_arrays(columns, [new for _, new in chosen])
        if not self.excluded:
            return table
        labels = ordered[LABEL]
        left_out = pc.is_in(
            labels, value_set=pa.array(self.left_out(pc.unique(labels).to_pylist()))
        )
        return table.filter(pc.invert(left_out))

    @staticmethod
    def _match_numbers(keys: Sequence[pa.ChunkedArray], starts: Ints) -> pa.Array:
        """Return MATCH_NUMBER() of rows in order; sorting has left the rows of a stream where they were."""
        return pa.array(_numbers(_streams(keys, len(starts)), starts))

    def left_out(self, labels: Iterable[str | None]) -> list[str]:
        """Return those of some labels whose rows are not in the result."""
        return [label for label in labels if label and str(tree.Name(label)) in self.excluded]

    def chosen(self, names: Iterable[str]) -> list[tuple[str | None, str]]:
        """Return the columns of the result, each with the one that it is among those of the windows.

        None stands for MATCH_NUMBER(). All rows have, behind the measures, the columns of the table.
        """
        keys = tree.texts(self.spec.stream.partition_by)
        own: dict[str, str | None] = dict(zip(self.partition, keys, strict=True))
        order = tree.texts(self.spec.stream.order_by) if self.rows else ()
        own |= {name: name for name in order}
        for name in self.measures:
            own[name] = {self.match_number: None, self.classifier: LABEL}.get(name, name)
        if self.rows:
            others = {*ROW_COLUMNS, *keys, LABEL} - set(self._read)
            own |= {name: name for name in names if name not in others and name not in own}
        if self.selected is None:
            return [(old, new) for new, old in own.items()]
        return [(own[name], new) for name, new in self.selected]

    @property
    def _read(self) -> tuple[str, ...]:
        return tuple(field.name.text for field in self.spec.stream.fields)


def _streams(keys: Sequence[pa.ChunkedArray], rows: int) -> Ints:
    """Return the number of the stream of each row; the rows of a stream are adjacent."""
    changes = np.zeros(rows, bool)
    for key in keys:
        codes = key.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
    numbers: Ints = np.cumsum(changes)
    return numbers


def _in_order(keys: Sequence[pa.ChunkedArray], places: Sequence[Ints]) -> bool:
    """Tell whether the rows of each stream are in the order of some columns; they are adjacent."""
    undecided = np.ones(max(len(places[0]) - 1, 0), bool)
    falls = np.zeros(len(undecided), bool)
    for column in places:
        falls |= undecided & (column[1:] < column[:-1])
        undecided &= column[1:] == column[:-1]
    # They fall where another stream begins, which is seldom: only there keys are compared.
    rows = np.flatnonzero(falls)
    both = pa.array(np.stack([rows, rows + 1], axis=1).ravel())
    streams = _streams([key.take(both) for key in keys], len(both))
    return bool((streams[::2] != streams[1::2]).all())


def _numbers(streams: Ints, starts: Ints) -> Ints:
    """Return the number of the match of each row; matches are numbered from 1 in each stream."""
    new_stream = np.diff(streams, prepend=-1) != 0
    new_match = new_stream | (np.diff(starts, prepend=-1) != 0)
    counts = np.cumsum(new_match)
    before = np.maximum.accumulate(np.where(new_stream, counts - 1, 0))
    numbers: Ints = counts - before
    return numbers
