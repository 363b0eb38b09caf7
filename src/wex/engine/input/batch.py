"""A batch of events, sorted by stream: the columns as numpy arrays, and the rows of each stream.

Before the new events of a stream come its last events from earlier batches, as many as lookback
needs. Guards read these, but no window is reported for them again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.engine.arrays import empty
from wex.engine.data_errors import FaultError, null_error
from wex.engine.input.columns import combine_chunks, display_value, spans
from wex.engine.kernels.scans import blank_heads
from wex.engine.kernels.types import read_only
from wex.spec.patterns import Wildcard, parts
from wex.spec.types import DATE, OTHER, TIMESTAMP, Type
from wex.threads import cached_property

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from wex.engine.arrays import Bools, Ints

BLOCK = 1 << 17  # rows that are evaluated together, so that their columns stay in the cache
NO_TEXT = -1


@dataclass(frozen=True, eq=False)
class Batch:
    """Stream g has the rows `first[g]` … `end[g] - 1`; its new events begin at `begin[g]`.

    `position[g]` is the position in its stream of the event at `begin[g]`. If `checked`, its events
    are known to have no fault of their own, such as a NULL.
    """

    table: pa.Table
    fields: Mapping[str, Type]
    keys: tuple[str, ...]
    first: Ints
    begin: Ints
    end: Ints
    position: Ints
    checked: bool = False

    @property
    def rows(self) -> int:
        """Return the number of rows, those kept for lookback included."""
        return int(self.table.num_rows)

    @cached_property
    def _text_codes(self) -> TextCodes:
        names = [name for name, type_ in self.fields.items() if type_.name in ("string", "enum")]
        return TextCodes({name: self.table.column(name) for name in names})

    @cached_property
    def _arrays(self) -> dict[str, NDArray[np.generic]]:
        return {}

    @cached_property
    def _masks(self) -> dict[str, Bools]:
        return {}

    def array(self, name: str) -> NDArray[np.generic]:
        """Return a column as numbers: times as whole numbers, texts as codes."""
        if self.fields[name].name in ("string", "enum"):
            return self._text_codes.columns[name]
        if name not in self._arrays:
            self._arrays[name] = numbers(self.table.column(name), self.fields[name])
        return self._arrays[name]

    def code(self, text: str) -> int:
        """Return the code of a text; a text that does not occur gets a new one."""
        return self._text_codes.code(text)

    def matching(self, pattern: str) -> Bools:
        """Tell for the code of each text whether it matches a pattern; the last is for NULL."""
        return self._text_codes.matching(pattern)

    def texts(self) -> list[str]:
        """Return the texts by their codes."""
        return self._text_codes.texts()

    def text_ranks(self) -> Ints:
        """Return for each code the place of its text in the order of texts, by their UTF-8 bytes."""
        texts = [text.encode() for text in self.texts()]
        ranks = np.empty(len(texts) + 1, dtype=np.int64)  # never empty
        ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        return ranks

    def known(self, name: str) -> Bools | None:
        """Return a mask of the rows that are not NULL; None if there is no NULL."""
        column = self.table.column(name)
        if not column.null_count:
            return None
        if name not in self._masks:
            self._masks[name] = column.is_valid().to_numpy()
        return self._masks[name]

    # --- Places

    @cached_property
    def origin(self) -> Ints:
        """Return the row of the first event of each stream, or where it would be."""
        return self.begin - self.position if self.position.any() else self.begin

    def at_position(self, position: int) -> Ints:
        """Return the rows at a position of their stream."""
        rows = self.origin + position
        return rows[(rows >= self.first) & (rows < self.end)]

    def before_position(self, position: int) -> Ints:
        """Return the rows before a position of their stream, ascending."""
        low = np.maximum(self.first, self.origin)
        high = np.minimum(self.end, self.origin + position)
        near = high > low
        return spans(low[near], high[near])

    def stream_of(self, row: int) -> int:
        """Return the stream that a row belongs to."""
        return int(np.searchsorted(self.first, row, side="right")) - 1

    def key(self, stream: int) -> tuple[object, ...]:
        """Return the key of a stream, as errors show it."""
        row = int(self.first[stream])
        return tuple(display_value(self.table.column(name)[row]) for name in self.keys)

    def position_of(self, row: int) -> int:
        """Return the position of a row in its stream."""
        stream = self.stream_of(row)
        return int(self.position[stream] + row - self.begin[stream])

    @cached_property
    def positions(self) -> Ints:
        """Return for each row its position in its stream."""
        offset = self.position - self.begin
        return np.arange(self.rows) + np.repeat(offset, self.end - self.first)

    def part(self, low: int, high: int) -> Batch:
        """Return the streams from `low` to `high - 1`."""
        begin = int(self.first[low]) if low < len(self.first) else self.rows
        end = int(self.end[high - 1]) if high > low else begin
        first = _less(self.first[low:high], begin)
        return replace(
            self,
            table=self.table.slice(begin, end - begin),
            first=first,
            begin=first if self.begin is self.first else _less(self.begin[low:high], begin),
            end=_less(self.end[low:high], begin),
            position=self.position[low:high],
        )

    def before(self, row: int) -> Batch:
        """Return the events before a row, of a batch with one stream."""
        return replace(self, table=self.table.slice(0, row), end=np.array([row]))

    def heads(self, length: int) -> tuple[Batch, Ints]:
        """Return the first `length` events of the streams that begin in the batch, and their rows."""
        young = self.position < length
        first = self.first[young]
        sizes = np.minimum(self.end[young] - first, length)
        rows = spans(first, first + sizes)
        begin = np.cumsum(sizes) - sizes
        table = self.table.take(pa.array(rows))
        position = np.zeros(len(sizes), dtype=np.int64)
        heads = Batch(table, self.fields, self.keys, begin, begin, begin + sizes, position)
        return heads, rows

    # --- Blocks

    def blocks(self, reach: int) -> Iterator[Block]:
        """Yield the rows block by block; each can read `reach` rows back.

        Rows before the first one have its values: no guard is evaluated on them.
        """
        front = min(self.rows, reach)
        heads = self._heads()
        if front:
            yield Block(self, 0, front, heads, reach, padded=True)
        for row in range(front, self.rows, BLOCK):
            yield Block(self, row, min(row + BLOCK, self.rows), heads, reach, padded=False)

    def _heads(self) -> Heads:
        """Return the streams whose first event is in the batch, kept for lookback or labels."""
        if self.origin is self.begin:
            return Heads(read_only(self.origin), read_only(self.end))
        # Of a stream that has one of its first events here, all are here: states keep the last ones.
        young = self.origin >= self.first
        return Heads(read_only(self.origin[young]), read_only(self.end[young]))


class Heads(NamedTuple):
    """Streams whose first events are in a batch: the rows of their first events, and their ends."""

    first: Ints
    end: Ints


class Block:
    """Some rows of a batch, and a cache of the atoms evaluated on them."""

    def __init__(
        self, batch: Batch, row: int, end: int, heads: Heads, reach: int, *, padded: bool
    ) -> None:
        self.batch, self._heads = batch, heads
        self.row, self.end, self.size = row, end, end - row
        self._reach, self._padded = reach, padded
        self.cache: dict[object, Bools] = {}

    def field(self, name: str, offset: int, extra: int) -> NDArray[np.generic]:
        """Return a column `offset` rows back, for the rows of the block and `extra` ones before."""
        return self._back(self.batch.array(name), offset, extra)

    def _back(self, column: NDArray[Any], offset: int, extra: int) -> NDArray[Any]:
        row = self.row
        if self._padded:
            column = np.concatenate([np.repeat(column[:1], self._reach), column[: self.end]])
            row = self._reach
        return column[row - extra + offset : row + self.size + offset]

    def check_nan(self, name: str) -> None:
        """Raise a DataError if a column has a NaN in the block."""
        column = self.batch.array(name)[self.row : self.end]
        if np.isnan(column.min(initial=np.inf)):  # one pass; no BLAS, which has threads of its own
            row = self.row + int(np.argmax(np.isnan(column)))
            stream = self.batch.stream_of(row)
            error = null_error("NaN", name, self.batch.key(stream), self.batch.position_of(row))
            raise FaultError(error, stream, row)

    def known(self, name: str, offset: int, extra: int = 0) -> Bools | None:
        """Return a mask like `field`: where a column is not NULL; None if it has no NULL."""
        known = self.batch.known(name)
        return None if known is None else self._back(known, offset, extra)

    def code(self, text: str) -> int:
        """Return the code of a text."""
        return self.batch.code(text)

    def matching(self, pattern: str) -> Bools:
        """Tell for the code of each text whether it matches a pattern."""
        return self.batch.matching(pattern)

    def mask_of(self, rows: Ints) -> Bools:
        """Return a mask of the block's rows that are among ascending rows of the batch."""
        mask = np.zeros(self.size, dtype=np.bool_)
        mask[self._inside(rows)] = True
        return mask

    def without(self, mask: Bools, depth: int) -> Bools:
        """Return a mask of the block's rows that is false at the first `depth` events of each stream."""
        first, end = self._near_heads
        if not len(first) or (len(first) == 1 and first[0] + depth <= self.row):
            return mask
        mask = mask.copy()
        blank_heads(mask, self.row, depth, first, end)
        return mask

    @cached_property
    def _near_heads(self) -> Heads:
        """Return those of the streams that may have rows in the block."""
        first, end = self._heads
        low = max(int(np.searchsorted(first, self.row - self._reach, side="right")) - 1, 0)
        high = int(np.searchsorted(first, self.end))
        return Heads(first[low:high], end[low:high])

    def _inside(self, rows: Ints) -> Ints:
        """Return the places in the block of ascending rows of the batch."""
        low, high = np.searchsorted(rows, (self.row, self.end))
        return rows[low:high] - self.row


class BatchView:
    """All rows of a batch as one block; lookback before the first event of a stream reads NULL."""

    def __init__(self, batch: Batch, guarded: frozenset[str] = frozenset()) -> None:
        """`guarded` are the fields that have neither NULL nor NaN, because guards read them."""
        self.batch = batch
        self.size = batch.rows
        self.guarded = guarded

    def field(self, name: str, offset: int, extra: int = 0) -> NDArray[np.generic]:
        """Return a column `offset` rows back; rows before the first one have its value."""
        assert not extra
        column = self.batch.array(name)
        if not offset or not self.size:
            return column
        moved = np.empty_like(column)
        moved[-offset:] = column[:offset]
        moved[:-offset] = column[0]
        return moved

    def known(self, name: str, offset: int, extra: int = 0) -> Bools | None:
        """Return a mask of the rows whose value `offset` rows back exists; None if all do."""
        assert not extra
        known = self.batch.known(name)
        if not offset:
            return known
        moved = np.ones(self.size, dtype=np.bool_)
        if known is not None:
            moved[-offset:] = known[:offset]
        moved[self.batch.before_position(-offset)] = False
        return moved

    def code(self, text: str) -> int:
        """Return the code of a text."""
        return self.batch.code(text)

    def matching(self, pattern: str) -> Bools:
        """Tell for the code of each text whether it matches a pattern."""
        return self.batch.matching(pattern)


class TextCodes:
    """Columns of text as integer codes: equal texts have one code in all columns, NULL is -1."""

    def __init__(self, columns: Mapping[str, pa.ChunkedArray]) -> None:
        chunks = [chunk for column in columns.values() for chunk in column.chunks]
        encoded = pa.chunked_array(chunks, pa.string()).combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(NO_TEXT).to_numpy(zero_copy_only=False)
        ends = np.cumsum([len(column) for column in columns.values()], dtype=np.int64)
        self.columns: dict[str, NDArray[np.generic]] = dict(
            zip(columns, np.split(codes, ends[:-1]), strict=False)  # one empty part for no columns
        )
        self._texts = encoded.dictionary
        self._codes = {text: code for code, text in enumerate(self._texts.to_pylist())}
        self._matching: dict[str, Bools] = {}

    def code(self, text: str) -> int:
        """Return the code of a text; a text that does not occur gets a new one."""
        return self._codes.setdefault(text, len(self._codes))

    def matching(self, pattern: str) -> Bools:
        """Tell for the code of each text whether it matches a pattern; the last is for NULL."""
        if pattern not in self._matching:
            texts = pc.match_substring_regex(self._texts, _regex(pattern))
            known: Bools = texts.to_numpy(zero_copy_only=False)
            self._matching[pattern] = np.append(known, False)  # of the code -1
        return self._matching[pattern]

    def texts(self) -> list[str]:
        """Return the texts by their codes."""
        return list(self._codes)


def _regex(pattern: str) -> str:
    """Return the regular expression of a pattern of `like`, for RE2."""
    open_parts = {Wildcard.TEXT: ".*", Wildcard.CHARACTER: "."}
    escaped = (
        open_parts[part] if isinstance(part, Wildcard) else _SPECIAL.sub(r"\\\g<0>", part)
        for part in parts(pattern) or ()
    )
    return rf"(?s)\A{''.join(escaped)}\z"


_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


def _less(rows: Ints, by: int) -> Ints:
    return np.subtract(rows, by, out=empty(len(rows), np.int64)) if by else rows


def numbers(column: pa.ChunkedArray, type_: Type) -> NDArray[np.generic]:
    """Return a column that is not text as an array, without a copy if possible; NULL is 0 or False."""
    assert type_ != OTHER
    array = combine_chunks(column)
    if type_ == TIMESTAMP:
        array = array.view(pa.int64())
    elif type_ == DATE:
        array = array.view(pa.int32()).cast(pa.int64())
    if array.null_count:
        array = pc.fill_null(array, False if pa.types.is_boolean(array.type) else 0)
    values: NDArray[np.generic] = array.to_numpy(zero_copy_only=False)
    return values
