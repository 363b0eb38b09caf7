"""What the program of a window with aggregates in its predicates reads of a batch, and its registers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from wex.engine.eval.guards import kleene, present
from wex.engine.eval.terms import Faults, all_known, compile_term
from wex.engine.kernels.types import read_only
from wex.engine.machines.own_letters import OwnRegisters
from wex.engine.state import schema
from wex.theory.terms import Guard, Term

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints
    from wex.engine.input.batch import BatchView
    from wex.engine.machines.programs import Column, Program

UNKNOWN = 2  # in a column of truth values


class ProgramData:
    """What the program of a window reads of a batch, and the registers of its starts."""

    def __init__(self, program: Program, rows: BatchView, carried: pa.Table) -> None:
        self.program, self.rows, self.batch, self.carried = program, rows, rows.batch, carried

    # --- Columns

    def columns(self) -> tuple[NDArray[np.generic], ...]:
        """Return the columns that the program reads; the registers have to be read before."""
        # The ranks of texts come last: until then texts may get new codes.
        needed = self.program.columns
        in_turn = sorted(needed, key=lambda column: column.kind == "ranks")
        arrays = {column: read_only(self._column(column)) for column in in_turn}
        return tuple(arrays[column] for column in needed)

    def _column(self, column: Column) -> NDArray[np.generic]:
        """Return what the program reads of each row."""
        part, rows = column.part, self.rows
        match column.kind:
            case "value":
                assert isinstance(part, Term)
                values = np.broadcast_to(compile_term(part)(rows, 0, Faults()), (rows.size,))
                return values.astype(np.float64 if part.kind == "real" else np.int64, copy=False)
            case "known":
                assert isinstance(part, Term)
                return _known(part, rows)
            case "present":
                assert isinstance(part, Guard)
                return present(part, rows)
            case "truth" | "argument":
                assert isinstance(part, Guard)
                held, known = kleene(part, rows, None, missing_is_false=column.kind == "truth")
                truths = held.astype(np.int8)
                return truths if known is None else np.where(known, truths, np.int8(UNKNOWN))
            case "code":
                assert isinstance(part, str)
                return np.array([self.batch.code(part)], dtype=np.int64)
        return self.batch.text_ranks()

    # --- Registers

    def registers(self) -> OwnRegisters:
        """Return the registers of the starts carried over; texts become codes of this batch."""
        ints: list[Ints] = []
        reals: list[NDArray[np.float64]] = []
        for number, kind in enumerate(self.program.registers):
            column = self.carried.column(schema.register(number))
            if kind == "real":
                reals.append(column.to_numpy())
            elif kind == "text":
                codes = [self.batch.code(text or "") for text in column.to_pylist()]
                ints.append(np.array(codes, dtype=np.int64))
            else:
                ints.append(column.to_numpy())
        count = self.carried.num_rows
        return OwnRegisters(
            np.column_stack(ints) if ints else np.empty((count, 0), dtype=np.int64),
            np.column_stack(reals) if reals else np.empty((count, 0)),
        )

    def register_columns(self, kept: OwnRegisters, chosen: Ints) -> dict[str, pa.Array]:
        """Return the columns of the registers of some starts; -1: no start, its registers are empty."""
        columns: dict[str, pa.Array] = {}
        places = {"ints": 0, "reals": 0}
        for number, kind in enumerate(self.program.registers):
            array = "reals" if kind == "real" else "ints"
            values = getattr(kept, array)[chosen, places[array]]
            places[array] += 1
            values[chosen < 0] = 0
            if kind == "text":
                texts = self.batch.texts()
                values = pa.array([texts[code] for code in values.tolist()], pa.string())
            columns[schema.register(number)] = pa.array(values)
        return columns


def _known(term: Term, rows: BatchView) -> Bools:
    """Tell where a term has a value: it reads no missing event, and its arithmetic has a result."""
    faults = Faults()
    compile_term(term)(rows, 0, faults)
    known = all_known(term, rows)
    whole = np.ones(rows.size, dtype=np.bool_) if known is None else known
    return whole if faults.bad is None else whole & ~np.broadcast_to(faults.bad, (rows.size,))
