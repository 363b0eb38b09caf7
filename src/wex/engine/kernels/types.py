"""The arguments and results of the kernels that run windows, as tuples of arrays."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from wex.engine.arrays import Ints

DROP, JOIN, BIRTH, EMIT, EMITTED = range(5)  # operations on the list in a slot


class Segments(NamedTuple):
    """The streams of a batch, and the starts that are open when it begins.

    The events of stream g are the rows `begin[g]` … `end[g] - 1`; the pane of row x is
    `x + shift[g]`; `state[g]` is its config or prefix state. Starts held are numbered through all
    streams, those of stream g from `held[g]` on: their pane, their time by `clock`, their slot or
    window state.
    """

    begin: Ints
    end: Ints
    shift: Ints
    state: Ints
    held: Ints
    pane: Ints
    clock: Ints
    slot: Ints


class KernelClauses(NamedTuple):
    """The clauses of a window as kernels read them: the rules of `wex.compile.clauses.Clauses`."""

    until: bool
    or_end: bool
    oldest_wins: bool  # of the starts that end together only the oldest: `longest`, `disjoint`
    cuts: bool  # a window takes all other starts with it: `disjoint`
    ends_after_first: bool  # a start ends once: `shortest`
    single: bool  # of the starts in one state only the oldest counts
    limit: int  # how far back a start may lie, by `clock`; -1: any


class Choice(NamedTuple):
    """Which windows to write: those with the oldest starts.

    `since[row]` is the pane from which on starts count for windows that end at a row; without it, all do.
    Of each list the `most` oldest of them are written, but none that is younger than one left out.
    """

    since: Ints
    most: int


class Registers(NamedTuple):
    """A config automaton in which no list ever has two starts; see `registers`.

    `step` and `op` are indexed by class and config, the config in the lower `config_bits`;
    `quad_step` and `quad_op` by four classes of `bits` each, the first one lowest, and config; they
    are empty if they would be too large. `occupied` and `final` have a bit for each slot whose start is held.
    """

    classes: NDArray[np.uint8]
    step: NDArray[np.uint16]
    op: NDArray[np.uint16]
    quad_step: NDArray[np.uint8]
    quad_op: NDArray[np.uint64]
    bits: int
    config_bits: int
    occupied: NDArray[np.uint32]
    final: NDArray[np.uint32]


class Lanes(NamedTuple):
    """The tables of four automata of registers that are traced side by side; see `lanes`.

    Configs are numbered through all lanes, those of a lane from `first` on. `step` is indexed by config and
    word, `single` by config and symbol: the next config above eight bits, and whether anything is done. `ops`
    has what is done for all entries of `step`, then for those of `single`, as `quad_op` has it. `symbols`
    has what a lane reads for each code; where its codes are symbols themselves, it `maps` none.
    """

    step: NDArray[np.uint16]
    single: NDArray[np.uint16]
    ops: NDArray[np.uint64]
    first: Ints
    symbols: NDArray[np.uint8]
    maps: NDArray[np.bool_]


class Trace(NamedTuple):
    """The events of one automaton of registers that act; without `up_to` for the streams, they are not known.

    A note is a row and, in its lower 16 bits, a place in `ops`; `up_to[g]` counts the notes of the
    streams 0 … g, and `after[g]` is the config when stream g ends.
    """

    ops: NDArray[np.uint64]
    notes: NDArray[np.uint64]
    up_to: Ints
    after: Ints


class Configs(NamedTuple):
    """A config automaton: next config and action, by class and config.

    Action a is `ops[ops_at[a]:ops_at[a + 1]]`, rows of operation, slot and second slot; action 0
    does nothing. `final` tells for each config and slot whether a window may end.
    """

    classes: NDArray[np.uint16]
    step: NDArray[np.uint16]
    act: NDArray[np.uint16]
    ops_at: Ints
    ops: Ints
    final: NDArray[np.bool_]


class Automata(NamedTuple):
    """Prefix and window automaton over common classes of letters; see `moving`.

    `born[p, class]` is the window state of a start at prefix state p, `move[q, class]` the
    state after q; -1 is the end of a start. `lasts[q]`: more can follow. Chain c has `chain_size[c]`
    states from `chain_first[c]` on, numbered one after the other, and `leave[c, class]` follows
    the last one; -1 if the letter ends all starts in it. `chain_of[q]` is -1 outside of chains.
    """

    classes: NDArray[np.uint16]
    prefix: NDArray[np.int32]
    born: NDArray[np.int32]
    move: NDArray[np.int32]
    final: NDArray[np.bool_]
    lasts: NDArray[np.bool_]
    until: NDArray[np.bool_]
    chain_of: NDArray[np.int32]
    chain_first: NDArray[np.int32]
    chain_size: NDArray[np.int32]
    leave: NDArray[np.int32]


class Sliding(NamedTuple):
    """A window that ends `size` events after its start, if all letters on the way let it stay."""

    classes: NDArray[np.uint16]
    prefix: NDArray[np.int32]
    born: NDArray[np.bool_]
    stays: NDArray[np.bool_]
    size: int


class Preferred(NamedTuple):
    """The ordered automaton of a window, and its prefix automaton; see `preferred`.

    `classes[code, bits]` is the class of an event: `bits` are the truths of the predicates with
    aggregates, 0 without them. `born[p]` is the state in which a start at prefix state p begins, -1:
    none does. `ahead[state]` is how many events a start needs at least to get another candidate, if
    `within` counts events, otherwise 0. `prunes` tells that of two starts in one state the later one
    is often lost.
    """

    classes: NDArray[np.uint16]
    prefix: NDArray[np.int32]
    born: NDArray[np.int32]
    move: NDArray[np.int32]
    accepts: NDArray[np.bool_]
    confirmed: NDArray[np.int32]
    denied: NDArray[np.int32]
    until: NDArray[np.bool_]
    ahead: Ints
    leftmost: bool
    sharing: int
    prunes: bool


class KernelResult(NamedTuple):
    """The windows of a batch, and the starts that are open after it.

    A window has the pane of its start, the row of its last event, and its stream (`owners`). An
    open start has a pane, and a slot or window state; `kept[g]` counts those of the streams 0 … g.
    """

    start: Ints
    end: Ints
    owners: Ints
    pane: Ints
    slot: Ints
    kept: Ints
    state: Ints


Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return an array without gaps that cannot be written to; no copy if it has no gaps.

    Columns of Arrow are read-only, arrays made by numpy are not. As all arrays that kernels read
    are made read-only, each kernel is compiled once, and numba rejects a kernel that writes to one.
    """
    view = np.ascontiguousarray(array)
    if view.flags.writeable:
        view = view.view()
        view.flags.writeable = False
    return view
