"""Decodes text files to UTF-8, and explains bytes that are not in the given encoding."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import pyarrow as pa

from wex.engine.files.options import in_python
from wex.engine.files.sources import HEAD
from wex.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wex.engine.files.options import TextOptions
    from wex.engine.files.sources import File

_MARKS = {b"\xff\xfe\x00\x00": "utf-32", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# Likely encodings, in the order in which they are tried.
_GUESSES = ("utf-8", "cp1252", "latin-1")

# A line with a larger share of bytes over 127 is not in a Latin script, so not in cp1252 or latin-1.
MOST_FOREIGN = 0.3


@contextmanager
def open_decoded(file: File, options: TextOptions) -> Iterator[pa.NativeFile]:
    """Open a text file, decompressed and as UTF-8; bytes that cannot be decoded are a DataError."""
    with file.open() as stream:
        if options.encoding in ("utf-8", "utf-8-sig"):
            yield stream
            return
        try:
            yield pa.transcoding_input_stream(stream, options.encoding, "utf-8")
        except UnicodeError:
            raise decoding_error(file, options) from None


def check_encoding(file: File, options: TextOptions) -> None:
    """Raise a DataError if the first bytes of a file contradict its encoding."""
    if options.encoding != "utf-8":
        return
    with file.open() as stream:
        head = stream.read(HEAD)
    encoding = next((name for mark, name in _MARKS.items() if head.startswith(mark)), None)
    if encoding is None and b"\0" in head:
        encoding = _encoding_without_mark(head)
        if encoding is None:
            message = "this is not a text file: it contains NUL bytes"
            hint = "give its format as input_format, or the path of another file"
            raise DataError("unreadable", message, hint, file=file.shown)
    if encoding is not None:
        raise _encoding_error(file, f"the file is {encoding.upper()}, not UTF-8", encoding)


def _encoding_without_mark(head: bytes) -> str | None:
    """Return the UTF-16 encoding in which bytes are Latin letters, or None."""
    even, odd = head[::2].count(0), head[1::2].count(0)
    if max(even, odd) < len(head) // 4 or min(even, odd):
        return None
    return "utf-16-le" if odd else "utf-16-be"


def decoding_error(file: File, options: TextOptions) -> DataError:
    """Return the error for bytes that cannot be decoded: their line, and a likely encoding."""
    line, bad, rest = 1, b"", b""
    with file.open() as stream:
        while block := stream.read(1 << 20):
            *lines, rest = (rest + block).split(b"\n")
            bad = next((text for text in lines if _is_bad(text, options.encoding)), b"")
            if bad:
                line += lines.index(bad)
                break
            line += len(lines)
    bad = bad or rest
    message = f"this line is not valid {options.encoding.upper()}"
    foreign = sum(byte > 127 for byte in bad) > len(bad) * MOST_FOREIGN
    with file.open() as stream:
        plain = b"\0" not in stream.read(HEAD)
    for name in _GUESSES[:1] if foreign else _GUESSES:
        likely = name != "utf-8" or plain
        if options.encoding != name and likely and not _is_bad(bad, name):
            return _encoding_error(file, message, name, line)
    return _encoding_error(file, message, None, line)


def _encoding_error(
    file: File, message: str, name: str | None, line: int | None = None
) -> DataError:
    """Return an error that suggests an encoding, if one is given."""
    options: dict[str, object] | None = {"encoding": name} if name else None
    hint = (
        f"try {in_python(options)}"
        if options
        else "if this is a text file, set the option encoding to its encoding"
    )
    return DataError("unreadable", message, hint, file=file.shown, line=line, options=options)


def _is_bad(line: bytes, encoding: str) -> bool:
    try:
        line.decode(encoding)
    except UnicodeDecodeError:
        return True
    return False
