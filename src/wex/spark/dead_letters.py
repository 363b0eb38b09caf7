"""Dead letters: bad rows in a folder of JSON lines, each with its error and the row as it came.

The workers write the files. The name of a file depends only on the rows in it: a task or a
micro-batch that is repeated writes the same file again.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from wex.engine.input.bad_rows import CHOICES
from wex.errors import WexError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wex.engine.input.bad_rows import BadRows

ENDING = ".jsonl"
OBJECT_STORES = ("s3", "gcs", "abfs")  # a file appears when it is closed, and cannot be renamed
ARROW_SCHEMES = {"s3a": "s3", "s3n": "s3"}  # Arrow's names for the schemes of Hadoop


@dataclass(frozen=True)
class BadRowHandling:
    """The choice for bad rows, and the folder for those that are diverted."""

    choice: BadRows = "fail"
    folder: str | None = None

    @property
    def letters(self) -> DeadLetters | None:
        """Return the folder of dead letters, if there is one."""
        return None if self.folder is None else DeadLetters(self.folder)


def bad_row_handling(bad_rows: object, bad_rows_to: object) -> BadRowHandling:
    """Return the arguments for bad rows, checked: the folder must be usable."""
    if bad_rows not in CHOICES:
        message = f"bad_rows must be 'fail', 'skip' or 'divert', got {bad_rows!r}"
        raise WexError("wrong-argument", message, "choose one of the three")
    choice: BadRows = bad_rows  # type: ignore[assignment]
    if choice == "divert" and bad_rows_to is None:
        message = "bad_rows is 'divert', and bad_rows_to names no folder"
        raise WexError("wrong-argument", message, "give a folder: bad_rows_to, --bad-rows-to")
    if choice != "divert" and bad_rows_to is not None:
        message = f"bad_rows_to needs bad_rows='divert', got {choice!r}"
        hint = "say bad_rows='divert', --bad-rows divert, or leave the folder out"
        raise WexError("wrong-argument", message, hint)
    if bad_rows_to is None:
        return BadRowHandling(choice)
    if not isinstance(bad_rows_to, str | os.PathLike) or not os.fspath(bad_rows_to):
        message = f"bad_rows_to must be a path or a URL, got {bad_rows_to!r}"
        raise WexError("wrong-argument", message, "give the path or the URL of a folder")
    folder = _absolute(str(os.fspath(bad_rows_to)))
    DeadLetters(folder).files()  # raises if it cannot be used
    return BadRowHandling(choice, folder)


def _absolute(folder: str) -> str:
    """Return a folder as Arrow names it, independent of the working directory of a process."""
    scheme, mark, rest = folder.partition("://")
    if mark and scheme.lower() != "file":
        return f"{ARROW_SCHEMES.get(scheme.lower(), scheme)}://{rest}"
    plain = rest if mark else folder.removeprefix("file:")
    return os.path.abspath(plain)  # noqa: PTH100  (no link is followed)


def new_run() -> str:
    """Return a prefix for the files of one batch job."""
    return uuid4().hex[:12]


@dataclass(frozen=True)
class DeadLetters:
    """A folder of dead letters."""

    folder: str

    def write(self, name: str, lines: Iterable[str]) -> None:
        """Write a file, completely or not at all, over the one of that name."""
        file = self.new_file(name)
        file.add(lines)
        file.close()

    def new_file(self, name: str) -> DeadLetterFile:
        """Return a new file; it appears when it is closed, if it has lines."""
        return DeadLetterFile(self, name)

    def files(self, prefix: str = "") -> list[str]:
        """Return the names of the files of dead letters in the folder, sorted."""
        try:
            system, folder = self.location()
            inside = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        except (OSError, pa.ArrowException) as error:
            raise self.unusable(error) from error
        named = [entry.base_name for entry in inside if entry.is_file]
        return sorted(name for name in named if name.startswith(prefix) and name.endswith(ENDING))

    def remove(self, prefix: str = "") -> None:
        """Remove files of dead letters."""
        try:
            system, folder = self.location()
            for name in self.files(prefix):
                system.delete_file(f"{folder}/{name}")
        except (OSError, pa.ArrowException) as error:
            raise self.unusable(error) from error

    def refuse_used(self) -> None:
        """Raise a WexError if the folder has files of another job."""
        if self.files():
            message = f"{self.folder} has bad rows of another run in it"
            hint = "choose another folder, or empty it; `wex run` has --mode overwrite and append"
            raise WexError("output-exists", message, hint)

    def location(self) -> tuple[fs.FileSystem, str]:
        """Return the file system, and the path of the folder in it."""
        if "://" not in self.folder:
            return fs.LocalFileSystem(), self.folder
        system, path = fs.FileSystem.from_uri(self.folder)
        return system, path.rstrip("/")

    def unusable(self, error: Exception) -> WexError:
        """Return the error for a folder that cannot be used."""
        message = f"bad rows cannot be put into {self.folder}: {str(error).splitlines()[0]}"
        hint = "give a folder that every worker can write to: a path, s3://, gs:// or hdfs://"
        return WexError("bad-rows-to", message, hint)


class DeadLetterFile:
    """A file of dead letters: hidden until it is closed."""

    def __init__(self, letters: DeadLetters, name: str) -> None:
        self._letters, self._name = letters, name
        self._hidden = ""
        self._out: pa.NativeFile | None = None

    def add(self, lines: Iterable[str]) -> None:
        """Add lines."""
        # Half of a surrogate pair has no UTF-8; JSON reads it back from its escape.
        text = "".join(f"{line}\n" for line in lines).encode(errors="backslashreplace")
        if not text:
            return
        try:
            if self._out is None:
                system, folder = self._letters.location()
                system.create_dir(folder, recursive=True)
                at_once = system.type_name in OBJECT_STORES
                hidden = f".{self._name}-{uuid4().hex}"
                self._hidden = f"{folder}/{self._name + ENDING if at_once else hidden}"
                self._out = system.open_output_stream(self._hidden)
            self._out.write(text)
        except (OSError, pa.ArrowException) as error:
            raise self._letters.unusable(error) from error

    def abort(self) -> None:
        """Remove the hidden file."""
        if self._out is None:
            return
        try:
            self._out.close()
            self._letters.location()[0].delete_file(self._hidden)
        except (OSError, pa.ArrowException) as error:
            raise self._letters.unusable(error) from error

    def close(self) -> None:
        """Make the file visible under its name."""
        if self._out is None:
            return
        try:
            self._out.close()
            system, folder = self._letters.location()
            target = f"{folder}/{self._name}{ENDING}"
            if target == self._hidden:
                return
            if (
                system.type_name == "hdfs"
                and system.get_file_info(target).type != fs.FileType.NotFound
            ):
                system.delete_file(target)  # the only one that does not rename over a file
            system.move(self._hidden, target)
        except (OSError, pa.ArrowException) as error:
            raise self._letters.unusable(error) from error
