"""Guards that only compare columns, over all rows in one call, in slices that stay in the first cache.

One call for all guards, rather than one of numpy for each step of each block: threads that run side
by side would pass the interpreter's lock to each other between the steps, which costs more than the steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from wex.engine.kernels.compiled import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Floats, Ints

SLICE = 4096  # rows
EQUAL, UNEQUAL, LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = range(6)
MOST_DEEP = (1 << 16) - 1  # events that a guard may look back to, where a stream has just begun
LITERAL, AND, OR, NOT, TRUE, FALSE, FIRST, NEXT = range(8)  # steps; see `run_comparing`


@inlined
def compare(
    op: int, left: NDArray[Any], right: NDArray[Any], out: NDArray[np.uint8], size: int
) -> None:
    """Write where the values of two columns compare."""
    if op == EQUAL:
        for at in range(size):
            out[at] = left[at] == right[at]
    elif op == UNEQUAL:
        for at in range(size):
            out[at] = left[at] != right[at]
    elif op == LESS:
        for at in range(size):
            out[at] = left[at] < right[at]
    elif op == LESS_EQUAL:
        for at in range(size):
            out[at] = left[at] <= right[at]
    elif op == GREATER:
        for at in range(size):
            out[at] = left[at] > right[at]
    else:
        for at in range(size):
            out[at] = left[at] >= right[at]


@inlined
def compare_constant(
    op: int, left: NDArray[Any], value: float, out: NDArray[np.uint8], size: int
) -> None:
    """Write where the values of a column compare with a constant."""
    if op == EQUAL:
        for at in range(size):
            out[at] = left[at] == value
    elif op == UNEQUAL:
        for at in range(size):
            out[at] = left[at] != value
    elif op == LESS:
        for at in range(size):
            out[at] = left[at] < value
    elif op == LESS_EQUAL:
        for at in range(size):
            out[at] = left[at] <= value
    elif op == GREATER:
        for at in range(size):
            out[at] = left[at] > value
    else:
        for at in range(size):
            out[at] = left[at] >= value


@compiled
def run_comparing(
    reals: tuple[Floats, ...],
    wholes: tuple[Ints, ...],
    checked: int,
    atoms: Ints,
    real_constants: Floats,
    whole_constants: Ints,
    steps: Ints,
    slots: int,
    first: Ints,
    origin: Ints,
    end: Ints,
    row: int,
    rows: int,
    codes: NDArray[np.uint8],
) -> bool:
    """Write the codes of all readers from `row` to `rows`; False: one of the first `checked` reals is NaN.

    An atom is (is it real, operator, column, offset, second column or -1 for its constant, offset, rows
    before a slice that are needed too). A step is (what, slot, operand, second operand, depth): a LITERAL
    is an atom some rows back, false at the first `depth` events of each stream; FIRST and NEXT put the truth
    of an operand into the lowest bit of the code of a reader, given as the slot, and move the others up.
    """
    extra = deepest = 0
    for a in range(len(atoms)):
        extra = max(extra, atoms[a, 6])
    for s in range(len(steps)):
        deepest = max(deepest, steps[s, 4])
    # The positions of rows in their streams; those that are not among the first ones are taken for far.
    position = np.full(SLICE, MOST_DEEP, dtype=np.uint16)
    heads = False  # whether the last slice had first events
    held = np.empty((len(atoms), SLICE + extra), dtype=np.uint8)
    truth = np.empty((slots, SLICE), dtype=np.uint8)
    stream = 0
    while row < rows:
        size = min(SLICE, rows - row)
        for c in range(checked):
            column = reals[c][row : row + size]
            bad = 0
            for at in range(size):
                bad |= column[at] != column[at]
            if bad:
                return False
        for a in range(len(atoms)):
            op, before = atoms[a, 1], atoms[a, 6]
            low, high = row - before + atoms[a, 3], row - before + atoms[a, 5]
            count, out = size + before, held[a]
            if atoms[a, 0] and atoms[a, 4] >= 0:
                compare(op, reals[atoms[a, 2]][low:], reals[atoms[a, 4]][high:], out, count)
            elif atoms[a, 0]:
                compare_constant(op, reals[atoms[a, 2]][low:], real_constants[a], out, count)
            elif atoms[a, 4] >= 0:
                compare(op, wholes[atoms[a, 2]][low:], wholes[atoms[a, 4]][high:], out, count)
            else:
                compare_constant(op, wholes[atoms[a, 2]][low:], whole_constants[a], out, count)
        while deepest and stream + 1 < len(first) and first[stream + 1] <= row:
            stream += 1
        if heads:
            position[:] = MOST_DEEP
        heads, g = False, stream
        while deepest and g < len(first) and first[g] < row + size:
            low, high = max(first[g], origin[g], row), min(end[g], row + size)
            for x in range(low, min(origin[g] + deepest, high)):
                position[np.uint64(x - row)] = x - origin[g]
                heads = True
            g += 1
        for s in range(len(steps)):
            what, slot, one, two, depth = steps[s]
            if what == LITERAL:
                begin = atoms[one, 6] - two
                source, out = held[one][begin : begin + size], truth[slot]
                if depth and heads:
                    for at in range(size):
                        out[at] = source[at] & (position[at] >= np.uint16(depth))
                else:
                    for at in range(size):
                        out[at] = source[at]
            elif what == AND:
                left, right, out = truth[one], truth[two], truth[slot]
                for at in range(size):
                    out[at] = left[at] & right[at]
            elif what == OR:
                left, right, out = truth[one], truth[two], truth[slot]
                for at in range(size):
                    out[at] = left[at] | right[at]
            elif what == NOT:
                left, out = truth[one], truth[slot]
                for at in range(size):
                    out[at] = left[at] ^ np.uint8(1)
            elif what == FIRST:
                left, code = truth[one], codes[slot][row : row + size]
                for at in range(size):
                    code[at] = left[at]
            elif what == NEXT:
                left, code = truth[one], codes[slot][row : row + size]
                for at in range(size):
                    code[at] = (code[at] << np.uint8(1)) | left[at]
            else:
                truth[slot][:] = np.uint8(what == TRUE)
        row += size
    return True
