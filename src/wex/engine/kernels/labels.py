"""Parsing found windows: the position of the preferred way in which each event is read.

A window is read three times. Forwards, the positions are marked that can be reached; backwards, of these
the ones stay marked from which the rest of the window can be read to its end; forwards again, each event
takes the first position that is marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wex.engine.kernels.compiled import Kernel, compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints

WORD = 64  # positions whose marks are the bits of one number


class LabelTables(NamedTuple):
    """The positions of a window, as in `wex.compile.labels.LabelForm`; position 0 is the mark.

    `classes` has the class of a code and the bits of the predicates with aggregates.
    """

    classes: NDArray[np.uint16]
    width: int
    first: NDArray[np.int32]
    targets: NDArray[np.int32]
    first_begin: NDArray[np.int32]
    begins: NDArray[np.int32]


class Onward(NamedTuple):
    """Where `keep leftmost` goes on after a window: at its first or last event with a label, if `asked`.

    `has` tells for each position whether an event that is read in it has the label, `entries` for
    each row in which positions a start begins; it is empty if that is always the same. The other
    arrays are scratch for one window: `bits` is empty without predicates with aggregates.
    """

    asked: bool
    first: bool
    has: NDArray[np.bool_]
    tables: LabelTables
    entries: NDArray[np.int32]
    bits: NDArray[np.int32]
    alive: NDArray[np.uint64]
    read_in: NDArray[np.int32]


@inlined
def is_marked(marks: NDArray[np.uint64], position: int) -> bool:
    """Tell whether a position is marked."""
    return bool(marks[position // WORD] >> np.uint64(position % WORD) & np.uint64(1))


@inlined
def mark(marks: NDArray[np.uint64], position: int) -> None:
    """Mark a position."""
    marks[position // WORD] |= np.uint64(1) << np.uint64(position % WORD)


@compiled
def first_marked(positions: NDArray[np.int32], marks: NDArray[np.uint64]) -> np.int64:
    """Return the first of some positions that is marked; 0: none."""
    for position in positions:
        if is_marked(marks, position):
            return np.int64(position)
    return np.int64(0)


@compiled
def mark_reached(
    codes: NDArray[Any],
    bits: NDArray[np.int32],
    tables: LabelTables,
    row: int,
    size: int,
    begins: NDArray[np.int32],
    alive: NDArray[np.uint64],
) -> None:
    """Mark the positions that can be reached before each event of a window, and after the last."""
    words = alive.shape[1]
    alive[: size + 1] = 0
    for position in begins:
        if position:  # a window has at least one event
            mark(alive[0], position)
    for i in range(size):
        own = bits[i] if len(bits) else 0
        cls = np.int64(tables.classes[codes[row + i], own])
        for word in range(words):
            rest, p = alive[i, word], word * WORD
            while rest:
                if rest & np.uint64(1):
                    place = p * tables.width + cls
                    for target in range(tables.first[place], tables.first[place + 1]):
                        mark(alive[i + 1], tables.targets[target])
                rest >>= np.uint64(1)
                p += 1


@compiled
def keep_those_that_end(
    codes: NDArray[Any],
    bits: NDArray[np.int32],
    tables: LabelTables,
    row: int,
    size: int,
    alive: NDArray[np.uint64],
) -> None:
    """Remove the marks of positions from which the end of a window cannot be reached."""
    words = alive.shape[1]
    for i in range(size - 1, -1, -1):
        own = bits[i] if len(bits) else 0
        cls = np.int64(tables.classes[codes[row + i], own])
        for word in range(words):
            rest, p, left = alive[i, word], word * WORD, np.uint64(0)
            while rest:
                if rest & np.uint64(1):
                    place = p * tables.width + cls
                    for target in range(tables.first[place], tables.first[place + 1]):
                        if is_marked(alive[i + 1], tables.targets[target]):
                            left |= np.uint64(1) << np.uint64(p % WORD)
                            break
                rest >>= np.uint64(1)
                p += 1
            alive[i, word] = left


@compiled
def parse_window(
    codes: NDArray[Any],
    bits: NDArray[np.int32],
    tables: LabelTables,
    row: int,
    size: int,
    entry: int,
    alive: NDArray[np.uint64],
    read_in: NDArray[np.int32],
) -> None:
    """Write the position in which each event of a window is read."""
    begin, end = tables.first_begin[entry], tables.first_begin[entry + 1]
    mark_reached(codes, bits, tables, row, size, tables.begins[begin:end], alive)
    for word in range(1, alive.shape[1]):
        alive[size, word] = 0
    alive[size, 0] &= np.uint64(1)  # the mark alone: the window ends here
    keep_those_that_end(codes, bits, tables, row, size, alive)
    position = first_marked(tables.begins[begin:end], alive[0]) if size else 0
    for i in range(size):
        read_in[i] = position
        own_bits = bits[i] if len(bits) else 0
        cls = np.int64(tables.classes[codes[row + i], own_bits])
        place = position * tables.width + cls
        following = tables.targets[tables.first[place] : tables.first[place + 1]]
        position = first_marked(following, alive[i + 1])


@compiled
def parse_windows(
    codes: NDArray[Any],
    own: NDArray[np.int32],
    tables: LabelTables,
    rows: Ints,
    sizes: Ints,
    entries: NDArray[np.int32],
    alive: NDArray[np.uint64],
    read_in: NDArray[np.int32],
) -> None:
    """Write the position in which each event of some windows is read, one window after the other.

    Window w has `sizes[w]` events from row `rows[w]` on. `own` has the bits of predicates with
    aggregates for all these events; it is empty if there are none. `alive` is scratch for the longest window.
    """
    at = 0
    for w in range(len(rows)):
        size = sizes[w]
        bits = own[at : at + size] if len(own) else own
        parse_window(codes, bits, tables, rows[w], size, entries[w], alive, read_in[at : at + size])
        at += size


@compiled
def last_skipped(codes: NDArray[Any], onward: Onward, row: int, end: int) -> int:
    """Return the last row at which no window may start after one: before its event with the label.

    `onward.bits` has the bits of predicates with aggregates for the events of the window.
    """
    size = end - row + 1
    entry = int(onward.entries[row]) if len(onward.entries) else 0
    bits = onward.bits[:size]
    parse_window(codes, bits, onward.tables, row, size, entry, onward.alive, onward.read_in)
    for i in range(size):
        event = row + i if onward.first else end - i
        if onward.has[onward.read_in[event - row]]:
            return max(event - 1, row)
    return end


@compiled
def prefix_states(
    codes: NDArray[Any],
    classes: NDArray[np.uint16],
    table: NDArray[np.int32],
    begin: Ints,
    end: Ints,
    state: Ints,
    before: NDArray[np.int32],
) -> None:
    """Write the state of an automaton before each row, from row `begin` of each stream on.

    `state` has the states before these rows, and then those after the streams.
    """
    for g in range(len(begin)):
        at = state[g]
        for row in range(begin[g], end[g]):
            before[row] = at
            at = np.int64(table[at, classes[codes[row], 0]])
        state[g] = at


def own_bits_kernel(step: Any, _load: Any, _store: Any, digest: str) -> Kernel:
    """Return the kernel that evaluates predicates with aggregates on the events of found windows."""

    def run(rows, sizes, columns, initial, out):  # type: ignore[no-untyped-def]
        """Write the truth values of the predicates, as bits, for each event of each window."""
        at = 0
        for w in range(len(rows)):
            registers = initial
            for row in range(rows[w], rows[w] + sizes[w]):
                registers, own = step(row, registers, columns)
                out[at] = own
                at += 1
        return True

    run.__name__ = run.__qualname__ = f"run_own_bits_{digest}"
    return compiled(run)  # type: ignore[return-value]
