"""The columns of packed rows, in as few bytes as their values need, and back.

Texts and reals that repeat become codes, times that rise the steps between them, and other whole numbers the
distance from the least one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from wex.engine.input.grouping import is_text, is_whole, whole
from wex.engine.kernels.ordering import (
    MILLISECOND,
    SECOND,
    codes_by_bucket,
    least_and_greatest,
    risen,
    rises,
    word_codes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from wex.engine.arrays import Ints

Number = TypeVar("Number", bound=np.generic)

NARROW: tuple[type[np.unsignedinteger], ...] = (np.uint8, np.uint16, np.uint32)
TIME_STEPS = (SECOND, MILLISECOND)  # of times in microseconds
SAMPLE = 100  # rows that show in which steps times rise
# In the metadata of a column: a number and a step. Numbers are counted from the first one in steps, or, if they
# rise, each of them from the one before.
COUNTED, RISING = b"wex", b"wex-rising"
MOST_DIFFERENT = 0.5  # values for each row, from which on codes do not pay


class PackedColumn:
    """A column as it travels, in parts: here with its values as they are."""

    def __init__(self, values: pa.Array) -> None:
        self._values = values

    def part(self, bucket: int, start: int, end: int) -> pa.Array:  # noqa: ARG002
        """Return some rows of a bucket."""
        return self._values.slice(start, end - start)

    def metadata(self, start: int) -> dict[bytes, bytes] | None:  # noqa: ARG002
        """Return what has to be known of a part that begins at a row."""
        return None


class _Narrow(PackedColumn):
    """A column of whole numbers, counted from the least one in steps."""

    def __init__(self, numbers: NDArray[np.generic], least: int, step: int) -> None:
        super().__init__(pa.array(numbers))
        self._metadata = {COUNTED: json.dumps([least, step]).encode()}

    def metadata(self, start: int) -> dict[bytes, bytes]:  # noqa: ARG002
        return self._metadata


class _Rising(PackedColumn):
    """A column of whole numbers that rise in each bucket: the steps from each of them to the next one."""

    def __init__(
        self, steps: NDArray[np.uint16], numbers: Ints, order: Ints | None, step: int
    ) -> None:
        narrow = steps.astype(np.uint8) if steps.max() <= np.iinfo(np.uint8).max else steps
        super().__init__(pa.array(narrow))
        self._numbers, self._order, self._step = numbers, order, step

    def metadata(self, start: int) -> dict[bytes, bytes]:
        first = int(self._numbers[start if self._order is None else self._order[start]])
        return {RISING: json.dumps([first, self._step]).encode()}


class _Coded(PackedColumn):
    """A column of values that repeat: codes, and in each bucket the values that it has."""

    def __init__(self, values: pa.Array, codes: NDArray[np.int32], ends: Ints) -> None:
        own, self._used, self._used_ends = codes_by_bucket(codes, ends, len(values))
        super().__init__(pa.array(own, mask=own < 0) if (own < 0).any() else pa.array(own))
        self._distinct = values

    def part(self, bucket: int, start: int, end: int) -> pa.Array:
        first = self._used_ends[bucket - 1] if bucket else 0
        used = self._distinct.take(pa.array(self._used[first : self._used_ends[bucket]]))
        codes = super().part(bucket, start, end)
        for narrow in (pa.int8(), pa.int16()):
            if len(used) <= 1 << (narrow.bit_width - 1):
                codes = codes.cast(narrow)
                break
        return pa.DictionaryArray.from_arrays(codes, used)


def packed_column(column: pa.Array, order: Ints | None, ends: Ints) -> PackedColumn:
    """Return a column as it travels, its rows in an order (None: as they are)."""
    if pa.types.is_dictionary(column.type):
        if len(column.dictionary) <= MOST_DIFFERENT * len(column):
            return _Coded(column.dictionary, _in_order(codes_of(column), order), ends)
        column = column.cast(column.type.value_type)
    elif is_whole(column.type) and not column.null_count:
        steps = () if pa.types.is_integer(column.type) else TIME_STEPS
        numbers = whole(column)
        return _rising(numbers, order, ends, steps) or _Narrow(*_narrowed(numbers, order, steps))
    if pa.types.is_float64(column.type) and not column.null_count:
        reals = column.to_numpy()
        codes, words = word_codes(reals.view(np.uint64))
        if 0 < len(words) <= MOST_DIFFERENT * len(reals):
            return _Coded(pa.array(words.view(np.float64)), _in_order(codes, order), ends)
        return PackedColumn(pa.array(_in_order(reals, order)))
    return PackedColumn(column if order is None else column.take(pa.array(order)))


def _rising(numbers: Ints, order: Ints | None, ends: Ints, steps: Sequence[int]) -> _Rising | None:
    """Return numbers as steps from one to the next; None if they fall somewhere, or rise too far."""
    sample = numbers[:SAMPLE] - numbers[0]
    likely = next((step for step in steps if not (sample % step).any()), 1)
    rows = np.empty(0, dtype=np.int64) if order is None else order
    for step in dict.fromkeys((likely, 1)):
        found, rising = rises(numbers, rows, ends, step)
        if rising:
            return _Rising(found, numbers, order, step)
    return None


def _narrowed(
    numbers: Ints, order: Ints | None, steps: Sequence[int]
) -> tuple[NDArray[np.generic], int, int]:
    """Return numbers counted from the least one in steps, in as few bytes as they need.

    Behind them come the least one and the step: one of `steps` if that saves bytes, or 1.
    """
    least, greatest = map(int, least_and_greatest(numbers))
    narrow = _narrow_type(greatest - least)
    for step in steps:
        narrower = _narrow_type((greatest - least) // step)
        if narrower is None or narrower == narrow:
            continue
        distances = numbers - least
        counted = distances // step
        if np.array_equal(counted * step, distances):
            return _in_order(counted.astype(narrower), order), least, step
    if narrow is None:
        return _in_order(numbers, order), 0, 1
    return _in_order((numbers - least).astype(narrow), order), least, 1


def _narrow_type(most: int) -> type[np.unsignedinteger] | None:
    """Return the shortest type for numbers from 0 to `most`; None if it is no shorter than theirs."""
    return next((narrow for narrow in NARROW if most <= np.iinfo(narrow).max), None)


def _in_order(numbers: NDArray[Number], order: Ints | None) -> NDArray[Number]:
    return numbers if order is None else numbers[order]


def unpacked_column(
    column: pa.Array, metadata: dict[bytes, bytes] | None, type_: pa.DataType
) -> pa.Array:
    """Return a column of a blob with its type: blobs of one column may have been packed differently."""
    if metadata and RISING in metadata:
        return _of_whole(risen(column.to_numpy(), *json.loads(metadata[RISING])), type_)
    if metadata and COUNTED in metadata:
        least, step = json.loads(metadata[COUNTED])
        if step == 1:
            numbers: Ints = np.add(column.to_numpy(), least, dtype=np.int64)
        else:
            numbers = np.multiply(column.to_numpy(), step, dtype=np.int64)
            numbers += least
        return _of_whole(numbers, type_)
    if pa.types.is_dictionary(column.type):
        values = column.dictionary
        if pa.types.is_floating(type_):
            return pa.array(values.to_numpy()[column.indices.to_numpy()])
        codes = column.indices.cast(pa.int32())
        return pa.DictionaryArray.from_arrays(codes, values.cast(type_))
    if column.type != type_ and (is_text(column.type) or is_whole(column.type)):
        return column.cast(type_)  # another zone of a time, or large texts
    return column


def _of_whole(numbers: Ints, type_: pa.DataType) -> pa.Array:
    """Return integers of 64 bits as a type of whole numbers."""
    if pa.types.is_integer(type_):
        return pa.array(numbers.astype(type_.to_pandas_dtype(), copy=False))
    if pa.types.is_date32(type_):
        return pa.array(numbers.astype(np.int32)).view(type_)
    return pa.array(numbers).view(type_)


def codes_of(column: pa.DictionaryArray) -> NDArray[np.int32]:
    """Return the codes of texts; NULL is -1."""
    indices = column.indices
    codes: NDArray[np.int32] = (indices.fill_null(-1) if indices.null_count else indices).to_numpy()
    return codes
