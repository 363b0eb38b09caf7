"""The positions in which found windows are parsed, as tables for a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.labels import LabelTables
from wex.engine.kernels.types import read_only
from wex.engine.machines.tables import codes_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.compile.labels import LabelForm
    from wex.compile.plan import PlannedWindow
    from wex.engine.machines.own_letters import OwnLetters


@dataclass(frozen=True, eq=False)
class LabelMachine:
    """The labels of a window: its positions, and an automaton that says in which of them a start begins.

    `before` has the class of a code for that automaton.
    """

    form: LabelForm
    tables: LabelTables
    before: NDArray[np.uint16]

    @property
    def depends_on_prefix(self) -> bool:
        """Tell whether the events before a start decide in which positions it begins."""
        return self.form.prefix.states > 1


def label_machine(window: PlannedWindow, own: OwnLetters | None) -> LabelMachine | None:
    """Return the tables of a window with labels; None: it has none."""
    form = window.labels
    if form is None:
        return None

    def classes(by_letter: list[int]) -> NDArray[np.uint16]:
        if own is not None:
            return read_only(own.classes(by_letter))
        return read_only(codes_of(window, by_letter).astype(np.uint16)[:, np.newaxis])

    tables = LabelTables(
        classes(form.classes.tolist()),
        form.width,
        *map(read_only, (form.first, form.targets, form.first_begin, form.begins)),
    )
    return LabelMachine(form, tables, classes(form.prefix.classes.tolist()))
