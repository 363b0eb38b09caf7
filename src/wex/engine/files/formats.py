"""The format and compression of a file, by its name or its first bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wex.errors import WexError, did_you_mean

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
NAMES = tuple(dict.fromkeys(FORMATS.values()))
COMPRESSIONS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
_COMPRESSED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}
_BINARY = {b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}


def format_of(path: Path, given: str | None = None) -> str:
    """Return the format of a file: the given one, or that of its file extension."""
    if given is not None:
        return check_format_name(given)
    name = named_format(path)
    if name is None:
        message = f"{path}: the file extension does not tell the format"
        hint = f"give the format, one of {', '.join(NAMES)}, or rename the file"
        raise WexError("unknown-format", message, hint)
    return name


def check_format_name(given: str) -> str:
    """Return a format; raise a WexError if there is no such format."""
    if given not in NAMES:
        hint = did_you_mean(given, NAMES, "the formats are")
        raise WexError("unknown-format", f"unknown file format `{given}`", hint)
    return given


def named_format(path: Path) -> str | None:
    """Return the format of a file extension, if it is known."""
    return FORMATS.get(_ending(path))


def is_tsv(path: Path) -> bool:
    """Tell whether the file extension is that of tab-separated values."""
    return _ending(path) == ".tsv"


def _ending(path: Path) -> str:
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in COMPRESSIONS]
    return endings[-1] if endings else ""


def compression_named(path: Path) -> str | None:
    """Return the compression of a file, by its file extension."""
    return COMPRESSIONS.get(path.suffix.lower())


def compression_of(head: bytes) -> str | None:
    r"""Return the compression of a file by its first bytes; None if it is not compressed.

    >>> compression_of(b"\x1f\x8b\x08"), compression_of(b"a,b")
    ('gzip', None)
    """
    return next((name for magic, name in _COMPRESSED.items() if head.startswith(magic)), None)


def format_by_content(head: bytes) -> str:
    """Return the format of a file by its first bytes.

    >>> format_by_content(b"PAR1..."), format_by_content(b' {"x": 1}'), format_by_content(b"x,y")
    ('parquet', 'json', 'csv')
    """
    for magic, name in _BINARY.items():
        if head.startswith(magic):
            return name
    return "json" if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[") else "csv"
