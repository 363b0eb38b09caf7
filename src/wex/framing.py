"""Saved bytes that say what they are: a magic word, a version, a checksum, then the content.

Plans, states and buckets all have this frame. The checksum finds bytes that were damaged by
accident. It is no signature: whoever can write the bytes can compute it, so that readers check the
content as well, and tell whatever is wrong with it as a StateError.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wex.errors import StateError, WexError

if TYPE_CHECKING:
    from collections.abc import Iterator

CHECKSUM = 32  # bytes of a SHA-256
VERSION_BYTES = 2


class UnsoundError(Exception):
    """Content that contradicts itself, on its way to becoming a StateError."""


def require(condition: object, what: str) -> None:
    """Raise an UnsoundError that says what is wrong, unless a condition holds."""
    if not condition:
        raise UnsoundError(what)


@dataclass(frozen=True)
class Frame:
    """One kind of saved bytes: what it is called, its magic word, the version that is written.

    `again` says what to do with bytes of another version or unsound content.

    >>> frame = Frame("note", b"NOTE", 1, "write it anew")
    >>> frame.opened(frame.closed(b"content"))
    b'content'
    """

    what: str
    magic: bytes
    version: int
    again: str

    @property
    def _head(self) -> bytes:
        return self.magic + self.version.to_bytes(VERSION_BYTES, "big")

    def closed(self, content: bytes) -> bytes:
        """Return content in its frame."""
        head = self._head
        digest = hashlib.sha256(head)
        digest.update(content)
        return b"".join((head, digest.digest(), content))

    def opened(self, saved: object) -> bytes:
        """Return the content of saved bytes, or raise a StateError if they are not as written."""
        if not isinstance(saved, bytes | bytearray | memoryview):
            message = f"expected the bytes of a {self.what}, got {type(saved).__name__}"
            raise StateError("not-state", message, f"give the bytes of a saved {self.what}")
        saved, head = bytes(saved), self._head
        if not saved.startswith(self.magic):
            message = f"these bytes are not a {self.what}"
            raise StateError("not-state", message, f"give the bytes of a saved {self.what}")
        if not saved.startswith(head):
            found = int.from_bytes(saved[len(self.magic) : len(head)], "big")
            message = (
                f"this {self.what} is of version {found}, and this wex reads version {self.version}"
            )
            raise StateError("state-version", message, self.again)
        checksum, content = saved[len(head) :][:CHECKSUM], saved[len(head) + CHECKSUM :]
        digest = hashlib.sha256(head)
        digest.update(content)
        if digest.digest() != checksum:
            message = f"this {self.what} is damaged: its checksum does not fit"
            raise StateError("state-damaged", message, f"give all bytes of the saved {self.what}")
        return content

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Tell as a StateError whatever goes wrong while content is read and checked."""
        try:
            yield
        except StateError:
            raise
        # Content that nobody vouches for can fail in any way; what must not happen is that it
        # is used, or ends the process.
        except Exception as error:
            raise self.unsound(_short(error)) from error

    def unsound(self, why: str) -> StateError:
        """Return the error for content that cannot be as it is."""
        message = f"this {self.what} does not hold together: {why}"
        return StateError("state-damaged", message, self.again)


def _short(error: Exception) -> str:
    if isinstance(error, UnsoundError):
        return str(error)
    told = error.message if isinstance(error, WexError) else str(error)
    first = told.strip().splitlines()[:1]
    return f"{type(error).__name__}: {first[0][:200]}" if first else type(error).__name__
