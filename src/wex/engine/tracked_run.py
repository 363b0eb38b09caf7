"""A window with aggregates in its predicates over one batch: the registers of its starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.engine.machines.tracked import TrackedMachine
from wex.engine.program_data import ProgramData
from wex.engine.window_run import WindowRun

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.kernels.types import KernelResult, Segments


class TrackedRun(WindowRun):
    """One window with aggregates in its predicates over one batch."""

    def _kernel_result(self, codes: NDArray[np.generic], segments: Segments) -> KernelResult:
        machine = self.window.machine
        assert isinstance(machine, TrackedMachine)
        self._data = ProgramData(machine.own.program, self.rows, self.carried)
        registers = self._data.registers()
        result, self._kept = machine.run(
            codes,
            self.clock,
            segments,
            self._data.columns(),
            registers,
            last=self.last_batch,
            late=self.window.keeps_late,
        )
        return result

    def _register_columns(self, chosen: Ints) -> dict[str, pa.Array]:
        return self._data.register_columns(self._kept, chosen)
