"""What a query becomes: a spec, and the columns of its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.find import find
from wex.errors import WexError
from wex.spec import tree

if TYPE_CHECKING:
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
    selected: (
        tuple[tuple[str, str], ...] | None
    )  # columns and their names in the result; None for all
    match_number: str | None  # the column of MATCH_NUMBER()
    classifier: str | None  # the column of CLASSIFIER(), of rows
    rows: bool  # ALL ROWS PER MATCH
    excluded: tuple[str, ...]  # labels of rows that {- … -} leaves out

    def __str__(self) -> str:
        return str(self.spec)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the result, as SQL names them."""
        if self.selected is not None:
            return tuple(new for _, new in self.selected)
        return (*self.partition, *self.measures)

    def find(self, data: Data) -> pa.Table:
        """Return the result of the query on some data: one row for each match.

        Matches are in the order of their streams and starts, and MATCH_NUMBER() counts them so.
        """
        if self.rows:
            message = (
                "this query asks for ALL ROWS PER MATCH, and a result has one row for each match"
            )
            raise WexError("sql-rows", message, "write ONE ROW PER MATCH")
        found = find(self.spec, data)
        keys = [found[name] for name in tree.texts(self.spec.stream.partition_by)]
        streams, starts = _streams(keys, found.num_rows), found["start_index"].to_numpy()
        order = np.lexsort((starts, streams))
        found, streams = found.take(pa.array(order)), streams[order]
        result = {
            name: found[key]
            for name, key in zip(
                self.partition, tree.texts(self.spec.stream.partition_by), strict=True
            )
        }
        for name in self.measures:
            numbers = name == self.match_number
            result[name] = pa.array(_numbers(streams)) if numbers else found[name]
        names = self.selected or tuple((name, name) for name in result)
        return pa.Table.from_arrays([result[old] for old, _ in names], [new for _, new in names])


def _streams(keys: list[pa.ChunkedArray], rows: int) -> np.ndarray:
    """Return the number of the stream of each row; the rows of a stream are adjacent."""
    changes = np.zeros(rows, bool)
    for key in keys:
        codes = key.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        changes[1:] |= codes[1:] != codes[:-1]
    return np.cumsum(changes)


def _numbers(streams: np.ndarray) -> np.ndarray:
    """Return the numbers of the matches, which begin with 1 in each stream."""
    firsts = np.flatnonzero(np.diff(streams, prepend=-1))
    rows = np.arange(len(streams))
    return rows - firsts[np.searchsorted(firsts, rows, side="right") - 1] + 1 if len(rows) else rows
