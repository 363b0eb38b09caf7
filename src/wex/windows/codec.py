"""Frozen values as bytes and back: JSON, compressed, with a version and a checksum. No pickle.

Only the classes that a caller names can come back, so bytes from anywhere do no harm: whatever is
wrong with them is a StateError.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from wex.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Iterable

CHECKSUM = 32  # bytes of a SHA-256


def to_bytes(value: object, magic: bytes, version: int) -> bytes:
    """Return a value as bytes that say what they are."""
    payload = zlib.compress(canonical(value))
    head = magic + version.to_bytes(2, "big")
    return head + hashlib.sha256(head + payload).digest() + payload


def from_bytes(
    content: bytes, magic: bytes, version: int, classes: Iterable[type], what: str
) -> object:
    """Return the value in some bytes; what is wrong with them is a StateError."""
    head = magic + version.to_bytes(2, "big")
    if not content.startswith(magic):
        raise StateError("not-state", f"these bytes are no {what}", "give what was saved before")
    if not content.startswith(head):
        found = int.from_bytes(content[len(magic) : len(head)], "big")
        message = f"this {what} is of version {found}, and this wex reads version {version}"
        raise StateError("state-version", message, f"make the {what} anew with this version")
    checksum, payload = content[len(head) :][:CHECKSUM], content[len(head) + CHECKSUM :]
    if hashlib.sha256(head + payload).digest() != checksum:
        message = f"this {what} is damaged: its checksum does not fit"
        raise StateError("state-damaged", message, "give all the bytes that were saved")
    known = {each.__name__: each for each in classes}
    try:
        return _decoded(json.loads(zlib.decompress(payload)), known)
    except (zlib.error, ValueError, KeyError, TypeError, AttributeError, AssertionError) as error:
        message = f"this {what} does not hold together: {type(error).__name__}"
        raise StateError("state-damaged", message, f"make the {what} anew") from error


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
            return Fraction(text)
        case {"@": "array", "dtype": str(dtype), "shape": list(shape), "content": str(content)}:
            flat = np.frombuffer(base64.b64decode(content), dtype=np.dtype(dtype))
            return flat.reshape(tuple(shape))
        case {"@": str(name), **named}:
            return known[name](**{str(each): _decoded(part, known) for each, part in named.items()})
    raise TypeError(type(value))
