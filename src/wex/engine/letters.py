"""Letters from columns: the word that each window of a plan reads, for all streams of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.truths import Truths
from wex.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from wex.windows.plan import Plan, PlannedLetters

GROUP = 8  # guards that are looked up at once


class Lettering:
    """The letters of a sorted table; `starts` are the first rows of its streams.

    Guards are evaluated once for the whole plan, whichever windows use them.
    """

    def __init__(self, plan: Plan, table: pa.Table, starts: NDArray[np.int64]) -> None:
        self.plan = plan
        self.truths = Truths(table, dict(plan.stream.fields), starts)
        self._held: dict[int, NDArray[np.bool_]] = {}

    def word(self, letters: PlannedLetters, first: int) -> NDArray[np.int32]:
        """Return the letter of each row; rows before position `first` of their stream have none, -1."""
        node = np.zeros(self.truths.rows, dtype=np.int32)
        for at, table in enumerate(_steps(letters)):
            code = np.zeros(self.truths.rows, dtype=np.uint8)
            for bit, guard in enumerate(letters.guards[at * GROUP : (at + 1) * GROUP]):
                code |= self._truth(guard, first).astype(np.uint8) << np.uint8(bit)
            node = table[node, code]
        if first:
            node[self.truths.missing(first)] = -1
        return node

    def _truth(self, number: int, first: int) -> NDArray[np.bool_]:
        guard = self.plan.guards[number]
        for fault in self.truths.faults(guard):
            rows = fault.rows[self.truths.positions[fault.rows] >= first]
            if len(rows):
                position = int(self.truths.positions[rows[0]])
                hint = "keep the numbers smaller, or filter such rows out"
                raise DataError("arithmetic", f"a value {fault.why}", hint, position=position)
        if number not in self._held:
            self._held[number] = self.truths.of(guard)
        return self._held[number]


def _steps(letters: PlannedLetters) -> list[NDArray[np.int32]]:
    """Return tables that find a letter by the truth of its guards, a group of guards after the other.

    Row and column of a table are what the groups before it have found, and the truths of its own;
    combinations that cannot be are -1.
    """
    known: dict[tuple[bool, ...], int] = {(): 0}
    tables: list[NDArray[np.int32]] = []
    for begin in range(0, len(letters.guards), GROUP):
        bits = min(GROUP, len(letters.guards) - begin)
        table = np.full((len(known), 1 << bits), -1, dtype=np.int32)
        following: dict[tuple[bool, ...], int] = {}
        for row in letters.rows:
            code = sum(true << bit for bit, true in enumerate(row[begin : begin + bits]))
            number = following.setdefault(row[: begin + bits], len(following))
            table[known[row[:begin]], code] = number
        known = following
        tables.append(table)
    return tables
