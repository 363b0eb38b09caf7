"""How much of some files has been read, as a share of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from wex.engine.files.sources import File


class Meter:
    """Follows the reading of files: of Parquet by rows, of other formats by bytes on disk."""

    def __init__(self, files: Sequence[File]) -> None:
        self._files = files
        self._all_rows = _row_count(files)
        self._bytes_before = 0  # of the files that have been read to their ends
        self._current: File | None = None
        self.rows = 0  # read so far

    def files(self) -> Iterator[File]:
        """Yield the files, each to be read before the next one."""
        for file in self._files:
            self._current = file
            yield file
            self._bytes_before += file.size
            self._current = None

    @property
    def share(self) -> float | None:
        """The part of the input that has been read, from 0 to 1; None if that is not known."""
        if self._all_rows is not None:
            return self.rows / self._all_rows if self._all_rows else None
        size = sum(file.size for file in self._files)
        read = self._bytes_before + (self._current.bytes_read if self._current else 0)
        return min(read / size, 1.0) if size and read else None


def _row_count(files: Sequence[File]) -> int | None:
    """Return the number of rows in Parquet files; None for other formats."""
    if any(file.format != "parquet" for file in files):
        return None
    from pyarrow import parquet  # noqa: PLC0415

    try:
        counts: list[int] = [parquet.read_metadata(file.path).num_rows for file in files]
    except (OSError, pa.ArrowInvalid):
        return None  # reported when the file is read
    return sum(counts)
