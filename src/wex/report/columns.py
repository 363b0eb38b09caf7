"""Columns of numbers and texts as a few bytes that `page.js` reads.

Whole numbers are differences from one to the next, in the least width that holds them; reals with few
decimals are whole numbers divided by a power of ten, if that is exact; the first bytes of all numbers
come first, then the second ones, and so on, which compresses better. Texts are numbers of distinct texts.
"""

from __future__ import annotations

import base64
import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wex.spec.types import UNITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

Json = dict[str, Any]

EXACT = 2**53  # whole numbers up to here are numbers of JavaScript
MOST_DECIMALS = 6
MOST_CHARACTERS = 300  # of a text


class Columns:
    """Collects columns into one block of bytes, with a description of each."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self.described: dict[str, Json] = {}

    def put(self, name: str, column: NDArray[Any] | pa.Array | pa.ChunkedArray) -> None:
        """Add a column of numbers, texts or Arrow values."""
        if isinstance(column, pa.ChunkedArray):
            column = (
                pa.concat_arrays(column.chunks) if column.num_chunks else column.combine_chunks()
            )
        if not isinstance(column, pa.Array):
            self.described[name] = self._numbers(column)
            return
        kind, plain = _plain(column)
        described = self._texts(plain) if kind == "text" else self._numbers(plain)
        if column.null_count and kind != "text":
            described["known"] = self._append(np.packbits(_known(column)).tobytes())
        self.described[name] = {"kind": kind, **described}

    def packed(self) -> Json:
        """Return the columns for JSON: their descriptions, and all bytes as text."""
        content = gzip.compress(b"".join(self._parts), 9, mtime=0)
        return {"columns": self.described, "bytes": base64.b64encode(content).decode("ascii")}

    def _append(self, content: bytes) -> list[int]:
        self._parts.append(content)
        self._size += len(content)
        return [self._size - len(content), len(content)]

    def _texts(self, column: pa.Array) -> Json:
        encoded = column.dictionary_encode()
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        texts = [shortened(text) for text in encoded.dictionary.to_pylist()]
        return {**self._numbers(codes), "texts": self._append(json.dumps(texts).encode())}

    def _numbers(self, values: NDArray[Any]) -> Json:
        if values.dtype == np.bool_:
            values = values.astype(np.int64)
        if values.dtype.kind in "iu":
            return self._whole(values.astype(np.int64))
        for decimals in range(MOST_DECIMALS + 1):
            scaled = _scaled(values, 10**decimals)
            if scaled is not None:
                return {**self._whole(scaled), "over": 10**decimals}
        return {"size": len(values), "width": 0, "at": self._append(_shuffled(values))}

    def _whole(self, values: NDArray[np.int64]) -> Json:
        changes = np.diff(values, prepend=0)
        widest = int(np.abs(changes).max(initial=0))
        if widest >= 2**31 or int(np.abs(values).max(initial=0)) > EXACT:
            return {
                "size": len(values),
                "width": 0,
                "at": self._append(_shuffled(values.astype(float))),
            }
        width = 1 if widest < 2**7 else 2 if widest < 2**15 else 4
        content = _shuffled(changes.astype(f"<i{width}"))
        return {"size": len(values), "width": width, "at": self._append(content)}


def shortened(text: str) -> str:
    """Return a text, cut if it is long."""
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def _scaled(values: NDArray[Any], over: int) -> NDArray[np.int64] | None:
    """Return the whole numbers that give reals when divided; None if they do not, exactly."""
    with np.errstate(invalid="ignore", over="ignore"):
        scaled = np.rint(values * over)
        fits = np.isfinite(scaled).all() and (np.abs(scaled) < 2**31).all()
        negative_zero = np.signbit(values) & (values == 0)
        if not fits or not (scaled / over == values).all() or negative_zero.any():
            return None
    whole: NDArray[np.int64] = scaled.astype(np.int64)
    return whole


def _shuffled(values: NDArray[Any]) -> bytes:
    """Return the bytes of numbers, the first bytes of all of them before the second ones."""
    if values.dtype.kind == "f":
        values = values.astype("<f8")
    return values.view(np.uint8).reshape(-1, values.dtype.itemsize).T.tobytes()


def _plain(column: pa.Array) -> tuple[str, Any]:
    """Return the kind of a column for the page, and its values as numbers or as texts."""
    type_ = column.type
    if pa.types.is_boolean(type_):
        return "truth", pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(type_):
        whole = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        if int(np.abs(whole.astype(float)).max(initial=0)) <= EXACT:
            return "number", whole
        return "text", column.cast(pa.string())
    if pa.types.is_floating(type_):
        return "number", pc.fill_null(column, 0.0).to_numpy(zero_copy_only=False).astype(float)
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        unit = pa.timestamp("us", type_.tz) if pa.types.is_timestamp(type_) else pa.duration("us")
        micros = column.cast(unit).view(pa.int64())
        kind = "time" if pa.types.is_timestamp(type_) else "duration"
        return kind, pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
    if pa.types.is_date(type_):
        days = column.cast(pa.date32()).view(pa.int32()).cast(pa.int64())
        return "date", pc.fill_null(days, 0).to_numpy(zero_copy_only=False) * UNITS["day"]
    return "text", _as_texts(column)


def _as_texts(column: pa.Array) -> pa.Array:
    from wex.engine.files.writing import shown_rows  # noqa: PLC0415  (it imports much)

    if pa.types.is_string(column.type):
        return column
    shown = [text for (text,) in shown_rows(pa.table({"x": column}))]
    known = column.is_valid().to_pylist()
    return pa.array(
        [text if there else None for text, there in zip(shown, known, strict=True)], pa.string()
    )


def _known(column: pa.Array) -> NDArray[np.bool_]:
    known: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return known


# --- Reading them again, as `page.js` does


def unpacked(packed: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Return the columns of packed bytes; times are in microseconds."""
    content = gzip.decompress(base64.b64decode(packed["bytes"]))
    return {name: _unpacked(described, content) for name, described in packed["columns"].items()}


def _unpacked(described: Json, content: bytes) -> list[Any]:
    at, length = described["at"]
    width, size = described["width"], described["size"]
    raw = np.frombuffer(content[at : at + length], dtype=np.uint8)
    together = np.ascontiguousarray(raw.reshape(width or 8, size).T)
    numbers = together.view(f"<i{width}" if width else "<f8").reshape(size)
    if width:
        numbers = np.cumsum(numbers, dtype=np.int64)
    if "over" in described and width:
        numbers = numbers / described["over"]
    values: list[Any] = numbers.tolist()
    if "texts" in described:
        first, count = described["texts"]
        texts = json.loads(content[first : first + count])
        return [None if code < 0 else texts[code] for code in numbers.tolist()]
    if "known" in described:
        first, count = described["known"]
        known = np.unpackbits(np.frombuffer(content[first : first + count], np.uint8))[:size]
        return [value if there else None for value, there in zip(values, known, strict=True)]
    return values
