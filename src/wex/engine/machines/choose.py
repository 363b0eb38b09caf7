"""The choice of a machine: which kernel runs a planned window, with which tables.

Windows that `keep` chooses by preference have a kernel of their own, `preferred`, unless there is
nothing to choose, and so have windows with aggregates in their predicates, `tracked`. For all others
there are four: `registers` where no window state ever holds two starts, `configs` where there are
few combinations of occupied window states, `sliding` for windows of one fixed length, and `moving`
for all others. These find the same windows. The choice is made once for each plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.kernels.buffers import allocate, result
from wex.engine.kernels.configs import run_configs
from wex.engine.kernels.lists import FAR
from wex.engine.kernels.moving import run_moving
from wex.engine.kernels.registers import SLOTS, run_registers
from wex.engine.kernels.sliding import run_sliding
from wex.engine.kernels.types import (
    Automata,
    Choice,
    Configs,
    KernelClauses,
    KernelResult,
    Preferred,
    Registers,
    Segments,
    Sliding,
    Trace,
    read_only,
)
from wex.engine.machines.configs import ConfigAutomaton
from wex.engine.machines.own_letters import own_letters
from wex.engine.machines.preferred import preferred_tables, without_choice
from wex.engine.machines.rivals import Rivals
from wex.engine.machines.room import first_room, more_room
from wex.engine.machines.tables import CODED, MachineTables
from wex.engine.machines.tracked import tracked_machine

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from wex.compile import clauses as compiled
    from wex.compile.plan import Plan, PlannedWindow
    from wex.engine.machines.configs import Config
    from wex.engine.machines.own_letters import OwnLetters
    from wex.engine.machines.tracked import TrackedMachine

MOST_CONFIGS = 256
NO_NUMBERS = read_only(np.empty(0, dtype=np.int64))
NO_WORDS = read_only(np.empty(0, dtype=np.uint64))
ALL = Choice(NO_NUMBERS, FAR)
UNTRACED = Trace(NO_WORDS, NO_WORDS, NO_NUMBERS, NO_NUMBERS)
BLOCK = 4096  # events that `configs` traces before it acts on them


@dataclass(frozen=True)
class Machine:
    """A window, ready to run: a kernel and its tables. `kind` says which.

    `own` is what its starts have of their own, if predicates have aggregates. `ahead` has by state of the
    machine, or for all of them, and slot, how many events a start needs at least until a window of it
    can end; None if no clause counts events.
    """

    kind: str
    clauses: KernelClauses
    tables: Registers | Configs | Sliding | Automata | Preferred
    initial: int
    uses_letters: bool  # codes are numbers of classes, in two bytes
    own: OwnLetters | None = None
    ahead: NDArray[np.int64] | None = None
    rivals: Rivals | None = None  # unless the tables say which starts are dominated
    configs: tuple[Config, ...] = ()  # of `registers` and `configs`, by number
    saved_as: str = ""  # another kind whose states are those of this machine

    def run(
        self,
        codes: NDArray[Any],
        clock: NDArray[np.int64],
        streams: Segments,
        *,
        last: bool,
        late: bool = False,
        choice: Choice = ALL,
        trace: Trace = UNTRACED,
    ) -> KernelResult:
        """Return the windows of a batch and the starts that stay open; `last`: the streams end.

        `late` says that `keep` chooses afterwards; where an event ends many windows, `choice` says
        which of them are asked for; `trace` has the events that act, if they are known. Windows by
        preference run otherwise: see `wex.engine.preferred_run`.
        """
        assert not isinstance(self.tables, Preferred)
        streams = Segments(*map(read_only, streams))
        clock = read_only(clock)
        if isinstance(self.tables, Registers):
            extra = len(streams.begin) * SLOTS if last and self.clauses.or_end else 0
            alone = last and not self.clauses.or_end and not streams.held[-1]
            at_ends = not alone or bool(streams.shift.any())
            owners = not at_ends and len(streams.begin) > 1
            buffers = allocate(streams, len(codes) + extra + 1, last=last, owners=owners)
            run_registers(
                codes, clock, self.tables, self.clauses, streams, trace, buffers, last, at_ends
            )
            return result(buffers, last=last)
        rows = int(streams.end.sum() - streams.begin.sum())
        if isinstance(self.tables, Sliding):
            buffers = allocate(streams, rows + int(streams.held[-1]), last=last)
            run_sliding(codes, clock, self.tables, streams, buffers, last)
            return result(buffers, last=last)
        kernel: Callable[..., bool] = run_configs
        if isinstance(self.tables, Configs):
            states, lists = 0, self.tables.final.shape[1]
        else:
            kernel, states = run_moving, len(self.tables.move)
            lists = 2 * states + len(self.tables.chain_size) + 1
        room = first_room(rows, late=late)
        while True:
            buffers = allocate(streams, room, last=last, lists=lists, states=states, block=BLOCK)
            if kernel(codes, clock, self.tables, self.clauses, choice, streams, buffers, last):
                return result(buffers, last=last, mixed=True)
            room = more_room(room, late=late)

    def is_final(self, state: NDArray[np.int64], slot: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which open starts make a window that ends with the last event of their stream.

        `state` is the machine state of their streams.
        """
        if isinstance(self.tables, Registers):
            bits: NDArray[np.bool_] = (self.tables.final[state] >> slot & 1).astype(np.bool_)
            return bits
        if isinstance(self.tables, Configs):
            final: NDArray[np.bool_] = self.tables.final[state, slot]
            return final
        if isinstance(self.tables, Automata):
            return self.tables.final[slot]
        if isinstance(self.tables, Preferred):
            return self.tables.accepts[slot]
        return np.zeros(
            len(slot), dtype=np.bool_
        )  # a start whose window has its length is no longer open


def machine_of(
    window: PlannedWindow, plan: Plan, most_configs: int = MOST_CONFIGS
) -> Machine | TrackedMachine:
    """Return the machine of a window of a plan."""
    window = without_choice(window)
    clauses, counts = kernel_clauses(window.clauses), window.clauses.within_events is not None
    own = own_letters(window, plan)
    if window.preference is not None:
        letters = window.letters if own is None else own.shared
        uses_letters = len(letters.guards) > CODED
        return Machine("preferred", clauses, preferred_tables(window, own), 0, uses_letters, own)
    if own is not None:
        return tracked_machine(window, own, clauses)
    tables = MachineTables(window)
    # Where `within` may leave nothing to emit, config and letter do not decide whether a window cuts.
    decided = not (clauses.cuts and clauses.limit >= 0)
    if decided and not tables.chains:
        automaton = ConfigAutomaton(tables, clauses, most_configs, ordered=clauses.single)
        if clauses.single and not automaton.complete:
            automaton = ConfigAutomaton(tables, clauses, most_configs)
        if automaton.complete:
            # A start that `keep` takes away after `having` leaves its slot empty, unlike a register.
            registers = None if window.clauses.drops_starts_late else automaton.registers()
            saved_as = "configs" if registers is None else "registers"
            rivals = None
            if tables.dominates is not None and not (registers and automaton.ordered):
                # And so does one that is dominated, if configs do not know which one is the older.
                registers, rivals = None, Rivals(automaton.window_states(), tables.dominates)
            kind: str
            coded: Registers | Configs
            if registers is not None:
                kind, coded = "registers", registers
            else:
                kind, coded = "configs", automaton.configs()
            configs = tuple(automaton.states)
            ahead = tables.ahead[automaton.window_states()] if counts else None
            return Machine(
                kind, clauses, coded, 0, tables.uses_letters, None, ahead, rivals, configs, saved_as
            )  # fmt: skip
    automata = tables.automata()
    sliding = _sliding(automata, clauses)
    if sliding is not None:
        return Machine("sliding", clauses, sliding, 0, tables.uses_letters)
    order = tables.order[np.newaxis]
    ahead = tables.ahead[order] if counts else None
    rivals = None if tables.dominates is None else Rivals(order, tables.dominates)
    return Machine("moving", clauses, automata, 0, tables.uses_letters, None, ahead, rivals)


def _sliding(automata: Automata, clauses: KernelClauses) -> Sliding | None:
    """Return the tables for windows of one fixed length; None: there are others."""
    if len(automata.chain_size) != 1 or clauses.until or clauses.cuts or clauses.limit >= 0:
        return None
    if automata.final[automata.chain_first[0]]:
        return None  # windows end everywhere in the chain
    after = np.unique(automata.leave[automata.leave >= 0])
    born = np.unique(automata.born[automata.born >= 0])
    alone = len(after) == 1 and automata.final[after[0]] and not automata.lasts[after[0]]
    if not alone or (born != automata.chain_first[0]).any():
        return None
    return Sliding(
        automata.classes,
        automata.prefix,
        automata.born >= 0,
        automata.leave[0] >= 0,
        int(automata.chain_size[0]),
    )


def kernel_clauses(clauses: compiled.Clauses) -> KernelClauses:
    """Return the clauses of a window as the tuple that kernels read."""
    return KernelClauses(
        until=clauses.until,
        or_end=clauses.or_end,
        oldest_wins=clauses.oldest_wins,
        cuts=clauses.cuts,
        ends_after_first=clauses.ends_after_first,
        single=clauses.single,
        limit=-1 if clauses.limit is None else min(clauses.limit, 2**63 - 1),
    )
