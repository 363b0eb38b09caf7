"""Letters of a start: what an event is for it, if predicates have aggregates.

The letters of such a window have two parts. The guards about events are evaluated for all rows, as
those of other windows; the predicates with aggregates are evaluated by a program, for each start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from wex.compile.plan import PlannedLetters
from wex.engine.machines.programs import program_of
from wex.engine.machines.tables import CODED
from wex.theory.terms import RunningTest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.compile.plan import Plan, PlannedWindow
    from wex.engine.machines.programs import Program


@dataclass(frozen=True)
class OwnLetters:
    """The letters of a window in two parts, and the program for the second.

    `parts` has for each letter its place in the table of classes: the code of the shared part, and
    the truths of the predicates with aggregates, as bits.
    """

    shared: PlannedLetters  # of the guards about events
    program: Program
    parts: tuple[tuple[int, int], ...]
    shape: tuple[int, int]

    def classes(self, by_letter: Sequence[int]) -> NDArray[np.uint16]:
        """Return the classes by shared code and own bits; `by_letter` has the class of each letter."""
        classes = np.zeros(self.shape, dtype=np.uint16)
        for part, cls in zip(self.parts, by_letter, strict=True):
            classes[part] = cls
        return classes


def own_letters(window: PlannedWindow, plan: Plan) -> OwnLetters | None:
    """Return the letters of a window in two parts; None: no predicate has aggregates."""
    guards = [plan.guards[number] for number in window.letters.guards]
    own = [place for place, guard in enumerate(guards) if isinstance(guard, RunningTest)]
    if not own:
        return None
    shared = [place for place in range(len(guards)) if place not in own]
    rows = tuple(dict.fromkeys(tuple(row[at] for at in shared) for row in window.letters.rows))
    coded = len(shared) <= CODED
    number = {row: _bits(row) if coded else at for at, row in enumerate(rows)}
    return OwnLetters(
        PlannedLetters(tuple(window.letters.guards[at] for at in shared), rows),
        program_of(
            (guard for guard in guards if isinstance(guard, RunningTest)), plan.stream.nullable
        ),
        tuple(
            (number[tuple(row[at] for at in shared)], _bits([row[at] for at in own]))
            for row in window.letters.rows
        ),
        (1 << CODED if coded else len(rows), 1 << len(own)),
    )


class OwnRegisters(NamedTuple):
    """The registers of starts, a row each: those of whole numbers and texts, and those of reals."""

    ints: NDArray[np.int64]
    reals: NDArray[np.float64]


def empty_registers(program: Program, count: int) -> OwnRegisters:
    """Return room for the registers of some starts."""
    reals = program.registers.count("real")
    ints = len(program.registers) - reals
    return OwnRegisters(
        np.empty((count, ints), dtype=np.int64), np.empty((count, reals), dtype=np.float64)
    )


def _bits(truths: Sequence[bool]) -> int:
    return sum(true << bit for bit, true in enumerate(truths))
