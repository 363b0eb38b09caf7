"""Frozen values as bytes and back: JSON, compressed, in a frame with a checksum. No pickle.

Only instances of the classes that the caller lists are read. The caller checks their content: see
`wex.compile.plan_check`.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from wex.framing import require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.framing import Frame

MOST_BYTES = 1 << 30  # of content after decompression
_DTYPES = ("<i4", "|b1")  # of arrays in a plan
_FRACTION = re.compile(r"-?[0-9]{1,4300}(/[0-9]{1,4300})?")


class Serializable:
    """A value whose written form stays when the names of its class and fields change."""

    SAVED_AS: ClassVar[str]

    def to_parts(self) -> dict[str, object]:
        """Return the parts of the value by their written names."""
        return _fields(self)

    @classmethod
    def from_parts(cls, **parts: Any) -> Self:
        """Return the value of written parts."""
        return cls(**parts)


def _fields(value: object) -> dict[str, object]:
    """Return the fields of a value, without those that are left out because they say nothing."""
    return {
        field.name: getattr(value, field.name)
        for field in fields(value)  # type: ignore[arg-type]
        if "left_out" not in field.metadata or getattr(value, field.name) != field.default
    }


def to_bytes(value: object, frame: Frame) -> bytes:
    """Return a value as bytes in a frame."""
    return frame.closed(zlib.compress(canonical(value)))


def from_bytes(content: bytes, frame: Frame, classes: Iterable[type]) -> object:
    """Return the value in some bytes, or raise a StateError."""
    payload = frame.opened(content)
    known = {getattr(class_, "SAVED_AS", class_.__name__): class_ for class_ in classes}
    with frame.reading():
        return _decoded(json.loads(_unpacked(payload)), known)


def _unpacked(payload: bytes) -> bytes:
    """Return the decompressed content, which has at most MOST_BYTES."""
    reader = zlib.decompressobj()
    content = reader.decompress(payload, MOST_BYTES)
    require(
        reader.eof and not reader.unused_data, "its compressed content is incomplete or too large"
    )
    return content


def canonical(value: object) -> bytes:
    """Return a value as JSON, the same bytes for equal values."""
    return json.dumps(_encoded(value), sort_keys=True, separators=(",", ":")).encode()


def _encoded(value: object) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case tuple():
            return [_encoded(item) for item in value]
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
    if isinstance(value, Serializable):
        name, parts = value.SAVED_AS, value.to_parts()
    elif is_dataclass(value):
        name, parts = type(value).__name__, _fields(value)
    else:
        raise TypeError(type(value))
    return {"@": name, **{part: _encoded(content) for part, content in parts.items()}}


def _decoded(value: object, known: dict[str, type]) -> object:
    match value:
        case None | bool() | int() | str():
            return value
        case list():
            return tuple(_decoded(item, known) for item in value)
        case {"@": "Fraction", "value": str(text)}:
            require(_FRACTION.fullmatch(text), "expected a fraction")
            return Fraction(text)
        case {"@": "array", "dtype": str(dtype), "shape": list(shape), "content": str(content)}:
            return _array(dtype, shape, base64.b64decode(content, validate=True))
        case {"@": str(name), **written}:
            class_ = known[name]
            parts = {str(part): _decoded(content, known) for part, content in written.items()}
            return (
                class_.from_parts(**parts) if issubclass(class_, Serializable) else class_(**parts)
            )
    raise TypeError(type(value))


def _array(dtype: str, shape: list[object], content: bytes) -> np.ndarray:
    require(dtype in _DTYPES, "an array has values of an unexpected type")
    require(all(type(size) is int and size >= 0 for size in shape), "an array has an invalid shape")
    flat = np.frombuffer(content, dtype=np.dtype(dtype))
    if flat.dtype == np.bool_:
        require(
            not flat.size or flat.view(np.uint8).max() <= 1,
            "an array has values that are neither true nor false",
        )
    return flat.reshape(tuple(shape))  # type: ignore[arg-type]
