"""Frozen values as bytes and back: JSON, compressed, in a frame with a checksum. No pickle.

Only the classes that a caller names can come back. What they hold is checked by the caller: see
`wex.compile.plan_check`.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from wex.framing import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.framing import Frame

MOST_BYTES = 1 << 30  # that compressed content may unpack to
_DTYPES = ("<i4", "|b1")  # of arrays in a plan
_FRACTION = re.compile(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?")


def to_bytes(value: object, frame: Frame) -> bytes:
    """Return a value as bytes that say what they are."""
    return frame.closed(zlib.compress(canonical(value)))


def from_bytes(content: bytes, frame: Frame, classes: Iterable[type]) -> object:
    """Return the value in some bytes; what is wrong with them is a StateError."""
    payload = frame.opened(content)
    known = {each.__name__: each for each in classes}
    with frame.reading():
        return _decoded(json.loads(_unpacked(payload)), known)


def _unpacked(payload: bytes) -> bytes:
    """Return what was compressed, unless it is more than anybody has written."""
    reader = zlib.decompressobj()
    content = reader.decompress(payload, MOST_BYTES)
    require(reader.eof and not reader.unused_data, "what is compressed in it does not end well")
    return content


def canonical(value: object) -> bytes:
    """Return a value as JSON, the same bytes for equal values."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":")).encode()


def _encoded(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case tuple():
            return [_encoded(each) for each in value]
        case Fraction():
            return {"@": "Fraction", "value": str(value)}
        case np.ndarray():
            content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
            return {
                "@": "array",
                "dtype": value.dtype.str,
                "shape": value.shape,
                "content": content,
            }
    if is_dataclass(value):
        named = {each.name: _encoded(getattr(value, each.name)) for each in fields(value)}
        return {"@": type(value).__name__, **named}
    raise TypeError(type(value))


def _decoded(value: object, known: dict[str, type]) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case list():
            return tuple(_decoded(each, known) for each in value)
        case {"@": "Fraction", "value": str(text)}:
            require(_FRACTION.fullmatch(text), "a fraction is something else")
            return Fraction(text)
        case {"@": "array", "dtype": str(dtype), "shape": list(shape), "content": str(content)}:
            return _array(dtype, shape, base64.b64decode(content, validate=True))
        case {"@": str(name), **named}:
            return known[name](**{str(each): _decoded(part, known) for each, part in named.items()})
    raise TypeError(type(value))


def _array(dtype: str, shape: list[object], content: bytes) -> np.ndarray:
    require(dtype in _DTYPES, "an array has values of another type")
    require(all(type(size) is int and size >= 0 for size in shape), "an array has no such shape")
    flat = np.frombuffer(content, dtype=np.dtype(dtype))
    if flat.dtype == np.bool_:
        require(not flat.size or flat.view(np.uint8).max() <= 1, "neither true nor false")
    return flat.reshape(tuple(shape))  # type: ignore[arg-type]
