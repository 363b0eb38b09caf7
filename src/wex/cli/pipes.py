"""Output that may have no reader: closed from the start, or gone in the middle.

A reader that has gone (`wex check x.wex | head -1`) is no error: what is left is not written, and
the status stays what it would have been.
"""

from __future__ import annotations

import io
import os
from typing import TextIO


class Pipe(io.TextIOWrapper):
    """A text stream that goes on into nowhere once its reader has gone."""

    def write(self, text: str) -> int:
        """Write, unless nobody reads any more."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._give_up()
            return len(text)

    def flush(self) -> None:
        """Flush, unless nobody reads any more."""
        try:
            super().flush()
        except BrokenPipeError:
            self._give_up()

    def _give_up(self) -> None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)


def guarded(stream: TextIO | None) -> TextIO:
    """Return a stream for output that never fails for want of a reader or of an encoding."""
    if stream is None:  # closed before the program began
        return open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123
    if not isinstance(stream, io.TextIOWrapper):
        return stream  # a test's own
    encoding, buffered = stream.encoding, not stream.line_buffering
    return Pipe(
        stream.detach(), encoding=encoding, errors="backslashreplace", line_buffering=not buffered
    )
