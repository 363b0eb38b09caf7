"""Parsing found windows: the position of the preferred way in which each event is read.

A window is read twice. Backwards, the positions are marked from which the rest of the window can be
read to its end; forwards, each event takes the first position that is marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from wex.engine.kernels.compiled import Kernel, compiled

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
    first, targets, width = tables.first, tables.targets, tables.width
    words = alive.shape[1]
    count = (len(first) - 1) // width
    at = 0
    for w in range(len(rows)):
        row, size = rows[w], sizes[w]
        for word in range(words):
            alive[size, word] = 0
        alive[size, 0] = 1  # the mark
        for i in range(size - 1, -1, -1):
            bits = own[at + i] if len(own) else 0
            cls = np.int64(tables.classes[codes[row + i], bits])
            for word in range(words):
                alive[i, word] = 0
            for p in range(1, count):
                begin = p * width + cls
                for place in range(first[begin], first[begin + 1]):
                    q = targets[place]
                    if alive[i + 1, q // WORD] >> np.uint64(q % WORD) & np.uint64(1):
                        alive[i, p // WORD] |= np.uint64(1) << np.uint64(p % WORD)
                        break
        position = 0
        e = entries[w]
        for place in range(tables.first_begin[e], tables.first_begin[e + 1]):
            q = tables.begins[place]
            if q and alive[0, q // WORD] >> np.uint64(q % WORD) & np.uint64(1):
                position = q
                break
        for i in range(size):
            read_in[at + i] = position
            bits = own[at + i] if len(own) else 0
            begin = position * width + np.int64(tables.classes[codes[row + i], bits])
            after = 0
            for place in range(first[begin], first[begin + 1]):
                q = targets[place]
                if alive[i + 1, q // WORD] >> np.uint64(q % WORD) & np.uint64(1):
                    after = q
                    break
            position = after
        at += size


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
