"""Several automata of registers in one pass: which events of each of them act.

Each step of an automaton waits for the table that tells its next config, and the processor has nothing
else to do meanwhile. Four automata side by side, each in its *lane*, take little longer than one.
What acts is noted for each lane, and performed later: see `registers`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints
    from wex.engine.kernels.types import Lanes

    Codes = NDArray[np.uint8]
    Quads = NDArray[np.uint32]
    Notes = NDArray[np.uint64]

LANES = 4
SYMBOLS = 4  # that a lane reads: a word is four of them, in two bits each
WORDS = SYMBOLS**4
NOTE_BITS = 16  # in a note, below its row: the place of its operations
ACTS = 1  # in an entry of a table, beside the next config: the events act
BLOCK = 1024  # words
# Multiplied by this, the four bytes of a number have their lowest two bits side by side above bit 24.
GATHER = 1 << 24 | 1 << 18 | 1 << 12 | 1 << 6


@inlined
def trace_singly(
    codes: Codes,
    symbols: NDArray[np.uint8],
    single: NDArray[np.uint16],
    ops: int,
    notes: Notes,
    config: int,
    noted: int,
    low: int,
    high: int,
) -> tuple[int, int]:
    """Note which of some rows act, one by one; return the config after them and the count of notes."""
    for row in range(low, high):
        at = config // WORDS * SYMBOLS + np.int64(symbols[codes[row]])
        entry = np.int64(single[at])
        notes[noted] = np.uint64(row << NOTE_BITS | (ops + at))
        noted += entry & ACTS
        config = entry & ~(WORDS - 1)
    return config, noted


@compiled
def trace_lanes(
    codes: tuple[Codes, ...],
    quads: tuple[Quads, ...],
    lanes: Lanes,
    begin: Ints,
    end: Ints,
    state: Ints,
    notes: tuple[Notes, ...],
    noted: Ints,
    after: Ints,
) -> None:
    """Note which events of each lane act; `noted` counts the notes of each lane up to a stream.

    `begin`, `state`, `noted` and `after`, the configs when the streams end, are given by lane and stream.
    `quads` are the codes, four in a number. There has to be room for a note of each row that is read by
    itself, of each four others, and one more.
    """
    step, single, first, symbols = lanes.step, lanes.single, lanes.first, lanes.symbols
    singles = len(step)
    words = np.empty((LANES, BLOCK), dtype=np.uint8)
    config = np.zeros(LANES, dtype=np.int64)
    count = np.zeros(LANES, dtype=np.int64)
    row_bits, acts = np.uint64(NOTE_BITS), np.uint64(ACTS)
    configs = np.uint64((1 << NOTE_BITS) - WORDS)
    words0, words1, words2, words3 = words[0], words[1], words[2], words[3]
    notes0, notes1, notes2, notes3 = notes
    for g in range(len(end)):
        stop, row = int(end[g]), 0
        for lane in range(LANES):
            row = max(row, int(begin[lane, g]))
        # Together from a row on that begins four codes.
        row = min((row + 3) & ~3, stop)
        for lane in range(LANES):
            config[lane], count[lane] = trace_singly(
                codes[lane], symbols[lane], single, singles, notes[lane],
                (first[lane] + state[lane, g]) * WORDS, count[lane], begin[lane, g], row,
            )  # fmt: skip
        while row + 3 < stop:
            size = min(BLOCK, (stop - row) >> 2)
            for lane in range(LANES):
                out = words[lane]
                if lanes.maps[lane]:
                    own, to = codes[lane], symbols[lane]
                    for at in range(size):
                        low = row + 4 * at
                        word = to[own[low]] | to[own[low + 1]] << 2
                        out[at] = word | to[own[low + 2]] << 4 | to[own[low + 3]] << 6
                else:
                    four = quads[lane][row >> 2 : (row >> 2) + size]
                    for at in range(size):
                        gathered = np.uint64(four[at]) * np.uint64(GATHER)
                        out[at] = (gathered >> np.uint64(24)) & np.uint64(WORDS - 1)
            config0, config1 = np.uint64(config[0]), np.uint64(config[1])
            config2, config3 = np.uint64(config[2]), np.uint64(config[3])
            count0, count1 = np.uint64(count[0]), np.uint64(count[1])
            count2, count3 = np.uint64(count[2]), np.uint64(count[3])
            x = np.uint64(row) << row_bits
            for at in range(np.uint64(size)):
                at0 = config0 + np.uint64(words0[at])
                at1 = config1 + np.uint64(words1[at])
                at2 = config2 + np.uint64(words2[at])
                at3 = config3 + np.uint64(words3[at])
                entry0, entry1 = np.uint64(step[at0]), np.uint64(step[at1])
                entry2, entry3 = np.uint64(step[at2]), np.uint64(step[at3])
                notes0[count0] = x | at0
                notes1[count1] = x | at1
                notes2[count2] = x | at2
                notes3[count3] = x | at3
                count0 += entry0 & acts
                count1 += entry1 & acts
                count2 += entry2 & acts
                count3 += entry3 & acts
                config0, config1 = entry0 & configs, entry1 & configs
                config2, config3 = entry2 & configs, entry3 & configs
                x += np.uint64(4) << row_bits
            config[0], config[1] = np.int64(config0), np.int64(config1)
            config[2], config[3] = np.int64(config2), np.int64(config3)
            count[0], count[1] = np.int64(count0), np.int64(count1)
            count[2], count[3] = np.int64(count2), np.int64(count3)
            row += 4 * size
        for lane in range(LANES):
            config[lane], count[lane] = trace_singly(
                codes[lane], symbols[lane], single, singles, notes[lane],
                config[lane], count[lane], row, stop,
            )  # fmt: skip
            noted[lane, g] = count[lane]
            after[lane, g] = config[lane] // WORDS - first[lane]
