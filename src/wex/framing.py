"""The frame of saved bytes: a magic word, a version and a checksum before the content.

Plans, states and buckets all have this frame. The checksum detects accidental damage. It is not a
signature: anyone who writes the bytes can compute it. Readers therefore validate the content as
well, and report invalid content as a StateError.
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
    """Invalid content; `Frame.reading` turns it into a StateError."""


def require(condition: object, problem: str) -> None:
    """Raise an UnsoundError with a description of the problem, unless a condition holds."""
    if not condition:
        raise UnsoundError(problem)


@dataclass(frozen=True)
class Frame:
    """One kind of saved bytes: its name, magic word and current version.

    `again` is the hint for bytes of another version and for invalid content.

    >>> frame = Frame("note", b"NOTE", 1, "write it anew")
    >>> frame.opened(frame.closed(b"content"))
    b'content'
    """

    noun: str
    magic: bytes
    version: int
    again: str

    @property
    def _head(self) -> bytes:
        return self.magic + self.version.to_bytes(VERSION_BYTES, "big")

    def closed(self, content: bytes) -> bytes:
        """Return the content with its frame."""
        head = self._head
        digest = hashlib.sha256(head)
        digest.update(content)
        return b"".join((head, digest.digest(), content))

    def opened(self, saved: object) -> bytes:
        """Return the content of saved bytes, or raise a StateError if the frame is not valid."""
        if not isinstance(saved, bytes | bytearray | memoryview):
            message = f"expected the bytes of a {self.noun}, got {type(saved).__name__}"
            raise StateError("not-state", message, f"give the bytes of a saved {self.noun}")
        saved, head = bytes(saved), self._head
        if not saved.startswith(self.magic):
            message = f"these bytes are not a {self.noun}"
            raise StateError("not-state", message, f"give the bytes of a saved {self.noun}")
        if not saved.startswith(head):
            version = int.from_bytes(saved[len(self.magic) : len(head)], "big")
            message = f"expected a {self.noun} of version {self.version}, got version {version}"
            raise StateError("state-version", message, self.again)
        checksum, content = saved[len(head) :][:CHECKSUM], saved[len(head) + CHECKSUM :]
        digest = hashlib.sha256(head)
        digest.update(content)
        if digest.digest() != checksum:
            message = f"this {self.noun} is damaged: its checksum does not match"
            raise StateError("state-damaged", message, f"give all bytes of the saved {self.noun}")
        return content

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Report every error while content is read and validated as a StateError."""
        try:
            yield
        except StateError:
            raise
        # Untrusted content can fail in any way; it must be neither used nor end the process.
        except Exception as error:
            raise self.unsound(_short(error)) from error

    def unsound(self, why: str) -> StateError:
        """Return the error for invalid content."""
        message = f"this {self.noun} is inconsistent: {why}"
        return StateError("state-damaged", message, self.again)


def _short(error: Exception) -> str:
    if isinstance(error, UnsoundError):
        return str(error)
    message = error.message if isinstance(error, WexError) else str(error)
    lines = message.strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__
