"""The loops behind sorting and packing rows: radix sort, hashes of texts, codes within each bucket, rises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from wex.engine.kernels.compiled import compiled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from wex.engine.arrays import Ints

DIGIT = 16  # bits of a digit: on machines with small caches 8 take as long, 11 longer
DIGITS = 1 << DIGIT
LOW_DIGIT = np.uint64(DIGITS - 1)

# Texts are hashed by FNV-1a, and all hashes finished by the last step of MurmurHash3.
FNV_BASIS = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
MURMUR_FIRST = np.uint64(0xFF51AFD7ED558CCD)
MURMUR_SECOND = np.uint64(0xC4CEB9FE1A85EC53)
CODE_BITS = 13  # of the places in a table of words that get codes
MOST_CODES = 1 << (CODE_BITS - 2)  # in such a table: a quarter of it
MOST_RISE = np.iinfo(np.uint16).max
SECOND, MILLISECOND = 1_000_000, 1_000  # in microseconds: steps that many times are counted in


@compiled
def radix_order(words: NDArray[np.uint64], bits: int) -> Ints:
    """Return the indices that sort words of so many bits; equal words keep their order."""
    count = len(words)
    passes = (bits + DIGIT - 1) // DIGIT
    places = np.zeros((passes, DIGITS), dtype=np.int64)
    for row in range(count):
        word = words[row]
        for at in range(passes):
            places[at, np.int64((word >> np.uint64(at * DIGIT)) & LOW_DIGIT)] += 1
    order = np.arange(count)
    next_order = np.empty(count, dtype=np.int64)
    keys, next_keys = words.copy(), np.empty(count, dtype=np.uint64)
    for at in range(passes):
        shift = np.uint64(at * DIGIT)
        total, most = 0, 0
        for digit in range(DIGITS):
            size = places[at, digit]
            most = max(most, size)
            places[at, digit] = total
            total += size
        if most == count:  # all words have the same digit here
            continue
        for row in range(count):
            word = keys[row]
            digit = np.int64((word >> shift) & LOW_DIGIT)
            place = places[at, digit]
            places[at, digit] = place + 1
            next_keys[place] = word
            next_order[place] = order[row]
        keys, next_keys = next_keys, keys
        order, next_order = next_order, order
    return order


@compiled
def text_hashes(
    offsets: NDArray[np.int64], data: NDArray[np.uint8], first: int, count: int
) -> NDArray[np.uint64]:
    """Return a hash of each text, given as the bytes between two offsets."""
    hashes = np.empty(count, dtype=np.uint64)
    for text in range(count):
        code = FNV_BASIS
        for at in range(offsets[first + text], offsets[first + text + 1]):
            code = (code ^ np.uint64(data[at])) * FNV_PRIME
        hashes[text] = code
    return hashes


@compiled
def codes_by_bucket(
    codes: NDArray[np.int32], ends: Ints, size: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], Ints]:
    """Return codes counted anew in each bucket, the old codes of each bucket, and where these end.

    The rows are in the order of their buckets, which end at `ends`; codes are less than `size`, and
    -1 stays -1.
    """
    own = np.empty(len(codes), dtype=np.int32)
    used = np.empty(len(codes), dtype=np.int32)
    used_ends = np.empty(len(ends), dtype=np.int64)
    seen_in = np.full(size, -1, dtype=np.int32)
    code_in = np.empty(size, dtype=np.int32)
    row, count = 0, 0
    for bucket in range(len(ends)):
        first = count
        while row < ends[bucket]:
            code = codes[row]
            if code < 0:
                own[row] = -1
            else:
                if seen_in[code] != bucket:
                    seen_in[code] = bucket
                    code_in[code] = count - first
                    used[count] = code
                    count += 1
                own[row] = code_in[code]
            row += 1
        used_ends[bucket] = count
    return own, used[:count], used_ends


@compiled
def word_codes(words: NDArray[np.uint64]) -> tuple[NDArray[np.int32], NDArray[np.uint64]]:
    """Return a code for each word, and the words by their codes; none if there are more than `MOST_CODES`.

    Of words that hardly repeat only the first few are read.
    """
    codes = np.empty(len(words), dtype=np.int32)
    known = np.empty(MOST_CODES, dtype=np.uint64)
    places = np.full(1 << CODE_BITS, -1, dtype=np.int32)
    last, shift = np.int64((1 << CODE_BITS) - 1), np.uint64(64 - CODE_BITS)
    count = 0
    for row in range(len(words)):
        word = words[row]
        place = np.int64((word ^ (word >> np.uint64(32))) * MURMUR_FIRST >> shift)
        code = places[place]
        while code >= 0 and known[code] != word:
            place = (place + 1) & last
            code = places[place]
        if code < 0:
            if count == MOST_CODES:
                return codes[:0], known[:0]
            code = np.int32(count)
            places[place] = code
            known[count] = word
            count += 1
        codes[row] = code
    return codes, known[:count]


@compiled
def rises(numbers: Ints, order: Ints, ends: Ints, step: int) -> tuple[NDArray[np.uint16], bool]:
    """Return in steps how far each number is above the one before, and whether that can be said of all.

    The numbers are taken in an order, if it is not empty, in which buckets end at `ends`. Nothing is said of
    the first number of a bucket. A step is one of the constants above, by which dividing is cheap, or 1.
    """
    steps = np.empty(len(numbers), dtype=np.uint16)
    row, most = 0, MOST_RISE * step
    for end in ends:
        last = np.int64(0)
        if row < end:
            last = numbers[order[row]] if len(order) else numbers[row]
        while row < end:
            number = numbers[order[row]] if len(order) else numbers[row]
            rise = number - last  # negative also if it is beyond 64 bits
            if rise < 0 or rise > most or number < last:
                return steps, False
            if step == SECOND:
                count = rise // SECOND
            elif step == MILLISECOND:
                count = rise // MILLISECOND
            else:
                count = rise
            if count * step != rise:
                return steps, False
            steps[row] = count
            last = number
            row += 1
    return steps, True


@compiled
def risen(steps: NDArray[np.uint16], first: int, step: int) -> Ints:
    """Return the numbers that `rises` has made steps of; nothing is known of the first of these."""
    numbers = np.empty(len(steps), dtype=np.int64)
    last = np.int64(first)
    for row in range(len(steps)):
        if row:
            last += np.int64(steps[row]) * step
        numbers[row] = last
    return numbers


@compiled
def mix(hashes: NDArray[np.uint64], values: NDArray[np.uint64]) -> None:
    """Mix one value of each row into its hash: the finaliser of MurmurHash3."""
    for row in range(len(hashes)):
        code = hashes[row] * FNV_PRIME ^ values[row]
        code = (code ^ (code >> np.uint64(33))) * MURMUR_FIRST
        code = (code ^ (code >> np.uint64(33))) * MURMUR_SECOND
        hashes[row] = code ^ (code >> np.uint64(33))


@compiled
def buckets_of_hashes(hashes: NDArray[np.uint64], buckets: int) -> NDArray[np.int32]:
    """Return the bucket of each hash: its upper half decides."""
    wide, half = np.uint64(buckets), np.uint64(32)
    numbers = np.empty(len(hashes), dtype=np.int32)
    for row in range(len(hashes)):
        numbers[row] = np.int32((hashes[row] >> half) * wide >> half)
    return numbers


@compiled
def bucket_order(numbers: NDArray[np.int32], buckets: int) -> tuple[Ints, Ints, bool]:
    """Return the rows in the order of their buckets, and where each bucket ends in this order.

    Also whether they are in this order already: then no order is returned. Rows of one bucket keep theirs.
    """
    count = len(numbers)
    places = np.zeros(buckets + 1, dtype=np.int64)
    last, in_order = np.int32(0), True
    for row in range(count):
        number = numbers[row]
        in_order &= number >= last
        last = number
        places[number + 1] += 1
    for number in range(buckets):
        places[number + 1] += places[number]
    if in_order:
        return np.empty(0, dtype=np.int64), places[1:], True
    order = np.empty(count, dtype=np.int64)
    for row in range(count):
        place = places[numbers[row]]
        order[place] = row
        places[numbers[row]] = place + 1
    return order, places[:buckets], False


@compiled
def least_and_greatest(numbers: Ints) -> tuple[int, int]:
    """Return the least and the greatest of some numbers; there is one at least."""
    least = greatest = numbers[0]
    for number in numbers:
        least = min(least, number)
        greatest = max(greatest, number)
    return least, greatest


@compiled
def places_by_key(
    codes: NDArray[np.uint32], times: Ints, size: int
) -> tuple[Ints, Ints, bool, bool]:
    """Return the place of each row if rows are sorted by key, and where each key ends.

    Also whether times rise, and whether all rows are in their places.

    Codes of keys are less than `size`. Times rise if each row of a key is later than the one before. No places are
    returned for rows that are in theirs: a pass that writes nothing finds these out, or ends soon.
    """
    ends = np.zeros(size, dtype=np.int64)
    count = len(codes)
    sorted_rows = 1
    while sorted_rows < count and (
        codes[sorted_rows] > codes[sorted_rows - 1]
        or (
            codes[sorted_rows] == codes[sorted_rows - 1]
            and times[sorted_rows] > times[sorted_rows - 1]
        )
    ):
        sorted_rows += 1
    for row in range(count):
        ends[codes[row]] += 1
    if sorted_rows >= count:
        return np.empty(0, dtype=np.int64), np.cumsum(ends), True, True
    total = 0
    for key in range(size):
        own = ends[key]
        ends[key] = total
        total += own
    places = np.empty(count, dtype=np.int64)
    last = np.empty(size, dtype=np.int64)
    begun = np.zeros(size, dtype=np.bool_)
    in_place = True
    for row in range(len(codes)):
        key = codes[row]
        if begun[key] and times[row] <= last[key]:
            return places, ends, False, False
        begun[key] = True
        last[key] = times[row]
        places[row] = ends[key]
        in_place &= ends[key] == row
        ends[key] += 1
    return places, ends, True, in_place


@compiled
def scatter(values: NDArray[np.uint64], places: Ints, moved: NDArray[np.uint64]) -> None:
    """Move each value to its place: few keys are few streams of writes, which a cache holds."""
    for row in range(len(places)):
        moved[places[row]] = values[row]
