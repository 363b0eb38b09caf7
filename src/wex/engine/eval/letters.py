"""Letters of a batch: for each window and row the code that the machine of the window reads."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.arrays import empty
from wex.engine.eval.comparing import Comparing, NotPlainError
from wex.engine.eval.guards import Deciders
from wex.engine.machines.tables import CODED

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from wex.compile.plan import Plan, PlannedLetters
    from wex.engine.eval.guards import Decide
    from wex.engine.input.batch import Batch, Block

    Codes = NDArray[Any]


class Lettering:
    """Reads the letters of several windows, or of phases of assumptions, in one pass over the columns."""

    def __init__(
        self, plan: Plan, readers: Sequence[tuple[PlannedLetters, int, bool]], *, coded: bool
    ) -> None:
        """Take for each reader its letters, the position of its first letter, and whether it pads.

        With `coded`, the truth values of few guards are the bits of a code, which is no letter.
        """
        self._deciders = Deciders()
        self._readers: list[_Bits | _Steps] = []
        for letters, first, pad in readers:
            decide = [
                self._deciders.decide(plan.guards[number], first, pad=pad)
                for number in letters.guards
            ]
            few = coded and len(decide) <= CODED
            self._readers.append(_Bits(decide) if few else _Steps(decide, letters))
        self._comparing: Comparing | None = None
        if coded and all(isinstance(reader, _Bits) for reader in self._readers):
            guards = [[plan.guards[number] for number in own.guards] for own, _, _ in readers]
            pads = [pad for _, _, pad in readers]
            with suppress(NotPlainError):
                self._comparing = Comparing(list(zip(guards, pads, strict=True)))

    def read(self, batch: Batch, floats: Sequence[str] = ()) -> list[Codes]:
        """Return the codes of each reader; a NaN in one of `floats` is a DataError."""
        if self._comparing is not None:
            reach = self._deciders.reach
            compared = self._comparing.read(batch, floats, min(batch.rows, reach))
            if compared is not None:
                # The first rows look back behind the batch: they are a block of their own.
                self._read(islice(batch.blocks(reach), int(reach > 0)), floats, list(compared))
                return list(compared)
        codes: list[Codes] = [empty(batch.rows, reader.dtype) for reader in self._readers]
        self._read(batch.blocks(self._deciders.reach), floats, codes)
        return codes

    def _read(self, blocks: Iterable[Block], floats: Sequence[str], codes: list[Codes]) -> None:
        for block in blocks:
            for name in floats:
                block.check_nan(name)
            for reader, out in zip(self._readers, codes, strict=True):
                reader.read(block, out[block.row : block.end])


class _Bits:
    """The truth values of at most eight guards as the bits of a byte."""

    dtype = np.uint8

    def __init__(self, decide: list[Decide]) -> None:
        self._decide = decide

    def read(self, block: Block, out: NDArray[np.uint8]) -> None:
        if not self._decide:
            out[:] = 0
            return
        # From the last guard to the first: doubling shifts bits faster than numpy's shift does.
        *others, last = self._decide
        out[:] = last(block).view(np.uint8)
        for decide in reversed(others):
            np.add(out, out, out=out)
            np.bitwise_or(out, decide(block).view(np.uint8), out=out)


class _Steps:
    """The letter itself, found by one group of guards after the other."""

    dtype = np.int32

    def __init__(self, decide: list[Decide], letters: PlannedLetters) -> None:
        self._groups = [
            (_Bits(decide[at * CODED : (at + 1) * CODED]), table)
            for at, table in enumerate(_steps(letters))
        ]

    def read(self, block: Block, out: NDArray[np.int32]) -> None:
        code = np.empty(block.size, dtype=np.uint8)
        out[:] = 0
        for bits, table in self._groups:
            bits.read(block, code)
            out[:] = table[out, code]


def _steps(letters: PlannedLetters) -> list[NDArray[np.int32]]:
    """Return tables that find a letter by the truth values of its guards, one for each group of guards.

    The row of a table is the result of the groups before, its column the code of its own guards.
    Impossible combinations occur only in rows before the first gram, which are ignored.
    """
    known: dict[tuple[bool, ...], int] = {(): 0}
    tables: list[NDArray[np.int32]] = []
    for begin in range(0, len(letters.guards), CODED):
        bits = min(CODED, len(letters.guards) - begin)
        table = np.zeros((len(known), 1 << bits), dtype=np.int32)
        following: dict[tuple[bool, ...], int] = {}
        for row in letters.rows:
            code = sum(true << bit for bit, true in enumerate(row[begin : begin + bits]))
            number = following.setdefault(row[: begin + bits], len(following))
            table[known[row[:begin]], code] = number
        known = following
        tables.append(table)
    return tables
